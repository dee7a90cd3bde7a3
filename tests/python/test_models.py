"""Real models, eagerly: the numbers of the CPU, and not one operator on the CPU."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import pytest
import torch
from support import CPU
from torch import nn

F = nn.functional
pytestmark = pytest.mark.usefixtures("no_fallback")


@pytest.fixture(scope="module")
def minilm() -> tuple[object, nn.Module]:
    os.environ["HF_HUB_OFFLINE"] = "1"
    from torch_pjrt.demo import model

    return model.load(model.model_folder())


def test_minilm_forward_equals_the_cpus(
    minilm: tuple[object, nn.Module], device: torch.device
) -> None:
    import copy

    tokenizer, reference = minilm
    sentences = ["A man is playing a guitar.", "Someone plays an instrument.", "It rains."]
    inputs = tokenizer(sentences, padding="max_length", max_length=16, return_tensors="pt")
    subject = copy.deepcopy(reference).to(device)
    with torch.no_grad():
        wanted = reference(**inputs).last_hidden_state
        got = subject(**{k: v.to(device) for k, v in inputs.items()}).last_hidden_state
    assert got.device.type == device.type
    torch.testing.assert_close(got.cpu(), wanted, rtol=1e-4, atol=1e-5)

    def similarity(hidden: torch.Tensor) -> torch.Tensor:
        mask = inputs["attention_mask"][..., None]
        pooled = F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
        return pooled @ pooled.T

    scores = similarity(got.cpu())
    assert scores[0, 1] > 0.5 > scores[0, 2], "a paraphrase is no nearer than the weather"


def test_minilm_trains(minilm: tuple[object, nn.Module], device: torch.device) -> None:
    import copy

    tokenizer, reference = minilm
    inputs = tokenizer(["A cat sat.", "The dog ran."], padding=True, return_tensors="pt")

    def losses(where: torch.device) -> list[float]:
        model = copy.deepcopy(reference).to(where).eval()  # no dropout: its draws differ
        batch = {k: v.to(where) for k, v in inputs.items()}
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        found = []
        for _ in range(3):
            optimizer.zero_grad()
            hidden = model(**batch).last_hidden_state
            loss = (hidden[:, 0] - 1).square().mean()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            found.append(loss.item())
        return found

    got, wanted = losses(device), losses(CPU)
    assert wanted[-1] < wanted[0]
    assert got == pytest.approx(wanted, rel=1e-4)


def train(
    make: Callable[[], nn.Module],
    data: torch.Tensor,
    target: torch.Tensor,
    loss_function: Callable[..., torch.Tensor],
    optimizer: Callable[..., torch.optim.Optimizer],
    where: torch.device,
    steps: int = 6,
) -> list[float]:
    torch.manual_seed(0)
    model = make().to(where)
    driver = optimizer(model.parameters())
    data, target = data.to(where), target.to(where)
    losses = []
    for _ in range(steps):
        driver.zero_grad()
        loss = loss_function(model(data), target)
        loss.backward()
        driver.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


def mlp() -> nn.Module:
    first = [nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32)]
    return nn.Sequential(*first, nn.Linear(32, 16), nn.GELU(), nn.Linear(16, 3))


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD momentum": lambda p: torch.optim.SGD(
        p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3
    ),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "AdamW foreach": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=True),
    "AdamW loop": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=False, amsgrad=True),
    "AdamW capturable": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=False, capturable=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_mlp_trains_along_the_cpus_curve(name: str, device: torch.device) -> None:
    if "capturable" in name and device.type == "cpu":
        pytest.skip("not for the CPU")
    data, target = torch.randn(16, 8), torch.randint(3, (16,))
    got = train(mlp, data, target, F.cross_entropy, OPTIMIZERS[name], device)
    on_cpu = OPTIMIZERS["AdamW" if "capturable" in name else name]
    wanted = train(mlp, data, target, F.cross_entropy, on_cpu, CPU)
    assert wanted[-1] < wanted[0]
    assert got == pytest.approx(wanted, rel=1e-4)


class ResidualBlock(nn.Module):
    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut = nn.Sequential(
            nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += self.shortcut(x)
        return F.relu(y, inplace=True)


def resnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        ResidualBlock(8, 8, 1),
        ResidualBlock(8, 16, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 4),
    )


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_resnet_block_trains(memory_format: torch.memory_format, device: torch.device) -> None:
    images = torch.randn(4, 3, 32, 32).contiguous(memory_format=memory_format)
    labels = torch.randint(4, (4,))

    def make() -> nn.Module:
        return resnet().to(memory_format=memory_format)

    got = train(make, images, labels, F.cross_entropy, OPTIMIZERS["SGD momentum"], device, 4)
    wanted = train(make, images, labels, F.cross_entropy, OPTIMIZERS["SGD momentum"], CPU, 4)
    assert wanted[-1] < wanted[0]
    assert got == pytest.approx(wanted, rel=2e-3)


def test_resnet_block_in_eval_mode(device: torch.device) -> None:
    model, images = resnet().eval(), torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        wanted = model(images)
        got = model.to(device)(images.to(device))
    torch.testing.assert_close(got.cpu(), wanted, rtol=1e-4, atol=1e-5)


def llama(attention: str) -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        attn_implementation=attention,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_llama_trains(attention: str, device: torch.device) -> None:
    tokens = torch.randint(64, (2, 12))

    def losses(where: torch.device) -> list[float]:
        torch.manual_seed(0)
        model = llama(attention).to(where)
        assert model.lm_head.weight is model.model.embed_tokens.weight
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        ids, found = tokens.to(where), []
        for _ in range(4):
            optimizer.zero_grad()
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            found.append(loss.item())
        return found

    got, wanted = losses(device), losses(CPU)
    assert wanted[-1] < wanted[0] < 2 * math.log(64)
    assert got == pytest.approx(wanted, rel=1e-4)


def test_llama_generates_the_cpus_tokens(device: torch.device) -> None:
    torch.manual_seed(0)
    model = llama("sdpa").eval()
    prompt = torch.randint(64, (1, 5))
    arguments = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    wanted = model.generate(prompt, attention_mask=torch.ones_like(prompt), **arguments)
    model.to(device)
    prompt = prompt.to(device)
    got = model.generate(prompt, attention_mask=torch.ones_like(prompt), **arguments)
    assert got.device.type == device.type
    assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_trains(dtype: torch.dtype, device: torch.device) -> None:
    data, target = torch.randn(16, 8), torch.randint(3, (16,))

    def losses(where: torch.device) -> list[float]:
        torch.manual_seed(0)
        model = mlp().to(where)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x, y, found = data.to(where), target.to(where), []
        for _ in range(4):
            optimizer.zero_grad()
            with torch.autocast(where.type, dtype=dtype):
                loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses(device) == pytest.approx(losses(CPU), rel=2e-2)


def test_transformer_layers(device: torch.device) -> None:
    def run(where: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True).to(where)
        x = torch.randn(2, 6, 16).to(where).requires_grad_()
        mask = nn.Transformer.generate_square_subsequent_mask(6).to(where)
        y = layer(x, src_mask=mask)
        y.square().mean().backward()
        return [y.detach().cpu(), x.grad.cpu(), *(p.grad.cpu() for p in layer.parameters())]

    for got, wanted in zip(run(device), run(CPU), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-5)


def test_evaluation_of_a_transformer_layer(device: torch.device) -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
    x = torch.randn(2, 6, 16)
    with torch.no_grad():
        wanted = layer(x)
        got = layer.to(device)(x.to(device))
    torch.testing.assert_close(got.cpu(), wanted, rtol=1e-4, atol=1e-5)
