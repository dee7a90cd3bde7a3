"""Strides: every result has those of the CPU."""

from collections.abc import Callable

import pytest
import torch
from support import arange, check

F = torch.nn.functional


def image(where: torch.device) -> torch.Tensor:
    return arange(where, 2, 3, 4, 5)


def channels_last(where: torch.device) -> torch.Tensor:
    return image(where).contiguous(memory_format=torch.channels_last)


INPUTS: dict[str, Callable[[torch.device], torch.Tensor]] = {
    "contiguous": image,
    "channels_last": channels_last,
    "permuted": lambda w: arange(w, 5, 2, 4, 3).permute(1, 3, 2, 0),
    "sliced": lambda w: arange(w, 2, 3, 4, 10)[..., ::2],
    "expanded": lambda w: arange(w, 2, 3, 1, 5).expand(2, 3, 4, 5),
    "size 1": lambda w: arange(w, 2, 1, 4, 5).contiguous(memory_format=torch.channels_last),
}
OPS: dict[str, Callable[[torch.Tensor], object]] = {
    "add scalar": lambda x: x + 1,
    "add same": lambda x: x + x,
    "mul channel": lambda x: x * torch.ones(x.shape[1], 1, 1, device=x.device),
    "add contiguous": lambda x: x + torch.ones(x.shape, device=x.device),
    "contiguous add": lambda x: torch.ones(x.shape, device=x.device) + x,
    "relu": F.relu,
    "gelu": F.gelu,
    "where": lambda x: torch.where(x > 3, x, 0),
    "compare": lambda x: x > 3,
    "cast": lambda x: x.to(torch.float64),
    "clone": lambda x: x.clone(),
    "clone contiguous": lambda x: x.clone(memory_format=torch.contiguous_format),
    "clone channels_last": lambda x: x.clone(memory_format=torch.channels_last),
    "contiguous": lambda x: x.contiguous(),
    "to channels_last": lambda x: x.to(memory_format=torch.channels_last),
    "empty_like": lambda x: torch.empty_like(x).fill_(0),
    "zeros_like": torch.zeros_like,
    "full_like contiguous": lambda x: torch.full_like(x, 2, memory_format=torch.contiguous_format),
    "rand_like": lambda x: torch.rand_like(x) * 0,
    "softmax": lambda x: x.softmax(1),
    "sum": lambda x: x.sum(1),
    "sum keepdim": lambda x: x.sum((2, 3), keepdim=True),
    "amax": lambda x: x.amax(0),
    "flip": lambda x: x.flip(3),
    "roll": lambda x: x.roll(1, 2),
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x]),
    "pad": lambda x: F.pad(x, (1, 1)),
    "index": lambda x: x[:, torch.tensor([1, 0], device=x.device) % x.shape[1]],
    "index_select": lambda x: x.index_select(3, torch.tensor([1, 0], device=x.device)),
    "masked_fill": lambda x: x.masked_fill(x > 5, 0),
    "cumsum": lambda x: x.cumsum(2),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest"),
    "group_norm": lambda x: F.group_norm(x, 1),
    "layer_norm": lambda x: F.layer_norm(x, (5,)),
    "pow": lambda x: x**2,
    "lerp": lambda x: x.lerp(x + 1, 0.5),
    "clamp": lambda x: x.clamp(1, 5),
    "tril": lambda x: x.tril(),
    "repeat": lambda x: x.repeat(1, 2, 1, 1),
    "view_as reshape": lambda x: x.reshape(2, -1),
    "to_dense": lambda x: x.flatten(1),
}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("layout", INPUTS)
def test_strides(layout: str, op: str, device: torch.device) -> None:
    check(lambda where: OPS[op](INPUTS[layout](where)), device, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
@pytest.mark.parametrize("weight", ["contiguous", "channels_last"])
@pytest.mark.parametrize("training", [True, False])
def test_convolution_and_batch_norm(
    layout: str, weight: str, training: bool, device: torch.device
) -> None:
    def program(where: torch.device) -> object:
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4))
        model.train(training)
        model.to(where)
        if weight == "channels_last":
            model.to(memory_format=torch.channels_last)
        x = INPUTS[layout](where) / 10
        x.requires_grad_()
        y = model(x)
        y.square().sum().backward()
        return y, x.grad, [p.grad for p in model.parameters()], list(model.buffers())

    check(program, device, rtol=1e-4, atol=1e-3)


def test_is_contiguous_agrees(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        return [
            [
                make(where).is_contiguous(memory_format=f)
                for f in (torch.contiguous_format, torch.channels_last)
            ]
            for make in INPUTS.values()
        ]

    check(program, device)


def test_channels_last_3d(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = arange(where, 1, 2, 3, 2, 4).to(memory_format=torch.channels_last_3d)
        return x, x + 1, x.relu()

    check(program, device)


def test_new_tensors_with_strides(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = torch.empty_strided((2, 3), (1, 2), device=where).fill_(1)
        y = torch.empty(2, 3, 4, 5, device=where, memory_format=torch.channels_last).zero_()
        z = torch.empty_permuted((2, 3, 4), (2, 0, 1), device=where).zero_()
        return x, y, z, x.new_ones(2, 2), torch.ones_like(y)

    check(program, device)


def test_non_dense_strides(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = torch.empty_strided((3, 2), (5, 2), device=where)
        x.fill_(4)
        x[1, 1] = 0
        return x + 1, x.clone(), x.contiguous(), x.sum()

    check(program, device)
