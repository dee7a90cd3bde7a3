"""Hooks on tensors, graph nodes and modules, and what is done with saved tensors."""

from typing import Any

import pytest
import torch
from support import check
from torch import nn
from torch.autograd import graph


def data(where: torch.device, *shape: int) -> torch.Tensor:
    return torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape).to(where)


def mlp(where: torch.device) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).to(where)


def test_every_kind_of_hook_sees_the_same(device: torch.device) -> None:
    def program(where: torch.device) -> list[Any]:
        log: list[Any] = []
        model, x = mlp(where), data(where, 2, 5).requires_grad_()

        def seen(name: str, value: torch.Tensor) -> None:
            log.append((name, value.detach().clone()))

        model[0].register_forward_pre_hook(lambda m, i: seen("before", i[0]))
        model[0].register_forward_hook(lambda m, i, o: seen("after", o))
        model[2].register_full_backward_pre_hook(lambda m, g: seen("backward before", g[0]))
        model[2].register_full_backward_hook(lambda m, i, o: seen("backward", i[0]))
        x.register_hook(lambda g: g * 2)
        weight = model[0].weight
        weight.register_post_accumulate_grad_hook(lambda p: seen("accumulated", p.grad))
        y = model(x)
        y.grad_fn.register_prehook(lambda g: seen("node before", g[0]))
        y.grad_fn.register_hook(lambda i, o: seen("node", o[0]))
        graph.register_multi_grad_hook(
            list(model.parameters()), lambda gs: log.append([g.clone() for g in gs])
        )
        y.sum().backward()
        return [log, x.grad]

    check(program, device, 1e-5, 1e-6)


def test_an_optimizer_in_the_backward(device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        model = mlp(where)
        steps = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

        def step(p: torch.Tensor) -> None:
            steps[p].step()
            steps[p].zero_grad()

        for p in model.parameters():
            p.register_post_accumulate_grad_hook(step)
        for _ in range(3):
            model(data(where, 2, 5)).square().sum().backward()
        assert all(p.grad is None for p in model.parameters())
        return [p.detach() for p in model.parameters()]

    check(program, device, 1e-5, 1e-6)


def gradients(where: torch.device, context: Any) -> list[torch.Tensor]:
    model = mlp(where)
    with context:
        y = model(data(where, 2, 5))
    y.sum().backward()
    return [p.grad for p in model.parameters()]


def test_saved_tensors_hooks(device: torch.device) -> None:
    def program(where: torch.device) -> list[Any]:
        packed: list[torch.Size] = []

        def pack(t: torch.Tensor) -> torch.Tensor:
            packed.append(t.shape)
            return t.cpu()

        context = graph.saved_tensors_hooks(pack, lambda t: t.to(where))
        return [*gradients(where, context), list(map(tuple, packed))]

    check(program, device, 1e-5, 1e-6)


@pytest.mark.own_device
def test_save_on_cpu_frees_the_device(device: torch.device) -> None:
    module = torch.get_device_module(device)
    expected = gradients(torch.device("cpu"), graph.save_on_cpu())
    for pin in (False, True):
        got = gradients(device, graph.save_on_cpu(pin_memory=pin, device_type=device.type))
        for g, e in zip(got, expected, strict=True):
            torch.testing.assert_close(g.cpu(), e, rtol=1e-5, atol=1e-6)
    x = torch.ones(1 << 18, device=device, requires_grad=True)
    module.synchronize()
    held = module.memory_allocated()
    with graph.save_on_cpu(pin_memory=True, device_type=device.type):
        y = (x.sin() * 2).sum()
    module.synchronize()
    assert module.memory_allocated() < held + x.nbytes
    y.backward()
    torch.testing.assert_close(x.grad.cpu(), 2 * torch.ones(1 << 18).cos())


def test_mutation_of_saved_tensors_can_be_allowed(device: torch.device) -> None:
    def program(where: torch.device) -> torch.Tensor:
        with graph.allow_mutation_on_saved_tensors():
            a = data(where, 3).requires_grad_()
            b = a.clone()
            loss = (b**2).sum()
            b.sin_()
            loss.backward()
            return a.grad

    check(program, device, 1e-5, 1e-6)
