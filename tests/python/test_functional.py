"""torch.func and forward-mode differentiation."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from support import check
from torch import nn
from torch.autograd import forward_ad
from torch.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

F = torch.nn.functional


def data(where: torch.device, *shape: int) -> torch.Tensor:
    return torch.linspace(-1, 1, torch.Size(shape).numel()).mul(3).sin().reshape(shape).to(where)


def mlp(where: torch.device, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).to(where)


def product(x: torch.Tensor) -> torch.Tensor:
    return (x @ x.t()).tanh()


def per_sample_gradients(where: torch.device) -> object:
    model = mlp(where)
    parameters = dict(model.named_parameters())

    def loss(p: Any, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(functional_call(model, p, (x[None],)), target[None])

    targets = torch.tensor([0, 1, 2, 0]).to(where)
    return vmap(grad(loss), (None, 0, 0))(parameters, data(where, 4, 5), targets)


def ensemble(where: torch.device) -> object:
    models = [mlp(where, seed) for seed in range(3)]
    parameters, buffers = stack_module_state(models)
    skeleton = copy.deepcopy(models[0]).to("meta")

    def call(p: Any, b: Any, x: torch.Tensor) -> torch.Tensor:
        return functional_call(skeleton, (p, b), (x,))

    return vmap(call, (0, 0, None))(parameters, buffers, data(where, 2, 5)).detach()


def tangents_of_parameters(where: torch.device) -> object:
    model = mlp(where)
    parameters = {k: v.detach() for k, v in model.named_parameters()}
    tangents = {k: torch.ones_like(v) for k, v in parameters.items()}
    x = data(where, 2, 5)
    return jvp(lambda p: functional_call(model, p, (x,)), (parameters,), (tangents,))


def pulled_back(where: torch.device) -> object:
    output, pull = vjp(product, data(where, 3, 4))
    return output, pull(torch.ones_like(output))


def mutation(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.add_(1)
    y[0] = 3
    return y


PROGRAMS: dict[str, Callable[[torch.device], object]] = {
    "grad": lambda w: grad_and_value(lambda x: (x.sin() ** 2).sum())(data(w, 4, 3)),
    "vmap": lambda w: vmap(lambda a, b: (a @ b).softmax(-1))(data(w, 4, 3, 2), data(w, 4, 2, 5)),
    "vmap of vmap": lambda w: vmap(vmap(torch.dot))(data(w, 2, 3, 4), data(w, 2, 3, 4)),
    "vmap of a convolution": lambda w: vmap(lambda x, k: F.conv2d(x, k, padding=1))(
        data(w, 2, 1, 2, 5, 5), data(w, 2, 3, 2, 3, 3)
    ),
    "vmap in place": lambda w: vmap(lambda x: x.clone().mul_(2).add_(x))(data(w, 3, 4)),
    "jvp": lambda w: jvp(product, (data(w, 3, 4),), (data(w, 3, 4) * 2,)),
    "vjp": pulled_back,
    "jacrev": lambda w: jacrev(product)(data(w, 3, 4)),
    "jacfwd": lambda w: jacfwd(product)(data(w, 3, 4)),
    "hessian": lambda w: hessian(lambda x: (x.sin() * x.prod()).sum())(data(w, 4)),
    "functionalize": lambda w: functionalize(mutation)(data(w, 4)),
    "per-sample gradients": per_sample_gradients,
    "ensemble": ensemble,
    "tangents of parameters": tangents_of_parameters,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_transform(name: str, pjrt: Any, device: torch.device) -> None:
    check(PROGRAMS[name], device, 1e-4, 1e-5)
    assert pjrt.fallback_counts() == {}


def test_randomness_of_vmap(device: torch.device) -> None:
    zeros = torch.zeros(2, 100, device=device)
    drawn = vmap(lambda x: x + torch.randn_like(x), randomness="different")(zeros).cpu()
    assert not torch.equal(drawn[0], drawn[1])
    drawn = vmap(lambda x: F.dropout(x + 1, 0.5), randomness="same")(zeros).cpu()
    assert torch.equal(drawn[0], drawn[1]) and len(drawn.unique()) == 2
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(torch.randn_like)(zeros)


def dual(program: Callable[[torch.Tensor], torch.Tensor], *shape: int) -> Callable[..., object]:
    def run(where: torch.device) -> object:
        with forward_ad.dual_level():
            x = forward_ad.make_dual(data(where, *shape), data(where, *shape) + 1)
            return tuple(forward_ad.unpack_dual(program(x)))

    return run


def through_views(x: torch.Tensor) -> torch.Tensor:
    return (x @ x).sin().softmax(-1).view(2, 8)[:, 1:5]


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.mul_(2)
    y[0] = x[1]
    return F.gelu(torch.cat([y, x]))


def convolution(x: torch.Tensor) -> torch.Tensor:
    kernel = data(x.device, 4, 3, 3, 3)
    return F.max_pool2d(F.batch_norm(F.conv2d(x, kernel), None, None, training=True), 2)


DUALS = {
    "views": dual(through_views, 4, 4),
    "in place": dual(in_place, 4, 4),
    "convolution": dual(convolution, 2, 3, 8, 8),
    "no tangent": dual(lambda x: x.detach() * 2, 3),
}


@pytest.mark.parametrize("name", DUALS)
def test_dual_numbers(name: str, device: torch.device) -> None:
    def program(where: torch.device) -> object:
        found = DUALS[name](where)
        return [value for value in found if value is not None]

    check(program, device, 1e-4, 1e-5)


def test_forward_over_reverse(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = data(where, 4).requires_grad_()
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, torch.ones(4, device=where))
            (first,) = torch.autograd.grad((y.sin() * y).sum(), x, create_graph=True)
            return forward_ad.unpack_dual(first).tangent.detach()

    check(program, device, 1e-5, 1e-6)


def test_numerical_check_of_all_modes(device: torch.device) -> None:
    x = data(device, 2, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda t: (t @ t).tanh(), (x,), check_forward_ad=True, check_batched_grad=True
    )
