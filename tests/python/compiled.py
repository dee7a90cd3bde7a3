"""Running a program through torch.compile, and proving that our executables ran it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from support import CPU, assert_same, leaves

from torch_pjrt.compile import report


def compile_whole(program: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The program compiled in one piece, by the default backend of torch.compile."""
    torch._dynamo.reset()
    return torch.compile(program, fullgraph=True, **options)


def graphs_since(start: int) -> list[report.GraphRecord]:
    """The graphs compiled since `len(report.records())` was `start`."""
    return report.records()[start:]


def assert_whole(start: int) -> None:
    """Something of ours was compiled since, and nothing ran between executables."""
    graphs = graphs_since(start)
    assert graphs, "no graph reached the device's backend"
    assert sum(graph.segments for graph in graphs) >= 1, "no executable of ours ran"
    breaks = [b for graph in graphs for b in graph.breaks]
    assert breaks == [], f"between executables: {breaks}"


def check_compiled(
    program: Callable[..., Any],
    *arguments: Any,
    device: torch.device,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    **options: Any,
) -> None:
    """`program(*arguments)` compiled on the device equals the CPU's eager result.

    Tensors among the arguments are copied for each run; what the program does to them is compared
    too.
    """
    start = len(report.records())

    def run(where: torch.device, function: Callable[..., Any]) -> Any:
        torch.manual_seed(0)
        own = [
            a.detach().clone().to(where).requires_grad_(a.requires_grad)
            if isinstance(a, torch.Tensor)
            else a
            for a in arguments
        ]
        return function(*own), own

    expected = run(CPU, program)
    actual = run(device, compile_whole(program, **options))
    assert_same(_detached(actual), _detached(expected), device, rtol, atol)
    assert_whole(start)


def _detached(value: Any) -> list[Any]:
    return [v.detach() if isinstance(v, torch.Tensor) else v for v in leaves(value)]
