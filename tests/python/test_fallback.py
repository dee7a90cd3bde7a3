"""Operators without a lowering run on the CPU, are counted, and can be refused."""

import warnings

import pytest
import torch
from support import CPU, output_of

pytestmark = pytest.mark.own_device

# An operator that the project does not lower; when it does, name another.
NAME = "aten::igamma"


def unsupported(where: torch.device) -> torch.Tensor:
    x = torch.tensor([0.5, 1.5, 2.5], device=where)
    return torch.igamma(x, x + 1)


@pytest.fixture(autouse=True)
def the_example_has_no_lowering(pjrt: object) -> None:
    names = {str(row["name"]).removeprefix("aten::") for row in pjrt.rows()}
    assert NAME.removeprefix("aten::") not in names


def test_the_result_is_right_and_counted(pjrt: object, device: torch.device) -> None:
    pjrt.set_fallback("silent")
    got = unsupported(device)
    assert got.device.type == device.type
    torch.testing.assert_close(got.cpu(), unsupported(CPU))
    counts = pjrt.fallback_counts()
    assert len(counts) == 1 and next(iter(counts)).startswith(NAME)
    assert sum(counts.values()) == pjrt._fallback_count() == 1
    unsupported(device)
    assert pjrt._fallback_count() == 2
    pjrt.reset_fallback_counts()
    assert pjrt.fallback_counts() == {} and pjrt._fallback_count() == 0


def test_native_operators_are_not_counted(pjrt: object, device: torch.device) -> None:
    x = torch.ones(3, 3, device=device)
    ((x @ x).relu() + 1).sum().item()
    assert pjrt.fallback_counts() == {}


def test_error_policy_names_operator_and_arguments(pjrt: object, device: torch.device) -> None:
    with pjrt.set_fallback("error"):
        assert pjrt.fallback() == "error"
        with pytest.raises(NotImplementedError, match="igamma") as caught:
            unsupported(device)
    assert "float32" in str(caught.value) or "Float" in str(caught.value)
    assert pjrt.fallback() == "warn"
    assert pjrt.fallback_counts() == {}


def test_warning_comes_once_per_operator() -> None:
    code = """
        import warnings, torch
        x = torch.ones(3, device="pjrt")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.igamma(x, x)
            torch.igamma(x, x)
        print(len([w for w in caught if "igamma" in str(w.message)]))
    """
    assert output_of(code) == "1"
    assert output_of(code, TORCH_PJRT_FALLBACK="silent") == "0"


def test_environment_sets_the_policy() -> None:
    code = """
        import torch
        x = torch.ones(3, device="pjrt")
        try:
            torch.igamma(x, x)
        except NotImplementedError as error:
            print("refused")
    """
    assert output_of(code, TORCH_PJRT_FALLBACK="error") == "refused"


def test_in_place_and_out_write_their_tensor(pjrt: object, device: torch.device) -> None:
    pjrt.set_fallback("silent")
    x = torch.tensor([0.5, 1.5], device=device)
    wanted = torch.igamma(x.cpu(), x.cpu())
    out = torch.empty(2, device=device)
    torch.igamma(x, x, out=out)
    torch.testing.assert_close(out.cpu(), wanted)
    base = torch.zeros(2, 2, device=device)
    base[:, 1] = x
    base[:, 1].igamma_(x)
    torch.testing.assert_close(base.cpu(), torch.stack([torch.zeros(2), wanted], 1))
    assert pjrt._fallback_count() == 2


def test_gradients_pass_through(pjrt: object, device: torch.device) -> None:
    pjrt.set_fallback("silent")

    def gradient(where: torch.device) -> torch.Tensor:
        x = torch.tensor([0.5, 1.5], device=where)
        y = torch.tensor([1.0, 2.0], device=where, requires_grad=True)
        torch.igamma(x, y * 2).sum().backward()
        return y.grad

    torch.testing.assert_close(gradient(device).cpu(), gradient(CPU))


def test_a_model_of_native_operators_runs_under_error_policy(
    pjrt: object, device: torch.device
) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.LayerNorm(4))
    model.to(device)
    with pjrt.set_fallback("error"), warnings.catch_warnings():
        warnings.simplefilter("error")
        model(torch.ones(2, 4, device=device)).sum().backward()


def test_rows_describe_the_registry(pjrt: object) -> None:
    rows = pjrt.rows()
    assert len(rows) > 200
    for row in rows:
        assert {"name", "schema", "family", "variants"} <= set(row)
    names = {row["name"].removeprefix("aten::") for row in rows}
    assert any(n.split(".")[0] == "mm" for n in names)
