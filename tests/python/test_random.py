"""Random numbers: their distributions, and the states that repeat them."""

import pytest
import torch
from support import CPU, assert_same_layout

N = 1 << 16
F = torch.nn.functional


def host(x: torch.Tensor) -> torch.Tensor:
    return x.double().cpu()


def test_uniform(device: torch.device) -> None:
    x = host(torch.rand(N, device=device))
    assert 0 <= x.min() < 1e-3 and 1 - 1e-3 < x.max() < 1
    assert abs(x.mean() - 0.5) < 5e-3 and abs(x.var() - 1 / 12) < 2e-3
    counts = torch.histc(x, 16, 0, 1)
    chi2 = ((counts - N / 16) ** 2 / (N / 16)).sum()
    assert chi2 < 45, "16 equal bins; 45 has probability 1e-4"
    assert abs((x[:-1] * x[1:]).mean() - 0.25) < 5e-3, "neighbours depend on each other"
    y = host(torch.empty(N, device=device).uniform_(-3, 5))
    assert y.min() >= -3 and y.max() < 5 and abs(y.mean() - 1) < 0.05


def test_normal(device: torch.device) -> None:
    x = host(torch.randn(N, device=device))
    assert abs(x.mean()) < 0.02 and abs(x.std() - 1) < 0.02
    assert abs((x**3).mean()) < 0.1 and abs((x**4).mean() - 3) < 0.2
    assert 3.5 < x.abs().max() < 7
    y = host(torch.normal(2.0, 3.0, (N,), device=device))
    assert abs(y.mean() - 2) < 0.06 and abs(y.std() - 3) < 0.06


