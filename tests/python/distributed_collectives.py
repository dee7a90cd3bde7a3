"""Every collective and message on device tensors gives what Gloo gives on the host's."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from distributed_worker import Rank
from torch.distributed import ReduceOp

DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int32,
    torch.int64,
)
MOVED = (*DTYPES, torch.bool, torch.int16, torch.complex64)


def values(r: Rank, device: torch.device, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Another tensor on every rank, the same on every device."""
    generator = torch.Generator().manual_seed(r.rank)
    made = torch.randint(0, 5, shape, generator=generator).to(dtype)
    return (made / 2).to(device) if dtype.is_floating_point else made.to(device)


def check_all_reduce(r: Rank) -> None:
    ops = (ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX)
    for op, dtype in itertools.product(ops, DTYPES):

        def program(device: torch.device, op=op, dtype=dtype) -> torch.Tensor:
            x = values(r, device, dtype, 3, 4)
            assert dist.all_reduce(x, op) is None
            return x

        r.both(program)


def check_bitwise_reductions(r: Rank) -> None:
    for op, dtype in itertools.product(
        (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR), (torch.int32, torch.int64, torch.uint8)
    ):

        def program(device: torch.device, op=op, dtype=dtype) -> torch.Tensor:
            x = values(r, device, dtype, 7)
            dist.all_reduce(x, op)
            return x

        r.both(program)


def check_reductions_that_gloo_lacks(r: Rank) -> None:
    """As NCCL has them: averages, a factor before the sum, truth values, 16-bit integers."""
    total = sum(range(1, r.size + 1))
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        x = torch.full((3,), r.rank + 1, dtype=dtype, device=r.device)
        dist.all_reduce(x, ReduceOp.AVG)
        want = total // r.size if dtype == torch.int64 else total / r.size
        assert x.tolist() == [want] * 3, (dtype, x)
    x = torch.full((3,), r.rank + 1.0, device=r.device)
    dist.all_reduce(x, dist._make_nccl_premul_sum(0.5))
    assert x.tolist() == [total / 2] * 3
    dist.all_reduce(x, dist._make_nccl_premul_sum(torch.tensor([2.0], device=r.device)))
    assert x.tolist() == [total * r.size] * 3
    some = torch.tensor([r.rank == 0, True, False])
    for op, want in (
        (ReduceOp.SUM, [True, True, False]),
        (ReduceOp.MAX, [True, True, False]),
        (ReduceOp.PRODUCT, [False, True, False]),
        (ReduceOp.MIN, [False, True, False]),
        (ReduceOp.BXOR, [True, r.size % 2 == 1, False]),
    ):
        b = some.to(r.device)
        dist.all_reduce(b, op)
        assert b.tolist() == want and b.dtype == torch.bool
    with pytest.raises(TypeError, match="bool tensors have no average"):
        dist.all_reduce(some.to(r.device), ReduceOp.AVG)
    short = torch.full((2,), 20000 + r.rank, dtype=torch.int16, device=r.device)
    dist.all_reduce(short, ReduceOp.MAX)
    assert short.tolist() == [20000 + r.size - 1] * 2
    c = torch.full((2,), 1 + 2j, device=r.device)
    dist.all_reduce(c)
    assert c.tolist() == [r.size * (1 + 2j)] * 2


def check_results_are_written_in_place(r: Rank) -> None:
    """Through views of any layout, into every alias, without a step of the version counter."""

    def program(device: torch.device) -> list[torch.Tensor]:
        base = values(r, device, torch.float32, 4, 6)
        alias = base.view(24)
        row = base[1]
        before = base._version
        dist.all_reduce(row)
        dist.broadcast(base[2:], src=r.size - 1)
        assert base._version == before
        return [base, alias, row]

    r.both(program)
    base = torch.zeros(4, 6, device=r.device)
    for view in (base.t(), base[:, ::2], base[1::2, 3]):  # Gloo takes no such tensors
        base.copy_(torch.full((4, 6), r.rank + 1.0))
        want = torch.full((4, 6), r.rank + 1.0)
        other = want.as_strided(view.shape, view.stride(), view.storage_offset())
        other.fill_(sum(range(1, r.size + 1)))
        dist.all_reduce(view)
        assert torch.equal(base.cpu(), want)
    leaf = torch.nn.Parameter(torch.full((3,), float(r.rank), device=r.device))
    dist.broadcast(leaf, src=0)
    assert leaf.tolist() == [0.0] * 3 and leaf.is_leaf and leaf.requires_grad
    with torch.inference_mode():
        x = torch.full((2,), float(r.rank), device=r.device)
        dist.all_reduce(x, ReduceOp.MAX)
        assert x.tolist() == [r.size - 1.0] * 2
    empty, scalar = torch.empty(0, device=r.device), torch.tensor(1.0, device=r.device)
    dist.all_reduce(empty)
    dist.all_reduce(scalar)
    assert empty.shape == (0,) and scalar.item() == r.size


