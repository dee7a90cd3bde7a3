"""The main job's parts, and the whole of it on a few sentences."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

import torch_pjrt
from torch_pjrt.demo import batches, embed, model, report, run

ROOT = Path(__file__).resolve().parents[2]
KEYS = {
    "device",
    "plugin",
    "max_abs_diff",
    "min_cosine",
    "nearest_examples",
    "sentences_per_second",
    "tokens_per_second",
    "p50_ms",
    "p99_ms",
    "programs_compiled",
    "compile_seconds",
    "fallback_ops",
}
GOOD = report.Result(
    device="pjrt",
    plugin="some plugin",
    max_abs_diff=1e-6,
    min_cosine=0.9999999,
    nearest_examples=[],
    sentences_per_second=100.0,
    tokens_per_second=1000.0,
    p50_ms=1.0,
    p99_ms=2.0,
    programs_compiled=30,
    compile_seconds=1.5,
    fallback_ops=0,
)


def test_batches_hold_every_token_once_and_have_few_shapes() -> None:
    token_ids = [[7] * n for n in (3, 16, 17, 1, 30, 5, 40)]
    made = batches.make_batches(token_ids, rows=2, multiple=16, pad_id=0)
    assert sorted(i for b in made for i in b.indices) == list(range(len(token_ids)))
    assert {b.shape for b in made} == {(2, 16), (2, 32), (2, 48)}
    assert sum(b.tokens for b in made) == sum(map(len, token_ids))
    for batch in made:
        for row, index in enumerate(batch.indices):
            count = len(token_ids[index])
            assert batch.ids[row].tolist() == token_ids[index] + [0] * (batch.shape[1] - count)
            assert batch.mask[row].sum() == count
        assert (batch.mask.sum(1) > 0).all(), "a row without a token has no softmax"


def test_compare_sees_a_difference_and_a_turned_vector() -> None:
    rows = np.eye(3, dtype=np.float32)
    assert embed.compare(rows, rows) == (0.0, 1.0)
    turned = rows.copy()
    turned[1] = [1, 0, 0]
    assert embed.compare(turned, rows) == (1.0, 0.0)


def test_nearest_pairs_are_disjoint_and_sorted() -> None:
    angles = np.array([0.0, 0.1, 1.0, 1.3, 2.5])
    rows = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    pairs = embed.nearest_pairs(rows, list("abcde"), 5)
    assert [(p["sentence"], p["nearest"]) for p in pairs] == [("a", "b"), ("c", "d")]
    assert pairs[0]["cosine"] == pytest.approx(math.cos(0.1), abs=1e-4)


def test_sentences_of_the_example_are_many_and_distinct() -> None:
    path = ROOT / "examples" / "sentences.txt"
    sentences = model.read_sentences(path)
    assert len(sentences) >= 200
    assert len(sentences) == len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("content", [b"only one\n", b"\n \n", b"\xff\xfe broken"])
def test_a_bad_sentence_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(model.DemoError, match=r"bad\.txt"):
        model.read_sentences(path)


def test_the_json_has_exactly_the_promised_keys(tmp_path: Path) -> None:
    GOOD.write(tmp_path / "new folder" / "demo.json")
    assert set(json.loads((tmp_path / "new folder" / "demo.json").read_text())) == KEYS


def test_the_json_refuses_numbers_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        replace(GOOD, p99_ms=math.nan).write(tmp_path / "demo.json")


@pytest.mark.parametrize(
    "change",
    [
        {"max_abs_diff": 1e-3},
        {"max_abs_diff": math.nan},
        {"min_cosine": 0.99},
        {"min_cosine": math.nan},
        {"fallback_ops": 1},
    ],
)
def test_a_bad_result_is_called_bad(change: dict[str, float]) -> None:
    assert GOOD.problems() == []
    assert len(replace(GOOD, **change).problems()) == 1


def test_the_whole_demo_on_the_device(tmp_path: Path) -> None:
    lines = (ROOT / "examples" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    (tmp_path / "few.txt").write_text("\n".join(lines[:10]), encoding="utf-8")
    accelerator = torch.accelerator.current_accelerator()
    assert accelerator is not None
    output = tmp_path / "demo.json"
    before = torch_pjrt.compile_count()
    fallbacks = sum(torch_pjrt.fallback_counts().values())
    run(str(accelerator), tmp_path / "few.txt", output, 1, Console(quiet=True))
    numbers = json.loads(output.read_text(encoding="utf-8"))
    assert set(numbers) == KEYS
    assert numbers["max_abs_diff"] <= report.MAX_ABS_DIFF
    assert numbers["min_cosine"] >= report.MIN_COSINE
    assert numbers["fallback_ops"] == fallbacks, "MiniLM ran an operator on the CPU"
    assert numbers["programs_compiled"] > before
    first = numbers["nearest_examples"][0]
    assert abs(lines.index(first["sentence"]) - lines.index(first["nearest"])) == 1
