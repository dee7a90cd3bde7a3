"""Runs PyTorch's own operator samples on the device and on the CPU: one JSON line per operator.

    python opinfo_worker.py --device pjrt --shard 0/2 [--first 17] [--proxy PATH] [--ops REGEX]

A line {"start": n} comes before task n, so that a parent that sees the process die knows where.
Run by opinfo.py; kept apart because an operator may take the process down.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from support import CPU, leaves, strides
from torch.testing._internal import common_methods_invocations as invocations

# The samples taken from each operator's generator: the plain first ones and some odd later ones.
SAMPLES = (0, 1, 4, 9)
# Operators that are also run in other dtypes.
OTHER_DTYPES = {
    torch.int64: "abs add sub mul neg sum prod cumsum amax max min argmax sort topk cat where eq lt"
    " floor_divide remainder bitwise_and bitwise_or clamp gather scatter index_select pow tril",
    torch.bool: "logical_and logical_or logical_not any all eq ne where cat bitwise_xor sum cumsum"
    " masked_fill index_select flip",
    torch.bfloat16: "add mul div exp tanh sum mean softmax log_softmax nn.functional.gelu"
    " nn.functional.layer_norm nn.functional.linear matmul mm bmm cat where sort pow"
    " nn.functional.silu nn.functional.conv2d nn.functional.cross_entropy",
}
# Unique only up to sign, phase or order: compared after the sample's own normalisation.
NOT_UNIQUE = re.compile(r"svd|eig|qr$|lowrank|lobpcg|geqrf|ormqr")
UNINITIALISED = re.compile(r"^(new_)?empty|_empty")
# Arguments that PyTorch wants on the CPU, whatever the device.
HOST_ARGUMENTS = {"tensor_split": {0}}


def tasks() -> list[tuple[Any, torch.dtype]]:
    """(operator, dtype) in a fixed order."""
    found = [(op, torch.float32) for op in invocations.op_db]
    for dtype, names in OTHER_DTYPES.items():
        wanted = set(names.split())
        found += [(op, dtype) for op in invocations.op_db if op.name in wanted]
    return [(op, dtype) for op, dtype in found if dtype in op.dtypes]


def label(op: Any, dtype: torch.dtype) -> str:
    variant = f".{op.variant_test_name}" if op.variant_test_name else ""
    suffix = "" if dtype == torch.float32 else f" {str(dtype).removeprefix('torch.')}"
    return f"{op.name}{variant}{suffix}"


def place(value: Any, where: torch.device, memo: dict[int, torch.Tensor]) -> Any:
    """A copy of a sample on `where`; a tensor that occurs twice is one tensor there, too."""
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = value.detach().to(where, copy=True)
        return memo[id(value)]
    if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
        return where
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(place(v, where, memo) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(place(v, where, memo) for v in value)
    if isinstance(value, dict):
        return {k: place(v, where, memo) for k, v in value.items()}
    return value


def placed(op: Any, sample: Any, where: torch.device) -> tuple[Any, list[Any], dict[str, Any]]:
    memo: dict[int, torch.Tensor] = {}
    host = HOST_ARGUMENTS.get(op.name, set())
    args = [place(a, CPU if i in host else where, memo) for i, a in enumerate(sample.args)]
    return place(sample.input, where, memo), args, place(sample.kwargs, where, memo)


def tolerance(op: Any, dtype: torch.dtype) -> tuple[float, float]:
    """(rtol, atol): torch.testing's for the dtype, or more where PyTorch's own tests allow it."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0, 0.0
    rtol, atol = torch.testing._comparison.default_tolerances(dtype)
    for holder in op.decorators:
        for decorator in getattr(holder, "decorators", [holder]):
            allowed = getattr(decorator, "d", {})
            limit = allowed.get(dtype) if isinstance(allowed, dict) else None
            if isinstance(limit, tuple):
                atol, rtol = max(atol, limit.atol), max(rtol, limit.rtol)
            elif limit is not None:
                atol = max(atol, float(limit))
    return rtol, atol


def difference(
    got: Any, want: Any, device: torch.device, limits: tuple[float, float], values: bool
) -> tuple[str, str] | None:
    """None, or ("value" | "strides", text)."""
    got_leaves, want_leaves = list(leaves(got)), list(leaves(want))
    if len(got_leaves) != len(want_leaves):
        return "value", f"{len(got_leaves)} results instead of {len(want_leaves)}"
    for g, w in zip(got_leaves, want_leaves, strict=True):
        if not isinstance(w, torch.Tensor):
            if isinstance(g, torch.Tensor) or (values and not same_number(g, w)):
                return "value", f"{g!r} instead of {w!r}"
            continue
        if not isinstance(g, torch.Tensor) or g.device.type != device.type:
            return "value", f"{getattr(g, 'device', type(g))} instead of {device}"
        if g.dtype != w.dtype or g.shape != w.shape:
            return "value", f"{g.dtype}{list(g.shape)} instead of {w.dtype}{list(w.shape)}"
        if values:
            rtol, atol = limits if w.dtype.is_floating_point or w.dtype.is_complex else (0.0, 0.0)
            try:
                torch.testing.assert_close(
                    g.detach().cpu(), w.detach(), rtol=rtol, atol=atol, equal_nan=True
                )
            except AssertionError as error:
                return "value", " ".join(str(error).split())[:300]
    for g, w in zip(got_leaves, want_leaves, strict=True):
        if isinstance(w, torch.Tensor) and w.layout == torch.strided and strides(g) != strides(w):
            return "strides", f"{g.stride()} instead of {w.stride()} for {list(w.shape)}"
    return None


