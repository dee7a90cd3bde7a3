"""Puts a `CompileReport` together from the records, for all time or since a mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_pjrt import _fallback_log
from torch_pjrt._activation import core
from torch_pjrt.compile import dynamo_log, report
from torch_pjrt.compile.dynamo_log import Frame
from torch_pjrt.compile.report import GraphRecord
from torch_pjrt.compile.summary import (
    Cache,
    CompileReport,
    Fallback,
    Graph,
    GraphBreak,
    PartitionBreak,
    Recompile,
    Sizes,
)


@dataclass
class Mark:
    """A moment: what happened after it can be told from what happened before."""

    serial: int = 0
    fallbacks: Counter[_fallback_log.Place] = field(default_factory=Counter)
    calls: dict[int, int] = field(default_factory=dict)  # by id of the record
    programs: int = 0
    cache: dict[str, int | float] = field(default_factory=dict)


_reset = Mark()


def now() -> Mark:
    """The present moment."""
    dynamo_log.frames()  # what Dynamo has recorded so far belongs to the past
    return Mark(
        report.next_serial(),
        _fallback_log.counts(),
        {id(record): record.calls for record in report.records()},
        core().compile_count(),
        core().cache_stats(),
    )


def reset() -> None:
    """Reports begin here from now on."""
    global _reset
    _reset = now()


def since(mark: Mark | None = None) -> CompileReport:
    """What happened since a mark; without one, since the last reset."""
    mark = mark or _reset
    every = dynamo_log.frames()
    frames = [frame for frame in every if frame.serial > mark.serial]
    made = CompileReport(programs=core().compile_count() - mark.programs)
    for record in report.records():
        _add_graph(made, record, _frame_of(record, every), mark)
    breaks = [b for b in dynamo_log.breaks() if b.serial > mark.serial]
    made.graph_breaks = [GraphBreak(b.reason, b.line) for b in breaks]
    made.graph_breaks += [GraphBreak(f.error, f.line) for f in frames if f.error is not None]
    made.recompiles = [
        Recompile(f.function, f.recompile_reason, f.line)
        for f in frames
        if f.recompile_reason is not None
    ] + made.recompiles
    made.fallbacks = [
        Fallback(place.op, place.reason, count, place.line, place.graph)
        for place, count in (_fallback_log.counts() - mark.fallbacks).items()
    ]
    cache = {name: n - mark.cache.get(name, 0) for name, n in core().cache_stats().items()}
    made.cache = Cache(int(cache["memory_hits"]), int(cache["disk_hits"]))
    made.seconds.compiling = cache["compile_seconds"]
    made.seconds.loading = cache["load_seconds"]
    made.seconds.tracing = _tracing(frames, mark)
    return made


def _add_graph(made: CompileReport, record: GraphRecord, frame: Frame | None, mark: Mark) -> None:
    new = [v for v in record.variants if v.serial > mark.serial]
    calls = record.calls - mark.calls.get(id(record), 0)
    if not new and not calls:
        return
    function = frame.function if frame is not None else ""
    sizes = [Sizes(v.sizes, v.seconds, v.programs) for v in new]
    made.graphs.append(
        Graph(
            record.name,
            record.kind,
            record.device,
            function,
            record.line,
            record.nodes,
            record.segments,
            calls,
            sizes,
        )
    )
    made.partition_breaks += [
        PartitionBreak(b.op, b.reason, b.line, record.name) for b in record.breaks
    ]
    for variant in record.variants[1:]:
        if variant.serial > mark.serial:
            text = ", ".join(f"{name} = {size}" for name, size in variant.sizes.items())
            made.recompiles.append(
                Recompile(function, f"{record.name} for new sizes: {text}", record.line)
            )
    made.seconds.lowering += sum(v.seconds - v.compiling for v in new)


def _frame_of(record: GraphRecord, frames: Iterable[Frame]) -> Frame | None:
    """The compilation that a graph was made in. Ids begin anew after torch._dynamo.reset()."""
    same = [f for f in frames if f.compile_id == record.compile_id and f.start <= record.made_at]
    return max(same, key=lambda frame: frame.start, default=None)


def _tracing(frames: list[Frame], mark: Mark) -> float:
    """Dynamo's seconds for functions with a graph of ours, less what we spent inside them."""
    records = report.records()
    owners = {id(f): f for r in records if (f := _frame_of(r, frames)) is not None}
    ours = sum(r.seconds_inside for r in records if _frame_of(r, frames) is not None)
    return max(0.0, sum(frame.seconds for frame in owners.values()) - ours)
