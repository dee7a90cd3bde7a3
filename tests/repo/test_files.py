"""Rules of the house that hold for every file."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["csrc", "python", "tests", "scripts", "benchmarks", "examples", "docs", ".ci"]
SOURCE = {".cc", ".h", ".py", ".pyi"}
MAX_LINES = 500
# Written in pieces, so that this file does not find itself.
LEAKS = re.compile(
    "pypi" + r"\.org|python" + "hosted|deb" + r"\.debian|registry" + r"\.npmjs"
    r"|(?<![\w.])/(?:home|root|" + "work)/"
)


@cache
def files() -> list[Path]:
    """The project's own text files; build results and caches are not among them."""
    found = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.is_file()]
    found += [p for p in ROOT.iterdir() if p.is_file()]
    return [p for p in found if "__pycache__" not in p.parts and p.suffix != ".so"]


def test_no_file_is_too_long() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in files()
        if path.suffix in SOURCE
        and (lines := path.read_text(encoding="utf-8").count("\n")) > MAX_LINES
    }
    assert long == {}


def test_no_machine_paths_or_registry_hosts() -> None:
    leaks = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in files()
        if (match := LEAKS.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert leaks == []


def test_no_copy_of_the_pjrt_header() -> None:
    assert [p for p in files() if p.name == "pjrt_c_api.h"] == []


def makefile_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_documented_commands_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake ([a-z-]+)\b", text.replace("make sure", "")))
    assert named, f"{document} shows no make command"
    assert named <= makefile_targets()


def test_the_readme_shows_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text


def test_documented_subcommands_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"torch-pjrt ([a-z]+)\b", text))
    assert named
    command = [ROOT / ".venv" / "bin" / "torch-pjrt", "--help"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert [name for name in named if not re.search(rf"\b{name}\b", shown)] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", *sorted(
    str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md"))])  # fmt: skip
def test_relative_links_lead_somewhere(document: str) -> None:
    path = ROOT / document
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert [link for link in links if not (path.parent / link).exists()] == []
