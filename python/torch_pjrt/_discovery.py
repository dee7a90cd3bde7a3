"""Which PJRT plugin drives the device: one table of known plugin packages, chosen by hardware.

Nothing here opens a plugin, imports its package or raises; `Choice.problem` says what is missing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch_pjrt._config import Config, OptionValue

CPU_DEVICE_COUNT = 4  # what the CPU plugins show unless told otherwise


@dataclass(frozen=True)
class Package:
    """A pip package that brings a plugin: `library` is a pattern inside the module's folder."""

    name: str
    module: str
    library: str

    def find(self) -> Path | None:
        """The plugin's file, or None when the package is not installed."""
        try:
            spec = importlib.util.find_spec(self.module)
        except (ImportError, ValueError):
            return None
        folders = spec.submodule_search_locations if spec else None
        return next((f for d in folders or () for f in sorted(Path(d).glob(self.library))), None)


@dataclass(frozen=True)
class Hardware:
    """A kind of accelerator: its name in PyTorch, its plugins, how to see that it is here."""

    kind: str
    device_name: str
    packages: tuple[Package, ...]
    present: Callable[[], bool]
    file_hints: tuple[str, ...]  # parts of the file name of a plugin for it


def _nodes(pattern: str) -> Callable[[], bool]:
    return lambda: any(Path("/dev").glob(pattern))


def _tpu_present() -> bool:
    return _nodes("accel[0-9]*")() or (_nodes("vfio/[0-9]*")() and _google_pci_device())


def _google_pci_device() -> bool:
    """A PCI device of Google other than its network card: /dev/vfio alone may be anything."""
    for vendor in Path("/sys/bus/pci/devices").glob("*/vendor"):
        try:
            ids = (vendor.read_text().strip(), vendor.with_name("device").read_text().strip())
        except OSError:
            continue
        if ids[0] == "0x1ae0" and ids[1] != "0x0042":
            return True
    return False


HARDWARE = (
    Hardware("tpu", "tpu", (Package("libtpu", "libtpu", "libtpu.so"),), _tpu_present, ("libtpu",)),
    Hardware(
        "neuron",
        "neuron",
        (Package("libneuronxla", "libneuronxla", "libneuronpjrt*.so"),),
        _nodes("neuron[0-9]*"),
        ("neuron",),
    ),
    Hardware(
        "cuda",
        "pjrt",
        (
            Package("jax-cuda13-pjrt", "jax_plugins.xla_cuda13", "xla_cuda_plugin.so"),
            Package("jax-cuda12-pjrt", "jax_plugins.xla_cuda12", "xla_cuda_plugin.so"),
        ),
        _nodes("nvidia[0-9]*"),
        ("cuda",),
    ),
    # Last: what remains when no accelerator is here. Its first package is the embedded default.
    Hardware(
        "cpu",
        "pjrt",
        (
            Package("xla-cpu-pjrt", "xla_plugins.xla_cpu_pjrt", "xla_cpu_pjrt.so"),
            Package("fastatomstruct-xla-cpu", "fastatomstruct_xla_cpu", "libpjrt_cpu.so"),
            Package("lammps-jax-pjrt-cpu", "lammps_jax_pjrt_cpu", "pjrt_c_api_cpu_plugin.so"),
        ),
        lambda: True,
        ("cpu",),
    ),
)


@dataclass(frozen=True)
class Choice:
    """The plugin to load, or the reason why there is none."""

    name: str  # of the package, or of the file
    path: Path | None
    kind: str  # as in HARDWARE, or "unknown"
    device_name: str
    options: tuple[tuple[str, OptionValue], ...]
    static_device_count: int  # -1: only the opened plugin knows
    visible_devices: tuple[int, ...] = ()  # empty: all
    problem: str | None = None


def choose(config: Config) -> Choice:
    """Picks the plugin: TORCH_PJRT_PLUGIN, then the hardware of this machine, then the CPU."""
    if config.plugin is None:
        return _by_hardware(config)
    for hardware in HARDWARE:
        for package in hardware.packages:
            if config.plugin == package.name:
                return _choice(config, hardware, package.name, package.find())
    return _by_path(config, Path(config.plugin).expanduser())


def _by_hardware(config: Config) -> Choice:
    for hardware in HARDWARE:
        if not hardware.present():
            continue
        for package in hardware.packages:
            path = package.find()
            if path is not None:
                return _choice(config, hardware, package.name, path)
    return _choice(config, HARDWARE[-1], HARDWARE[-1].packages[0].name, None)


def _by_path(config: Config, path: Path) -> Choice:
    hints = [h for h in HARDWARE if any(hint in path.name for hint in h.file_hints)]
    problem = None
    if not path.is_file():
        packages = ", ".join(p.name for h in HARDWARE for p in h.packages)
        problem = (
            f"TORCH_PJRT_PLUGIN={config.plugin!r} is neither a file nor a known plugin package"
            f" ({packages})"
        )
    return _choice(config, hints[0] if hints else None, path.name, path, problem)


def _choice(
    config: Config,
    hardware: Hardware | None,
    name: str,
    path: Path | None,
    problem: str | None = None,
) -> Choice:
    if path is None:
        problem = f"the PJRT plugin package {name} is not installed: run `pip install {name}`"
    kind = hardware.kind if hardware else "unknown"
    options = config.options
    if config.device_count is not None and kind in ("cpu", "unknown"):
        options = (("cpu_device_count", config.device_count), *options)
    static_count = _static_count(kind, dict(options))
    if 0 <= static_count <= max(config.visible_devices, default=-1):
        problem = problem or (
            f"TORCH_PJRT_VISIBLE_DEVICES={','.join(map(str, config.visible_devices))}: there are"
            f" {static_count} devices, from 0 (TORCH_PJRT_DEVICE_COUNT says how many a CPU plugin"
            " has)"
        )
    return Choice(
        name=name,
        path=path,
        kind=kind,
        device_name=config.device_name or (hardware.device_name if hardware else "pjrt"),
        options=options,
        static_device_count=len(config.visible_devices) or static_count,
        visible_devices=config.visible_devices,
        problem=problem,
    )


def _static_count(kind: str, options: dict[str, OptionValue]) -> int:
    return int(options.get("cpu_device_count", CPU_DEVICE_COUNT)) if kind == "cpu" else -1
