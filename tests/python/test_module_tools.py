"""What torch.nn.utils, torch.optim.swa_utils and torch.nn offer around modules."""

import copy
import pickle
import warnings
from typing import Any

import pytest
import torch
from support import check
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune
from torch.optim import swa_utils


def data(where: torch.device, *shape: int) -> torch.Tensor:
    return torch.linspace(-1, 1, torch.Size(shape).numel()).mul(2).sin().reshape(shape).to(where)


def mlp(where: torch.device) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).to(where)


class Symmetric(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x: torch.Tensor) -> torch.Tensor:
        return x.triu()


def test_parametrize(device: torch.device) -> None:
    def program(where: torch.device) -> list[Any]:
        torch.manual_seed(0)
        layer = nn.Linear(4, 4).to(where)
        parametrize.register_parametrization(layer, "weight", Symmetric())
        with parametrize.cached():
            y = layer(data(where, 2, 4))
        y.sum().backward()
        gradient = layer.parametrizations.weight.original.grad
        layer.weight = torch.ones(4, 4, device=where)
        before = layer.weight.detach().clone()
        parametrize.remove_parametrizations(layer, "weight")
        return [y.detach(), gradient, before, layer.weight.detach()]

    check(program, device, 1e-5, 1e-6)


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm", "orthogonal"])
def test_parametrizations(name: str, device: torch.device) -> None:
    def program(where: torch.device) -> list[Any]:
        torch.manual_seed(0)
        layer = getattr(parametrizations, name)(nn.Linear(4, 3)).to(where)
        y = layer(data(where, 2, 4))
        y.sin().sum().backward()
        return [y.detach(), *(p.grad for p in layer.parameters())]

    check(program, device, 1e-4, 1e-5)


def test_weight_norm_of_old(device: torch.device) -> None:
    def program(where: torch.device) -> list[Any]:
        torch.manual_seed(0)
        layer = nn.Linear(4, 3).to(where)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = nn.utils.weight_norm(layer)
        y = layer(data(where, 2, 4))
        y.sin().sum().backward()
        gradients = [layer.weight_g.grad, layer.weight_v.grad]
        nn.utils.remove_weight_norm(layer)
        return [y.detach(), *gradients, layer.weight.detach()]

    check(program, device, 1e-4, 1e-5)


@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf")])
def test_gradient_clipping(norm_type: float, foreach: bool | None, device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        model = mlp(where)
        model(data(where, 2, 5)).sum().backward()
        parameters = list(model.parameters())
        norm = nn.utils.clip_grad_norm_(parameters, 0.1, norm_type, foreach=foreach)
        clipped = [p.grad.clone() for p in parameters]
        nn.utils.clip_grad_value_(parameters, 0.01, foreach=foreach)
        return [norm, *clipped, *(p.grad for p in parameters)]

    check(program, device, 1e-5, 1e-6)


def test_a_norm_that_is_not_finite_raises(device: torch.device) -> None:
    model = mlp(device)
    model(data(device, 2, 5)).sum().backward()
    model[0].weight.grad.fill_(float("nan"))
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(model.parameters(), 0.1, error_if_nonfinite=True)


def test_parameters_as_a_vector(device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        model = mlp(where)
        vector = nn.utils.parameters_to_vector(model.parameters()).detach()
        nn.utils.vector_to_parameters(vector * 2, model.parameters())
        return [vector, *(p.detach() for p in model.parameters())]

    check(program, device)


@pytest.mark.parametrize("how", ["mean", "ema"])
def test_averaged_models(how: str, device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).to(where)
        averages = {"mean": None, "ema": swa_utils.get_ema_multi_avg_fn(0.9)}
        averaged = swa_utils.AveragedModel(model, multi_avg_fn=averages[how])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = swa_utils.SWALR(optimizer, swa_lr=0.05)
        for _ in range(3):
            optimizer.zero_grad()
            model(data(where, 6, 5)).square().sum().backward()
            optimizer.step()
            averaged.update_parameters(model)
            schedule.step()
        swa_utils.update_bn([data(where, 6, 5), data(where, 4, 5)], averaged)
        return [*(p.detach() for p in averaged.parameters()), *averaged.module.buffers()]

    check(program, device, 1e-4, 1e-5)


def test_copies_and_pickles_of_modules(device: torch.device) -> None:
    def program(where: torch.device) -> list[Any]:
        model = mlp(where)
        model.register_buffer("offset", data(where, 3))
        model.tied = model[0].weight
        twin = copy.deepcopy(model)
        with torch.no_grad():
            twin[0].weight.add_(1)
        again = pickle.loads(pickle.dumps(twin))
        assert again.tied is again[0].weight and twin.tied is twin[0].weight
        return [
            *(p.detach() for p in again.parameters()),
            *again.buffers(),
            *(p.detach() for p in model.parameters()),
        ]

    check(program, device)


def test_pruning(device: torch.device) -> None:
    def program(where: torch.device) -> torch.Tensor:
        model = mlp(where)
        prune.l1_unstructured(model[0], "weight", amount=0.3)
        prune.ln_structured(model[2], "weight", 0.3, n=2, dim=0)
        y = model(data(where, 2, 5)).detach()
        prune.remove(model[0], "weight")
        return y

    check(program, device, 1e-5, 1e-6)


def test_models_that_start_on_meta(device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        state = {"weight": torch.ones(3, 4), "bias": torch.zeros(3)}
        with torch.device("meta"):
            first, second = nn.Linear(4, 3), nn.Linear(4, 3)
        first = first.to_empty(device=where)
        first.load_state_dict(state)
        second.load_state_dict({k: v.to(where) for k, v in state.items()}, assign=True)
        x = data(where, 2, 4)
        return [first(x).detach(), second(x).detach()]

    check(program, device, 1e-5, 1e-6)
