"""A progress bar on stderr while programs are compiled for more than a second.

One thread waits in the core, without the GIL, until a compilation takes that long; as long as none
does it costs nothing, and rich is not imported.
"""

from __future__ import annotations

import atexit
import sys
import threading
from types import ModuleType

PATIENCE_SECONDS = 1.0
_REFRESH_SECONDS = 0.1


def start(core: ModuleType, wanted: bool | None) -> None:
    """Starts the thread if a bar is `wanted`; None: if stderr is a terminal."""
    if wanted is None:
        wanted = sys.stderr is not None and sys.stderr.isatty()
    if not wanted:
        return
    stopping = threading.Event()
    thread = threading.Thread(
        target=_run, args=(core, stopping), name="torch_pjrt progress", daemon=True
    )
    thread.start()

    def stop() -> None:
        stopping.set()
        core.close_compile_watch()
        thread.join()

    atexit.register(stop)


def _run(core: ModuleType, stopping: threading.Event) -> None:
    while core.wait_for_long_compile(PATIENCE_SECONDS):
        _show(core, stopping)


def _show(core: ModuleType, stopping: threading.Event) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("torch_pjrt compiles"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        pending, finished, _ = core.compile_progress()
        while pending and not stopping.wait(_REFRESH_SECONDS):
            progress.update(task, total=pending + finished, completed=finished)
            pending, finished, _ = core.compile_progress()
        progress.update(task, total=pending + finished, completed=finished)
