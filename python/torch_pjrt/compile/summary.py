"""`CompileReport`: what torch.compile made of a program, as data and as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Sizes:
    """One set of sizes that a graph was compiled for; empty for a graph with fixed sizes."""

    sizes: dict[str, int]
    seconds: float
    programs: int  # executables made for it


@dataclass
class Graph:
    """A graph that runs on the device."""

    name: str  # such as "forward_0"
    kind: str  # "forward", "backward" or "inference"
    device: str
    function: str  # the function, or the rest of one after a graph break, that it was traced from
    line: str
    nodes: int
    executables: int
    calls: int
    compiled_for: list[Sizes]


@dataclass
class GraphBreak:
    """A place where Dynamo ended a graph, ran Python, and began another."""

    reason: str
    line: str


@dataclass
class PartitionBreak:
    """A node of a graph that runs by itself between two executables."""

    op: str
    reason: str
    line: str
    graph: str


@dataclass
class Recompile:
    """A function compiled again (the guard that failed), or a graph for other sizes."""

    function: str
    reason: str
    line: str


@dataclass
class Fallback:
    """Calls of an operator that ran on the CPU."""

    op: str
    reason: str
    count: int
    line: str  # "" where no Python is running, as in a backward pass
    graph: str  # the compiled graph they are part of; "" outside compiled code


@dataclass
class Seconds:
    """Where the time before a first result went.

    tracing: Dynamo and AOTAutograd, for functions with device tensors. lowering: graphs taken apart
    and written as programs. compiling: the plugin's compiler, and loading: programs found on disk,
    both for eager operators' programs too.
    """

    tracing: float = 0.0
    lowering: float = 0.0
    compiling: float = 0.0
    loading: float = 0.0


@dataclass
class Cache:
    """Programs that did not have to be compiled."""

    memory_hits: int = 0
    disk_hits: int = 0


@dataclass
class CompileReport:
    """What was compiled and what stood in the way; every place is the user's `file:line`."""

    graphs: list[Graph] = field(default_factory=list)
    graph_breaks: list[GraphBreak] = field(default_factory=list)
    partition_breaks: list[PartitionBreak] = field(default_factory=list)
    recompiles: list[Recompile] = field(default_factory=list)
    fallbacks: list[Fallback] = field(default_factory=list)
    programs: int = 0  # compiled, or loaded from a cache; eager operators' included
    cache: Cache = field(default_factory=Cache)
    seconds: Seconds = field(default_factory=Seconds)

    def to_dict(self) -> dict[str, Any]:
        """Nested dicts and lists of strings and numbers, for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        time = self.seconds
        yield (
            f"{_many(len(self.graphs), 'graph')}, {_many(self.programs, 'program')}; tracing "
            f"{time.tracing:.2f} s, lowering {time.lowering:.2f} s, "
            f"compiling {time.compiling:.2f} s, loading {time.loading:.2f} s; found in memory "
            f"{self.cache.memory_hits}, on disk {self.cache.disk_hits}"
        )
        for graph in self.graphs:
            yield _graph_line(graph)
        yield from _section("graph break", [(b.line, b.reason) for b in self.graph_breaks])
        yield from _section(
            "partition break",
            [(b.line, f"{b.op} in {b.graph}: {b.reason}") for b in self.partition_breaks],
        )
        yield from _section(
            "recompile", [(r.line, f"{r.function}: {r.reason}") for r in self.recompiles]
        )
        yield from _section("fallback to the CPU", [_fallback_line(f) for f in self.fallbacks])


def problems(report: CompileReport, allowed: frozenset[str]) -> list[str]:
    """The lines about breaks, recompilations and fallbacks, but for the kinds allowed."""
    only = CompileReport(
        graph_breaks=[] if "graph_break" in allowed else report.graph_breaks,
        partition_breaks=[] if "partition_break" in allowed else report.partition_breaks,
        recompiles=[] if "recompile" in allowed else report.recompiles,
        fallbacks=[] if "fallback" in allowed else report.fallbacks,
    )
    return str(only).splitlines()[1:]


def _graph_line(graph: Graph) -> str:
    text = (
        f"  {graph.name} on {graph.device}, {graph.function or 'a function'} at "
        f"{graph.line or 'an unknown line'}: {_many(graph.nodes, 'operator')} in "
        f"{_many(graph.executables, 'executable')}, called {_many(graph.calls, 'time')}"
    )
    shown = [
        ", ".join(f"{name} = {size}" for name, size in sizes.sizes.items())
        for sizes in graph.compiled_for
        if sizes.sizes
    ]
    return text + (f"; compiled for {' and '.join(shown)}" if shown else "")


def _fallback_line(fallback: Fallback) -> tuple[str, str]:
    where = f" in {fallback.graph}" if fallback.graph else ""
    count = _many(fallback.count, "call")
    return (
        fallback.line,
        f"{fallback.op}{where}, {count}: {fallback.reason}",
    )


def _section(title: str, entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not entries:
        return
    yield f"{_many(len(entries), title)}:"
    for line, text in entries:
        yield f"  {line or 'no Python line'}: {text.splitlines()[0] if text else ''}"


def _many(count: int, what: str) -> str:
    head, space, tail = what.partition(" to ")
    return f"{count} {head}{'' if count == 1 else 's'}{space}{tail}"
