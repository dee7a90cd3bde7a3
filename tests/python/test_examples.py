"""The examples, each as the process a reader would start, with small settings."""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys

import pytest
import torch
from support import ROOT

EXAMPLES = ROOT / "examples"

pytestmark = pytest.mark.own_device


def run(script: str, *arguments: str) -> str:
    """What the example prints; it must succeed without a line on stderr that says FAILED."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *arguments],
        env={**os.environ, "TORCH_PJRT_FALLBACK": "error"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, f"status {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, f"{pattern!r} is not in:\n{text}"
    return float(found[1])


def test_examples_import_nothing_of_ours() -> None:
    scripts = [s for s in EXAMPLES.glob("*.py") if s.name != "custom_op.py"]  # it is about us
    assert len(scripts) >= 5
    for script in scripts:
        for node in ast.walk(ast.parse(script.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not any(name.startswith("torch_pjrt") for name in names), script


def test_train_follows_the_cpus_loss_curve(device: torch.device) -> None:
    text = run("train.py", "--steps", "3", "--batch", "5")
    assert text.startswith(f"{device.type}, eager: 3 steps"), text
    assert number(r"at any step: (\S+)", text) <= 1e-4


def test_classify_finds_the_zebra(device: torch.device) -> None:
    text = run("classify.py")
    tops = dict(re.findall(r"^(\w+) +ImageNet classes  (\d+):", text, re.M))
    assert tops["stripes"] == "340", text  # zebra
    assert tops["ball"] == "722", text  # ping-pong ball
    assert number(r"CPU's probabilities: (\S+)", text) <= 1e-4


def test_generate_answers_with_the_cpus_tokens(device: torch.device) -> None:
    text = run("generate.py", "--check", "--tokens", "12")
    assert text.startswith("The capital of France is Paris."), text
    assert number(r"float32, static cache: (\S+) tokens/s", text) > 0


def test_lora_lowers_the_loss_and_survives_save_and_merge() -> None:
    text = run("lora.py", "--steps", "2")
    assert number(r"loss (\S+) ->", text) > number(r"-> (\S+);", text)
    assert "reloaded: equal" in text


def test_a_failed_check_is_a_failed_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import train

    real, rates = train.train, iter([1.01, 1.0])

    def at_another_rate(model, data, device, args):  # type: ignore[no-untyped-def]
        changed = argparse.Namespace(**{**vars(args), "lr": args.lr * next(rates)})
        return real(model, data, device, changed)

    monkeypatch.setattr(train, "train", at_another_rate)
    settings = ["--device", "cpu", "--steps", "3", "--batch", "5"]
    monkeypatch.setattr(sys, "argv", ["train.py", *settings])
    assert train.main() == 1
    assert "the loss curve is not the CPU's" in capsys.readouterr().err
