"""The compile cache for Python: counters, entries on disk, and why a program was compiled."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch_pjrt._activation import core
from torch_pjrt._config import config

PROGRAM = "program"
MAX_DIFF_LINES = 60
_OPERATION = re.compile(r'(?:=\s*|^\s*)"?(?:stablehlo|chlo)\.([a-z_0-9]+)', re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A compiled program on disk."""

    key: str  # hexadecimal digest of everything below but the times
    bytes: int
    created: float  # seconds since 1970
    used: float  # the same, of the last hit
    compile_seconds: float
    run: str  # the process that compiled it
    environment: Mapping[str, str]  # what it was compiled with and for
    text_digest: str
    text: str  # StableHLO; the beginning of a long program
    text_is_whole: bool

    def summary(self) -> str:
        """The program in a few words."""
        return summarize(self.text)


@dataclass(frozen=True)
class Miss:
    """Why a program was compiled and not taken from the cache."""

    key: str
    summary: str
    nearest: str | None  # key of the most similar entry; None: there was none to compare with
    differs: tuple[str, ...]  # the parts of the key that differ from it
    values: Mapping[str, tuple[str, str]]  # of those: (this program's, the entry's)
    diff: str  # unified diff of the program texts, when "program" differs; cut when long

    def __str__(self) -> str:
        head = f"program {self.key[:12]} ({self.summary})"
        if self.nearest is None:
            return f"{head}: compiled, as the cache held nothing to compare with"
        if not self.differs:
            return f"{head}: an entry with the same key is there now"
        lines = [f"{head}: differs from entry {self.nearest[:12]} in {', '.join(self.differs)}"]
        for name, (ours, theirs) in self.values.items():
            lines += [f"  {name}: {_changes(ours, theirs)}", f"    entry: {_changes(theirs, ours)}"]
        return "\n".join([*lines, self.diff]) if self.diff else "\n".join(lines)


def _changes(value: str, other: str) -> str:
    """A short value itself; of a long one the words that the other lacks."""
    if len(value) <= 80:
        return value or "(none)"
    known = set(other.split())
    extra = [word for word in value.split() if word not in known]
    return "… " + " ".join(extra) if extra else "… (nothing more)"


def summarize(text: str) -> str:
    """The operations of a StableHLO program, most frequent first: "add, dot_general x2"."""
    names = _OPERATION.findall(text)
    counts = Counter([n for n in names if n not in ("constant", "return")] or names)
    shown = [name if n == 1 else f"{name} x{n}" for name, n in counts.most_common(4)]
    return ", ".join(shown) + (", …" if len(counts) > 4 else "") if shown else "no operation"


def cache_stats() -> dict[str, int | float]:
    """What the compile cache did so far in this process.

    memory_hits: programs found in memory. disk_hits: loaded from disk. compiled: neither. stored:
    written to disk. rejected: entries on disk that were damaged or that the plugin refused.
    compile_seconds, load_seconds, store_seconds: the time these took, without lowering.
    `compile_count()` is compiled + disk_hits.
    """
    value: dict[str, int | float] = core().cache_stats()
    return value


def cache_directory() -> str | None:
    """The directory of compiled programs (TORCH_PJRT_CACHE_DIR); None when it is turned off."""
    path = config().cache_dir
    return None if path is None else os.path.abspath(os.path.expanduser(path))


def directories() -> list[str]:
    """The directories that are looked at, if they exist: the own one, then the read-only one."""
    shared = config().cache_readonly_dir
    found = [cache_directory(), os.path.abspath(os.path.expanduser(shared)) if shared else None]
    return [path for path in found if path is not None and os.path.isdir(path)]


def entries(directory: str) -> list[Entry]:
    """The entries in a directory, least recently used first; other files are left out.

    Raises RuntimeError for a directory that cannot be trusted or read.
    """
    return [_entry(e) for e in core().cache_entries(directory) if "key" in e]


def _entry(raw: Mapping[str, object]) -> Entry:
    text = str(raw["text"])
    return Entry(
        key=str(raw["key"]),
        bytes=int(str(raw["bytes"])),
        created=int(str(raw["created_ns"])) * 1e-9,
        used=int(str(raw["used_ns"])) * 1e-9,
        compile_seconds=float(str(raw["compile_seconds"])),
        run=str(raw["run"]),
        environment=dict(raw["environment"]),  # type: ignore[call-overload]
        text_digest=str(raw["text_digest"]),
        text=text,
        text_is_whole=len(text.encode()) >= int(str(raw["text_size"])),
    )


def explain_miss(last: int = 1) -> list[Miss]:
    """Why the latest programs of this process were compiled: what differs from the nearest entry.

    Returns one `Miss` for each of the `last` latest programs that the cache on disk did not hold,
    latest first; printing one shows the differing parts of the key and, where the program itself
    differs, a diff. Entries that this process stored are not compared with. Empty when nothing was
    missed or the cache is off.
    """
    found = core().cache_misses()
    if found is None:
        return []
    run, environment, misses = found
    others = [e for d in directories() for e in _readable(d) if e.run != run]
    latest = misses[::-1][:last]
    return [explain(m["key"], m["text"], environment, others) for m in latest]


def _readable(directory: str) -> list[Entry]:
    try:
        return entries(directory)
    except RuntimeError:  # refused, which was warned about
        return []


def explain(key: str, text: str, environment: Mapping[str, str], others: Iterable[Entry]) -> Miss:
    """Compares a program and what it is compiled with, with the nearest of other entries."""
    nearest = _nearest(text, environment, list(others))
    if nearest is None:
        return Miss(key, summarize(text), None, (), {}, "")
    values = _differences(environment, nearest.environment)
    differs = tuple(values)
    diff = ""
    if nearest.text != text:
        differs = (PROGRAM, *differs)
        diff = _diff(nearest.text, text)
    return Miss(key, summarize(text), nearest.key, differs, values, diff)


def _differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    names = [*ours, *(name for name in theirs if name not in ours)]
    pairs = {name: (ours.get(name, ""), theirs.get(name, "")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _nearest(text: str, environment: Mapping[str, str], others: list[Entry]) -> Entry | None:
    """The same program in another environment, else a similar program in the nearest one."""
    same = [e for e in others if e.text == text]
    fewest = min((len(_differences(environment, e.environment)) for e in same or others), default=0)
    near = [e for e in same or others if len(_differences(environment, e.environment)) == fewest]
    lines = Counter(text.splitlines())
    return max(near, key=lambda e: (_likeness(lines, e.text), e.used), default=None)


def _likeness(lines: Counter[str], text: str) -> float:
    """Common lines over all lines."""
    other = Counter(text.splitlines())
    return (lines & other).total() / max(1, (lines | other).total())


def _diff(old: str, new: str) -> str:
    lines = list(
        difflib.unified_diff(
            old.splitlines(), new.splitlines(), "nearest entry", "this program", n=1, lineterm=""
        )
    )
    if len(lines) > MAX_DIFF_LINES:
        rest = len(lines) - MAX_DIFF_LINES
        lines = [*lines[:MAX_DIFF_LINES], f"… {rest} more lines differ"]
    return "\n".join(lines)
