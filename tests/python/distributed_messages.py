"""Messages, handles, objects and groups for device tensors, and errors on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from distributed_collectives import values
from distributed_worker import Rank


def check_messages(r: Rank) -> None:
    left, right = (r.rank - 1) % r.size, (r.rank + 1) % r.size

    def program(device: torch.device) -> list[torch.Tensor]:
        x = values(r, device, torch.float32, 3, 2)
        blocking = torch.zeros(3, 2, device=device)
        if r.rank % 2 == 0:
            dist.send(x, right)
            assert dist.recv(blocking, left) == left
        else:
            assert dist.recv(blocking, left) == left
            dist.send(x, right)
        async_in = torch.zeros(3, 2, device=device)
        works = [dist.isend(x, right, tag=5), dist.irecv(async_in, left, tag=5)]
        [w.wait() for w in works]
        batch_in = torch.zeros(3, 2, device=device)
        ops = [dist.P2POp(dist.isend, x, right), dist.P2POp(dist.irecv, batch_in, left)]
        [w.wait() for w in dist.batch_isend_irecv(ops)]
        return [blocking, async_in, batch_in]

    r.both(program)
    anyone = torch.zeros(1, device=r.device)
    if r.rank == 0:
        seen = {dist.recv(anyone): anyone.item() for _ in range(r.size - 1)}
        assert seen == {i: float(i) for i in range(1, r.size)}
    else:
        dist.send(torch.full((1,), float(r.rank), device=r.device), 0)
    column = torch.zeros(4, 3, device=r.device)
    request = dist.irecv(column[:, 1], left)
    dist.send(torch.full((4,), float(r.rank), device=r.device), right)
    request.wait()
    assert column.tolist() == [[0.0, float(left), 0.0]] * 4


def check_messages_end_in_any_order(r: Rank) -> None:
    """A receive that waits does not hold up another, nor a collective."""
    if r.rank < 2:
        other = 1 - r.rank
        late, early = torch.zeros(2, device=r.device), torch.zeros(2, device=r.device)
        first = dist.irecv(late, other, tag=1)
        second = dist.irecv(early, other, tag=2)
        dist.send(torch.full((2,), 2.0, device=r.device), other, tag=2)
        second.wait()
        assert early.tolist() == [2.0, 2.0] and not first.is_completed()
    x = torch.ones(1, device=r.device)
    dist.all_reduce(x)
    assert x.item() == r.size
    if r.rank < 2:
        dist.send(torch.full((2,), 1.0, device=r.device), other, tag=1)
        first.wait()
        assert late.tolist() == [1.0, 1.0] and first.is_completed()


def check_handles(r: Rank) -> None:
    x = torch.full((1000,), 1.0, device=r.device)
    works = [dist.all_reduce(x, async_op=True) for _ in range(3)]  # each on the one before
    assert all(w.wait() for w in works)
    assert x[0].item() == r.size**3
    assert all(w.is_completed() and w.is_success() for w in works)
    y = torch.full((2,), float(r.rank), device=r.device)
    work = dist.broadcast(y, src=1, async_op=True)
    future = work.get_future().then(lambda f: f.value()[0] * 2)
    assert future.wait().tolist() == [2.0, 2.0]
    assert work.result()[0].tolist() == [1.0, 1.0]
    out = torch.zeros(r.size, device=r.device)
    work = dist.all_gather_into_tensor(out, y[:1], async_op=True)
    work.wait()
    assert out.tolist() == [1.0] * r.size


def check_objects(r: Rank) -> None:
    for group in (None, dist.new_group(backend="pjrt"), dist.new_group(backend="gloo")):
        found: list[object] = [None] * r.size
        dist.all_gather_object(found, {"rank": r.rank}, group=group)
        assert found == [{"rank": i} for i in range(r.size)]
        box = [r.rank, "x" * r.rank]
        dist.broadcast_object_list(box, src=1, group=group)
        assert box == [1, "x"]
        mine: list[object] = [None]
        dist.scatter_object_list(mine, list(range(r.size)) if r.rank == 0 else None, group=group)
        assert mine == [r.rank]


def check_barriers(r: Rank) -> None:
    dist.barrier()
    dist.barrier(device_ids=[r.rank])
    work = dist.barrier(async_op=True)
    work.wait()
    gloo = dist.new_group(backend="gloo")
    x = torch.ones(1, device=r.device)
    dist.all_reduce(x, group=gloo)
    dist.monitored_barrier(gloo)


def check_groups(r: Rank) -> None:
    pairs = [dist.new_group(list(range(i, i + 2))) for i in range(0, r.size, 2)]
    mine = pairs[r.rank // 2]
    x = torch.full((2,), float(r.rank), device=r.device)
    dist.all_reduce(x, group=mine)
    assert x.tolist() == [float(4 * (r.rank // 2) + 1)] * 2
    half, _ = dist.new_subgroups(2)
    y = torch.full((1,), float(r.rank), device=r.device)
    dist.broadcast(y, group=half, group_src=1)
    assert y.item() == 2 * (r.rank // 2) + 1
    alone = dist.new_group([0])
    if r.rank == 0:
        z = torch.ones(1, device=r.device)
        dist.all_reduce(z, group=alone)
        assert z.item() == 1.0
    dist.barrier()
    dist.destroy_process_group(mine)


def _each_backend(r: Rank, run: Callable[[dist.ProcessGroup], None]) -> None:
    for name in ("gloo", "pjrt", f"cpu:gloo,{r.device.type}:pjrt", f"{r.device.type}:pjrt"):
        run(dist.new_group(backend=name))


def check_host_and_device_tensors_by_turns(r: Rank) -> None:
    """In one group, in any order, waited for or not."""

    def run(group: dist.ProcessGroup) -> None:
        xs = [torch.ones(3, device=d) for d in ("cpu", r.device, "cpu", r.device, r.device)]
        dist.all_reduce(xs[1], group=group)
        works = [dist.all_reduce(x, group=group, async_op=True) for x in xs]
        [w.wait() for w in works]
        assert xs[1].tolist() == [float(r.size**2)] * 3
        assert xs[0].tolist() == xs[-1].tolist() == [float(r.size)] * 3

    _each_backend(r, run)
    with pytest.raises(RuntimeError, match="No backend type associated with device type"):
        host_only = dist.new_group(backend="cpu:gloo")
        dist.all_reduce(torch.ones(1, device=r.device), group=host_only)


def check_errors_of_the_computation_reach_the_caller(r: Rank) -> None:
    table = torch.arange(4.0, device=r.device)
    bad = table[torch.tensor([9], device=r.device)] if r.rank == 0 else table[:1]
    if r.rank == 0:
        work = dist.all_reduce(bad, async_op=True)
        with pytest.raises(IndexError, match="out of"):
            work.wait()
        assert work.is_completed() and not work.is_success()
    else:
        work = None
    dist.barrier(group=dist.new_group(backend="gloo"))
    if r.rank == 0:  # the others have not been held up by what never was sent: now it is
        dist.all_reduce(torch.zeros(1, device=r.device))
    else:
        dist.all_reduce(bad)
