"""Views share their base's memory: reads, writes through them, and writes below them."""

from collections.abc import Callable

import pytest
import torch
from support import arange, check, same_error

View = Callable[[torch.Tensor], torch.Tensor]

# Of a [4, 6] tensor.
VIEWS: dict[str, View] = {
    "same": lambda x: x.view(4, 6),
    "row": lambda x: x[2],
    "last row": lambda x: x[-1],
    "column": lambda x: x[:, 3],
    "element": lambda x: x[1, 2],
    "rows": lambda x: x[1:3],
    "columns": lambda x: x[:, 1:4],
    "block": lambda x: x[1:3, 2:5],
    "steps": lambda x: x[::2, 1::3],
    "transpose": lambda x: x.t(),
    "permuted block": lambda x: x.t()[1:4, ::2],
    "reshape": lambda x: x.view(2, 2, 6),
    "flat": lambda x: x.view(-1)[5:17],
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[1:2].squeeze(0),
    "narrow": lambda x: x.narrow(1, 2, 3),
    "select": lambda x: x.select(0, 3),
    "split": lambda x: x.split(2)[1],
    "chunk": lambda x: x.chunk(3, 1)[2],
    "unbind": lambda x: x.unbind(1)[4],
    "diagonal": lambda x: x.diagonal(1),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "movedim": lambda x: x.view(2, 2, 6).movedim(0, 2),
    "swapdims": lambda x: x.view(2, 2, 6).swapdims(1, 2)[1],
    "flatten": lambda x: x.view(2, 2, 6).flatten(1),
    "unflatten": lambda x: x.unflatten(1, (3, 2))[:, 1],
    "as_strided": lambda x: x.as_strided((3, 2), (7, 2), 1),
    "view of view": lambda x: x[1:][:, 2:].t()[1][1:],
    "detach": lambda x: x.detach()[2:],
    "data": lambda x: x.data[0],
    "empty": lambda x: x[2:2],
    "ellipsis": lambda x: x[..., 0],
    "none": lambda x: x[:, None, 2:4],
}
OVERLAPPING: dict[str, View] = {
    "expand": lambda x: x[0].expand(3, 6),
    "expand new": lambda x: x[:, :1].expand(-1, 5),
    "overlapping unfold": lambda x: x.unfold(1, 3, 1),
    "broadcast_to": lambda x: x[1:2].broadcast_to(2, 6),
    "stride 0": lambda x: x.as_strided((2, 3), (0, 1)),
}


@pytest.mark.parametrize("name", [*VIEWS, *OVERLAPPING])
def test_read(name: str, device: torch.device) -> None:
    view = {**VIEWS, **OVERLAPPING}[name]

    def program(where: torch.device) -> object:
        base = arange(where, 4, 6)
        v = view(base)
        return v, v + 1, v.clone(), v.contiguous(), v.sum(), v._is_view(), v.is_contiguous()

    check(program, device)


@pytest.mark.parametrize("name", VIEWS)
def test_write_through(name: str, device: torch.device) -> None:
    def program(where: torch.device) -> object:
        base = arange(where, 4, 6)
        other = base.t()
        v = VIEWS[name](base)
        v.mul_(10)
        first = base.clone()
        v.fill_(-1)
        second = base.clone()
        v.copy_(torch.full_like(v, 7))
        return first, second, base, v, other

    check(program, device)


@pytest.mark.parametrize("name", [*VIEWS, *OVERLAPPING])
def test_write_below(name: str, device: torch.device) -> None:
    view = {**VIEWS, **OVERLAPPING}[name]

    def program(where: torch.device) -> object:
        base = arange(where, 4, 6)
        v = view(base)
        base += 100
        base[1] = 5
        return v, base

    check(program, device)


@pytest.mark.parametrize("name", VIEWS)
def test_write_to_a_view_of_a_view_changes_all(name: str, device: torch.device) -> None:
    def program(where: torch.device) -> object:
        root = arange(where, 6, 8)
        base = root[1:5, 1:7]
        v = VIEWS[name](base.contiguous()) if name in CONTIGUOUS_ONLY else VIEWS[name](base)
        v += 1000
        return root, base, v

    check(program, device)


# They need a contiguous base; on a copy of it the root stays as it is, which is checked too.
CONTIGUOUS_ONLY = {"flat", "as_strided"}


# PyTorch sees that memory overlaps where a stride is 0.
@pytest.mark.parametrize("name", [n for n in OVERLAPPING if "unfold" not in n])
def test_write_to_overlapping_memory_is_refused(name: str, device: torch.device) -> None:
    def program(where: torch.device) -> None:
        OVERLAPPING[name](arange(where, 4, 6)).add_(1)

    got, want = same_error(program, device)
    assert str(got) == str(want)


@pytest.mark.parametrize("shift", [1, -1])
def test_overlapping_input_and_output_are_refused(shift: int, device: torch.device) -> None:
    def program(where: torch.device) -> None:
        x = arange(where, 10)
        a, b = x[1:], x[:-1]
        (a if shift == 1 else b).add_(b if shift == 1 else a)

    got, want = same_error(program, device)
    assert str(got) == str(want)


def test_data_ptr_tells_views_of_one_storage(device: torch.device) -> None:
    base, other = arange(device, 4, 6), arange(device, 4, 6)
    row = base[2]
    assert row.data_ptr() == base.data_ptr() + 2 * 6 * 4
    assert row.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
    assert abs(other.data_ptr() - base.data_ptr()) >= base.untyped_storage().nbytes()
    assert base.untyped_storage().nbytes() == 4 * 6 * 4


def test_split_chunks_alias_the_base(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = arange(where, 6, 2)
        a, b, c = x.split(2)
        b.zero_()
        c[1] = 9
        x[0] = -1
        return x, a, b, c

    check(program, device)


def test_assigning_data_leaves_old_views(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        w = torch.zeros(6, device=where)
        v = w.view(2, 3)
        w.data.add_(1)
        before = v.clone()
        w.data = w.data + 4
        w.add_(1)
        return before, v, w

    check(program, device)


def test_set_moves_a_tensor_to_another_storage(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        a, b = arange(where, 6), torch.full((8,), -1.0, device=where)
        a.set_(b.untyped_storage(), 2, (2, 3), (3, 1))
        a[0] = 5
        c = torch.empty(0, device=where)
        c.set_(b)
        return a, b, c

    check(program, device)


def test_resize_keeps_what_fits(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = arange(where, 6)
        x.resize_(2, 2)
        small = x.clone()
        x.resize_(2, 3)
        y = arange(where, 3)
        y.resize_(5)
        y[3:] = 0
        return small, x, y, x.untyped_storage().nbytes()

    check(program, device)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_many_slices_are_one_program(size: int, device: torch.device) -> None:
    base = arange(device, 16, 8)
    for i in range(16):
        row = base[i] if size == 0 else base[i, :size]
        torch.testing.assert_close(row.cpu(), arange(torch.device("cpu"), 16, 8)[i, : size or 8])


@pytest.mark.own_device
def test_a_new_offset_compiles_nothing(pjrt: object, device: torch.device) -> None:
    x = arange(device, 64, 8)
    cache = torch.zeros(4, 64, device=device)

    def step(i: int) -> None:
        assert (x[i] + 1)[0].item() == i * 8 + 1
        cache[:, i] = 1

    step(0)
    step(1)  # the start of a buffer may have a program of its own
    before = pjrt.compile_count()
    for i in range(2, 64):
        step(i)
    assert pjrt.compile_count() == before, "a new offset compiled a program"
    assert cache.sum().item() == 4 * 64
