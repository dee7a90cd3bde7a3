"""Programs that need nothing from the host. Run by test_native.py with the counting proxy.

python native_programs.py PROXY   ->  {"program": [reads while it ran, reads of its .cpu()]}
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable

import torch
from torch import nn

import torch_pjrt

F = nn.functional
Program = Callable[[], torch.Tensor]
programs: dict[str, Program] = {}


def program(make: Callable[[torch.device], Program]) -> None:
    """Registers a program; `make` prepares it on the device and returns what is measured."""
    programs[make.__name__] = make(torch.device(torch_pjrt.device_name()))


@program
def elementwise(d: torch.device) -> Program:
    x = torch.randn(8, 8, device=d)
    return lambda: ((x + 1) * 2 - x / 3).exp().tanh().clamp(-1, 1).pow(2).sqrt()


@program
def scalars_of_all_kinds(d: torch.device) -> Program:
    x = torch.arange(8, device=d)
    return lambda: x * 2 + 0.5 + True + torch.tensor(3.0) + x.to(torch.bfloat16) * 0.1


@program
def factories(d: torch.device) -> Program:
    def run() -> torch.Tensor:
        x = torch.arange(6, device=d) + torch.full((6,), 2.0, device=d)
        return x + torch.eye(6, device=d)[0] + torch.linspace(0, 1, 6, device=d)

    return run


@program
def views_and_writes(d: torch.device) -> Program:
    x = torch.zeros(6, 8, device=d)

    def run() -> torch.Tensor:
        x[1:3, ::2] = 5
        x.t()[2].add_(1)
        x[0].copy_(x[1])
        x.view(-1)[3:9].mul_(2)
        return x.view(torch.int32)

    return run


@program
def indexing(d: torch.device) -> Program:
    x = torch.randn(6, 8, device=d)
    index = torch.tensor([3, 0, 3], device=d)

    def run() -> torch.Tensor:
        y = x[index] + x.index_select(0, index) + x.gather(0, index[:, None].expand(3, 8))
        z = x.clone()
        z[index] = y
        z.index_add_(0, index, y).scatter_add_(0, index[:, None].expand(3, 8), y)
        return torch.where(z > 0, z, -z).masked_fill(z > 2, 0)

    return run


@program
def reductions(d: torch.device) -> Program:
    x = torch.randn(6, 8, device=d)
    return lambda: (
        x.sum(0) + x.mean(0) + x.amax(0) + x.var(0) + x.argmax(0) + x.prod(0) + x.norm(dim=0)
    )


@program
def sorting(d: torch.device) -> Program:
    x = torch.randn(6, 8, device=d)
    return lambda: x.sort(1).values + x.argsort(1) + x.topk(8, 1).values + x.cumsum(1)


@program
def matrices(d: torch.device) -> Program:
    x = torch.randn(3, 4, 4, device=d)
    return lambda: torch.einsum("bij,bjk->bik", x, x).transpose(1, 2) @ x + torch.bmm(x, x)


@program
def attention(d: torch.device) -> Program:
    x = torch.randn(1, 2, 5, 4, device=d, requires_grad=True)

    def run() -> torch.Tensor:
        y = F.scaled_dot_product_attention(x, x, x, is_causal=True)
        return torch.autograd.grad(y.sum(), x)[0]

    return run


@program
def random_numbers(d: torch.device) -> Program:
    x = torch.ones(8, 8, device=d)
    return lambda: F.dropout(x, 0.5) + torch.randn(8, 8, device=d) + torch.rand_like(x).bernoulli()


@program
def casts_and_copies(d: torch.device) -> Program:
    x = torch.randn(4, 4, device=d)
    host = torch.ones(4, 4)

    def run() -> torch.Tensor:
        there = x.to(f"{d.type}:1") * 2
        return x.half().float() + x.int() + there.to(x.device) + host.to(d)

    return run


@program
def foreach_and_clipping(d: torch.device) -> Program:
    parameters = [nn.Parameter(torch.randn(3, 3, device=d)) for _ in range(3)]

    def run() -> torch.Tensor:
        for p in parameters:
            p.grad = torch.ones_like(p)
        return nn.utils.clip_grad_norm_(parameters, 1.0)

    return run


def training(
    model: nn.Module, d: torch.device, optimizer: type[torch.optim.Optimizer], x: torch.Tensor
) -> Program:
    model.to(d)
    driver = optimizer(model.parameters(), lr=1e-3)
    inputs = x.to(d)

    def run() -> torch.Tensor:
        driver.zero_grad()
        loss = F.cross_entropy(model(inputs), torch.zeros(x.shape[0], dtype=torch.int64, device=d))
        loss.backward()
        driver.step()
        return loss.detach()

    return run


@program
def mlp_with_sgd(d: torch.device) -> Program:
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
    return training(model, d, torch.optim.SGD, torch.randn(4, 8))


@program
def mlp_with_adamw(d: torch.device) -> Program:
    model = nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Dropout(0.1), nn.Linear(8, 3))
    return training(model, d, torch.optim.AdamW, torch.randn(4, 8))


@program
def convolutions(d: torch.device) -> Program:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 3),
    )
    return training(model, d, torch.optim.SGD, torch.randn(2, 3, 8, 8))


@program
def encoder(d: torch.device) -> Program:
    model = nn.Sequential(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Flatten(), nn.Linear(40, 3)
    )
    return training(model, d, torch.optim.AdamW, torch.randn(2, 5, 8))


@program
def embedding_and_llama_block(d: torch.device) -> Program:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    model = LlamaForCausalLM(config).to(d)
    ids = torch.randint(32, (1, 6)).to(d)

    def run() -> torch.Tensor:
        model.zero_grad()
        # Without a cache transformers itself reads whether the positions are packed sequences.
        loss = model(input_ids=ids, labels=ids, use_cache=True).loss
        loss.backward()
        return loss.detach()

    return run


def main(proxy: str) -> None:
    torch_pjrt.set_fallback("error")
    reads = ctypes.CDLL(proxy).tpjrt_proxy_reads
    reads.restype = ctypes.c_uint64
    result = {}
    for name, run in programs.items():
        for _ in range(2):  # the first call compiles, the second finds everything in caches
            start = reads()
            value = run()
            during = reads() - start
            value.cpu()
            after = reads() - start - during
            worst = max(during, result.get(name, [0, 0])[0])
            result[name] = [worst, after]
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
