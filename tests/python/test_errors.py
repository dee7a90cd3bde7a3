"""What goes wrong raises a Python exception that says what; the device works on afterwards."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support import output_of, run_python, same_error

F = torch.nn.functional


def ones(where: torch.device, *shape: int) -> torch.Tensor:
    return torch.ones(shape, device=where)


SAME_AS_CPU: dict[str, Callable[[torch.device], object]] = {
    "shapes": lambda w: ones(w, 2, 3) + ones(w, 4, 5),
    "matmul": lambda w: ones(w, 2, 3) @ ones(w, 4, 5),
    "mm rank": lambda w: torch.mm(ones(w, 2), ones(w, 2)),
    "mm dtypes": lambda w: torch.mm(ones(w, 2, 2), ones(w, 2, 2).double()),
    "cat": lambda w: torch.cat([ones(w, 2, 3), ones(w, 2, 4)]),
    "stack": lambda w: torch.stack([ones(w, 2), ones(w, 3)]),
    "view": lambda w: ones(w, 2, 3).view(7),
    "view strides": lambda w: ones(w, 2, 3).t().view(6),
    "reshape": lambda w: ones(w, 2, 3).reshape(4),
    "expand": lambda w: ones(w, 2, 3).expand(2, 5),
    "dim": lambda w: ones(w, 2, 3).sum(5),
    "transpose": lambda w: ones(w, 2).transpose(0, 3),
    "select": lambda w: ones(w, 2)[5],
    "narrow": lambda w: ones(w, 2).narrow(0, 1, 4),
    "too many indices": lambda w: ones(w, 2)[0, 0],
    "permute": lambda w: ones(w, 2, 3).permute(0, 0),
    "linear": lambda w: F.linear(ones(w, 2, 3), ones(w, 4, 5)),
    "conv": lambda w: F.conv2d(ones(w, 1, 3, 4, 4), ones(w, 2, 4, 3, 3)),
    "conv kernel": lambda w: F.conv2d(ones(w, 1, 3, 2, 2), ones(w, 2, 3, 3, 3)),
    "softmax dim": lambda w: ones(w, 2).softmax(3),
    "layer_norm": lambda w: F.layer_norm(ones(w, 2, 3), (4,)),
    "gather": lambda w: ones(w, 2, 3).gather(0, torch.zeros(3, dtype=torch.int64, device=w)),
    "gather dtype": lambda w: ones(w, 2).gather(0, ones(w, 2)),
    "embedding dtype": lambda w: F.embedding(ones(w, 2), ones(w, 3, 3)),
    "index dtype": lambda w: ones(w, 3)[ones(w, 2)],
    "mask shape": lambda w: ones(w, 3)[torch.ones(2, dtype=torch.bool, device=w)],
    "broadcast out": lambda w: ones(w, 3).add_(ones(w, 2, 3)),
    "out dtype": lambda w: torch.add(ones(w, 2), 1, out=ones(w, 2).int()),
    "result type": lambda w: ones(w, 2).int().add_(0.5),
    "bitwise float": lambda w: ones(w, 2) & ones(w, 2),
    "mean int": lambda w: ones(w, 2).long().mean(),
    "item": lambda w: ones(w, 2).item(),
    "bool of many": lambda w: bool(ones(w, 2)),
    "unsqueeze": lambda w: ones(w, 2).unsqueeze(4),
    "split": lambda w: ones(w, 4).split([1, 1]),
    "backward of many": lambda w: ones(w, 2).requires_grad_().mul(2).backward(),
    "backward without grad": lambda w: ones(w, 1).sum().backward(),
    "empty max": lambda w: ones(w, 0).max(),
    "topk": lambda w: ones(w, 3).topk(5),
    "dropout": lambda w: F.dropout(ones(w, 2), 1.5),
    "randint": lambda w: torch.randint(5, 5, (2,), device=w),
    "uniform": lambda w: ones(w, 2).uniform_(2, 1),
    "uniform infinity": lambda w: ones(w, 2).uniform_(0, float("inf")),
    "uniform int": lambda w: ones(w, 2).long().uniform_(),
    "normal": lambda w: ones(w, 2).normal_(0, -1),
    "log normal": lambda w: ones(w, 2).log_normal_(0, 0),
    "exponential": lambda w: ones(w, 2).exponential_(-1),
    "geometric": lambda w: ones(w, 2).geometric_(2),
    "cauchy": lambda w: ones(w, 2).cauchy_(0, -1),
    "bernoulli": lambda w: ones(w, 2).bernoulli_(1.5),
    "random range": lambda w: ones(w, 2).half().random_(0, 70000),
    "index_fill": lambda w: ones(w, 2).half().index_fill(0, ones(w, 1).long(), 1e6),
    "scatter": lambda w: ones(w, 2).to(torch.int8).scatter(0, ones(w, 1).long(), 300),
    "pad": lambda w: F.pad(ones(w, 2).to(torch.int8), (1, 1), value=300),
    "linspace": lambda w: torch.linspace(0, 1, -1, device=w),
    "arange": lambda w: torch.arange(1, 0, 1, device=w),
    "negative size": lambda w: torch.zeros(-1, device=w),
    "einsum": lambda w: torch.einsum("ij,jk->ik", ones(w, 2, 3), ones(w, 4, 5)),
    "bmm": lambda w: torch.bmm(ones(w, 2, 3, 4), ones(w, 3, 4, 5)),
    "addmm": lambda w: torch.addmm(ones(w, 3), ones(w, 2, 3), ones(w, 3, 4)),
    "cross_entropy": lambda w: F.cross_entropy(ones(w, 2, 3), torch.zeros(3).long().to(w)),
    "batch_norm": lambda w: F.batch_norm(ones(w, 2, 3), ones(w, 4), ones(w, 4)),
    "as_strided": lambda w: ones(w, 4).as_strided((3, 3), (3, 1)),
    "0-step slice": lambda w: ones(w, 4)[::0],
    "resize": lambda w: ones(w, 4).requires_grad_().resize_(2),
}


@pytest.mark.parametrize("name", SAME_AS_CPU)
def test_wrong_programs_raise_what_the_cpu_raises(name: str, device: torch.device) -> None:
    same_error(SAME_AS_CPU[name], device)
    assert ones(device, 3).sum().item() == 3, "the device does not work after the error"


INDEX_ERRORS: dict[str, Callable[[torch.device], object]] = {
    "index": lambda w: ones(w, 3)[torch.tensor([0, 5], device=w)],
    "negative index": lambda w: ones(w, 3)[torch.tensor([-4], device=w)],
    "index_select": lambda w: ones(w, 3).index_select(0, torch.tensor([3], device=w)),
    "index_put": lambda w: ones(w, 3).index_put_((torch.tensor([7], device=w),), ones(w, 1)),
    "embedding": lambda w: F.embedding(torch.tensor([4], device=w), ones(w, 4, 2)),
    "gather": lambda w: ones(w, 3).gather(0, torch.tensor([3], device=w)),
    "scatter": lambda w: ones(w, 3).scatter_(0, torch.tensor([3], device=w), 1.0),
    "index_add": lambda w: ones(w, 3).index_add_(0, torch.tensor([9], device=w), ones(w, 1)),
    "take": lambda w: ones(w, 3).take(torch.tensor([3], device=w)),
    "nll_loss": lambda w: F.nll_loss(ones(w, 1, 3), torch.tensor([3], device=w)),
}


@pytest.mark.own_device
@pytest.mark.parametrize("name", INDEX_ERRORS)
def test_an_index_out_of_range_is_an_error_once(name: str, device: torch.device) -> None:
    """At the call or, when only the device knows the index, at the next wait for a value."""
    module = torch.get_device_module(device)
    with pytest.raises(IndexError, match=r"(?s)out of (range|bounds)|index"):
        INDEX_ERRORS[name](device)
        module.synchronize()
    module.synchronize()
    assert ones(device, 3).sum().item() == 3


@pytest.mark.own_device
def test_the_error_of_a_bad_index_comes_with_the_value(device: torch.device) -> None:
    for read in (lambda x: x.cpu(), lambda x: x.sum().item(), lambda x: x.tolist()):
        with pytest.raises(IndexError):
            read(ones(device, 3)[torch.tensor([5], device=device)])


@pytest.mark.own_device
def test_errors_in_debug_mode_come_at_the_line(pjrt: object, device: torch.device) -> None:
    with pjrt.set_mode("debug"):
        assert pjrt.mode() == "debug"
        index = torch.tensor([5], device=device)
        with pytest.raises(IndexError):
            ones(device, 3)[index]
    assert pjrt.mode() == "eager"


@pytest.mark.own_device
def test_cpu_and_device_tensors_do_not_mix(device: torch.device) -> None:
    for use in (
        lambda: ones(device, 2) + torch.ones(2),
        lambda: torch.ones(2).add_(ones(device, 2)),
        lambda: torch.cat([ones(device, 2), torch.ones(2)]),
        lambda: torch.nn.Linear(2, 2)(ones(device, 2)),
        lambda: ones(device, 2, 2) @ torch.ones(2, 2),
    ):
        with pytest.raises(RuntimeError, match=r"same device|Expected.*device"):
            use()


@pytest.mark.own_device
def test_too_much_memory_is_out_of_memory(device: torch.device) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        (torch.zeros(1 << 46, dtype=torch.uint8, device=device) + 1).cpu()
    assert ones(device, 3).sum().item() == 3


@pytest.mark.own_device
def test_settings_are_checked(pjrt: object) -> None:
    with pytest.raises(ValueError, match="expected one of warn, silent, error"):
        pjrt.set_fallback("loud")
    with pytest.raises(ValueError, match="expected one of eager, debug"):
        pjrt.set_mode("fast")


USE = """
    import torch, torch_pjrt
    print(torch.pjrt.is_available(), torch.pjrt.device_count())
    for use in (
        lambda: torch.ones(2, device="pjrt"),
        lambda: torch.ones(2).to("pjrt"),
        lambda: torch.nn.Linear(2, 2).to("pjrt"),
        torch_pjrt.plugin_info,
        torch.pjrt.init,
    ):
        try:
            use()
        except RuntimeError as error:
            print(error)
        else:
            print("no error")
    assert torch.ones(2).sum() == 2
