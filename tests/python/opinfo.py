"""Runs opinfo_worker.py over all operators, in a few processes, and collects its results.

Also a command: `python opinfo.py` prints a summary; `--write` renews opinfo_declared.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WORKER = HERE / "opinfo_worker.py"
DECLARED = HERE / "opinfo_declared.json"
SILENCE_S = 120  # an operator that takes longer hangs
Record = dict[str, Any]


def run(device: str, environment: dict[str, str], *arguments: str) -> list[Record]:
    """One record per operator and dtype, sorted by name. A process that dies costs one operator."""
    shards = min(os.cpu_count() or 1, 4)
    work = partial(_run_shard, device, environment, arguments)
    with ThreadPoolExecutor(shards) as pool:
        parts = pool.map(work, [f"{i}/{shards}" for i in range(shards)])
        return sorted((r for part in parts for r in part), key=lambda r: str(r["op"]))


def _run_shard(
    device: str, environment: dict[str, str], arguments: tuple[str, ...], shard: str
) -> list[Record]:
    records: list[Record] = []
    first = 0
    while True:
        command = [sys.executable, str(WORKER), "--device", device, "--shard", shard]
        started, status, errors = _read_worker(
            [*command, "--first", str(first), *arguments], environment, records
        )
        if status == 0:
            return records
        if started is None:
            raise RuntimeError(f"the operator worker does not start: status {status}\n{errors}")
        records.append(
            {
                "op": started["op"],
                "status": "crash" if status is not None else "hang",
                "detail": f"process status {status}: {errors[-400:]}",
                "samples": 0,
                "fallback": [],
                "reads": 0,
            }
        )
        first = int(started["start"]) + 1


def _read_worker(
    command: list[str], environment: dict[str, str], records: list[Record]
) -> tuple[Record | None, int | None, str]:
    """Appends to `records`; returns (the operator in progress, exit status or None, errors)."""
    started: Record | None = None
    with (
        subprocess.Popen(
            ["timeout", "--signal=KILL", "1500", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        ) as process,
        ThreadPoolExecutor(2) as pool,
    ):
        assert process.stdout is not None and process.stderr is not None
        errors = pool.submit(process.stderr.read)
        while True:
            line = pool.submit(process.stdout.readline)
            try:
                text = line.result(SILENCE_S)
            except TimeoutError:
                process.kill()
                return started, None, errors.result()
            if not text:
                return started, process.wait(), errors.result()
            record = json.loads(text)
            if "start" in record:
                started = record
            else:
                records.append(record)
                started = None


def declared() -> dict[str, list[str]]:
    """Operators known to fall back or to be unsupported, by kind."""
    if not DECLARED.exists():
        return {"fallback": [], "unsupported": []}
    return dict(json.loads(DECLARED.read_text(encoding="utf-8")))


def found(records: list[Record]) -> dict[str, list[str]]:
    """The same from a run."""
    return {
        "fallback": sorted(r["op"] for r in records if r["status"] == "ok" and r["fallback"]),
        "unsupported": sorted(r["op"] for r in records if r["status"] == "unsupported"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="pjrt")
    parser.add_argument("--ops", default="", help="a regular expression on the operator's name")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", type=Path, help="also write the records there")
    arguments = parser.parse_args()
    records = run(arguments.device, {}, "--ops", arguments.ops)
    for record in records:
        if record["status"] not in ("ok", "empty", "unsupported"):
            print(f"{record['status']:8} {record['op']}: {record.get('detail')}")
    native = sum(r["status"] == "ok" and not r["fallback"] for r in records)
    print(f"{native} native of {len(records)}", dict(Counter(r["status"] for r in records)))
    reasons = Counter(name for r in records for name in r["fallback"])
    print("fallbacks:", ", ".join(f"{name} {n}" for name, n in reasons.most_common(40)))
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1))
    if arguments.write:
        DECLARED.write_text(json.dumps(found(records), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
