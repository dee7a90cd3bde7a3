"""Fine-tunes a sentence encoder to tell three topics apart, and checks every loss against the CPU.

python examples/train.py [--compile] [--device DEVICE] [--steps N]
"""

from __future__ import annotations

import argparse
import copy
import itertools
import random
import sys
import time
from typing import Any

import models
import torch

F = torch.nn.functional

TOPICS = {
    "weather": (
        ["the rain", "a cold wind", "the morning fog", "heavy snow", "the storm"],
        ["moved over", "covered", "reached", "spared", "surprised"],
        ["the valley", "the old harbour", "our town", "the mountains", "the coast"],
    ),
    "music": (
        ["the choir", "a young pianist", "the old band", "our orchestra", "the singer"],
        ["performed", "rehearsed", "recorded", "forgot", "loved"],
        ["the slow song", "a waltz", "the final movement", "an old melody", "the chorus"],
    ),
    "cooking": (
        ["my aunt", "the baker", "a hungry guest", "the new cook", "our neighbour"],
        ["prepared", "tasted", "burned", "shared", "seasoned"],
        ["the soup", "fresh bread", "a plate of rice", "the onions", "an apple pie"],
    ),
}


class Classifier(torch.nn.Module):
    """Token ids and mask [batch, tokens] int64 to logits [batch, topics]."""

    def __init__(self, encoder: torch.nn.Module, width: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = torch.nn.Linear(width, len(TOPICS))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        logits: torch.Tensor = self.head((hidden * weights).sum(1) / weights.sum(1))
        return logits


def make_sentences() -> list[tuple[str, int]]:
    """Every sentence of every topic, shuffled the same way in every run: (text, topic)."""
    pairs = [
        (" ".join(words), topic)
        for topic, parts in enumerate(TOPICS.values())
        for words in itertools.product(*parts)
    ]
    random.Random(0).shuffle(pairs)
    return pairs


def train(
    model: torch.nn.Module,
    data: list[Any],
    device: torch.device,
    args: argparse.Namespace,
) -> tuple[list[float], float]:
    """Trains on all but the last batch: (loss of every step, accuracy on the last batch)."""
    model = copy.deepcopy(model).to(device)
    call = torch.compile(model) if args.compile and device.type != "cpu" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    batches = list(zip(*(t.to(device).split(args.batch) for t in data), strict=True))
    losses = []
    for ids, mask, topic in itertools.islice(itertools.cycle(batches[:-1]), args.steps):
        loss: Any = F.cross_entropy(call(ids, mask), topic, label_smoothing=0.1)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    ids, mask, topic = batches[-1]
    with torch.no_grad():
        correct = (model(ids, mask).argmax(-1) == topic).float().mean()
    return [loss.item() for loss in losses], correct.item()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="default: the accelerator that PyTorch finds")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=15)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    args = parser.parse_args()
    device = models.device_named(args.device)

    torch.manual_seed(0)
    tokenizer, encoder = models.minilm()
    texts, topics = zip(*make_sentences(), strict=True)
    tokens = tokenizer(list(texts), padding="max_length", max_length=12, return_tensors="pt")
    whole = len(texts) // args.batch * args.batch  # every batch is full: one shape
    data = [tokens["input_ids"], tokens["attention_mask"], torch.tensor(topics)]
    data = [t[:whole] for t in data]
    model = Classifier(encoder, encoder.config.hidden_size)

    start = time.perf_counter()
    losses, accuracy = train(model, data, device, args)
    seconds = time.perf_counter() - start
    expected, _ = train(model, data, torch.device("cpu"), args)
    how = "compiled" if args.compile else "eager"
    print(f"{device}, {how}: {args.steps} steps in {seconds:.1f} s, compiling included")
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, {accuracy:.0%} of unseen sentences right")
    worst = max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))
    print(f"largest relative difference to the CPU's loss at any step: {worst:.1e}")
    if not worst <= 1e-4:
        print("FAILED: the loss curve is not the CPU's (1e-4)", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
