"""torch.save and torch.load in every direction, pickling, deepcopy."""

import copy
import io
import pickle
from pathlib import Path

import pytest
import torch
from support import CPU, arange, output_of


def saved(value: object) -> io.BytesIO:
    stream = io.BytesIO()
    torch.save(value, stream)
    stream.seek(0)
    return stream


def first(device: torch.device) -> str:
    """PyTorch does not load to "cpu:0"."""
    return "cpu" if device.type == "cpu" else f"{device.type}:0"


MAPS = {
    "none": lambda d: None,
    "cpu": lambda d: "cpu",
    "name": lambda d: d.type,
    "indexed name": lambda d: first(d),
    "device": lambda d: torch.device(first(d)),
    "dict": lambda d: {"cpu": d.type, f"{d.type}:0": "cpu"},
    "callable": lambda d: lambda storage, location: storage.to(device=d),
    "callable none": lambda d: lambda storage, location: None,
}
# Where a tensor saved on (device, CPU) is afterwards: d the device, c the CPU.
LANDS = {
    "none": "dc",
    "cpu": "cc",
    "name": "dd",
    "indexed name": "dd",
    "device": "dd",
    "dict": "cd",
    "callable": "dd",
    "callable none": "dc",
}


@pytest.mark.parametrize("how", MAPS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_map_location(how: str, weights_only: bool, device: torch.device) -> None:
    stream = saved([arange(device, 3), arange(CPU, 3)])
    back = torch.load(stream, map_location=MAPS[how](device), weights_only=weights_only)
    for tensor, land in zip(back, LANDS[how], strict=True):
        assert tensor.device.type == (device.type if land == "d" else "cpu")
        assert torch.equal(tensor.cpu(), torch.arange(3.0))


@pytest.mark.own_device
def test_map_location_with_an_index(device: torch.device) -> None:
    back = torch.load(saved(arange(device, 3)), map_location=f"{device.type}:1")
    assert back.device == torch.device(device.type, 1)
    again = torch.load(saved(back))
    assert again.device == torch.device(device.type, 1)
    assert torch.equal(again.cpu(), torch.arange(3.0))


@pytest.mark.own_device
def test_an_index_that_does_not_exist_is_refused(device: torch.device) -> None:
    with pytest.raises(RuntimeError, match=f"{device.type.upper()} device 99"):
        torch.load(saved(torch.ones(1)), map_location=f"{device.type}:99")


@pytest.mark.parametrize(
    "name",
    ["float32", "float64", "bfloat16", "float16", "int64", "uint8", "bool", "complex64"],
)
def test_dtypes(name: str, device: torch.device) -> None:
    dtype = getattr(torch, name)
    x = (arange(device, 2, 3) % 2).to(dtype)
    back = torch.load(saved(x))
    assert back.dtype == dtype and back.device.type == device.type
    assert torch.equal(back.cpu(), x.cpu())


def test_views_stay_views(device: torch.device) -> None:
    base = arange(device, 4, 4)
    back = torch.load(saved({"base": base, "row": base[1], "t": base.t()}))
    back["row"].fill_(-1)
    assert torch.equal(back["base"][1].cpu(), torch.full((4,), -1.0))
    assert torch.equal(back["t"][:, 1].cpu(), torch.full((4,), -1.0))
    assert back["t"].stride() == (1, 4)


def test_parameters_modules_and_optimizers(tmp_path: Path, device: torch.device) -> None:
    model = torch.nn.Linear(3, 2).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.ones(1, 3, device=device)).sum().backward()
    optimizer.step()
    path = tmp_path / "checkpoint.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    for where in (device, CPU):
        state = torch.load(path, map_location=where)
        twin = torch.nn.Linear(3, 2).to(where)
        twin.load_state_dict(state["model"])
        driver = torch.optim.AdamW(twin.parameters(), lr=0.1)
        driver.load_state_dict(state["optimizer"])
        twin(torch.ones(1, 3, device=where)).sum().backward()
        driver.step()
        assert twin.weight.device.type == where.type
    whole = torch.load(saved(model), weights_only=False)
    assert torch.equal(whole.weight.cpu(), model.weight.cpu())


def test_saving_twice_and_a_changed_tensor(device: torch.device) -> None:
    x = arange(device, 3)
    first = saved(x)
    x.zero_()
    second = saved(x)
    assert torch.equal(torch.load(first).cpu(), torch.arange(3.0))
    assert torch.equal(torch.load(second).cpu(), torch.zeros(3))


def test_pickle(device: torch.device) -> None:
    x = arange(device, 2, 3).requires_grad_()
    y = pickle.loads(pickle.dumps(x))
    assert y.device.type == device.type and y.requires_grad
    assert torch.equal(y.cpu(), x.cpu())
    assert pickle.loads(pickle.dumps(x.device)) == x.device