def same_number(got: Any, want: Any) -> bool:
    if isinstance(want, (torch.device, torch.Generator)):
        return True
    if isinstance(want, (bool, int, float, complex)):
        return bool(torch.isclose(torch.tensor(got), torch.tensor(want), equal_nan=True))
    return bool(got == want)


class Runner:
    def __init__(self, device: torch.device, proxy: str | None) -> None:
        self.device = device
        self.reads: Callable[[], int] = lambda: 0
        self.fallbacks: Callable[[], dict[str, int]] = dict
        self.reset: Callable[[], None] = lambda: None
        if proxy is not None:
            self.reads = ctypes.CDLL(proxy).tpjrt_proxy_reads
            self.reads.restype = ctypes.c_uint64
        if device.type != "cpu":
            import torch_pjrt

            torch_pjrt.set_fallback("silent")
            self.fallbacks = torch_pjrt.fallback_counts
            self.reset = torch_pjrt.reset_fallback_counts

    def run(self, op: Any, dtype: torch.dtype) -> dict[str, Any]:
        """Status: ok, value, strides, unsupported, error, or empty: no sample the CPU takes."""
        record: dict[str, Any] = {"status": "empty", "samples": 0, "fallback": [], "reads": 0}
        start = time.perf_counter()
        for index, sample in self.samples(op, dtype):
            outcome = self.run_sample(op, dtype, sample, record)
            if outcome is None:
                continue
            record["samples"] += 1
            if outcome[0] != "ok":
                record.update(status=outcome[0], detail=f"sample {index}: {outcome[1]}")
                break
            record["status"] = "ok"
        record["seconds"] = round(time.perf_counter() - start, 3)
        return record

    def samples(self, op: Any, dtype: torch.dtype) -> Iterator[tuple[int, Any]]:
        torch.manual_seed(0)
        try:
            made = op.sample_inputs("cpu", dtype, requires_grad=False)
            for index, sample in enumerate(itertools.islice(made, max(SAMPLES) + 1)):
                if index in SAMPLES:
                    yield index, sample
        except Exception as error:  # the sample generator itself needs something that is not here
            print(f"{op.name}: {error}", file=sys.stderr)

    def run_sample(
        self, op: Any, dtype: torch.dtype, sample: Any, record: dict[str, Any]
    ) -> tuple[str, str] | None:
        torch.manual_seed(1)
        state = torch.get_rng_state()
        try:
            x, args, kwargs = placed(op, sample, CPU)
            want = op(x, *args, **kwargs)
        except Exception:
            return None
        random = not torch.equal(state, torch.get_rng_state())
        values = not random and not UNINITIALISED.search(op.name)
        x, args, kwargs = placed(op, sample, self.device)
        self.reset()
        reads = self.reads()
        try:
            got = op(x, *args, **kwargs)
        except NotImplementedError as error:
            return "unsupported", " ".join(str(error).split())[:300]
        except Exception as error:
            return "error", f"{type(error).__name__}: " + " ".join(str(error).split())[:300]
        reads = self.reads() - reads
        fallbacks = self.fallbacks()
        record["fallback"] = sorted({*record["fallback"], *fallbacks})
        if not fallbacks:
            record["reads"] = max(record["reads"], reads)
        limits = tolerance(op, dtype)
        try:
            found = difference(got, want, self.device, limits, values)
            if found and found[0] == "value" and NOT_UNIQUE.search(op.name):
                process = sample.output_process_fn_grad
                found = difference(process(got), process(want), self.device, limits, values)
        except Exception as error:  # for example an error that the device reports at the read
            return "error", f"{type(error).__name__}: " + " ".join(str(error).split())[:300]
        return found or ("ok", "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", required=True)
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--proxy")
    parser.add_argument("--ops", default="")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    # It would fix the seed around random operators and hide that they are random.
    invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
    runner = Runner(torch.device(arguments.device), arguments.proxy)
    shard, shards = map(int, arguments.shard.split("/"))
    for number, (op, dtype) in enumerate(tasks()):
        name = label(op, dtype)
        if number % shards != shard or number < arguments.first:
            continue
        if not re.search(arguments.ops, name):
            continue
        print(json.dumps({"start": number, "op": name}), flush=True)
        print(json.dumps({"op": name, **runner.run(op, dtype)}), flush=True)


if __name__ == "__main__":
    main()
