"""Which operators are taken apart before a graph is imported: those without a lowering."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

from torch_pjrt._activation import core
from torch_pjrt.lowering import find

Decomposition = Callable[..., Any]


@functools.cache
def lowering_name(op: OpOverload) -> str | None:
    """The name of the row that serves the overload in a graph, such as "add.Tensor".

    None for an operator that the core cannot lower. A number takes a tensor's place in the rows of
    tensors: "mul.Scalar" is served by "mul.Tensor".
    """
    namespace, _, name = op._schema.name.partition("::")
    if namespace != "aten":
        return None
    overload = op._schema.overload_name
    for candidate in (overload, overload.replace("Scalar", "Tensor", 1)):
        full = f"{name}.{candidate}" if candidate else name
        if core().can_capture(full) and _same_arguments(
            op, getattr(op.overloadpacket, candidate or "default")
        ):
            return full
    return None


def _same_arguments(op: OpOverload, row: OpOverload) -> bool:
    names = [[argument.name for argument in o._schema.arguments] for o in (op, row)]
    return names[0] == names[1]


def can_capture(op: OpOverload) -> bool:
    """Whether a graph can hold this overload: the core lowers it, or a lowering was registered."""
    return lowering_name(op) is not None or find(op) is not None


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
        elif name.startswith("prims::"):
            prim = _overload(name)
            if hasattr(prim, "impl_aten"):  # what PyTorch says it is in terms of aten
                decompositions.setdefault(prim, prim.impl_aten)
    return decompositions


def _overload(name: str) -> OpOverload:
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    op: OpOverload = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
    return op


def _composite(op: OpOverload) -> Decomposition:
    """The operator as PyTorch's own composite kernel computes it, tensor by tensor."""

    def decomposition(*args: Any, **kwargs: Any) -> Any:
        key = torch._C.DispatchKey.CompositeExplicitAutograd
        if not op.has_kernel_for_dispatch_key(key):
            return NotImplemented
        return op._op_dk(key, *args, **kwargs)

    return decomposition
