"""Runs the model over batches and measures it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from torch_pjrt.demo.batches import Batch

Floats = npt.NDArray[np.float32]


def embed(model: torch.nn.Module, batch: Batch, device: torch.device) -> torch.Tensor:
    """Mean-pooled, normalised sentence embeddings [rows, hidden] float32, on the CPU."""
    ids, mask = batch.ids.to(device), batch.mask.to(device)
    with torch.inference_mode():
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * weights).sum(1) / weights.sum(1)
        embeddings: torch.Tensor = torch.nn.functional.normalize(pooled, dim=-1)
        return embeddings.cpu()


@dataclass(frozen=True)
class Pass:
    """One or more rounds over all batches: embeddings of the last, seconds of every batch."""

    embeddings: Floats  # [sentences, hidden]
    seconds: Floats  # [rounds * batches], from token ids on the host to embeddings on the host
    sentences: int
    tokens: int

    @property
    def sentences_per_second(self) -> float:
        return self.sentences / float(self.seconds.sum())

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / float(self.seconds.sum())

    def percentile_ms(self, percent: float) -> float:
        """Latency of one batch, milliseconds."""
        return float(np.percentile(self.seconds, percent)) * 1e3


def run_pass(
    model: torch.nn.Module,
    batches: Sequence[Batch],
    device: torch.device,
    rounds: int,
    advance: Callable[[], None],
) -> Pass:
    """Embeds every batch `rounds` times; calls `advance` after each batch."""
    count = sum(len(b.indices) for b in batches)
    size = 1 + max(max(b.indices) for b in batches)
    embeddings: Floats | None = None
    seconds = []
    for _ in range(rounds):
        for batch in batches:
            start = time.perf_counter()
            result = embed(model, batch, device).numpy()
            seconds.append(time.perf_counter() - start)
            if embeddings is None:
                embeddings = np.zeros((size, result.shape[1]), np.float32)
            embeddings[list(batch.indices)] = result[: len(batch.indices)]
            advance()
    assert embeddings is not None, "a pass needs at least one round and one batch"
    tokens = sum(b.tokens for b in batches)
    return Pass(embeddings, np.array(seconds, np.float32), rounds * count, rounds * tokens)


def compare(actual: Floats, expected: Floats) -> tuple[float, float]:
    """Largest absolute difference and smallest cosine between rows of equal index."""
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(np.abs(a - b).max()), float(((a * b).sum(1) / norms).min())


def nearest_pairs(
    embeddings: Floats, sentences: Sequence[str], count: int
) -> list[dict[str, object]]:
    """The `count` most similar pairs, no sentence twice; embeddings are normalised."""
    similarity = embeddings @ embeddings.T
    rows, columns = np.triu_indices(len(sentences), k=1)
    used: set[int] = set()
    pairs: list[dict[str, object]] = []
    for position in np.argsort(-similarity[rows, columns], kind="stable"):
        i, j = int(rows[position]), int(columns[position])
        if len(pairs) == count:
            break
        if used.isdisjoint((i, j)):
            used.update((i, j))
            pairs.append(
                {
                    "sentence": sentences[i],
                    "nearest": sentences[j],
                    "cosine": round(float(similarity[i, j]), 4),
                }
            )
    return pairs
