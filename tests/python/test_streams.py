"""Streams and events: recording does not wait, times are those of the device."""

import threading
import time

import pytest
import torch
from support import output_of

pytestmark = pytest.mark.own_device
SIZE = 1024  # a product of this size takes milliseconds


def work(device: torch.device) -> torch.Tensor:
    return torch.full((SIZE, SIZE), 1e-3, device=device)


def test_recording_does_not_wait_for_the_device(device: torch.device) -> None:
    module = torch.get_device_module(device)
    x = work(device)
    (x @ x).cpu()
    unfinished = 0
    for _ in range(5):  # a busy machine may finish one of them before it is asked
        y = x
        for _ in range(8):
            y = y @ x
        event = torch.Event(device)
        event.record()
        unfinished += not event.query()
        event.synchronize()
        assert event.query()
    assert unfinished > 0
    module.synchronize()
    assert module.current_stream().query()


def test_elapsed_time_is_the_devices(device: torch.device) -> None:
    x = work(device)
    (x @ x).cpu()
    torch.accelerator.synchronize()
    start, end = (torch.Event(device, enable_timing=True) for _ in range(2))
    before = time.perf_counter()
    start.record()
    y = x
    for _ in range(10):
        y = y @ x
    end.record()
    end.synchronize()
    host = (time.perf_counter() - before) * 1e3  # the work lies inside
    (x @ x).cpu()
    elapsed = start.elapsed_time(end)
    assert 0 < elapsed <= host


def test_work_whose_result_is_dropped_counts(device: torch.device) -> None:
    x = work(device)
    (x @ x).cpu()
    start, last = (torch.Event(device, enable_timing=True) for _ in range(2))
    start.record()
    start.synchronize()
    for _ in range(4):
        x @ x
    last.record()
    last.synchronize()
    one, two = (torch.Event(device, enable_timing=True) for _ in range(2))
    one.record()
    two.record()
    two.synchronize()
    assert start.elapsed_time(last) > one.elapsed_time(two) >= 0


def test_times_of_one_event_after_another_do_not_fall(device: torch.device) -> None:
    events = []
    x = torch.ones(64, 64, device=device)
    for _ in range(50):
        x = x @ x * 1e-3
        event = torch.Event(device, enable_timing=True)
        event.record()
        events.append(event)
    events[-1].synchronize()
    for event in events:
        event.synchronize()
    first = events[0]
    times = [first.elapsed_time(event) for event in events]
    assert times == sorted(times)


def test_an_unfinished_event_has_no_time(device: torch.device) -> None:
    event = torch.Event(device, enable_timing=True)
    other = torch.Event(device, enable_timing=True)
    with pytest.raises((RuntimeError, ValueError), match="recorded"):
        event.elapsed_time(other)
    with pytest.raises((RuntimeError, ValueError), match="enable_timing"):
        torch.Event(device).elapsed_time(other)
    assert event.query()  # as for CUDA: nothing was recorded, nothing is waited for
    event.synchronize()


def test_an_event_can_be_recorded_again(device: torch.device) -> None:
    event = torch.Event(device, enable_timing=True)
    end = torch.Event(device, enable_timing=True)
    event.record()
    event.synchronize()
    x = work(device)
    y = x @ x
    event.record()
    end.record()
    end.synchronize()
    event.synchronize()
    assert event.elapsed_time(end) >= 0 and y.shape == (SIZE, SIZE)


def test_streams_wait_for_events_and_streams(device: torch.device) -> None:
    stream, other = torch.Stream(device), torch.Stream(f"{device.type}:1")
    x = work(device)
    with stream:
        y = x @ x
        event = stream.record_event()
    other.wait_event(event)
    other.wait_stream(stream)
    event.wait(other)
    event.wait()
    assert torch.allclose(y.to(other.device).cpu(), (x @ x).cpu())
    stream.synchronize()
    other.synchronize()
    assert stream.query() and other.query()
    with pytest.raises(RuntimeError, match="device"):
        event.record(other)


def test_waiting_lets_other_threads_run(device: torch.device) -> None:
    x = work(device)
    y = x
    for _ in range(10):
        y = y @ x
    event = torch.Event(device)
    event.record()
    waited: list[bool] = []
    threads = [
        threading.Thread(target=lambda: (event.synchronize(), waited.append(event.query())))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert waited == [True] * 4


def test_a_bad_index_surfaces_at_the_wait_for_an_event(device: torch.device) -> None:
    x = torch.ones(3, device=device)
    x[torch.tensor([7], device=device)]
    event = torch.Event(device)
    event.record()
    with pytest.raises(IndexError, match="7"):
        event.synchronize()
    event.synchronize()


def test_device_module_forms(device: torch.device) -> None:
    module = torch.get_device_module(device)
    start, end = module.Event(enable_timing=True), module.Event(enable_timing=True)
    start.record(module.current_stream())
    x = work(device) @ work(device)
    end.record()
    module.synchronize()
    assert start.elapsed_time(end) > 0 and x.shape == (SIZE, SIZE)
    torch.accelerator.synchronize(device)
    assert module.default_stream().query()


def test_many_events_keep_nothing(device: torch.device) -> None:
    module = torch.get_device_module(device)
    x = torch.ones(1 << 16, device=device)
    module.synchronize()
    held = module.memory_allocated()
    for _ in range(200):
        x = x + 1
        torch.Event(device).record()
    module.synchronize()
    assert module.memory_allocated() == held
    assert x[0].item() == 201


@pytest.mark.parametrize("plugin", ["fastatomstruct-xla-cpu", "lammps-jax-pjrt-cpu"])
def test_other_plugins_too(plugin: str) -> None:
    code = """
        import torch
        x = torch.full((1024, 1024), 1e-3, device="pjrt")
        (x @ x).cpu()
        start, end = (torch.Event("pjrt", enable_timing=True) for _ in range(2))
        start.record()
        y = x
        for _ in range(10):
            y = y @ x
        end.record()
        print(end.query())
        end.synchronize()
        assert start.elapsed_time(end) > 0 and end.query()
    """
    assert output_of(code, TORCH_PJRT_PLUGIN=plugin) in ("True", "False")
