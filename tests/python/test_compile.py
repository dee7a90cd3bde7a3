"""torch.compile on the device: one executable per graph, the CPU's results."""

from __future__ import annotations

import copy
import threading
from types import ModuleType

import pytest
import torch
from compiled import assert_whole, check_compiled, compile_whole, graphs_since
from support import leaves, output_of
from torch import nn

from torch_pjrt.compile import report

F = nn.functional
pytestmark = pytest.mark.own_device


def values(*shape: int) -> torch.Tensor:
    return torch.randn(shape)


PROGRAMS = {
    "arithmetic": lambda x: torch.relu(x @ x.t() + 1) * 0.5,
    "views": lambda x: x.view(2, 2, 8).permute(1, 0, 2)[:, :1].expand(2, 3, 8).reshape(-1),
    "slices": lambda x: (x[1:3, ::2].t(), x[-1], x[..., None].squeeze(-1)),
    "pieces": lambda x: sum(x.chunk(3, 1)[:2]) + torch.cat(x.split([1, 3])).sum(),
    "windows": lambda x: (x.unfold(1, 3, 2), x.diagonal(1), x.as_strided((3, 2), (2, 5), 1)),
    "scatters": lambda x: (
        torch.slice_scatter(x, x[:, ::3] * 2, 1, 0, 8, 3),
        torch.select_scatter(x, x[0], 0, 2),
        torch.diagonal_scatter(x, x[0, :4]),
        torch.as_strided_scatter(x, x[0, :4].view(2, 2), (2, 2), (8, 3), 2),
    ),
    "bits": lambda x: (x.view(torch.int32) ^ 3).view(torch.float32),
    "complex": lambda x: torch.view_as_real(torch.view_as_complex(x.view(4, 4, 2)).conj() * 2j),
    "factories": lambda x: (
        x + torch.arange(8, device=x.device),
        torch.full((2,), 2.5, device=x.device) + x.new_ones(2) + torch.zeros_like(x[0, :2]),
        torch.eye(3, device=x.device) + torch.linspace(0, 1, 3, device=x.device),
    ),
    "constants": lambda x: x + torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8], device=x.device) + 3,
    "indices": lambda x: (x[torch.tensor([2, 0], device=x.device)], x[[3, 1]], x.argmax(1)),
    "reductions": lambda x: (x.sum(0), x.var(1), x.softmax(1), x.cumsum(0), x.topk(3).values),
    "types": lambda x: (x.double() * 2, x.half().float(), x > 0, (x * 10).to(torch.int8)),
    "numbers": lambda x: ((x * 100).to(torch.uint8) & 0xFF, (x > 0) * 3, x**3 + 2**x),
    "foreach": lambda x: torch._foreach_add([x, x * 2], [x, x[0]], alpha=2),
    "attention": lambda x: F.scaled_dot_product_attention(
        x.view(1, 2, 2, 8), x.view(1, 2, 2, 8), x.view(1, 2, 2, 8), is_causal=True
    ),
    "empty": lambda x: (x[4:], x[4:].sum(), torch.cat([x[4:], x])),
    "nothing to do": lambda x: x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_the_cpu(name: str, device: torch.device) -> None:
    program = PROGRAMS[name]
    if name == "nothing to do":  # no graph at all
        x = values(4, 8).to(device)
        assert compile_whole(program)(x) is x
        return
    check_compiled(program, values(4, 8), device=device)


@pytest.mark.parametrize(
    "layout",
    [lambda x: x.t(), lambda x: x[:, 1:7:2], lambda x: x[1:2].expand(3, 8), lambda x: x[2:]],
    ids=["transposed", "strided", "expanded", "offset"],
)
def test_inputs_may_lie_in_any_way(layout: object, device: torch.device) -> None:
    base = values(4, 8)
    program = compile_whole(lambda x: x * 2 + x.sum())
    wanted = layout(base)  # type: ignore[operator]
    got = program(layout(base.to(device)))  # type: ignore[operator]
    torch.testing.assert_close(got.cpu(), wanted * 2 + wanted.sum(), rtol=1e-5, atol=1e-6)


