"""Native means that no value leaves the device. Proved, not reported: a plugin between torch_pjrt
and the real one (tests/proxy_plugin) counts every call by which the host can read device memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from opinfo import Record
from support import output_of

pytestmark = pytest.mark.own_device
HERE = Path(__file__).resolve().parent

# Their result's size, or the result itself as a Python number, depends on values: they read a count
# (or that number) and nothing else. Each entry: operator (as OpInfo names it) -> reads allowed.
READS_A_COUNT = {
    "nonzero": 1,
    "argwhere": 1,
    "masked_select": 1,
    "index_put": 1,  # with a mask for an index
    "combinations": 4,  # of masked_select
    "equal": 1,
    "allclose": 1,
    "item": 1,
    # PyTorch itself reads a number before it calls the device: a factorisation's info, a size or a
    # bound given as a tensor, whether weights or variances are negative.
    "linalg.cholesky": 1,
    "linalg.inv": 1,
    "linalg.lu_factor": 1,
    "linalg.matrix_power": 1,
    "linalg.tensorinv": 1,
    "linspace.tensor_overload": 2,
    "logspace.tensor_overload": 2,
    "narrow": 1,
    "corrcoef": 1,
    "cov": 4,
    "nn.functional.gaussian_nll_loss": 1,
    "signal.windows.kaiser": 2,
}


@pytest.fixture(scope="module")
def reads(proxy_environment: dict[str, str]) -> dict[str, tuple[int, int]]:
    script = HERE / "native_programs.py"
    proxy = proxy_environment["TORCH_PJRT_PLUGIN"]
    code = f"""
        import runpy, sys
        sys.path.insert(0, {str(HERE)!r})
        sys.argv = [{str(script)!r}, {proxy!r}]
        runpy.run_path({str(script)!r}, run_name="__main__")
    """
    return dict(json.loads(output_of(code, 400, **proxy_environment).splitlines()[-1]))


def test_programs_read_nothing_until_cpu(reads: dict[str, tuple[int, int]]) -> None:
    assert len(reads) >= 15
    assert {name: during for name, (during, _) in reads.items() if during} == {}


def test_the_proxy_does_see_reads(reads: dict[str, tuple[int, int]]) -> None:
    """Otherwise the test above would prove nothing."""
    assert all(after >= 1 for _, after in reads.values()), reads


def test_native_operators_read_nothing(opinfo_records: list[Record]) -> None:
    """Every operator that counted no fallback, over all samples of the operator run."""
    native = [r for r in opinfo_records if r["status"] == "ok" and not r["fallback"]]
    assert len(native) > 300
    reading = {
        r["op"]: r["reads"]
        for r in native
        if r["reads"] > READS_A_COUNT.get(r["op"].split(" ")[0], 0)
    }
    assert reading == {}, json.dumps(reading)


def test_the_list_of_readers_is_current(opinfo_records: list[Record]) -> None:
    """An operator leaves READS_A_COUNT when it reads nothing (or is not native at all)."""
    readers = {r["op"].split(" ")[0] for r in opinfo_records if r["reads"] > 0}
    assert sorted(set(READS_A_COUNT) - readers) == [], sorted(readers)


def test_the_proxy_is_what_runs(proxy_environment: dict[str, str]) -> None:
    code = """
        import torch, torch_pjrt
        torch.ones(1, device=torch_pjrt.device_name())
        print(torch_pjrt.plugin_info()["path"])
    """
    assert output_of(code, **proxy_environment) == proxy_environment["TORCH_PJRT_PLUGIN"]
    assert sys.platform == "linux"
