"""Training with torch.compile: loss curves, optimizers, schedules, how many programs it takes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from compiled import assert_whole
from support import CPU
from torch import nn

from torch_pjrt.compile import report

F = nn.functional
pytestmark = pytest.mark.own_device
STEPS = 200
Batch = tuple[torch.Tensor, torch.Tensor]


def batches(count: int) -> list[Batch]:
    generator = torch.Generator().manual_seed(1)
    mixing = torch.randn(8, 4, generator=generator)
    inputs = [torch.randn(16, 8, generator=generator) for _ in range(count)]
    return [(x, (x @ mixing).argmax(1)) for x in inputs]


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4))


def sgd(model: nn.Module, rate: float) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=1e-3)


def loss_curve(
    device: torch.device, compiled: bool, rate: float = 0.05, steps: int = STEPS
) -> list[float]:
    model = network().to(device)
    optimizer = sgd(model, rate)

    def loss_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), y)

    step: Callable[[], object] = optimizer.step
    if compiled:
        torch._dynamo.reset()
        loss_of = torch.compile(loss_of, fullgraph=True)
        step = torch.compile(optimizer.step)
    curve = []
    for x, y in batches(steps):
        loss = loss_of(x.to(device), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        step()
        curve.append(loss.item())
    return curve


def differs(curve: list[float], reference: list[float]) -> bool:
    """Whether a step's loss is further from the reference's than a part in ten thousand."""
    a, b = torch.tensor(curve), torch.tensor(reference)
    return not torch.allclose(a, b, rtol=1e-4, atol=0)


@pytest.fixture(scope="module")
def reference() -> list[float]:
    return loss_curve(CPU, compiled=False)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_the_loss_curve_is_the_cpus(
    compiled: bool, reference: list[float], device: torch.device
) -> None:
    start = len(report.records())
    curve = loss_curve(device, compiled)
    assert not differs(curve, reference)
    assert curve[-1] < 0.5 * curve[0], "nothing was learned"
    if compiled:
        assert_whole(start)


def test_the_curve_would_show_a_rate_of_one_percent_more(reference: list[float]) -> None:
    assert differs(loss_curve(CPU, compiled=False, rate=0.05 * 1.01), reference)


OPTIMIZERS: dict[str, Callable[[nn.Module, torch.Tensor | float], torch.optim.Optimizer]] = {
    "sgd": lambda m, lr: torch.optim.SGD(m.parameters(), lr=lr, momentum=0.9, nesterov=True),
    "adamw": lambda m, lr: torch.optim.AdamW(
        m.parameters(), lr=lr, capturable=isinstance(lr, torch.Tensor)
    ),
    "adam, one by one": lambda m, lr: torch.optim.Adam(
        m.parameters(), lr=lr, foreach=False, capturable=isinstance(lr, torch.Tensor)
    ),
    "rmsprop": lambda m, lr: torch.optim.RMSprop(
        m.parameters(), lr=lr, capturable=isinstance(lr, torch.Tensor)
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_two_programs_and_a_schedule_compiles_once(
    name: str, device: torch.device, pjrt: ModuleType
) -> None:
    reference = network()
    model = copy.deepcopy(reference).to(device)
    wanted = OPTIMIZERS[name](reference, 1e-2)
    optimizer = OPTIMIZERS[name](model, torch.tensor(1e-2, device=device))

    def forward_and_backward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss.detach()

    torch._dynamo.reset()
    start = len(report.records())
    with torch._dynamo.config.patch(trace_autograd_ops=True):
        gradients = torch.compile(forward_and_backward, fullgraph=True)
        step = torch.compile(optimizer.step)
        compiled_after = []
        for x, y in batches(6):
            loss = F.cross_entropy(reference(x), y)
            wanted.zero_grad()
            loss.backward()
            wanted.step()
            optimizer.zero_grad()
            got = gradients(x.to(device), y.to(device))
            step()
            torch.testing.assert_close(got.cpu(), loss.detach(), rtol=1e-4, atol=1e-5)
            compiled_after.append(pjrt.compile_count())
            for group in (*wanted.param_groups, *optimizer.param_groups):
                if isinstance(group["lr"], torch.Tensor):
                    group["lr"].mul_(0.9)
                else:
                    group["lr"] *= 0.9
    assert_whole(start)
    assert compiled_after[2:] == [compiled_after[2]] * 4, "a new learning rate compiled something"
    for p, q in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(p.detach().cpu(), q.detach(), rtol=1e-3, atol=1e-4)


def test_clipping_and_accumulation(device: torch.device) -> None:
    results = []
    for where in (CPU, device):
        model = network().to(where)
        optimizer = sgd(model, 0.1)
        loss_of = lambda x, y, model=model: F.cross_entropy(model(x), y) / 2  # noqa: E731
        clip = lambda model=model: nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # noqa: E731
        if where is device:
            torch._dynamo.reset()
            loss_of, clip = torch.compile(loss_of, fullgraph=True), torch.compile(clip)
        norms = []
        for number, (x, y) in enumerate(batches(8)):
            loss_of(x.to(where), y.to(where)).backward()
            if number % 2:
                norms.append(clip().item())
                optimizer.step()
                optimizer.zero_grad()
        results.append((norms, [p.detach().cpu() for p in model.parameters()]))
    (norms, parameters), (got_norms, got_parameters) = results
    assert max(norms) > 0.5, "nothing was clipped"
    torch.testing.assert_close(got_norms, norms, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(got_parameters, parameters, rtol=1e-4, atol=1e-5)


def test_gradients_of_gradients_and_hooks_around_a_compiled_model(device: torch.device) -> None:
    model = network().to(device)
    reference = network()
    seen = []
    model[0].weight.register_hook(lambda grad: seen.append(grad.shape))
    x, y = batches(1)[0]
    F.cross_entropy(torch.compile(model, fullgraph=True)(x.to(device)), y.to(device)).backward()
    F.cross_entropy(reference(x), y).backward()
    assert seen == [(32, 8)]
    for p, q in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(p.grad.cpu(), q.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_replays_dropout(reentrant: bool, device: torch.device) -> None:
    from torch.utils.checkpoint import checkpoint

    x = torch.randn(16, 8).to(device).requires_grad_()

    def block(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(torch.sin(x) * 2, 0.5)

    def program(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(block, x, use_reentrant=reentrant)

    torch._dynamo.reset()
    compiled = torch.compile(program, fullgraph=not reentrant)
    for run in (program, compiled):
        x.grad = None
        out = run(x)
        out.sum().backward()
        kept = out.detach() != 0
        assert 0 < int(kept.sum()) < kept.numel()
        wanted = torch.where(kept, 4 * torch.cos(x.detach()), 0)
        torch.testing.assert_close(x.grad.cpu(), wanted.cpu(), rtol=1e-5, atol=1e-6)


def test_compiled_autograd(device: torch.device) -> None:
    model, reference = network().to(device), network()
    start = len(report.records())
    x, y = batches(1)[0]
    torch._dynamo.reset()
    with torch._dynamo.config.patch(compiled_autograd=True):

        @torch.compile
        def train(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        train(x.to(device), y.to(device))
    F.cross_entropy(reference(x), y).backward()
    assert_whole(start)
    for p, q in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(p.grad.cpu(), q.grad, rtol=1e-4, atol=1e-5)


def test_autocast_inside(device: torch.device) -> None:
    model = network().to(device)
    x = batches(1)[0][0].to(device)

    def program(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return model(x)

    torch._dynamo.reset()
    start = len(report.records())
    got = torch.compile(program, fullgraph=True)(x)
    assert got.dtype == torch.bfloat16
    assert_whole(start)
    torch.testing.assert_close(got.cpu(), program(x).cpu(), rtol=3e-2, atol=3e-2)


def resident_bytes() -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def test_ten_thousand_steps_take_no_more_memory(device: torch.device, pjrt: ModuleType) -> None:
    weight = torch.zeros(64, 64, device=device)
    torch._dynamo.reset()

    @torch.compile(fullgraph=True)
    def step(x: torch.Tensor) -> torch.Tensor:
        weight.mul_(0.99).add_(x, alpha=0.01)
        return weight.sum()

    x = torch.ones(64, 64, device=device)
    for _ in range(500):
        step(x)
    held, resident = torch.accelerator.memory_allocated(), None
    for number in range(10_000):
        total = step(x)
        if number % 1000 == 0:
            total.item()
        if number == 2000:
            resident = resident_bytes()
    total.item()
    assert torch.accelerator.memory_allocated() - held < 2 * weight.nbytes
    assert resident is not None
    assert resident_bytes() - resident < 16 << 20
