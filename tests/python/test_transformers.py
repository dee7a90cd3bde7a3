"""Hugging Face as it is: transformers, accelerate and PEFT get the CPU's results on the device."""

from __future__ import annotations

import copy
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from support import CPU

os.environ["HF_HUB_OFFLINE"] = "1"

PAD, VOCABULARY = 0, 128
pytestmark = pytest.mark.usefixtures("no_fallback")


@pytest.fixture
def accelerate_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[torch.device], None]]:
    """Names the device that accelerate and Trainer use from here on."""
    from accelerate.state import AcceleratorState

    def choose(where: torch.device) -> None:
        AcceleratorState._reset_state(True)
        monkeypatch.setenv("ACCELERATE_TORCH_DEVICE", where.type)

    yield choose
    AcceleratorState._reset_state(True)


def llama() -> Any:
    """A small Llama with tied and grouped heads, the same in every call, on the CPU."""
    from transformers import LlamaConfig, LlamaForCausalLM, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.3,
        tie_word_embeddings=True,
        pad_token_id=PAD,
        bos_token_id=1,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def reference() -> Any:
    return llama()


@pytest.fixture(scope="module")
def subject(reference: Any, device: torch.device) -> Any:
    return copy.deepcopy(reference).to(device)


def prompts(where: torch.device) -> dict[str, torch.Tensor]:
    """Two prompts of five tokens, the first one padded by two on the left."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(2, VOCABULARY, (2, 5), generator=generator)
    mask = torch.ones_like(ids)
    ids[0, :2], mask[0, :2] = PAD, 0
    return {"input_ids": ids.to(where), "attention_mask": mask.to(where)}


GENERATE: dict[str, dict[str, Any]] = {
    "dynamic cache": {"max_new_tokens": 4},
    "static cache": {"max_new_tokens": 6, "cache_implementation": "static"},
    "beams": {"max_new_tokens": 3, "cache_implementation": "static", "num_beams": 2},
    "penalties": {
        "max_new_tokens": 3,
        "cache_implementation": "static",
        "repetition_penalty": 1.3,
        "min_new_tokens": 2,
    },
}


@pytest.mark.parametrize("name", GENERATE)
def test_generate_gives_the_cpus_tokens(
    name: str, reference: Any, subject: Any, device: torch.device
) -> None:
    wanted = reference.generate(**prompts(CPU), do_sample=False, **GENERATE[name])
    got = subject.generate(**prompts(device), do_sample=False, **GENERATE[name])
    assert got.device.type == device.type
    assert got.tolist() == wanted.tolist()


@pytest.mark.own_device
def test_a_static_cache_compiles_little_per_token_and_nothing_again(
    subject: Any, device: torch.device, pjrt: ModuleType
) -> None:
    from transformers import StoppingCriteria

    counts = []

    class Count(StoppingCriteria):
        def __call__(self, ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
            counts.append(pjrt.compile_count())
            return torch.zeros(ids.shape[0], dtype=torch.bool, device=ids.device)

    for _ in range(2):
        subject.generate(
            **prompts(device),
            do_sample=False,
            max_new_tokens=7,
            cache_implementation="static",
            stopping_criteria=[Count()],
        )
    # Ids, mask and positions grow by one; the model itself must not see a new shape.
    growth = [after - before for before, after in itertools.pairwise(counts[2:7])]
    assert max(growth) <= 5
    assert len(counts) == 14
    assert counts[7:] == [counts[6]] * 7


def test_padding_on_the_left_does_not_change_the_answer(subject: Any, device: torch.device) -> None:
    options: dict[str, Any] = {"max_new_tokens": 4, "cache_implementation": "static"}
    both = prompts(device)
    padded = subject.generate(**both, do_sample=False, **options)[0, 5:]
    alone = subject.generate(
        input_ids=both["input_ids"][:1, 2:],
        attention_mask=both["attention_mask"][:1, 2:],
        do_sample=False,
        **options,
    )[0, 3:]
    assert padded.tolist() == alone.tolist()


def test_sampling_follows_the_devices_generator(subject: Any, device: torch.device) -> None:
    def sample() -> list[list[int]]:
        tokens = subject.generate(
            **prompts(device),
            do_sample=True,
            top_k=40,
            top_p=0.95,
            temperature=1.5,
            max_new_tokens=6,
            cache_implementation="static",
        )
        return [row[5:] for row in tokens.tolist()]

    torch.manual_seed(3)
    state = torch.get_device_module(device).get_rng_state(device) if device.type != "cpu" else None
    first, second = sample(), sample()
    assert first != second
    torch.manual_seed(3)
    assert sample() == first
    if state is not None:
        torch.get_device_module(device).set_rng_state(state, device)
        assert sample() == first
    assert all(0 <= token < VOCABULARY for row in first for token in row)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_models_are_loaded_onto_the_device_and_saved_from_it(
    dtype: torch.dtype, reference: Any, device: torch.device, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM

    original = copy.deepcopy(reference).to(dtype)
    copy.deepcopy(original).to(device).save_pretrained(tmp_path)
    for device_map in ({"": device.type}, device.type, device):
        loaded = AutoModelForCausalLM.from_pretrained(tmp_path, device_map=device_map)
        assert {p.device.type for p in loaded.parameters()} == {device.type}
        assert loaded.lm_head.weight is loaded.model.embed_tokens.weight
        for name, value in loaded.state_dict().items():
            assert value.dtype == dtype
            assert torch.equal(value.cpu(), original.state_dict()[name]), name
    with torch.no_grad():
        got = loaded(**prompts(device)).logits.float().cpu()
        wanted = original(**prompts(CPU)).logits.float()
    tolerance = 1e-4 if dtype == torch.float32 else 0.1
    torch.testing.assert_close(got[1], wanted[1], rtol=tolerance, atol=tolerance)


def test_auto_model_and_pipeline_embed_like_the_cpu(device: torch.device) -> None:
    from transformers import AutoModel, AutoTokenizer, pipeline

    from torch_pjrt.demo.model import model_folder

    folder = str(model_folder())
    sentence = "The rain has reached the coast."
    wanted = pipeline("feature-extraction", model=folder, device="cpu")(
        sentence, return_tensors=True
    )
    tested = pipeline("feature-extraction", model=folder, device=device)
    assert tested.model.device.type == device.type
    torch.testing.assert_close(tested(sentence, return_tensors=True), wanted, rtol=1e-4, atol=1e-5)
    model = AutoModel.from_pretrained(folder, device_map={"": device.type})
    tokens = AutoTokenizer.from_pretrained(folder)(sentence, return_tensors="pt").to(device)
    with torch.no_grad():
        hidden = model(**tokens).last_hidden_state
    assert hidden.device.type == device.type
    torch.testing.assert_close(hidden.cpu(), wanted, rtol=1e-4, atol=1e-5)


def trainer(folder: Path, seen: list[tuple[float, float]], **options: Any) -> Any:
    """A Trainer over 16 rows of 8 tokens that appends (loss, gradient norm) of every step."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Log(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "loss" in logs:
                seen.append((logs["loss"], logs["grad_norm"]))

    generator = torch.Generator().manual_seed(2)
    rows = torch.randint(2, VOCABULARY, (16, 8), generator=generator).tolist()
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=4,
        per_device_train_batch_size=4,
        learning_rate=1e-3,
        logging_steps=1,
        save_steps=2,
        disable_tqdm=True,
        report_to=[],
        **options,
    )
    data = [{"input_ids": row, "labels": row} for row in rows]
    return Trainer(model=llama(), args=arguments, train_dataset=data, callbacks=[Log()])


