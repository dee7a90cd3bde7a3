"""Programs that torch.export saved, run on the device."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch.export import ExportedProgram
from torch.export.passes import move_to_device_pass

from torch_pjrt._activation import choice


def load_exported(
    source: ExportedProgram | str | os.PathLike[str] | BinaryIO,
    device: torch.device | str | int | None = None,
) -> torch.nn.Module:
    """An exported program as a compiled module on the device.

    `source` is a `torch.export.ExportedProgram`, or what `torch.export.save` wrote (a path or an
    open file). Parameters, buffers and constants move to `device` (default: the current one), and
    so does every device that the program names. The module takes the arguments of the exported
    one, on the device, and runs one executable for each set of sizes that the program's dynamic
    shapes admit. Raises FileNotFoundError for a path that does not exist, ValueError for a device
    of another type, and whatever `torch.export.load` raises for a broken file.
    """
    target = _target(device)
    if isinstance(source, (str, os.PathLike)) and not Path(source).exists():
        raise FileNotFoundError(f"no exported program at {os.fspath(source)}")
    program: Any = source
    if not isinstance(source, ExportedProgram):
        program = torch.export.load(source)
    moved = move_to_device_pass(program, target)
    module = moved.module()
    module.compile(backend="pjrt", fullgraph=True)
    return module


def _target(device: torch.device | str | int | None) -> torch.device:
    name = choice().device_name
    chosen = torch.device(name, device) if isinstance(device, int) else torch.device(device or name)
    if chosen.type != name:
        raise ValueError(f"load_exported runs on {name}, not on {chosen}")
    if chosen.index is None:
        chosen = torch.device(name, torch.accelerator.current_device_index())
    return chosen