def test_integers(device: torch.device) -> None:
    x = torch.randint(-3, 7, (N,), device=device).cpu()
    assert x.dtype == torch.int64 and set(x.unique().tolist()) == set(range(-3, 7))
    counts = torch.bincount(x + 3).double()
    assert ((counts - N / 10) ** 2 / (N / 10)).sum() < 40
    y = torch.empty(N, dtype=torch.uint8, device=device).random_(0, 4).cpu()
    assert set(y.unique().tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_bernoulli(p: float, device: torch.device) -> None:
    for x in (
        torch.bernoulli(torch.full((N,), p, device=device)),
        torch.empty(N, device=device).bernoulli_(p),
    ):
        x = host(x)
        assert set(x.unique().tolist()) <= {0.0, 1.0}
        assert abs(x.mean() - p) < 0.01


def test_exponential(device: torch.device) -> None:
    x = host(torch.empty(N, device=device).exponential_(2.0))
    assert x.min() >= 0 and abs(x.mean() - 0.5) < 0.02 and abs(x.var() - 0.25) < 0.02
    assert torch.isfinite(x).all()


@pytest.mark.parametrize("n", [0, 1, 5, 1000])
def test_permutation(n: int, device: torch.device) -> None:
    x = torch.randperm(n, device=device).cpu()
    assert torch.equal(x.sort().values, torch.arange(n))
    if n == 1000:
        assert not torch.equal(x, torch.arange(n))


def test_multinomial(device: torch.device) -> None:
    weights = torch.tensor([0.0, 1.0, 3.0, 0.0, 4.0], device=device)
    x = torch.multinomial(weights, N // 4, replacement=True).cpu()
    share = torch.bincount(x, minlength=5).double() / len(x)
    assert torch.allclose(share, torch.tensor([0, 1, 3, 0, 4]).double() / 8, atol=0.02)
    y = torch.multinomial(weights.expand(200, 5), 3).cpu()
    assert all(sorted(row) == [1, 2, 4] for row in y.tolist()), "without replacement"


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout(p: float, device: torch.device) -> None:
    x = torch.ones(N, device=device, requires_grad=True)
    y = F.dropout(x, p)
    y.sum().backward()
    values = host(y.detach())
    assert abs((values == 0).double().mean() - p) < 0.01
    kept = values[values != 0]
    assert torch.allclose(kept, torch.full_like(kept, 1 / (1 - p)))
    assert torch.equal(x.grad.cpu(), y.detach().cpu())
    assert torch.equal(F.dropout(x, p, training=False), x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_dtypes(dtype: torch.dtype, device: torch.device) -> None:
    x = torch.rand(4096, dtype=dtype, device=device)
    assert x.dtype == dtype and host(x).min() >= 0 and host(x).max() < 1
    assert abs(host(x).mean() - 0.5) < 0.03
    assert abs(host(torch.randn(4096, dtype=dtype, device=device)).std() - 1) < 0.05


def test_manual_seed_covers_the_device(device: torch.device) -> None:
    torch.manual_seed(3)
    a = torch.rand(5, device=device).cpu()
    b = torch.rand(5, device=device).cpu()
    torch.manual_seed(3)
    assert torch.equal(torch.rand(5, device=device).cpu(), a)
    assert torch.equal(torch.rand(5, device=device).cpu(), b)
    assert not torch.equal(a, b)


def test_module_functions(device: torch.device) -> None:
    if device.type == "cpu":
        pytest.skip("names of a device module")
    module = torch.get_device_module(device)
    module.manual_seed(9)
    assert module.initial_seed() == 9
    state = module.get_rng_state()
    a = torch.rand(4, device=device).cpu()
    module.set_rng_state(state)
    assert torch.equal(torch.rand(4, device=device).cpu(), a)
    module.random.set_rng_state(state, f"{device.type}:0")
    assert torch.equal(torch.rand(4, device=device).cpu(), a)
    states = module.get_rng_state_all()
    assert len(states) == module.device_count()
    b = torch.rand(4, device=device).cpu()
    module.set_rng_state_all(states)
    assert torch.equal(torch.rand(4, device=device).cpu(), b)
    module.manual_seed_all(4)
    assert {g.initial_seed() for g in module.default_generators} == {4}
    module.seed()
    assert module.initial_seed() != 4
    module.seed_all()
    assert len({g.initial_seed() for g in module.default_generators}) == 1


def test_fork_rng(device: torch.device) -> None:
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=[0] if device.type != "cpu" else []):
        inside = torch.rand(4, device=device).cpu()
    assert torch.equal(torch.rand(4, device=device).cpu(), inside)


def test_shapes_and_views_draw_the_same_numbers(device: torch.device) -> None:
    """The counter is the logical index: a shape is only a shape."""
    torch.manual_seed(2)
    flat = torch.rand(24, device=device).cpu()
    torch.manual_seed(2)
    assert torch.equal(torch.rand(2, 3, 4, device=device).cpu().view(-1), flat)


def test_writing_random_numbers_through_a_view(device: torch.device) -> None:
    x = torch.full((4, 6), -1.0, device=device)
    x[1:3, ::2].uniform_(0, 1)
    y = x.cpu()
    assert (y[1:3, ::2] >= 0).all() and (y[1:3, 1::2] == -1).all() and (y[0] == -1).all()


def test_like_factories(device: torch.device) -> None:
    base = torch.empty(2, 3, device=CPU).t()
    for make in (torch.rand_like, torch.randn_like, lambda x: torch.randint_like(x, 5)):
        assert_same_layout(make(base.to(device)), make(base))


def test_initialisers(device: torch.device) -> None:
    x = torch.empty(64, 64, device=device)
    torch.nn.init.kaiming_uniform_(x, a=5**0.5)
    assert abs(host(x).mean()) < 0.01 and host(x).abs().max() <= 64**-0.5
    torch.nn.init.trunc_normal_(x, std=0.02)
    assert host(x).abs().max() <= 2
    torch.nn.init.orthogonal_(x)
    torch.testing.assert_close((x @ x.t()).cpu(), torch.eye(64), atol=1e-4, rtol=0)


@pytest.mark.own_device
def test_every_mode_draws_the_same(pjrt: object, device: torch.device) -> None:
    torch.manual_seed(6)
    a = torch.randn(10, device=device).cpu()
    torch.manual_seed(6)
    with pjrt.set_mode("debug"):
        assert torch.equal(torch.randn(10, device=device).cpu(), a)
