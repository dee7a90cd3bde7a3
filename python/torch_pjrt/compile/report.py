"""What was compiled, and why: the records behind `torch_pjrt.compile_report()`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import fx


@dataclass
class GraphRecord:
    """One graph that torch.compile handed over."""

    name: str
    kind: str
    device: str
    nodes: int = 0
    segments: int = 0
    breaks: list[tuple[str, str, str]] = field(default_factory=list)  # (node, reason, user's line)
    variants: int = 0
    import_seconds: float = 0.0  # lowering, compiling and loading

    def compiled(
        self,
        plan: Any,
        refused: Mapping[fx.Node, str],
        symbols: Mapping[Any, int],
        graphs: list[Any],
    ) -> None:
        """Notes a plan that was compiled for these sizes."""
        self.variants += 1
        self.segments = len(plan.segments)
        self.nodes = sum(len(segment.nodes) for segment in plan.segments)
        self.breaks = [
            (str(node.target), refused.get(node, ""), user_line(node)) for node in plan.breaks
        ]


def user_line(node: fx.Node) -> str:
    """`file:line` of the user's code that a node comes from, as far as tracing kept it."""
    trace = node.meta.get("stack_trace") or ""
    lines = [line.strip() for line in trace.splitlines() if line.strip().startswith("File ")]
    if not lines:
        return ""
    parts = lines[-1].split(",")
    return parts[0].removeprefix("File ").strip('"') + ":" + parts[1].removeprefix(" line ").strip()


_records: list[GraphRecord] = []
_lock = threading.Lock()


def add(record: GraphRecord) -> None:
    """Keeps a graph's record."""
    with _lock:
        _records.append(record)


def records() -> list[GraphRecord]:
    """The records so far, oldest first."""
    with _lock:
        return list(_records)
