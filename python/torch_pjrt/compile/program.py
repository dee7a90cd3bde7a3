"""A compiled graph: its executables and the nodes between them, run in order."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.symbolic_shapes import free_symbols

from torch_pjrt import _fallback_log
from torch_pjrt.compile import report
from torch_pjrt.compile.importer import (
    Segment,
    UnsupportedNode,
    as_list,
    complete_values,
    concrete,
    import_segment,
    results_of,
    value_of,
)
from torch_pjrt.compile.partition import COPY, Plan, device_of, partition

_numbers = itertools.count()


def compile_graph(
    gm: fx.GraphModule, kind: str, device_type: str
) -> Callable[[list[Any]], Sequence[Any]]:
    """The graph as a boxed callable: it takes one list of inputs, which it empties."""
    device = device_of(gm.graph, device_type)
    name = f"{kind}_{next(_numbers)}"
    started = time.perf_counter()
    program = _Interpreted(gm) if device is None else Program(gm, name, kind, device)
    if isinstance(program, Program):
        program.record.seconds_inside = time.perf_counter() - started

    def run(args: list[Any]) -> Sequence[Any]:
        return program(args)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


class _Interpreted:
    """A graph that no device tensor takes part in."""

    def __init__(self, gm: fx.GraphModule) -> None:
        self.gm = gm

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        values = list(args)
        args.clear()
        result: Sequence[Any] = self.gm(*values)
        return result


class Program:
    """One FX graph on the device.

    With fixed sizes everything is compiled here; with symbolic ones, at the first call for each
    set of sizes.
    """

    def __init__(self, gm: fx.GraphModule, name: str, kind: str, device: torch.device) -> None:
        self.gm = gm
        self.name = name
        self.device = device
        self.record = report.GraphRecord(name, kind, str(device))
        self.refused: dict[fx.Node, str] = {}
        self.placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
        self.results = _results(gm.graph)
        complete_values(gm.graph)
        self.symbols = _Symbols(self.placeholders)
        self.constants = {n: getattr(gm, n.target) for n in gm.graph.nodes if n.op == "get_attr"}
        _fold_constants(gm.graph, self.constants)
        self.plan = self._partition()
        self.variants: dict[tuple[int, ...], _Variant] = {}
        if not self.symbols.free:
            self.variants[()] = self._compile({})
        report.add(self.record)

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        self.record.calls += 1
        key = self.symbols.values(args)
        variant = self.variants.get(key)
        if variant is None:
            variant = self._compile(self.symbols.bind(key))
            self.variants[key] = variant
        return variant.run(args)

    def _partition(self) -> Plan:
        return partition(self.gm.graph, self.name, self.device, self.refused, self.constants)

    def _compile(self, symbols: dict[sympy.Symbol, int]) -> _Variant:
        """Compiles the segments, taking out nodes that turn out to have no lowering."""
        started = time.perf_counter()
        while True:
            compiled: dict[int, Any] = {}
            try:
                for index, step in enumerate(self.plan.steps):
                    if isinstance(step, Segment) and not _unbacked(step, symbols):
                        compiled[index] = import_segment(step, symbols)
            except UnsupportedNode as problem:
                self.refused[problem.node] = problem.reason
                self.plan = self._partition()
                continue
            seconds = time.perf_counter() - started
            graphs = list(compiled.values())
            self.record.compiled(self.plan, self.refused, symbols, graphs, seconds)
            return _Variant(self, self.plan, symbols, compiled)


def _results(graph: fx.Graph) -> list[Any]:
    """What the graph returns; a written input stands for itself."""
    returned = graph.output_node().args[0]
    assert isinstance(returned, (list, tuple))
    written = [n.args[0] if isinstance(n, fx.Node) and n.target is COPY else n for n in returned]
    return [
        w if isinstance(w, fx.Node) and w.op == "placeholder" else r
        for w, r in zip(written, returned, strict=True)
    ]


class _Symbols:
    """The symbols of a graph's sizes, read off its inputs."""

    def __init__(self, placeholders: list[fx.Node]) -> None:
        self.sources: dict[sympy.Symbol, Callable[[list[Any]], int]] = {}
        used: set[sympy.Symbol] = set()
        for index, node in enumerate(placeholders):
            value = value_of(node)
            if isinstance(value, (torch.SymInt, torch.SymFloat)):
                self._add(value, _argument(index))
                used |= free_symbols(value)
            elif isinstance(value, torch.Tensor):
                for dim, size in enumerate(value.shape):
                    self._add(size, _size(index, dim))
                used |= free_symbols(value)
        self.free = sorted(used & set(self.sources), key=str)

    def _add(self, value: Any, read: Callable[[list[Any]], int]) -> None:
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            expression = value.node.expr
            if isinstance(expression, sympy.Symbol):
                self.sources.setdefault(expression, read)

    def values(self, args: list[Any]) -> tuple[int, ...]:
        return tuple(self.sources[symbol](args) for symbol in self.free)

    def bind(self, values: tuple[int, ...]) -> dict[sympy.Symbol, int]:
        return {s: sympy.sympify(v) for s, v in zip(self.free, values, strict=True)}


def _argument(index: int) -> Callable[[list[Any]], int]:
    return lambda args: args[index]


def _size(index: int, dim: int) -> Callable[[list[Any]], int]:
    return lambda args: args[index].shape[dim]


