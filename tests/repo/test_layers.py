"""The include rule of csrc/: arrows point up only, and torch stays in the glue."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIRECT = {
    "base": set(),
    "pjrt": {"base"},
    "hlo": {"base"},
    "ir": {"base"},
    "lower": {"hlo", "ir"},
    "exec": {"pjrt", "lower"},
    "aten": {"exec"},
    "python": {"aten"},
}
TORCH_FOLDERS = {"aten", "python"}
TORCH = re.compile(r"(torch|ATen|c10|caffe2)/|Python\.h|pybind11/")
TOO_MUCH = {"torch/extension.h", "torch/all.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def reachable(folder: str) -> set[str]:
    """The folder itself and all below it."""
    return {folder}.union(*(reachable(below) for below in DIRECT[folder]))


def violations(csrc: Path) -> list[str]:
    """Every include in `csrc` that breaks the rule, as `file: header (why)`."""
    found = []
    for path in sorted(p for p in csrc.rglob("*") if p.suffix in {".h", ".cc"}):
        name = path.relative_to(csrc)
        folder = name.parts[0]
        if folder not in DIRECT or len(name.parts) < 2:
            found.append(f"{name}: not in a folder of the design")
            continue
        for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target = header.split("/")[0]
            if header in TOO_MUCH:
                found.append(f"{name}: {header} (costs half a minute per file)")
            elif TORCH.match(header) and folder not in TORCH_FOLDERS:
                found.append(f"{name}: {header} (the core is free of torch and Python)")
            elif target in DIRECT and "/" in header and target not in reachable(folder):
                found.append(f"{name}: {header} ({folder} is below {target})")
            elif (path.parent / header).exists() and "/" not in header:
                found.append(f"{name}: {header} (write the folder: {folder}/{header})")
    return found


def test_no_include_points_the_wrong_way() -> None:
    assert violations(ROOT / "csrc") == []


@pytest.mark.parametrize(
    ("file", "header"),
    [
        ("hlo/a.cc", '"lower/row.h"'),
        ("base/a.h", '"hlo/type.h"'),
        ("ir/a.cc", '"hlo/type.h"'),
        ("pjrt/a.cc", '"lower/row.h"'),
        ("exec/a.cc", '"aten/storage.h"'),
        ("lower/a.cc", "<ATen/core/Tensor.h>"),
        ("exec/a.cc", "<c10/core/Device.h>"),
        ("aten/a.cc", "<torch/extension.h>"),
        ("elsewhere/a.cc", '"base/error.h"'),
    ],
)
def test_the_check_sees_a_violation(tmp_path: Path, file: str, header: str) -> None:
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text(f"#include {header}\n", encoding="utf-8")
    assert len(violations(tmp_path)) == 1


@pytest.mark.parametrize(
    ("file", "header"),
    [
        ("lower/a.cc", '"base/error.h"'),
        ("exec/a.cc", '"hlo/type.h"'),
        ("aten/a.cc", "<ATen/ATen.h>"),
    ],
)
def test_the_check_lets_the_rest_pass(tmp_path: Path, file: str, header: str) -> None:
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text(f"#include {header}\n", encoding="utf-8")
    assert violations(tmp_path) == []
