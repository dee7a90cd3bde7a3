"""An operator of our own on the device: flash attention, forward and backward, as StableHLO text.

The keys are read block by block with a running maximum and sum (an "online softmax"), so that no
matrix of all scores is ever made. Run it: `python examples/custom_op.py`.
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor

import torch_pjrt
from torch_pjrt import TensorType

F32 = torch.float32


# --- The operators, as PyTorch knows them: a body for the CPU, types, a derivative. ---------------


@torch.library.custom_op("flash::attention", mutates_args=())
def attention(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    """Softmax(q k^T * scale) v, and the float32 log-sum-exp of the scores, which backward needs.

    q: (batch, heads, queries, dim); k, v: (batch, heads, keys, dim), all of one floating dtype.
    Returns a tensor like q and one of shape (batch, heads, queries).
    """
    scores = _scores(q, k, scale, causal)
    out = torch.softmax(scores, -1) @ v.float()
    return out.to(q.dtype), torch.logsumexp(scores, -1)


@torch.library.custom_op("flash::attention_backward", mutates_args=())
def attention_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    scale: float,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of q, k and v for the gradient of `out`, shaped like q."""
    p = torch.exp(_scores(q, k, scale, causal) - lse.unsqueeze(-1))
    delta = (grad.float() * out.float()).sum(-1, keepdim=True)
    ds = p * (grad.float() @ v.float().mT - delta) * scale
    dq, dk, dv = ds @ k.float(), ds.mT @ q.float(), p.mT @ grad.float()
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def _scores(q: Tensor, k: Tensor, scale: float, causal: bool) -> Tensor:
    scores = q.float() @ k.float().mT * scale
    if not causal:
        return scores
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    return scores.masked_fill(later, -torch.inf)


@attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    return q.new_empty(q.shape), q.new_empty(q.shape[:-1], dtype=F32)


