"""The command `torch-pjrt`."""

from torch_pjrt.cli.app import app

__all__ = ["app"]
