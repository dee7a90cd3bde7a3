"""The compile cache on disk, with real processes. Each plugin's part: tests/cpp/exec."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import output_of, run_python

pytestmark = pytest.mark.own_device

WORK = """
    import json, torch, torch_pjrt
    x = torch.arange(12.0).to("pjrt").view(3, 4)
    assert ((x @ x.t() + 1).tanh() * 0 + x.sum()).sum().item() == 9 * 66
    print(json.dumps(torch_pjrt.cache_stats()))
"""
EXPLAIN = WORK + "    print(json.dumps([str(m) for m in torch_pjrt.explain_miss(last=99)]))\n"


def stats(directory: Path | str, code: str = WORK, **environment: str) -> dict[str, float]:
    """What the cache did in a process that did the work."""
    answer: dict[str, float] = json.loads(
        output_of(code, TORCH_PJRT_CACHE_DIR=str(directory), **environment).splitlines()[0]
    )
    return answer


def start(directory: Path, code: str = WORK, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "TORCH_PJRT_CACHE_DIR": str(directory), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def programs(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.program"))


def temporaries(directory: Path) -> list[Path]:
    return sorted(directory.glob("tmp-*"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """A cache that one process filled, and that process's counts."""
    path = tmp_path_factory.mktemp("first") / "cache"
    return path, stats(path)


@pytest.fixture
def filled(cache: Path, first_run: tuple[Path, dict[str, float]]) -> Path:
    """A copy of that cache."""
    shutil.copytree(first_run[0], cache)
    return cache


@pytest.fixture
def first(first_run: tuple[Path, dict[str, float]]) -> dict[str, float]:
    return first_run[1]


def test_a_second_process_compiles_nothing(filled: Path, first: dict[str, float]) -> None:
    cache = filled
    assert first["compiled"] == first["stored"] == len(programs(cache)) > 3
    assert first["disk_hits"] == first["load_seconds"] == 0 < first["compile_seconds"]
    assert cache.stat().st_mode & 0o777 == 0o700
    second = stats(cache)
    assert second["compiled"] == second["stored"] == second["compile_seconds"] == 0
    assert second["disk_hits"] == first["compiled"]
    assert second["load_seconds"] > 0


def test_compile_count_counts_loads(filled: Path, first: dict[str, float]) -> None:
    code = WORK.replace("torch_pjrt.cache_stats()", "torch_pjrt.compile_count()")
    assert stats(filled, code) == first["compiled"]


def test_a_repeated_call_asks_for_no_program(filled: Path, first: dict[str, float]) -> None:
    twice = WORK.replace("print", "x @ x.t()\n    print")
    assert stats(filled, twice)["memory_hits"] == first["memory_hits"]


@pytest.mark.parametrize("value", ["off", "0"])
def test_turned_off_nothing_is_kept(tmp_path: Path, value: str) -> None:
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = stats(value, EXPLAIN, **home)
    assert done["compiled"] > 3 and done["stored"] == 0
    assert list(tmp_path.iterdir()) == []


def test_the_default_place(tmp_path: Path) -> None:
    assert stats("", HOME=str(tmp_path), XDG_CACHE_HOME="")["stored"] > 3
    assert len(programs(tmp_path / ".cache" / "torch_pjrt")) > 3


def test_importing_makes_no_directory(cache: Path) -> None:
    output_of("import torch, torch_pjrt", TORCH_PJRT_CACHE_DIR=str(cache))
    assert not cache.exists()


def test_eight_processes_at_once(cache: Path) -> None:
    processes = [start(cache) for _ in range(8)]
    outputs = [process.communicate(timeout=600) for process in processes]
    for process, (out, err) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, err
        counts = json.loads(out)
        assert counts["compiled"] + counts["disk_hits"] == len(programs(cache))
        assert counts["rejected"] == 0
        assert "RuntimeWarning" not in err
    assert temporaries(cache) == []
    assert stats(cache)["compiled"] == 0


# Loaded before libc: half of a temporary file is written, then the process is killed.
KILLER = r"""
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
extern "C" ssize_t write(int fd, const void* data, size_t size) {
  using Write = ssize_t (*)(int, const void*, size_t);
  static auto real = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "write"));
  char link[64], path[4096] = "";
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, "/tmp-") && size > 1000) {
    real(fd, data, size / 2);
    kill(getpid(), SIGKILL);
  }
  return real(fd, data, size);
}
"""


