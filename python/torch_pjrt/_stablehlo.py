"""Reads a StableHLO module's text as far as needed to call its public function from another one.

Nothing of MLIR is linked: the text is cut into tokens, brackets are matched, the public function's
types are read, and the names the module defines get a prefix. What is inside the functions is for
the plugin's compiler to judge.
"""

from __future__ import annotations

import bisect
import hashlib
import re
from dataclasses import dataclass

_NAME = r'[A-Za-z0-9_$.\-]+|"(?:\\.|[^"\\])*"'
_TOKEN = re.compile(
    rf"""(?P<comment>//[^\n]*)
       | (?P<string>"(?:\\.|[^"\\])*")
       | (?P<symbol>@(?:{_NAME}))
       | (?P<alias>[#!][A-Za-z_$][\w$.]*)
       | (?P<arrow>->|>=|<=)
       | (?P<open>[({{\[<])
       | (?P<close>[)}}\]>])""",
    re.VERBOSE,
)
_PAIRS = {"(": ")", "{": "}", "[": "]", "<": ">"}
_SPACE = re.compile(r"(?:\s|//[^\n]*)*")
_ALIAS = re.compile(r"([#!][A-Za-z_$][\w$.]*)\s*=")
_MODULE = re.compile(rf"(?:builtin\.)?module\b\s*(?:@(?:{_NAME}))?\s*")
_FUNCTION = re.compile(rf"func\.func\b\s*(?:(public|private|nested)\b\s*)?@({_NAME})\s*(?=\()")
_PARTITIONS = re.compile(r"mhlo\.num_(partitions|replicas)\s*=\s*(\d+)")


class TextError(ValueError):
    """The text is not a module that can be called; the message says why and where."""


@dataclass(frozen=True)
class Module:
    """The functions of a module under new names.

    `symbol` is the public one, called with values of the types `inputs`, giving `outputs` (types
    as StableHLO writes them). `functions` and `aliases` are texts for _C.GraphBuilder.call.
    """

    symbol: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    functions: str
    aliases: str


def read_module(text: str, prefix: str) -> Module:
    """Reads a module with one public function, or functions without a module around them.

    The new names are made of `prefix` and the text's hash, so that different texts never share
    one. Raises TextError.
    """
    return _Reader(text, prefix).module()


