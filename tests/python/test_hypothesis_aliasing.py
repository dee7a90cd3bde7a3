"""Random programs of views and in-place writes, compared with the CPU bit for bit."""

from dataclasses import dataclass

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import assert_same

SHAPE = (4, 6)


@dataclass(frozen=True)
class Step:
    """One instruction: `kind` on the tensor chosen by `pick`, with the numbers a, b, c."""

    kind: str
    pick: int
    a: int
    b: int
    c: int


VIEW_KINDS = ["slice", "step", "select", "transpose", "narrow", "flat", "unsqueeze", "diagonal"]
WRITE_KINDS = ["add", "mul", "fill", "copy", "row", "zero", "swap", "masked", "base"]
NEW_KINDS = ["clone", "sum", "contiguous"]

steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(VIEW_KINDS + WRITE_KINDS + NEW_KINDS),
        st.integers(0, 30),
        st.integers(0, 7),
        st.integers(0, 7),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=12,
)


def view(x: torch.Tensor, s: Step) -> torch.Tensor:
    if x.dim() == 0 or x.numel() == 0:
        return x.view(x.shape)
    dim = s.a % x.dim()
    size = x.shape[dim]
    match s.kind:
        case "slice":
            return x.narrow(dim, s.b % size, max(1, (s.c + s.b) % (size - s.b % size + 1)))
        case "step":
            index = [slice(None)] * x.dim()
            index[dim] = slice(s.b % size, None, s.c)
            return x[tuple(index)]
        case "select":
            return x.select(dim, s.b % size)
        case "transpose":
            return x.transpose(dim, s.b % x.dim())
        case "narrow":
            return x.narrow(dim, size // 2, size - size // 2)
        case "flat":
            return x.view(-1) if x.is_contiguous() else x.unsqueeze(dim)
        case "unsqueeze":
            return x.unsqueeze(dim) if x.dim() < 5 else x.squeeze()
        case _:
            return x.diagonal(0, 0, x.dim() - 1) if x.dim() > 1 else x[s.b % size :]


def write(x: torch.Tensor, other: torch.Tensor, s: Step) -> None:
    match s.kind:
        case "add":
            x.add_(s.a + 1)
        case "mul":
            x.mul_(s.c)
        case "fill":
            x.fill_(s.a - s.b)
        case "copy":
            x.copy_(torch.arange(x.numel(), dtype=x.dtype, device=x.device).view(x.shape))
        case "row":
            if x.dim() > 0 and x.shape[0] > 0:
                x[s.a % x.shape[0]] = s.b
        case "zero":
            x.zero_()
        case "swap":
            if x.dim() > 0:
                x.copy_(x.flip(0))
        case "masked":
            x.masked_fill_(x > s.a, -s.b)
        case _:
            if other.shape == x.shape:
                x.copy_(other.clone())


def run(program: list[Step], device: torch.device) -> list[torch.Tensor]:
    first = torch.arange(24, dtype=torch.int32, device=device).view(SHAPE)
    tensors = [first, (torch.arange(24, dtype=torch.int32, device=device) * 3).view(SHAPE)]
    for step in program:
        x = tensors[step.pick % len(tensors)]
        if step.kind in VIEW_KINDS:
            tensors.append(view(x, step))
        elif step.kind in WRITE_KINDS:
            write(x, tensors[step.a % len(tensors)], step)
        elif step.kind == "clone":
            tensors.append(x.clone())
        elif step.kind == "sum":
            tensors.append(x.sum(dtype=torch.int32))
        else:
            tensors.append(x.contiguous())
    return tensors


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(program=steps)
def test_random_programs(program: list[Step], device: torch.device) -> None:
    expected = run(program, torch.device("cpu"))
    actual = run(program, device)
    assert_same(actual, expected, device)
    for e, a in zip(expected, actual, strict=True):
        assert a._version == e._version
        assert a._is_view() == e._is_view()
