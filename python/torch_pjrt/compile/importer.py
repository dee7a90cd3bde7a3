"""Hands FX nodes to the C++ core, one by one, as a graph that becomes one executable."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import fx
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor

from torch_pjrt._activation import core
from torch_pjrt._lowering_functions import Lowering, TensorType, add_call, leaves
from torch_pjrt.compile.control import ControlCall, control_of
from torch_pjrt.compile.decompositions import lowering_name
from torch_pjrt.compile.mutating import functional_call
from torch_pjrt.compile.report import user_line
from torch_pjrt.lowering import find

Symbols = Mapping[sympy.Symbol, int]


@dataclass(frozen=True)
class Call:
    """What a lowerable node computes: an operator, its arguments, the generator it draws from."""

    op: OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    generator: fx.Node | None = None


def call_of(node: fx.Node) -> Call | None:
    """The operator call in a node, or None when the node is something else."""
    if node.op != "call_function":
        return None
    if node.target is torch.ops.prims.convert_element_type.default:
        source, dtype = node.args
        return Call(torch.ops.aten._to_copy.default, (source,), {"dtype": dtype})
    if isinstance(node.target, OpOverload):
        return Call(node.target, node.args, node.kwargs)
    if node.target is torch.ops.higher_order.graphsafe_run_with_rng_state:
        kwargs = {k: v for k, v in node.kwargs.items() if k != "rng_state"}
        generator = node.kwargs["rng_state"]
        if isinstance(node.args[0], OpOverload) and isinstance(generator, fx.Node):
            return Call(node.args[0], node.args[1:], kwargs, generator)
    if node.target is torch.ops.higher_order.auto_functionalized_v2:
        functional = functional_call(node)
        return None if functional is None else Call(functional[0], (), functional[1])
    return None


def value_of(node: Any) -> Any:
    """What tracing says a node gives: fake tensors, sizes, or lists of them."""
    return node.meta.get("val") if isinstance(node, fx.Node) else None


def concrete(value: Any, symbols: Symbols) -> Any:
    """A size or number as Python knows it once the symbols have values."""
    if isinstance(value, torch.SymInt):
        return int(value.node.expr.xreplace(dict(symbols)))
    if isinstance(value, torch.SymFloat):
        return float(value.node.expr.xreplace(dict(symbols)))
    if isinstance(value, torch.SymBool):
        return bool(value.node.expr.xreplace(dict(symbols)))
    return value


def complete_values(graph: fx.Graph) -> None:
    """Gives values to nodes that AOTAutograd adds after tracing (draws replayed in backward)."""
    for node in graph.nodes:
        call = call_of(node)
        if call is None or "val" in node.meta:
            continue
        args = fx.node.map_arg(call.args, value_of)
        fakes = [a for a in args if isinstance(a, FakeTensor)]
        if fakes:
            with fakes[0].fake_mode:
                node.meta["val"] = call.op(*args, **fx.node.map_arg(call.kwargs, value_of))


def region_results(region: fx.GraphModule) -> list[Any]:
    """What a control flow region returns, in a row."""
    return as_list(region.graph.output_node().args[0])


def results_of(node: fx.Node) -> list[torch.Tensor | None]:
    """The node's results in a row."""
    return as_list(value_of(node))


