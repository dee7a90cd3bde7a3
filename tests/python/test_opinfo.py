"""PyTorch's operator samples against the CPU: values, dtype, shape and strides.

opinfo_declared.json lists the operators that run on the CPU or are refused; everything else must be
native, and a listed operator that has become native must leave the list.
"""

from __future__ import annotations

import pytest
from opinfo import Record, declared, found

pytestmark = pytest.mark.own_device


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
    assert with_status(opinfo_records, "value") == []


def test_no_operator_has_other_strides(opinfo_records: list[Record]) -> None:
    assert with_status(opinfo_records, "strides") == []


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
