"""Writes: in-place operators, out=, indexed assignment, version counters."""

from collections.abc import Callable

import pytest
import torch
from support import arange, check, same_error

Write = Callable[[torch.Tensor], object]

WRITES: dict[str, Write] = {
    "add_": lambda x: x.add_(1.5),
    "add_ tensor": lambda x: x.add_(x.clone(), alpha=2),
    "sub_": lambda x: x.sub_(x),
    "mul_ broadcast": lambda x: x.mul_(x[0].clone()),
    "div_": lambda x: x.div_(3),
    "pow_": lambda x: x.pow_(2),
    "neg_": lambda x: x.neg_(),
    "relu_": lambda x: x.sub_(7).relu_(),
    "clamp_": lambda x: x.clamp_(2, 9),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(2.5),
    "copy_": lambda x: x.copy_(torch.ones_like(x)),
    "copy_ dtype": lambda x: x.copy_(torch.ones_like(x, dtype=torch.int64)),
    "copy_ broadcast": lambda x: x.copy_(torch.arange(5.0, device=x.device)),
    "addcmul_": lambda x: x.addcmul_(x.clone(), x.clone(), value=0.5),
    "addcdiv_": lambda x: x.addcdiv_(x.clone(), x.clone() + 1, value=0.5),
    "lerp_": lambda x: x.lerp_(torch.zeros_like(x), 0.25),
    "masked_fill_": lambda x: x.masked_fill_(x > 7, -1),
    "masked_fill_ broadcast": lambda x: x.masked_fill_(x[0] > 2, -1),
    "where assign": lambda x: x.__setitem__(x > 7, 0.0),
    "index row": lambda x: x.__setitem__(1, 9),
    "index rows": lambda x: x.__setitem__(slice(1, 3), torch.zeros(2, 5, device=x.device)),
    "index column": lambda x: x.__setitem__((slice(None), 2), -3),
    "index steps": lambda x: x.__setitem__((slice(None, None, 2), slice(1, None, 2)), 4),
    "index list": lambda x: x.__setitem__([0, 2], 8),
    "index tensor": lambda x: x.__setitem__(torch.tensor([2, 0], device=x.device), -8),
    "index pair": lambda x: x.__setitem__(
        (torch.tensor([0, 1], device=x.device), torch.tensor([4, 2], device=x.device)), 77
    ),
    "index_fill_": lambda x: x.index_fill_(1, torch.tensor([0, 3], device=x.device), 6),
    "index_copy_": lambda x: x.index_copy_(
        0, torch.tensor([2, 0], device=x.device), torch.zeros(2, 5, device=x.device)
    ),
    "index_add_ repeated": lambda x: x.index_add_(
        0, torch.tensor([1, 1, 0], device=x.device), torch.ones(3, 5, device=x.device)
    ),
    "index_put_ accumulate": lambda x: x.index_put_(
        (torch.tensor([1, 1], device=x.device),), torch.ones(5, device=x.device), accumulate=True
    ),
    "scatter_": lambda x: x.scatter_(
        1, torch.tensor([[0], [2], [4]], device=x.device), -torch.ones(3, 1, device=x.device)
    ),
    "scatter_add_": lambda x: x.scatter_add_(
        1, torch.tensor([[0, 0], [2, 2], [4, 4]], device=x.device), torch.ones_like(x)
    ),
    "fill_diagonal_": lambda x: x.fill_diagonal_(3),
    "tril_": lambda x: x.tril_(),
    "triu_": lambda x: x.triu_(1),
    "cumsum_": lambda x: x.cumsum_(1),
    "t_": lambda x: x.t_(),
    "squeeze_": lambda x: x.unsqueeze_(0),
    "transpose_": lambda x: x.transpose_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1).add_(1),
    "addmm_": lambda x: x.addmm_(torch.ones(3, 2, device=x.device), x[:2].clone()),
    "eq_": lambda x: x.eq_(3),
    "logical_not_": lambda x: x.logical_not_(),
    "floor_divide_": lambda x: x.floor_divide_(4),
    "remainder_": lambda x: x.remainder_(4),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "view"])
def test_write(name: str, layout: str, device: torch.device) -> None:
    def program(where: torch.device) -> object:
        if layout == "contiguous":
            base = arange(where, 3, 5)
            x = base
        elif layout == "transposed":
            base = arange(where, 5, 3)
            x = base.t()
        else:
            base = arange(where, 5, 8)
            x = base[1:4, 2:7]
        version = x._version
        result = WRITES[name](x)
        assert x._version > version, "the version counter did not move"
        assert result is None or result.data_ptr() == x.data_ptr()
        return base, x

    check(program, device, rtol=1e-6, atol=1e-6)


