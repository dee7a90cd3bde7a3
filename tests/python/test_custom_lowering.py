"""Lowerings from outside: flash attention, modules exported by JAX, several in one graph."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from custom_lowering import JAX_TEXT, assert_one_program, compiled, double, load_example, unary
from support import ROOT, output_of
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

pytestmark = pytest.mark.own_device


@pytest.fixture(scope="session")
def flash() -> ModuleType:
    """The example, which is where the flash attention operators come from."""
    return load_example()


def qkv(dtype: torch.dtype, keys: int = 256) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(2, 20, 3, 8), (2, keys, 3, 8), (2, keys, 3, 8)]
    return [torch.randn(s, generator=generator).to(dtype).transpose(1, 2) for s in shapes]


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_flash_attention_is_sdpa(
    flash: ModuleType, device: torch.device, dtype: torch.dtype, causal: bool, mode: str
) -> None:
    inputs = qkv(dtype)  # transposed: not contiguous
    expected = scaled_dot_product_attention(
        *(t.float() for t in inputs), is_causal=causal, scale=0.3
    ).to(dtype)

    def program(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flash.attention(q, k, v, 0.3, causal)[0]

    given = [t.to(device) for t in inputs]
    if mode == "eager":
        result = program(*given)
    else:
        result, records = compiled(program, *given)
        assert_one_program(records)
    assert result.dtype == dtype and result.device.type == device.type
    torch.testing.assert_close(result.cpu(), expected)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention_trains(
    flash: ModuleType, device: torch.device, causal: bool, mode: str
) -> None:
    inputs = [t.requires_grad_() for t in qkv(torch.float32)]
    expected = scaled_dot_product_attention(*inputs, is_causal=causal, scale=0.3)
    expected.square().sum().backward()
    given = [t.detach().to(device).requires_grad_() for t in inputs]

    def program(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flash.attention(q, k, v, 0.3, causal)[0].square().sum()

    if mode == "eager":
        program(*given).backward()
    else:
        loss, records = compiled(program, *given)
        loss.backward()
        assert all(r.breaks == [] and r.segments == 1 for r in records)
    for mine, theirs in zip(given, inputs, strict=True):
        assert mine.grad is not None and theirs.grad is not None
        torch.testing.assert_close(mine.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-5)


def test_the_device_runs_the_lowering_and_not_the_body(
    flash: ModuleType, device: torch.device, pjrt: ModuleType
) -> None:
    given = [t.to(device) for t in qkv(torch.float32, keys=24)]
    flash.attention(*given, 0.3, False)
    before = pjrt.compile_count()
    flash.attention(*given, 0.3, False)  # known: nothing is compiled
    assert pjrt.compile_count() == before
    flash.attention(*given, 0.5, False)  # one program, not one for each operator of the body
    assert pjrt.compile_count() == before + 1
    assert pjrt.fallback_counts() == {}


def test_the_example_trains_like_the_cpu() -> None:
    lines = output_of(f"import runpy; runpy.run_path({str(ROOT / 'examples' / 'custom_op.py')!r},"
                      " run_name='__main__')").splitlines()  # fmt: skip
    curves = [[float(word) for word in line.split() if "." in word] for line in lines]
    assert len(curves) == 3 and len(curves[0]) == 5
    assert curves[0][-1] < curves[0][0]
    for curve in curves[1:]:
        assert curve == pytest.approx(curves[0], rel=1e-4)


# --- Texts. ---------------------------------------------------------------------------------------


class Exported:
    """What this project uses of jax.export.Exported, for the text in data/."""

    module_kept_var_idx = (0, 2)

    def mlir_module(self) -> str:
        return JAX_TEXT


def running_softmax(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    totals = (x @ w).cumsum(0)
    return totals.softmax(-1), totals[-1].clone()


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_a_module_exported_by_jax(device: torch.device, pjrt: ModuleType, mode: str) -> None:
    @torch.library.custom_op(f"tpjrt_test::jax_{mode}", mutates_args=())
    def op(x: Tensor, unused: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        return running_softmax(x, w)

    @op.register_fake
    def _(x: Tensor, unused: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        return x.new_empty(x.shape[0], w.shape[1]), x.new_empty(w.shape[1])

    pjrt.register_lowering(op, lambda x, unused, w: Exported())
    inputs = [torch.randn(3, 4), torch.randn(7), torch.randn(4, 5)]
    expected = op(*inputs)
    given = [t.to(device) for t in inputs]
    if mode == "eager":
        result: Any = op(*given)
    else:
        result, records = compiled(lambda *a: op(*a), *given)
        assert_one_program(records)
    for mine, theirs in zip(result, expected, strict=True):
        torch.testing.assert_close(mine.cpu(), theirs)


def test_jax_text_twice_beside_other_helpers_of_the_same_names(
    device: torch.device, pjrt: ModuleType
) -> None:
    @torch.library.custom_op("tpjrt_test::jax_text", mutates_args=())
    def op(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        return running_softmax(x, w)

    @op.register_fake
    def _(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        return x.new_empty(x.shape[0], w.shape[1]), x.new_empty(w.shape[1])

    pjrt.register_lowering(op, lambda x, w: JAX_TEXT)
    other = unary(
        "clash",
        lambda x: (
            f"""module {{
        func.func private @closed_call(%x: {x}) -> {x} {{
          %y = stablehlo.add %x, %x : {x}
          return %y : {x}
        }}
        func.func public @main(%x: {x}) -> {x} {{
          %y = call @closed_call(%x) : ({x}) -> {x}
          return %y : {x}
        }} }}"""
        ),
    )
    x, w = torch.randn(3, 4), torch.randn(4, 5)

    def program(x: Tensor, w: Tensor) -> Tensor:
        first, total = op(other(x), w)
        second, _ = op(x, other(w))
        return first * second + other(total)

    result, records = compiled(program, x.to(device), w.to(device))
    assert_one_program(records)
    torch.testing.assert_close(result.cpu(), program(x, w), rtol=1e-5, atol=1e-6)


def test_two_calls_share_a_function_and_two_texts_do_not(device: torch.device) -> None:
    from torch_pjrt import _stablehlo

    op = unary("shared", double)
    x = torch.arange(6.0)
    result, records = compiled(lambda x: op(op(x)) + op(x[:3]).sum(), x.to(device))
    assert_one_program(records)
    torch.testing.assert_close(result.cpu(), x * 4 + 6)
    first, second = (_stablehlo.read_module(double(f"tensor<{n}xf32>"), "a::b") for n in (3, 6))
    assert first.symbol != second.symbol
