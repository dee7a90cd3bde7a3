"""torch.<device>: everything that libraries ask of a device module."""

import gc
import importlib

import pytest
import torch
from support import output_of

pytestmark = pytest.mark.own_device


@pytest.fixture
def module(device: torch.device) -> object:
    return torch.get_device_module(device)


def test_it_is_registered(module: object, device: torch.device) -> None:
    assert getattr(torch, device.type) is module
    assert torch.get_device_module(f"{device.type}:1") is module
    assert torch.get_device_module() is module
    assert importlib.import_module(f"torch.{device.type}") is module
    for part in ("amp", "memory", "random"):
        assert importlib.import_module(f"torch.{device.type}.{part}") is getattr(module, part)


def test_all_names_exist(module: object) -> None:
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert missing == []
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = module.nonsense


# Names of torch.cuda that do not speak of CUDA and that libraries take from a device module.
ASKED_FOR = """
Event Stream amp can_device_access_peer current_device current_stream default_generators
default_stream device device_count device_of empty_cache get_arch_list get_device_capability
get_device_name get_device_properties get_rng_state get_rng_state_all init initial_seed
ipc_collect is_available is_bf16_supported is_initialized manual_seed manual_seed_all
max_memory_allocated max_memory_reserved mem_get_info memory_allocated memory_reserved memory_stats
memory_summary random reset_accumulated_memory_stats reset_peak_memory_stats seed seed_all
set_device set_rng_state set_rng_state_all set_stream stream synchronize StreamContext _lazy_init
_is_in_bad_fork _exchange_device _maybe_exchange_device _is_compiled _DeviceGuard _get_generator
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", ASKED_FOR)
def test_it_offers_what_torch_cuda_offers(name: str, module: object) -> None:
    assert hasattr(module, name)
    assert hasattr(torch.cuda, name), "not a name of torch.cuda: a mistake in the test"


def test_current_device(pjrt: object, module: object, device: torch.device) -> None:
    assert module.device_count() == pjrt.plugin_info()["device_count"] >= 1
    assert module.current_device() == 0
    with module.device(1):
        assert module.current_device() == 1
        assert torch.ones(1, device=device).device.index == 1
        with module.device(f"{device.type}:2"), module.device(None), module.device(-1):
            assert module.current_device() == 2
    assert module.current_device() == 0
    module.set_device(f"{device.type}:1")
    assert torch.empty(1, device=device.type).get_device() == 1
    module.set_device(torch.device(device.type, 0))
    module.set_device(-1)
    assert module.current_device() == 0
    assert module._exchange_device(1) == 0
    assert module._exchange_device(-1) == 1
    assert module._maybe_exchange_device(0) == 1
    assert module._get_device_index(f"{device.type}:3") == 3


def test_the_current_device_comes_back_after_an_error(module: object) -> None:
    with pytest.raises(KeyError), module.device(1):
        raise KeyError
    assert module.current_device() == 0


def test_device_of(module: object, device: torch.device) -> None:
    x = torch.ones(2, device=f"{device.type}:1")
    with module.device_of(x):
        assert module.current_device() == 1
    with module.device_of(torch.ones(1)):
        assert module.current_device() == 0


@pytest.mark.parametrize("bad", [99, "cuda:0", "cpu", torch.device("meta")])
def test_devices_that_do_not_exist(bad: object, module: object) -> None:
    for use in (module.set_device, module.synchronize, module.get_device_properties):
        with pytest.raises(ValueError, match=r"does not exist|expected a"):
            use(bad)
    with pytest.raises(ValueError, match=r"does not exist|expected a"), module.device(bad):
        pass
    assert module.current_device() == 0


def test_the_current_device_is_each_threads_own(module: object) -> None:
    import threading

    seen: list[int] = []
    module.set_device(1)

    def work() -> None:
        seen.append(module.current_device())
        module.set_device(2)
        seen.append(module.current_device())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0, 2]
    assert module.current_device() == 1


def test_properties(pjrt: object, module: object, device: torch.device) -> None:
    properties = module.get_device_properties(f"{device.type}:1")
    assert properties.index == 1 and properties.name == module.get_device_name(1)
    assert properties.platform == pjrt.plugin_info()["platform"]
    assert properties.total_memory > 1 << 28
    capability = module.get_device_capability()
    assert torch.float32 in capability["supported_dtypes"]
    assert capability["name"] == properties.name


def test_memory_counts_tensors(module: object, device: torch.device) -> None:
    gc.collect()
    module.synchronize()
    before = module.memory_allocated()
    x = torch.ones(1 << 18, device=device)
    y = x + 1
    assert module.memory_allocated() - before >= 2 << 20
    assert module.memory_reserved() == module.memory_allocated()
    module.reset_peak_memory_stats()
    peak = module.max_memory_allocated()
    z = y * 2
    del z
    assert module.max_memory_allocated() - peak >= 1 << 20
    del x, y
    gc.collect()
    assert module.memory_allocated() - before < 1 << 18
    assert module.max_memory_reserved() == module.max_memory_allocated()


def test_memory_is_counted_per_device(module: object, device: torch.device) -> None:
    before = module.memory_allocated(0), module.memory_allocated(1)
    x = torch.zeros(1 << 18, device=f"{device.type}:1") + 1
    assert module.memory_allocated(1) - before[1] >= 1 << 20
    assert module.memory_allocated(0) == before[0]
    del x


def test_views_and_in_place_writes_allocate_nothing(module: object, device: torch.device) -> None:
    x = torch.zeros(1 << 18, device=device)
    x.add_(1)
    module.synchronize()
    before = module.memory_allocated()
    v = x[1:]
    x.add_(1)
    x.mul_(2)
    assert v.numel() == (1 << 18) - 1
    assert module.memory_allocated() - before < 1 << 16


def test_memory_stats(module: object, device: torch.device) -> None:
    module.reset_accumulated_memory_stats()
    x = torch.ones(1024, device=device) + 1
    stats = module.memory_stats()
    assert stats["allocated_bytes.all.current"] == module.memory_allocated()
    assert stats["allocated_bytes.all.peak"] == module.max_memory_allocated()
    assert stats["allocated_bytes.all.allocated"] >= 4096
    assert stats["allocation.all.allocated"] >= 1
    text = module.memory_summary()
    assert f"{device.type}:0" in text and "held now" in text
    free, total = module.mem_get_info()
    assert 0 < free <= total
    module.empty_cache()
    module.ipc_collect()
    assert x.sum().item() == 2048


def test_streams(module: object, device: torch.device) -> None:
    default = module.default_stream()
    assert module.current_stream() == default
    side = module.Stream()
    assert isinstance(side, torch.Stream) and side.device == torch.device(device.type, 0)
    x = torch.ones(4, device=device)
    with module.stream(side):
        assert module.current_stream() == side
        y = x + 1
        event = module.Event()
        event.record()
    assert module.current_stream() == default
    event.wait()
    default.wait_stream(side)
    default.wait_event(event)
    side.synchronize()
    event.synchronize()
    assert event.query() and side.query()
    assert y.sum().item() == 8
    with module.stream(None) as nothing:
        assert nothing is None
    module.set_stream(side)
    assert module.current_stream() == side
    module.set_stream(default)
    x.record_stream(side)


def test_a_stream_of_another_device_changes_the_device(
    module: object, device: torch.device
) -> None:
    other = module.Stream(device=f"{device.type}:1")
    with module.stream(other):
        assert module.current_device() == 1
        assert module.current_stream() == other
    assert module.current_device() == 0


def test_event_times(module: object, device: torch.device) -> None:
    start, end = module.Event(enable_timing=True), module.Event(enable_timing=True)
    start.record()
    x = torch.ones(256, 256, device=device)
    for _ in range(3):
        x = x @ x * 1e-3
    end.record()
    module.synchronize()
    assert 0 < start.elapsed_time(end) < 60_000  # milliseconds


def test_amp(module: object, device: torch.device) -> None:
    assert set(module.get_amp_supported_dtype()) == {torch.bfloat16, torch.float16}
    assert module.is_bf16_supported()
    x = torch.ones(2, 2, device=device)
    with module.amp.autocast(dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
        assert torch.is_autocast_enabled(device.type)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        assert torch.nn.functional.linear(x, x).dtype == torch.bfloat16
        assert (x @ x).softmax(-1).dtype == torch.float32
        assert torch.mm(x, x).dtype == torch.bfloat16
    with module.amp.autocast(enabled=False):
        assert (x @ x).dtype == torch.float32
    assert module.amp.GradScaler()._device == device.type


@pytest.mark.parametrize("overflow", [False, True])
def test_grad_scaler(overflow: bool, module: object, device: torch.device) -> None:
    weight = torch.nn.Parameter(torch.ones(3, device=device))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.amp.GradScaler(device.type, init_scale=8.0, growth_interval=1)
    loss = weight.sum() * (float("inf") if overflow else 1.0)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == ([1, 1, 1] if overflow else [0.5, 0.5, 0.5])
    assert scaler.get_scale() == (4.0 if overflow else 16.0)


def test_generated_methods(module: object, device: torch.device) -> None:
    name = device.type
    x = getattr(torch.ones(2), name)()
    assert getattr(x, f"is_{name}") and x.device.index == 0
    assert getattr(torch.ones(2), name)(1).device.index == 1
    assert not getattr(torch.ones(2), f"is_{name}")
    assert getattr(torch.nn.Linear(2, 2), name)().weight.device.type == name
    assert getattr(x.untyped_storage(), f"is_{name}")
    assert getattr(torch.ones(2).untyped_storage(), name)().device.type == name


def test_fallback_counters(pjrt: object, module: object) -> None:
    assert module._fallback_count() == pjrt._fallback_count() == 0
    assert module._fallback_counts() == pjrt.fallback_counts() == {}


def test_nothing_is_opened_by_asking() -> None:
    code = """
        import torch, torch_pjrt
        from torch_pjrt import _C
        m = torch.pjrt
        assert m.is_available() and m.device_count() == 4 and not m.is_initialized()
        m.memory_allocated(); m.memory_stats(); m.memory_summary(); m.empty_cache()
        m.synchronize(); m.current_device(); m.reset_peak_memory_stats()
        torch.manual_seed(3); m.manual_seed_all(4); m.get_rng_state(); m.default_generators
        torch.accelerator.current_accelerator(); torch.accelerator.is_available()
        torch.accelerator.device_count()
        with torch.random.fork_rng(): pass
        assert not _C.is_open() and not m.is_initialized()
        m.init()
        assert _C.is_open() and m.is_initialized()
    """
    output_of(code)


def test_device_count_setting() -> None:
    code = 'import torch; torch.ones(1, device="pjrt:5"); print(torch.pjrt.device_count())'
    assert output_of(code, TORCH_PJRT_DEVICE_COUNT="6") == "6"
