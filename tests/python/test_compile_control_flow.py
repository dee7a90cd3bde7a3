"""torch.cond, while_loop and scan inside one executable; programs that torch.export saved."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
from compiled import assert_whole, check_compiled, compile_whole
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import torch_pjrt
from torch_pjrt.compile import report

pytestmark = pytest.mark.own_device


def choose(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x * 2, (x,))


@pytest.mark.parametrize("sign", [1, -1])
def test_cond(sign: int, device: torch.device) -> None:
    check_compiled(choose, sign * torch.ones(4, 8), device=device)


def test_one_program_serves_both_branches(device: torch.device) -> None:
    program = compile_whole(choose)
    ones, opposite = torch.ones(3, device=device), torch.full((3,), -1.0, device=device)
    program(ones)
    before = torch_pjrt.compile_count()
    assert program(opposite).tolist() == [-2.0] * 3
    assert torch_pjrt.compile_count() == before


def test_while_loop(device: torch.device) -> None:
    def program(x: torch.Tensor, limit: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        start = torch.zeros((), dtype=torch.int64, device=x.device)
        return while_loop(
            lambda i, x: (i < limit) & (x.sum() < 100),
            lambda i, x: (i + 1, x * 1.5 + limit),
            (start, x),
        )

    for limit in (0, 3, 50):
        check_compiled(program, torch.ones(4), torch.tensor(limit), device=device)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse: bool, device: torch.device) -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first = torch.zeros(8, device=x.device)
        return scan(lambda c, y: (c + y, c * y), first, x, dim=0, reverse=reverse)

    check_compiled(program, torch.randn(5, 8), device=device)


def test_control_flow_inside_control_flow(device: torch.device) -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def step(carry: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            y = torch.cond(y.sum() > 0, lambda y: y.clone(), lambda y: -y, (y,))
            return carry + y, carry * y

        return scan(step, torch.zeros(8, device=x.device), x, dim=0)

    check_compiled(program, torch.randn(5, 8), device=device)


@pytest.mark.parametrize("sign", [1, -1])
def test_gradients_through_cond(sign: int, device: torch.device) -> None:
    start = len(report.records())
    grads = []
    for where in ("cpu", device):
        x = (sign * torch.linspace(0.1, 1, 6)).to(where).requires_grad_()
        program = choose if where == "cpu" else compile_whole(choose)
        program(x).square().sum().backward()
        grads.append(x.grad.cpu())
    torch.testing.assert_close(grads[1], grads[0], rtol=1e-5, atol=1e-6)
    assert_whole(start)


def test_an_index_out_of_range_inside_a_branch_raises(device: torch.device) -> None:
    def program(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x, i: x[i] * 2, lambda x, i: x[:1] * 1.0, (x, i))

    compiled = compile_whole(program)
    index = torch.tensor([7], device=device)
    with pytest.raises(IndexError, match="7"):
        compiled(torch.ones(3, device=device), index).cpu()
    assert compiled(-torch.ones(3, device=device), index).tolist() == [-1.0]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.linear(x).relu() + torch.arange(4, device=x.device) + torch.tensor([0.5])[0]


def test_exported_programs(tmp_path: Path, device: torch.device) -> None:
    model = Model()
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(model, (torch.randn(3, 8),), dynamic_shapes=({0: batch},))
    path = tmp_path / "model.pt2"
    torch.export.save(program, path)
    stored = io.BytesIO(path.read_bytes())
    for source in (program, path, stored):
        start = len(report.records())
        loaded = torch_pjrt.load_exported(source)
        assert {p.device.type for p in loaded.parameters()} == {device.type}
        for rows in (3, 5):
            x = torch.randn(rows, 8)
            got = loaded(x.to(device))
            torch.testing.assert_close(got.cpu(), model(x), rtol=1e-5, atol=1e-5)
        assert_whole(start)
        assert dict(loaded.named_buffers())["calls"].item() == 2


def test_exported_programs_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.pt2"):
        torch_pjrt.load_exported(tmp_path / "missing.pt2")
    program = torch.export.export(Model(), (torch.randn(3, 8),))
    with pytest.raises(ValueError, match="not on cpu"):
        torch_pjrt.load_exported(program, "cpu")
