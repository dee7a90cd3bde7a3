"""torch.compile: the steady state against the bare executable, a training step, and cold starts."""

from __future__ import annotations

import copy
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from torch_pjrt.compile import program as compiled_program
from torch_pjrt.demo import batches, model

ROWS, LENGTH, ROUNDS = 8, 64, 20
COLD = """
import json, resource, time
import torch, torch_pjrt
from benchmarks import compiled
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
imported = peak()
device = torch.accelerator.current_accelerator()
subject, inputs = compiled.minilm(device)
start = time.perf_counter()
compiled.forward(torch.compile(subject), inputs)
first = time.perf_counter() - start
stats = torch_pjrt.cache_stats()
backend = sum(v.seconds for g in compiled.graphs() for v in g.variants)
machine = stats["compile_seconds"] + stats["load_seconds"] + stats["store_seconds"]
print(json.dumps({"first": first, "compiling": stats["compile_seconds"],
                  "loading": stats["load_seconds"], "storing": stats["store_seconds"],
                  "lowering": backend - machine, "tracing": first - backend,
                  "programs": torch_pjrt.compile_count(), "peak_mib": peak() - imported}))
"""
CPU_PEAK = """
import json, resource, torch
from benchmarks import compiled
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
imported = peak()
subject, inputs = compiled.minilm(torch.device("cpu"))
compiled.forward(subject, inputs)
print(json.dumps({"peak_mib": peak() - imported}))
"""


def graphs() -> list[Any]:
    """The records of the graphs compiled so far."""
    from torch_pjrt.compile import report

    return report.records()


def minilm(device: torch.device) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    """MiniLM and a batch of [ROWS, LENGTH] tokens on the device."""
    tokenizer, subject = model.load(model.model_folder())
    ids = tokenizer(["An ordinary sentence of no great length."] * ROWS)["input_ids"]
    batch = batches.make_batches(ids, ROWS, LENGTH, tokenizer.pad_token_id)[0]
    inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
    return subject.to(device), {name: value.to(device) for name, value in inputs.items()}


def forward(subject: Callable[..., Any], inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """The hidden states, waited for."""
    with torch.inference_mode():
        hidden: torch.Tensor = subject(**inputs).last_hidden_state
        if hidden.device.type != "cpu":
            torch.accelerator.synchronize()
    return hidden


def seconds(work: Callable[[], Any]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def steady(device: torch.device) -> dict[str, float]:
    """Milliseconds of one forward: bare execution, our program, the whole call, torch's CPU.

    Rounds of all alternate; the best of each. The program is what PyTorch's wrappers call with a
    list of inputs; what they and Dynamo's guards add is the rest of the whole call.
    """
    subject, inputs = minilm(device)
    reference, cpu_inputs = minilm(torch.device("cpu"))
    spy = _Spy()
    with spy:
        module = torch.compile(subject)
        forward(module, inputs)
    graph, arguments = spy.graph, spy.arguments
    sides: dict[str, Callable[[], float]] = {
        "raw": lambda: min(graph.time_raw(arguments, 3)),
        "program": lambda: seconds(lambda: _run(graph, arguments)),
        "call": lambda: seconds(lambda: forward(module, inputs)),
        "torch CPU eager": lambda: seconds(lambda: forward(reference, cpu_inputs)),
    }
    return {name: 1e3 * value for name, value in best(sides).items()}


def _run(graph: Any, arguments: list[torch.Tensor]) -> None:
    graph.run(arguments, [])
    torch.accelerator.synchronize()


def best(sides: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """The best of ROUNDS of each side, rounds alternating."""
    found = dict.fromkeys(sides, float("inf"))
    for _ in range(ROUNDS):
        for name, side in sides.items():
            found[name] = min(found[name], side())
    return found


class _Spy:
    """Remembers the executable that a compiled model runs, with the inputs of its first call."""

    def __enter__(self) -> _Spy:
        self.original = compiled_program.Program.__call__
        spy = self

        def remember(program: Any, args: list[Any]) -> Any:
            segment = program.plan.segments[0]
            position = {node: i for i, node in enumerate(program.placeholders)}
            constants = program.constants
            spy.arguments = [
                args[position[node]] if node in position else constants[node]
                for node in segment.inputs
            ]
            spy.graph = next(iter(program.variants.values())).compiled[0]
            return self.original(program, args)

        compiled_program.Program.__call__ = remember  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        compiled_program.Program.__call__ = self.original  # type: ignore[method-assign]

    graph: Any
    arguments: list[torch.Tensor]


def training(device: torch.device) -> dict[str, float]:
    """Milliseconds of a training step of a 3-layer MLP: compiled here, eager here, torch's CPU."""
    torch.manual_seed(0)
    base = nn.Sequential(
        nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10)
    )
    x, y = torch.randn(64, 256), torch.randint(10, (64,))
    sides = {
        "compiled": _step(copy.deepcopy(base).to(device), x.to(device), y.to(device), True),
        "eager": _step(copy.deepcopy(base).to(device), x.to(device), y.to(device), False),
        "torch CPU eager": _step(base, x, y, False),
    }
    for side in sides.values():
        side()
        side()
    timed = {name: functools.partial(seconds, side) for name, side in sides.items()}
    return {name: 1e3 * value for name, value in best(timed).items()}


def _step(net: nn.Module, x: torch.Tensor, y: torch.Tensor, compiled: bool) -> Callable[[], Any]:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def loss_and_gradients() -> torch.Tensor:
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    work: Callable[[], Any] = loss_and_gradients
    update: Callable[[], Any] = optimizer.step
    if compiled:
        torch._dynamo.config.trace_autograd_ops = True
        work, update = torch.compile(loss_and_gradients), torch.compile(optimizer.step)

    def step() -> None:
        optimizer.zero_grad()
        loss = work()
        update()
        loss.item()

    return step


def starts() -> dict[str, dict[str, float]]:
    """Seconds of the first compiled forward, in a process with an empty cache and in the next."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "TORCH_PJRT_CACHE_DIR": directory}
        cold, second = (_child(COLD, environment) for _ in range(2))
    return {"cold": cold, "second": second, "torch CPU": _child(CPU_PEAK, dict(os.environ))}


def _child(code: str, environment: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    numbers: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def measure(device: torch.device) -> dict[str, dict[str, float]]:
    """Everything of this file."""
    return {
        "compiled_steady": steady(device),
        "compiled_training": training(device),
        **{f"start_{name}": numbers for name, numbers in starts().items()},
    }
