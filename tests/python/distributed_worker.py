"""One rank of a group of processes: runs checks and prints what became of each.

    python distributed_worker.py RANK SIZE FILE MODULE[:CHECK] ...

FILE is where the ranks meet. The last line of the output is JSON: {check: "" or a traceback}.
A check is a function check_* of a module that takes a `Rank`; a module alone means all of its.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist


@dataclass
class Rank:
    """This process in its group."""

    rank: int
    size: int
    device: torch.device
    folder: Path  # shared by the ranks

    def both(
        self, program: Callable[[torch.device], object], rtol: float = 0.0, atol: float = 0.0
    ) -> None:
        """`program` gives the same on the host, by plain Gloo, and on the device."""
        from support import assert_same

        torch.manual_seed(0)
        expected = program(torch.device("cpu"))
        torch.manual_seed(0)
        assert_same(program(self.device), expected, self.device, rtol, atol)


def checks(*names: str) -> dict[str, Callable[[Rank], None]]:
    """The checks that MODULE or MODULE:CHECK name, in the order of the files."""
    found = {}
    for name in names:
        module, _, only = name.partition(":")
        for key, value in vars(importlib.import_module(module)).items():
            if key == only or (not only and key.startswith("check_")):
                found[key] = value
    return found


def main() -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore", FutureWarning)  # names that torch 2.13 has new ones for
    rank, size, meeting, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
    accelerator = torch.accelerator.current_accelerator()
    assert accelerator is not None
    device = torch.device(accelerator.type, rank)
    torch.accelerator.set_device_index(rank)
    dist.init_process_group(
        f"cpu:gloo,{device.type}:pjrt",
        init_method=f"file://{meeting}",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=90),
    )
    here = Rank(rank, size, device, Path(meeting).parent)
    results = {}
    for name, check in checks(*names).items():
        torch.manual_seed(0)
        start = time.monotonic()
        try:
            check(here)
            results[name] = ""
        except Exception:
            results[name] = traceback.format_exc()
        print(f"{time.monotonic() - start:.2f} s {name}", file=sys.stderr, flush=True)
    dist.destroy_process_group()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
