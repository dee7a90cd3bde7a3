"""Running out of memory is an error that a program survives; the counts stay true."""

from collections.abc import Callable

import pytest
import torch

pytestmark = pytest.mark.own_device
HUGE = 1 << 20  # squared, times 4 bytes: 4 TiB

TOO_MUCH: dict[str, Callable[[torch.device], object]] = {
    "empty": lambda d: torch.empty(1 << 46, dtype=torch.uint8, device=d),
    "zeros": lambda d: torch.zeros(HUGE, HUGE, device=d).sum().item(),
    "matmul": lambda d: torch.ones(HUGE, 1, device=d) @ torch.ones(1, HUGE, device=d),
    "contiguous": lambda d: torch.ones(HUGE, 1, device=d).expand(-1, HUGE).contiguous(),
    "cat": lambda d: torch.cat([torch.ones(HUGE, 1, device=d).expand(-1, HUGE)] * 2),
    "in place": lambda d: torch.ones(1, device=d).resize_(HUGE, HUGE).add_(1),
    "copy": lambda d: torch.ones(1).expand(HUGE, HUGE).to(d),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_is_out_of_memory_and_the_program_goes_on(name: str, device: torch.device) -> None:
    module = torch.get_device_module(device)
    kept = torch.arange(8.0, device=device)
    module.synchronize()
    module.empty_cache()  # running out of memory does that too
    held = module.memory_allocated()
    module.reset_peak_memory_stats()
    with pytest.raises(torch.OutOfMemoryError, match="memory"):
        TOO_MUCH[name](device)
    module.synchronize()
    module.empty_cache()
    assert module.memory_allocated() == held
    assert module.max_memory_allocated() < held + (64 << 20)
    assert (kept * 2).sum().item() == 56


def test_out_of_memory_in_a_backward(device: torch.device) -> None:
    x = torch.ones(HUGE, 1, device=device, requires_grad=True)
    y = torch.ones(1, device=device, requires_grad=True)

    class Grow(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, a: torch.Tensor) -> torch.Tensor:
            return a.clone()

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            return (x.detach() @ x.detach().t()).sum() * grad

    with pytest.raises(torch.OutOfMemoryError):
        Grow.apply(y).backward()
    (y * 2).backward()
    assert y.grad.item() == 2


def test_counts_follow_allocations(device: torch.device) -> None:
    module = torch.get_device_module(device)
    module.synchronize()
    start = module.memory_allocated()
    module.reset_peak_memory_stats()
    x = torch.ones(1 << 20, device=device)
    y = x + 1
    module.synchronize()
    assert module.memory_allocated() == start + x.nbytes + y.nbytes
    del y
    module.synchronize()
    assert module.memory_allocated() == start + x.nbytes
    assert module.max_memory_allocated() == start + 2 * x.nbytes
    assert torch.accelerator.max_memory_allocated() == module.max_memory_allocated()
    x = x[:4].clone()
    module.synchronize()
    assert module.memory_allocated() == start + x.nbytes
    module.reset_peak_memory_stats()
    assert module.max_memory_allocated() == module.memory_allocated()
