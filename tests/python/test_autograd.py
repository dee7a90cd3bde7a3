"""Gradients: of views and in-place writes, from several threads, twice, through hooks."""

import threading
from collections.abc import Callable

import pytest
import torch
from support import CPU, arange, assert_same, check, same_error
from torch.utils.checkpoint import checkpoint

F = torch.nn.functional

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "polynomial": lambda x: x**3 - 2 * x,
    "reused": lambda x: x * x + x.sin() * x,
    "matmul": lambda x: x @ x.t(),
    "slice": lambda x: x[1:, ::2] * 2,
    "transpose": lambda x: x.t().contiguous() * torch.ones(4, 3, device=x.device),
    "index": lambda x: x[torch.tensor([0, 2, 2], device=x.device)],
    "gather": lambda x: x.gather(1, torch.tensor([[0], [3], [3]], device=x.device)),
    "scatter": lambda x: torch.zeros_like(x).scatter_add(
        1, torch.tensor([[0, 0, 1, 2]] * 3, device=x.device), x
    ),
    "cat": lambda x: torch.cat([x, x * 2], 1),
    "stack": lambda x: torch.stack([x[0], x[1] * 3]),
    "expand": lambda x: x[:, :1].expand(-1, 5) * 2,
    "sum": lambda x: x.sum(0, keepdim=True) * x,
    "mean": lambda x: x.mean(1),
    "var": lambda x: x.var(1),
    "max": lambda x: x.max(1).values,
    "amax ties": lambda x: (x * 0).amax(1),
    "sort": lambda x: x.sort(1, descending=True).values[:, :2],
    "topk": lambda x: x.topk(2, 1).values,
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(0),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "gelu": F.gelu,
    "silu": F.silu,
    "where": lambda x: torch.where(x > 5, x * 2, x * 3),
    "clamp": lambda x: x.clamp(2, 8),
    "cumsum": lambda x: x.cumsum(1),
    "in-place": lambda x: (x * 1).mul_(2).add_(x),
    "in-place view": lambda x: _write_row(x.clone()),
    "copy slice": lambda x: _copy_slice(x),
    "masked_fill": lambda x: x.masked_fill(x > 6, 0),
    "norm": lambda x: x.norm(),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x + 1),
    "sdpa": lambda x: F.scaled_dot_product_attention(x[None], x[None] / 7, x[None]),
    "dtype": lambda x: x.double().mul(2).float(),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([0, 3, 1], device=x.device)),
    "embedding": lambda x: F.embedding(torch.tensor([[0, 2], [2, 1]], device=x.device), x),
    "conv1d": lambda x: F.conv1d(x[None], x.view(4, 3, 1)),
    "unfold": lambda x: x.unfold(1, 2, 1).sum(2),
    "flip": lambda x: x.flip(0) * x,
    "pad": lambda x: F.pad(x, (1, 2), value=3.0),
    "logsumexp": lambda x: x.logsumexp(1),
    "prod": lambda x: (x + 1).prod(1),
    "complex": lambda x: torch.view_as_complex(x.view(3, 2, 2)).abs(),
}


def _write_row(x: torch.Tensor) -> torch.Tensor:
    x[1].mul_(5)
    x[:, 0] = x[:, 1]
    return x