def test_killed_in_the_middle_of_a_write(cache: Path, tmp_path: Path) -> None:
    source, library = tmp_path / "killer.cc", tmp_path / "killer.so"
    source.write_text(KILLER)
    subprocess.run(["c++", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    done = run_python(WORK, TORCH_PJRT_CACHE_DIR=str(cache), LD_PRELOAD=str(library))
    assert done.returncode == -9, done.stderr
    (half,) = temporaries(cache)
    assert half.stat().st_size > 500 and programs(cache) == []
    after = stats(cache)
    assert after["disk_hits"] == after["rejected"] == 0 and after["stored"] == after["compiled"]
    assert temporaries(cache) == [half], "a young file may be somebody's"
    os.utime(half, (0, 0))
    programs(cache)[0].unlink()
    assert stats(cache)["stored"] == 1
    assert temporaries(cache) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 KiB."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24k,mode=700", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("cannot mount a file system here; tests/cpp covers a limit on file sizes")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    done = run_python(WORK, TORCH_PJRT_CACHE_DIR=str(small_disk))
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert 0 < counts["stored"] < counts["compiled"]
    assert done.stderr.count("RuntimeWarning") == 1 and "No space left" in done.stderr
    assert temporaries(small_disk) == []
    assert stats(small_disk)["disk_hits"] == counts["stored"]


def test_a_directory_that_cannot_be_written(
    filled: Path, first: dict[str, float], small_disk: Path
) -> None:
    """Read-only for root too: the file system is."""
    for path in programs(filled)[:2]:
        (small_disk / path.name).write_bytes(path.read_bytes())
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = run_python(WORK, TORCH_PJRT_CACHE_DIR=str(small_disk))
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert (counts["disk_hits"], counts["compiled"]) == (2, first["compiled"] - 2)
    assert counts["stored"] == 0
    assert done.stderr.count("RuntimeWarning") == 1 and "Read-only file system" in done.stderr


@pytest.mark.parametrize("place", ["/dev/null", "/proc/nowhere"])
def test_a_place_that_is_none(place: str) -> None:
    done = run_python(WORK, TORCH_PJRT_CACHE_DIR=place)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["compiled"] > 3
    assert done.stderr.count("RuntimeWarning") == 1 and place in done.stderr


def test_a_warning_that_is_an_error_fails_nothing() -> None:
    code = "import warnings; warnings.simplefilter('error', RuntimeWarning)\n" + textwrap.dedent(
        WORK
    )
    done = run_python(code, TORCH_PJRT_CACHE_DIR="/dev/null")
    assert done.returncode == 0, done.stderr
    assert "/dev/null" in done.stderr


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_directory_that_others_can_write_is_refused(filled: Path, mode: int) -> None:
    filled.chmod(mode)
    done = run_python(WORK, TORCH_PJRT_CACHE_DIR=str(filled))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["disk_hits"] == 0
    assert done.stderr.count("RuntimeWarning") == 1
    assert "chmod go-w" in done.stderr and str(filled) in done.stderr


def test_damaged_entries(filled: Path, first: dict[str, float]) -> None:
    contents = {path: path.read_bytes() for path in programs(filled)}
    for index, (path, content) in enumerate(contents.items()):
        half = len(content) // 2
        damages = [b"", content[:half], content[:half] + b"!" + content[half + 1 :], b"x" * 100]
        path.write_bytes(damages[index % len(damages)])
    again = stats(filled)
    assert again["rejected"] == again["compiled"] == again["stored"] == first["compiled"]
    assert stats(filled)["disk_hits"] == first["compiled"]


PLUGINS = ["xla-cpu-pjrt", "fastatomstruct-xla-cpu", "lammps-jax-pjrt-cpu"]


def test_each_plugin_has_entries_of_its_own(cache: Path) -> None:
    counts = [stats(cache, TORCH_PJRT_PLUGIN=plugin) for plugin in PLUGINS]
    assert all(c["disk_hits"] == c["rejected"] == 0 < c["compiled"] for c in counts)
    assert len(programs(cache)) == sum(c["compiled"] for c in counts)
    for plugin in PLUGINS:
        assert stats(cache, TORCH_PJRT_PLUGIN=plugin)["compiled"] == 0


def test_another_plugins_entry_under_our_name_is_not_taken(filled: Path, tmp_path: Path) -> None:
    """Plugins accept each other's programs, and say "cpu" all: only the key tells them apart."""
    other = tmp_path / "other"
    stats(other, TORCH_PJRT_PLUGIN=PLUGINS[1])
    theirs = programs(other)
    for path in programs(filled):
        path.write_bytes(theirs[0].read_bytes())
    again = stats(filled)
    assert again["disk_hits"] == 0 and again["rejected"] == again["compiled"]


def test_a_plugin_that_cannot_serialize(cache: Path, proxy_environment: dict[str, str]) -> None:
    assert stats(cache, **proxy_environment)["stored"] > 3
    for path in programs(cache):
        path.unlink()
    environment = {**proxy_environment, "TPJRT_PROXY_NO_SERIALIZE": "1"}
    done = run_python(WORK, TORCH_PJRT_CACHE_DIR=str(cache), **environment)
    assert done.returncode == 0 and "RuntimeWarning" not in done.stderr, done.stderr
    assert json.loads(done.stdout)["stored"] == 0


@pytest.mark.parametrize("own", ["own", "off"])
def test_the_shared_directory(
    filled: Path, first: dict[str, float], tmp_path: Path, own: str
) -> None:
    content = sorted(p.name for p in filled.iterdir())
    directory = own if own == "off" else tmp_path / own
    code = WORK.replace("tanh", "sin")  # one more program
    counts = stats(directory, code, TORCH_PJRT_CACHE_READONLY_DIR=str(filled))
    assert counts["disk_hits"] == first["compiled"] - 1
    assert (counts["compiled"], counts["stored"]) == (1, 0 if own == "off" else 1)
    assert sorted(p.name for p in filled.iterdir()) == content


def test_bounded_with_several_writers(cache: Path) -> None:
    """The limit holds at the end, whoever wrote; what was used last is there."""
    limit = 40_000
    code = WORK.replace("    print", "    for n in SIZES: x.new_zeros(n).cos()\n    print")
    processes = [
        start(cache, code.replace("SIZES", f"range({i}, 40, 4)"), TORCH_PJRT_CACHE_SIZE=str(limit))
        for i in range(1, 5)
    ]
    outputs = [process.communicate(timeout=600) for process in processes]
    for process, (_, err) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, err
    written = sum(json.loads(out)["stored"] for out, _ in outputs)
    size = sum(path.stat().st_size for path in programs(cache))
    largest = max(path.stat().st_size for path in programs(cache))
    assert written > len(programs(cache)), "nothing was evicted"
    assert limit // 2 < size <= limit + len(processes) * largest
    stats(cache, TORCH_PJRT_CACHE_SIZE=str(limit))
    assert stats(cache, TORCH_PJRT_CACHE_SIZE=str(limit))["compiled"] == 0


def test_explains_another_program(filled: Path) -> None:
    code = EXPLAIN.replace("view(3, 4)", "view(4, 3)").replace("9 * 66", "16 * 66")
    lines = output_of(code, TORCH_PJRT_CACHE_DIR=str(filled)).splitlines()
    misses = json.loads(lines[1])
    assert len(misses) == json.loads(lines[0])["compiled"] > 0
    assert all("differs from entry" in m and "in program\n" in m for m in misses)
    assert any(re.search(r"^-.*tensor<3x4xf32>", m, re.M) for m in misses)
    assert any(re.search(r"^\+.*tensor<4x3xf32>", m, re.M) for m in misses)


@pytest.mark.parametrize(
    ("environment", "parts"),
    [
        ({"TORCH_PJRT_PLUGIN": PLUGINS[1]}, {"plugin file": "", "PJRT API": "0.106"}),
        (
            {"TORCH_PJRT_DEVICE_COUNT": "2"},
            {"devices": "2 x ", "client options": "cpu_device_count=2"},
        ),
        (
            {"XLA_FLAGS": "--xla_backend_optimization_level=1"},
            {"compiler variables": "XLA_FLAGS=--xla_backend_optimization_level=1"},
        ),
    ],
)
def test_explains_another_compiler(
    filled: Path, first: dict[str, float], environment: dict[str, str], parts: dict[str, str]
) -> None:
    out = output_of(EXPLAIN, TORCH_PJRT_CACHE_DIR=str(filled), **environment)
    misses = json.loads(out.splitlines()[1])
    assert len(misses) == first["compiled"]
    for miss in misses:
        head, *values = miss.splitlines()
        assert "program" not in head.split("differs from")[1]
        for part, value in parts.items():
            assert part in head
            assert any(line.startswith(f"  {part}: ") and value in line for line in values)


def test_explains_an_empty_cache_and_no_miss(cache: Path) -> None:
    cold, warm = (output_of(EXPLAIN, TORCH_PJRT_CACHE_DIR=str(cache)) for _ in range(2))
    assert all("nothing to compare" in m for m in json.loads(cold.splitlines()[1]))
    assert json.loads(warm.splitlines()[1]) == []


def command(cache: Path | str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = f"from torch_pjrt.cli import app; app({list(arguments)!r})"
    return run_python(code, TORCH_PJRT_CACHE_DIR=str(cache), COLUMNS="200")


def test_commands_without_a_cache(cache: Path) -> None:
    assert re.search(r"programs +0\b", command(cache, "cache", "stats").stdout)
    assert not cache.exists()
    off = command("off", "cache", "stats")
    assert off.returncode == 1 and "TORCH_PJRT_CACHE_DIR" in off.stderr


def test_commands(filled: Path, first: dict[str, float]) -> None:
    cache = filled
    shown = command(cache, "cache", "stats").stdout
    assert (
        re.search(rf"programs +{first['compiled']}\b", shown)
        and str(cache) in shown
        and "4.0 GiB" in shown
    )
    listed = command(cache, "cache", "ls").stdout
    assert all(path.name[:12] in listed for path in programs(cache))
    assert "dot_general" in listed
    assert "more" in command(cache, "cache", "ls", "--limit", "1").stdout
    assert "nothing to compare" in command(cache, "cache", "why").stdout
    stats(cache, WORK.replace(".tanh()", ".sin()"))
    reason = command(cache, "cache", "why").stdout
    assert "in program\n" in reason and "+" in reason and "sine" in reason
    key = programs(cache)[0].stem
    assert f"program {key[:12]}" in command(cache, "cache", "why", key[:16]).stdout
    unknown = command(cache, "cache", "why", "zzz")
    assert unknown.returncode == 1 and "cache ls" in unknown.stderr
    assert f"{len(programs(cache))} programs removed" in command(cache, "cache", "clear").stdout
    assert programs(cache) == []
