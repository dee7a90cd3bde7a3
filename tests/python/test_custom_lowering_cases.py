"""Lowerings from outside: what a text may hold, errors, arguments of all kinds."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

import pytest
import torch
from custom_lowering import assert_one_program, compiled, double, unary
from torch import Tensor

pytestmark = pytest.mark.own_device


def test_what_a_text_may_hold() -> None:
    from torch_pjrt._stablehlo import read_module

    module = read_module(
        """
        #scope = "a string with } and @main"   // a comment with {
        module @jit_f attributes {jax.uses_shape_polymorphism = false} {
          sdy.mesh @mesh = <["x"=1]>
          func.func public @main(%arg0: tensor<2 x f32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
                                 %arg1: tensor<i1> loc("y"))
              -> (tensor<?x3xf32, #stablehlo.bounds<4, ?>> {jax.result_info = "r[0]"}, tensor<i1>)
              attributes {no_inline} {
            %0 = stablehlo.custom_call @helper(%arg1) {note = #scope} : (tensor<i1>) -> tensor<i1>
            %1 = call @helper(%arg1) : (tensor<i1>) -> tensor<i1>
            %2 = call @"odd name"(%arg1) : (tensor<i1>) -> tensor<i1>
          } loc(#later)
          func.func private @helper(%arg0: tensor<i1>) -> tensor<i1> { }
          func.func private @"odd name"(%arg0: tensor<i1>) -> tensor<i1> { }
        } loc(unknown)
        #later = loc("f"(#other.thing))
        """,
        "my::op",
    )
    assert module.inputs == ("tensor<2xf32>", "tensor<i1>")
    assert module.outputs == ("tensor<?x3xf32,#stablehlo.bounds<4,?>>", "tensor<i1>")
    prefix = module.symbol
    assert prefix.startswith("my__op_")
    assert f"func.func private @{prefix}(%arg0" in module.functions
    assert "custom_call @helper(" in module.functions  # of the plugin
    assert f"call @{prefix}.1.helper(" in module.functions
    assert f"call @{prefix}.2._odd_name_(" in module.functions
    assert f"sdy.mesh @{prefix}.mesh = " in module.functions
    assert f"#sdy.sharding<@{prefix}.mesh," in module.functions
    assert f"note = #{prefix}_scope" in module.functions and "public" not in module.functions
    assert module.aliases.splitlines()[0].startswith(f'#{prefix}_scope = "a string with }} and @ma')
    assert f"#{prefix}_later = loc" in module.aliases


BROKEN = {
    "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {": "never closed",
    "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> } }": "closes",
    "func.func private @main(%x: tensor<2xf32>) -> tensor<2xf32> { }": "public are: none",
    "func.func @f() { }\nfunc.func @g() { }": "public are: @f, @g",
    "func.func private @f(tensor<2xf32>) -> tensor<2xf32>": "no body",
    "HloModule f": "expected `module {`",
    "": "public are: none",
    "module attributes {mhlo.num_partitions = 4 : i32} { }": "4 partitions",
}


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_broken_texts_say_what_is_wrong(device: torch.device, number: int) -> None:
    text, words = list(BROKEN.items())[number]
    op = unary(f"broken_{number}", lambda x: text)
    with pytest.raises(ValueError, match="tpjrt_test::broken_") as raised:
        op(torch.ones(2, device=device))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"ML\xefR\r", "bytecode"),
        (3, "returned int"),
    ],
)
def test_answers_that_are_no_text(device: torch.device, answer: Any, words: str) -> None:
    op = unary(f"no_text_{words.split()[0]}", lambda x: answer)
    with pytest.raises(TypeError, match=f"tpjrt_test::no_text.*{words}"):
        op(torch.ones(2, device=device))


def test_wrong_types_name_both(device: torch.device) -> None:
    op = unary("wrong_input", lambda x: double("tensor<2xbf16>"))
    with pytest.raises(ValueError, match=r"wrong_input.*tensor<2xbf16>.*tensor<2xf32>"):
        op(torch.ones(2, device=device))
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> { }"
    op = unary("wrong_result", lambda x: text)
    with pytest.raises(ValueError, match=r"returns \(tensor<3xf32>\).*\(tensor<2xf32>\)"):
        op(torch.ones(2, device=device))


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_the_compiler_s_complaint_names_the_operator(device: torch.device, mode: str) -> None:
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { %y = stablehlo.nonsense %x }"
    op = unary(f"nonsense_{mode}", lambda x: text)
    x = torch.ones(2, device=device)
    with pytest.raises(Exception, match=f"tpjrt_test::nonsense_{mode}") as raised:
        op(x) if mode == "eager" else compiled(lambda x: op(x) + 1, x)
    assert "nonsense" in str(raised.value)
    torch.testing.assert_close((x + 1).cpu(), torch.full((2,), 2.0))


def test_an_error_of_the_lowering_itself_names_the_operator(device: torch.device) -> None:
    def lowering(x: Any) -> str:
        raise KeyError("mine")

    op = unary("raises", lowering)
    with pytest.raises(KeyError, match="mine") as raised:
        op(torch.ones(2, device=device))
    assert "tpjrt_test::raises" in "".join(raised.value.__notes__)


# --- Cases that a lowering does not serve. --------------------------------------------------------


def test_none_runs_the_body_on_the_device(device: torch.device, pjrt: ModuleType) -> None:
    op = unary("declines", lambda x: double(x) if len(x.shape) == 1 else None)
    for x in (torch.arange(3.0), torch.ones(2, 2)):
        torch.testing.assert_close(op(x.to(device)).cpu(), x * 2)
    assert pjrt.fallback_counts() == {}
    result, records = compiled(lambda x: op(x + 1) * 3, torch.ones(2, 2, device=device))
    torch.testing.assert_close(result.cpu(), torch.full((2, 2), 12.0))
    assert "does not serve this case" in records[0].breaks[0][1]


def test_none_falls_back_to_a_cpu_kernel(device: torch.device, pjrt: ModuleType) -> None:
    @torch.library.custom_op("tpjrt_test::on_cpu", mutates_args=("x",), device_types="cpu")
    def op(x: Tensor, by: float) -> Tensor:
        x.mul_(by)
        return torch.from_numpy(x.numpy() + 1)

    op.register_fake(lambda x, by: torch.empty_like(x))
    pjrt.register_lowering(op, lambda x, by: None)
    x = torch.ones(2, device=device)
    with pjrt.set_fallback("silent"):
        torch.testing.assert_close(op(x, 3.0).cpu(), torch.full((2,), 4.0))
    torch.testing.assert_close(x.cpu(), torch.full((2,), 3.0))
    assert pjrt.fallback_counts() == {"tpjrt_test::on_cpu": 1}
    with (
        pjrt.set_fallback("error"),
        pytest.raises(NotImplementedError, match=r"on_cpu\(tensor<2xf32>\).*does not serve"),
    ):
        op(x, 3.0)


# --- Schemas. -------------------------------------------------------------------------------------


def scale_and_norm(x: Any, by: float) -> str:
    """x *= by in place, and the old x's sum."""
    scalar = f"tensor<{x.element}>"
    return f"""func.func @main(%x: {x}) -> ({scalar}, {x}) {{
      %zero = stablehlo.constant dense<0.0> : {scalar}
      %by = stablehlo.constant dense<{by:e}> : {x}
      %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
        : ({x}, {scalar}) -> {scalar}
      %y = stablehlo.multiply %x, %by : {x}
      return %sum, %y : {scalar}, {x}
    }}"""


def test_mutated_arguments(device: torch.device, pjrt: ModuleType) -> None:
    @torch.library.custom_op("tpjrt_test::scale_", mutates_args=("x",))
    def op(x: Tensor, by: float) -> Tensor:
        total = x.sum()
        x.mul_(by)
        return total

    op.register_fake(lambda x, by: x.new_empty(()))
    pjrt.register_lowering(op, scale_and_norm)

    def whole(x: Tensor) -> list[Tensor]:
        return [op(x, 3.0), x + 1]

    def part(x: Tensor) -> list[Tensor]:
        return [op(x[::2], 3.0), x + 1]

    for program in (whole, part):
        reference, eager, fused = (torch.arange(6.0).to(d) for d in ("cpu", device, device))
        expected = [*program(reference), reference]
        version = eager._version
        for mine, theirs in zip([*program(eager), eager], expected, strict=True):
            torch.testing.assert_close(mine.cpu(), theirs)
        assert eager._version > version
        result, records = compiled(program, fused)
        for mine, theirs in zip([*result, fused], expected, strict=True):
            torch.testing.assert_close(mine.cpu(), theirs)
        if program is whole:
            assert_one_program(records)


def test_an_operator_that_only_mutates(device: torch.device, pjrt: ModuleType) -> None:
    @torch.library.custom_op("tpjrt_test::swap_", mutates_args=("a", "b"))
    def op(a: Tensor, b: Tensor) -> None:
        old = a.clone()
        a.copy_(b)
        b.copy_(old)

    pjrt.register_lowering(
        op,
        lambda a, b: (
            f"func.func @main(%a: {a}, %b: {b}) -> ({b}, {a}) {{ return %b, %a : {b}, {a} }}"
        ),
    )
    for run in (op, lambda a, b: compiled(lambda a, b: op(a, b), a, b)):
        a, b = torch.zeros(3, device=device), torch.ones(3, device=device)
        run(a, b)
        assert a.tolist() == [1, 1, 1] and b.tolist() == [0, 0, 0]


def test_lists_optionals_and_keywords(device: torch.device, pjrt: ModuleType) -> None:
    @torch.library.custom_op("tpjrt_test::add_to_all", mutates_args=())
    def op(
        xs: list[Tensor], y: Tensor | None = None, *, times: int = 1, name: str = "n"
    ) -> list[Tensor]:
        return [x * times + (0 if y is None else y) for x in xs]

    op.register_fake(lambda xs, y=None, *, times=1, name="n": [torch.empty_like(x) for x in xs])
    seen = []

    def lowering(xs: list[Any], y: Any, *, times: int, name: str) -> str:
        seen.append((len(xs), y is None, times, name))
        names = [f"%x{i}" for i in range(len(xs))]
        arguments = ", ".join(f"{n}: {x}" for n, x in zip(names, xs, strict=True))
        body = ""
        for n, x in zip(names, xs, strict=True):
            body += f"{n}t = stablehlo.constant dense<{times}.0> : {x}\n"
            body += f"{n}m = stablehlo.multiply {n}, {n}t : {x}\n"
            add = f"{n}m" if y is None else "%y"
            body += f"{n}r = stablehlo.add {n}m, {add} : {x}\n" if y is not None else ""
        results = ", ".join(f"{n}{'m' if y is None else 'r'}" for n in names)
        types = ", ".join(map(str, xs))
        extra = "" if y is None else f", %y: {y}"
        head = f"func.func @main({arguments}{extra}) -> ({types})"
        return f"{head} {{\n{body}return {results} : {types} }}"

    pjrt.register_lowering(op, lowering)
    xs, y = [torch.arange(3.0), torch.ones(3)], torch.tensor([5.0, 6.0, 7.0])
    on_device = [x.to(device) for x in xs]

    def program(xs: list[Tensor], y: Tensor) -> list[Tensor]:
        return op(op(xs), y, times=4)

    expected = program(xs, y)
    for result in (
        program(on_device, y.to(device)),
        compiled(program, on_device, y.to(device))[0],
    ):
        for mine, theirs in zip(result, expected, strict=True):
            torch.testing.assert_close(mine.cpu(), theirs)
    assert seen == [(2, True, 1, "n"), (2, False, 4, "n")]  # once each, for both modes


def test_each_distinct_argument_is_asked_for_once(device: torch.device, pjrt: ModuleType) -> None:
    @torch.library.custom_op("tpjrt_test::times", mutates_args=())
    def op(x: Tensor, by: torch.types.Number) -> Tensor:
        return x * by

    op.register_fake(lambda x, by: torch.empty_like(x))
    seen: list[Any] = []

    def lowering(x: Any, by: Any) -> str:
        seen.append(by)
        return f"""func.func @main(%x: {x}) -> {x} {{
          %by = stablehlo.constant dense<{float(by)}> : {x}
          %y = stablehlo.multiply %x, %by : {x}
          return %y : {x} }}"""

    pjrt.register_lowering(op, lowering)
    x = torch.ones(2, device=device)
    for by in (1, 1.0, True, 0.0, -0.0, 1, 0.0, -0.0):
        torch.testing.assert_close(op(x, by).cpu(), torch.ones(2) * by)
    assert list(map(repr, seen)) == ["1", "1.0", "True", "0.0", "-0.0"]


def test_sizes_that_change_compile_once_each(device: torch.device) -> None:
    asked = []

    def lowering(x: Any) -> str:
        asked.append(x.shape)
        return double(x)

    op = unary("dynamic", lowering)
    torch._dynamo.reset()
    run = torch.compile(lambda x: op(x) + 1, fullgraph=True, dynamic=True)
    for n in (5, 6, 7, 5, 6):
        torch.testing.assert_close(run(torch.ones(n, device=device)).cpu(), torch.full((n,), 3.0))
    assert asked == [(5,), (6,), (7,)]


def test_a_number_on_the_cpu_and_an_empty_tensor(device: torch.device, pjrt: ModuleType) -> None:
    @torch.library.custom_op("tpjrt_test::shift", mutates_args=())
    def op(x: Tensor, by: Tensor) -> Tensor:
        return x + by

    op.register_fake(lambda x, by: torch.empty_like(x))

    @pjrt.register_lowering("tpjrt_test::shift")
    def lowering(x: Any, by: Any) -> str:
        return f"""func.func @main(%x: {x}, %by: {by}) -> {x} {{
          %b = stablehlo.broadcast_in_dim %by, dims = [] : ({by}) -> {x}
          %y = stablehlo.add %x, %b : {x}
          return %y : {x} }}"""

    for x in (torch.arange(3.0), torch.empty(0, 4)):
        for by in (2.0, 3.0):
            torch.testing.assert_close(op(x.to(device), torch.tensor(by)).cpu(), x + by)
    with pytest.raises(RuntimeError, match=r"tpjrt_test::shift.*on the CPU"):
        op(torch.ones(3, device=device), torch.ones(2))


def test_results_have_the_fake_kernel_s_strides(device: torch.device) -> None:
    op = unary("strides", double)
    for x in (torch.arange(6.0).view(2, 3), torch.arange(6.0).view(3, 2).t()):
        result = op(x.to(device))
        assert result.stride() == torch.empty_like(x).stride()
        torch.testing.assert_close(result.cpu(), x * 2)


def test_registering(device: torch.device, pjrt: ModuleType) -> None:
    op = unary("again", double)
    x = torch.ones(2, device=device)
    assert op(x).tolist() == [2, 2]
    negate = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {" \
             " %y = stablehlo.negate %x : tensor<2xf32>\n return %y : tensor<2xf32> }"  # fmt: skip
    pjrt.register_lowering(torch.ops.tpjrt_test.again.default, lambda x: negate)
    assert op(x).tolist() == [-1, -1]
    op = unary("again", double)  # the operator itself defined anew
    assert op(x).tolist() == [2, 2]


def test_operators_that_cannot_have_a_lowering(pjrt: ModuleType) -> None:
    library = torch.library.Library("tpjrt_refused", "DEF")
    for schema in (
        "number(Tensor x) -> int",
        "view(Tensor(a) x) -> Tensor(a)",
        "made(int n) -> Tensor",
    ):
        library.define(schema)
    refused = {
        "tpjrt_refused::number": "returns tensors",
        "tpjrt_refused::view": "one of its arguments",
        "tpjrt_refused::made": "takes no tensor",
        "tpjrt_refused::absent": "no operator tpjrt_refused::absent",
        "aten::lerp.Tensor": "CONTRIBUTING",
        "lerp": "looks like",
    }
    for name, words in refused.items():
        with pytest.raises(ValueError, match=words):
            pjrt.register_lowering(name, double)


def test_an_operator_without_a_fake_kernel(device: torch.device, pjrt: ModuleType) -> None:
    library = torch.library.Library("tpjrt_fakeless", "DEF")
    library.define("f(Tensor x) -> Tensor")
    pjrt.register_lowering("tpjrt_fakeless::f", double)
    with pytest.raises(RuntimeError, match="tpjrt_fakeless::f has no fake kernel"):
        torch.ops.tpjrt_fakeless.f(torch.ones(2, device=device))


def test_threads_ask_once(device: torch.device) -> None:
    asked = []

    def lowering(x: Any) -> str:
        asked.append(x)
        return double(x)

    op = unary("threads", lowering)
    results: list[Any] = []
    x = torch.ones(4, device=device)
    threads = [threading.Thread(target=lambda: results.append(op(x).tolist())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[2.0] * 4] * 4 and len(asked) == 1
