"""PyTorch on any accelerator that has a PJRT plugin.

Importing this package, or only torch, makes the device known: "pjrt" on CPU and GPU plugins, "tpu"
or "neuron" on that hardware. The plugin itself is opened at the first use of the device.

    x = torch.ones(3, device="pjrt")     # or torch.accelerator.current_accelerator()
"""

import sys as _sys


def _torch_is_loading_us() -> bool:
    spec = getattr(_sys.modules.get("torch"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


# PyTorch's autoload imports this package while torch itself is being imported.
_imported_by_user = not _torch_is_loading_us()


def _autoload() -> None:
    """PyTorch's entry point for device backends (group torch.backends). Never raises."""
    if not _imported_by_user:  # else the import in progress sets the device up
        from torch_pjrt._autoload_policy import autoload

        autoload()


import torch  # noqa: E402, F401

from torch_pjrt._api import (  # noqa: E402
    _fallback_count,
    _fallback_counts,
    assert_compiled,
    compile_count,
    compile_delta,
    compile_report,
    compile_seconds,
    device_name,
    fallback,
    fallback_counts,
    load_exported,
    mode,
    plugin_info,
    reset_compile_report,
    reset_fallback_counts,
    rows,
    set_fallback,
    set_mode,
    strict,
)
from torch_pjrt._cache import cache_stats, explain_miss  # noqa: E402
from torch_pjrt.lowering import TensorType, register_lowering  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "TensorType",
    "__version__",
    "_fallback_count",
    "_fallback_counts",
    "assert_compiled",
    "cache_stats",
    "compile_count",
    "compile_delta",
    "compile_report",
    "compile_seconds",
    "device_name",
    "explain_miss",
    "fallback",
    "fallback_counts",
    "load_exported",
    "mode",
    "plugin_info",
    "register_lowering",
    "reset_compile_report",
    "reset_fallback_counts",
    "rows",
    "set_fallback",
    "set_mode",
    "strict",
]

if _imported_by_user:
    from torch_pjrt import _activation

    try:
        _activation.activate()
    except Exception as _error:
        raise ImportError(_activation.disable(_error)) from _error