def test_trainer_follows_the_cpus_loss_curve_and_resumes(
    device: torch.device, tmp_path: Path, accelerate_on: Callable[[torch.device], None]
) -> None:
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, where in (("wanted", CPU), ("got", device)):
        accelerate_on(where)
        running = trainer(tmp_path / name, curves.setdefault(name, []))
        running.train()
        assert running.model.device.type == where.type
    wanted, got = curves["wanted"], curves["got"]
    assert len(wanted) == 4
    assert wanted[0] != wanted[1]
    for one, other in zip(got, wanted, strict=True):
        assert one == pytest.approx(other, rel=1e-4)

    resumed: list[tuple[float, float]] = []
    accelerate_on(device)
    trainer(tmp_path / "got", resumed).train(
        resume_from_checkpoint=str(tmp_path / "got" / "checkpoint-2")
    )
    assert resumed == got[2:]


def test_trainer_accumulates_and_recomputes_like_the_cpu(
    device: torch.device, tmp_path: Path, accelerate_on: Callable[[torch.device], None]
) -> None:
    curves = []
    for where in (CPU, device):
        accelerate_on(where)
        curves.append([])
        trainer(
            tmp_path / where.type,
            curves[-1],
            gradient_accumulation_steps=2,
            activation_checkpointing=True,
            dataloader_num_workers=1,
        ).train()
    for one, other in zip(*curves, strict=True):
        assert one == pytest.approx(other, rel=1e-4)


