"""Operators of torch.library with lowerings from outside, for the tests of those."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from support import ROOT
from torch import Tensor

JAX_TEXT = (Path(__file__).parent / "data" / "jax_running_softmax.mlir").read_text()


def load_example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("custom_op", ROOT / "examples" / "custom_op.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unary(name: str, lowering: Callable[..., Any] | None) -> Any:
    """An operator y = 2 x with this lowering."""
    import torch_pjrt

    @torch.library.custom_op(f"tpjrt_test::{name}", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x * 2

    op.register_fake(torch.empty_like)
    if lowering is not None:
        torch_pjrt.register_lowering(op, lowering)
    return op


def double(x: Any) -> str:
    """StableHLO of y = 2 x."""
    return (
        f"func.func @main(%x: {x}) -> {x} {{ %y = stablehlo.add %x, %x : {x}\n return %y : {x} }}"
    )


def compiled(fn: Callable[..., Any], *args: Any, dynamic: bool = False) -> tuple[Any, list[Any]]:
    """What the compiled function gives, and the records of the graphs it became."""
    from torch_pjrt.compile import report

    torch._dynamo.reset()
    before = len(report.records())
    result = torch.compile(fn, fullgraph=True, dynamic=dynamic)(*args)
    return result, report.records()[before:]


def assert_one_program(records: list[Any]) -> None:
    assert [(r.segments, r.breaks) for r in records] == [(1, [])]
