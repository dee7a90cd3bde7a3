"""DLPack in and out. Others cannot read the device's memory: they get a copy or an error."""

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.own_device


def test_host_arrays_come_in(device: torch.device) -> None:
    for source in (np.arange(6.0), torch.arange(6.0)):
        x = torch.from_dlpack(source, device=device)
        assert x.device.type == device.type and x.tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.asarray(np.arange(3.0), device=device).tolist() == [0, 1, 2]


def test_numpy_gets_a_copy_when_it_asks_for_the_host(device: torch.device) -> None:
    x = torch.arange(6.0, device=device).view(2, 3)
    array = np.from_dlpack(x.t(), device="cpu")
    assert array.tolist() == [[0, 3], [1, 4], [2, 5]]
    x.zero_()
    assert array[0, 1] == 3


def test_the_devices_memory_is_not_given_to_others(device: torch.device) -> None:
    x = torch.arange(3.0, device=device)
    with pytest.raises((RuntimeError, BufferError, ValueError), match="device"):
        np.from_dlpack(x)
    with pytest.raises(TypeError, match="host memory"):
        np.asarray(x)
    # PyTorch compares the type's name with "privateuse1": a tensor of a renamed device goes through
    # a capsule.
    with pytest.raises(ValueError, match=device.type):
        torch.from_dlpack(x)


def test_capsules_share_memory(device: torch.device) -> None:
    x = torch.arange(6.0, device=device).view(2, 3)
    y = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    assert y.device == x.device and torch.equal(y, x)
    assert y.data_ptr() == x.data_ptr()
    y[0, 0] = 9
    x.add_(1)
    assert x.tolist() == y.tolist() == [[10, 2, 3], [4, 5, 6]]
    del x
    assert (y * 2).sum().item() == 60
    transposed = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(y.t()))
    assert torch.equal(transposed.cpu(), y.cpu().t())


def test_a_capsule_of_a_part_of_a_storage_is_refused(device: torch.device) -> None:
    x = torch.arange(6.0, device=device)
    part = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x[2:]))
    with pytest.raises(RuntimeError, match="clone"):
        part.cpu()
    whole = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x[2:].clone()))
    assert whole.tolist() == [2, 3, 4, 5]
