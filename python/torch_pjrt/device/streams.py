"""Streams, events and the current device.

A program starts when its arguments exist, on whichever stream, so streams order nothing anew: they
exist for code that is written with them. Recording an event does not wait; it happens when all that
was issued on the device before it is done, and its time is that moment.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch

from torch_pjrt import _C
from torch_pjrt.device._utils import Device, _get_device_index, checked_index, device_type

Stream = torch.Stream
Event = torch.Event


def current_device() -> int:
    """The index of the current device."""
    return _C.current_device()


def set_device(device: Device) -> None:
    """Makes a device the current one; a negative index does nothing.

    Raises ValueError when there is no such device.
    """
    if _get_device_index(device, optional=True) >= 0:
        _C.set_device(checked_index(device))


def _exchange_device(index: int) -> int:
    return _C.current_device() if index < 0 else _C.exchange_device(checked_index(index))


_maybe_exchange_device = _exchange_device


class device:
    """Context manager: a device is the current one inside; None and negative indices do nothing.

    Raises ValueError for a device of another type and, on entering, for one that does not exist.
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _exchange_device(self.idx)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.idx >= 0:
            _C.set_device(self.prev_idx)


class _DeviceGuard(device):
    pass


class device_of(device):
    """Context manager: the device of a tensor or storage is the current one inside.

    Does nothing for an object on another type of device.
    """

    def __init__(self, obj: torch.Tensor | torch.UntypedStorage) -> None:
        super().__init__(obj.get_device() if obj.device.type == device_type() else None)


def synchronize(device: Device = None) -> None:
    """Waits for all work on a device, by default the current one, and raises its first error.

    Does nothing before the device's first use.
    """
    index = checked_index(device)
    if _C.is_open():
        _C.synchronize(index)


def current_stream(device: Device = None) -> torch.Stream:
    """The current stream of a device, by default of the current one."""
    return torch.accelerator.current_stream(torch.device(device_type(), checked_index(device)))


def default_stream(device: Device = None) -> torch.Stream:
    """The default stream of a device, by default of the current one."""
    kind = torch._C._autograd.DeviceType.PrivateUse1
    return torch.Stream(stream_id=0, device_index=checked_index(device), device_type=kind.value)


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream and its device the current ones; None does nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager: a stream and its device are the current ones inside; None does nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> torch.Stream | None:
        if self.stream is not None:
            self.stream.__enter__()
        return self.stream

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.stream is not None:
            self.stream.__exit__(kind, error, traceback)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Context manager that makes a stream the current one; None does nothing."""
    return StreamContext(stream)
