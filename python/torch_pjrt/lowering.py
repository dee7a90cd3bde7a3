"""Lowerings from outside: StableHLO for operators made with torch.library.

`register_lowering` is the public function; docs/custom_ops.md explains it with examples.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import torch
from torch._library.custom_ops import CustomOpDef
from torch._ops import OpOverload, OpOverloadPacket

from torch_pjrt._activation import choice
from torch_pjrt._lowering_eager import Kernel
from torch_pjrt._lowering_functions import Lowering, LoweringFunction, TensorType

__all__ = ["TensorType", "find", "register_lowering"]


F = TypeVar("F", bound=LoweringFunction)


@overload
def register_lowering(op: Any, fn: F) -> F: ...
@overload
def register_lowering(op: Any, fn: None = None) -> Callable[[F], F]: ...
def register_lowering(op: Any, fn: LoweringFunction | None = None) -> Any:
    """Gives an operator a lowering: StableHLO that the device runs for it.

    `op`: what `torch.library.custom_op` returned, an OpOverload, or a name such as
    "mylib::attention" or "mylib::attention.overload". It must have a fake kernel
    (`register_fake`).

    `fn` is called like the operator, with a `TensorType` in place of every tensor; numbers,
    strings, dtypes and None come as they are. It returns a StableHLO module with one public
    function (`func.func public @main`) as text, or an object with a method `mlir_module()` that
    gives the text, such as jax.export's Exported. The function takes the tensors in the order of
    the schema, lists spread out and None left out, and returns the operator's results in order,
    then the new value of each tensor that the schema says is mutated. For a case it does not serve
    `fn` returns None: the operator's own Python body then runs on the device, or, when it has a
    kernel for the CPU only, that one.

    `fn` is called once for each distinct set of types and other arguments, in eager mode, in
    torch.compile and in backward graphs alike. Without `fn` this is a decorator. Registering again
    replaces the lowering; graphs that are compiled keep the old one.

    Raises ValueError for an unknown operator, one of PyTorch's own, one whose results are not
    tensors or alias its arguments. What is wrong with an answer of `fn` raises ValueError or
    TypeError (text that cannot be read, types that differ from the fake kernel's) or RuntimeError
    (what the compiler says), with the operator's name, when the operator is first called.
    """
    if fn is None:
        return lambda decorated: register_lowering(op, decorated)
    found = _overload(op)
    _check_schema(found)
    lowering = Lowering(found, fn)
    with _lock:
        known = _registered.get(lowering.name)
        if known is not None and known.op is found:
            library = known.library
        else:
            if known is not None:  # of an operator that was defined anew
                known.library._destroy()
            library = _install(found, lowering.name)
        _registered[lowering.name] = _Registered(found, lowering, Kernel(lowering), library)
    return fn


def find(op: OpOverload) -> Lowering | None:
    """The lowering registered for an operator, if one is."""
    known = _registered.get(_name(op))
    return None if known is None else known.lowering


@dataclass(frozen=True)
class _Registered:
    op: OpOverload
    lowering: Lowering
    kernel: Kernel
    library: Any  # keeps the kernel in PyTorch's dispatcher


_registered: dict[str, _Registered] = {}
_lock = threading.Lock()


def _install(op: OpOverload, name: str) -> Any:
    """Makes what is registered under `name` the operator's kernel on the device."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return _registered[name].kernel(*args, **kwargs)

    library = torch.library.Library(op.namespace, "IMPL")  # type: ignore[no-untyped-call]
    try:
        library.impl(op, kernel, "PrivateUse1")  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        raise ValueError(
            f"{name} has a kernel for the device {choice().device_name} already: {error}"
        ) from error
    return library


def _name(op: OpOverload) -> str:
    name: str = op.name()  # type: ignore[no-untyped-call]
    return name


def _overload(op: Any) -> OpOverload:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, OpOverloadPacket):
        op = op._qualified_op_name
    if not isinstance(op, str) or "::" not in op:
        raise ValueError(f"an operator's name looks like 'mylib::attention', got {op!r}")
    namespace, _, name = op.partition("::")
    name, _, variant = name.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    found = getattr(packet, variant or "default", None)
    if not isinstance(found, OpOverload):
        raise ValueError(
            f"there is no operator {op}: define it first, with torch.library.custom_op or"
            " torch.library.define"
        )
    return found


def _check_schema(op: OpOverload) -> None:
    if op.namespace in ("aten", "prim", "prims"):
        raise ValueError(
            f"{_name(op)} is PyTorch's own: its lowering is a row in csrc/lower (CONTRIBUTING.md)."
            " Operators of torch.library get theirs here"
        )
    for result in op._schema.returns:
        if str(result.type) not in ("Tensor", "List[Tensor]", "Optional[Tensor]"):
            raise ValueError(
                f"{_name(op)} returns {result.type}: an operator with a lowering returns tensors"
            )
        if result.alias_info is not None:
            raise ValueError(
                f"{_name(op)} returns one of its arguments: {op._schema}. An operator with a"
                " lowering returns new tensors; one that only mutates its arguments returns nothing"
            )
    if not any("Tensor" in str(argument.type) for argument in op._schema.arguments):
        raise ValueError(f"{_name(op)} takes no tensor: its device would not be known")
