"""docs/ops.md is what the op registry says today."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_op_list_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "ops_doc.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
