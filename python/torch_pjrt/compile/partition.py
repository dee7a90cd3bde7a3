"""Which nodes of a graph go into which executable, and which run by themselves between them.

Every node has a level: the number of times the work before it has to leave the executables. The
lowerable nodes of a level form one segment; the others of that level run after it, one by one.
"""

from __future__ import annotations

import operator
from collections.abc import Container
from dataclasses import dataclass, field

import torch
from torch import fx

from torch_pjrt.compile.control import ControlCall, control_of
from torch_pjrt.compile.decompositions import can_capture
from torch_pjrt.compile.importer import (
    Segment,
    call_of,
    region_results,
    results_of,
    value_of,
)

COPY = torch.ops.aten.copy_.default


@dataclass
class Plan:
    """The steps of a graph in order: segments, and nodes that PyTorch runs."""

    steps: list[Segment | fx.Node] = field(default_factory=list)

    @property
    def segments(self) -> list[Segment]:
        """The executables."""
        return [step for step in self.steps if isinstance(step, Segment)]

    @property
    def breaks(self) -> list[fx.Node]:
        """The operators on tensors between them."""
        nodes = [step for step in self.steps if isinstance(step, fx.Node)]
        return [node for node in nodes if node.target is not operator.getitem and _on_tensors(node)]


def _on_tensors(node: fx.Node) -> bool:
    values = [*results_of(node), *(v for n in node.all_input_nodes for v in results_of(n))]
    return any(isinstance(value, torch.Tensor) for value in values)


def device_of(graph: fx.Graph, device_type: str) -> torch.device | None:
    """The device that the graph's executables run on: the first that a node mentions."""
    for node in graph.nodes:
        for value in results_of(node):
            if isinstance(value, torch.Tensor) and value.device.type == device_type:
                return torch.device(device_type, value.device.index or 0)
    return None


def why_not(node: fx.Node, device: torch.device) -> str | None:
    """Why a node cannot be part of an executable; None when it can, as far as types say."""
    control = control_of(node)
    if control is not None:
        return _why_not_control(node, control, device)
    call = call_of(node)
    if call is None:
        return f"{node.target} is no operator that the core lowers"
    if not can_capture(call.op):
        return f"{call.op} has no lowering"
    if node.meta.get("unbacked_bindings"):
        return f"{call.op} has a result whose size depends on data"
    for value in results_of(node):
        if value is None:
            continue
        if not isinstance(value, torch.Tensor):
            return f"{call.op} gives a number to the host"
        if value.device != device:
            return f"{call.op} runs on {value.device}"
    for source in node.all_input_nodes:
        if source is call.generator:
            continue
        if (reason := _unreadable(source, device)) is not None:
            return f"{call.op} {reason}"
    if any(isinstance(value, torch._C.Generator) for value in call.kwargs.values()):
        return f"{call.op} draws from a generator of its own"
    if "as_strided" in str(call.op) and not _is_row_major(node.args[0]):
        return f"{call.op} of a tensor that is not contiguous"
    return None


def _why_not_control(node: fx.Node, control: ControlCall, device: torch.device) -> str | None:
    for operand in control.operands:
        if not isinstance(operand, fx.Node) or not isinstance(value_of(operand), torch.Tensor):
            return f"{node.target} over a number of the host"
        if (reason := _unreadable(operand, device)) is not None:
            return f"{node.target} {reason}"
    for region in control.regions:
        if not all(isinstance(value_of(result), torch.Tensor) for result in region_results(region)):
            return f"{node.target} gives something else than tensors"
        for inner in region.graph.nodes:
            if (reason := _why_not_inside(inner, device)) is not None:
                return f"{node.target}: {reason}"
    return None


def _why_not_inside(node: fx.Node, device: torch.device) -> str | None:
    """Why a node cannot be part of a control flow region."""
    if node.op == "placeholder" and not isinstance(value_of(node), torch.Tensor):
        return "a region takes a number of the host"
    if node.op == "get_attr" and not isinstance(
        getattr(node.graph.owning_module, str(node.target)), fx.GraphModule
    ):
        return "a region holds a constant tensor"
    if node.op != "call_function" or node.target is operator.getitem or is_size(node):
        return None
    call = call_of(node)
    if call is not None and torch.Tag.nondeterministic_seeded in call.op.tags:
        return f"{call.op} draws random numbers"
    return why_not(node, device)


def _unreadable(source: fx.Node, device: torch.device) -> str | None:
    for value in results_of(source):
        if not isinstance(value, torch.Tensor) or value.device == device:
            continue
        if value.device.type == "cpu" and value.dim() == 0:
            continue
        return f"reads a tensor on {value.device}"
    return None


def is_size(node: fx.Node) -> bool:
    """Whether a node computes with sizes alone: its value follows from the symbols'."""
    if node.op != "call_function" or not isinstance(
        value_of(node), (int, float, torch.SymInt, torch.SymFloat, torch.SymBool)
    ):
        return False
    return not node.meta.get("unbacked_bindings") and not any(
        isinstance(argument, fx.Node) and isinstance(value_of(argument), torch.Tensor)
        for argument in node.args
        if "sym_" not in str(node.target)
    )


