"""What a number needs beside it to mean something: the machine, its load, the versions."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

import torch

import torch_pjrt


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def describe() -> dict[str, str]:
    """Date, machine, load average of the last minute, versions, plugin."""
    plugin = torch_pjrt.plugin_info()
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": f"{_cpu_name()}, {os.cpu_count()} cores",
        "load": f"{os.getloadavg()[0]:.2f}",
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "plugin": f"{plugin['name']} (PJRT API {plugin['api_version']})",
    }
