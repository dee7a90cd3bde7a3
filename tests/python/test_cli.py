"""The command line."""

from importlib.metadata import entry_points
from pathlib import Path

import torch
from typer.testing import CliRunner

import torch_pjrt
from torch_pjrt.cli import app


def test_the_command_and_the_autoload_entry_point_are_installed() -> None:
    (command,) = entry_points(group="console_scripts", name="torch-pjrt")
    assert command.load() is app
    (autoload,) = entry_points(group="torch.backends", name="torch_pjrt")
    assert autoload.load() is torch_pjrt._autoload


def test_info_names_plugin_devices_and_versions() -> None:
    done = CliRunner().invoke(app, ["info"])
    assert done.exit_code == 0, done.output
    plugin = torch_pjrt.plugin_info()
    devices = [f"{torch_pjrt.device_name()}:{i}" for i in range(torch.accelerator.device_count())]
    for text in [plugin["name"], plugin["api_version"], torch.__version__, *devices]:
        assert str(text) in done.output


def test_the_demo_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "absent.txt"
    done = CliRunner().invoke(app, ["demo", "--sentences", str(path)])
    assert done.exit_code == 2
    assert "absent.txt" in done.output
