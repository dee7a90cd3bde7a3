"""Copies between host and device, in every dtype, layout and direction."""

import copy

import numpy as np
import pytest
import torch
from support import CPU, arange, check, same_error, strides

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
]
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "sliced": lambda x: x[1:, ::2],
    "expanded": lambda x: x[0].expand(3, -1),
    "column": lambda x: x[:, 1],
    "scalar": lambda x: x[1, 1],
    "empty": lambda x: x[:0],
}


def source(dtype: torch.dtype, where: torch.device = CPU) -> torch.Tensor:
    return (arange(where, 3, 4) % 5).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_round_trip(layout: str, dtype: torch.dtype, device: torch.device) -> None:
    x = LAYOUTS[layout](source(dtype))
    there = x.to(device, copy=True)
    back = there.cpu()
    assert there.device.type == device.type
    assert there.dtype == back.dtype == dtype
    assert strides(there) == strides(x.to("cpu", copy=True))
    assert torch.equal(back, x)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_round_trip_of_float8(dtype: torch.dtype, device: torch.device) -> None:
    x = torch.tensor([0.5, -2, 16]).to(dtype)
    assert torch.equal(x.to(device).cpu().float(), x.float())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_device_layouts_come_back(layout: str, device: torch.device) -> None:
    x = LAYOUTS[layout](source(torch.float32))
    y = LAYOUTS[layout](source(torch.float32, device))
    assert torch.equal(y.cpu(), x)
    assert y.tolist() == x.tolist()


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.bfloat16], ids=str)
def test_cast(dtype: torch.dtype, target: torch.dtype, device: torch.device) -> None:
    check(lambda where: source(dtype, where).to(target), device)
    check(lambda where: source(dtype, where).t().to(target), device)


def test_cast_rounds_and_truncates_as_the_cpu(device: torch.device) -> None:
    values = [0.5, 1.5, -1.5, 2.999, -2.999, 1e-3, 255.0, 65504.0]

    def program(where: torch.device) -> object:
        x = torch.tensor(values, device=where)
        return x.int(), x.long(), x.half(), x.bfloat16(), x.bool(), x.double()

    check(program, device)


def test_to_device_and_dtype_at_once(device: torch.device) -> None:
    x = source(torch.float32).t()
    y = x.to(device, torch.float16)
    assert y.dtype == torch.float16 and y.device.type == device.type
    assert torch.equal(y.to("cpu", torch.float32), x)


def test_to_copies_and_leaves_the_host_alone(device: torch.device) -> None:
    x = torch.ones(1 << 16)
    y = x.to(device, copy=True)
    x.zero_()
    assert y.sum().item() == 1 << 16
    z = y.to("cpu", copy=True)
    y.zero_()
    assert z.sum().item() == 1 << 16


def test_non_blocking_copy_reads_the_source_before_it_changes(device: torch.device) -> None:
    x = torch.ones(1 << 16)
    y = x.to(device, non_blocking=True, copy=True)
    torch.get_device_module(device).synchronize()
    x.zero_()
    assert y.sum().item() == 1 << 16


def test_to_the_same_device_is_the_same_tensor(device: torch.device) -> None:
    x = source(torch.float32, device)
    assert x.to(device) is x
    assert x.to(x.device, torch.float32) is x
    assert x.to(device, copy=True).data_ptr() != x.data_ptr()


@pytest.mark.parametrize("here", ["cpu", "device"])
@pytest.mark.parametrize("there", ["cpu", "device"])
def test_copy_(here: str, there: str, device: torch.device) -> None:
    to = device if there == "device" else CPU
    at = device if here == "device" else CPU
    for layout in ("contiguous", "transposed", "sliced", "column"):
        target = torch.zeros(3, 4, device=to)
        view = LAYOUTS[layout](target)
        values = LAYOUTS[layout](source(torch.int32, at))
        assert view.copy_(values) is view
        wanted = torch.zeros(3, 4)
        LAYOUTS[layout](wanted).copy_(LAYOUTS[layout](source(torch.int32)))
        assert torch.equal(target.cpu(), wanted), layout


def test_copy_broadcasts(device: torch.device) -> None:
    x = torch.zeros(3, 4, device=device)
    x.copy_(torch.arange(4.0))
    assert torch.equal(x.cpu(), torch.arange(4.0).expand(3, 4))


