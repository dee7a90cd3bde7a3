"""Runs every measurement, prints it, writes build/bench.json and docs/performance.md."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from rich.console import Console

from benchmarks import calls, compiled, machine, report, start

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    console = Console()
    device = torch.accelerator.current_accelerator()
    if device is None:
        raise SystemExit("no accelerator: is torch_pjrt installed in this environment?")
    facts = machine.describe()
    with console.status("Importing in fresh processes"):
        imported = start.import_seconds()
    with console.status("Calls, eager and raw in turn (half a minute)"):
        eager, raw = calls.measure(device)
    with console.status("MiniLM"):
        model = start.minilm(device)
    with console.status("MiniLM and a training step, compiled; cold starts"):
        whole = compiled.measure(device)
    data = {
        "import": imported,
        "eager": eager,
        "raw": raw,
        "breakdown": calls.breakdown(eager, raw),
        "minilm": model,
        **whole,
    }
    parts = report.sections(data)
    report.show(console, parts)
    numbers = json.dumps({"machine": facts, **data}, indent=2, allow_nan=False, ensure_ascii=False)
    (ROOT / "build" / "bench.json").write_text(numbers + "\n", encoding="utf-8")
    document = ROOT / "docs" / "performance.md"
    document.write_text(report.markdown(facts, parts), encoding="utf-8")
    console.print(f"[dim]Written: build/bench.json, {document.relative_to(ROOT)}[/]")


if __name__ == "__main__":
    main()
