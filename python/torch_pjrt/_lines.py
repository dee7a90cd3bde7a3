"""Where in the user's code something comes from: the innermost line that is no library's."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import torch

_LIBRARIES = tuple(f"{Path(file).parent}/" for file in (torch.__file__, __file__))
_TRACE_LINE = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+)', re.MULTILINE)


def innermost(places: Iterable[tuple[str, int | None]]) -> str:
    """`file:line` of the last place that is the user's, else of the last one; "" without any.

    `places` are (file, line) pairs, outermost first.
    """
    found = list(places)
    own = [place for place in found if _is_users(place[0])] or found
    return f"{own[-1][0]}:{own[-1][1]}" if own else ""


def of_trace(trace: str) -> str:
    """The line of a traceback as text, as FX nodes keep it in `meta["stack_trace"]`."""
    return innermost((match["file"], int(match["line"])) for match in _TRACE_LINE.finditer(trace))


def of_caller() -> str:
    """The user's line that this thread is at; "" when there is none, as in a backward pass."""
    frame = sys._getframe(1)
    while frame is not None:
        if _is_users(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _is_users(file: str) -> bool:
    return not file.startswith(_LIBRARIES) and not file.startswith("<")
