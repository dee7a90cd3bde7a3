"""Run by the installed wheel's Python, with only torch imported at first: the device at work."""

import shutil
import sys

import torch

compilers = [name for name in ("cc", "gcc", "c++", "g++", "clang", "clang++") if shutil.which(name)]
assert compilers == [], f"not a machine without a compiler: {compilers}"

# `import torch` alone made the device known.
device = torch.accelerator.current_accelerator()
assert device == torch.device("pjrt"), device
x = torch.arange(6.0, device=device).view(2, 3)
assert (x @ x.t()).cpu().tolist() == [[5.0, 14.0], [14.0, 50.0]]

import torch_pjrt  # noqa: E402
from torch_pjrt.compile import report  # noqa: E402

assert torch_pjrt.__file__.startswith(sys.prefix), torch_pjrt.__file__


def losses(where: torch.device, compiled: bool, **options: str) -> torch.Tensor:
    """The losses of five training steps, on the CPU."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
    data = torch.randn(32, 8).to(where)
    net = net.to(where)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    model = torch.compile(net, fullgraph=True, **options) if compiled else net
    found = []
    for _ in range(5):
        loss = (model(data).squeeze(-1) - data.sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.detach().cpu())
    return torch.stack(found)


expected = losses(torch.device("cpu"), compiled=False)
torch.testing.assert_close(losses(device, compiled=False), expected, rtol=1e-5, atol=1e-6)
for options in ({}, {"backend": "pjrt"}):
    torch._dynamo.reset()
    start = len(report.records())
    found = losses(device, compiled=True, **options)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    graphs = report.records()[start:]
    assert {graph.kind for graph in graphs} == {"forward", "backward"}, graphs
    assert all(graph.segments == 1 and not graph.breaks for graph in graphs), graphs
assert "pjrt" in torch._dynamo.list_backends()
assert torch_pjrt.fallback_counts() == {}, torch_pjrt.fallback_counts()
print("ok")
