"""`torch-pjrt info`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import torch
from rich.console import Console
from rich.table import Table

import torch_pjrt


def show(console: Console) -> None:
    """Prints plugin, devices and versions; opens the plugin."""
    plugin = torch_pjrt.plugin_info()
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column(style="dim", justify="right")
    table.add_column(overflow="fold")
    accelerator = torch.accelerator.current_accelerator()
    count = torch.accelerator.device_count()
    rows = {
        "plugin": plugin["name"],
        "file": plugin["path"],
        "PJRT API": plugin["api_version"],
        "platform": plugin["platform"],
        "devices": ", ".join(f"{accelerator}:{i}" for i in range(count)),
        "torch-pjrt": _version("torch-pjrt"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
    }
    for name, value in rows.items():
        table.add_row(name, str(value))
    console.print(table)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
