"""What was compiled, and why: the records behind `torch_pjrt.compile_report()`."""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import fx

from torch_pjrt import _lines

MOST = 10_000  # records kept of each kind; older ones are forgotten

_serials = itertools.count(1)


def next_serial() -> int:
    """Numbers in the order of events, so that a part of them can be told apart."""
    return next(_serials)


class PartitionBreak(NamedTuple):
    """A node that runs by itself, between executables."""

    op: str
    reason: str
    line: str


@dataclass
class Variant:
    """The executables of a graph for one set of sizes."""

    sizes: dict[str, int]
    seconds: float
    compiling: float
    serial: int
    graphs: list[Any]  # weak references to the core's graphs

    @property
    def programs(self) -> int:
        """Programs made for it: more than its executables when inputs lie differently in memory."""
        return sum(graph.num_programs for ref in self.graphs if (graph := ref()) is not None)


@dataclass
class GraphRecord:
    """One graph that torch.compile handed over."""

    name: str
    kind: str
    device: str
    nodes: int = 0
    segments: int = 0
    breaks: list[PartitionBreak] = field(default_factory=list)
    variants: list[Variant] = field(default_factory=list)
    line: str = ""
    calls: int = 0
    seconds_inside: float = 0.0  # of our own, while Dynamo compiled the graph
    compile_id: str = field(default_factory=lambda: _compile_id())
    made_at: float = field(default_factory=time.time)

    def compiled(
        self,
        plan: Any,
        refused: Mapping[fx.Node, str],
        symbols: Mapping[Any, int],
        graphs: list[Any],
        seconds: float,
    ) -> None:
        """Notes a plan that was compiled for these sizes in so many seconds."""
        self.segments = len(plan.segments)
        self.nodes = sum(len(segment.nodes) for segment in plan.segments)
        self.breaks = [
            PartitionBreak(str(node.target), refused.get(node, ""), user_line(node))
            for node in plan.breaks
            if node in refused  # not the parts of a result that is a tuple
        ]
        nodes = [node for segment in plan.segments for node in segment.nodes] + plan.breaks
        self.line = next(filter(None, map(user_line, nodes)), "")
        sizes = {str(symbol): int(size) for symbol, size in symbols.items()}
        compiling = sum(graph.compiling_seconds for graph in graphs)
        references = [weakref.ref(graph) for graph in graphs]
        self.variants.append(Variant(sizes, seconds, compiling, next_serial(), references))


def _compile_id() -> str:
    return str(torch._guards.CompileContext.current_compile_id() or "")


def user_line(node: fx.Node) -> str:
    """`file:line` of the user's code that a node comes from, as far as tracing kept it."""
    return _lines.of_trace(node.meta.get("stack_trace") or "")


_records: deque[GraphRecord] = deque(maxlen=MOST)
_lock = threading.Lock()


def add(record: GraphRecord) -> None:
    """Keeps a graph's record."""
    with _lock:
        _records.append(record)


def records() -> list[GraphRecord]:
    """The records so far, oldest first."""
    with _lock:
        return list(_records)
