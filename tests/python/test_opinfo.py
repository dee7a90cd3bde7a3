"""PyTorch's operator samples against the CPU: values, dtype, shape and strides.

opinfo_declared.json lists the operators that run on the CPU or are refused; everything else must be
native, and a listed operator that has become native must leave the list.
"""

from __future__ import annotations

import pytest
from opinfo import Record, declared, found

pytestmark = pytest.mark.own_device

# Where the CPU's answer is one of several right ones, or depends on its own rounding.
OTHER_VALUES = {
    "sort bfloat16": "the order of equal values when no stable sort is asked for",
    "topk int64": "the order of equal values",
    "log_softmax bfloat16": "the CPU rounds to bfloat16 between its steps",
}
OTHER_STRIDES = {
    "argwhere": "rows of the result are contiguous; the CPU's columns are",
    "fft.hfft2": "a result in the order of its dims; the CPU's library chooses another",
    "fft.rfftn": "the same",
    "linalg.lstsq": "runs on the CPU, whose result is copied row by row",
    "linalg.lstsq.grad_oriented": "the same",
    "nn.functional.max_unpool2d.grad": "row by row for a channels_last input",
}


def with_status(records: list[Record], *statuses: str) -> list[str]:
    return [f"{r['op']}: {r['detail']}" for r in records if r["status"] in statuses]


def test_every_operator_was_run(opinfo_records: list[Record]) -> None:
    assert len({r["op"] for r in opinfo_records}) == len(opinfo_records) > 700
    assert sum(r["samples"] for r in opinfo_records) > 1000
    empty = [r["op"] for r in opinfo_records if r["status"] == "empty"]
    assert all("jiterator" in name for name in empty), empty  # those are for CUDA alone


def test_no_operator_takes_the_process_down(opinfo_records: list[Record]) -> None:
    assert with_status(opinfo_records, "crash", "hang") == []


def test_no_operator_is_wrong(opinfo_records: list[Record]) -> None:
    wrong = [r for r in opinfo_records if r["op"] not in OTHER_VALUES]
    assert with_status(wrong, "value") == []


def test_the_lists_of_differences_are_current(opinfo_records: list[Record]) -> None:
    status = {r["op"]: r["status"] for r in opinfo_records}
    assert [op for op in OTHER_VALUES if status[op] != "value"] == []
    assert [op for op in OTHER_STRIDES if status[op] != "strides"] == []


def test_no_operator_has_other_strides(opinfo_records: list[Record]) -> None:
    others = [r for r in opinfo_records if r["op"] not in OTHER_STRIDES]
    assert with_status(others, "strides") == []


def test_no_operator_fails(opinfo_records: list[Record]) -> None:
    assert with_status(opinfo_records, "error") == []


@pytest.mark.parametrize("kind", ["fallback", "unsupported"])
def test_what_is_not_native_is_declared(kind: str, opinfo_records: list[Record]) -> None:
    actual, listed = set(found(opinfo_records)[kind]), set(declared()[kind])
    assert sorted(actual - listed) == [], "not declared (or no longer native)"
    assert sorted(listed - actual) == [], "declared, but not so any more: shorten the list"


def test_most_operators_are_native(opinfo_records: list[Record]) -> None:
    float32 = [r for r in opinfo_records if " " not in r["op"] and r["status"] != "empty"]
    native = [r for r in float32 if r["status"] == "ok" and not r["fallback"]]
    assert len(native) >= len(float32) / 2
