"""torch.autocast and torch.amp.GradScaler for the device."""

from typing import Any

import pytest
import torch
from support import check
from torch import nn

pytestmark = pytest.mark.own_device
F = torch.nn.functional
DTYPES = [torch.bfloat16, torch.float16]


def data(where: torch.device, *shape: int) -> torch.Tensor:
    return torch.linspace(-1, 1, torch.Size(shape).numel()).mul(2).sin().reshape(shape).to(where)


@pytest.mark.parametrize("dtype", DTYPES)
def test_which_operators_run_in_which_type(dtype: torch.dtype, device: torch.device) -> None:
    x = data(device, 4, 4)
    low = x.to(dtype)
    with torch.autocast(device.type, dtype=dtype):
        lowered = [
            x @ x,
            F.linear(x, x),
            torch.einsum("ij,jk->ik", x, x),
            F.conv1d(x[None], data(device, 3, 4, 2)),
            F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
            nn.LSTM(4, 4).to(device)(x[None])[0],
        ]
        raised = [
            low.softmax(-1),
            F.layer_norm(low, (4,)),
            low.exp(),
            low.sum(),
            low.cumsum(0),
            F.mse_loss(low, x),
            F.cross_entropy(low, torch.zeros(4, dtype=torch.int64, device=device)),
        ]
        assert {t.dtype for t in lowered} == {dtype}
        assert {t.dtype for t in raised} == {torch.float32}
        assert torch.cat([x, low]).dtype == torch.float32  # the widest of them
        assert (x + low).dtype == torch.float32
        assert torch.get_autocast_dtype(device.type) == dtype
        with torch.autocast(device.type, enabled=False):
            assert (x @ x).dtype == torch.float32
        with torch.autocast(device.type, dtype=torch.bfloat16):
            assert (x @ x).dtype == torch.bfloat16
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(x.sigmoid(), x.sigmoid())
    assert (x @ x).dtype == torch.float32


def test_availability_and_the_default_type(device: torch.device) -> None:
    assert torch.amp.is_autocast_available(device.type)
    x = data(device, 4, 4)
    with torch.autocast(device.type):
        assert (x @ x).dtype == torch.get_autocast_dtype(device.type) == torch.float16
    assert not torch.is_autocast_enabled(device.type)


def test_weights_are_cast_once(device: torch.device) -> None:
    layer, x = nn.Linear(4, 4).to(device), data(device, 2, 4)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        y = layer(x) + layer(x)
        y.sum().backward()
    assert layer.weight.grad.dtype == torch.float32
    casts = [str(y.grad_fn.next_functions[i][0].next_functions[2][0]) for i in (0, 1)]
    assert all("TBackward" in c or "ToCopyBackward" in c for c in casts)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_training_step_follows_the_cpus(dtype: torch.dtype, device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).to(where)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast(where.type, dtype=dtype):
                loss = model(data(where, 6, 8)).float().square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses

    check(program, device, 2e-2, 2e-3)


def test_custom_functions(device: torch.device) -> None:
    seen: list[Any] = []

    class Square(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=device.type, cast_inputs=torch.float32)
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            seen.append((x.dtype, torch.is_autocast_enabled(device.type)))
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.amp.custom_bwd(device_type=device.type)
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            seen.append(torch.is_autocast_enabled(device.type))
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=device.type)
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type=device.type)
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            seen.append(torch.is_autocast_enabled(device.type))
            return grad @ ctx.saved_tensors[0].t()

    x = data(device, 3, 3).requires_grad_()
    with torch.autocast(device.type, dtype=torch.bfloat16):
        square = Square.apply(x.bfloat16())
        product = Product.apply(x)
    square.sum().backward()
    product.sum().backward()
    assert (square.dtype, product.dtype) == (torch.float32, torch.bfloat16)
    assert seen == [(torch.float32, False), False, True]


def scaled_steps(where: torch.device, bad_step: int) -> tuple[list[Any], torch.amp.GradScaler]:
    torch.manual_seed(0)
    model = nn.Linear(4, 2).to(where)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(where.type, init_scale=64.0, growth_interval=2)
    log: list[Any] = []
    for step in range(5):
        optimizer.zero_grad()
        loss = model(data(where, 3, 4)).square().sum()
        if step == bad_step:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        log += [scaler.get_scale(), norm, *(p.detach().clone() for p in model.parameters())]
    return log, scaler


@pytest.mark.parametrize("bad_step", [-1, 1, 2])
def test_scaling_skips_what_overflowed(bad_step: int, device: torch.device) -> None:
    check(lambda w: scaled_steps(w, bad_step)[0], device, 1e-5, 1e-6)


def test_state_of_a_scaler(device: torch.device) -> None:
    scaler = scaled_steps(device, 1)[1]
    state = scaler.state_dict()
    assert state == scaled_steps(torch.device("cpu"), 1)[1].state_dict()
    twin = torch.amp.GradScaler(device.type)
    twin.load_state_dict(state)
    assert twin.get_scale() == scaler.get_scale() and twin.state_dict() == state
    x = [torch.ones(2, device=device), (torch.ones(1, device=device),)]
    scaled = scaler.scale(x)
    assert scaled[0].tolist() == [scaler.get_scale()] * 2 and isinstance(scaled[1], tuple)


def test_a_scaler_that_is_used_wrongly_says_so(device: torch.device) -> None:
    weight = nn.Parameter(torch.ones(2, device=device))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler(device.type)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)


def test_infinities_in_any_gradient_of_any_type_are_found(device: torch.device) -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        weights = [nn.Parameter(torch.ones(3, device=device, dtype=dtype)) for _ in range(3)]
        for weight in weights:
            weight.grad = torch.full_like(weight, 8)
        weights[1].grad[2] = float("nan")
        scaler = torch.amp.GradScaler(device.type, init_scale=4.0)
        if dtype == torch.float16:
            with pytest.raises(ValueError, match="FP16"):
                scaler.scale(weights[0].sum())
                scaler.unscale_(torch.optim.SGD(weights, lr=1.0))
            continue
        scaler.scale(weights[0].sum())
        optimizer = torch.optim.SGD(weights, lr=1.0)
        scaler.step(optimizer)
        assert all(w.tolist() == [1, 1, 1] for w in weights)
        assert weights[0].grad.tolist() == [2, 2, 2]
