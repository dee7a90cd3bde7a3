"""The device under test. `pytest --device cpu` runs the same programs on the CPU: it checks the
tests themselves, and needs no torch_pjrt."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

# Before torch is imported, which reads the environment of torch_pjrt; see support.CACHE.
os.environ["TORCH_PJRT_CACHE_DIR"] = str(
    Path(__file__).resolve().parents[2] / "build" / "test-cache"
)

import opinfo
import pytest
import torch

OWN = "our own"
PROXY = Path(__file__).resolve().parents[2] / "build" / "release" / "libtpjrt_proxy_plugin.so"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default=OWN, help="a torch device; default: torch_pjrt's")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "own_device: makes sense on torch_pjrt's device only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--device") == OWN:
        return
    skip = pytest.mark.skip(reason="needs torch_pjrt's own device")
    for item in items:
        if item.get_closest_marker("own_device"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> torch.device:
    """The device's type, without an index."""
    name = request.config.getoption("--device")
    if name != OWN:
        return torch.device(name)
    import torch_pjrt

    return torch.device(torch_pjrt.device_name())


@pytest.fixture(scope="session")
def pjrt() -> ModuleType:
    """The package; tests that run on the CPU do without."""
    import torch_pjrt

    return torch_pjrt


@pytest.fixture(scope="session")
def proxy_environment() -> dict[str, str]:
    """Environment of a process whose plugin is the counting proxy before the default CPU plugin."""
    from torch_pjrt import _discovery
    from torch_pjrt._config import Config

    proxy = Path(os.environ.get("TPJRT_PROXY_PLUGIN", PROXY))
    assert proxy.is_file(), f"{proxy} is not built: run `make build`"
    target = _discovery.choose(Config(plugin="xla-cpu-pjrt"))
    assert target.path is not None, target.problem
    return {"TORCH_PJRT_PLUGIN": str(proxy), "TPJRT_PROXY_TARGET": str(target.path)}


@pytest.fixture(scope="session")
def opinfo_records(proxy_environment: dict[str, str], device: torch.device) -> list[opinfo.Record]:
    """One run of PyTorch's operator samples on the device, reads counted; takes minutes."""
    proxy = proxy_environment["TORCH_PJRT_PLUGIN"]
    return opinfo.run(device.type, proxy_environment, "--proxy", proxy)


@pytest.fixture
def no_fallback(device: torch.device, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test in which an operator ran on the CPU."""
    if device.type == "cpu":
        yield
        return
    pjrt = request.getfixturevalue("pjrt")
    pjrt.set_fallback("silent")
    yield
    assert pjrt.fallback_counts() == {}


@pytest.fixture(autouse=True)
def fresh_state(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fixed seeds, counters at zero, and every process-wide setting as it was."""
    torch.manual_seed(0)
    if request.config.getoption("--device") != OWN:
        yield
        return
    import torch_pjrt
    from torch_pjrt import device as module

    torch_pjrt.reset_fallback_counts()
    policy, mode = torch_pjrt.fallback(), torch_pjrt.mode()
    yield
    torch_pjrt.set_fallback(policy)
    torch_pjrt.set_mode(mode)
    if module.is_initialized():
        module.set_device(0)
