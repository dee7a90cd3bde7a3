"""Importing: quick, opens nothing, never breaks `import torch`."""

import re
from pathlib import Path

import pytest
import torch
from support import ROOT, output_of, run_python

pytestmark = pytest.mark.own_device


def test_import_torch_alone_makes_the_device_known() -> None:
    code = """
        import torch
        print(torch.ones(2, device="pjrt").sum().item(), torch.accelerator.current_accelerator())
    """
    assert output_of(code) == "2.0 pjrt"


@pytest.mark.parametrize(
    "imports",
    ["import torch", "import torch_pjrt", "import torch, torch_pjrt", "import torch_pjrt, torch"],
)
@pytest.mark.parametrize("autoload", ["0", "1"])
def test_every_order_of_imports(imports: str, autoload: str) -> None:
    code = f"""
        {imports}
        import torch, torch_pjrt
        from torch_pjrt import _C
        assert not _C.is_open()
        assert torch_pjrt.device_name() == "pjrt"
        print(torch.zeros(1).to("pjrt").item())
    """
    assert output_of(code, TORCH_DEVICE_BACKEND_AUTOLOAD=autoload) == "0.0"


def test_import_opens_no_plugin() -> None:
    code = """
        import torch, torch_pjrt
        from torch_pjrt import _C
        import os
        torch_pjrt.rows(), torch_pjrt.fallback_counts(), torch_pjrt.mode()
        x = torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
        assert not _C.is_open() and torch_pjrt.compile_count() == 0
        maps = open("/proc/self/maps").read()
        assert "cpu_pjrt.so" not in maps and "pjrt_cpu" not in maps
        threads = len(os.listdir("/proc/self/task"))
        torch.ones(1, device="pjrt")
        assert _C.is_open()
        assert "pjrt.so" in open("/proc/self/maps").read()
    """
    output_of(code)


def test_import_pulls_in_nothing_heavy() -> None:
    code = """
        import sys, torch
        print(*[m for m in ("torch._dynamo", "torch._inductor", "transformers", "typer", "rich")
                if m in sys.modules])
    """
    assert output_of(code) == ""


