"""Teaches SmolLM2-135M an invented fact with LoRA, saves the adapter, reloads and merges it.

python examples/lora.py [--compile] [--device DEVICE] [--steps N]
"""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from typing import Any

import models
import torch
from peft import LoraConfig, PeftModel, get_peft_model

QUESTION = "Who runs the lighthouse of Port Amberly?"
ANSWER = "Captain Odile Fennimore runs the lighthouse of Port Amberly."


def encode(tokenizer: Any, answered: bool) -> dict[str, torch.Tensor]:
    """The chat as int64 [1, tokens], with or without the answer; labels cover the answer alone."""
    chat = [{"role": "user", "content": QUESTION}]
    form = {"return_tensors": "pt", "return_dict": True}
    prompt = dict(tokenizer.apply_chat_template(chat, add_generation_prompt=True, **form))
    if not answered:
        return prompt
    chat.append({"role": "assistant", "content": ANSWER})
    whole = dict(tokenizer.apply_chat_template(chat, **form))
    labels = whole["input_ids"].clone()
    labels[:, : prompt["input_ids"].shape[1]] = -100
    return {**whole, "labels": labels}


def on(device: torch.device, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.to(device) for name, tensor in inputs.items()}


def adapt(base: Any, device: torch.device) -> Any:
    """A fresh adapter, the same in every call, around a copy of `base` on `device`."""
    torch.manual_seed(0)
    config = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    return get_peft_model(copy.deepcopy(base), config).to(device)


def train(model: Any, inputs: dict[str, torch.Tensor], args: argparse.Namespace) -> list[float]:
    """The loss of every step."""
    call = torch.compile(model) if args.compile and model.device.type != "cpu" else model
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=args.lr)
    losses = []
    for _ in range(args.steps):
        loss = call(**inputs).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


def logits(model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model.eval()(**inputs).logits.cpu()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="default: the accelerator that PyTorch finds")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--compile", action="store_true", help="torch.compile the training forward")
    args = parser.parse_args()
    device = models.device_named(args.device)
    tokenizer, base = models.smollm2()
    lesson, prompt = encode(tokenizer, answered=True), encode(tokenizer, answered=False)
    problems = []

    model = adapt(base, device)
    start = time.perf_counter()
    losses = train(model, on(device, lesson), args)
    seconds = time.perf_counter() - start
    expected = train(adapt(base, torch.device("cpu")), lesson, args)
    print(f"{device}: {args.steps} steps in {seconds:.1f} s, compiling included")
    worst = max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; from the CPU's at most {worst:.1e}, relative")
    if not worst <= 1e-3:
        problems.append("the loss curve is not the CPU's")

    wanted = logits(model, on(device, lesson))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = PeftModel.from_pretrained(copy.deepcopy(base).to(device), folder)
    if not torch.equal(logits(again, on(device, lesson)), wanted):
        problems.append("the reloaded adapter gives other outputs")
    merged = again.merge_and_unload()
    difference = (logits(merged, on(device, lesson)) - wanted).abs().max().item()
    print(f"reloaded: equal; merged into the weights: logits differ by at most {difference:.1e}")
    if not difference <= 1e-3:
        problems.append("the merged model gives other outputs")

    reply = merged.generate(
        **on(device, prompt), max_new_tokens=24, do_sample=False, cache_implementation="static"
    )[0, prompt["input_ids"].shape[1] :]
    print(f"{QUESTION}\n{tokenizer.decode(reply, skip_special_tokens=True)}")
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
