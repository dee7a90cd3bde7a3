"""Costs that are paid once: the import, and the first forward of a real model."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

import torch

import torch_pjrt
from torch_pjrt.demo import batches, embed, model

IMPORTS = 7
CHILD = """
import time, torch
start = time.perf_counter()
import torch_pjrt
print(time.perf_counter() - start)
"""


def import_seconds() -> dict[str, float]:
    """Seconds that importing torch_pjrt adds to torch's own import, in fresh processes."""
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    command = [sys.executable, "-c", CHILD]
    seconds = [
        float(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
        for _ in range(IMPORTS)
    ]
    return {"min": min(seconds), "median": statistics.median(seconds)}


def minilm(device: torch.device, rows: int = 8, length: int = 64) -> dict[str, float]:
    """MiniLM on [rows, length] tokens: programs and seconds of the first forward, then steady."""
    tokenizer, reference = model.load(model.model_folder())
    _, subject = model.load(model.model_folder())
    subject.to(device)
    ids = tokenizer(["An ordinary sentence of no great length."] * rows)["input_ids"]
    batch = batches.make_batches(ids, rows, length, tokenizer.pad_token_id)[0]
    programs, compiling = torch_pjrt.compile_count(), torch_pjrt.compile_seconds()
    start = time.perf_counter()
    embed.embed(subject, batch, device)
    first = time.perf_counter() - start
    programs = torch_pjrt.compile_count() - programs
    compiling = torch_pjrt.compile_seconds() - compiling
    sides = [(subject, device), (reference, torch.device("cpu"))]
    steady = [float("inf"), float("inf")]
    for _ in range(10):
        for index, (module, where) in enumerate(sides):
            start = time.perf_counter()
            embed.embed(module, batch, where)
            steady[index] = min(steady[index], time.perf_counter() - start)
    return {
        "programs": programs,
        "first_seconds": first,
        "compile_seconds": compiling,
        "steady_ms": steady[0] * 1e3,
        "torch_cpu_ms": steady[1] * 1e3,
    }
