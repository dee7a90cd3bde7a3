"""The core library stands without torch and without Python."""

import re
import subprocess
from pathlib import Path

import torch

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "torch_pjrt"
CORE = PACKAGE / "libtorch_pjrt_core.so"
FOREIGN = re.compile(r"\b(?:torch|at|c10|caffe2|pybind11)::|\bPy[A-Z_]\w*")


def symbols(library: Path) -> list[str]:
    command = ["nm", "--dynamic", "--demangle", str(library)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_no_torch_symbol() -> None:
    lines = symbols(CORE)
    assert any("tpjrt::" in line for line in lines), "nm listed none of our own symbols"
    assert [line for line in lines if FOREIGN.search(line)] == []


def test_no_torch_library_is_needed() -> None:
    command = ["readelf", "--dynamic", "--wide", str(CORE)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", text)
    assert any(name.startswith("libstdc++") for name in needed)
    assert [name for name in needed if re.match(r"lib(torch(?!_pjrt)|c10|python)", name)] == []


def test_the_check_sees_a_torch_symbol() -> None:
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    assert any(FOREIGN.search(line) for line in symbols(library))
