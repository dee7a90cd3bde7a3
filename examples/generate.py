"""Answers a question with SmolLM2-135M-Instruct; --check compares the tokens with the CPU's.

python examples/generate.py [PROMPT] [--check] [--compile] [--device DEVICE] [--cache dynamic]
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from typing import Any

import models
import torch


def answer(model: Any, inputs: Any, args: argparse.Namespace) -> tuple[torch.Tensor, float]:
    """The new tokens [n] int64, on the CPU, and the seconds they took."""
    choice: dict[str, Any] = {"do_sample": False}
    if args.temperature:
        choice = {"do_sample": True, "temperature": args.temperature, "top_k": 50}
        torch.manual_seed(args.seed)
    start = time.perf_counter()
    tokens = model.generate(
        **inputs.to(model.device),
        **choice,
        max_new_tokens=args.tokens,
        cache_implementation=args.cache if args.cache == "static" else None,
    ).cpu()
    return tokens[0, inputs["input_ids"].shape[1] :], time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prompt", nargs="?", default="What is the capital of France?")
    parser.add_argument("--device", help="default: the accelerator that PyTorch finds")
    parser.add_argument("--tokens", type=int, default=24, help="at most that many new ones")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--cache", choices=["static", "dynamic"], default="static")
    parser.add_argument("--temperature", type=float, default=0.0, help="0: always the likeliest")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true", help="torch.compile the forward pass")
    parser.add_argument("--check", action="store_true", help="the CPU must give the same tokens")
    args = parser.parse_args()
    if args.check and args.temperature:
        parser.error("--check needs --temperature 0: each device draws numbers of its own")
    device = models.device_named(args.device)

    tokenizer, reference = models.smollm2(getattr(torch, args.dtype))
    chat = [{"role": "user", "content": args.prompt}]
    inputs = tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    model = copy.deepcopy(reference).to(device)
    if args.compile:
        model.forward = torch.compile(model.forward)
    _, first = answer(model, inputs, args)  # compiles
    tokens, seconds = answer(model, inputs, args)
    print(tokenizer.decode(tokens, skip_special_tokens=True))
    print(
        f"{device}, {args.dtype}, {args.cache} cache: {len(tokens) / seconds:.1f} tokens/s,"
        f" first answer after {first:.1f} s"
    )
    if args.check:
        expected, seconds = answer(reference, inputs, args)
        print(f"cpu: {len(expected) / seconds:.1f} tokens/s")
        if not torch.equal(tokens, expected):
            print(f"FAILED: the CPU says {tokenizer.decode(expected)!r}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
