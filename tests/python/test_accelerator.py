"""torch.accelerator and code that names no device."""

import pytest
import torch
from support import output_of

pytestmark = pytest.mark.own_device
accelerator = torch.accelerator


def test_it_is_the_accelerator(device: torch.device) -> None:
    assert accelerator.current_accelerator() == device
    assert accelerator.current_accelerator(check_available=True) == device
    assert accelerator.is_available()
    assert accelerator.device_count() == torch.get_device_module(device).device_count()


def test_device_index(device: torch.device) -> None:
    assert accelerator.current_device_index() == 0
    accelerator.set_device_index(1)
    assert torch.ones(1, device=device).device.index == 1
    with accelerator.device_index(2):
        assert accelerator.current_device_index() == 2
    assert accelerator.current_device_index() == 1


def test_an_index_that_does_not_exist(device: torch.device) -> None:
    with pytest.raises((RuntimeError, ValueError), match="99"):
        accelerator.set_device_index(99)
    assert accelerator.current_device_index() == 0


def test_streams_and_events(device: torch.device) -> None:
    stream = torch.Stream(device)
    assert stream.device.type == device.type
    with stream:
        assert accelerator.current_stream() == stream
        x = torch.ones(8, device=device) * 2
        event = stream.record_event()
    assert accelerator.current_stream() != stream
    event.synchronize()
    assert event.query()
    accelerator.synchronize()
    assert x.sum().item() == 16
    accelerator.set_stream(stream)
    assert accelerator.current_stream() == stream
    accelerator.set_stream(torch.get_device_module(device).default_stream())
    assert len({torch.Stream(device).stream_id for _ in range(3)}) == 3


def test_memory(device: torch.device) -> None:
    module = torch.get_device_module(device)
    x = torch.ones(1 << 16, device=device) + 1
    accelerator.synchronize()
    assert accelerator.memory_allocated() == module.memory_allocated() >= x.nbytes
    assert accelerator.max_memory_allocated() == module.max_memory_allocated()
    assert accelerator.memory_reserved() == module.memory_reserved()
    stats = accelerator.memory_stats()
    assert stats["allocated_bytes.all.current"] == module.memory_allocated()
    accelerator.reset_peak_memory_stats()
    assert accelerator.max_memory_allocated() == accelerator.memory_allocated()
    accelerator.reset_accumulated_memory_stats()
    accelerator.empty_cache()
    free, total = accelerator.get_memory_info()
    assert 0 < free <= total


def test_capability(device: torch.device) -> None:
    dtypes = accelerator.get_device_capability()["supported_dtypes"]
    assert {torch.float32, torch.bfloat16, torch.int64, torch.bool} <= set(dtypes)


def test_default_device(device: torch.device) -> None:
    try:
        torch.set_default_device(device)
        assert torch.ones(2).device.type == device.type
        assert torch.get_default_device().type == device.type
        assert torch.nn.Linear(2, 2).weight.device.type == device.type
    finally:
        torch.set_default_device(None)
    with device:
        assert torch.arange(3).device.type == device.type
    assert torch.ones(1).device.type == "cpu"


def test_factories_and_like(device: torch.device) -> None:
    x = torch.ones(2, 3, device=device)
    made = [
        torch.zeros(2, device=device),
        torch.full((2,), 3, device=device),
        torch.tensor([1, 2], device=device),
        torch.as_tensor([1.0], device=device),
        torch.asarray([1.0], device=device),
        torch.linspace(0, 1, 5, device=device),
        torch.logspace(0, 1, 5, device=device),
        torch.eye(3, device=device),
        torch.arange(1, 2, 0.25, device=device),
        torch.tril_indices(3, 3, device=device),
        torch.complex(x, x),
        torch.zeros_like(x),
        x.new_tensor([1.0]),
        x.new_empty(2),
        x.new_full((2,), 7),
        torch.scalar_tensor(2, device=device),
        torch.hann_window(4, device=device),
        torch.randint(5, (2,), device=device),
        torch.randperm(4, device=device),
    ]
    assert {t.device.type for t in made} == {device.type}


def test_number_for_a_device_means_the_accelerator(device: torch.device) -> None:
    assert torch.ones(1, device=1).device == torch.device(device.type, 1)
    assert torch.ones(1).to(1).device == torch.device(device.type, 1)


@pytest.mark.parametrize("name", ["tpu", "neuron", "pjrt", "npuish"])
def test_the_device_name_can_be_chosen(name: str) -> None:
    code = f"""
        import torch
        x = torch.ones(3).to("{name}")
        print(x.device, torch.accelerator.current_accelerator(), x.sum().item())
        assert getattr(torch, "{name}").device_count() == 4 and x.is_{name}
    """
    assert output_of(code, TORCH_PJRT_DEVICE_NAME=name) == f"{name}:0 {name} 3.0"
