"""What Dynamo did: its graph breaks, recompilations and the time it took.

It keeps the reasons of breaks until `torch._dynamo.reset()` and the metrics of its latest 64
compilations. Both are read off at the start and end of every compilation and when a report is made.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from torch_pjrt import _lines
from torch_pjrt.compile.report import MOST, next_serial


@dataclass(frozen=True)
class Break:
    """A place where Dynamo ended a graph and went on in Python."""

    serial: int
    reason: str
    line: str


@dataclass(frozen=True)
class Frame:
    """One compilation of a function or of a backward graph."""

    serial: int
    compile_id: str
    function: str
    line: str
    seconds: float
    start: float  # seconds since the epoch
    recompile_reason: str | None
    error: str | None  # why the function runs in Python instead


_breaks: deque[Break] = deque(maxlen=MOST)
_frames: deque[Frame] = deque(maxlen=MOST)
_lock = threading.Lock()
_last_reason: Any = None  # the last of Dynamo's that were read
_last_metrics: Any = None


def breaks() -> list[Break]:
    """Graph breaks so far, oldest first."""
    _collect()
    with _lock:
        return list(_breaks)


def frames() -> list[Frame]:
    """Compilations so far, oldest first."""
    _collect()
    with _lock:
        return list(_frames)


def listen() -> None:
    """Reads Dynamo's records at every compilation; again after torch._dynamo.reset()."""
    from torch._dynamo.callback import callback_handler

    if _on_compilation not in callback_handler.start_callbacks:
        callback_handler.register_start_callback(_on_compilation)
        callback_handler.register_end_callback(_on_compilation)


def _on_compilation(_arguments: Any) -> None:
    _collect()


def _collect() -> None:
    global _last_reason, _last_metrics
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return
    with _lock:
        reasons = _after(_last_reason, utils.graph_break_reasons)
        metrics = _after(_last_metrics, utils.get_compilation_metrics())
        _breaks.extend(map(_break_of, reasons))
        _frames.extend(map(_frame_of, metrics))
        _last_reason = reasons[-1] if reasons else _last_reason
        _last_metrics = metrics[-1] if metrics else _last_metrics


def _after(last: Any, entries: list[Any]) -> list[Any]:
    """What follows an entry; everything when it is gone, as after torch._dynamo.reset()."""
    for index in range(len(entries) - 1, -1, -1):
        if entries[index] is last:
            return entries[index + 1 :]
    return list(entries)


def _break_of(reason: Any) -> Break:
    stack = [(frame.filename, frame.lineno) for frame in reason.user_stack]
    return Break(next_serial(), reason.reason.strip(), _lines.innermost(stack))


def _frame_of(metrics: Any) -> Frame:
    microseconds = metrics.dynamo_cumulative_compile_time_us
    if microseconds is None:  # a backward graph compiled when it first ran
        microseconds = metrics.backward_cumulative_compile_time_us
    error = f"{metrics.fail_type}: {metrics.fail_reason}" if metrics.fail_type else None
    file, line = metrics.co_filename, metrics.co_firstlineno
    if error is not None and metrics.fail_user_frame_filename:
        file, line = metrics.fail_user_frame_filename, metrics.fail_user_frame_lineno
    return Frame(
        serial=next_serial(),
        compile_id=metrics.compile_id or "",
        function=metrics.co_name or "",
        line=f"{file}:{line}" if file else "",
        seconds=(microseconds or 0) * 1e-6,
        start=(metrics.start_time_us or 0) * 1e-6,
        recompile_reason=metrics.recompile_reason,
        error=error,
    )
