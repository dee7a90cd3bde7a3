"""Running one program on the CPU and on the device, and comparing everything PyTorch promises."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
CPU = torch.device("cpu")
# Compiled programs of the tests, also of the processes they start: a second run is quicker.
CACHE = ROOT / "build" / "test-cache"


def leaves(value: Any) -> Iterator[Any]:
    """The values inside nested lists, tuples and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def assert_same(
    actual: Any, expected: Any, device: torch.device, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Equal structure, and for tensors: device, dtype, shape, strides, offset and values.

    The default tolerance is none. NaN equals NaN.
    """
    got, want = list(leaves(actual)), list(leaves(expected))
    assert len(got) == len(want), f"{len(got)} results instead of {len(want)}"
    for index, (g, w) in enumerate(zip(got, want, strict=True)):
        where = f"result {index}"
        assert type(g) is type(w), f"{where}: {type(g)} instead of {type(w)}"
        if isinstance(w, torch.Tensor):
            assert g.device.type == device.type, f"{where} is on {g.device}"
            assert_same_layout(g, w, where)
            torch.testing.assert_close(
                g.detach().cpu(), w.detach(), rtol=rtol, atol=atol, equal_nan=True
            )
        else:
            assert g == w, f"{where}: {g!r} instead of {w!r}"


def assert_same_layout(got: torch.Tensor, want: torch.Tensor, where: str = "result") -> None:
    """Dtype, shape, strides (where they mean something), storage offset, requires_grad."""
    assert got.dtype == want.dtype, f"{where}: {got.dtype} instead of {want.dtype}"
    assert got.shape == want.shape, f"{where}: {got.shape} instead of {want.shape}"
    assert got.requires_grad == want.requires_grad, f"{where}: requires_grad {got.requires_grad}"
    if want.layout == torch.strided:
        assert strides(got) == strides(want), f"{where}: strides {got.stride()}: {want.stride()}"
        assert got.storage_offset() == want.storage_offset(), f"{where}: another storage offset"


def strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """Strides, of the dimensions where they mean something: longer than 1, in a filled tensor."""
    if tensor.numel() == 0:
        return ()
    return tuple(s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1)


def check(
    program: Callable[[torch.device], Any],
    device: torch.device,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> None:
    """Runs `program` on the CPU and on `device` and compares what it returns."""
    torch.manual_seed(0)
    expected = program(CPU)
    torch.manual_seed(0)
    actual = program(device)
    assert_same(actual, expected, device, rtol, atol)


def same_error(
    program: Callable[[torch.device], Any], device: torch.device
) -> tuple[BaseException, BaseException]:
    """Both runs must raise the same type; returns (the device's error, the CPU's)."""
    errors = []
    for where in (device, CPU):
        try:
            program(where)
        except Exception as error:
            errors.append(error)
        else:
            raise AssertionError(f"no error on {where}")
    got, want = errors
    assert type(got) is type(want), f"{got!r} instead of {want!r}"
    return got, want


def arange(device: torch.device, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """0, 1, 2, ... in the given shape."""
    return torch.arange(torch.Size(shape).numel(), device=device).to(dtype).reshape(shape)


def run_python(
    code: str, timeout: float = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a fresh interpreter; torch_pjrt's variables are only those given here.

    Compiled programs are kept with those of the tests, unless TORCH_PJRT_CACHE_DIR is given.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TORCH_PJRT_")}
    kept["TORCH_PJRT_CACHE_DIR"] = str(CACHE)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def output_of(code: str, timeout: float = 300, **environment: str) -> str:
    """What `code` prints in a fresh interpreter; fails with its error output."""
    done = run_python(code, timeout, **environment)
    assert done.returncode == 0, f"status {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()
