"""Classifies drawn images with EfficientNet-Lite0 and checks the top five against the CPU.

python examples/classify.py [--compile] [--device DEVICE] [--size PIXELS]
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from typing import Any

import models
import torch


def draw(size: int) -> dict[str, torch.Tensor]:
    """Pictures by name: [3, size, size] float32 from 0 to 1."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    radius = (x.square() + y.square()).sqrt()
    shade = (1.2 - ((x + 0.3).square() + (y + 0.3).square()).sqrt()).clamp(0, 1)
    sky = torch.stack([0.5 - 0.3 * y, 0.7 - 0.2 * y, torch.ones_like(y)])
    stripes = ((x + 0.15 * torch.sin(4 * y)) * 25).sin().gt(0).float().expand(3, -1, -1)
    dots = ((x * 30).sin() * (y * 30).sin()).gt(0.5).float()
    colour = torch.tensor([1.0, 0.55, 0.05])[:, None, None]
    ball = torch.where(radius < 0.6, colour * shade, torch.tensor(0.95))
    sea = torch.where(y > 0.1, torch.tensor([0.1, 0.3, 0.5])[:, None, None], sky)
    honeycomb = torch.stack([0.9 - 0.5 * dots, 0.7 - 0.5 * dots, 0.1 + 0 * dots])
    return {"ball": ball, "stripes": stripes, "sea": sea, "dots": honeycomb}


def classify(model: Any, images: torch.Tensor) -> torch.return_types.topk:
    """The five most probable classes of each image: values and indices, both [n, 5], on the CPU."""
    with torch.inference_mode():
        top = model(images).softmax(-1).topk(5)
    return torch.return_types.topk((top.values.cpu(), top.indices.cpu()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="default: the accelerator that PyTorch finds")
    parser.add_argument("--size", type=int, default=224, help="pixels; the model was made for 224")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    args = parser.parse_args()
    device = models.device_named(args.device)

    pictures = draw(args.size)
    images = torch.stack(list(pictures.values())) * 2 - 1
    reference = models.efficientnet()
    model = copy.deepcopy(reference).to(device)
    call: Any = torch.compile(model) if args.compile else model
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        top = classify(call, images.to(device))
        seconds.append(time.perf_counter() - start)
    expected = classify(reference, images)
    for name, values, indices in zip(pictures, *top, strict=True):
        best = "  ".join(f"{i}: {v:.1%}" for v, i in zip(values, indices, strict=True))
        print(f"{name:8} ImageNet classes  {best}")
    print(f"{device}: {seconds[1] * 1e3:.0f} ms for {len(images)} images, first {seconds[0]:.1f} s")
    difference = (top.values - expected.values).abs().max().item()
    print(f"largest difference to the CPU's probabilities: {difference:.1e}")
    if not torch.equal(top.indices, expected.indices) or not difference <= 1e-4:
        print("FAILED: the top five are not the CPU's", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
