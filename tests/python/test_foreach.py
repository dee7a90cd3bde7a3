"""The _foreach ops: a whole list in one program, each entry as the op for one tensor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from support import arange, check, same_error

import torch_pjrt

Lists = list[torch.Tensor]


def lists(device: torch.device, dtype: torch.dtype = torch.float32) -> Lists:
    return [arange(device, 2, 3, dtype=dtype), arange(device, 4, dtype=dtype) + 1]


FUNCTIONAL: dict[str, Callable[[Lists], Lists]] = {
    "add number": lambda x: torch._foreach_add(x, 2),
    "add fraction": lambda x: torch._foreach_add(x, 2.5),
    "add list": lambda x: torch._foreach_add(x, x, alpha=3),
    "add numbers": lambda x: torch._foreach_add(x, [1, 2]),
    "add fractions": lambda x: torch._foreach_add(x, [1.5, 2]),
    "sub numbers": lambda x: torch._foreach_sub(x, [1, 2]),
    "mul tensor": lambda x: torch._foreach_mul(x, x[1][1]),
    "div number": lambda x: torch._foreach_div(x, 3),
    "div numbers": lambda x: torch._foreach_div(x, [2.0, 3.0]),
    "maximum": lambda x: torch._foreach_maximum(x, 2),
    "clamp_min": lambda x: torch._foreach_clamp_min(x, [2, 3]),
    "clamp_max": lambda x: torch._foreach_clamp_max(x, [y + 1 for y in x]),
    "addcmul": lambda x: torch._foreach_addcmul(x, x, x, 2),
    "addcmul numbers": lambda x: torch._foreach_addcmul(x, x, x, [2, 3]),
    "pow": lambda x: torch._foreach_pow(x, 2),
    "pow numbers": lambda x: torch._foreach_pow(x, [2, 3]),
    "pow of number": lambda x: torch._foreach_pow(2, x),
    "neg": lambda x: torch._foreach_neg(x),
    "abs": lambda x: torch._foreach_abs(torch._foreach_neg(x)),
    "sqrt": lambda x: torch._foreach_sqrt(x),
    "exp": lambda x: torch._foreach_exp(x),
    "sign": lambda x: torch._foreach_sign(x),
    "zero": lambda x: (torch._foreach_zero_(x), x)[1],
    "max": lambda x: torch._foreach_max(x),
}

FLOATING: dict[str, Callable[[Lists], Lists]] = {
    "addcdiv": lambda x: torch._foreach_addcdiv(x, x, [y + 1 for y in x], 0.5),
    "addcdiv numbers": lambda x: torch._foreach_addcdiv(x, x, [y + 1 for y in x], [0.5, 2]),
    "lerp": lambda x: torch._foreach_lerp(x, [y + 2 for y in x], 0.75),
    "lerp list": lambda x: torch._foreach_lerp(x, [y + 2 for y in x], x),
    "norm": lambda x: torch._foreach_norm(x),
    "norm 1": lambda x: torch._foreach_norm(x, 1, dtype=torch.float64),
    "reciprocal": lambda x: torch._foreach_reciprocal(torch._foreach_add(x, 1)),
}


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8], ids=str
)
@pytest.mark.parametrize("name", list(FUNCTIONAL))
def test_functional(name: str, dtype: torch.dtype, device: torch.device) -> None:
    if name == "neg" or name == "abs":
        dtype = torch.int8 if dtype == torch.uint8 else dtype
    tolerance = 0.01 if dtype == torch.bfloat16 else 1e-5
    check(lambda d: FUNCTIONAL[name](lists(d, dtype)), device, tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", list(FLOATING))
def test_floating(name: str, dtype: torch.dtype, device: torch.device) -> None:
    tolerance = 0.01 if dtype == torch.bfloat16 else 1e-5
    check(lambda d: FLOATING[name](lists(d, dtype)), device, tolerance)


def test_lists_of_mixed_dtypes(device: torch.device) -> None:
    def run(d: torch.device) -> object:
        mixed = [arange(d, 3), arange(d, 2, 2, dtype=torch.bfloat16), arange(d, 4).long()]
        other = [arange(d, 3).double(), arange(d, 2), arange(d, 4).int()]
        written = [x.float() for x in mixed]
        torch._foreach_add_(written, other)
        return torch._foreach_mul(mixed, other), torch._foreach_add(mixed, 1.5), written

    check(run, device, rtol=0.01)


def test_in_place_writes_to_each(device: torch.device) -> None:
    def run(d: torch.device) -> object:
        base = arange(d, 4, 4)
        xs = [base[1:3], base[:, 3], arange(d, 5)]
        torch._foreach_addcdiv_(xs[2:], [arange(d, 5)], [arange(d, 5) + 1], [0.25])
        torch._foreach_mul_(xs[:1], 2.0)
        torch._foreach_pow_(xs[1:], 2)
        torch._foreach_copy_(xs[2:], [torch.arange(5)])
        return base, xs

    check(run, device, rtol=1e-6)


@pytest.mark.parametrize(
    "bad",
    [
        lambda d: torch._foreach_div_([arange(d, 3).long()], 2),
        lambda d: torch._foreach_add([arange(d, 3)], [arange(d, 3), arange(d, 2)]),
        lambda d: torch._foreach_add([arange(d, 3)], [1.0, 2.0]),
        lambda d: torch._foreach_add([arange(d, 3)], [arange(d, 2)]),
        lambda d: torch._foreach_mul([], 2.0),
    ],
)
def test_errors(bad: Callable[[torch.device], object], device: torch.device) -> None:
    got, want = same_error(bad, device)
    assert str(got) == str(want)


def test_one_program_for_a_list(device: torch.device) -> None:
    xs = [torch.rand(n, device=device) for n in (17, 19, 23)]
    torch_pjrt.reset_fallback_counts()
    before = torch_pjrt.compile_count()
    for step in range(1, 5):
        torch._foreach_addcmul(xs, xs, xs, [0.1 * step, 0.2, 0.3 * step])
    assert torch_pjrt.compile_count() == before + 1
    assert torch_pjrt.fallback_counts() == {}


def test_gradients(device: torch.device) -> None:
    def run(d: torch.device) -> Lists:
        xs = [x.requires_grad_() for x in lists(d)]
        total = sum(x.sum() for x in torch._foreach_mul(torch._foreach_exp(xs), [0.1, 0.2]))
        assert isinstance(total, torch.Tensor)
        total.backward()
        return [x.grad for x in xs if x.grad is not None]

    check(run, device, rtol=1e-5)


def test_inside_a_compiled_graph(device: torch.device) -> None:
    @torch.compile(fullgraph=True)
    def step(params: Lists, grads: Lists) -> Lists:
        norms = torch._foreach_norm(grads)
        scaled = torch._foreach_div(grads, torch.stack(norms).norm() + 1)
        torch._foreach_add_(params, scaled, alpha=-0.5)
        return torch._foreach_mul(params, [2.0, 3.0])

    def run(d: torch.device) -> object:
        params = lists(d)
        return step(params, [p + 1 for p in params]), params

    check(run, device, rtol=1e-5)