def _is_row_major(source: object) -> bool:
    fake = value_of(source)
    return fake is not None and fake.is_contiguous() and fake.storage_offset() == 0


def partition(
    graph: fx.Graph,
    name: str,
    device: torch.device,
    refused: dict[fx.Node, str],
    constants: Container[fx.Node],
) -> Plan:
    """Splits the graph.

    `refused` are nodes known not to be lowerable, with the reason; `constants` are already known.
    """
    return _Partitioner(graph, name, device, refused, constants).plan()


class _Partitioner:
    def __init__(
        self,
        graph: fx.Graph,
        name: str,
        device: torch.device,
        refused: dict[fx.Node, str],
        constants: Container[fx.Node],
    ) -> None:
        self.constants = constants
        self.graph = graph
        self.name = name
        self.device = device
        self.refused = refused
        self.level: dict[fx.Node, int] = {}
        self.lowered: set[fx.Node] = set()  # in the segment of their level
        self.writes = [n for n in graph.nodes if self._is_write(n)]

    def plan(self) -> Plan:
        eager: dict[int, list[fx.Node]] = {}
        segments: dict[int, list[fx.Node]] = {}
        last_impure = 0
        for node in self.graph.nodes:
            given = node.op in ("placeholder", "get_attr", "output") or node in self.constants
            if given or node in self.writes:
                self.level[node] = 0
                continue
            if node.target is operator.getitem:
                source = node.args[0]
                assert isinstance(source, fx.Node)
                self.level[node] = self.level[source]
                if source in self.lowered:
                    self.lowered.add(node)
                    segments[self.level[node]].append(node)
                else:
                    eager.setdefault(self.level[node], []).append(node)
                continue
            if is_size(node):
                self.level[node] = max(map(self._after, node.all_input_nodes), default=0)
                continue
            if node not in self.refused:
                reason = why_not(node, self.device)
                if reason is not None:
                    self.refused[node] = reason
            if node in self.refused:
                level = max([self.level[s] for s in node.all_input_nodes], default=0)
                if node.is_impure():
                    level = last_impure = max(level, last_impure)
                eager.setdefault(level, []).append(node)
            else:
                level = max(map(self._after, node.all_input_nodes), default=0)
                self.lowered.add(node)
                segments.setdefault(level, []).append(node)
            self.level[node] = level
        return self._assemble(segments, eager)

    def _after(self, source: fx.Node) -> int:
        given = source.op != "call_function" or source in self.constants
        runs_alone = not given and source not in self.lowered and not is_size(source)
        return self.level[source] + (1 if runs_alone else 0)

    def _is_write(self, node: fx.Node) -> bool:
        if node.op != "call_function" or node.target is not COPY:
            return False
        target, value = node.args[0], node.args[1]
        return (
            isinstance(target, fx.Node)
            and target.op == "placeholder"
            and isinstance(value, fx.Node)
            and value_of(target).device == self.device
            and value_of(value).device == self.device
            and all(user.op == "output" for user in node.users)
        )

    def _assemble(
        self, segments: dict[int, list[fx.Node]], eager: dict[int, list[fx.Node]]
    ) -> Plan:
        levels = sorted({*segments, *eager})
        plan = Plan()
        for level in levels:
            if segments.get(level):
                name = f"{self.name}.{len(plan.segments)}" if len(segments) > 1 else self.name
                plan.steps.append(Segment(name, self.device, segments[level]))
            plan.steps.extend(eager.get(level, []))
        self._place_writes(plan)
        for segment in plan.segments:
            self._connect(segment, plan)
        return plan

    def _place_writes(self, plan: Plan) -> None:
        """Inputs are written after everything has read them: by the last step."""
        if not self.writes:
            return
        if not plan.steps or not isinstance(plan.steps[-1], Segment):
            plan.steps.append(Segment(f"{self.name}.writes", self.device, []))
        last = plan.steps[-1]
        assert isinstance(last, Segment)
        for node in self.writes:
            target, value = node.args[0], node.args[1]
            assert isinstance(target, fx.Node) and isinstance(value, fx.Node)
            last.writes.append((value, target))

    def _connect(self, segment: Segment, plan: Plan) -> None:
        inside = set(segment.nodes)
        inputs: dict[fx.Node, None] = {}
        generators: dict[fx.Node, None] = {}
        for node in segment.nodes:
            call = call_of(node)
            for source in node.all_input_nodes:
                if call is not None and source is call.generator:
                    generators[source] = None
                elif source not in inside and isinstance(value_of(source), torch.Tensor):
                    inputs[source] = None
        for value, target in segment.writes:
            inputs.update({n: None for n in (value, target) if n not in inside})
        segment.inputs = list(inputs)
        segment.generators = list(generators)
        elsewhere = {value for s in plan.segments if s is not segment for value, _ in s.writes}
        for node in segment.nodes:
            users = [user for user in node.users if user not in inside and user not in self.writes]
            if (users or node in elsewhere) and isinstance(value_of(node), torch.Tensor):
                segment.outputs.append(node)
