"""Makes plain `torch.compile(model)` right for device tensors.

PyTorch's default backend becomes one that looks at the graph: what runs on the device goes to our
backend, everything else to Inductor with the mode and options it was given. This is set when
`torch._dynamo` is first imported, as that import costs a second.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

REGISTRY = "torch._dynamo.backends.registry"


def install(device_type: str) -> None:
    """Sets the default backend now, or as soon as the registry of backends is imported."""
    if REGISTRY in sys.modules:
        _set_default(sys.modules[REGISTRY], device_type)
    else:
        sys.meta_path.insert(0, _RegistryFinder(device_type))


class _RegistryFinder(importlib.abc.MetaPathFinder):
    """Finds the registry as usual, and sets the default once it is loaded."""

    def __init__(self, device_type: str) -> None:
        self.device_type = device_type

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != REGISTRY:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _RegistryLoader(spec.loader, self.device_type)
        return spec


class _RegistryLoader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, device_type: str) -> None:
        self.loader = loader
        self.device_type = device_type

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _set_default(module, self.device_type)


def _set_default(registry: ModuleType, device_type: str) -> None:
    if "pjrt" not in registry._BACKENDS:  # else PyTorch found our entry point, and registers it
        registry.register_backend(_pjrt, name="pjrt")
    if registry.get_default_backend() == "inductor":
        registry.set_default_backend(DefaultBackend(device_type))


def _pjrt(gm: Any, inputs: Sequence[Any], **kwargs: Any) -> Callable[..., Any]:
    """The backend named "pjrt"."""
    from torch_pjrt.compile.backend import pjrt

    return pjrt(gm, inputs, **kwargs)


class DefaultBackend:
    """Device graphs to our backend, all others to Inductor."""

    __name__ = "pjrt_or_inductor"

    def __init__(self, device_type: str) -> None:
        self.device_type = device_type

    def __call__(
        self,
        gm: Any,
        inputs: Sequence[Any],
        mode: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> Callable[..., Any]:
        import torch

        if any(device == self.device_type for device in _devices(gm, inputs)):
            return _pjrt(gm, inputs)
        inductor = torch._TorchCompileInductorWrapper(mode, options, None)  # type: ignore[no-untyped-call]
        compiled: Callable[..., Any] = inductor(gm, inputs)
        return compiled

    def reset(self) -> None:
        """Called by torch._dynamo.reset; Inductor has nothing to reset on a CPU."""


def _devices(gm: Any, inputs: Sequence[Any]) -> Iterator[str]:
    """The types of device a graph names: of its inputs, its parameters, what it makes."""
    import torch

    for value in inputs:
        if isinstance(value, torch.Tensor):
            yield value.device.type
    for module in gm.modules():
        for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            yield tensor.device.type
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                yield from _devices_named(node)


def _devices_named(node: Any) -> Iterator[str]:
    import torch

    values = [node.meta.get("example_value"), *node.args, *node.kwargs.values()]
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value.device.type
        elif isinstance(value, torch.device):
            yield value.type
        elif isinstance(value, str) and node.op == "call_method":
            yield value.partition(":")[0]