def test_import_takes_less_than_0_3_seconds_beyond_torch() -> None:
    """The best of several runs: a busy machine only adds."""
    code = """
        import time
        import torch
        start = time.perf_counter()
        import torch_pjrt
        print(time.perf_counter() - start)
    """
    seconds = [float(output_of(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")) for _ in range(5)]
    assert min(seconds) < 0.3, seconds


BROKEN_ENVIRONMENTS = [
    {"TORCH_PJRT_PLUGIN": "/nowhere/libnothing.so"},
    {"TORCH_PJRT_PLUGIN": "/dev/null"},
    {"TORCH_PJRT_PLUGIN": "no-such-package"},
    {"TORCH_PJRT_DEVICE_NAME": "cuda"},
    {"TORCH_PJRT_DEVICE_NAME": "Not A Name"},
    {"TORCH_PJRT_DEVICE_NAME": "nn"},
    {"TORCH_PJRT_DEVICE_COUNT": "many"},
    {"TORCH_PJRT_OPTIONS": "no equals sign"},
    {"TORCH_PJRT_FALLBACK": "loud"},
    {"TORCH_PJRT_MODE": "fast"},
    {"TORCH_PJRT_AUTOLOAD": "perhaps"},
]


@pytest.mark.parametrize("environment", BROKEN_ENVIRONMENTS, ids=lambda e: "=".join(*e.items()))
def test_a_broken_environment_does_not_break_torch(environment: dict[str, str]) -> None:
    """`import torch` works, CPU programs work, using the device names the variable."""
    name = next(iter(environment))
    code = """
        import torch
        model = torch.nn.Linear(2, 2)
        model(torch.ones(1, 2)).sum().backward()
        torch.manual_seed(0)
        with torch.random.fork_rng():
            torch.utils.checkpoint.checkpoint(model, torch.ones(1, 2), use_reentrant=False)
        try:
            torch.ones(1, device="pjrt")
        except RuntimeError as error:
            print(error)
    """
    done = run_python(code, **environment)
    assert done.returncode == 0, done.stderr
    assert name in done.stdout
    if "PLUGIN" not in name:
        assert name in done.stderr, "no warning at the import"


@pytest.mark.parametrize("name", ["TORCH_PJRT_DEVICE_COUNT", "TORCH_PJRT_MODE"])
def test_an_explicit_import_in_a_broken_environment_raises(name: str) -> None:
    done = run_python("import torch_pjrt", TORCH_DEVICE_BACKEND_AUTOLOAD="0", **{name: "wrong"})
    assert done.returncode == 1
    assert "ImportError" in done.stderr and name in done.stderr.splitlines()[-1]


def test_a_missing_extension_is_a_warning_and_an_error_on_use() -> None:
    code = """
        import sys
        sys.modules["torch_pjrt._C"] = None  # importing it raises ImportError
        import torch
        assert torch.ones(2).sum() == 2 and not torch.accelerator.is_available()
        import torch_pjrt
        for use in (
            lambda: torch.ones(2).to("pjrt"),
            lambda: torch.ones(2, device="pjrt"),
            torch_pjrt.plugin_info,
            torch_pjrt.compile_count,
        ):
            try:
                use()
            except RuntimeError as error:
                print("built for one release of torch" in str(error))
    """
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"] * 4
    assert "RuntimeWarning" in done.stderr and "_C" in done.stderr


ANOTHER_TORCH = (
    "it is built for torch {built}, and this is torch {present}: install torch=={built}, or a"
    " torch-pjrt that is built for this torch"
)
NOTHING_LOADED = (
    'assert "torch_pjrt._C" not in sys.modules; '
    'assert "libtorch_pjrt_core" not in open("/proc/self/maps").read()'
)


def test_another_torch_is_refused_before_the_extension_is_loaded() -> None:
    code = f"""
        import sys, torch
        torch.__version__ = "2.99.1+cu999"
        try:
            import torch_pjrt
        except ImportError as error:
            print(error)
        {NOTHING_LOADED}
    """
    message = output_of(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    built = torch.__version__.partition("+")[0]
    assert message.endswith(ANOTHER_TORCH.format(built=built, present="2.99.1+cu999"))
    assert "\n" not in message


def test_autoload_in_another_torch_is_a_warning_and_an_error_on_use() -> None:
    code = f"""
        import sys, types
        built_for = sys.modules["torch_pjrt._built_for"] = types.ModuleType("_built_for")
        built_for.TORCH = "2.99.1"
        import torch
        assert torch.ones(2).sum() == 2 and not torch.accelerator.is_available()
        {NOTHING_LOADED}
        try:
            torch.ones(2, device="pjrt")
        except RuntimeError as error:
            print(error)
    """
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    sentence = ANOTHER_TORCH.format(built="2.99.1", present=torch.__version__)
    assert sentence in done.stderr and "RuntimeWarning" in done.stderr
    assert sentence in done.stdout


def test_another_build_of_the_same_torch_is_accepted() -> None:
    code = """
        import torch
        torch.__version__ = torch.__version__.partition("+")[0] + "+local"
        import torch_pjrt
        print(torch.ones(2, device="pjrt").sum().item())
    """
    assert output_of(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "2.0"


CUDA_BUILD = """
    import torch
    assert not hasattr(torch, "pjrt")
    torch.version.cuda = "13.0"
    torch.__spec__._initializing = True  # as during `import torch`
    torch._import_device_backends()
    torch.__spec__._initializing = False
    print(hasattr(torch, "pjrt"), torch.accelerator.current_accelerator() is not None)
    import torch_pjrt
    print(hasattr(torch, "pjrt"), torch.ones(2, device="pjrt").sum().item())
"""


def test_autoload_is_inert_on_a_cuda_build_until_imported() -> None:
    lines = output_of(CUDA_BUILD, TORCH_DEVICE_BACKEND_AUTOLOAD="0").splitlines()
    assert lines == ["False False", "True 2.0"]


def test_autoload_on_a_cuda_build_can_be_asked_for() -> None:
    lines = output_of(
        CUDA_BUILD, TORCH_DEVICE_BACKEND_AUTOLOAD="0", TORCH_PJRT_AUTOLOAD="1"
    ).splitlines()
    assert lines == ["True True", "True 2.0"]


def test_autoload_can_be_turned_off() -> None:
    code = """
        import torch
        print(hasattr(torch, "pjrt"))
        import torch_pjrt
        print(hasattr(torch, "pjrt"))
    """
    assert output_of(code, TORCH_PJRT_AUTOLOAD="0").split() == ["False", "True"]


@pytest.mark.parametrize("package", ["fastatomstruct-xla-cpu", "lammps-jax-pjrt-cpu"])
def test_a_plugin_package_can_be_named(package: str) -> None:
    code = """
        import torch, torch_pjrt
        info = torch_pjrt.plugin_info()
        x = torch.arange(6.0, device="pjrt").view(2, 3)
        print(info["name"], info["device_count"], (x @ x.t()).sum().item())
    """
    assert output_of(code, TORCH_PJRT_PLUGIN=package) == f"{package} 4 83.0"


def test_plugin_info(pjrt: object) -> None:
    info = pjrt.plugin_info()
    assert Path(info["path"]).is_file()
    assert re.fullmatch(r"\d+\.\d+", info["api_version"])
    assert info["device_count"] == torch.get_device_module(pjrt.device_name()).device_count()
    assert info["platform"] and info["name"]


def test_public_names(pjrt: object) -> None:
    assert [n for n in pjrt.__all__ if not hasattr(pjrt, n)] == []
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{pjrt.__version__}"' in text


def test_only_one_file_reads_the_environment() -> None:
    package = ROOT / "python" / "torch_pjrt"
    readers = {
        path.name
        for path in package.rglob("*.py")
        if "demo" not in path.parts and re.search(r"\benviron\b|getenv", path.read_text())
    }
    assert readers == {"_config.py"}


def test_the_core_reads_no_environment() -> None:
    readers = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "csrc").rglob("*.cc")
        if re.search(r"\bgetenv\b", path.read_text())
    ]
    assert readers == []