def _unbacked(segment: Segment, symbols: dict[sympy.Symbol, int]) -> bool:
    """Whether a size of the segment is known only once an earlier node has run."""
    nodes = [*segment.nodes, *segment.inputs]
    tensors = [value_of(node) for node in nodes]
    needed = set().union(*(free_symbols(v) for v in tensors if v is not None), set())
    return bool(needed - set(symbols))


def _fold_constants(graph: fx.Graph, constants: dict[fx.Node, Any]) -> None:
    """Copies of constants to the device are made once, when the graph is compiled."""
    ops = torch.ops.aten
    copies = (ops.lift_fresh_copy.default, ops._to_copy.default, ops.lift_fresh.default)
    for node in graph.nodes:
        if node.op != "call_function" or node.target not in copies:
            continue
        source = node.args[0]
        if source in constants and isinstance(constants[source], torch.Tensor):
            with torch.no_grad(), unset_fake_temporarily():
                constants[node] = node.target(constants[source], **node.kwargs)


class _Variant:
    """A plan with its executables for one set of sizes."""

    def __init__(
        self,
        program: Program,
        plan: Plan,
        symbols: dict[sympy.Symbol, int],
        compiled: dict[int, Any],
    ) -> None:
        self.program = program
        self.steps = plan.steps
        self.symbols = symbols
        self.compiled = compiled
        self.run = self._run_steps
        self._use_fast_path()

    def _use_fast_path(self) -> None:
        """One executable and nothing else: inputs and results by position."""
        if len(self.steps) != 1 or 0 not in self.compiled:
            return
        segment = self.steps[0]
        assert isinstance(segment, Segment)
        position = {node: i for i, node in enumerate(self.program.placeholders)}
        constants = self.program.constants
        made = {node: i for i, node in enumerate(segment.outputs)}
        inputs = [(position.get(node, -1), constants.get(node)) for node in segment.inputs]
        generators = [position[node] for node in segment.generators]
        results: list[tuple[int, int, Any]] = []
        for result in self.program.results:
            if not isinstance(result, fx.Node):
                results.append((-1, -1, result))
            elif result in made:
                results.append((made[result], -1, None))
            elif result in position:
                results.append((-1, position[result], None))
            elif result in constants:
                results.append((-1, -1, constants[result]))
            else:
                size = concrete(value_of(result), self.symbols)
                if isinstance(size, torch.Tensor) or size is None:
                    return
                results.append((-1, -1, size))
        graph = self.compiled[0]

        def run(args: list[Any]) -> Sequence[Any]:
            tensors = [constant if i < 0 else args[i] for i, constant in inputs]
            own = [args[i] for i in generators]
            kept = [args[i] if i >= 0 else constant for _, i, constant in results]
            args.clear()
            values = graph.run(tensors, own)
            return [
                values[i] if i >= 0 else other
                for (i, _, _), other in zip(results, kept, strict=True)
            ]

        self.run = run

    def _run_steps(self, args: list[Any]) -> Sequence[Any]:
        known = dict(self.program.constants)
        known.update(zip(self.program.placeholders, args, strict=True))
        args.clear()
        symbols = dict(self.symbols)
        for index, step in enumerate(self.steps):
            if isinstance(step, Segment):
                graph = self.compiled.get(index)
                if graph is None:
                    graph = import_segment(step, symbols)
                inputs = [known[node] for node in step.inputs]
                own = [known[node] for node in step.generators]
                known.update(zip(step.outputs, graph.run(inputs, own), strict=True))
            elif step not in known:
                known[step] = self._run_node(step, known, symbols)
                _bind_unbacked(step, known[step], symbols)
        return [self._result(result, known, symbols) for result in self.program.results]

    def _result(self, result: Any, known: dict[fx.Node, Any], symbols: Any) -> Any:
        if not isinstance(result, fx.Node):
            return result
        if result in known:
            return known[result]
        return concrete(value_of(result), symbols)

    def _run_node(self, node: fx.Node, known: dict[fx.Node, Any], symbols: Any) -> Any:
        def load(source: fx.Node) -> Any:
            return self._result(source, known, symbols)

        args = fx.node.map_arg(node.args, load)
        kwargs = fx.node.map_arg(node.kwargs, load)
        assert callable(node.target)
        line = report.user_line(node)
        try:
            with _fallback_log.running(self.program.name, line):
                return node.target(*args, **kwargs)
        except Exception as error:
            error.add_note(f"{node.target} at {line or 'an unknown line'}, in {self.program.name}")
            raise


def _bind_unbacked(node: fx.Node, value: Any, symbols: dict[sympy.Symbol, int]) -> None:
    """Sizes and numbers that are known once a node has run."""
    for fake, real in zip(results_of(node), as_list(value), strict=False):
        if isinstance(fake, torch.Tensor) and isinstance(real, torch.Tensor):
            for size, found in zip(fake.shape, real.shape, strict=True):
                _bind(size, found, symbols)
        else:
            _bind(fake, real, symbols)


def _bind(size: Any, found: Any, symbols: dict[sympy.Symbol, int]) -> None:
    if isinstance(size, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        expression = size.node.expr
        if isinstance(expression, sympy.Symbol) and expression not in symbols:
            symbols[expression] = sympy.sympify(found)
