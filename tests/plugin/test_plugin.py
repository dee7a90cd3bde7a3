"""Conformance of every PJRT plugin found: what the core needs of one, from its own point of view.

The checks are the C++ suites ``PluginConformance`` and ``CompilerConformance``
(``tests/cpp/pjrt/conformance*_test.cc``). Each check runs in a process of its own, so that a plugin
that aborts or hangs fails one test and names itself.
"""

import glob
import importlib.util
import os
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE_TESTS = Path(os.environ.get("TPJRT_CORE_TESTS", ROOT / "build/release/tests/cpp/core_tests"))
FILTER = "*Conformance.*"
TIMEOUT_S = 120

# Plugins that need hardware: package, library inside it, device nodes that show the hardware.
HARDWARE_PLUGINS = [
    ("libtpu", "libtpu.so", ["/dev/accel*", "/dev/vfio/[0-9]*"]),
    ("jax_plugins.xla_cuda13", "xla_cuda_plugin.so", ["/dev/nvidia[0-9]*"]),
]


def cpu_plugins() -> list[Path]:
    spec = importlib.util.spec_from_file_location(
        "test_plugins", ROOT / "scripts" / "test_plugins.py"
    )
    assert spec is not None and spec.loader is not None
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    return [table.library_path(p, library) for p, library in table.TEST_PLUGINS.items()]


def hardware_plugins() -> list[Path]:
    found = []
    for package, library, nodes in HARDWARE_PLUGINS:
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:  # the parent package is missing
            spec = None
        if spec is not None and any(glob.glob(node) for node in nodes):
            found += [Path(folder) / library for folder in spec.submodule_search_locations or []]
    return found


def run(plugin: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(CORE_TESTS), *arguments],
        env={**os.environ, "TPJRT_TEST_PLUGINS": str(plugin)},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
    )


def checks(plugin: Path) -> list[str]:
    """Full gtest names of the conformance checks for one plugin; listing loads no plugin."""
    listed = run(plugin, "--gtest_list_tests", f"--gtest_filter={FILTER}")
    suite, names = "", []
    for line in listed.stdout.splitlines():
        word = line.split("#")[0].strip()
        if line.startswith("  "):
            names.append(suite + word)
        elif word.endswith("."):
            suite = word
    return names


def collected() -> list:
    if not CORE_TESTS.exists():
        return []  # test_the_suite_is_found says so
    return [
        pytest.param(plugin, name, id=f"{plugin.stem}-{name.split('/')[1]}")
        for plugin in [*cpu_plugins(), *hardware_plugins()]
        for name in checks(plugin)
    ]


CASES = collected()


def test_the_suite_is_found():
    assert CORE_TESTS.exists(), f"{CORE_TESTS} is not built: run `make build`"
    assert len(CASES) >= 30 * len(cpu_plugins()), "conformance checks are missing"


@pytest.mark.parametrize(("plugin", "name"), CASES)
def test_plugin(plugin: Path, name: str):
    result = run(plugin, f"--gtest_filter={name}")
    output = result.stdout + result.stderr[-4000:]
    if result.returncode < 0:
        pytest.fail(f"died of {signal.Signals(-result.returncode).name}\n{output}", pytrace=False)
    if result.returncode != 0:
        pytest.fail(output, pytrace=False)
    if "[  SKIPPED ] 1 test" in result.stdout:
        pytest.skip("the plugin has one device")
    assert "[  PASSED  ] 1 test." in result.stdout, output
