"""What torch_pjrt.compile_report() says about real programs, and the checks built on it."""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import torch
from support import output_of

pytestmark = pytest.mark.own_device


@pytest.fixture(autouse=True)
def fresh_dynamo(pjrt: ModuleType) -> Iterator[None]:
    torch._dynamo.reset()
    pjrt.set_fallback("silent")
    pjrt.reset_compile_report()
    yield
    pjrt.strict(False)


def line_of(function: Callable[..., object], text: str) -> str:
    """`file:line` of the line of a function in this file that holds a text."""
    source, first = inspect.getsourcelines(function)
    return f"{__file__}:{first + next(i for i, code in enumerate(source) if text in code)}"


def affine(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) * 2 + 1


def with_print(x: torch.Tensor) -> torch.Tensor:
    x = x + 1
    print("here")
    return x * 2


def without_lowering(x: torch.Tensor) -> torch.Tensor:
    y = x @ x
    values = torch.linalg.eig(y).eigenvalues
    return values.real + 1


def with_index(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    x = x * 2
    return x[index] + 1


def ones(device: torch.device, *sizes: int) -> torch.Tensor:
    return torch.ones(sizes, device=device)


def sizes_of_no_cache() -> list[int]:
    """Sizes that no program in the tests' cache on disk has: one in a million may."""
    return [random.SystemRandom().randrange(2, 100) for _ in range(3)]


def test_a_graph_and_its_line(device: torch.device, pjrt: ModuleType) -> None:
    compiled = torch.compile(affine)
    x = ones(device, 3)
    torch.testing.assert_close(compiled(x).cpu(), affine(torch.ones(3)))
    compiled(x)
    report = pjrt.compile_report()
    (graph,) = report.graphs
    assert (graph.kind, graph.function, graph.calls) == ("inference", "affine", 2)
    assert graph.line == line_of(affine, "tanh")
    assert graph.executables == 1 and graph.nodes == 3
    assert [sizes.programs for sizes in graph.compiled_for] == [1]
    assert report.seconds.tracing > 0 and report.seconds.lowering > 0
    assert not (report.graph_breaks or report.partition_breaks or report.recompiles)
    assert not report.fallbacks
    assert graph.line in str(report)
    assert json.loads(json.dumps(report.to_dict()))["graphs"][0]["line"] == graph.line


def test_a_print_is_a_graph_break(device: torch.device, pjrt: ModuleType) -> None:
    torch.compile(with_print)(ones(device, 3))
    report = pjrt.compile_report()
    (graph_break,) = report.graph_breaks
    assert graph_break.line == line_of(with_print, "here")
    assert "print" in graph_break.reason
    assert len(report.graphs) == 2
    assert graph_break.line in str(report)


def test_an_op_without_lowering_is_a_partition_break_and_a_fallback(
    device: torch.device, pjrt: ModuleType
) -> None:
    x = torch.eye(3) * 2
    compiled = torch.compile(without_lowering)
    torch.testing.assert_close(compiled(x.to(device)).cpu(), without_lowering(x))
    report = pjrt.compile_report()
    line = line_of(without_lowering, "linalg")
    (graph,) = report.graphs
    assert graph.executables == 2
    assert {b.line for b in report.partition_breaks} == {line}
    assert report.partition_breaks[0].op == "aten.linalg_eig.default"
    assert "no lowering" in report.partition_breaks[0].reason
    (fallback,) = report.fallbacks
    assert (fallback.op, fallback.line, fallback.count) == ("aten::linalg_eig", line, 1)
    assert fallback.graph == graph.name


def test_a_fallback_of_eager_code_has_its_line(device: torch.device, pjrt: ModuleType) -> None:
    x = ones(device, 2, 2)
    for _ in range(3):
        torch.linalg.eig(x)
    (fallback,) = pjrt.compile_report().fallbacks
    function = test_a_fallback_of_eager_code_has_its_line
    assert fallback.line == line_of(function, "torch.linalg.eig")
    assert (fallback.count, fallback.graph) == (3, "")


def test_another_size_is_a_recompilation_with_its_guard(
    device: torch.device, pjrt: ModuleType
) -> None:
    compiled = torch.compile(affine, dynamic=False)
    for size in (3, 4):
        compiled(ones(device, size))
    (recompile,) = pjrt.compile_report().recompiles
    assert recompile.function == "affine"
    assert recompile.line == line_of(affine, "def affine")
    assert "expected 3, actual 4" in recompile.reason


def test_sizes_of_a_dynamic_graph_are_named(device: torch.device, pjrt: ModuleType) -> None:
    compiled = torch.compile(affine, dynamic=True)
    for size in (3, 4):
        compiled(ones(device, size))
    report = pjrt.compile_report()
    (graph,) = report.graphs
    assert [list(sizes.sizes.values()) for sizes in graph.compiled_for] == [[3], [4]]
    (recompile,) = report.recompiles
    assert recompile.reason.endswith("= 4") and recompile.line == line_of(affine, "tanh")


def test_the_same_program_is_compiled_once(device: torch.device, pjrt: ModuleType) -> None:
    x = ones(device, 5)
    torch.compile(affine)(x)
    torch._dynamo.reset()
    with pjrt.compile_delta() as delta:
        torch.compile(affine)(x)
    assert len(delta.graphs) == 1 and delta.programs == 0
    assert delta.cache.memory_hits == 1


def test_a_delta_holds_what_happened_in_it(device: torch.device, pjrt: ModuleType) -> None:
    torch.compile(with_print)(ones(device, 3))
    with pjrt.compile_delta() as delta:
        torch.compile(affine)(ones(device, 3))
    assert [graph.function for graph in delta.graphs] == ["affine"]
    assert delta.graph_breaks == []
    pjrt.reset_compile_report()
    assert pjrt.compile_report().graphs == []


def test_breaks_survive_a_reset_of_dynamo(device: torch.device, pjrt: ModuleType) -> None:
    torch.compile(with_print)(ones(device, 3))
    torch._dynamo.reset()
    torch.compile(with_print)(ones(device, 3))
    assert len(pjrt.compile_report().graph_breaks) == 2


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [(with_print, "graph_break", "here"), (without_lowering, "partition_break", "linalg")],
)
def test_assert_compiled_lists_what_it_finds(
    device: torch.device, pjrt: ModuleType, function: Callable[..., object], kind: str, text: str
) -> None:
    with (
        pytest.raises(AssertionError, match=kind.replace("_", " ")) as caught,
        pjrt.assert_compiled(),
    ):
        torch.compile(function)(ones(device, 2, 2))
    assert line_of(function, text) in str(caught.value)
    with pjrt.assert_compiled(allow=[kind, "fallback", "recompile"]):
        torch.compile(function)(ones(device, 2, 2))


