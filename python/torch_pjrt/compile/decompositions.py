"""Which operators are taken apart before a graph is imported: those without a lowering."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

from torch_pjrt._activation import core

Decomposition = Callable[..., Any]


def lowering_name(op: OpOverload) -> str | None:
    """The name of the op's row, such as "add.Tensor"; None for an operator of another namespace."""
    namespace, _, name = op._schema.name.partition("::")
    if namespace != "aten":
        return None
    overload = op._schema.overload_name
    return f"{name}.{overload}" if overload else name


@functools.cache
def can_capture(op: OpOverload) -> bool:
    """Whether the core can lower this overload inside a graph."""
    name = lowering_name(op)
    return name is not None and bool(core().can_capture(name))


@functools.cache
def table() -> dict[OpOverload, Decomposition]:
    """PyTorch's decompositions for every operator that has no lowering of its own."""
    decompositions: dict[OpOverload, Decomposition] = {}
    for op, decomposition in dict(torch._decomp.core_aten_decompositions()).items():
        if isinstance(op, OpOverload) and not can_capture(op):
            decompositions[op] = decomposition
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("aten::_foreach_"):
            op = _overload(name)
            if not can_capture(op):
                decompositions.setdefault(op, _composite(op))
        elif name.startswith("aten::") and name.endswith(".Scalar"):
            op = _overload(name)
            tensor = getattr(op.overloadpacket, "Tensor", None)
            if not can_capture(op) and tensor is not None and _takes_numbers(tensor):
                decompositions.setdefault(op, tensor)
    return decompositions


def _overload(name: str) -> OpOverload:
    packet, _, overload = name.removeprefix("aten::").partition(".")
    op: OpOverload = getattr(getattr(torch.ops.aten, packet), overload or "default")
    return op


def _takes_numbers(tensor: OpOverload) -> bool:
    """Whether the overload on tensors serves numbers as well: add, mul, eq, ..."""
    if not can_capture(tensor):
        return False
    arguments = tensor._schema.arguments
    return len(arguments) >= 2 and arguments[1].name == "other"


def _composite(op: OpOverload) -> Decomposition:
    """The operator as PyTorch's own composite kernel computes it, tensor by tensor."""

    def decomposition(*args: Any, **kwargs: Any) -> Any:
        key = torch._C.DispatchKey.CompositeExplicitAutograd
        if not op.has_kernel_for_dispatch_key(key):
            return NotImplemented
        return op._op_dk(key, *args, **kwargs)

    return decomposition
