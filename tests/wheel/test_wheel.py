"""The wheel as its users get it: built, installed with its pins where nothing compiles, used."""

import configparser
import os
import re
import subprocess
import sys
import textwrap
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
LIBRARIES = {
    "torch_pjrt/_C.cpython-311-x86_64-linux-gnu.so": ["$ORIGIN:$ORIGIN/../torch/lib"],
    "torch_pjrt/libtorch_pjrt_core.so": [],
}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the sources as they are; takes what is built in build/release."""
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, str(ROOT / "scripts" / "wheel.py"), str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory


@pytest.fixture(scope="session")
def metadata(unpacked: Path) -> Path:
    (found,) = unpacked.glob("torch_pjrt-*.dist-info")
    return found


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the wheel and what it requires, all of it binary packages.

    The constraints give the ranges (rich, typer) the versions that everything else is tested with.
    """
    directory = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    install = [sys.executable, "-m", "pip", "--python", str(directory / "bin" / "python")]
    install += ["install", "--quiet", "--no-compile", "--only-binary=:all:"]
    install += ["--constraint", str(ROOT / "requirements.txt"), str(wheel)]
    done = subprocess.run(
        install, env=clean(directory), cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def clean(environment: Path, **variables: str) -> dict[str, str]:
    """Environment variables that name nothing of the source tree and no folder with a compiler."""
    ours = ("TORCH_", "TPJRT_", "PYTHON")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    kept |= {"PATH": str(environment / "bin"), "VIRTUAL_ENV": str(environment)}
    return kept | {"TORCH_PJRT_CACHE_DIR": str(ROOT / "build" / "test-cache")} | variables


def run(environment: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of the environment, outside the source tree."""
    return subprocess.run(
        [str(environment / "bin" / command[0]), *command[1:]],
        env=clean(environment, **variables),
        cwd=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def output_of(environment: Path, *command: str, **variables: str) -> str:
    done = run(environment, *command, **variables)
    assert done.returncode == 0, f"status {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def test_it_holds_the_package_and_nothing_else(unpacked: Path, metadata: Path) -> None:
    files = {str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()}
    package = {name for name in files if not name.startswith(metadata.name)}
    source = ROOT / "python"
    expected = {
        str(p.relative_to(source))
        for p in (source / "torch_pjrt").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts and p.suffix != ".so"
    }
    assert package == expected | set(LIBRARIES) | {"torch_pjrt/_built_for.py"}
    assert f"{metadata.name}/licenses/LICENSE" in files


def test_its_tag_is_that_of_the_interpreter_and_the_platform(wheel: Path, metadata: Path) -> None:
    tags = Parser().parsestr((metadata / "WHEEL").read_text())
    assert re.fullmatch(r"cp311-cp311-(many)?linux(_\d+_\d+)?_x86_64", tags["Tag"])
    assert tags["Root-Is-Purelib"] == "false"
    assert wheel.name.endswith(f"-{tags['Tag']}.whl")


def test_its_requirements_are_pinned_as_everywhere(metadata: Path) -> None:
    found = Parser().parsestr((metadata / "METADATA").read_text()).get_all("Requires-Dist")
    assert found is not None
    required = [line for line in found if "extra ==" not in line]
    names = {re.split(r"[<>=~]", line)[0]: line for line in required}
    assert set(names) == {"torch", "xla-cpu-pjrt", "typer", "rich"}
    pins = (ROOT / "requirements.txt").read_text() + (ROOT / "requirements-nodeps.txt").read_text()
    for exact in ("torch", "xla-cpu-pjrt"):
        assert names[exact] in pins.split()
    assert any(re.match(r"libtpu==[\d.]+; extra == .tpu.", line) for line in found)


def test_its_entry_points(metadata: Path) -> None:
    found = configparser.ConfigParser(delimiters=("=",))
    found.read(metadata / "entry_points.txt")
    assert found["console_scripts"]["torch-pjrt"] == "torch_pjrt.cli:app"
    assert found["torch.backends"]["torch_pjrt"] == "torch_pjrt:_autoload"
    assert found["torch_dynamo_backends"]["pjrt"] == "torch_pjrt.compile.backend:pjrt"


@pytest.mark.parametrize("name", LIBRARIES)
def test_its_libraries_find_torch_and_each_other_wherever_they_lie(
    unpacked: Path, name: str
) -> None:
    command = ["readelf", "--dynamic", "--wide", str(unpacked / name)]
    dynamic = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", dynamic) == LIBRARIES[name]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed and [n for n in needed if "/" in n] == []
    assert name.endswith("core.so") or "libtorch_pjrt_core.so" in needed


def test_the_device_works_from_the_installed_wheel(environment: Path) -> None:
    assert output_of(environment, "python", "-I", str(SMOKE)) == "ok"


def test_the_command_shows_the_installed_plugin(environment: Path) -> None:
    shown = re.sub(r"\s", "", output_of(environment, "torch-pjrt", "info"))
    assert "xla-cpu-pjrt" in shown
    assert str(environment) in shown


def test_torch_compile_finds_the_backend_by_name(environment: Path) -> None:
    """Where nothing else has imported the package."""
    code = """
        import torch
        double = torch.compile(lambda x: x * 2, backend="pjrt", fullgraph=True)
        print(double(torch.ones(2, device="pjrt")).cpu().tolist())
    """
    shown = output_of(
        environment, "python", "-c", textwrap.dedent(code), TORCH_DEVICE_BACKEND_AUTOLOAD="0"
    )
    assert shown == "[2.0, 2.0]"


def test_another_torch_is_told_in_one_sentence(environment: Path) -> None:
    code = "import torch; torch.__version__ = '2.14.1+cpu'; import torch_pjrt"
    done = run(environment, "python", "-c", code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError")
    assert "built for torch 2.13.0, and this is torch 2.14.1+cpu: install torch==2.13.0" in last