def check_broadcast_and_reduce(r: Rank) -> None:
    for root, dtype in itertools.product(range(r.size), MOVED):
        x = values(r, r.device, dtype, 2, 3)
        y = values(r, torch.device("cpu"), dtype, 2, 3)
        all_of = [torch.empty_like(y).contiguous() for _ in range(r.size)]
        dist.all_gather_object(all_of, y)
        dist.broadcast(x, src=root)
        assert torch.equal(x.cpu(), all_of[root]), dtype
    for root in (0, r.size - 1):
        x = values(r, r.device, torch.float32, 5)
        mine = x.cpu()
        y = mine.clone()
        dist.reduce(x, dst=root)
        dist.reduce(y, dst=root)
        assert torch.equal(x.cpu(), y if r.rank == root else mine)


def check_all_gather(r: Rank) -> None:
    for dtype in (torch.float32, torch.int64, torch.bfloat16, torch.uint8):

        def program(device: torch.device, dtype=dtype) -> list[torch.Tensor]:
            x = values(r, device, dtype, 2, 3)
            parts = [torch.zeros_like(x) for _ in range(r.size)]
            dist.all_gather(parts, x)
            whole = torch.zeros(2 * r.size, 3, dtype=dtype, device=device)
            dist.all_gather_into_tensor(whole, x)
            return [*parts, whole]

        r.both(program)
    stacked = torch.zeros(r.size, 2, device=r.device)  # as NCCL; Gloo only joins
    dist.all_gather_into_tensor(stacked, torch.full((2,), float(r.rank), device=r.device))
    assert stacked.tolist() == [[float(i)] * 2 for i in range(r.size)]
    uneven = [torch.zeros(i + 1, device=r.device) for i in range(r.size)]
    dist.all_gather(uneven, torch.full((r.rank + 1,), float(r.rank), device=r.device))
    assert [u.tolist() for u in uneven] == [[float(i)] * (i + 1) for i in range(r.size)]
    with pytest.raises(ValueError, match="does not consist of"):
        dist.all_gather_into_tensor(
            torch.zeros(3, device=r.device), torch.zeros(3 * r.size, device=r.device)
        )


def check_gather_and_scatter(r: Rank) -> None:
    def program(device: torch.device) -> list[torch.Tensor]:
        x = values(r, device, torch.float32, 3)
        root = r.size - 1
        parts = [torch.zeros_like(x) for _ in range(r.size)] if r.rank == root else None
        dist.gather(x, parts, dst=root)
        out = torch.zeros(3, device=device)
        dist.scatter(out, [p + 1 for p in parts] if parts else None, src=root)
        return [*(parts or []), out]

    r.both(program)


def check_reduce_scatter(r: Rank) -> None:
    for op in (ReduceOp.SUM, ReduceOp.MAX):

        def program(device: torch.device, op=op) -> list[torch.Tensor]:
            whole = values(r, device, torch.float32, 2 * r.size, 3)
            before = whole.clone()
            out = torch.zeros(2, 3, device=device)
            dist.reduce_scatter_tensor(out, whole, op)
            listed = torch.zeros(2, 3, device=device)
            dist.reduce_scatter(listed, [c.clone() for c in before.chunk(r.size)], op)
            return [out, listed]

        r.both(program)
    whole = torch.arange(2.0 * r.size, device=r.device)
    out = torch.zeros(2, device=r.device)
    dist.reduce_scatter_tensor(out, whole, ReduceOp.AVG)
    assert out.tolist() == [2.0 * r.rank, 2.0 * r.rank + 1]
    assert whole.tolist() == list(range(2 * r.size))
    uneven = [torch.ones(i + 1, device=r.device) for i in range(r.size)]
    mine = torch.zeros(r.rank + 1, device=r.device)
    dist.reduce_scatter(mine, uneven)
    assert mine.tolist() == [float(r.size)] * (r.rank + 1)


