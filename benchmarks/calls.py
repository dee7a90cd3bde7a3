"""Microseconds per call, warm: eager operators, and the raw plugin doing the same."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import torch
from torch.utils.benchmark import Timer

import torch_pjrt
from torch_pjrt import _C

ADD = """module { func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32> } }"""
RAW_BLOCKS, RAW_CALLS = 10, 5_000
RAW = Path(__file__).resolve().parents[1] / "build" / "release" / "raw_execute"
ROUNDS = 5

# name -> statement; x and y have one element, z is the same on the CPU, big has 1024 elements
STATEMENTS = {
    "empty loop": "pass",
    "x.dim() (Python binding)": "x.dim()",
    "x.detach() (binding, dispatcher, new tensor)": "x.detach()",
    "x + y": "x + y",
    "x + y, inference mode": "x + y",
    "x.add_(y)": "x.add_(y)",
    "x + 2.0": "x + 2.0",
    "x.item()": "x.item()",
    "x + y, 1024 elements": "big + big",
    "x + y, torch CPU": "z + z",
    "x + 2.0, torch CPU": "z + 2.0",
    "x.item(), torch CPU": "z.item()",
}


def raw_plugin() -> dict[str, float]:
    """What the C++ program says that calls the same plugin in a process without PyTorch."""
    command = [str(RAW), str(torch_pjrt.plugin_info()["path"])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    numbers = json.loads(done.stdout)
    return {key: value for key, value in numbers.items() if isinstance(value, float | int)}


def _time(name: str, values: dict[str, object]) -> float:
    """Best block of one statement, microseconds a call."""
    with torch.inference_mode("inference mode" in name):
        timer = Timer(STATEMENTS[name], globals=values)
        return min(timer.blocked_autorange(min_run_time=0.2).times) * 1e6


def measure(device: torch.device) -> tuple[dict[str, float], dict[str, float]]:
    """(eager, raw) in microseconds, rounds of both alternating, the best of each.

    `raw["execute"]` is the plugin's execute and destroy of an addition in this very process.
    """
    values: dict[str, object] = {
        "x": torch.ones(1, device=device),
        "y": torch.zeros(1, device=device),
        "z": torch.ones(1),
        "big": torch.ones(1024, device=device),
    }
    eager = dict.fromkeys(STATEMENTS, float("inf"))
    raw: dict[str, float] = {}
    for _ in range(ROUNDS):
        blocks = [_C.raw_execute_ns(ADD, 2, RAW_CALLS) / 1e3 for _ in range(RAW_BLOCKS)]
        here = {"execute": min(blocks)}
        apart = {f"alone: {name}": value for name, value in raw_plugin().items()}
        for name, value in {**here, **apart}.items():
            raw[name] = min(value, raw.get(name, value))
        for name in STATEMENTS:
            eager[name] = min(eager[name], _time(name, values))
            torch.accelerator.synchronize()
    return eager, raw


def breakdown(eager: dict[str, float], raw: dict[str, float]) -> dict[str, float]:
    """Where the microseconds of one `x + y` go, by difference of stacked measurements."""
    binding = eager["x.dim() (Python binding)"] - eager["empty loop"]
    tensor = eager["x.detach() (binding, dispatcher, new tensor)"] - eager["empty loop"]
    total = eager["x + y"] - eager["empty loop"]
    return {
        "Python call and argument parsing": binding,
        "dispatcher, autograd, a new tensor": tensor - binding,
        "the plugin's execute and destroy": raw["execute"],
        "our kernel: key, cache, slots, locks": total - tensor - raw["execute"],
        "total": total,
    }
