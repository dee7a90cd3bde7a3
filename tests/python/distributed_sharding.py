"""Sharded, tensor and pipeline parallel training on the device gives what it gives on the host."""

from __future__ import annotations

import torch
import torch.distributed as dist
from distributed_training import batches, compare, sharded_net, train, wrap
from distributed_worker import Rank
from torch import nn


def check_device_mesh(r: Rank) -> None:
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh(r.device.type, (r.size // 2, 2), mesh_dim_names=("dp", "tp"))
    assert mesh["tp"].get_local_rank() == r.rank % 2
    x = torch.full((2,), float(r.rank), device=r.device)
    dist.all_reduce(x, group=mesh.get_group("tp"))
    assert x.tolist() == [float(r.rank // 2 * 4 + 1)] * 2
    assert torch.accelerator.current_device_index() == r.rank  # as LOCAL_RANK said
    one = init_device_mesh(r.device.type, (r.size,))
    assert one.size() == r.size and one.device_type == r.device.type


def check_dtensor(r: Rank) -> None:
    from torch.distributed import tensor as dtensor
    from torch.distributed.device_mesh import init_device_mesh

    def program(device: torch.device) -> list[torch.Tensor]:
        mesh = init_device_mesh(device.type, (r.size,))
        torch.manual_seed(4)
        a, b = torch.randn(6, 8).to(device), torch.randn(8, 5).to(device)  # 5, 6: uneven parts
        rows = dtensor.distribute_tensor(a, mesh, [dtensor.Shard(0)]).requires_grad_()
        columns = dtensor.distribute_tensor(a, mesh, [dtensor.Shard(1)])
        other = dtensor.distribute_tensor(b, mesh, [dtensor.Shard(0)])
        everywhere = dtensor.distribute_tensor(b, mesh, [dtensor.Replicate()])
        product = rows @ everywhere
        partial = columns @ other
        assert partial.placements[0].is_partial()
        (product.relu() + partial.redistribute(mesh, [dtensor.Shard(0)])).sum().backward()
        moved = rows.redistribute(mesh, [dtensor.Shard(1)])  # all_to_all
        return [
            product.full_tensor().detach(),
            partial.full_tensor(),
            moved.full_tensor().detach(),
            moved.to_local().detach(),
            rows.grad.full_tensor(),
            rows.softmax(0).full_tensor().detach(),
            rows.sum(0).full_tensor().detach(),
            dtensor.ones(4, 3, device_mesh=mesh, placements=[dtensor.Shard(0)]).full_tensor(),
        ]

    compare(r, program)
    mesh = init_device_mesh(r.device.type, (r.size,))
    drawn = dtensor.rand(4, 3, device_mesh=mesh, placements=[dtensor.Shard(0)]).full_tensor()
    assert drawn.unique().numel() == 12  # every rank has drawn its own part
    everywhere = dtensor.rand(4, device_mesh=mesh, placements=[dtensor.Replicate()]).to_local()
    parts = [torch.zeros_like(everywhere) for _ in range(r.size)]
    dist.all_gather(parts, everywhere)
    assert all(torch.equal(p.cpu(), parts[0].cpu()) for p in parts)


def check_fully_shard(r: Rank) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, fully_shard

    def program(device: torch.device) -> list[torch.Tensor]:
        mesh = init_device_mesh(device.type, (r.size,))
        module = sharded_net(device)
        for layer in module:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(module, mesh=mesh)
        assert isinstance(module, FSDPModule)
        losses = train(r, module, device)
        return [*losses, *(p.full_tensor().detach() for p in module.parameters())]

    compare(r, program)


def check_fully_shard_mixed_precision_and_accumulation(r: Rank) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    def program(device: torch.device) -> list[torch.Tensor]:
        mesh = init_device_mesh(device.type, (r.size,))
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        module = fully_shard(nn.Linear(8, 4).to(device), mesh=mesh, mp_policy=policy)
        with torch.no_grad():
            [p.copy_(torch.ones_like(p)) for p in module.parameters()]
        for i, x in enumerate(batches(r, device, 2)):
            module.set_requires_gradient_sync(i == 1)
            module(x.round()).sum().backward()
        return [p.grad.full_tensor() for p in module.parameters()]

    compare(r, program)


def check_fully_shard_one_rank(r: Rank) -> None:
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    def program(device: torch.device) -> list[torch.Tensor]:
        group = [dist.new_group([i]) for i in range(r.size)][r.rank]
        mesh = DeviceMesh.from_group(group, device.type)
        module = fully_shard(sharded_net(device), mesh=mesh)
        return [*train(r, module, device), *(p.full_tensor().detach() for p in module.parameters())]

    compare(r, program)


def check_hybrid_sharding(r: Rank) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    def program(device: torch.device) -> list[torch.Tensor]:
        shape = (2, r.size // 2)
        mesh = init_device_mesh(device.type, shape, mesh_dim_names=("replicate", "shard"))
        module = fully_shard(sharded_net(device), mesh=mesh)
        return [*train(r, module, device), *(p.full_tensor().detach() for p in module.parameters())]

    compare(r, program)


def check_fsdp_1(r: Rank) -> None:
    """PyTorch does not let it train on the CPU where there is an accelerator: against DDP."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    def program(device: torch.device) -> list[torch.Tensor]:
        if device.type == "cpu":
            return train(r, wrap(r, sharded_net(device), device), device)
        return train(r, FullyShardedDataParallel(sharded_net(device), device_id=device), device)

    compare(r, program)


def check_tensor_parallel(r: Rank) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    def program(device: torch.device) -> list[torch.Tensor]:
        mesh = init_device_mesh(device.type, (r.size,))
        torch.manual_seed(1)
        module = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8), nn.LayerNorm(8))
        module.to(device)
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        parallelize_module(module, mesh, plan)
        # One by one: PyTorch's list operators refuse sharded and plain parameters in one list.
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9, foreach=False)
        torch.manual_seed(5)
        x = torch.randn(4, 8).to(device)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = (module(x) - 1).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        weight = module[0].weight
        return [*losses, weight.full_tensor().detach(), weight.grad.full_tensor()]

    compare(r, program)


def check_two_dimensions(r: Rank) -> None:
    """fully_shard over tensor-parallel layers."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    def program(device: torch.device) -> list[torch.Tensor]:
        mesh = init_device_mesh(device.type, (r.size // 2, 2), mesh_dim_names=("dp", "tp"))
        torch.manual_seed(1)
        module = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)).to(device)
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        parallelize_module(module, mesh["tp"], plan)
        fully_shard(module, mesh=mesh["dp"])
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        losses = []
        generator = torch.Generator().manual_seed(r.rank // 2)
        for _ in range(2):
            optimizer.zero_grad()
            loss = module(torch.randn(4, 8, generator=generator).to(device)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses

    compare(r, program)


def check_checkpoints(r: Rank) -> None:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    def built() -> tuple[nn.Module, torch.optim.Optimizer]:
        module = fully_shard(sharded_net(r.device), mesh=init_device_mesh(r.device.type, (r.size,)))
        return module, torch.optim.AdamW(module.parameters(), lr=0.01)

    def step(module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        module(next(batches(r, r.device))).square().mean().backward()
        optimizer.step()

    folder = r.folder / "checkpoint"
    module, optimizer = built()
    step(module, optimizer)
    weights, moments = get_state_dict(module, optimizer)
    dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=folder)
    step(module, optimizer)
    again, again_optimizer = built()
    weights, moments = get_state_dict(again, again_optimizer)
    loaded = {"model": weights, "optimizer": moments}
    dcp.load(loaded, checkpoint_id=folder)
    set_state_dict(
        again,
        again_optimizer,
        model_state_dict=loaded["model"],
        optim_state_dict=loaded["optimizer"],
    )
    step(again, again_optimizer)
    for a, b in zip(again.parameters(), module.parameters(), strict=True):
        assert a.device == r.device
        assert torch.equal(a.full_tensor().cpu(), b.full_tensor().cpu())
    plain = {"x": torch.full((2,), 3.0, device=r.device)}
    dcp.save(plain, checkpoint_id=r.folder / "plain")
    plain["x"].zero_()
    dcp.load(plain, checkpoint_id=r.folder / "plain")
    assert plain["x"].tolist() == [3.0, 3.0]
    dcp.async_save(plain, checkpoint_id=r.folder / "later").result()


def check_pipeline(r: Rank) -> None:
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    def program(device: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(3)
        layers = [nn.Linear(8, 8) for _ in range(r.size)]
        layer = layers[r.rank].to(device)
        stage = PipelineStage(layer, r.rank, r.size, device)
        schedule = ScheduleGPipe(stage, 2, loss_fn=lambda out, want: (out - want).square().mean())
        x = torch.arange(32.0).reshape(4, 8).to(device) / 32
        losses: list[torch.Tensor] = []
        if r.rank == 0:
            schedule.step(x)
        elif r.rank == r.size - 1:
            schedule.step(target=x, losses=losses)
        else:
            schedule.step()
        return [layer.weight.grad, *(loss.detach() for loss in losses)]

    compare(r, program)
