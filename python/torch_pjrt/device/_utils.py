"""Device indices, and the extension as the device module's files use it."""

from __future__ import annotations

from typing import Any

import torch

from torch_pjrt import _C

Device = torch.device | str | int | None


def device_type() -> str:
    """The device's name in PyTorch."""
    return torch._C._get_privateuse1_backend_name()


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index that `device` (int, str, torch.device or None) means; -1 for an allowed CPU.

    None and a device without an index mean the current one if `optional`. Raises ValueError for a
    device of another type, or without an index when not `optional`.
    """
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if allow_cpu and device.type == "cpu":
            return -1
        if device.type != device_type():
            raise ValueError(f"expected a {device_type()} device, got {device}")
        if device.index is not None:
            return int(device.index)
    elif device is not None:
        raise TypeError(f"expected a device, its name or its index, got {device!r}")
    if not optional:
        raise ValueError(f"expected a device with an index, got {device!r}")
    return _C.current_device()


def checked_index(device: Device = None) -> int:
    """The index that `device` means; raises ValueError when there is no such device."""
    index = _get_device_index(device, optional=True)
    count = _C.device_count()
    if not 0 <= index < count:
        raise ValueError(
            f"{device_type()}:{index} does not exist: there are {count} devices, from 0"
        )
    return index