def test_assert_compiled_wants_a_compiled_graph(device: torch.device, pjrt: ModuleType) -> None:
    with pytest.raises(AssertionError, match="0 compiled graphs ran"), pjrt.assert_compiled():
        ones(device, 3) + 1
    with pytest.raises(ValueError, match="unknown kind 'breaks'"):
        pjrt.assert_compiled(allow=["breaks"])
    compiled = torch.compile(affine)
    compiled(ones(device, 3))
    with pjrt.assert_compiled():
        compiled(ones(device, 3))
    with pytest.raises(AssertionError, match="1 recompile:"), pjrt.assert_compiled():
        compiled(ones(device, 4))


def test_assert_compiled_leaves_other_errors_alone(pjrt: ModuleType) -> None:
    with pytest.raises(KeyError), pjrt.assert_compiled():
        raise KeyError("mine")


def test_strict_refuses_to_compile_an_operator(device: torch.device, pjrt: ModuleType) -> None:
    sizes = sizes_of_no_cache()
    known, unknown = ones(device, 7, 3), ones(device, *sizes)
    expected = torch.atan2(known, known).cpu()
    with pjrt.strict():
        assert torch.equal(torch.atan2(known, known).cpu(), expected)
        with pytest.raises(RuntimeError, match=rf"atan2.*{sizes[0]}, .*strict\(\) forbids"):
            torch.atan2(unknown, unknown)
    torch.atan2(unknown, unknown)


def test_strict_refuses_to_compile_a_graph(device: torch.device, pjrt: ModuleType) -> None:
    compiled = torch.compile(affine, dynamic=False)
    expected = compiled(ones(device, 3)).cpu()
    sizes = sizes_of_no_cache()
    other = ones(device, *sizes)
    with pjrt.strict():
        assert torch.equal(compiled(ones(device, 3)).cpu(), expected)
        with pytest.raises(RuntimeError) as caught:
            compiled(other)
    text = str(caught.value)
    assert "strict() forbids" in text and line_of(affine, "tanh") in text
    assert f"float32{sizes}" in text and "tanh" in text


def test_strict_refuses_another_size_of_a_dynamic_graph(
    device: torch.device, pjrt: ModuleType
) -> None:
    compiled = torch.compile(affine, dynamic=True)
    compiled(ones(device, 3, 4, 5))
    sizes = sizes_of_no_cache()
    other = ones(device, *sizes)
    with pjrt.strict(), pytest.raises(RuntimeError, match=r"strict\(\) forbids") as caught:
        compiled(other)
    assert str(sizes) in str(caught.value)
    assert line_of(affine, "tanh") in str(caught.value)
    torch.testing.assert_close(compiled(other).cpu(), affine(torch.ones(sizes)))


def test_an_index_out_of_range_names_its_op_and_line(device: torch.device) -> None:
    compiled = torch.compile(with_index)
    index = torch.tensor([0, 5], device=device)
    result = compiled(ones(device, 3), index)
    with pytest.raises(IndexError) as caught:
        result.cpu()
    text = str(caught.value)
    assert f"aten::index.Tensor at {line_of(with_index, 'x[index]')}: index 5 is out" in text


def test_a_report_without_torch_compile_imports_no_dynamo() -> None:
    code = """
        import sys, torch, torch_pjrt
        print(torch_pjrt.compile_report())
        assert "torch._dynamo" not in sys.modules
    """
    assert output_of(code).startswith("0 graphs, 0 programs")
