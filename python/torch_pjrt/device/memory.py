"""Memory of a device, in bytes, counted by torch_pjrt: the buffers that tensors and caches hold.

There is no allocator that caches between PyTorch and the plugin, so reserved equals allocated.
Nothing here opens the plugin: before its first use all counts are zero.
"""

from __future__ import annotations

from collections import OrderedDict

import torch

from torch_pjrt import _C
from torch_pjrt.device._utils import Device, checked_index, device_type

_NOTHING = dict.fromkeys(
    ("allocated", "peak", "total_allocated", "allocations", "active", "bytes_limit"), 0
)


def _counts(device: Device) -> dict[str, int]:
    return _C.memory_stats(checked_index(device)) if _C.is_open() else _NOTHING


def memory_allocated(device: Device = None) -> int:
    """Bytes held now on a device, by default the current one."""
    return _counts(device)["allocated"]


def max_memory_allocated(device: Device = None) -> int:
    """The most bytes held at once since the start or `reset_peak_memory_stats`."""
    return _counts(device)["peak"]


def memory_reserved(device: Device = None) -> int:
    """Bytes held now; the same as `memory_allocated`."""
    return memory_allocated(device)


def max_memory_reserved(device: Device = None) -> int:
    """The most bytes held at once; the same as `max_memory_allocated`."""
    return max_memory_allocated(device)


def memory_stats(device: Device = None) -> OrderedDict[str, int]:
    """The counts under the names that torch.cuda.memory_stats gives them.

    For each of `allocated_bytes`, `reserved_bytes` and `allocation`, over `.all`: `.current`,
    `.peak`, `.allocated` and `.freed` (both accumulated). The peak of `allocation`, a number of
    buffers, is not recorded and left out.
    """
    counts = _counts(device)
    total, live = counts["total_allocated"], counts["allocated"]
    stats: OrderedDict[str, int] = OrderedDict()
    for name in ("allocated_bytes", "reserved_bytes"):
        stats[f"{name}.all.current"] = live
        stats[f"{name}.all.peak"] = counts["peak"]
        stats[f"{name}.all.allocated"] = total
        stats[f"{name}.all.freed"] = max(total - live, 0)
    stats["allocation.all.current"] = counts["active"]
    stats["allocation.all.allocated"] = counts["allocations"]
    stats["allocation.all.freed"] = max(counts["allocations"] - counts["active"], 0)
    return stats


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """The counts as a text for a person."""
    index = checked_index(device)
    counts = _counts(index)
    lines = [
        f"{device_type()}:{index} memory",
        f"  held now        {_human(counts['allocated'])} in {counts['active']} buffers",
        f"  held at most    {_human(counts['peak'])}",
    ]
    if not abbreviated:
        total = f"{_human(counts['total_allocated'])} in {counts['allocations']} buffers"
        lines.append(f"  allocated ever  {total}")
        if counts["bytes_limit"] > 0:
            lines.append(f"  device has      {_human(counts['bytes_limit'])}")
    return "\n".join(lines)


def _human(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """(free, total) bytes of a device, of the host where the plugin does not say; opens it."""
    return torch.accelerator.get_memory_info(torch.device(device_type(), checked_index(device)))


def reset_peak_memory_stats(device: Device = None) -> None:
    """Starts the peak anew from what is held now."""
    index = checked_index(device)
    if _C.is_open():
        _C.reset_peak_memory(index)


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Starts the accumulated counts anew."""
    index = checked_index(device)
    if _C.is_open():
        _C.reset_accumulated_memory(index)


def empty_cache() -> None:
    """Frees what torch_pjrt keeps for reuse, such as uploaded scalars. Programs are kept."""
    if _C.is_open():
        _C.empty_cache()


def ipc_collect() -> None:
    """Does nothing: device memory is not shared between processes."""