"""


def failing_plugin(path: Path | str) -> list[str]:
    done = run_python(USE, TORCH_PJRT_PLUGIN=str(path))
    assert done.returncode == 0, done.stderr
    first, *messages = done.stdout.strip().splitlines()
    assert "no error" not in messages and len(messages) >= 5
    return [first, *messages]


@pytest.mark.own_device
@pytest.mark.parametrize("path", ["/nowhere/libnothing.so", "no-such-package", "/tmp"])
def test_a_missing_plugin(path: str) -> None:
    first, *messages = failing_plugin(path)
    assert first == "False 0"
    assert all(path in m and "TORCH_PJRT_PLUGIN" in m for m in messages)


@pytest.mark.own_device
def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    path = tmp_path / "cpu_plugin.so"
    path.write_text("not a library\n" * 100)
    _, *messages = failing_plugin(path)
    assert str(path) in " ".join(messages)


@pytest.mark.own_device
def test_a_truncated_plugin(tmp_path: Path, pjrt: object) -> None:
    """Mapping it would be SIGBUS."""
    whole = Path(pjrt.plugin_info()["path"])
    path = tmp_path / "cpu_plugin.so"
    with whole.open("rb") as source, path.open("wb") as target:
        target.write(source.read(whole.stat().st_size // 2))
    _, *messages = failing_plugin(path)
    assert any("truncated" in m or "incomplete" in m for m in messages)
    assert str(path) in " ".join(messages)


@pytest.mark.own_device
def test_a_foreign_library(tmp_path: Path) -> None:
    path = shutil.copy(Path(torch.__file__).parent / "lib" / "libc10.so", tmp_path)
    _, *messages = failing_plugin(path)
    assert any("GetPjrtApi" in m for m in messages)


@pytest.mark.own_device
def test_a_failed_start_fails_again_with_the_same_text() -> None:
    first, *messages = failing_plugin("/nowhere/libnothing.so")
    assert first == "False 0"
    assert len(set(messages)) == 1


FORK = """
    import os, sys, torch
    from torch_pjrt import _C
    x = torch.ones(3, device="pjrt")
    assert x.sum().item() == 3
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        module = torch.get_device_module("pjrt")
        assert module._is_in_bad_fork() and not module.is_initialized()
        for use in (
            lambda: x + 1,
            lambda: x.cpu(),
            lambda: x.sum().item(),
            lambda: torch.ones(1, device="pjrt"),
            lambda: torch.ones(1).to("pjrt"),
            module.synchronize,
            module.init,
        ):
            try:
                use()
            except RuntimeError as error:
                print("fork" in str(error), flush=True)
            else:
                print("no error", flush=True)
        torch.manual_seed(1)
        del x
        assert torch.ones(2).sum() == 2
        sys.exit(7)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), (x + 1).sum().item())
"""


@pytest.mark.own_device
def test_fork_after_use_is_an_error_in_the_child_and_nothing_hangs() -> None:
    lines = output_of(FORK, timeout=60).splitlines()
    assert lines == ["True"] * 7 + ["7 6.0"]


@pytest.mark.own_device
def test_fork_before_use_works_in_both() -> None:
    code = """
        import os, torch
        child = os.fork()
        x = torch.ones(3, device="pjrt").sum().item()
        if child == 0:
            os._exit(int(x))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), x)
    """
    assert output_of(code, timeout=60) == "3 3.0"
