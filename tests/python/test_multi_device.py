"""Several devices in one process: the CPU plugins have four."""

import json
import threading

import pytest
import torch
from support import arange, output_of

pytestmark = pytest.mark.own_device


@pytest.fixture
def devices(device: torch.device) -> list[torch.device]:
    count = torch.get_device_module(device).device_count()
    if count < 2:
        pytest.skip("one device only")
    return [torch.device(device.type, i) for i in range(count)]


def test_tensors_live_where_they_were_made(devices: list[torch.device]) -> None:
    for d in devices:
        x = arange(d, 4) + 1
        assert x.device == d and x.sum().device == d
        assert torch.ones_like(x).device == d
        assert x.new_zeros(1).device == d
        assert torch.equal(x.cpu(), torch.arange(4.0) + 1)


def test_copies_between_devices(devices: list[torch.device]) -> None:
    x = arange(devices[0], 3, 4)
    for d in devices[1:]:
        y = x.t().to(d)
        assert y.device == d and y.stride() == x.t().stride()
        assert torch.equal(y.cpu(), x.t().cpu())
        y.zero_()
        back = torch.empty(4, 3, device=devices[0])
        back.copy_(y)
        assert back.sum().item() == 0
    assert torch.equal(x.cpu(), arange(torch.device("cpu"), 3, 4)), "a copy aliased its source"


def test_copy_into_a_view_on_another_device(devices: list[torch.device]) -> None:
    x, y = torch.zeros(4, 4, device=devices[1]), arange(devices[0], 2, 2)
    x[1:3, ::2] = y
    wanted = torch.zeros(4, 4)
    wanted[1:3, ::2] = y.cpu()
    assert torch.equal(x.cpu(), wanted)


def test_operands_on_two_devices_are_refused(devices: list[torch.device]) -> None:
    a, b = torch.ones(2, device=devices[0]), torch.ones(2, device=devices[1])
    for use in (lambda: a + b, lambda: a.add_(b), lambda: torch.cat([a, b]), lambda: a @ b):
        with pytest.raises(RuntimeError, match="same device"):
            use()
    assert (a + b.sum().to(devices[0])).tolist() == [3, 3]


def test_a_cpu_scalar_joins_any_device(devices: list[torch.device]) -> None:
    x = torch.ones(2, device=devices[1])
    assert (x + torch.tensor(2.0)).device == devices[1]
    assert (torch.tensor(2.0) * x).tolist() == [2, 2]


def test_gradients_across_devices(devices: list[torch.device]) -> None:
    w = torch.ones(3, device=devices[0], requires_grad=True)
    loss = (w * 2).to(devices[1]).square().sum()
    loss.backward()
    assert w.grad.device == devices[0]
    assert w.grad.tolist() == [8, 8, 8]


def test_a_model_split_over_devices(devices: list[torch.device]) -> None:
    torch.manual_seed(0)
    first, second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)
    with torch.no_grad():
        wanted = second(first(torch.ones(3, 4)).relu())
    first.to(devices[0])
    second.to(devices[1])
    got = second(first(torch.ones(3, 4, device=devices[0])).relu().to(devices[1]))
    assert got.device == devices[1]
    torch.testing.assert_close(got.cpu(), wanted)


def test_one_program_serves_all_devices(pjrt: object, devices: list[torch.device]) -> None:
    x = torch.ones(37, device=devices[0])
    (x * x + x).cpu()
    before = pjrt.compile_count()
    for d in devices[1:]:
        y = torch.ones(37, device=d)
        assert (y * y + y).sum().item() == 74
    assert pjrt.compile_count() - before <= 1, "each device compiled anew"


def test_each_device_has_its_own_random_numbers(devices: list[torch.device]) -> None:
    torch.manual_seed(5)
    a = torch.rand(8, device=devices[0])
    b = torch.rand(8, device=devices[1])
    torch.manual_seed(5)
    assert torch.equal(torch.rand(8, device=devices[1]).cpu(), b.cpu())
    assert torch.equal(torch.rand(8, device=devices[0]).cpu(), a.cpu())


def test_threads_on_different_devices(devices: list[torch.device]) -> None:
    results: dict[int, float] = {}

    def work(d: torch.device) -> None:
        x = torch.zeros(64, device=d)
        for _ in range(30):
            x.add_(1)
            x = x.clone()
        results[d.index] = x.sum().item()

    threads = [threading.Thread(target=work, args=(d,)) for d in devices]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert results == {d.index: 64.0 * 30 for d in devices}


def test_a_device_that_does_not_exist(devices: list[torch.device]) -> None:
    name = f"{devices[0].type}:{len(devices)}"
    for use in (
        lambda: torch.ones(1, device=name),
        lambda: torch.ones(1).to(name),
        lambda: torch.ones(1, device=devices[0]).to(name),
        lambda: torch.nn.Linear(1, 1).to(name),
    ):
        with pytest.raises((RuntimeError, ValueError), match=str(len(devices))):
            use()
    assert torch.ones(1, device=devices[0]).item() == 1


def test_visible_devices() -> None:
    code = """
        import os, torch
        m = torch.pjrt
        assert m.device_count() == 2 == torch.accelerator.device_count()
        assert [m.get_device_properties(i).id for i in range(2)] == IDS
        x = torch.arange(4.0, device=f"pjrt:{int(os.environ['LOCAL_RANK'])}")
        y = (x.to("pjrt:0") @ torch.ones(4, device="pjrt:0")).item()
        assert m.memory_allocated(1) >= 16 and len(m.default_generators) == 2
        try:
            torch.ones(1, device="pjrt:2")
        except (RuntimeError, ValueError) as error:
            print(x.device, y, "2" in str(error))
    """
    plain = output_of(
        "import torch; print([torch.pjrt.get_device_properties(i).id for i in range(4)])"
    )
    ids = json.loads(plain)
    for setting, chosen in (("1,3", [ids[1], ids[3]]), ("2,0", [ids[2], ids[0]])):
        out = output_of(
            code.replace("IDS", repr(chosen)), TORCH_PJRT_VISIBLE_DEVICES=setting, LOCAL_RANK="1"
        )
        assert out == "pjrt:1 6.0 True"


def test_a_visible_device_that_does_not_exist() -> None:
    code = """
        import torch
        assert torch.ones(2).sum() == 2 and not torch.pjrt.is_available()
        try:
            torch.ones(1, device="pjrt")
        except RuntimeError as error:
            print(error)
    """
    out = output_of(code, TORCH_PJRT_VISIBLE_DEVICES="1,7")
    assert "TORCH_PJRT_VISIBLE_DEVICES=1,7" in out and "4 devices" in out
