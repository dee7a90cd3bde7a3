"""Numbers beside tensors are run-time inputs: a new one compiles nothing and is still checked."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from support import arange, check, same_error

import torch_pjrt

DTYPES = [torch.float32, torch.bfloat16, torch.int32, torch.int8, torch.uint8]
FLOATS = [torch.float32, torch.bfloat16]


def compiles(run: Callable[[float], object], values: list[float]) -> int:
    """Programs compiled by `run` for `values` after the first two."""
    for value in values[:2]:
        run(value)
    before = torch_pjrt.compile_count()
    for value in values[2:]:
        run(value)
    return torch_pjrt.compile_count() - before


OPTIMIZERS: dict[str, Callable[[list[torch.Tensor]], torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, foreach=False),
    "SGD momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=False),
    "SGD foreach": lambda p: torch.optim.SGD(
        p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True, foreach=True
    ),
    "AdamW loop": lambda p: torch.optim.AdamW(p, lr=0.1, foreach=False),
    "AdamW foreach": lambda p: torch.optim.AdamW(p, lr=0.1, foreach=True),
    "AdamW fused": lambda p: torch.optim.AdamW(p, lr=0.1, fused=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, foreach=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.1, momentum=0.9, foreach=True),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.1, foreach=True),
}


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_a_learning_rate_schedule_compiles_once(name: str, device: torch.device) -> None:
    counts: list[int] = []

    def train(device: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(0)
        params = [torch.randn(4, 3).to(device).requires_grad_(), torch.ones(3, device=device)]
        params[1].requires_grad_()
        optimizer = OPTIMIZERS[name](params)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        for _ in range(20):
            counts.append(torch_pjrt.compile_count())
            loss = ((params[0] * params[1]).sum(1) - 1).square().sum()
            loss.backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        counts.append(torch_pjrt.compile_count())
        return [p.detach() for p in params]

    check(train, device, rtol=1e-4, atol=1e-5)
    on_device = counts[-21:]
    assert on_device[-1] == on_device[2], on_device


NUMBERS: dict[str, tuple[Callable[[torch.Tensor, float], torch.Tensor], list[float]]] = {
    "add alpha": (lambda x, v: torch.add(x, x, alpha=v), [2, 3, 5, 7]),
    "add_ alpha": (lambda x, v: x.clone().add_(x, alpha=v), [2, 3, 5, 7]),
    "sub alpha": (lambda x, v: torch.sub(x, x + 1, alpha=v), [2, 3, 4, 5]),
    "rsub alpha": (lambda x, v: torch.rsub(x, x + 1, alpha=v), [2, 3, 4, 5]),
    "addcmul value": (lambda x, v: torch.addcmul(x, x, x, value=v), [1, 2, 3, 4]),
    "pow": (lambda x, v: x.clamp(max=2) ** v, [4, 5, 6, 7]),
    "addmm beta": (lambda x, v: torch.addmm(x, x, x, beta=v, alpha=v + 1), [2, 3, 4, 5]),
    "baddbmm": (
        lambda x, v: torch.baddbmm(x[None], x[None], x[None], beta=v, alpha=v + 1),
        [2, 3, 4, 5],
    ),
    "addmv": (lambda x, v: torch.addmv(x[0], x, x[1], beta=v, alpha=v + 1), [2, 3, 4, 5]),
    "addbmm": (
        lambda x, v: torch.addbmm(x, x[None], x[None], beta=v, alpha=v + 1),
        [2, 3, 4, 5],
    ),
    "roll": (lambda x, v: x.roll(int(v), 1), [1, -1, 2, 5, -7, 0]),
    "roll two dims": (lambda x, v: x.roll((int(v), 2), (0, 1)), [1, -1, 2, 5, 9, 0]),
    "roll flat": (lambda x, v: x.roll(int(v)), [1, -1, 2, 5, 9, 0]),
    "tril": (lambda x, v: x.tril(int(v)), [0, 1, -1, -4, 4]),
    "triu": (lambda x, v: x.triu(int(v)), [0, 1, -1, -4, 4]),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", list(NUMBERS))
def test_a_number_is_a_run_time_input(name: str, dtype: torch.dtype, device: torch.device) -> None:
    function, values = NUMBERS[name]
    tolerance = 0.02 if dtype == torch.bfloat16 else 1e-6 if dtype == torch.float32 else 0.0
    x = arange(device, 3, 3, dtype=dtype)
    for value in values:
        check(lambda d, v=value: function(arange(d, 3, 3, dtype=dtype), v), device, tolerance)
    assert compiles(lambda v: function(x, v), values) == 0


FRACTIONS: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "add alpha": lambda x, v: torch.add(x, x, alpha=v),
    "sub_ alpha": lambda x, v: x.clone().sub_(x + 1, alpha=v),
    "addcdiv value": lambda x, v: torch.addcdiv(x, x, x + 1, value=v),
    "lerp weight": lambda x, v: torch.lerp(x, x + 1, v),
    "pow": lambda x, v: x**v,
    "addmm": lambda x, v: torch.addmm(x, x, x, beta=v, alpha=v / 2),
    "negative pow": lambda x, v: (x + 1) ** -v,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", list(FRACTIONS))
def test_a_fraction_is_a_run_time_input(
    name: str, dtype: torch.dtype, device: torch.device
) -> None:
    function, values = FRACTIONS[name], [0.3, 0.7, 1.25, 2.6, 0.01]
    tolerance = 0.02 if dtype == torch.bfloat16 else 1e-5
    # The CPU rounds alpha * other to bfloat16 in the tail of its loop only: one unit of 2 to 4.
    absolute = 2**-7 if dtype == torch.bfloat16 else 1e-6
    x = arange(device, 3, 3, dtype=dtype)
    for value in values:
        check(
            lambda d, v=value: function(arange(d, 3, 3, dtype=dtype), v),
            device,
            tolerance,
            absolute,
        )
    assert compiles(lambda v: function(x, v), values) == 0


def test_special_exponents_keep_their_formulas(device: torch.device) -> None:
    for exponent in (0, 1, 2, 3, 0.5, -0.5, -1, -2):
        check(lambda d, e=exponent: (arange(d, 5) + 1) ** e, device, rtol=2e-7)
    x = torch.rand(4096, device=device)
    x**2.5
    assert torch.equal(x**3, x * x * x)
    assert torch.equal(x**2, x * x)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (torch.int8, [2, -128, 127, 3]),
        (torch.uint8, [2, -1, 255, -255]),
        (torch.int64, [2, 2**62, -(2**63), 3]),
        (torch.bool, [True, False, True]),
    ],
    ids=str,
)
def test_alpha_of_integers(dtype: torch.dtype, values: list[int], device: torch.device) -> None:
    for value in values:
        check(
            lambda d, v=value: torch.add(
                arange(d, 4, dtype=dtype), arange(d, 4, dtype=dtype), alpha=v
            ),
            device,
        )


OVERFLOWS: dict[str, Callable[[torch.device, bool], torch.Tensor]] = {
    "add": lambda d, bad: arange(d, 3, dtype=torch.int8).add(
        arange(d, 3, dtype=torch.int8), alpha=300 if bad else 3
    ),
    "sub": lambda d, bad: arange(d, 3, dtype=torch.uint8).sub(
        arange(d, 3, dtype=torch.uint8), alpha=300 if bad else 3
    ),
    "add float": lambda d, bad: arange(d, 3).add(arange(d, 3), alpha=1e300 if bad else 3.0),
    "addcmul": lambda d, bad: arange(d, 3, dtype=torch.int8).addcmul(
        arange(d, 3, dtype=torch.int8), arange(d, 3, dtype=torch.int8), value=300 if bad else 3
    ),
    "pow": lambda d, bad: arange(d, 3, dtype=torch.int8) ** (300 if bad else 5),
    "addmm": lambda d, bad: torch.addmm(
        arange(d, 2, 2, dtype=torch.int8),
        arange(d, 2, 2, dtype=torch.int8),
        arange(d, 2, 2, dtype=torch.int8),
        beta=300 if bad else 3,
    ),
    "lerp": lambda d, bad: arange(d, 3).lerp(arange(d, 3), 1e300 if bad else 0.5),
    "foreach": lambda d, bad: torch._foreach_add(
        [arange(d, 3, dtype=torch.int8)],
        [arange(d, 3, dtype=torch.int8)],
        alpha=300 if bad else 3,
    )[0],
}


@pytest.mark.parametrize("name", list(OVERFLOWS))
def test_a_number_that_does_not_fit_is_refused(name: str, device: torch.device) -> None:
    function = OVERFLOWS[name]
    check(lambda d: function(d, False), device)  # the program exists: only the number is new
    got, want = same_error(lambda d: function(d, True), device)
    assert "cannot be converted" in str(want)
    assert str(got) == str(want)


def test_integers_to_negative_powers_are_refused(device: torch.device) -> None:
    check(lambda d: arange(d, 3, dtype=torch.int64) ** 5, device)
    got, want = same_error(lambda d: arange(d, 3, dtype=torch.int64) ** -5, device)
    assert str(got) == str(want)


def test_ranges_of_one_size_share_a_program(device: torch.device) -> None:
    def make(d: torch.device, start: float) -> list[torch.Tensor]:
        return [
            torch.arange(start, start + 5, device=d),
            torch.arange(start, start + 2.5, 0.5, device=d),
            torch.arange(int(start), int(start) - 10, -2, device=d),
            torch.arange(int(start), int(start) + 5, device=d, dtype=torch.bfloat16),
            torch.arange(int(start) + 5, device=d)[-5:],
        ]

    values = [0.0, 3.0, 7.0, -2.0, 100.0]
    for value in values:
        check(lambda d, v=value: make(d, v), device, rtol=1e-6)
    assert compiles(lambda v: torch.arange(v, v + 5, device=device), values) == 0
    out = torch.empty(2, dtype=torch.int64, device=device)
    with pytest.warns(UserWarning, match="number of elements in the out tensor"):
        torch.arange(3, 9, out=out)
    assert out.tolist() == [3, 4, 5, 6, 7, 8]
    big = 2**53 + 1
    assert torch.arange(big, big + 3, device=device).tolist() == [big, big + 1, big + 2]


@pytest.mark.parametrize(
    "bounds", [(3, 1, 1), (0, 5, 0), (0, float("inf"), 1), (0, 5, -1)], ids=str
)
def test_bad_ranges_are_refused(bounds: tuple[float, float, float], device: torch.device) -> None:
    got, want = same_error(lambda d: torch.arange(*bounds, device=d), device)
    assert str(got) == str(want)


def test_bounds_of_random_integers(device: torch.device) -> None:
    def draw(low: int, high: int) -> torch.Tensor:
        torch.manual_seed(1)
        return torch.randint(low, high, (2000,), device=device)

    for low, high in [(0, 2), (0, 7), (-5, 5), (2**40, 2**40 + 3), (-(2**62), 2**62)]:
        x = draw(low, high)
        assert low <= int(x.min()) and int(x.max()) < high
    assert sorted(draw(-5, 5).unique().tolist()) == list(range(-5, 5))
    wide = draw(-(2**62), 2**62).to(torch.float32).cpu()
    assert abs(float(wide.mean())) < 0.05 * 2**62
    assert compiles(lambda v: draw(0, int(v)), [5, 6, 7, 1000, 2**33, 2**63 - 1]) == 0


@pytest.mark.parametrize(
    "draw",
    [
        lambda d: torch.randint(5, 5, (3,), device=d),
        lambda d: torch.randint(0, (3,), device=d),
        lambda d: torch.randint(0, 300, (3,), dtype=torch.int8, device=d),
        lambda d: torch.empty(3, dtype=torch.uint8, device=d).random_(-1, 4),
    ],
)
def test_bad_bounds_of_random_integers(
    draw: Callable[[torch.device], torch.Tensor], device: torch.device
) -> None:
    torch.randint(1, 5, (3,), device=device)
    got, want = same_error(draw, device)
    assert str(got) == str(want)
