"""What `import torch` alone does: set the device up, or stay out of the way."""

from __future__ import annotations

import sys
import warnings

import torch

from torch_pjrt import _activation
from torch_pjrt._config import config


def autoload() -> None:
    """Sets the device up unless that was not wanted. Never raises: that would break `import torch`.

    A failure becomes a warning now and an error on use of the device.
    """
    try:
        if _wanted():
            _activation.activate()
        else:
            _forget_this_import()
    except Exception as error:
        warnings.warn(_activation.disable(error), RuntimeWarning, stacklevel=2)


def _wanted() -> bool:
    """PyTorch would prefer this device over CUDA as the accelerator, so ask on such builds."""
    setting = config().autoload
    if setting is not None:
        return setting
    return torch.version.cuda is None and torch.version.hip is None


def _forget_this_import() -> None:
    """Lets a later `import torch_pjrt` of the user run the package anew, and set the device up."""
    for name in [n for n in sys.modules if n.split(".")[0] == "torch_pjrt"]:
        del sys.modules[name]
