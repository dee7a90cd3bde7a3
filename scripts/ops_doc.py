"""Writes docs/ops.md from the op registry (`make docs`); `--check` only compares."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "ops.md"
HEADER = """# Operators that run on the device

Written by `make docs` from the rows in `csrc/lower/`: do not edit. One row is one functional ATen
operator; its in-place and `out=` forms are registered from it. Anything else either decomposes into
these in PyTorch itself or runs on the CPU, counted by `torch_pjrt.fallback_counts()`.
"""


def render(rows: Iterable[Mapping[str, str]]) -> str:
    """The document for rows with the keys `schema` and `family`."""
    families: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        families[row["family"]].append(row["schema"].removeprefix("aten::"))
    total = sum(map(len, families.values()))
    parts = [HEADER, f"{total} operators in {len(families)} families.\n"]
    for family, schemas in sorted(families.items()):
        parts.append(f"\n## {family}\n")
        parts.append("| operator | schema |\n|---|---|")
        for schema in sorted(schemas):
            escaped = schema.replace("|", "\\|")
            parts.append(f"| `{schema.split('(')[0]}` | `{escaped}` |")
    return "\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check

    import torch  # noqa: F401  (the extension needs its libraries)

    from torch_pjrt import _C

    text = render(_C.rows())
    if not check:
        DOCUMENT.write_text(text, encoding="utf-8")
    elif not DOCUMENT.exists() or DOCUMENT.read_text(encoding="utf-8") != text:
        print("docs/ops.md differs from the op registry: run `make docs` and commit it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
