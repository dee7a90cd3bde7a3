"""`torch-pjrt cache`: the programs on disk. Opens no plugin."""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime

from rich.console import Console
from rich.table import Table

from torch_pjrt import _cache
from torch_pjrt._activation import core
from torch_pjrt._config import config

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def _size(count: float) -> str:
    unit = 0
    while count >= 1024 and unit < len(UNITS) - 1:
        count /= 1024
        unit += 1
    return f"{count:.0f} {UNITS[unit]}" if unit == 0 else f"{count:.1f} {UNITS[unit]}"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).isoformat(" ", "seconds")


def _own_directory() -> str:
    """The user's directory. Raises RuntimeError when the cache is off."""
    path = _cache.cache_directory()
    if path is None:
        raise RuntimeError("TORCH_PJRT_CACHE_DIR turns it off")
    return path


def _entries() -> list[_cache.Entry]:
    path = _own_directory()
    return _cache.entries(path) if os.path.isdir(path) else []


def stats(console: Console) -> None:
    """Prints place, size and content."""
    path = _own_directory()
    entries = _entries()
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column(style="dim", justify="right")
    table.add_column(overflow="fold")
    size = sum(e.bytes for e in entries)
    table.add_row("directory", path)
    if config().cache_readonly_dir:
        table.add_row("read-only directory", config().cache_readonly_dir)
    table.add_row("programs", str(len(entries)))
    table.add_row("size", f"{_size(size)} of {_size(config().cache_size)}")
    if entries:
        table.add_row("compiling took", f"{sum(e.compile_seconds for e in entries):.1f} s")
        table.add_row("oldest", _when(min(e.created for e in entries)))
        table.add_row("last used", _when(max(e.used for e in entries)))
    plugins = Counter(
        (e.environment.get("platform", "?"), e.environment.get("plugin file", "?")) for e in entries
    )
    for (platform, plugin), count in plugins.most_common():
        table.add_row("plugin", f"{platform}, file {plugin}: {count} programs")
    console.print(table)


def show_programs(console: Console, limit: int) -> None:
    """Prints the programs, the latest used first."""
    entries = _entries()[::-1]
    table = Table(box=None, padding=(0, 2))
    for title in ("key", "size", "compiled in", "last used", "operations"):
        table.add_column(title, justify="right" if title in ("size", "compiled in") else "left")
    for entry in entries[:limit]:
        seconds = f"{entry.compile_seconds:.3f} s"
        used = _when(entry.used)
        table.add_row(entry.key[:12], _size(entry.bytes), seconds, used, entry.summary())
    console.print(table)
    if len(entries) > limit:
        console.print(f"[dim]… and {len(entries) - limit} more[/]")


def clear(console: Console) -> None:
    """Removes all programs of the user's directory."""
    path = _own_directory()
    removed = core().cache_clear(path) if os.path.isdir(path) else 0
    console.print(f"{removed} programs removed from {path}", highlight=False, soft_wrap=True)


def why(console: Console, program: str | None, limit: int) -> None:
    """Explains one program by its key, or those that the last run compiled.

    Raises RuntimeError when no program has that key.
    """
    entries = sorted(_entries(), key=lambda e: e.created)
    if not entries:
        console.print("The cache is empty.")
        return
    if program is None:
        run = entries[-1].run
        subjects = [e for e in entries if e.run == run][::-1]
    else:
        subjects = [e for e in entries if e.key.startswith(program.lower())]
        if not subjects:
            raise RuntimeError(f"no program's key begins with {program!r}: see torch-pjrt cache ls")
    for entry in subjects[:limit]:
        earlier = [e for e in entries if e.run != entry.run and e.created <= entry.created]
        miss = _cache.explain(entry.key, entry.text, entry.environment, earlier)
        console.print(str(miss), markup=False, highlight=False, soft_wrap=True)
    if len(subjects) > limit:
        console.print(f"[dim]… and {len(subjects) - limit} more of that run[/]")
