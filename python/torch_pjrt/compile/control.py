"""Control flow of a graph (torch.cond, while_loop, scan) that can live inside an executable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx


@dataclass(frozen=True)
class ControlCall:
    """A control flow node as the core takes it: see ir/node.h for what each kind means."""

    kind: str
    operands: tuple[Any, ...]
    regions: tuple[fx.GraphModule, ...]
    carried: int = 0
    sequences: int = 0


def control_of(node: fx.Node) -> ControlCall | None:
    """The control flow in a node, or None when it is something else."""
    ops = torch.ops.higher_order
    if node.target is ops.cond:
        predicate, on_true, on_false, operands = node.args
        return ControlCall("if", (predicate, *_tuple(operands)), _regions(on_true, on_false))
    if node.target is ops.while_loop:
        condition, body, carried, constants = node.args
        operands = (*_tuple(carried), *_tuple(constants))
        return ControlCall("while", operands, _regions(condition, body), len(_tuple(carried)))
    if node.target is ops.scan:
        combine, carried, sequences, constants = node.args
        operands = (*_tuple(carried), *_tuple(sequences), *_tuple(constants))
        counts = (len(_tuple(carried)), len(_tuple(sequences)))
        return ControlCall("scan", operands, _regions(combine), *counts)
    return None


def _tuple(value: Any) -> tuple[Any, ...]:
    assert isinstance(value, (list, tuple))
    return tuple(value)


def _regions(*nodes: Any) -> tuple[fx.GraphModule, ...]:
    found = []
    for node in nodes:
        assert isinstance(node, fx.Node) and isinstance(node.target, str)
        region = getattr(node.graph.owning_module, node.target)
        assert isinstance(region, fx.GraphModule)
        found.append(region)
    return tuple(found)
