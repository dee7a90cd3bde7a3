"""Writes docs/ops.md from the op registry (`make docs`); `--check` only compares."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "ops.md"
HEADER = """# Operators that run on the device

Written by `make docs` from the rows in `csrc/lower/`: do not edit. One row is one functional ATen
operator; its in-place and `out=` forms are registered from it. Anything else either decomposes into
these in PyTorch itself or runs on the CPU, counted by `torch_pjrt.fallback_counts()`.
"""


def render(rows: Iterable[Mapping[str, Any]]) -> str:
    """The document for rows as `torch_pjrt.rows()` gives them."""
    families: dict[str, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: str(row["name"])):
        others = sorted(set(row["variants"]) - {row["name"]})
        variants = ", ".join(f"`{name}`" for name in others)
        families[row["family"]].append(f"| `{row['schema']}` | {variants} |")
    total = sum(map(len, families.values()))
    parts = [HEADER, f"{total} operators in {len(families)} families."]
    for family, lines in sorted(families.items()):
        parts += [f"\n## {family}\n", "| schema | also registered |", "|---|---|", *lines]
    return "\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check

    import torch_pjrt

    text = render(torch_pjrt.rows())
    if not check:
        DOCUMENT.write_text(text, encoding="utf-8")
    elif not DOCUMENT.exists() or DOCUMENT.read_text(encoding="utf-8") != text:
        print("docs/ops.md differs from the op registry: run `make docs` and commit it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
