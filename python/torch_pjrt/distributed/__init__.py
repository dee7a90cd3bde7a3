"""torch.distributed for device tensors: the backend "pjrt", staged through the host by Gloo.

`register` makes it the backend of the device, as NCCL is CUDA's: `init_process_group()` and
`init_device_mesh` find it without a name, "cpu:gloo,pjrt:pjrt" names it, and a group made for
"gloo" takes device tensors too. What the backend does is in csrc/aten/staged_backend.h.
"""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from torch._C import _distributed_c10d as c10d

BACKEND = "pjrt"
_count = itertools.count()


def register(device_type: str) -> None:
    """Registers the backend for the device called `device_type`. Opens no plugin."""
    if not dist.is_available() or not dist.is_gloo_available():
        return
    dist.Backend.register_backend(BACKEND, _create, devices=[device_type, "cpu"])
    # A group made for "gloo" serves the device as it serves CUDA.
    capable = dist.Backend.backend_capability[dist.Backend.GLOO]
    if device_type not in capable:
        capable.append(device_type)


def _create(store: c10d.Store, rank: int, size: int, timeout: timedelta) -> c10d.Backend:
    """A backend of a new group: called by c10d on every rank, returns once all have connected."""
    from torch._C._distributed_c10d import _register_process_group, _unregister_process_group
    from torch.distributed.distributed_c10d import GroupName

    from torch_pjrt import _C

    gloo = dist.ProcessGroupGloo(store, rank, size, timeout=timeout)
    # A C++ backend becomes a Python object by way of a process group: only torch's own bindings
    # know the type.
    scratch = dist.ProcessGroup(store, rank, size)
    scratch._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)
    name = GroupName(f"torch_pjrt_staging_{next(_count)}")
    _register_process_group(name, scratch)
    try:
        _C.stage_process_group(name, BACKEND)
        return scratch._get_backend(torch.device(_device_type()))
    finally:
        _unregister_process_group(name)


def _device_type() -> str:
    return torch._C._get_privateuse1_backend_name()