def as_list(value: Any) -> list[Any]:
    """The entries of a list or tuple; anything else as the only entry."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


@dataclass
class Segment:
    """Nodes that become one executable, what goes in and what comes out."""

    name: str
    device: torch.device
    nodes: list[fx.Node]
    inputs: list[fx.Node] = field(default_factory=list)
    generators: list[fx.Node] = field(default_factory=list)
    outputs: list[fx.Node] = field(default_factory=list)
    writes: list[tuple[fx.Node, fx.Node]] = field(default_factory=list)  # (value, input)


class UnsupportedNode(Exception):
    """A node of a segment turned out to have no lowering for its case."""

    def __init__(self, node: fx.Node, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


def import_segment(segment: Segment, symbols: Symbols) -> Any:
    """Builds, lowers and compiles the segment's graph for these sizes; returns a _C.CapturedGraph.

    Raises UnsupportedNode for the first node that cannot be lowered.
    """
    return _Importer(segment, symbols).run()


class _GraphImporter:
    """Nodes into one builder; `values` are the core's values of FX nodes."""

    def __init__(self, name: str, device: torch.device, symbols: Symbols) -> None:
        self.name = name
        self.device = device
        self.symbols = symbols
        self.builder = core().GraphBuilder(name, device.index or 0)
        self.values: dict[fx.Node, Any] = {}
        self.order: list[fx.Node] = []  # the node of each operator in the core's graph

    def sizes(self, sizes: Sequence[Any]) -> list[int]:
        return [concrete(size, self.symbols) for size in sizes]

    def generator(self, node: fx.Node) -> int:
        raise AssertionError(f"{node} draws inside a control flow region")

    def node(self, node: fx.Node) -> None:
        if node.target is operator.getitem:
            source, index = node.args
            assert isinstance(source, fx.Node)
            self.values[node] = self.values[source][index]
            return
        results = [
            None if fake is None else (fake.dtype, self.sizes(fake.shape))
            for fake in results_of(node)
        ]
        control = control_of(node)
        line = user_line(node)
        try:
            if control is None:
                made = self._call(node, results, line)
            else:
                made = self._control(control, results, line)
        except UnsupportedNode as problem:  # inside a region: the node that holds it
            raise UnsupportedNode(node, problem.reason) from None
        self.order.append(node)
        self.values[node] = made if isinstance(value_of(node), (list, tuple)) else made[0]

    def _call(self, node: fx.Node, results: list[Any], line: str) -> list[Any]:
        call = call_of(node)
        assert call is not None
        own = find(call.op)
        if own is not None:
            return self._call_function(node, call, own, line)
        draws_from = -1 if call.generator is None else self.generator(call.generator)
        made: list[Any] = self.builder.node(
            lowering_name(call.op), self._arguments(call), results, draws_from, line
        )
        return made

    def _control(self, control: ControlCall, results: list[Any], line: str) -> list[Any]:
        regions = [self._region(region) for region in control.regions]
        operands = [self.values[operand] for operand in control.operands]
        counts = (control.carried, control.sequences)
        made: list[Any] = self.builder.control(
            control.kind, operands, regions, *counts, results, line
        )
        return made

    def _region(self, region: fx.GraphModule) -> Any:
        inner = _GraphImporter(self.name, self.device, self.symbols)
        for node in region.graph.nodes:
            if node.op == "placeholder":
                fake = value_of(node)
                inner.values[node] = inner.builder.input(fake.dtype, self.sizes(fake.shape))
            elif node.op == "call_function":
                inner.node(node)
        for result in region_results(region):
            fake = value_of(result)
            sizes = self.sizes(fake.shape)
            inner.builder.output(inner.values[result], fake.dtype, sizes, [0] * len(sizes))
        return inner.builder

    def _call_function(self, node: fx.Node, call: Call, own: Lowering, line: str) -> list[Any]:
        """An operator with a lowering from outside; the new values of what it mutates come last."""
        given = own.bind(call.args, call.kwargs)
        fakes = results_of(node)
        types = [self._type(fake) for fake in fakes if fake is not None]
        returned = len(types) - own.count_written(given, fx.Node)
        function = own.function([self._typed(value) for value in given], types[:returned])
        if function is None:
            raise UnsupportedNode(node, f"the lowering of {call.op} does not serve this case")
        values = [self._argument(value) for value in given]
        tensors = list(leaves(core().GraphValue, values))
        made = iter(add_call(self.builder, function, tensors, types, line))
        return [None if fake is None else next(made) for fake in fakes]

    def _type(self, fake: torch.Tensor) -> TensorType:
        return TensorType(fake.dtype, tuple(self.sizes(fake.shape)))

    def _typed(self, value: Any) -> Any:
        """The argument as a lowering from outside sees it."""
        if isinstance(value, (list, tuple)):
            return [self._typed(entry) for entry in value]
        if isinstance(value, fx.Node):
            value = value_of(value)
        return (
            self._type(value) if isinstance(value, torch.Tensor) else concrete(value, self.symbols)
        )

    def _arguments(self, call: Call) -> list[Any]:
        given = list(call.args)
        arguments = []
        for position, argument in enumerate(call.op._schema.arguments):
            if position < len(given) and not argument.kwarg_only:
                value = given[position]
            elif argument.name in call.kwargs:
                value = call.kwargs[argument.name]
            else:
                value = argument.default_value if argument.has_default_value() else None
            arguments.append(self._argument(value))
        return arguments

    def _argument(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            if value in self.values:
                return self.values[value]
            return concrete(value_of(value), self.symbols)
        if isinstance(value, (list, tuple)):
            return [self._argument(entry) for entry in value]
        return concrete(value, self.symbols)


class _Importer(_GraphImporter):
    """A segment: its inputs lie on storages, its outputs are tensors and written inputs."""

    def __init__(self, segment: Segment, symbols: Symbols) -> None:
        super().__init__(segment.name, segment.device, symbols)
        self.segment = segment
        self.strides: list[list[int]] = []

    def run(self) -> Any:
        for node in self.segment.inputs:
            self._input(node)
        for node in self.segment.nodes:
            self.node(node)
        for node in self.segment.outputs:
            self._output(node)
        for value, target in self.segment.writes:
            self.builder.write(self._converted(value, target), self.values[target])
        graph = self.builder.finish()
        problem = graph.prepare(self.strides)
        if problem is not None:
            raise UnsupportedNode(self.order[problem[0]], problem[1])
        return graph

    def generator(self, node: fx.Node) -> int:
        return self.segment.generators.index(node)

    def _input(self, node: fx.Node) -> None:
        fake = value_of(node)
        if fake.device.type == "cpu":
            self.values[node] = self.builder.host_scalar(fake.dtype)
            self.strides.append([])
            return
        self.values[node] = self.builder.input(fake.dtype, self.sizes(fake.shape))
        self.strides.append(self.sizes(fake.stride()))

    def _output(self, node: fx.Node) -> None:
        fake = value_of(node)
        self.builder.output(
            self.values[node], fake.dtype, self.sizes(fake.shape), self.sizes(fake.stride())
        )

    def _converted(self, value: fx.Node, target: fx.Node) -> Any:
        """copy_ converts and broadcasts; the write itself takes the target's type."""
        to, given = value_of(target), value_of(value)
        if to.dtype == given.dtype and to.shape == given.shape:
            return self.values[value]
        results = [(to.dtype, self.sizes(to.shape))]
        args = [self.values[target], self.values[value], False]
        self.order.append(value)
        return self.builder.node("copy", args, results, -1, user_line(value))[0]
