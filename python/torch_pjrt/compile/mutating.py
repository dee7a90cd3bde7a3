"""Calls that mutate arguments, as AOTAutograd rewrites them: functions of their values."""

from __future__ import annotations

from typing import Any

from torch import fx
from torch._ops import OpOverload

from torch_pjrt.lowering import find


def functional_call(node: fx.Node) -> tuple[OpOverload, dict[str, Any]] | None:
    """The operator and its arguments by name, for a node `auto_functionalized_v2`.

    The node gives the operator's results, then the new values of the mutated arguments in order.
    None when the operator has no lowering from outside, or when a mutated argument is a part of
    another tensor: then the new values are those tensors, not the arguments.
    """
    op, kwargs = node.args[0], dict(node.kwargs)
    lowering = find(op) if isinstance(op, OpOverload) else None
    if lowering is None:
        return None
    bases: Any = kwargs.pop("_all_bases")
    used: list[int] = []

    def taken(name: str) -> Any:
        kwargs.pop(f"_{name}_alias", None)
        index: Any = kwargs.pop(f"_{name}_base_index", None)
        if index is None:
            return None
        used.append(index)
        return bases[index]

    for name in [lowering.schema.arguments[i].name for i in lowering.mutated]:
        if f"_{name}_length" in kwargs:
            length: Any = kwargs.pop(f"_{name}_length")
            kwargs[name] = [taken(f"{name}_{i}") for i in range(length or 0)]
        else:
            kwargs[name] = taken(name)
    whole = used == list(range(len(bases))) and not any(k.startswith("_") for k in kwargs)
    return (lowering.op, kwargs) if whole else None
