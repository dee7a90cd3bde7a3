"""torch.distributed on the device, in groups of real processes.

The checks are functions check_* of the modules in GROUPS. The processes of a group run all of its
checks (starting one costs seconds), and each is a test here.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from distributed_worker import checks
from support import CACHE, ROOT, output_of

pytestmark = pytest.mark.own_device

HERE = Path(__file__).parent
# What depends on the number of processes runs on four, the rest on two.
GROUPS = {
    2: ("distributed_training", "distributed_sharding"),
    4: (
        "distributed_collectives",
        "distributed_messages",
        "distributed_sharding:check_device_mesh",
        "distributed_sharding:check_two_dimensions",
    ),
}


def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TORCH_PJRT_")}
    kept.update(OMP_NUM_THREADS="1", TORCH_PJRT_CACHE_DIR=str(CACHE), **environment)
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=kept,
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], timeout: float = 300) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += "\n(killed: it did not end)"
    return process.returncode, out, err


@functools.cache
def results(size: int, folder: Path) -> list[dict[str, str]]:
    """What each rank of the group of `size` found: {check: "" or a traceback}."""
    where = folder / str(size)
    where.mkdir()
    meeting = str(where / "meet")
    ranks = [
        start("distributed_worker.py", str(rank), str(size), meeting, *GROUPS[size])
        for rank in range(size)
    ]
    found = []
    for rank, (code, out, err) in enumerate([finish(process) for process in ranks]):
        assert code == 0, f"rank {rank} of {size} ended with {code}:\n{out}\n{err}"
        found.append(json.loads(out.splitlines()[-1]))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("groups")


@pytest.mark.parametrize(
    ("size", "name"),
    [
        pytest.param(size, name, id=f"{name[6:]}-{size}")
        for size, names in GROUPS.items()
        for name in checks(*names)
    ],
)
def test_group(size: int, name: str, folder: Path) -> None:
    for rank, found in enumerate(results(size, folder)):
        assert found[name] == "", f"rank {rank} of {size}:\n{found[name]}"


GROUP = """
import os, sys, torch, torch.distributed as dist
rank, device, meeting = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.environ.update(LOCAL_RANK=str(rank), RANK=str(rank), WORLD_SIZE="2")
torch.accelerator.set_device_index(rank)
mixed = f"cpu:gloo,{device}:pjrt"
options = {
    "default": {},
    "default-device_id": {"device_id": rank},
    "gloo": {"backend": "gloo"},
    "pjrt": {"backend": "pjrt"},
    "both-device_id": {"backend": mixed, "device_id": torch.device(device, rank)},
}
for name in sys.argv[4:]:
    dist.init_process_group(
        init_method=f"file://{meeting}{name}", rank=rank, world_size=2, **options[name]
    )
    x = torch.full((2,), dist.get_rank() + 1.0, device=torch.accelerator.current_accelerator())
    dist.all_reduce(x)
    y = torch.full((2,), dist.get_rank() + 1.0)
    dist.all_reduce(y)
    found = [None, None]
    dist.all_gather_object(found, x.device.index)
    part = dist.new_group([1])
    if dist.get_rank() == 1:
        dist.all_reduce(x, group=part)
    dist.barrier()
    print(name, x.tolist(), y.tolist(), x.device.type, found)
    dist.destroy_process_group()
