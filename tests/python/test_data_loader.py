"""DataLoader with workers and pinned memory, and copies that need not block."""

from collections.abc import Iterator

import pytest
import torch
from support import output_of
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

pytestmark = pytest.mark.own_device


class Squares(Dataset):
    """Module level: spawned workers import it."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        return {"x": torch.full((3,), float(index)), "y": index * index}


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(torch.arange(6.0))


@pytest.mark.parametrize("workers", [0, 2])
def test_pinned_batches_reach_the_device(workers: int, device: torch.device) -> None:
    torch.ones(1, device=device)  # in use before the workers start
    loader = DataLoader(
        Squares(),
        batch_size=3,
        pin_memory=True,
        num_workers=workers,
        multiprocessing_context="spawn" if workers else None,
        persistent_workers=workers > 0,
    )
    for _ in range(2):
        xs, ys = [], []
        for batch in loader:
            assert batch["x"].is_pinned() and batch["y"].is_pinned()
            xs.append(batch["x"].to(device, non_blocking=True))
            ys.append(batch["y"].to(device, non_blocking=True))
            batch["x"].fill_(-1)  # the copy read it already
        assert torch.cat(xs)[:, 0].tolist() == list(range(8))
        assert torch.cat(ys).tolist() == [i * i for i in range(8)]


def test_forked_workers_that_only_use_the_cpu() -> None:
    code = """
        import torch
        from torch.utils.data import DataLoader
        torch.ones(1, device="pjrt")
        loader = DataLoader(torch.arange(8.0), num_workers=2, pin_memory=True, batch_size=4,
                            multiprocessing_context="fork")
        batches = list(loader)
        assert all(b.is_pinned() for b in batches)
        print(sum(b.to("pjrt", non_blocking=True).sum().item() for b in batches))
    """
    assert output_of(code, timeout=120) == "28.0"


def test_iterable_data(device: torch.device) -> None:
    loader = DataLoader(Stream(), batch_size=4, pin_memory=True)
    assert [b.to(device).tolist() for b in loader] == [[0, 1, 2, 3], [4, 5]]


def test_a_generator_of_the_host_shuffles(device: torch.device) -> None:
    data = TensorDataset(torch.arange(6.0))
    orders = []
    for _ in range(2):
        loader = DataLoader(data, shuffle=True, generator=torch.Generator().manual_seed(1))
        orders.append([batch.to(device).item() for (batch,) in loader])
    assert orders[0] == orders[1] and sorted(orders[0]) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("pinned", [False, True])
def test_copies_that_need_not_block(pinned: bool, device: torch.device) -> None:
    source = torch.arange(1000.0)
    if pinned:
        source = source.pin_memory()
        assert source.is_pinned() and source[10:].is_pinned() and not source.clone().is_pinned()
    x = source.to(device, non_blocking=True)
    source.zero_()
    assert x.sum().item() == 499500
    target = torch.empty(1000, pin_memory=pinned)
    y = x * 2
    target.copy_(y, non_blocking=True)
    torch.accelerator.synchronize()
    assert target.sum().item() == 999000
    y.copy_(target.fill_(1), non_blocking=True)
    target.fill_(5)
    assert y.sum().item() == 1000
    assert (x + 1).to("cpu", non_blocking=True).sum().item() == 500500


def test_pinning_other_things(device: torch.device) -> None:
    x = torch.ones(2, 3).t().pin_memory()
    assert x.is_pinned() and x.stride() == torch.ones(2, 3).t().pin_memory().stride()
    assert torch.ones(3, pin_memory=True).is_pinned()
    assert torch.empty(0).pin_memory().numel() == 0
    with pytest.raises(RuntimeError, match="pin"):
        torch.ones(3, device=device).pin_memory()
    assert not torch.ones(3, device=device).is_pinned()
    assert torch.ones(4).untyped_storage().pin_memory().is_pinned()
