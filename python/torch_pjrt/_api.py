"""The public functions of torch_pjrt: counters, policies, modes, the plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import torch

from torch_pjrt._activation import choice, core, require_plugin

if TYPE_CHECKING:
    from torch_pjrt.compile.checks import AssertCompiled, CompileDelta
    from torch_pjrt.compile.summary import CompileReport


Value = TypeVar("Value")


class _Setting(Generic[Value]):
    """A setting that is made at once and, in a `with` statement, taken back at the end."""

    def __init__(
        self, value: Value, read: Callable[[], Value], write: Callable[[Value], None]
    ) -> None:
        self._previous = read()
        self._write = write
        write(value)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._write(self._previous)


def _checked(what: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"unknown {what} {value!r}: expected one of {', '.join(allowed)}")
    return value


class set_fallback(_Setting[str]):
    """What an operator without a lowering does, for the whole process.

    "warn": run on the CPU and warn once per operator; "silent": the same without the warning;
    "error": raise NotImplementedError. A call sets it; as a context manager it is taken back.
    Raises ValueError for another value.
    """

    def __init__(self, policy: str) -> None:
        _checked("fallback policy", policy, ("warn", "silent", "error"))
        super().__init__(policy, core().fallback_policy, core().set_fallback_policy)


class set_mode(_Setting[str]):
    """How operators run, for the whole process, with the same results.

    "eager": issued without waiting; "debug": each one waited for, so that an error appears at the
    line that caused it. A call sets it; as a context manager it is taken back. Raises ValueError
    for another value.
    """

    def __init__(self, value: str) -> None:
        _checked("mode", value, ("eager", "debug"))
        super().__init__(value, core().mode, core().set_mode)


class strict(_Setting[bool]):
    """Makes every compilation an error, for the whole process: for use after warm-up.

    `strict()` turns it on, `strict(False)` off; as a context manager it is taken back. Programs
    that are in memory or in a cache still run. An operator that would compile raises RuntimeError
    with its name and the types of its tensors; a graph of torch.compile, also with the user's line.
    """

    def __init__(self, on: bool = True) -> None:
        super().__init__(bool(on), core().strict, core().set_strict)


def mode() -> str:
    """The current mode: "eager" or "debug"."""
    value: str = core().mode()
    return value


def fallback() -> str:
    """The current policy for operators without a lowering: "warn", "silent" or "error"."""
    value: str = core().fallback_policy()
    return value


def fallback_counts() -> dict[str, int]:
    """Calls that ran on the CPU because the operator has no lowering, by operator."""
    value: dict[str, int] = core().fallback_counts()
    return value


def reset_fallback_counts() -> None:
    """Sets the counts of `fallback_counts` to zero."""
    core().reset_fallback_counts()


def _fallback_counts() -> dict[str, int]:
    return fallback_counts()


def _fallback_count() -> int:
    return sum(fallback_counts().values())


def compile_count() -> int:
    """Programs compiled, or loaded from the cache on disk, so far in this process.

    `cache_stats()` tells them apart.
    """
    value: int = core().compile_count()
    return value


def compile_seconds() -> float:
    """Seconds spent compiling so far in this process; loading from the cache is not in it."""
    value: float = core().compile_seconds()
    return value


def compile_report() -> CompileReport:
    """What was compiled since the start or the last reset, and what stood in the way.

    Graphs, graph breaks, partition breaks, recompilations, fallbacks to the CPU and seconds, with
    the user's files and lines; `print` it or take `.to_dict()`. Graph breaks and recompilations are
    Dynamo's for the whole process, CPU functions included. The latest 10,000 of each are kept.
    """
    from torch_pjrt.compile import recording

    return recording.since()


def reset_compile_report() -> None:
    """Lets `compile_report` begin here."""
    from torch_pjrt.compile import recording

    recording.reset()


def compile_delta() -> CompileDelta:
    """A context manager that gives the `CompileReport` of what happens in it, once it has ended."""
    from torch_pjrt.compile.checks import CompileDelta

    return CompileDelta()


def assert_compiled(*, allow: Iterable[str] = (), graphs: int = 1) -> AssertCompiled:
    """A context manager for tests: AssertionError unless all that runs in it is compiled code.

    It lists, with file and line, every graph break, recompilation and fallback to the CPU that
    happens in it, and the partition breaks of the graphs that run or are compiled in it. `allow`
    names kinds that may happen: "graph_break", "partition_break", "recompile", "fallback". At
    least `graphs` compiled graphs must run. Raises ValueError for an unknown kind.
    """
    from torch_pjrt.compile.checks import AssertCompiled

    return AssertCompiled(allow, graphs)


def device_name() -> str:
    """The device's name in PyTorch: "pjrt", "tpu", "neuron" or what TORCH_PJRT_DEVICE_NAME says."""
    return choice().device_name


def plugin_info() -> dict[str, str | int]:
    """The plugin that drives the device; opens it.

    Keys: name (package or file), path, platform, platform_version, api_version, device_count.
    Raises RuntimeError when there is no plugin or it does not work.
    """
    require_plugin()
    return {"name": choice().name, **core().plugin_info()}


def rows() -> list[dict[str, object]]:
    """The operators with a lowering: name, schema, family and registered variants of each."""
    value: list[dict[str, object]] = core().rows()
    return value


def load_exported(source: Any, device: Any = None) -> torch.nn.Module:
    """An exported program as a compiled module: see torch_pjrt.compile.exported.load_exported."""
    from torch_pjrt.compile import exported

    return exported.load_exported(source, device)
