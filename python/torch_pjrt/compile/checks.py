"""Checks for tests and for programs in production: nothing but what was compiled before."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import torch
from torch import fx

from torch_pjrt._activation import core
from torch_pjrt.compile import dynamo_log, recording
from torch_pjrt.compile.report import user_line
from torch_pjrt.compile.summary import CompileReport, problems

KINDS = frozenset({"graph_break", "partition_break", "recompile", "fallback"})


class CompileDelta(CompileReport):
    """A report of what happens in a `with` statement, filled in at its end."""

    def __enter__(self) -> Self:
        dynamo_log.listen()
        self._mark = recording.now()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__dict__.update(vars(recording.since(self._mark)))


class AssertCompiled(CompileDelta):
    """Raises AssertionError at the end of a `with` statement that was not compiled as a whole."""

    def __init__(self, allow: Iterable[str], graphs: int) -> None:
        super().__init__()
        self._allowed = frozenset(allow)
        self._graphs = graphs
        if unknown := self._allowed - KINDS:
            raise ValueError(
                f"unknown kind {sorted(unknown)[0]!r}: expected some of {', '.join(sorted(KINDS))}"
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        if error is not None:
            return
        found = problems(self, self._allowed)
        ran = sum(graph.calls > 0 for graph in self.graphs)
        if ran < self._graphs:
            found.append(f"{ran} compiled graphs ran, at least {self._graphs} expected")
        if found:
            raise AssertionError("not compiled as a whole:\n" + "\n".join(found))


def refuse_if_strict(gm: fx.GraphModule, inputs: Iterable[Any]) -> None:
    """Raises RuntimeError in strict mode: a graph is about to be compiled."""
    if not core().strict():
        return
    calls = [node for node in gm.graph.nodes if node.op.startswith("call")]
    line = next(filter(None, map(user_line, calls)), "an unknown line")
    ops = ", ".join(getattr(n.target, "__name__", str(n.target)) for n in calls[:4])
    types = ", ".join(_type_of(value) for value in inputs if isinstance(value, torch.Tensor))
    raise RuntimeError(
        f"torch.compile compiles a graph, which torch_pjrt.strict() forbids: {line}, "
        f"{ops}{', ...' if len(calls) > 4 else ''} of ({types}). Run it once before strict mode, "
        "with these shapes and dtypes; torch_pjrt.compile_report() says why it is compiled again"
    )


def _type_of(value: torch.Tensor) -> str:
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
