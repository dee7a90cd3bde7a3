"""What a device is: names, memory, dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from torch_pjrt import _C
from torch_pjrt.device._utils import Device, checked_index, device_type


@dataclass(frozen=True)
class DeviceProperties:
    """Properties of one device."""

    name: str  # what the plugin calls this kind of device
    index: int
    id: int  # the plugin's own number
    platform: str  # "cpu", "tpu", "cuda", ...
    platform_version: str
    total_memory: int  # bytes; of the host where the plugin does not say


def get_device_properties(device: Device = None) -> DeviceProperties:
    """The properties of a device, by default the current one; opens the plugin.

    Raises ValueError when there is no such device.
    """
    index = checked_index(device)
    plugin, properties = _C.plugin_info(), _C.device_properties(index)
    return DeviceProperties(
        name=str(properties["kind"]),
        index=index,
        id=int(properties["id"]),
        platform=str(plugin["platform"]),
        platform_version=str(plugin["platform_version"]),
        total_memory=_C.memory_stats(index)["bytes_limit"],
    )


def get_device_name(device: Device = None) -> str:
    """What the plugin calls the device, for example "cpu" or "TPU v5e"; opens the plugin."""
    return get_device_properties(device).name


def get_device_capability(device: Device = None) -> dict[str, Any]:
    """Platform, versions and `supported_dtypes` of a device, by default the current one.

    As for the devices of other vendors but NVIDIA this is a dictionary, not (major, minor).
    """
    properties = get_device_properties(device)
    return {
        "name": properties.name,
        "platform": properties.platform,
        "platform_version": properties.platform_version,
        "api_version": _C.plugin_info()["api_version"],
        "total_memory": properties.total_memory,
        "supported_dtypes": torch.accelerator.get_device_capability(
            torch.device(device_type(), properties.index)
        )["supported_dtypes"],
    }


def get_arch_list() -> list[str]:
    """Always empty: programs are compiled for the device that is here."""
    return []


def can_device_access_peer(device: Device, peer_device: Device) -> bool:
    """Whether two devices copy to each other without the user's help: all devices of a plugin do.

    Raises ValueError when one of them does not exist.
    """
    checked_index(device)
    checked_index(peer_device)
    return True


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that torch.autocast accepts for this device."""
    return [torch.bfloat16, torch.float16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True: every PJRT compiler takes bfloat16, natively or through float32."""
    return True
