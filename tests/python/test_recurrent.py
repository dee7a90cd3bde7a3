"""nn.LSTM, nn.GRU and nn.RNN: forward and backward, packed or not, and their cells."""

from typing import Any

import pytest
import torch
from support import check, same_error
from torch import nn
from torch.nn.utils import rnn

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections")
STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 5, 6


def data(where: torch.device, *shape: int) -> torch.Tensor:
    return torch.linspace(-1, 1, torch.Size(shape).numel()).sin().reshape(shape).to(where)


def run(where: torch.device, kind: str, packed: bool, **settings: Any) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = getattr(nn, kind)(INPUTS, HIDDEN, **settings).to(where)
    x = data(where, STEPS, BATCH, INPUTS).requires_grad_()
    given: Any = x
    if packed:
        given = rnn.pack_padded_sequence(x, torch.tensor([3, 4, 2]), enforce_sorted=False)
    output, state = model(given)
    if packed:
        output, lengths = rnn.pad_packed_sequence(output)
        assert lengths.tolist() == [3, 4, 2]
    states = state if isinstance(state, tuple) else (state,)
    (output.sin().sum() + sum((s * s).sum() for s in states)).backward()
    gradients = [x.grad, *(p.grad for p in model.parameters())]
    return [output.detach(), *(s.detach() for s in states), *gradients]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_sequences(
    kind: str, bidirectional: bool, packed: bool, pjrt: Any, device: torch.device
) -> None:
    check(lambda w: run(w, kind, packed, bidirectional=bidirectional), device, 1e-4, 1e-5)
    assert pjrt.fallback_counts() == {}


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "LSTM", "num_layers": 2, "proj_size": 3},
        {"kind": "LSTM", "bias": False},
        {"kind": "GRU", "bias": False, "num_layers": 2},
        {"kind": "RNN", "nonlinearity": "relu"},
    ],
    ids=str,
)
def test_variants(settings: dict[str, Any], device: torch.device) -> None:
    check(lambda w: run(w, packed=False, **settings), device, 1e-4, 1e-5)


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells(kind: str, device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(0)
        cell = getattr(nn, kind)(INPUTS, HIDDEN).to(where)
        x = data(where, BATCH, INPUTS).requires_grad_()
        state = cell(x)
        state = cell(x, state)  # a state that is not zero
        states = state if isinstance(state, tuple) else (state,)
        sum(s.sin().sum() for s in states).backward()
        return [*(s.detach() for s in states), x.grad, *(p.grad for p in cell.parameters())]

    check(program, device, 1e-4, 1e-5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_only_one_result_needs_a_gradient(kind: str, device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = getattr(nn, kind)(INPUTS, HIDDEN).to(where)
        x = data(where, 2, BATCH, INPUTS).requires_grad_()
        state = model(x)[1]
        (state[1] if isinstance(state, tuple) else state).sum().backward()
        return [x.grad]

    check(program, device, 1e-4, 1e-5)


def test_second_gradient(device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(0)
        cell = nn.LSTMCell(INPUTS, HIDDEN).to(where)
        x = data(where, BATCH, INPUTS).requires_grad_()
        (first,) = torch.autograd.grad(cell(x)[0].sum(), x, create_graph=True)
        first.square().sum().backward()
        return [first.detach(), x.grad]

    check(program, device, 1e-4, 1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_types(dtype: torch.dtype, device: torch.device) -> None:
    def program(where: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.LSTM(INPUTS, HIDDEN).to(where, dtype)
        return [model(data(where, STEPS, BATCH, INPUTS).to(dtype))[0].detach()]

    check(program, device, 2e-2, 2e-2)


def test_padding_and_packing(device: torch.device) -> None:
    def program(where: torch.device) -> list[Any]:
        parts = [data(where, n, INPUTS) for n in (4, 2, 3)]
        packed = rnn.pack_sequence(parts, enforce_sorted=False)
        return [
            packed.data,
            packed.batch_sizes.tolist(),
            packed.sorted_indices,
            rnn.pad_sequence(parts),
            *rnn.unpack_sequence(packed),
        ]

    check(program, device)


def test_a_state_of_another_size_is_refused(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        model = nn.GRU(INPUTS, HIDDEN).to(where)
        return model(data(where, 2, BATCH, INPUTS), data(where, 1, BATCH + 1, HIDDEN))

    same_error(program, device)