def test_deepcopy_of_a_module(device: torch.device) -> None:
    model = torch.nn.Linear(2, 2).to(device)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        model.weight.zero_()
    assert twin.weight.device == model.weight.device
    assert twin.weight.abs().sum().item() > 0


def test_legacy_format(tmp_path: Path, device: torch.device) -> None:
    path = tmp_path / "legacy.pt"
    torch.save(arange(device, 3), path, _use_new_zipfile_serialization=False)
    back = torch.load(path)
    assert back.device.type == device.type and torch.equal(back.cpu(), torch.arange(3.0))


def test_mmap(tmp_path: Path, device: torch.device) -> None:
    path = tmp_path / "weights.pt"
    torch.save({"w": arange(device, 64)}, path)
    back = torch.load(path, mmap=True, map_location="cpu")
    assert torch.equal(back["w"].to(device).cpu(), torch.arange(64.0))


def test_safetensors(tmp_path: Path, device: torch.device) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    path = tmp_path / "weights.safetensors"
    tensors = {"a": arange(device, 2, 3), "b": arange(device, 4).bfloat16()}
    safetensors.save_file(tensors, path)
    # The package knows a fixed list of device names; a number means the accelerator.
    for where, name in ((CPU, "cpu"), (device, "cpu" if device.type == "cpu" else 0)):
        back = safetensors.load_file(path, device=name)
        for key, tensor in tensors.items():
            assert back[key].device.type == where.type
            assert torch.equal(back[key].cpu(), tensor.cpu())


def test_safetensors_of_a_model_with_tied_weights(tmp_path: Path, device: torch.device) -> None:
    safetensors = pytest.importorskip("safetensors.torch")

    def model() -> torch.nn.Module:
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(3, 4))
        net[1].weight = net[0].weight
        return net.to(device)

    path = tmp_path / "model.safetensors"
    saved_model, loaded = model(), model()
    safetensors.save_model(saved_model, path)
    assert len(safetensors.load_file(path)) == 3  # the tied weight once
    assert safetensors.load_model(loaded, path) == (set(), [])
    assert loaded[1].weight is loaded[0].weight
    for a, b in zip(loaded.parameters(), saved_model.parameters(), strict=True):
        assert a.device.type == device.type and torch.equal(a.cpu(), b.cpu())


@pytest.mark.own_device
def test_safetensors_slices_go_to_a_device_by_its_index(
    tmp_path: Path, device: torch.device
) -> None:
    safetensors = pytest.importorskip("safetensors")
    pytest.importorskip("safetensors.torch").save_file(
        {"a": arange(device, 4, 2)}, tmp_path / "a.safetensors"
    )
    with safetensors.safe_open(tmp_path / "a.safetensors", "pt", device=1) as file:
        part = file.get_slice("a")[1:3]
        assert part.device == file.get_tensor("a").device == torch.device(device.type, 1)
        assert part.tolist() == [[2, 3], [4, 5]]


def test_safetensors_sees_shared_memory(tmp_path: Path, device: torch.device) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    base = arange(device, 4, 4)
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save_file({"a": base, "b": base[1:]}, tmp_path / "shared.safetensors")


@pytest.mark.own_device
def test_a_file_of_the_device_loads_without_it(tmp_path: Path, device: torch.device) -> None:
    path = tmp_path / "there.pt"
    torch.save(arange(device, 3), path)
    code = f"""
        import torch
        print(torch.load({str(path)!r}, map_location="cpu").tolist())
        try:
            torch.load({str(path)!r})
        except Exception as error:
            print(type(error).__name__)
    """
    assert output_of(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").splitlines() == [
        "[0.0, 1.0, 2.0]",
        "RuntimeError",
    ]


@pytest.mark.own_device
def test_tensors_go_to_a_spawned_process_as_copies(tmp_path: Path, device: torch.device) -> None:
    path = tmp_path / "queue.py"
    path.write_text(
        "import torch\n"
        "def work(queue):\n"
        f"    queue.put(torch.ones(3, device={device.type!r}).cpu().numpy())\n"
        "if __name__ == '__main__':\n"
        f"    torch.ones(1, device={device.type!r})\n"
        "    context = torch.multiprocessing.get_context('spawn')\n"
        "    queue = context.Queue()\n"
        "    process = context.Process(target=work, args=(queue,))\n"
        "    process.start()\n"
        "    assert queue.get(timeout=90).tolist() == [1, 1, 1]\n"
        "    process.join()\n"
    )
    output_of(f"import runpy; runpy.run_path({str(path)!r}, run_name='__main__')")
