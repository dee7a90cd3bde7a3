"""Operators without a lowering run on the CPU, are counted, and can be refused."""

import warnings

import pytest
import torch
from support import CPU, output_of

pytestmark = pytest.mark.own_device

# An operator that the project does not lower; when it does, name another.
NAME = "linalg_householder_product"
REFLECTORS = [[1.0, 0.0], [0.5, 1.0], [0.25, -0.5]]


def unsupported(where: torch.device, out: torch.Tensor | None = None) -> torch.Tensor:
    a = torch.tensor(REFLECTORS, device=where)
    return torch.linalg.householder_product(a, torch.ones(2, device=where), out=out)


@pytest.fixture(autouse=True)
def the_example_has_no_lowering(pjrt: object) -> None:
    assert all(not str(row["name"]).startswith(NAME) for row in pjrt.rows())


def test_the_result_is_right_and_counted(pjrt: object, device: torch.device) -> None:
    pjrt.set_fallback("silent")
    got = unsupported(device)
    assert got.device.type == device.type
    torch.testing.assert_close(got.cpu(), unsupported(CPU))
    counts = pjrt.fallback_counts()
    assert len(counts) == 1 and next(iter(counts)).startswith(f"aten::{NAME}")
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
        with pytest.raises(NotImplementedError, match=NAME) as caught:
            unsupported(device)
    assert "float32" in str(caught.value) or "Float" in str(caught.value)
    assert pjrt.fallback() == "warn"
    assert pjrt.fallback_counts() == {}


def test_warning_comes_once_per_operator() -> None:
    code = """
        import warnings, torch
        x = torch.ones(3, 2, device="pjrt")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.linalg.householder_product(x, x[0])
            torch.linalg.householder_product(x, x[0])
        print(len([w for w in caught if "householder" in str(w.message)]))
    """
    assert output_of(code) == "1"
    assert output_of(code, TORCH_PJRT_FALLBACK="silent") == "0"


def test_environment_sets_the_policy() -> None:
    code = """
        import torch
        x = torch.ones(3, 2, device="pjrt")
        try:
            torch.linalg.householder_product(x, x[0])
        except NotImplementedError as error:
            print("refused")
    """
    assert output_of(code, TORCH_PJRT_FALLBACK="error") == "refused"


def test_out_is_written_also_where_it_is_a_view(pjrt: object, device: torch.device) -> None:
    pjrt.set_fallback("silent")
    wanted = unsupported(CPU)
    out = torch.empty(0, device=device)
    assert unsupported(device, out) is out
    torch.testing.assert_close(out.cpu(), wanted)
    base = torch.zeros(4, 6, device=device)
    unsupported(device, base[1:, ::3])
    expected = torch.zeros(4, 6)
    expected[1:, ::3] = wanted
    torch.testing.assert_close(base.cpu(), expected)
    assert pjrt._fallback_count() == 2


def test_gradients_pass_through(pjrt: object, device: torch.device) -> None:
    pjrt.set_fallback("silent")

    def gradient(where: torch.device) -> torch.Tensor:
        a = torch.tensor(REFLECTORS, device=where, requires_grad=True)
        torch.linalg.householder_product(a * 2, a[1]).sum().backward()
        return a.grad

    torch.testing.assert_close(gradient(device).cpu(), gradient(CPU))
    assert pjrt._fallback_count() >= 1


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