MUTATIONS = {
    "in place": lambda x: x.add_(1).mul_(2),
    "through a view": lambda x: (x[1:, ::2].zero_(), x * 2)[1],
    "a row": lambda x: x[2].copy_(x[0]),
    "input and view of it": lambda x: (x.add_(1), x.t()),
    "twice": lambda x: (x.mul_(2), x.sub_(1), x.sum())[2],
    "index": lambda x: x.index_put_((torch.tensor([0], device=x.device),), x[1] * 2),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_written_inputs(name: str, device: torch.device) -> None:
    check_compiled(MUTATIONS[name], values(4, 8), device=device)


def test_writes_are_seen_by_every_alias(device: torch.device) -> None:
    base = torch.zeros(4, 8, device=device)
    program = compile_whole(lambda x: x.add_(1))
    program(base[1])
    program(base[:, 2])
    wanted = torch.zeros(4, 8)
    wanted[1] += 1
    wanted[:, 2] += 1
    assert torch.equal(base.cpu(), wanted)


def test_overlapping_writes_are_refused(device: torch.device) -> None:
    program = compile_whole(lambda x: x.add_(1))
    with pytest.raises(Exception, match="single memory location"):
        program(torch.zeros(1, device=device).expand(4))


def test_outputs_that_alias_inputs(device: torch.device) -> None:
    x = values(4, 8).to(device)
    same, view, both = compile_whole(lambda x: (x, x.t(), [x[0], x[0]]))(x)
    x.fill_(3)
    assert same is x
    for alias in (view, *both):
        assert torch.equal(alias.cpu(), torch.full(alias.shape, 3.0))


def test_buffers_and_parameters_replaced_between_calls(device: torch.device) -> None:
    model = nn.BatchNorm1d(8).to(device)
    program = compile_whole(model)
    x = values(16, 8)
    program(x.to(device))
    model.running_mean = torch.full((8,), 5.0, device=device)
    model.weight = nn.Parameter(torch.full((8,), 2.0, device=device))
    reference = copy.deepcopy(model).to("cpu")
    torch.testing.assert_close(program(x.to(device)).cpu(), reference(x), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model.running_mean.cpu(), reference.running_mean)
    assert int(model.num_batches_tracked) == 2


def test_unused_and_number_arguments(device: torch.device) -> None:
    check_compiled(lambda x, y, n, s: x * n + (1 if s == "a" else 2), values(3), values(2), 3, "a",
                   device=device)  # fmt: skip


def test_cpu_scalars_are_run_time_inputs(device: torch.device, pjrt: ModuleType) -> None:
    program = compile_whole(lambda x, s: x * s)
    x = values(3)
    program(x.to(device), torch.tensor(2.0))
    before = pjrt.compile_count()
    got = program(x.to(device), torch.tensor(5.0))
    assert pjrt.compile_count() == before
    assert torch.equal(got.cpu(), x * 5)


@pytest.mark.parametrize("dynamic", [True, None])
def test_other_sizes(dynamic: bool | None, device: torch.device) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x.view(-1)[: x.shape[0] * 2] / x.shape[1] + torch.arange(
            x.shape[0] * 2, device=x.device
        )

    compiled = compile_whole(program, dynamic=dynamic)
    for shape in [(4, 8), (5, 8), (6, 3), (5, 8)]:
        x = values(*shape)
        torch.testing.assert_close(compiled(x.to(device)).cpu(), program(x))


def test_a_node_without_a_lowering_runs_between_executables(device: torch.device) -> None:
    start = len(report.records())
    x = values(4, 4)
    program = compile_whole(lambda x: (torch.linalg.svdvals(x * 2) + 1, x + 1))
    got = program(x.to(device))
    torch.testing.assert_close(got[0].cpu(), torch.linalg.svdvals(x * 2) + 1, rtol=1e-4, atol=1e-5)
    assert torch.equal(got[1].cpu(), x + 1)
    (graph,) = graphs_since(start)
    assert graph.segments == 2
    assert [name for name, _, _ in graph.breaks] == ["aten._linalg_svd.default"]


def test_sizes_that_depend_on_data(device: torch.device) -> None:
    config = torch._dynamo.config
    x = values(6)
    with config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        program = compile_whole(lambda x: (x[x > 0] * 2, x * x.sum().item()))
        for sign in (1, -1):
            got = program((sign * x).to(device))
            assert torch.equal(got[0].cpu(), (sign * x)[sign * x > 0] * 2)
            torch.testing.assert_close(got[1].cpu(), sign * x * (sign * x).sum())


def test_random_numbers_are_the_eager_ones(device: torch.device) -> None:
    def program(x: torch.Tensor) -> list[torch.Tensor]:
        return [
            torch.rand(5, device=x.device),
            torch.randn_like(x),
            torch.randint(3, 9, (7,), device=x.device),
            F.dropout(x, 0.5),
            torch.bernoulli(torch.full_like(x, 0.3)),
            torch.randperm(6, device=x.device),
            torch.rand(0, 3, device=x.device),
        ]

    x = torch.ones(4, 8, device=device)
    compiled = compile_whole(program)
    torch.manual_seed(3)
    wanted = [program(x), program(x)]
    torch.manual_seed(3)
    got = [compiled(x), compiled(x)]
    for g, w in zip(leaves(got), leaves(wanted), strict=True):
        assert torch.equal(g, w)


def test_an_index_out_of_range_raises_and_the_program_lives(device: torch.device) -> None:
    program = compile_whole(lambda x, i: x[i] * 2)
    x = values(4, 8).to(device)
    bad = program(x, torch.tensor([1, 9], device=device))
    with pytest.raises(IndexError, match="9"):
        bad.cpu()
    assert torch.equal(program(x, torch.tensor([1], device=device)).cpu(), x[1:2].cpu() * 2)


def test_shape_errors_name_the_line(device: torch.device) -> None:
    program = compile_whole(lambda x: x @ x)
    with pytest.raises(Exception, match="test_compile"):
        program(values(3, 4).to(device))


def test_a_second_device(device: torch.device) -> None:
    other = torch.device(device.type, 1)
    program = compile_whole(lambda x: x * 2 + torch.ones(3, device=x.device))
    for where in (torch.device(device.type, 0), other):
        got = program(torch.ones(3, device=where))
        assert got.device == where
        assert got.tolist() == [3.0] * 3


def test_no_gradient_graph_in_inference(device: torch.device) -> None:
    start = len(report.records())
    model = nn.Linear(8, 4).to(device)
    with torch.no_grad():
        compile_whole(model)(values(2, 8).to(device))
    assert_whole(start)
    assert [graph.kind for graph in graphs_since(start)] == ["inference"]


def test_two_threads_compile_and_run(device: torch.device) -> None:
    torch._dynamo.reset()
    x = values(4, 8)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            model = torch.compile(lambda x: (x * number).sin() + x.sum() * number)
            for _ in range(20):
                got = model(x.to(device)).cpu()
                wanted = (x * number).sin() + x.sum() * number
                torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_cpu_models_keep_inductor_with_mode_and_options() -> None:
    seen = output_of(
        """
        import torch, torch._inductor.compile_fx as fx
        calls = []
        def compile_fx(model, inputs, config_patches=None, **kwargs):
            calls.append(config_patches)
            return model.forward
        fx.compile_fx = compile_fx
        torch.compile(lambda x: x + 1)(torch.ones(2))
        torch._dynamo.reset()
        torch.compile(lambda x: x + 1, options={"max_autotune": True})(torch.ones(2))
        torch._dynamo.reset()
        torch.compile(lambda x: x + 1, mode="max-autotune-no-cudagraphs")(torch.ones(2))
        print([sorted(c) for c in calls])
        """
    )
    tuned = "['coordinate_descent_tuning', 'max_autotune']"
    assert seen.splitlines()[-1] == f"[[], ['max_autotune'], {tuned}]"


def test_importing_torch_does_not_import_the_compiler() -> None:
    seen = output_of(
        """
        import sys, torch, torch_pjrt
        print("torch._dynamo" in sys.modules)
        import torch._dynamo.backends.registry as r
        print(r.get_default_backend().__name__, "pjrt" in torch._dynamo.list_backends())
        """
    )
    assert seen.split() == ["False", "pjrt_or_inductor", "True"]


def test_an_explicit_backend_is_left_alone(device: torch.device) -> None:
    start = len(report.records())
    torch._dynamo.reset()
    got = torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2, device=device))
    assert got.tolist() == [2.0, 2.0]
    assert graphs_since(start) == []
