"""Automatic mixed precision under the names of torch.cuda.amp, bound to this device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torch_pjrt.device._utils import device_type


class autocast(torch.amp.autocast):
    """torch.autocast for this device; float16 unless a dtype is given, as for CUDA."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: torch.dtype | None = None,
        cache_enabled: bool | None = None,
    ) -> None:
        super().__init__(device_type(), dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler for this device."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(
            device_type(), init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None
) -> Any:
    """torch.amp.custom_fwd for this device."""
    return torch.amp.custom_fwd(fwd, device_type=device_type(), cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """torch.amp.custom_bwd for this device."""
    return torch.amp.custom_bwd(bwd, device_type=device_type())
