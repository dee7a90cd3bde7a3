"""What stands in for the device module when the device could not be set up."""

from __future__ import annotations

from types import ModuleType
from typing import NoReturn


class DisabledDevice(ModuleType):
    """No device is available; using one raises RuntimeError with the reason.

    What PyTorch calls on its own in CPU programs (seeding, availability) does nothing.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("torch.pjrt", reason)
        self._reason = reason

    def is_available(self) -> bool:
        return False

    def is_initialized(self) -> bool:
        return False

    def device_count(self) -> int:
        return 0

    def current_device(self) -> int:
        return 0

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        pass

    def _lazy_init(self) -> NoReturn:
        raise RuntimeError(self._reason)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"torch.pjrt has no {name!r}: {self.__doc__}")