@dataclass(frozen=True)
class _Function:
    name: str
    private: bool
    start: int  # of `func.func`
    named: int  # just before `@name`
    end: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class _Reader:
    def __init__(self, text: str, prefix: str) -> None:
        self.text = text
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.prefix = f"{re.sub(r'[^A-Za-z0-9_]', '_', prefix)}_{digest}"
        self.tokens = list(_TOKEN.finditer(text))
        self.closing = self._match_brackets()
        self.opened = sorted(self.closing)
        self.aliases: list[tuple[int, int]] = []
        self.functions: list[_Function] = []
        self.others: list[tuple[int, int]] = []  # sdy.mesh and the like
        self.renamed: dict[str, str] = {}

    def module(self) -> Module:
        self._read_ops(0, len(self.text), top=True)
        entry = self._entry()
        for number, function in enumerate(self.functions):
            helper = re.sub(r"\W", "_", function.name)
            own = self.prefix if function is entry else f"{self.prefix}.{number}.{helper}"
            self.renamed[f"@{function.name}"] = f"@{own}"
        for start, end in self.others:
            defined = re.search(rf"@({_NAME})", self.text[start:end])
            if defined is not None:
                name = re.sub(r"\W", "_", defined[1])
                self.renamed[f"@{defined[1]}"] = f"@{self.prefix}.{name}"
        pieces = [self._copied(*span) for span in self.others]
        for function in self.functions:
            head = "func.func private "
            pieces.append(head + self._copied(function.named, function.end))
        return Module(
            self.prefix,
            entry.inputs,
            entry.outputs,
            "".join(f"{piece}\n" for piece in pieces),
            "".join(f"{self._copied(*span)}\n" for span in self.aliases),
        )

    def _entry(self) -> _Function:
        public = [f for f in self.functions if not f.private]
        if len(public) > 1:
            public = [f for f in public if f.name == "main"] or public
        if len(public) != 1:
            names = ", ".join(f"@{f.name}" for f in public) or "none"
            raise TextError(f"a module with one public function is expected; public are: {names}")
        return public[0]

    def _match_brackets(self) -> dict[int, int]:
        closing: dict[int, int] = {}
        open_: list[re.Match[str]] = []
        for token in self.tokens:
            if token["open"]:
                open_.append(token)
            elif token["close"]:
                if not open_ or _PAIRS[open_[-1]["open"]] != token["close"]:
                    raise self._error(f"'{token['close']}' closes nothing", token.start())
                closing[open_.pop().start()] = token.start()
        if open_:
            raise self._error(f"'{open_[-1]['open']}' is never closed", open_[-1].start())
        return closing

    def _error(self, what: str, at: int) -> TextError:
        line = self.text.count("\n", 0, at) + 1
        shown = self.text.splitlines()[line - 1].strip() if self.text.strip() else ""
        return TextError(f"line {line} of the StableHLO text: {what}: {shown[:120]}")

    def _space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        assert match is not None
        return match.end()

    def _after(self, at: int) -> int:
        """Past the bracket that opens at `at`."""
        return self.closing[at] + 1

    def _read_ops(self, at: int, end: int, top: bool) -> None:
        while (at := self._space(at)) < end:
            if top and _ALIAS.match(self.text, at):
                line_end = self._line_end(at, end)
                alias = _ALIAS.match(self.text, at)
                assert alias is not None
                self.renamed[alias[1]] = f"{alias[1][0]}{self.prefix}_{alias[1][1:]}"
                self.aliases.append((at, line_end))
                at = line_end
            elif top and (module := _MODULE.match(self.text, at)):
                at = self._read_module(module.end())
            elif function := _FUNCTION.match(self.text, at):
                at = self._read_function(function)
            elif self.text.startswith("func.func", at) or top:
                raise self._error("expected `module {` or `func.func public @main(...)`", at)
            else:
                line_end = self._line_end(at, end)
                self.others.append((at, line_end))
                at = line_end

    def _line_end(self, at: int, end: int) -> int:
        """The end of an op without a known form: a line's end outside all brackets."""
        while at < end and self.text[at] != "\n":
            index = bisect.bisect_left(self.opened, at)
            line = self.text.find("\n", at, end)
            line = end if line < 0 else line
            if index == len(self.opened) or self.opened[index] >= line:
                return line
            at = self._after(self.opened[index])
        return at

    def _read_module(self, at: int) -> int:
        attributes = re.compile(r"attributes\s*").match(self.text, at)
        if attributes is not None:
            close = self._after(self._bracket(attributes.end(), "{"))
            for kind, count in _PARTITIONS.findall(self.text[attributes.end() : close]):
                if int(count) > 1:
                    raise TextError(f"the module is for {count} {kind}; an operator runs on one")
            at = self._space(close)
        body = self._bracket(at, "{")
        self._read_ops(body + 1, self.closing[body], top=False)
        return self._skip_location(self._after(body))

    def _bracket(self, at: int, wanted: str) -> int:
        if self.text[at : at + 1] != wanted:
            raise self._error(f"'{wanted}' is expected", min(at, len(self.text) - 1))
        return at

    def _skip_location(self, at: int) -> int:
        match = re.compile(r"\s*loc(?=\()").match(self.text, at)
        return at if match is None else self._after(match.end())

    def _read_function(self, match: re.Match[str]) -> int:
        arguments = match.end()
        inputs = self._types(arguments + 1, self.closing[arguments])
        at = self._space(self._after(arguments))
        outputs: tuple[str, ...] = ()
        if self.text.startswith("->", at):
            at = self._space(at + 2)
            if self.text[at] == "(":
                outputs = self._types(at + 1, self.closing[at])
                at = self._after(at)
            else:
                start = at
                at = self._type_end(at, len(self.text))
                outputs = (_compact(self.text[start:at]),)
        at = self._space(at)
        attributes = re.compile(r"attributes\s*").match(self.text, at)
        if attributes is not None:
            at = self._space(self._after(self._bracket(attributes.end(), "{")))
        if self.text[at : at + 1] != "{":
            raise self._error(f"the function @{match[2]} has no body", match.start())
        end = self._skip_location(self._after(at))
        named = match.start(2) - 1
        private = match[1] in ("private", "nested")
        function = _Function(match[2], private, match.start(), named, end, inputs, outputs)
        self.functions.append(function)
        return end

    def _types(self, at: int, end: int) -> tuple[str, ...]:
        """The types of a parenthesised list: `%arg0: type {attributes} loc(...), ...`."""
        types = []
        while (at := self._space(at)) < end:
            name = re.compile(r"%[\w$.\-]+\s*:\s*").match(self.text, at)
            start = at if name is None else name.end()
            stop = self._type_end(start, end)
            types.append(_compact(self.text[start:stop]))
            at = stop
            while at < end and self.text[at] != ",":  # attributes, a location
                at = self._after(at) if at in self.closing else at + 1
            at += 1
        return tuple(types)

    def _type_end(self, at: int, end: int) -> int:
        head = re.compile(r"!?[A-Za-z_][\w.$]*").match(self.text, at)
        if head is None:
            raise self._error("a type is expected", at)
        at = head.end()
        return self._after(at) if at < end and self.text[at] == "<" else at

    def _copied(self, start: int, end: int) -> str:
        """The text between, its names renamed."""
        pieces = []
        at = start
        first = bisect.bisect_left(self.tokens, start, key=lambda token: token.start())
        for token in self.tokens[first:]:
            if token.start() >= end:
                break
            new = self.renamed.get(token[0])
            if new is None or self._is_call_target(token):
                continue
            pieces += [self.text[at : token.start()], new]
            at = token.end()
        return "".join(pieces) + self.text[at:end]

    def _is_call_target(self, token: re.Match[str]) -> bool:
        """`stablehlo.custom_call @name` names something of the plugin, not of the module."""
        before = self.text[max(0, token.start() - 40) : token.start()].rstrip()
        return before.endswith("custom_call")


def _compact(text: str) -> str:
    return "".join(text.split())