def _copy_slice(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(3, 4, device=x.device)
    y[:, 1:3] = x[:, :2] * 2
    return y


def gradient(function: Callable[[torch.Tensor], torch.Tensor], where: torch.device) -> object:
    x = (arange(where, 3, 4) + 0.5).requires_grad_()
    y = function(x)
    weights = arange(where, *y.shape) + 1
    (y * weights).sum().backward()
    return y, x.grad


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient(name: str, device: torch.device) -> None:
    check(lambda where: gradient(FUNCTIONS[name], where), device, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["polynomial", "matmul", "softmax", "layer_norm", "slice"])
def test_second_gradient(name: str, device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = (arange(where, 3, 4) / 10).requires_grad_()
        (g,) = torch.autograd.grad(FUNCTIONS[name](x).square().sum(), x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), x)

    check(program, device, rtol=1e-3, atol=1e-3)


def test_backward_from_several_threads(device: torch.device) -> None:
    """Each thread runs its own graphs; all add to one parameter's gradient."""
    shared = torch.ones(16, 16, device=device, requires_grad=True)
    own: dict[int, torch.Tensor] = {}
    errors: list[BaseException] = []
    start = threading.Barrier(4)

    def work(index: int) -> None:
        try:
            start.wait()
            x = torch.full((16, 16), float(index), device=device, requires_grad=True)
            for _ in range(10):
                (x * 2 + shared.detach() * x).sum().backward()
            own[index] = x.grad
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert errors == [] and len(own) == 4
    for grad in own.values():
        assert torch.equal(grad.cpu(), torch.full((16, 16), 30.0))


def test_one_parameter_in_graphs_of_several_threads(device: torch.device) -> None:
    parameter = torch.ones(8, device=device, requires_grad=True)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                torch.autograd.grad((parameter * parameter).sum(), parameter)[0].sum().item()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert errors == []


def test_accumulation_equals_the_big_batch(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        w = torch.ones(4, 2, device=where, requires_grad=True)
        data = arange(where, 6, 4)
        for part in data.split(2):
            (part @ w).square().sum().backward()
        return w.grad

    check(program, device)


def test_hooks_and_retained_gradients(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        seen = []
        x = arange(where, 4).requires_grad_()
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: g * 3)
        x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
        y.sum().backward()
        return x.grad, y.grad, seen

    check(program, device)


def test_a_value_changed_after_it_was_saved_is_noticed(device: torch.device) -> None:
    def program(where: torch.device) -> None:
        x = torch.ones(3, device=where, requires_grad=True)
        y = x.exp()
        y.add_(1)
        y.sum().backward()

    got, want = same_error(program, device)
    assert "modified by an inplace operation" in str(got)
    assert "modified by an inplace operation" in str(want)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_with_dropout_draws_the_same_mask(reentrant: bool, device: torch.device) -> None:
    x = torch.ones(64, device=device, requires_grad=True)
    y = checkpoint(lambda v: F.dropout(v * 2, 0.5), x, use_reentrant=reentrant)
    y.sum().backward()
    assert torch.equal(y.cpu(), x.grad.cpu()), "the recomputed mask differs"
    assert 0 < (y == 0).sum().item() < 64


def test_custom_function(device: torch.device) -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    check(lambda where: gradient(Cube.apply, where), device, rtol=1e-5)


def test_no_grad_inference_and_detach(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = torch.ones(3, device=where, requires_grad=True)
        with torch.no_grad():
            a = x * 2
        with torch.inference_mode():
            b = x * 3
            b.add_(1)
            c = b.clone()
        return a.requires_grad, c.is_inference(), a, x.detach() + 1

    check(program, device)


@pytest.mark.parametrize("name", ["polynomial", "softmax", "in-place view", "conv1d"])
def test_numerical_gradient(name: str, device: torch.device) -> None:
    x = (arange(CPU, 3, 4, dtype=torch.float64) / 5 + 0.1).to(device).requires_grad_()
    assert torch.autograd.gradcheck(FUNCTIONS[name], (x,), fast_mode=True)


def test_functional_transforms(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = arange(where, 3) + 1
        function = lambda v: (v**3).sum()  # noqa: E731
        return (
            torch.func.grad(function)(x),
            torch.func.vmap(lambda v: v * 2)(x),
            torch.func.jacrev(lambda v: v**2)(x),
            torch.func.jvp(function, (x,), (torch.ones_like(x),)),
        )

    check(program, device, rtol=1e-5)


def test_anomaly_mode_names_the_forward_line(device: torch.device) -> None:
    x = torch.zeros(2, device=device, requires_grad=True)
    with (
        torch.autograd.detect_anomaly(check_nan=True),
        pytest.raises(RuntimeError, match=r"returned nan"),
        pytest.warns(UserWarning, match="test_autograd"),
    ):
        (x.sqrt() * 0).sum().backward()


def test_gradients_of_a_model_in_eval_and_train(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        model.to(where)
        model(arange(where, 3, 4)).sum().backward()
        return [p.grad for p in model.parameters()]

    expected = program(CPU)
    assert_same(program(device), expected, device, rtol=1e-4, atol=1e-5)
