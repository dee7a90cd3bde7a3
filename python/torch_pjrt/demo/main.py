"""The demo, start to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import torch_pjrt
from torch_pjrt.demo import embed, model, report
from torch_pjrt.demo.batches import Batch, make_batches

ROWS = 16
MULTIPLE = 16


@contextmanager
def _progress(console: Console, text: str, total: int) -> Iterator[Callable[[], None]]:
    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(text, total=total)
        yield lambda: progress.advance(task)


def _plugin(device: torch.device) -> tuple[str, str]:
    """Name and API version of what drives the device; on the CPU that is torch itself."""
    if device.type == "cpu":
        return "torch, no plugin", "-"
    info = torch_pjrt.plugin_info()
    return str(info["name"]), str(info["api_version"])


def _first_of_each_shape(batches: list[Batch]) -> list[Batch]:
    return list({batch.shape: batch for batch in reversed(batches)}.values())[::-1]


def run(
    device_name: str | None,
    sentences_path: Path | None,
    output: Path,
    rounds: int = 4,
    console: Console | None = None,
) -> report.Result:
    """Embeds the sentences on the device, compares with torch on the CPU, writes `output`.

    Raises DemoError when a file or package is missing.
    """
    console = console or Console()
    device = torch.device(device_name or torch.accelerator.current_accelerator() or "cpu")
    path = sentences_path or model.default_sentences()
    sentences = model.read_sentences(path)
    with console.status("Loading MiniLM"):
        tokenizer, reference = model.load(model.model_folder())
        _, subject = model.load(model.model_folder())
        subject.to(device)
        token_ids = tokenizer(sentences)["input_ids"]
    batches = make_batches(token_ids, ROWS, MULTIPLE, tokenizer.pad_token_id)
    first = _first_of_each_shape(batches)

    with _progress(console, "First pass, compiles", len(first)) as advance:
        start = time.perf_counter()
        embed.run_pass(subject, first, device, 1, advance)
        first_seconds = time.perf_counter() - start
    compiled_before = torch_pjrt.compile_count()
    with _progress(console, f"Measured pass on {device}", rounds * len(batches)) as advance:
        measured = embed.run_pass(subject, batches, device, rounds, advance)
    compiled = torch_pjrt.compile_count()
    with _progress(console, "The same on torch CPU", len(first) + len(batches)) as advance:
        cpu = torch.device("cpu")
        embed.run_pass(reference, first, cpu, 1, advance)
        expected = embed.run_pass(reference, batches, cpu, 1, advance)

    plugin, api_version = _plugin(device)
    cache = torch_pjrt.cache_stats()
    max_abs_diff, min_cosine = embed.compare(measured.embeddings, expected.embeddings)
    result = report.Result(
        device=str(device),
        plugin=plugin,
        max_abs_diff=max_abs_diff,
        min_cosine=min_cosine,
        nearest_examples=embed.nearest_pairs(measured.embeddings, sentences, 10),
        sentences_per_second=measured.sentences_per_second,
        tokens_per_second=measured.tokens_per_second,
        p50_ms=measured.percentile_ms(50),
        p99_ms=measured.percentile_ms(99),
        programs_compiled=compiled,
        compile_seconds=torch_pjrt.compile_seconds(),
        fallback_ops=sum(torch_pjrt.fallback_counts().values()),
    )
    result.write(output)
    context = report.Context(
        api_version=api_version,
        sentences=len(sentences),
        shapes=[batch.shape for batch in first],
        first_pass_seconds=first_seconds,
        compiled_while_measuring=compiled - compiled_before,
        cpu_sentences_per_second=expected.sentences_per_second,
        programs_loaded=int(cache["disk_hits"]),
        load_seconds=cache["load_seconds"],
    )
    report.show(console, result, context)
    console.print(f"[dim]The numbers are in {output}.[/]")
    return result
