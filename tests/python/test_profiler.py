"""torch.profiler shows what the device does: operators, compiles, executions, fallbacks, times."""

import json
from pathlib import Path

import pytest
import torch
from support import run_python
from torch.profiler import ProfilerActivity, profile, record_function

pytestmark = pytest.mark.own_device


def busy(device: torch.device) -> torch.Tensor:
    x = torch.full((300, 300), 1e-3, device=device)
    with record_function("phase"):
        return (x @ x).softmax(-1)


def test_ranges_of_the_host(device: torch.device) -> None:
    busy(device)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        busy(device).cpu()
        torch.ones(3, 5, 7, 11, device=device).sub(3).cpu()  # a program that is new
    found = {event.key: event for event in profiler.key_averages()}
    assert {"phase", "aten::mm", "aten::_softmax", "pjrt::execute"} <= set(found)
    assert found["pjrt::execute"].count >= 4
    # Compiled here, or loaded from the cache on disk.
    made = [found[name] for name in ("pjrt::compile", "pjrt::load") if name in found]
    assert made and all(0 < event.cpu_time_total < 60e6 for event in made)


def test_fallbacks_have_a_name(device: torch.device) -> None:
    x = torch.tensor([1, 2, 2], device=device)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        torch.bincount(x)
    names = {event.key for event in profiler.key_averages()}
    assert "pjrt::fallback aten::bincount" in names


def test_time_on_the_device(device: torch.device, tmp_path: Path) -> None:
    busy(device)
    activities = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
    with profile(activities=activities) as profiler:
        for _ in range(3):
            y = busy(device)
        torch.accelerator.synchronize()
    found = {event.key: event for event in profiler.key_averages()}
    assert found["aten::mm"].device_time_total > 0
    assert found["aten::mm"].count >= 3
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    assert sum(e["name"] == "pjrt::execute aten::mm" for e in kernels) >= 3
    assert sum(e["name"] == "pjrt::execute aten::_softmax" for e in kernels) >= 3
    issued = {e["args"]["External id"]: e["ts"] for e in events if e.get("cat") == "cpu_op"}
    linked = [e for e in kernels if e["args"].get("External id") in issued]
    assert len(linked) == len(kernels)
    assert y.shape == (300, 300)


def test_lines_of_the_program(device: torch.device, tmp_path: Path) -> None:
    busy(device)
    with profile(with_stack=True, record_shapes=True, profile_memory=True) as profiler:
        busy(device).cpu()
    products = [e for e in profiler.events() if e.name == "aten::mm"]
    assert products and list(products[0].input_shapes[:2]) == [[300, 300], [300, 300]]
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    assert "test_profiler.py" in path.read_text()


def test_a_schedule(device: torch.device) -> None:
    seen = []
    with profile(
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda p: seen.append({e.key for e in p.key_averages()}),
    ) as profiler:
        for _ in range(5):
            busy(device)
            profiler.step()
    assert len(seen) == 1 and "aten::mm" in seen[0]


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_the_older_profiler_times_operators_with_events(device: torch.device) -> None:
    busy(device)
    with torch.autograd.profiler.profile(use_device=device.type) as profiler:
        busy(device).cpu()
    found = {event.key: event for event in profiler.key_averages()}
    assert 0 < found["aten::mm"].device_time_total < 60e6
    assert 0 < found["aten::mm"].cpu_time_total < 60e6


def test_profiling_before_the_first_use() -> None:
    code = """
        import torch
        from torch.profiler import profile, ProfilerActivity
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as p:
            (torch.ones(64, 64, device="pjrt") @ torch.ones(64, 64, device="pjrt")).cpu()
        assert any(e.key == "aten::mm" and e.device_time_total > 0 for e in p.key_averages())
    """
    done = run_python(code)
    assert done.returncode == 0, done.stderr
