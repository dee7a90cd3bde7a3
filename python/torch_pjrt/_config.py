"""Every environment variable of torch_pjrt, in one table, read once.

No other file of the package reads the environment.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

OptionValue = int | float | bool | str


@dataclass(frozen=True)
class Variable:
    """One environment variable: what unset means, and what it does."""

    name: str
    default: str
    meaning: str


VARIABLES = (
    Variable(
        "TORCH_PJRT_PLUGIN",
        "chosen from the hardware and the installed packages",
        "The PJRT plugin to load: the path of a shared library, or the pip name of a known plugin"
        " package such as xla-cpu-pjrt.",
    ),
    Variable(
        "TORCH_PJRT_DEVICE_NAME",
        "tpu, neuron or pjrt, after the plugin",
        'The name of the device in PyTorch: with "tpu", code that says .to("tpu") runs here.',
    ),
    Variable(
        "TORCH_PJRT_DEVICE_COUNT",
        "4",
        "How many devices a CPU plugin shows. Plugins for hardware show what there is.",
    ),
    Variable(
        "TORCH_PJRT_VISIBLE_DEVICES",
        "all",
        "Which of the plugin's devices this process has, by number, separated by commas: with"
        " 2,0 the plugin's device 2 is device 0 here, and there are two.",
    ),
    Variable(
        "TORCH_PJRT_OPTIONS",
        "none",
        "More options for the plugin's client: name=value, separated by commas.",
    ),
    Variable(
        "TORCH_PJRT_AUTOLOAD",
        "1, but 0 where torch is built for CUDA or ROCm",
        'Whether "import torch" alone sets the device up. "import torch_pjrt" always does.',
    ),
    Variable(
        "TORCH_PJRT_FALLBACK",
        "warn",
        "What an operator without a lowering does: run on the CPU and warn once (warn), the same"
        " without the warning (silent), or raise NotImplementedError (error).",
    ),
    Variable(
        "TORCH_PJRT_MODE",
        "eager",
        "eager: operators are issued without waiting; debug: each is waited for, so that an error"
        " appears at the line that caused it.",
    ),
    Variable(
        "TORCH_PJRT_CACHE_DIR",
        "torch_pjrt in $XDG_CACHE_HOME, else ~/.cache/torch_pjrt",
        "The directory of compiled programs, kept from one process to the next. It must belong to"
        ' you and be closed to writes by others. "off" or "0": programs are not kept.',
    ),
    Variable(
        "TORCH_PJRT_CACHE_SIZE",
        "4GiB",
        "How large that directory may grow, in bytes or with a unit (KiB, MiB, GiB, TiB); the least"
        " recently used programs go first.",
    ),
    Variable(
        "TORCH_PJRT_CACHE_READONLY_DIR",
        "none",
        "A second directory of compiled programs that is only read, such as one an administrator"
        " filled. It must belong to root or to you and be closed to writes by others.",
    ),
    Variable(
        "TORCH_PJRT_PROGRESS",
        "1 on a terminal, else 0",
        "Whether compilations of more than a second show a progress bar on stderr.",
    ),
)

# Variables of the compilers behind the plugins: what they say changes the programs made.
COMPILER_VARIABLES = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "NEURON_CC_FLAGS")

_DEVICE_NAME = re.compile(r"[a-z][a-z_]*")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(b|[kmgt]i?b?)?", re.IGNORECASE | re.ASCII)
# Types that PyTorch itself knows; PrivateUse1 cannot take their names.
_TAKEN = (
    " cpu cuda fpga hip hpu ideep ipu lazy maia meta mkldnn mps mtia opencl opengl privateuseone"
    " ve vulkan xla xpu "
)


@dataclass(frozen=True)
class Config:
    """The environment, parsed; the fields are described in VARIABLES."""

    plugin: str | None = None
    device_name: str | None = None
    device_count: int | None = None
    visible_devices: tuple[int, ...] = ()  # empty: all
    options: tuple[tuple[str, OptionValue], ...] = ()
    autoload: bool | None = None
    fallback: str = "warn"
    mode: str = "eager"
    cache_dir: str | None = "~/.cache/torch_pjrt"  # None: off
    cache_size: int = 4 << 30  # bytes
    cache_readonly_dir: str | None = None
    progress: bool | None = None


@functools.cache
def config() -> Config:
    """The environment of this process as it was at the first call.

    Raises ValueError that names the variable when a value cannot be understood.
    """
    return parse(os.environ)


def compiler_variables() -> dict[str, str]:
    """Those of COMPILER_VARIABLES that are set, read now: compilers read them when first used."""
    return {name: os.environ[name] for name in COMPILER_VARIABLES if os.environ.get(name)}


def parse(environment: Mapping[str, str]) -> Config:
    """Parses the variables; an empty value counts as unset. Raises ValueError."""
    values = {v.name: environment.get(v.name, "").strip() for v in VARIABLES}
    autoload = _choice(values, "TORCH_PJRT_AUTOLOAD", ("0", "1"))
    progress = _choice(values, "TORCH_PJRT_PROGRESS", ("0", "1"))
    return Config(
        plugin=values["TORCH_PJRT_PLUGIN"] or None,
        device_name=_device_name(values["TORCH_PJRT_DEVICE_NAME"]),
        device_count=_device_count(values["TORCH_PJRT_DEVICE_COUNT"]),
        visible_devices=_visible_devices(values["TORCH_PJRT_VISIBLE_DEVICES"]),
        options=_options(values["TORCH_PJRT_OPTIONS"]),
        autoload=None if autoload is None else autoload == "1",
        fallback=_choice(values, "TORCH_PJRT_FALLBACK", ("warn", "silent", "error")) or "warn",
        mode=_choice(values, "TORCH_PJRT_MODE", ("eager", "debug")) or "eager",
        cache_dir=_cache_dir(values["TORCH_PJRT_CACHE_DIR"], environment.get("XDG_CACHE_HOME", "")),
        cache_size=_bytes("TORCH_PJRT_CACHE_SIZE", values["TORCH_PJRT_CACHE_SIZE"]),
        cache_readonly_dir=values["TORCH_PJRT_CACHE_READONLY_DIR"] or None,
        progress=None if progress is None else progress == "1",
    )


def _choice(values: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str | None:
    value = values[name].lower()
    if value and value not in allowed:
        raise ValueError(f"{name}={values[name]!r}: expected one of {', '.join(allowed)}")
    return value or None


def _device_name(value: str) -> str | None:
    if not value:
        return None
    if not _DEVICE_NAME.fullmatch(value) or f" {value} " in _TAKEN:
        raise ValueError(
            f"TORCH_PJRT_DEVICE_NAME={value!r}: expected a lower-case word that is no device type"
            " of PyTorch's own, such as pjrt, tpu or neuron"
        )
    return value


def _device_count(value: str) -> int | None:
    if not value:
        return None
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 128:
        raise ValueError(f"TORCH_PJRT_DEVICE_COUNT={value!r}: expected a number from 1 to 128")
    return int(value)


def _visible_devices(value: str) -> tuple[int, ...]:
    parts = [part.strip() for part in value.split(",")] if value else []
    if not all(part.isascii() and part.isdigit() for part in parts) or len(set(parts)) < len(parts):
        raise ValueError(
            f"TORCH_PJRT_VISIBLE_DEVICES={value!r}: expected different device numbers from 0,"
            " separated by commas, such as 0 or 1,3"
        )
    return tuple(int(part) for part in parts)


def _cache_dir(value: str, xdg_cache_home: str) -> str | None:
    if value.lower() in ("off", "0"):
        return None
    # The XDG specification: a relative path there is invalid and ignored.
    base = xdg_cache_home if xdg_cache_home.startswith("/") else "~/.cache"
    return value or f"{base}/torch_pjrt"


def _bytes(name: str, value: str) -> int:
    if not value:
        return Config.cache_size
    found = _SIZE.fullmatch(value)
    if not found or not float(found[1]) > 0:
        raise ValueError(f"{name}={value!r}: expected a size such as 500MiB, 4GiB or 1000000")
    unit = (found[2] or "b").lower()
    return int(float(found[1]) * 1024 ** "bkmgt".index(unit[0]))


def _options(value: str) -> tuple[tuple[str, OptionValue], ...]:
    found = []
    for part in filter(None, (p.strip() for p in value.split(","))):
        name, equals, text = part.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"TORCH_PJRT_OPTIONS: {part!r} is not of the form name=value")
        found.append((name.strip(), _option_value(text.strip())))
    return tuple(found)


def _option_value(text: str) -> OptionValue:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
