"""Compiling in the background, without the GIL, with a progress bar, and without growing."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from support import output_of, run_python

pytestmark = pytest.mark.own_device


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


# Elementwise programs that no optimisation shortens: seconds of compilation each.
LONG = """
    from torch_pjrt import _C
    def program(seed, length):
        lines = ["func.func @main(%x0: tensor<64xf32>) -> tensor<64xf32> {"]
        for i in range(length):
            op = ("sine", "tanh", "cosine")[(i * i + seed) % 3]
            lines.append(f"%y{i} = stablehlo.{op} %x{i} : tensor<64xf32>")
            lines.append(f"%x{i + 1} = stablehlo.add %y{i}, %x{i // 2} : tensor<64xf32>")
        return "\\n".join(lines) + f"\\nreturn %x{length} : tensor<64xf32> }}"
"""


def test_the_gil_is_free_while_a_program_is_compiled(cache: Path) -> None:
    """Another thread sees the compilation under way: it could not run if the GIL were held."""
    code = (
        LONG
        + """
    import threading, torch, torch_pjrt
    torch.ones(1).to("pjrt")
    text, done, seen = program(0, 300), threading.Event(), []
    def watch():
        while not done.is_set():
            seen.append(_C.compile_progress()[0])
    thread = threading.Thread(target=watch)
    thread.start()
    _C.compile_programs([(text, 1)])
    done.set()
    thread.join()
    print(max(seen))
    """
    )
    assert output_of(code, TORCH_PJRT_CACHE_DIR=str(cache)) == "1"


def test_an_operator_that_compiles_leaves_the_gil_free(cache: Path) -> None:
    code = """
    import threading, torch, torch_pjrt
    from torch_pjrt import _C
    x = torch.rand(40, 40).to("pjrt")
    done, seen = threading.Event(), []
    def watch():
        while not done.is_set():
            seen.append(_C.compile_progress()[0])
    thread = threading.Thread(target=watch)
    thread.start()
    x.sort(0)
    done.set()
    thread.join()
    print(max(seen))
    """
    assert output_of(code, TORCH_PJRT_CACHE_DIR=str(cache)) == "1"


@pytest.mark.parametrize(("progress", "shown"), [("1", True), ("0", False), ("", False)])
def test_a_long_compilation_shows_a_bar_when_asked(cache: Path, progress: str, shown: bool) -> None:
    code = (
        LONG
        + """
    import torch
    torch.ones(1).to("pjrt")
    length = 500
    while True:  # a quick machine gets longer programs
        before = _C.cache_stats()["compile_seconds"]
        _C.compile_programs([(program(length, length), 1)])
        if _C.cache_stats()["compile_seconds"] - before > 2:
            break
        length *= 2
    """
    )
    done = run_python(code, TORCH_PJRT_CACHE_DIR=str(cache), TORCH_PJRT_PROGRESS=progress)
    assert done.returncode == 0, done.stderr
    assert ("torch_pjrt compiles" in done.stderr) == shown
    assert done.stdout == ""


def test_a_process_may_end_while_programs_are_prefetched(cache: Path) -> None:
    code = (
        LONG
        + """
    import torch
    torch.ones(1).to("pjrt")
    _C.prefetch([(program(seed, 500), 1) for seed in range(20)])
    print("end")
    """
    )
    assert output_of(code, TORCH_PJRT_CACHE_DIR=str(cache), TORCH_PJRT_PROGRESS="1") == "end"


def test_many_programs_at_once(pjrt: ModuleType, cache: Path) -> None:
    code = (
        LONG
        + """
    import json, torch
    torch.ones(1).to("pjrt")
    programs = [(program(seed % 5, 20 + seed % 5), 1) for seed in range(10)]
    _C.compile_programs(programs)
    try:
        _C.compile_programs([*programs, ("no module", 1)])
    except RuntimeError as error:
        print(json.dumps([_C.cache_stats()["compiled"], "error" in str(error).lower()]))
    """
    )
    assert json.loads(output_of(code, TORCH_PJRT_CACHE_DIR=str(cache))) == [5, True]
    assert pjrt.cache_stats()["compiled"] >= 0


def test_memory_does_not_grow_over_recompiles(cache: Path) -> None:
    """Programs that nobody uses any more go; measured in this process's resident memory."""
    code = (
        LONG
        + """
    import torch
    torch.ones(1).to("pjrt")
    def rss():
        return int(open("/proc/self/statm").read().split()[1]) * 4096
    def run(start, count):
        for seed in range(start, start + count):
            _C.compile_programs([(f"// {seed}\\n" + program(seed, 3), 1)])
    run(0, 400)
    before = rss()
    run(400, 500)
    print(rss() - before, _C.cache_stats()["compiled"])
    """
    )
    growth, compiled = map(int, output_of(code, 600, TORCH_PJRT_CACHE_DIR=str(cache)).split())
    assert compiled == 900
    assert growth < 16 << 20, f"{growth / 500:.0f} bytes a program"
