"""Data-parallel training on every device of a machine, with nothing that names the device.

    torchrun --nproc-per-node 2 examples/ddp.py
    python examples/ddp.py    # one process, the same batches whole: the same losses

Each process takes the device that its LOCAL_RANK says and its share of every batch;
DistributedDataParallel averages the gradients.
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 32  # over all processes
STEPS = 12


def spirals(points: int) -> TensorDataset:
    """Two intertwined spirals: coordinates and which of the two, drawn from a fixed seed."""
    generator = torch.Generator().manual_seed(0)
    turn = torch.rand(points, generator=generator) * 6 + 1
    arm = torch.randint(0, 2, (points,), generator=generator)
    angle = turn + arm * torch.pi
    coordinates = torch.stack([turn * angle.cos(), turn * angle.sin()], 1) / 7
    return TensorDataset(coordinates, arm)


def main() -> None:
    device = torch.accelerator.current_accelerator() or torch.device("cpu")
    rank, size = 0, 1
    if "LOCAL_RANK" in os.environ:
        if device.type != "cpu":
            torch.accelerator.set_device_index(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group()
        rank, size = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU())
    model = model.append(nn.Linear(64, 2)).to(device)
    trained = DistributedDataParallel(model) if size > 1 else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    difference = nn.CrossEntropyLoss()

    # Process r takes the points r, r + size, ...: step by step the same points in all.
    data = spirals(BATCH * STEPS)
    share: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(
        data, num_replicas=size, rank=rank, shuffle=False
    )
    for step, (x, arm) in enumerate(DataLoader(data, BATCH // size, sampler=share)):
        optimizer.zero_grad()
        loss = difference(trained(x.to(device)), arm.to(device))
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        if size > 1:
            dist.all_reduce(mean)
        if rank == 0:
            print(f"step {step:2} loss {mean.item() / size:.4f}", flush=True)

    if rank == 0:
        print(f"{size} process(es) on {device.type}")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
