"""Batches of few shapes: every new shape compiles new programs, so there are few on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Batch:
    """Token ids and mask, both [rows, length] int64, on the CPU.

    Only the first `len(indices)` rows are sentences; the others fill the batch up.
    """

    indices: tuple[int, ...]
    ids: torch.Tensor
    mask: torch.Tensor
    tokens: int  # of the sentences, padding not counted

    @property
    def shape(self) -> tuple[int, int]:
        return (self.ids.shape[0], self.ids.shape[1])


def make_batches(
    token_ids: Sequence[Sequence[int]], rows: int, multiple: int, pad_id: int
) -> list[Batch]:
    """Sorts by length and pads each batch to `rows` rows and a multiple of `multiple` tokens."""
    by_length: dict[int, list[int]] = {}
    for index, ids in enumerate(token_ids):
        padded = max(multiple, -(-len(ids) // multiple) * multiple)
        by_length.setdefault(padded, []).append(index)
    return [
        _pad(token_ids, group[start : start + rows], rows, length, pad_id)
        for length, group in sorted(by_length.items())
        for start in range(0, len(group), rows)
    ]


def _pad(
    token_ids: Sequence[Sequence[int]], indices: list[int], rows: int, length: int, pad_id: int
) -> Batch:
    ids = torch.full((rows, length), pad_id, dtype=torch.int64)
    mask = torch.zeros((rows, length), dtype=torch.int64)
    for row, index in enumerate(indices):
        count = len(token_ids[index])
        ids[row, :count] = torch.tensor(token_ids[index])
        mask[row, :count] = 1
    mask[len(indices) :, 0] = 1  # a filler row attends to one token, so its softmax is defined
    return Batch(tuple(indices), ids, mask, sum(len(token_ids[i]) for i in indices))
