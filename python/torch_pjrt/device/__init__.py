"""The device module: torch.pjrt, torch.tpu, torch.neuron, after the device's name.

What torch.cuda offers and does not depend on NVIDIA is here under the same names, with the same
meaning; code that takes the module from torch.get_device_module finds what it looks for.
"""

from __future__ import annotations

import torch

from torch_pjrt._api import _fallback_count, _fallback_counts
from torch_pjrt.device import _utils, amp, memory, random
from torch_pjrt.device._utils import _get_device_index
from torch_pjrt.device.lifecycle import (
    _is_compiled,
    _is_in_bad_fork,
    _lazy_init,
    device_count,
    init,
    is_available,
    is_initialized,
)
from torch_pjrt.device.memory import (
    empty_cache,
    ipc_collect,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from torch_pjrt.device.properties import (
    DeviceProperties,
    can_device_access_peer,
    get_amp_supported_dtype,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_bf16_supported,
)
from torch_pjrt.device.random import (
    _get_generator,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from torch_pjrt.device.streams import (
    Event,
    Stream,
    StreamContext,
    _DeviceGuard,
    _exchange_device,
    _maybe_exchange_device,
    current_device,
    current_stream,
    default_stream,
    device,
    device_of,
    set_device,
    set_stream,
    stream,
    synchronize,
)

default_generators: tuple[torch.Generator, ...]


def __getattr__(name: str) -> object:
    """`default_generators`, one per device: made when asked for, as counting may open a plugin.
    `_initialized`: torch.utils.checkpoint asks it whether there is random state to keep."""
    if name == "default_generators":
        return tuple(random._generators())
    if name == "_initialized":
        return is_initialized()
    raise AttributeError(f"module 'torch.{_utils.device_type()}' has no attribute {name!r}")


__all__ = [
    "DeviceProperties",
    "Event",
    "Stream",
    "StreamContext",
    "_DeviceGuard",
    "_exchange_device",
    "_fallback_count",
    "_fallback_counts",
    "_get_device_index",
    "_get_generator",
    "_is_compiled",
    "_is_in_bad_fork",
    "_lazy_init",
    "_maybe_exchange_device",
    "_utils",
    "amp",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "random",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]