@attention_backward.register_fake
def _(grad, q, k, v, out, lse, scale, causal):  # type: ignore[no-untyped-def]
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def _save(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    q, k, v, ctx.scale, ctx.causal = inputs
    ctx.save_for_backward(q, k, v, *output)


def _derivative(ctx, grad, _grad_lse):  # type: ignore[no-untyped-def]
    return *attention_backward(grad, *ctx.saved_tensors, ctx.scale, ctx.causal), None, None


attention.register_autograd(_derivative, setup_context=_save)


# --- Their lowerings: functions of the types that write StableHLO. --------------------------------


@torch_pjrt.register_lowering(attention)
def lower_attention(
    q: TensorType, k: TensorType, v: TensorType, scale: float, causal: bool
) -> str | None:
    """The forward program; None (run the body above) where q, k and v are not of one kind."""
    if len(q.shape) != 4 or len({q.dtype, k.dtype, v.dtype}) != 1:
        return None
    b, h, n, d = q.shape
    keys, block = k.shape[2], _block(k.shape[2])
    full, rows = TensorType(F32, q.shape), TensorType(F32, (b, h, n))
    part, scores = TensorType(F32, (b, h, block, d)), TensorType(F32, (b, h, n, block))
    state = f"tensor<i32>, {rows}, {rows}, {full}"
    return f"""
func.func public @main(%q: {q}, %k: {k}, %v: {v}) -> ({q}, {rows}) {{
  {_constants(keys, block, scale)}
  %q32 = stablehlo.convert %q : ({q}) -> {full}
  %m0 = stablehlo.broadcast_in_dim %ninf, dims = [] : (tensor<f32>) -> {rows}
  %l0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> {rows}
  %acc0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> {full}
  %end:4 = stablehlo.while(%i = %first, %m = %m0, %l = %l0, %acc = %acc0) : {state}
  cond {{
    %more = stablehlo.compare LT, %i, %keys, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    {_read("k", k, part)}
    {_read("v", v, part)}
    {_masked_scores(full, part, scores, causal)}
    %mb = {_reduce("maximum", "%s init: %ninf", scores, rows)}
    %mn = stablehlo.maximum %m, %mb : {rows}
    {_p_of_scores("mn", rows, scores)}
    %drop = stablehlo.subtract %m, %mn : {rows}
    %keep = stablehlo.exponential %drop : {rows}
    %lb = {_reduce("add", "%p init: %zero", scores, rows)}
    %lk = stablehlo.multiply %l, %keep : {rows}
    %ln = stablehlo.add %lk, %lb : {rows}
    %pv = {_dot("%p, %v_b", "[3] x [2]", scores, part, full)}
    %keep_d = stablehlo.broadcast_in_dim %keep, dims = [0, 1, 2] : ({rows}) -> {full}
    %kept = stablehlo.multiply %acc, %keep_d : {full}
    %accn = stablehlo.add %kept, %pv : {full}
    %next = stablehlo.add %i, %block : tensor<i32>
    stablehlo.return %next, %mn, %ln, %accn : {state}
  }}
  %l_d = stablehlo.broadcast_in_dim %end#2, dims = [0, 1, 2] : ({rows}) -> {full}
  %o32 = stablehlo.divide %end#3, %l_d : {full}
  %o = stablehlo.convert %o32 : ({full}) -> {q}
  %log = stablehlo.log %end#2 : {rows}
  %lse = stablehlo.add %end#1, %log : {rows}
  return %o, %lse : {q}, {rows}
}}"""


@torch_pjrt.register_lowering(attention_backward)
def lower_attention_backward(
    grad: TensorType,
    q: TensorType,
    k: TensorType,
    v: TensorType,
    out: TensorType,
    lse: TensorType,
    scale: float,
    causal: bool,
) -> str:
    """The backward program: the same walk over blocks of keys."""
    b, h, n, d = q.shape
    keys, block = k.shape[2], _block(k.shape[2])
    full, rows = TensorType(F32, q.shape), TensorType(F32, (b, h, n))
    part, scores = TensorType(F32, (b, h, block, d)), TensorType(F32, (b, h, n, block))
    whole = TensorType(F32, k.shape)
    state = f"tensor<i32>, {full}, {whole}, {whole}"
    at = "%zero_i, %zero_i, %i, %zero_i : "
    store = f"({whole}, {part}, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> {whole}"
    return f"""
func.func public @main(%grad: {grad}, %q: {q}, %k: {k}, %v: {v}, %out: {out}, %lse: {lse})
    -> ({q}, {k}, {v}) {{
  {_constants(keys, block, scale)}
  %q32 = stablehlo.convert %q : ({q}) -> {full}
  %g32 = stablehlo.convert %grad : ({grad}) -> {full}
  %o32 = stablehlo.convert %out : ({out}) -> {full}
  %go = stablehlo.multiply %g32, %o32 : {full}
  %delta = {_reduce("add", "%go init: %zero", full, rows)}
  %dq0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> {full}
  %dk0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> {whole}
  %end:4 = stablehlo.while(%i = %first, %dq = %dq0, %dk = %dk0, %dv = %dk0) : {state}
  cond {{
    %more = stablehlo.compare LT, %i, %keys, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    {_read("k", k, part)}
    {_read("v", v, part)}
    {_masked_scores(full, part, scores, causal)}
    {_p_of_scores("lse", rows, scores)}
    %dv_b = {_dot("%p, %g32", "[2] x [2]", scores, full, part)}
    %dvn = stablehlo.dynamic_update_slice %dv, %dv_b, {at}{store}
    %dp = {_dot("%g32, %v_b", "[3] x [3]", full, part, scores)}
    %delta_s = stablehlo.broadcast_in_dim %delta, dims = [0, 1, 2] : ({rows}) -> {scores}
    %dpd = stablehlo.subtract %dp, %delta_s : {scores}
    %dsu = stablehlo.multiply %p, %dpd : {scores}
    %scale_s = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> {scores}
    %ds = stablehlo.multiply %dsu, %scale_s : {scores}
    %dq_b = {_dot("%ds, %k_b", "[3] x [2]", scores, part, full)}
    %dqn = stablehlo.add %dq, %dq_b : {full}
    %dk_b = {_dot("%ds, %q32", "[2] x [2]", scores, full, part)}
    %dkn = stablehlo.dynamic_update_slice %dk, %dk_b, {at}{store}
    %next = stablehlo.add %i, %block : tensor<i32>
    stablehlo.return %next, %dqn, %dkn, %dvn : {state}
  }}
  %gq = stablehlo.convert %end#1 : ({full}) -> {q}
  %gk = stablehlo.convert %end#2 : ({whole}) -> {k}
  %gv = stablehlo.convert %end#3 : ({whole}) -> {v}
  return %gq, %gk, %gv : {q}, {k}, {v}
}}"""


def _block(keys: int) -> int:
    """The largest block of at most 128 keys that divides them."""
    return next(size for size in range(min(keys, 128), 0, -1) if keys % size == 0)


def _constants(keys: int, block: int, scale: float) -> str:
    return f"""%zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<{scale:e}> : tensor<f32>
  %zero_i = stablehlo.constant dense<0> : tensor<i32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %block = stablehlo.constant dense<{block}> : tensor<i32>
  %keys = stablehlo.constant dense<{keys}> : tensor<i32>"""


def _read(name: str, of: TensorType, part: TensorType) -> str:
    """%k_b: the block of keys (or values) that starts at %i, in float32."""
    raw = TensorType(of.dtype, part.shape)
    at = "%zero_i, %zero_i, %i, %zero_i"
    types = f"({of}, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> {raw}"
    sizes = list(part.shape)
    return f"""%{name}_raw = stablehlo.dynamic_slice %{name}, {at}, sizes = {sizes} : {types}
    %{name}_b = stablehlo.convert %{name}_raw : ({raw}) -> {part}"""


def _dot(operands: str, contracted: str, a: TensorType, b: TensorType, to: TensorType) -> str:
    """A matrix product for each batch entry and head."""
    dims = f"batching_dims = [0, 1] x [0, 1], contracting_dims = {contracted}"
    return f"stablehlo.dot_general {operands}, {dims} : ({a}, {b}) -> {to}"


def _reduce(by: str, operands: str, of: TensorType, to: TensorType) -> str:
    """The last dimension reduced."""
    how = f"applies stablehlo.{by} across dimensions = [3]"
    return f"stablehlo.reduce({operands}) {how} : ({of}, tensor<f32>) -> {to}"


def _masked_scores(full: TensorType, part: TensorType, scores: TensorType, causal: bool) -> str:
    """%s: the scores of the block's keys."""
    text = f"""%qk = {_dot("%q32, %k_b", "[3] x [3]", full, part, scores)}
    %by = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> {scores}
    %{"all" if causal else "s"} = stablehlo.multiply %qk, %by : {scores}"""
    if not causal:
        return text
    ints, bits = TensorType(torch.int32, scores.shape), TensorType(torch.bool, scores.shape)
    return f"""{text}
    %row = stablehlo.iota dim = 2 : {ints}
    %in_block = stablehlo.iota dim = 3 : {ints}
    %start = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> {ints}
    %column = stablehlo.add %in_block, %start : {ints}
    %seen = stablehlo.compare LE, %column, %row, SIGNED : ({ints}, {ints}) -> {bits}
    %never = stablehlo.broadcast_in_dim %ninf, dims = [] : (tensor<f32>) -> {scores}
    %s = stablehlo.select %seen, %all, %never : {bits}, {scores}"""


def _p_of_scores(below: str, rows: TensorType, scores: TensorType) -> str:
    """%p: exp(scores - a number for each row)."""
    return f"""%below = stablehlo.broadcast_in_dim %{below}, dims = [0, 1, 2] : ({rows}) -> {scores}
    %lower = stablehlo.subtract %s, %below : {scores}
    %p = stablehlo.exponential %lower : {scores}"""


# --- Use. -----------------------------------------------------------------------------------------


class CausalAttention(torch.nn.Module):
    """Multi-head attention over (batch, length, 32) with our operator in the middle."""

    def __init__(self, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(32, 96)
        self.project = torch.nn.Linear(32, 32)

    def forward(self, x: Tensor) -> Tensor:
        """x: (batch, length, 32); returns the same shape."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        out, _ = attention(q, k, v, q.shape[-1] ** -0.5, True)
        result: Tensor = self.project(out.transpose(1, 2).flatten(2))
        return result


def losses(device: torch.device, compiled: bool, steps: int = 5) -> list[float]:
    """Trains the module to repeat its input; the loss of each step."""
    torch.manual_seed(0)
    net = CausalAttention()
    x = torch.randn(2, 256, 32)
    net, x = net.to(device), x.to(device)
    run = torch.compile(net, fullgraph=True) if compiled else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    history = []
    for _ in range(steps):
        loss = (run(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        history.append(loss.item())
    return history


def main() -> None:
    """The same training on the CPU's reference, on the device, and compiled for the device."""
    device = torch.accelerator.current_accelerator()
    assert device is not None
    runs = {
        "cpu": losses(torch.device("cpu"), compiled=False),
        f"{device} eager": losses(device, compiled=False),
        f"{device} compiled": losses(device, compiled=True),
    }
    for where, history in runs.items():
        print(f"{where:15}", " ".join(f"{loss:.6f}" for loss in history))
    worst = max(
        abs(a / b - 1) for run in runs.values() for a, b in zip(run, runs["cpu"], strict=True)
    )
    if worst > 1e-4:
        sys.exit(f"the losses differ from the CPU's by {worst:.1e}, 1e-4 is allowed")


if __name__ == "__main__":
    main()
