"""Data parallel training on the device gives what it gives on the host."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.distributed as dist
from distributed_worker import Rank
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def compare(r: Rank, program: Callable[[torch.device], object]) -> None:
    r.both(program, **CLOSE)


def net(device: torch.device) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16), nn.Linear(16, 3)
    ).to(device)


def sharded_net(device: torch.device) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5), nn.Linear(5, 3)).to(device)


def batches(r: Rank, device: torch.device, steps: int = 3) -> Iterator[torch.Tensor]:
    generator = torch.Generator().manual_seed(10 + r.rank)
    for _ in range(steps):
        yield torch.randn(4, 8, generator=generator).to(device)


def state(module: nn.Module) -> list[torch.Tensor]:
    return [t.detach() for t in module.state_dict().values()]


def wrap(r: Rank, module: nn.Module, device: torch.device, **options: object) -> nn.Module:
    ids = None if device.type == "cpu" else [r.rank]
    return DistributedDataParallel(module, device_ids=ids, **options)


def train(r: Rank, module: nn.Module, device: torch.device, **sgd: object) -> list[torch.Tensor]:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9, **sgd)
    losses = []
    for x in batches(r, device):
        optimizer.zero_grad()
        loss = module(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def check_ddp(r: Rank) -> None:
    """Buckets, buffers that rank 0 owns, gradients as views of the buckets."""
    for options in (
        {},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.001},
        {"static_graph": True},
        {"broadcast_buffers": False},
    ):

        def program(device: torch.device, options=options) -> list[torch.Tensor]:
            module = wrap(r, net(device), device, **options)
            return [*train(r, module, device), *state(module)]

        compare(r, program)


def check_ddp_starts_from_rank_0(r: Rank) -> None:
    torch.manual_seed(r.rank)
    module = nn.Linear(3, 2).to(r.device)
    ddp = DistributedDataParallel(module)
    every = [None] * r.size
    dist.all_gather_object(every, [p.tolist() for p in ddp.parameters()])
    assert all(e == every[0] for e in every)


def check_ddp_equals_one_process(r: Rank) -> None:
    """The mean over the ranks of the gradients of equal parts is the gradient of the whole."""
    torch.manual_seed(0)
    x = torch.randn(4 * r.size, 8)
    whole = nn.Linear(8, 3)
    ddp = DistributedDataParallel(copy.deepcopy(whole).to(r.device))
    whole(x).square().mean().backward()
    ddp(x.chunk(r.size)[r.rank].to(r.device)).square().mean().backward()
    for a, b in zip(ddp.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad)


def check_gradient_accumulation(r: Rank) -> None:
    def program(device: torch.device) -> list[torch.Tensor]:
        module = wrap(r, net(device), device)
        grads = []
        for i, x in enumerate(batches(r, device, 4)):
            last = i % 2 == 1
            with contextlib.nullcontext() if last else module.no_sync():
                module(x).square().mean().backward()
            grads.append(module.module[0].weight.grad.clone())
        return grads

    compare(r, program)


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.used, self.unused, self.one = nn.Linear(8, 3), nn.Linear(8, 3), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor, one: bool) -> torch.Tensor:
        return self.used(x) + (self.one(x) if one else 0)


def check_unused_parameters(r: Rank) -> None:
    def program(device: torch.device) -> list[torch.Tensor]:
        module = wrap(r, Branches().to(device), device, find_unused_parameters=True)
        for x in batches(r, device, 2):
            module(x, r.rank == 0).square().mean().backward()
        assert module.module.unused.weight.grad is None
        return [p.grad for n, p in module.named_parameters() if "unused" not in n]

    compare(r, program)


def check_communication_hooks(r: Rank) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    def in_bfloat16(group, bucket):  # PyTorch compares annotations with types, not with strings
        # By its own name PyTorch wants CUDA for it, for a module on the CPU too.
        return default_hooks.bf16_compress_hook(group, bucket)

    for hook in (default_hooks.allreduce_hook, default_hooks.fp16_compress_hook, in_bfloat16):

        def program(device: torch.device, hook=hook) -> list[torch.Tensor]:
            module = wrap(r, nn.Sequential(nn.Linear(8, 3)).to(device), device)
            module.register_comm_hook(None, hook)
            for x in batches(r, device, 1):
                module(x.round()).sum().backward()  # whole numbers: exact in 16 bits
            return [p.grad for p in module.parameters()]

        r.both(program)


def check_sync_batch_norm(r: Rank) -> None:
    """Its operators have neither a lowering nor a CPU kernel; the README says so."""
    module = nn.SyncBatchNorm.convert_sync_batchnorm(net(r.device))
    with pytest.raises(NotImplementedError, match="batch_norm"):
        wrap(r, module, r.device)(next(batches(r, r.device)))


def check_zero_redundancy_optimizer(r: Rank) -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    def program(device: torch.device) -> list[torch.Tensor]:
        module = wrap(r, sharded_net(device), device)
        optimizer = ZeroRedundancyOptimizer(
            module.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9
        )
        for x in batches(r, device):
            optimizer.zero_grad()
            module(x).square().mean().backward()
            optimizer.step()
        optimizer.consolidate_state_dict(to=0)
        return state(module)

    compare(r, program)


def check_distributed_sampler(r: Rank) -> None:
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    data = TensorDataset(torch.arange(16.0)[:, None].repeat(1, 8))

    def program(device: torch.device) -> list[torch.Tensor]:
        sampler = DistributedSampler(data, shuffle=True, seed=3)
        module = wrap(r, nn.Linear(8, 1).to(device), device)
        with torch.no_grad():
            [p.fill_(0.1) for p in module.parameters()]
        sampler.set_epoch(1)
        losses = []
        for (x,) in DataLoader(data, batch_size=2, sampler=sampler):
            losses.append(module(x.to(device)).mean().detach())
        return losses

    compare(r, program)


def check_join_uneven_inputs(r: Rank) -> None:
    module = DistributedDataParallel(nn.Linear(8, 3).to(r.device))
    seen = 0
    with module.join():
        for x in batches(r, r.device, 1 + r.rank):
            module(x).sum().backward()
            seen += 1
    assert seen == 1 + r.rank


def check_clipping_and_scaler(r: Rank) -> None:
    def program(device: torch.device) -> list[torch.Tensor]:
        module = wrap(r, net(device), device)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        norms = []
        for x in batches(r, device):
            optimizer.zero_grad()
            module(x).square().sum().backward()
            norms.append(nn.utils.clip_grad_norm_(module.parameters(), 1.0))
            optimizer.step()
        return [*norms, *state(module)]

    compare(r, program)


def check_post_local_sgd(r: Rank) -> None:
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from torch.distributed.optim import PostLocalSGDOptimizer

    def program(device: torch.device) -> list[torch.Tensor]:
        module = net(device)
        optimizer = PostLocalSGDOptimizer(
            torch.optim.SGD(module.parameters(), lr=0.1),
            PeriodicModelAverager(period=2, warmup_steps=0),
        )
        for x in batches(r, device, 4):
            optimizer.zero_grad()
            module(x).square().mean().backward()
            optimizer.step()
        return [p.detach() for p in module.parameters()]

    compare(r, program)
