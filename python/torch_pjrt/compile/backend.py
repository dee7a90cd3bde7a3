"""The backend that torch.compile calls: AOTAutograd around `compile_graph`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import register_graphsafe_rng_device_type
from torch._functorch.partitioners import min_cut_rematerialization_partition

from torch_pjrt._activation import choice
from torch_pjrt.compile import checks, decompositions, dynamo_log
from torch_pjrt.compile.program import compile_graph


def pjrt(gm: fx.GraphModule, inputs: Sequence[Any], **_options: Any) -> Callable[..., Any]:
    """Compiles a Dynamo graph, forward and backward, for the device its tensors are on."""
    dynamo_log.listen()
    checks.refuse_if_strict(gm, inputs)
    compiled: Callable[..., Any] = _aot()(gm, inputs)
    return compiled


@functools.cache
def _aot() -> Any:
    register_graphsafe_rng_device_type(choice().device_name)
    return aot_autograd(
        fw_compiler=_compiler("forward"),
        bw_compiler=_compiler("backward"),
        inference_compiler=_compiler("inference"),
        decompositions=decompositions.table(),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )


def _compiler(kind: str) -> Callable[[fx.GraphModule, Sequence[Any]], Any]:
    def compiler(gm: fx.GraphModule, _inputs: Sequence[Any]) -> Any:
        with torch._dynamo.utils.dynamo_timed(f"pjrt_{kind}"):
            return compile_graph(gm, kind, choice().device_name)

    return compiler
