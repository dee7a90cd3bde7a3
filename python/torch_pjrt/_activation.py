"""Makes the device known to PyTorch: once per process, opening no plugin.

`activate` loads the C++ extension (which registers the kernels), gives PrivateUse1 its name and
registers the device module. When that fails, `disable` puts a module in its place that lets CPU
programs run undisturbed and raises the reason on every use of the device.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

import torch
from torch.utils import backend_registration

from torch_pjrt import _discovery, _fallback_log, _progress
from torch_pjrt._config import OptionValue, compiler_variables, config
from torch_pjrt.compile import default_backend

_core: ModuleType | None = None
_failure: str | None = None
_choice: _discovery.Choice | None = None
_forked_after_use = False


def core() -> ModuleType:
    """The loaded C++ extension. Raises RuntimeError with the reason when there is none."""
    if _core is None:
        raise RuntimeError(_failure or "torch_pjrt is not set up: import torch_pjrt first")
    return _core


def choice() -> _discovery.Choice:
    """The chosen plugin. Raises RuntimeError when the device is not set up."""
    core()
    assert _choice is not None
    return _choice


def require_plugin() -> None:
    """Raises RuntimeError that says what to do when there is no plugin to open."""
    problem = choice().problem
    if problem is not None:
        raise RuntimeError(problem)


def forked_after_use() -> bool:
    """True in a child of a process that had opened the plugin: plugins do not survive a fork."""
    return _forked_after_use


def activate() -> None:
    """Sets the device up. Does nothing the second time; raises what the first failure raised."""
    global _core, _choice
    if _core is not None:
        return
    if _failure is not None:
        raise RuntimeError(_failure)
    settings = config()
    chosen = _discovery.choose(settings)
    core_module = _load_core()
    from torch_pjrt import device, distributed

    core_module.set_config_provider(_on_first_use)
    core_module.set_static_device_count(chosen.static_device_count)
    core_module.set_fallback_observer(_fallback_log.note)
    core_module.set_fallback_policy(settings.fallback)
    core_module.set_mode(settings.mode)
    _register(chosen.device_name, device)
    backend_registration.generate_methods_for_privateuse1_backend(for_storage=True)
    torch.__future__.set_swap_module_params_on_conversion(_SwapOnceUsed())  # type: ignore[arg-type]
    distributed.register(chosen.device_name)
    os.register_at_fork(after_in_child=_note_fork)
    default_backend.install(chosen.device_name)
    _core, _choice = core_module, chosen


def _load_core() -> ModuleType:
    _require_torch(_built_for())
    try:
        from torch_pjrt import _C
    except ImportError as error:
        raise ImportError(
            f"the C++ extension torch_pjrt._C cannot be loaded ({error}). It is built for one"
            f" release of torch; this is torch {torch.__version__}: install or build torch-pjrt"
            " for it"
        ) from error
    return _C


def _built_for() -> str | None:
    """The release of torch the extension is built for; None when nothing was built."""
    try:
        from torch_pjrt import _built_for
    except ModuleNotFoundError:
        return None
    return _built_for.TORCH


def _require_torch(release: str | None) -> None:
    """Raises ImportError unless torch is of this release, of any build: +cpu, +cu130, ...

    The extension uses torch's unstable C++ interface; with another release loading it fails on a
    missing symbol at best.
    """
    if release is not None and torch.__version__.partition("+")[0] != release:
        raise ImportError(
            f"it is built for torch {release}, and this is torch {torch.__version__}: install"
            f" torch=={release}, or a torch-pjrt that is built for this torch"
        )


def disable(error: Exception) -> str:
    """Remembers why the device cannot be set up, for every later use; returns the message."""
    global _failure
    if _failure is None:
        _failure = f"torch_pjrt could not set up its device: {type(error).__name__}: {error}"
        if torch._C._get_privateuse1_backend_name() == "privateuseone":  # nobody took it
            from torch_pjrt._disabled import DisabledDevice

            _register("pjrt", DisabledDevice(_failure))
    return _failure


def _register(name: str, module: ModuleType) -> None:
    if hasattr(torch, name):
        raise ValueError(
            f"TORCH_PJRT_DEVICE_NAME: a device cannot be named {name}, as torch.{name} exists"
        )
    backend_registration.rename_privateuse1_backend(name)
    torch._register_device_module(name, module)  # type: ignore[no-untyped-call]
    prefix = f"{module.__name__}."
    for submodule in [n for n in sys.modules if n.startswith(prefix)]:
        # `import torch.<name>.random` must find this module, not run its file a second time.
        sys.modules[f"torch.{name}.{submodule.removeprefix(prefix)}"] = sys.modules[submodule]


class _SwapOnceUsed:
    """True as soon as the plugin is open.

    `module.to(device)` keeps tied weights and optimizers only with PyTorch's
    swap_module_params_on_conversion. It asks for that setting before the first parameter moves,
    which may be the first use of the device, and looks at the answer after: hence an answer that
    changes. Programs that never use the device keep PyTorch's default.
    """

    def __bool__(self) -> bool:
        return _core is not None and core().is_open()

    def __repr__(self) -> str:
        return f"{bool(self)} (True once the {choice().device_name} device is used)"


def _on_first_use() -> tuple[str, dict[str, OptionValue], dict[str, object], list[int]]:
    """Called by the C++ core when it needs the plugin. Raises when there is none."""
    require_plugin()
    chosen = choice()
    future = torch.__future__
    if isinstance(future.get_swap_module_params_on_conversion(), _SwapOnceUsed):
        future.set_swap_module_params_on_conversion(True)
    _progress.start(core(), config().progress)
    cache = _cache_settings(chosen.options)
    return str(chosen.path), dict(chosen.options), cache, list(chosen.visible_devices)


def _cache_settings(options: tuple[tuple[str, OptionValue], ...]) -> dict[str, object]:
    """Where compiled programs are kept, and what they depend on beyond the plugin and its devices.

    The variables of the compiler are read here, not at the import: programs set them in between.
    """
    settings = config()
    directories = (settings.cache_dir, settings.cache_readonly_dir)
    own, shared = (os.path.abspath(os.path.expanduser(d)) if d else "" for d in directories)
    return {
        "directory": own,
        "read_only_directory": shared,
        "size_limit": settings.cache_size,
        "environment": {
            "client options": ", ".join(f"{name}={value}" for name, value in sorted(options)),
            "compiler variables": " ".join(f"{k}={v}" for k, v in compiler_variables().items()),
        },
    }


def _note_fork() -> None:
    global _forked_after_use
    _forked_after_use = _forked_after_use or core().is_open()
