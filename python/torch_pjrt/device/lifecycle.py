"""Whether the device is here, and its first use."""

from __future__ import annotations

from torch_pjrt import _C
from torch_pjrt._activation import choice, forked_after_use, require_plugin
from torch_pjrt.device._utils import device_type
from torch_pjrt.device.random import apply_pending_seed


def is_available() -> bool:
    """True when a plugin was found for this machine. Opens nothing, never raises."""
    return choice().problem is None and not forked_after_use()


def device_count() -> int:
    """How many devices there are; 0 without a plugin that works. Never raises.

    Opens the plugin only where nothing else knows: not for the CPU plugins.
    """
    try:
        return _C.device_count() if is_available() else 0
    except RuntimeError:  # using the device will say why
        return 0


def is_initialized() -> bool:
    """True when the plugin is open and usable in this process."""
    return _C.is_open() and not forked_after_use()


def init() -> None:
    """Opens the plugin, which the first use of the device does anyway.

    Raises RuntimeError when there is no plugin, when it does not work, and in a forked child of a
    process that had opened it.
    """
    _lazy_init()


def _lazy_init() -> None:
    """PyTorch calls this before the first tensor on the device."""
    if forked_after_use():
        raise RuntimeError(
            f"the {device_type()} device was used before this process was forked, and PJRT plugins"
            " do not survive a fork: start processes with the method 'spawn', for example"
            " torch.multiprocessing.set_start_method('spawn')"
        )
    if not _C.is_open():
        require_plugin()
        _C.open()
        apply_pending_seed()


def _is_in_bad_fork() -> bool:
    return forked_after_use()


def _is_compiled() -> bool:
    return True
