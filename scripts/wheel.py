"""Builds the wheel into the directory given: `python scripts/wheel.py dist`.

It takes the objects of build/release, so that what a developer has built is not built again.
`pip wheel .` makes the same wheel from nothing, in build/wheel.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# As `make build` configures that tree: other values would compile it anew.
SETTINGS = {
    "build-dir": "build/release",
    "build.targets": "_C",
    "cmake.define.TPJRT_IN_TREE": "ON",
    "cmake.define.TPJRT_TESTS": "ON",
}


def build(directory: Path) -> Path:
    """Builds the wheel; returns its path. Raises CalledProcessError when the build fails."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    command += [f"--config-settings={name}={value}" for name, value in SETTINGS.items()]
    subprocess.run([*command, "--wheel-dir", str(directory), str(ROOT)], check=True)
    return max(directory.glob("torch_pjrt-*.whl"), key=lambda path: path.stat().st_mtime)


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
