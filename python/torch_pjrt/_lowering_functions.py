"""Asks lowerings from outside for their StableHLO, checks it, and puts calls of it into graphs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from torch_pjrt._activation import core
from torch_pjrt._stablehlo import TextError, read_module

T = TypeVar("T")
LoweringFunction = Callable[..., Any]
_BYTECODE = b"ML\xefR"


@dataclass(frozen=True)
class TensorType:
    """What a lowering knows of a tensor: `dtype`, and `shape` as a tuple of ints.

    `str(t)` is the type as StableHLO writes it, "tensor<2x3xf32>"; `t.element` its "f32".
    """

    dtype: torch.dtype
    shape: tuple[int, ...]

    @property
    def element(self) -> str:
        """The dtype as StableHLO writes it."""
        name: str = core().element_types()[str(self.dtype).removeprefix("torch.")]
        return name

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"


@dataclass(frozen=True)
class Function:
    """A checked StableHLO function, as _C.GraphBuilder.call takes it.

    `operands`: the positions, among the call's tensors, of those it takes.
    """

    op: str
    symbol: str
    text: str
    aliases: str
    operands: tuple[int, ...]


class Lowering:
    """An operator with its lowering, asked once for each distinct set of arguments. Thread-safe."""

    def __init__(self, op: OpOverload, fn: LoweringFunction) -> None:
        self.op = op
        self.fn = fn
        self.name: str = op.name()  # type: ignore[no-untyped-call]
        self.schema = op._schema
        self.lock = threading.RLock()
        self.functions: dict[Any, Function | None] = {}

    @property
    def mutated(self) -> list[int]:
        """The positions of the arguments that the operator writes."""
        return [i for i, a in enumerate(self.schema.arguments) if _is_written(a)]

    def count_written(self, values: list[Any], kind: type) -> int:
        """How many tensors (values of `kind`) among the arguments are written."""
        return sum(1 for _ in leaves(kind, [values[i] for i in self.mutated]))

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """One value for each argument of the schema."""
        values = []
        for position, argument in enumerate(self.schema.arguments):
            if position < len(args) and not argument.kwarg_only:
                values.append(args[position])
            elif argument.name in kwargs:
                values.append(kwargs[argument.name])
            else:
                values.append(argument.default_value)
        return values

    def function(self, values: list[Any], results: list[TensorType]) -> Function | None:
        """The function for these arguments (TensorType for tensors); None: not served.

        `results`: what the fake kernel says, without the new values of mutated arguments.
        """
        key = key_of(values)
        with self.lock:
            if key not in self.functions:
                self.functions[key] = self._make(values, results)
            return self.functions[key]

    def _make(self, values: list[Any], results: list[TensorType]) -> Function | None:
        args = [v for v, a in zip(values, self.schema.arguments, strict=True) if not a.kwarg_only]
        kwargs = {
            a.name: v for v, a in zip(values, self.schema.arguments, strict=True) if a.kwarg_only
        }
        try:
            answer = self.fn(*args, **kwargs)
        except Exception as error:
            error.add_note(f"raised by the lowering of {self.name}")
            raise
        if answer is None:
            return None
        tensors = list(leaves(TensorType, values))
        kept = getattr(answer, "module_kept_var_idx", range(len(tensors)))  # jax drops unused ones
        try:
            module = read_module(_text_of(answer), self.name)
        except TextError as error:
            raise ValueError(f"{self.name}: its lowering gave a wrong module: {error}") from None
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        operands = tuple(sorted(kept))
        written = [t for i in self.mutated for t in leaves(TensorType, [values[i]])]
        self._check("takes", module.inputs, [tensors[i] for i in operands], "tensors are")
        self._check("returns", module.outputs, [*results, *written], "results are")
        return Function(self.name, module.symbol, module.functions, module.aliases, operands)

    def _check(self, does: str, got: tuple[str, ...], want: Sequence[TensorType], are: str) -> None:
        if list(got) != [str(type_) for type_ in want]:
            raise ValueError(
                f"{self.name}: its lowering {does} ({', '.join(got)}) and the operator's {are}"
                f" ({', '.join(map(str, want))})"
                + (" (the mutated arguments last)" if self.mutated and does == "returns" else "")
            )


def add_call(
    builder: Any,
    function: Function,
    tensors: list[Any],
    types: list[TensorType],
    line: str = "",
) -> list[Any]:
    """Adds the call to a _C.GraphBuilder; `tensors` are all graph values of the call."""
    operands = [tensors[i] for i in function.operands]
    results = [(type_.dtype, list(type_.shape)) for type_ in types]
    values: list[Any] = builder.call(
        function.op, function.symbol, function.text, function.aliases, operands, results, line
    )
    return values


def type_of(tensor: torch.Tensor) -> TensorType:
    """The type of a tensor whose sizes are numbers."""
    return TensorType(tensor.dtype, tuple(tensor.shape))


def with_types(values: list[Any]) -> list[Any]:
    """Arguments as a lowering sees them."""
    typed: list[Any] = pytree.tree_map_only(torch.Tensor, type_of, values)
    return typed


def leaves(kind: type[T], values: Iterable[Any]) -> Iterator[T]:
    """The values of one kind among arguments, lists spread out: a call's tensors in order."""
    for value in values:
        if isinstance(value, kind):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from leaves(kind, value)


def key_of(values: Sequence[Any]) -> tuple[Any, ...]:
    """What tells calls apart: 1, 1.0 and True are three, and so are 0.0 and -0.0."""
    key: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            device = value.device
            index = -1 if device.type == "cpu" else device.index or 0
            key.append((value.dtype, tuple(value.shape), value.stride(), index))
        elif isinstance(value, (list, tuple)):
            key.append(key_of(value))
        elif isinstance(value, (int, float, complex)):
            key.append((type(value), repr(value)))
        else:
            key.append(value)
    return tuple(key)


def _text_of(answer: Any) -> str:
    if hasattr(answer, "mlir_module"):
        answer = answer.mlir_module()
    if isinstance(answer, (bytes, bytearray)):
        if bytes(answer).startswith(_BYTECODE):
            raise TypeError(
                "its lowering returned MLIR bytecode, only text is read: return the Exported"
                " itself or its mlir_module(), not mlir_module_serialized"
            )
        answer = bytes(answer).decode()
    if not isinstance(answer, str):
        raise TypeError(
            "its lowering must return StableHLO text, an object with mlir_module(), or None; it"
            f" returned {type(answer).__name__}"
        )
    return answer


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and bool(argument.alias_info.is_write)