def check_all_to_all(r: Rank) -> None:
    def single(device: torch.device) -> list[torch.Tensor]:
        x = values(r, device, torch.float32, 2 * r.size, 3)
        even = torch.zeros_like(x)
        dist.all_to_all_single(even, x)
        sent = torch.full((r.size * (r.rank + 1), 2), float(r.rank), device=device)
        to = [r.rank + 1] * r.size
        sizes = [i + 1 for i in range(r.size)]
        received = torch.zeros(sum(sizes), 2, device=device)
        dist.all_to_all_single(received, sent, sizes, to)
        return [even, received]

    r.both(single)
    inputs = [torch.full((i + 1,), 10 * r.rank + i, device=r.device) for i in range(r.size)]
    outputs = [torch.zeros(r.rank + 1, dtype=torch.int64, device=r.device) for _ in range(r.size)]
    dist.all_to_all(outputs, inputs)
    assert [o.tolist() for o in outputs] == [
        [10 * i + r.rank] * (r.rank + 1) for i in range(r.size)
    ]


def check_coalesced(r: Rank) -> None:
    def program(device: torch.device) -> list[torch.Tensor]:
        xs = [values(r, device, torch.float32, n) for n in (2, 3)]
        with dist.distributed_c10d._coalescing_manager():
            for x in xs:
                dist.all_reduce(x)
        outs = [torch.zeros(2 * r.size, device=device) for _ in range(2)]
        with dist.distributed_c10d._coalescing_manager(async_ops=True) as manager:
            for out in outs:
                dist.all_gather_into_tensor(out, xs[0])
        manager.wait()
        parts = [torch.zeros(2, device=device) for _ in range(2)]
        with dist.distributed_c10d._coalescing_manager():
            for out, part in zip(outs, parts, strict=True):
                dist.reduce_scatter_tensor(part, out)
        return [*xs, *outs, *parts]

    r.both(program)
    x, y = torch.ones(2, device=r.device), torch.full((1,), float(r.rank), device=r.device)
    with dist.distributed_c10d._coalescing_manager(device=r.device):
        dist.all_reduce(x)
        dist.broadcast(y, src=1)
    assert x.tolist() == [float(r.size)] * 2 and y.item() == 1.0


def check_functional_collectives(r: Rank) -> None:
    group = dist.group.WORLD

    def program(device: torch.device) -> list[torch.Tensor]:
        x = values(r, device, torch.float32, 2 * r.size, 3)
        return [
            funcol.all_reduce(x, "sum", group) + 1,
            funcol.all_gather_tensor(x, 0, group) + 1,
            funcol.all_gather_tensor(x, 1, group) + 1,
            funcol.reduce_scatter_tensor(x, "sum", 0, group) + 1,
            funcol.broadcast(x, 1, group) + 1,
            funcol.all_to_all_single(x, None, None, group) + 1,
            *(t + 1 for t in funcol.all_reduce_coalesced([x, x + 1], "max", group)),
            *(t + 1 for t in funcol.all_gather_into_tensor_coalesced([x, x + 1], group)),
            *(
                t + 1
                for t in funcol.reduce_scatter_tensor_coalesced([x, x + 1], "sum", [0, 0], group)
            ),
        ]

    r.both(program)
    x = torch.full((2,), r.rank + 1.0, device=r.device)
    average = funcol.all_reduce(x, "avg", group) * 1
    assert average.tolist() == [(r.size + 1) / 2] * 2


def check_differentiable_collectives(r: Rank) -> None:
    from torch.distributed.nn import functional

    def program(device: torch.device) -> list[torch.Tensor]:
        x = values(r, device, torch.float32, 3).requires_grad_()
        y = functional.all_reduce(x * 2) * (r.rank + 1)
        z = torch.cat(functional.all_gather(x * x))
        w = funcol.all_gather_tensor_autograd(x, 0, dist.group.WORLD) * (r.rank + 2)
        (y.sum() + z.sum() + w.sum()).backward()
        return [y.detach(), z.detach(), w.detach(), x.grad]

    r.both(program)
