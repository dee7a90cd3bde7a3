"""The device's random numbers. Every device has a default generator; nothing here opens the plugin
unless the number of devices is known only to it."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from torch_pjrt import _C
from torch_pjrt._activation import choice
from torch_pjrt.device._utils import Device, checked_index

_seed_at_first_use: int | None = None


def _generators() -> list[torch.Generator]:
    return [_C.default_generator(i) for i in range(_C.device_count())]


def _get_generator(device: torch.device) -> torch.Generator:
    return _C.default_generator(checked_index(device))


def get_rng_state(device: Device = None) -> torch.Tensor:
    """State of a device's default generator: a uint8 tensor on the CPU."""
    return _C.default_generator(checked_index(device)).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """States of the default generators of all devices."""
    return [g.get_state() for g in _generators()]


def set_rng_state(new_state: torch.Tensor, device: Device = None) -> None:
    """Sets the state of a device's default generator, as `get_rng_state` gave it.

    Raises RuntimeError when `new_state` is not such a state.
    """
    _C.default_generator(checked_index(device)).set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states of the default generators of all devices, in order."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device's default generator."""
    _C.default_generator(checked_index()).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the default generators of all devices; torch.manual_seed calls it."""
    global _seed_at_first_use
    if _C.is_open() or choice().static_device_count >= 0:
        for generator in _generators():
            generator.manual_seed(int(seed))
    else:
        _seed_at_first_use = int(seed)


def apply_pending_seed() -> None:
    """Applies what `manual_seed_all` could not, before the number of devices was known."""
    global _seed_at_first_use
    seed, _seed_at_first_use = _seed_at_first_use, None
    if seed is not None:
        manual_seed_all(seed)


def seed() -> None:
    """Seeds the current device's default generator with a number from the operating system."""
    _C.default_generator(checked_index()).seed()


def seed_all() -> None:
    """Seeds all devices' default generators with one number from the operating system."""
    manual_seed_all(torch.Generator().seed())


def initial_seed() -> int:
    """The seed of the current device's default generator."""
    return _C.default_generator(checked_index()).initial_seed()