def test_copy_of_a_wrong_shape_is_refused(device: torch.device) -> None:
    def program(where: torch.device) -> None:
        torch.zeros(3, 4, device=where).copy_(torch.zeros(5))

    got, _ = same_error(program, device)
    assert "4" in str(got) and "5" in str(got)


@pytest.mark.parametrize("value", [3, -2.5, True, 1 + 2j])
def test_item(value: complex, device: torch.device) -> None:
    x = torch.tensor(value, device=device)
    got = x.item()
    assert got == value and type(got) is type(value)
    assert torch.tensor([[value]], device=device).item() == value


def test_item_of_many_is_refused(device: torch.device) -> None:
    got, want = same_error(lambda where: torch.ones(2, device=where).item(), device)
    assert str(got) == str(want)


def test_python_numbers_and_conversions(device: torch.device) -> None:
    x = torch.tensor([2.5], device=device)
    assert float(x) == 2.5 and int(x) == 2 and bool(x) and complex(x) == 2.5
    assert bool((x > 1).all())
    assert [1, 2, 3][torch.tensor(1, device=device)] == 2
    assert f"{x.item():.1f}" == "2.5"
    assert np.array_equal(x.cpu().numpy(), np.array([2.5], dtype=np.float32))
    assert torch.equal(torch.from_numpy(np.arange(3)).to(device).cpu(), torch.arange(3))


@pytest.mark.own_device
def test_numpy_needs_the_host(device: torch.device) -> None:
    with pytest.raises(TypeError, match=r"cpu\(\)"):
        torch.ones(1, device=device).numpy()


@pytest.mark.parametrize(
    "make",
    [
        lambda where: torch.tensor([[1.5, -2], [3, 4]], device=where),
        lambda where: torch.arange(3, device=where),
        lambda where: torch.tensor(True, device=where),
        lambda where: torch.ones(0, 3, device=where),
        lambda where: torch.arange(5000.0, device=where),
        lambda where: torch.ones(2, device=where, requires_grad=True) * 2,
        lambda where: torch.tensor([1e-8, 1e8, float("nan")], device=where),
    ],
)
def test_printing(make: object, device: torch.device) -> None:
    text = repr(make(device))
    if device.type != "cpu":
        tag = f"device='{device.type}:0'"
        assert tag in text
        text = text.replace(f", {tag}", "").replace(f"{tag}, ", "")
    assert "".join(text.split()) == "".join(repr(make(CPU)).split())


def test_deepcopy_keeps_sharing(device: torch.device) -> None:
    base = arange(device, 4)
    pair = copy.deepcopy([base, base[1:], base])
    assert pair[0] is pair[2]
    pair[0].zero_()
    assert torch.equal(pair[1].cpu(), torch.zeros(3)), "the copy's view came apart"
    assert torch.equal(base.cpu(), torch.arange(4.0)), "the original changed"
    parameter = torch.nn.Parameter(torch.ones(2, device=device))
    twin = copy.deepcopy(parameter)
    assert isinstance(twin, torch.nn.Parameter) and twin.device == parameter.device


def test_large_copy(device: torch.device) -> None:
    x = torch.arange(1 << 22, dtype=torch.int32)
    assert torch.equal(x.to(device).cpu(), x)


def test_zero_size_and_rank_zero(device: torch.device) -> None:
    for shape in ((0,), (3, 0, 2), ()):
        x = torch.ones(shape)
        assert torch.equal(x.to(device).cpu(), x)
        assert (x.to(device) + 1).shape == x.shape


@pytest.mark.own_device
def test_pinned_memory(device: torch.device) -> None:
    x = torch.arange(8.0).pin_memory()
    assert x.is_pinned()
    assert not torch.arange(8.0).is_pinned()
    assert torch.equal(x.to(device, non_blocking=True).cpu(), torch.arange(8.0))
    assert torch.empty(4, pin_memory=True).is_pinned()


def test_storage_copies(device: torch.device) -> None:
    storage = arange(device, 6).untyped_storage()
    host = storage.cpu()
    assert bytes(host) == bytes(torch.arange(6.0).untyped_storage())
    back = torch.UntypedStorage(storage.nbytes(), device=device)
    back.copy_(host)
    x = torch.empty(0, device=device).set_(back, 0, (6,), (1,))
    assert torch.equal(x.cpu(), torch.arange(6.0))
