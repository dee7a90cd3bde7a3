"""Values that the CPU refuses: raised at the call, or once at the host's next wait."""

from collections.abc import Callable

import pytest
import torch
from support import same_error


def ones(where: torch.device, *shape: int) -> torch.Tensor:
    return torch.ones(shape, device=where)


VALUES: dict[str, tuple[Callable[[torch.device], torch.Tensor], str]] = {
    "floor_divide": (lambda w: ones(w, 2).long() // ones(w, 2).long().sub(1), "ZeroDivisionError"),
    "remainder": (lambda w: ones(w, 2).int() % torch.tensor([1, 0], device=w), "ZeroDivisionError"),
    "fmod": (lambda w: ones(w, 2).long().fmod(ones(w, 2).long() - 1), "ZeroDivisionError"),
    "trunc": (
        lambda w: torch.div(ones(w, 2).long(), ones(w, 2).long() - 1, rounding_mode="trunc"),
        "ZeroDivisionError",
    ),
    "multinomial": (lambda w: torch.multinomial(-ones(w, 3), 1), "element < 0"),
    "multinomial nan": (lambda w: torch.multinomial(ones(w, 3) * torch.nan, 1), "element < 0"),
    "multinomial zero": (lambda w: torch.multinomial(ones(w, 3) * 0, 1), "probabilities <= 0"),
    "bernoulli": (lambda w: torch.bernoulli(ones(w, 2) * 2), "p_in|probability"),
    "bernoulli_": (lambda w: ones(w, 2).bernoulli_(-ones(w, 2)), "p_in|probability"),
    "normal": (lambda w: torch.normal(0.0, -ones(w, 2)), "std >= 0.0"),
    "normal means": (lambda w: torch.normal(ones(w, 2), -ones(w, 2)), "std >= 0.0"),
}


@pytest.mark.parametrize("name", VALUES)
def test_bad_values_are_an_error_once(name: str, device: torch.device) -> None:
    program, text = VALUES[name]
    for where in (torch.device("cpu"), device):
        with pytest.raises(RuntimeError, match=text):
            program(where).cpu()
    assert ones(device, 3).sum().item() == 3


def test_good_values_are_none(device: torch.device) -> None:
    x = torch.tensor([7, -7, 0], device=device)
    assert (x // torch.tensor([2, 2, 1], device=device)).tolist() == [3, -4, 0]
    assert (x % 4).tolist() == [3, 1, 0] and x.fmod(4).tolist() == [3, -3, 0]
    assert (x.double() // 0.0).tolist()[:2] == [float("inf"), float("-inf")]
    assert torch.bernoulli(torch.tensor([0.0, 1.0], device=device)).tolist() == [0, 1]
    weights = torch.tensor([[0.0, 2.0], [3.0, 0.0]], device=device)
    assert torch.multinomial(weights, 1).tolist() == [[1], [0]]


def test_bad_numbers_are_noticed_although_the_program_exists(device: torch.device) -> None:
    def program(where: torch.device) -> torch.Tensor:
        x = ones(where, 3)
        x.uniform_(0, 1), x.normal_(0, 1), x.exponential_(1)  # compiled now
        return x.exponential_(-1)

    same_error(program, device)
    x = torch.tensor([3], device=device)
    assert (x // 2).tolist() == [1]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (x // 0).tolist()