def test_accelerate_trains_gathers_and_restores(
    device: torch.device, tmp_path: Path, accelerate_on: Callable[[torch.device], None]
) -> None:
    from accelerate import Accelerator
    from torch.utils.data import DataLoader, TensorDataset

    def run(where: torch.device) -> list[float]:
        accelerate_on(where)
        accelerator = Accelerator(gradient_accumulation_steps=2)
        assert accelerator.device.type == where.type
        torch.manual_seed(0)
        network: Any = torch.nn.Linear(4, 3)
        optimizer: Any = torch.optim.AdamW(network.parameters(), lr=1e-2)
        schedule: Any = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        rows = TensorDataset(torch.randn(16, 4), torch.randint(0, 3, (16,)))
        loader: Any = DataLoader(rows, batch_size=4)
        network, optimizer, loader, schedule = accelerator.prepare(
            network, optimizer, loader, schedule
        )
        losses = []
        for x, y in loader:
            with accelerator.accumulate(network):
                loss = torch.nn.functional.cross_entropy(network(x), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(network.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather_for_metrics(loss).item())
        trained = network.weight.detach().clone()
        accelerator.save_state(str(tmp_path / where.type))
        with torch.no_grad():
            network.weight.zero_()
        accelerator.load_state(str(tmp_path / where.type))
        assert network.weight.device.type == where.type
        assert torch.equal(network.weight, trained)
        moments = next(iter(optimizer.state.values()))["exp_avg"]
        assert moments.device.type == where.type
        return losses

    wanted = run(CPU)
    assert len(set(wanted)) == 4
    assert run(device) == pytest.approx(wanted, rel=1e-5)


def test_accelerates_mixed_precision_runs_matmuls_in_bfloat16(
    device: torch.device, accelerate_on: Callable[[torch.device], None]
) -> None:
    from accelerate import Accelerator

    accelerate_on(device)
    accelerator = Accelerator(mixed_precision="bf16")
    network = accelerator.prepare(torch.nn.Linear(4, 3))
    x = torch.randn(2, 4, device=accelerator.device)
    with accelerator.autocast():
        assert (x @ x.t()).dtype == torch.bfloat16
    accelerator.backward(network(x).square().sum())
    assert network.weight.grad.dtype == torch.float32
    assert network.weight.grad.abs().sum() > 0


def test_lora_trains_is_saved_reloaded_and_merged(
    reference: Any, device: torch.device, tmp_path: Path
) -> None:
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import AutoModelForCausalLM

    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")

    def train(where: torch.device) -> tuple[Any, list[float]]:
        torch.manual_seed(1)
        model = get_peft_model(copy.deepcopy(reference), config).to(where)
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=1e-3)
        ids = prompts(where)["input_ids"]
        losses = []
        for _ in range(3):
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        return model.eval(), losses

    def logits(model: Any) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = model(**prompts(device)).logits.cpu()
        return found[1]

    model, losses = train(device)
    _, wanted = train(CPU)
    assert wanted[-1] < wanted[0]
    assert losses == pytest.approx(wanted, rel=1e-4)

    adapted = logits(model)
    model.save_pretrained(tmp_path / "adapter")
    base = copy.deepcopy(reference).to(device)
    again = PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    assert {p.device.type for p in again.parameters()} == {device.type}
    assert torch.equal(logits(again), adapted)

    merged = again.merge_and_unload()
    torch.testing.assert_close(logits(merged), adapted, rtol=1e-4, atol=1e-4)
    merged.save_pretrained(tmp_path / "merged")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", device_map={"": device.type})
    assert torch.equal(logits(loaded), logits(merged))
