"""The demo's outcome: a short text for a person, JSON for a program."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

MAX_ABS_DIFF = 1e-4  # of normalised float32 embeddings, whose entries are below 1
MIN_COSINE = 0.9999


@dataclass(frozen=True)
class Result:
    """What `build/demo.json` holds, key by key."""

    device: str
    plugin: str
    max_abs_diff: float
    min_cosine: float
    nearest_examples: list[dict[str, object]]
    sentences_per_second: float
    tokens_per_second: float
    p50_ms: float
    p99_ms: float
    programs_compiled: int
    compile_seconds: float
    fallback_ops: int

    def problems(self) -> list[str]:
        """Why the run is not good; empty when it is."""
        found = []
        if not self.max_abs_diff <= MAX_ABS_DIFF:
            found.append(f"embeddings differ from the CPU's by up to {self.max_abs_diff:.2e}")
        if not self.min_cosine >= MIN_COSINE:
            found.append(f"an embedding's cosine to the CPU's is only {self.min_cosine:.6f}")
        if self.fallback_ops:
            found.append(f"{self.fallback_ops} operator calls fell back to the CPU")
        return found

    def write(self, path: Path) -> None:
        """Writes the JSON; refuses numbers that JSON does not have."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=2, allow_nan=False, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Context:
    """What the report tells beside the result."""

    api_version: str
    sentences: int
    shapes: list[tuple[int, int]]
    first_pass_seconds: float
    compiled_while_measuring: int
    cpu_sentences_per_second: float
    programs_loaded: int = 0  # of those compiled: taken from the compile cache
    load_seconds: float = 0.0


def show(console: Console, result: Result, context: Context) -> None:
    """Prints the report."""
    console.print()
    console.print(_pairs(result.nearest_examples[:5]))
    console.print()
    console.print(_table(result, context))
    problems = result.problems()
    if problems:
        console.print(Panel("\n".join(problems), title="not good", border_style="red"))
    else:
        console.print("[bold green]The device agrees with the CPU.[/]")


def _pairs(examples: list[dict[str, object]]) -> Table:
    table = Table.grid(padding=(0, 2))
    for pair in examples:
        text = Text(str(pair["sentence"]))
        text.append(f"\n{pair['nearest']}", style="dim")
        table.add_row(Text(f" {pair['cosine']:.2f}", style="bold cyan"), text)
    return table


def _table(result: Result, context: Context) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column(style="dim", justify="right")
    table.add_column()
    shapes = ", ".join(f"{rows}×{length}" for rows, length in context.shapes)
    speed = (
        f"{result.sentences_per_second:,.0f} sentences/s, {result.tokens_per_second:,.0f} tokens/s"
    )
    built = result.programs_compiled - context.programs_loaded
    compiled = f"{result.compile_seconds:.1f} s compile {built} programs"
    if context.programs_loaded:
        compiled += f", {context.load_seconds:.1f} s load {context.programs_loaded} from the cache"
    rows = {
        "device": f"{result.device} ({result.plugin}, PJRT API {context.api_version})",
        "work": f"{context.sentences} sentences, batches of {len(context.shapes)} shapes: {shapes}",
        "against torch CPU": f"max |Δ| {result.max_abs_diff:.1e}, "
        f"min cosine {result.min_cosine:.7f}",
        "first pass": f"{context.first_pass_seconds:.1f} s, of which {compiled}",
        "measured passes": speed,
        "compiled meanwhile": f"{context.compiled_while_measuring} programs",
        "one batch": f"p50 {result.p50_ms:.1f} ms, p99 {result.p99_ms:.1f} ms",
        "torch CPU, same run": f"{context.cpu_sentences_per_second:,.0f} sentences/s",
        "CPU fallbacks": f"{result.fallback_ops}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table
