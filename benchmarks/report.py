"""The numbers as tables: on the terminal and as docs/performance.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

INTRODUCTION = """# Performance

Written by `make bench`; do not edit. Ratios are of numbers taken in one run, rounds of both sides
alternating, the best round of each. Nothing here is a timed test.
"""
BUSY = 1.0  # load average before the run, whose own load comes later


@dataclass(frozen=True)
class Section:
    """One table; every row has as many cells as there are columns."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def _verdict(value: float, limit: float) -> str:
    return "met" if value <= limit else "missed"


def goals(data: dict[str, dict[str, float]]) -> Section:
    """The figures the project holds itself to."""
    ratio = data["eager"]["x + y"] / data["raw"]["execute"]
    item, imported = data["eager"]["x.item()"], data["import"]["median"]
    rows = [
        ("1-element `x + y` / raw execute", f"{ratio:.2f}x", "2.5x", _verdict(ratio, 2.5)),
        ("`.item()`", f"{item:.2f} µs", "10 µs", _verdict(item, 10)),
        ("import beyond torch's own", f"{imported:.3f} s", "0.3 s", _verdict(imported, 0.3)),
    ]
    rows += compiled_goals(data)
    return Section("Goals", ("what", "measured", "at most", ""), rows)


def compiled_goals(data: dict[str, dict[str, float]]) -> list[tuple[str, str, str, str]]:
    """The figures of torch.compile."""
    steady, cold, second = data["compiled_steady"], data["start_cold"], data["start_second"]
    raw = steady["program"] / steady["raw"]
    cpu = steady["call"] / steady["torch CPU eager"]
    spent = [c["lowering"] + c["compiling"] + c["loading"] for c in (cold, second)]
    again = spent[1] / spent[0]
    return [
        ("compiled MiniLM / bare execute", f"{raw:.3f}x", "1.05x", _verdict(raw, 1.05)),
        ("compiled MiniLM / torch eager CPU", f"{cpu:.2f}x", "1x", _verdict(cpu, 1.0)),
        (
            "lowering + compiling + loading, second process / first",
            f"{again:.0%}",
            "20%",
            _verdict(again, 0.2),
        ),
    ]


def compiled_sections(data: dict[str, dict[str, float]]) -> list[Section]:
    """The tables of torch.compile."""
    steady, training = data["compiled_steady"], data["compiled_training"]
    wrappers = steady["call"] - steady["program"]
    forward = [
        ("bare execute of its executable", f"{steady['raw']:.2f}"),
        ("our program", f"{steady['program']:.2f}"),
        ("Dynamo's guards and AOTAutograd's wrappers", f"{wrappers:.2f}"),
        ("the whole call", f"{steady['call']:.2f}"),
        ("torch eager on the CPU", f"{steady['torch CPU eager']:.2f}"),
    ]
    step = [(name, f"{value:.2f}") for name, value in training.items()]
    cold, second = data["start_cold"], data["start_second"]
    parts = ("tracing", "lowering", "compiling", "loading", "storing", "first")
    starts = [(name, f"{cold[name]:.2f}", f"{second[name]:.2f}") for name in parts]
    starts.append(("programs", f"{cold['programs']:.0f}", f"{second['programs']:.0f}"))
    peaks = [("peak memory beyond import, MiB", *(f"{c['peak_mib']:.0f}" for c in (cold, second)))]
    cpu = f"torch eager on the CPU: {data['start_torch CPU']['peak_mib']:.0f} MiB"
    return [
        Section("MiniLM, batch 8 x 64, compiled", ("what", "ms"), forward),
        Section("A training step of an MLP, batch 64", ("what", "ms"), step),
        Section("First compiled forward (s)", ("what", "empty cache", "next process"), starts),
        Section(f"Memory ({cpu})", ("what", "empty cache", "next process"), peaks),
    ]


def sections(data: dict[str, dict[str, float]]) -> list[Section]:
    """All tables, from the data that build/bench.json holds."""
    execute = data["raw"]["execute"]
    model = data["minilm"]
    total = data["breakdown"]["total"]
    calls = [(name, f"{us:.2f}", f"{us / execute:.2f}x") for name, us in data["eager"].items()]
    parts = [(name, f"{us:.2f}", f"{us / total:.0%}") for name, us in data["breakdown"].items()]
    first = [
        ("programs compiled", f"{model['programs']:.0f}"),
        ("first forward", f"{model['first_seconds']:.2f} s"),
        ("of it compiling", f"{model['compile_seconds']:.2f} s"),
        ("steady forward", f"{model['steady_ms']:.1f} ms"),
        ("torch CPU, same batch", f"{model['torch_cpu_ms']:.1f} ms"),
    ]
    raw = [(name, f"{value:.2f}") for name, value in data["raw"].items()]
    return [
        goals(data),
        Section("Where one `x + y` goes", ("part", "µs", "share"), parts),
        Section("Calls, warm", ("statement", "µs", "of raw execute"), calls),
        Section("MiniLM, batch 8 x 64, eager", ("what", "value"), first),
        *compiled_sections(data),
        Section("The raw plugin (µs unless named)", ("what", "value"), raw),
    ]


def show(console: Console, parts: list[Section]) -> None:
    """Prints the tables."""
    for part in parts:
        table = Table(title=part.title, title_justify="left", header_style="bold")
        for index, column in enumerate(part.columns):
            table.add_column(column, justify="left" if index == 0 else "right")
        for row in part.rows:
            table.add_row(*row)
        console.print(table)


def markdown(machine: dict[str, str], parts: list[Section]) -> str:
    """The same tables as a document."""
    lines = [INTRODUCTION, *(f"- {key}: {value}" for key, value in machine.items())]
    if float(machine["load"]) > BUSY:
        lines += [
            "",
            "The machine was busy with other work: every number is higher than it has to be.",
        ]
    for part in parts:
        lines += ["", f"## {part.title}", "", f"| {' | '.join(part.columns)} |"]
        lines.append("|" + "---|" * len(part.columns))
        lines += [f"| {' | '.join(row)} |" for row in part.rows]
    return "\n".join(lines) + "\n"
