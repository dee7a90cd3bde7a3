"""The device kernel of an operator with a lowering from outside: a graph of one node per types."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from torch_pjrt._activation import core
from torch_pjrt._lowering_functions import (
    Function,
    Lowering,
    TensorType,
    add_call,
    key_of,
    leaves,
    type_of,
    with_types,
)


class Kernel:
    """Runs the operator for device tensors. Thread-safe."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        self.lock = threading.Lock()
        self.calls: dict[Any, _Call] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The operator's results for its own arguments; raises what `register_lowering` says."""
        values = self.lowering.bind(args, kwargs)
        key = key_of(values)
        found = self.calls.get(key)
        if found is None:
            made = _Call.make(self.lowering, values)
            with self.lock:
                found = self.calls.setdefault(key, made)
        return found.run(self.lowering, values)


@dataclass(frozen=True)
class _Call:
    """The operator for one set of argument types: a graph of one node."""

    graph: Any  # a _C.CapturedGraph; None: not served
    spec: pytree.TreeSpec  # of the result
    given: tuple[bool, ...]  # for each leaf of it: a tensor, or None

    @staticmethod
    def make(lowering: Lowering, values: list[Any]) -> _Call:
        fakes, spec = pytree.tree_flatten(_fake_results(lowering, values))
        given = tuple(fake is not None for fake in fakes)
        results = [f for f in fakes if f is not None]
        types = with_types(values)
        function = lowering.function(types, [type_of(fake) for fake in results])
        if function is None:
            return _Call(None, spec, given)
        graph = _graph_of(lowering, values, function, results)
        return _Call(graph, spec, given)

    def run(self, lowering: Lowering, values: list[Any]) -> Any:
        if self.graph is None:
            return _run_unlowered(lowering, values)
        tensors = list(leaves(torch.Tensor, values))
        made = iter(self.graph.run(tensors, []))
        return pytree.tree_unflatten([next(made) if t else None for t in self.given], self.spec)


def _graph_of(
    lowering: Lowering, values: list[Any], function: Function, results: list[torch.Tensor]
) -> Any:
    tensors = list(leaves(torch.Tensor, values))
    device = next((t.device for t in tensors if t.device.type != "cpu"), None)
    assert device is not None
    builder = core().GraphBuilder(lowering.name, device.index or 0)
    inputs = [_input(lowering, builder, tensor) for tensor in tensors]
    owners = [i for i, value in enumerate(values) for _ in leaves(torch.Tensor, [value])]
    written = [position for position, i in enumerate(owners) if i in lowering.mutated]
    types = [type_of(tensor) for tensor in [*results, *(tensors[i] for i in written)]]
    made = add_call(builder, function, inputs, types)
    for value, fake in zip(made, results, strict=False):
        builder.output(value, fake.dtype, list(fake.shape), list(fake.stride()))
    for value, position in zip(made[len(results) :], written, strict=True):
        builder.write(value, inputs[position])
    return builder.finish()


def _input(lowering: Lowering, builder: Any, tensor: torch.Tensor) -> Any:
    if tensor.device.type != "cpu":
        return builder.input(tensor.dtype, list(tensor.shape))
    if tensor.dim() == 0:
        return builder.host_scalar(tensor.dtype)
    raise RuntimeError(
        f"{lowering.name}: expected all tensors on one device, got one of shape"
        f" {tuple(tensor.shape)} on the CPU"
    )


def _fake_results(lowering: Lowering, values: list[Any]) -> Any:
    """What the fake kernel says: tensors without data."""
    from torch._subclasses.fake_tensor import FakeTensorMode, UnsupportedOperatorException

    with FakeTensorMode():
        fakes = pytree.tree_map_only(torch.Tensor, _like, values)
        try:
            result = _call(lowering, lowering.op, fakes)
        except UnsupportedOperatorException:
            raise RuntimeError(
                f"{lowering.name} has no fake kernel, which says the types of its results: give it"
                " one with torch.library.register_fake"
            ) from None
    for leaf in pytree.tree_leaves(result):
        if isinstance(leaf, torch.Tensor) and not all(isinstance(n, int) for n in leaf.shape):
            raise NotImplementedError(
                f"{lowering.name}: its results' sizes depend on data ({tuple(leaf.shape)}); an"
                " operator with a lowering has sizes that follow from its arguments' types"
            )
    return result


def _like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )


def _call(lowering: Lowering, run: Callable[..., Any], values: list[Any]) -> Any:
    arguments = lowering.schema.arguments
    args = [v for v, a in zip(values, arguments, strict=True) if not a.kwarg_only]
    kwargs = {a.name: v for v, a in zip(values, arguments, strict=True) if a.kwarg_only}
    return run(*args, **kwargs)


def _run_unlowered(lowering: Lowering, values: list[Any]) -> Any:
    """The operator's own body on the device where there is one, else its CPU kernel."""
    op = lowering.op
    body = torch._C.DispatchKey.CompositeExplicitAutograd
    if op.has_kernel_for_dispatch_key(body):
        return _call(lowering, lambda *a, **k: op._op_dk(body, *a, **k), values)
    types = ", ".join(map(str, leaves(TensorType, with_types(values))))
    core().admit_fallback(lowering.name, types, "its lowering does not serve this case")
    device = next(t.device for t in leaves(torch.Tensor, values) if t.device.type != "cpu")
    on_cpu = pytree.tree_map_only(torch.Tensor, lambda t: t.cpu(), values)
    result = _call(lowering, op, on_cpu)
    for index in lowering.mutated:
        pairs = zip(
            leaves(torch.Tensor, [values[index]]),
            leaves(torch.Tensor, [on_cpu[index]]),
            strict=True,
        )
        for tensor, changed in pairs:
            tensor.copy_(changed)
    return pytree.tree_map_only(torch.Tensor, lambda t: t.to(device), result)