"""


def torchrun(*arguments: str, processes: int = 2, **environment: str) -> tuple[int, str, str]:
    """Runs a script in a new group; c10d finds a free port by itself."""
    options = ("--standalone", "--nproc-per-node", str(processes))
    return finish(start("-m", "torch.distributed.run", *options, *arguments, **environment))


@pytest.mark.parametrize(
    ("device", "names"),
    [
        ("pjrt", ("default", "default-device_id", "gloo", "pjrt")),
        ("tpu", ("both-device_id",)),  # on a device of another name the backend's stays
    ],
    ids=["pjrt", "tpu"],
)
def test_backends_as_usual_code_names_them(
    device: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    script = tmp_path / "group.py"
    script.write_text(GROUP)
    ranks = [
        start(
            str(script), str(r), device, str(tmp_path / "m"), *names, TORCH_PJRT_DEVICE_NAME=device
        )
        for r in range(2)
    ]
    for code, out, err in [finish(rank) for rank in ranks]:
        assert code == 0, err
        assert out.splitlines() == [f"{n} [3.0, 3.0] [3.0, 3.0] {device} [0, 1]" for n in names]
        assert "Warning" not in err.replace("FutureWarning", ""), err


def test_a_device_that_does_not_exist(tmp_path: Path) -> None:
    code = """
        import torch, torch.distributed as dist
        try:
            dist.init_process_group(device_id=9, rank=0, world_size=1, store=dist.HashStore())
        except ValueError as error:
            print(error)
    """
    assert "out of range" in output_of(code)


LOSING = """
import os, sys, time, datetime, torch, torch.distributed as dist
rank, meeting = int(sys.argv[1]), sys.argv[2]
dist.init_process_group(init_method="file://" + meeting, rank=rank, world_size=2)
impatient = dist.new_group(timeout=datetime.timedelta(seconds=5))
x = torch.ones(4, device="pjrt")
for group in (impatient, None):
    dist.all_reduce(x, group=group)
    dist.barrier(group=group)
    if rank == 1:
        while group is impatient and not os.path.exists(meeting + "go"):  # it stalls
            time.sleep(0.1)
        if group is None:
            os._exit(3)
    else:
        y = torch.empty(2, device="pjrt")
        for work in (dist.all_reduce(x, group=group, async_op=True), dist.irecv(y, 1, group)):
            try:
                work.wait()
            except RuntimeError as error:
                print(type(error).__name__, str(error).splitlines()[0])
        print(x.sum().item() > 0)  # the device still works
        open(meeting + "go", "w").close()
"""


def test_a_peer_that_stalls_or_dies_is_an_error(tmp_path: Path) -> None:
    """Neither a hang nor an abort: the error comes when the time is over, or at once."""
    script, meeting = tmp_path / "losing.py", str(tmp_path / "meet")
    script.write_text(LOSING)
    peer = start(str(script), "1", meeting)
    try:
        code, out, err = finish(start(str(script), "0", meeting), timeout=200)
    finally:
        peer.kill()
        finish(peer)
    assert code == 0, f"{out}\n{err}"
    lines = out.splitlines()
    assert len(lines) == 6
    for collective, message, alive in (lines[:3], lines[3:]):
        assert collective.startswith("DistBackendError all_reduce failed on rank 0 of 2 (gloo thr")
        assert message.startswith("DistBackendError recv failed on rank 0 of 2")
        assert alive == "True"


def test_import_registers_the_backend_and_opens_nothing() -> None:
    code = """
        import torch, torch.distributed as dist
        from torch_pjrt import _C
        print(dist.get_default_backend_for_device("pjrt"), _C.is_open())
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        x = torch.ones(2)
        dist.all_reduce(x)
        print(_C.is_open())
        dist.destroy_process_group()
    """
    assert output_of(code).split() == ["pjrt", "False", "False"]


def losses(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"loss ([\d.]+)", text)]


def test_example() -> None:
    """examples/ddp.py: two processes print the losses of one with the whole batches."""
    script = str(ROOT / "examples" / "ddp.py")
    code, out, err = torchrun(script)
    assert code == 0, err
    assert "2 process(es) on pjrt" in out
    code, alone, err = finish(start(script))
    assert code == 0, err
    assert "1 process(es) on pjrt" in alone
    assert len(losses(out)) == 12
    # Printed with four digits: the last may round another way.
    assert losses(out) == pytest.approx(losses(alone), rel=1e-4, abs=1.01e-4)
    assert losses(out)[-1] < losses(out)[0]