OUT: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "add": lambda x, out: torch.add(x, 1, out=out),
    "mul": lambda x, out: torch.mul(x, x, out=out),
    "mm": lambda x, out: torch.mm(x, x.t(), out=out),
    "sum": lambda x, out: torch.sum(x, 0, out=out),
    "cat": lambda x, out: torch.cat([x, x], out=out),
    "exp": lambda x, out: torch.exp(x / 10, out=out),
    "arange": lambda x, out: torch.arange(0, 7, 2, out=out),
    "index_select": lambda x, out: torch.index_select(
        x, 1, torch.tensor([3, 0], device=x.device), out=out
    ),
}


@pytest.mark.parametrize("name", OUT)
def test_out_is_written_and_resized(name: str, device: torch.device) -> None:
    def program(where: torch.device) -> object:
        out = torch.empty(0, device=where)
        result = OUT[name](arange(where, 3, 5), out)
        assert result is out
        again = OUT[name](arange(where, 3, 5) + 1, out)
        assert again is out
        return out

    check(program, device, rtol=1e-6, atol=1e-6)


def test_out_may_be_a_view(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        base = torch.zeros(4, 10, device=where)
        torch.add(arange(where, 3, 5), 1, out=base[1:, ::2])
        return base

    check(program, device)


def test_out_with_several_results(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        values = torch.empty(3, device=where)
        indices = torch.empty(3, dtype=torch.int64, device=where)
        torch.max(arange(where, 3, 5).flip(1), 1, out=(values, indices))
        return values, indices

    check(program, device)


INTEGER_ERRORS: dict[str, Write] = {
    "float into int": lambda x: x.add_(0.5),
    "div int": lambda x: x.div_(2),
    "out dtype": lambda x: torch.add(x, 0.5, out=x),
    "overflow": lambda x: x.fill_(300),
    "shape": lambda x: x.add_(torch.ones(4, device=x.device, dtype=x.dtype)),
}


@pytest.mark.parametrize("name", INTEGER_ERRORS)
def test_a_write_that_cannot_be_is_refused(name: str, device: torch.device) -> None:
    def program(where: torch.device) -> object:
        return INTEGER_ERRORS[name](torch.ones(3, dtype=torch.uint8, device=where))

    same_error(program, device)


def test_leaf_that_requires_grad_is_protected(device: torch.device) -> None:
    def program(where: torch.device) -> None:
        torch.ones(3, device=where, requires_grad=True).add_(1)

    got, want = same_error(program, device)
    assert str(got) == str(want)


def test_reading_while_writing_the_same_tensor(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = arange(where, 4)
        x += x
        x *= x
        x.copy_(x)
        y = arange(where, 3, 3)
        y.copy_(y.t().clone())
        y[0] = y[1]
        return x, y

    check(program, device)


def test_deep_chains_of_writes(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = torch.zeros(8, device=where)
        kept = []
        for i in range(50):
            x[i % 8] += i
            if i % 10 == 0:
                kept.append(x.clone())
        return x, kept

    check(program, device)


def test_foreach_writes(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        xs = [arange(where, 3), arange(where, 2, 2)]
        torch._foreach_add_(xs, 1.0)
        torch._foreach_mul_(xs, [2.0, 3.0])
        torch._foreach_addcmul_(xs, [x.clone() for x in xs], [x.clone() for x in xs], 0.5)
        torch._foreach_lerp_(xs, [torch.zeros_like(x) for x in xs], 0.5)
        return xs, torch._foreach_norm(xs)

    check(program, device, rtol=1e-6, atol=1e-6)


def test_writes_to_several_views_of_one_tensor_all_arrive(device: torch.device) -> None:
    """As FSDP and DDP keep parameters and gradients: parts of one buffer, written as a list."""

    def program(where: torch.device) -> object:
        base = arange(where, 10)
        torch._foreach_add_(list(base.split([3, 3, 4])), 1.0)
        torch._foreach_copy_(list(base[4:].split([2, 4])), [arange(where, 2), arange(where, 4)])
        x, y = arange(where, 3), arange(where, 3) + 10
        torch._foreach_add_([x, y], [y, x])  # the second sees what the first wrote
        torch._foreach_mul_([x, x], 2.0)
        split = arange(where, 8)
        torch.split_with_sizes_copy(arange(where, 6), [2, 4], out=[split[:2], split[3:7]])
        both = torch.zeros(2, 3, dtype=torch.float64, device=where)
        torch.linalg.slogdet(
            torch.eye(2, dtype=torch.float64, device=where).expand(3, 2, 2) * 2,
            out=(both[0], both[1]),
        )
        return base, x, y, split, both

    check(program, device)
