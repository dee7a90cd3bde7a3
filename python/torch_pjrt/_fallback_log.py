"""Which calls ran on the CPU, from which line of the user's code, inside which compiled graph."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from torch_pjrt import _lines

_MOST = 10_000  # distinct places kept; later ones are counted without a line


@dataclass(frozen=True)
class Place:
    """One kind of call: the operator, why the device does not serve it, and who calls it."""

    op: str
    reason: str
    line: str
    graph: str


_counts: Counter[Place] = Counter()
_lock = threading.Lock()
_running = threading.local()


def note(op: str, reason: str) -> None:
    """The core's observer of fallbacks; called by the thread that makes the call."""
    graph, line = getattr(_running, "node", ("", ""))
    place = Place(op, reason, line or _lines.of_caller(), graph)
    with _lock:
        if place not in _counts and len(_counts) >= _MOST:
            place = Place(op, reason, "", graph)
        _counts[place] += 1


@contextlib.contextmanager
def running(graph: str, line: str) -> Iterator[None]:
    """Fallbacks of this thread belong to a node of a compiled graph meanwhile."""
    before = getattr(_running, "node", ("", ""))
    _running.node = (graph, line)
    try:
        yield
    finally:
        _running.node = before


def counts() -> Counter[Place]:
    """Calls so far, by place."""
    with _lock:
        return Counter(_counts)
