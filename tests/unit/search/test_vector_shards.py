"""Vectors of a collection in shards are those of one process to the bit, of every kind of encoder."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlens import Lens
from bertlens.base.shards import Shard
from bertlens.cli import main
from bertlens.search import vector_shards as shards
from bertlens.search.vectors import encoded, split
from unit.search.test_vectors import LENSES
from unit.tiny_encoders import encoder, words

TEXTS = [words(n % 9 + 1, n) for n in range(44)]
TEXTS[7] = TEXTS[15] = TEXTS[2]  # equal ones
N = 3


@pytest.mark.parametrize(("kind", "int8"), [("pooled", False), ("pooled", True), ("late", True), ("sparse", False)])
def test_shards_are_one_process(kind: str, int8: bool, tmp_path: Path) -> None:
    lens = LENSES[kind]()
    options: dict[str, Any] = {"int8": int8, "batch_size": 1}
    files = [tmp_path / f"{number}.npz" for number in range(1, N + 1)]
    counts = [shards.run_shard(lens, TEXTS, path, Shard(at, N), **options) for at, path in enumerate(files, 1)]
    assert sum(counts) == len({*TEXTS}) and min(counts) > 0
    output = tmp_path / "all.safetensors"
    shards.merge(random.Random(0).sample(files, N), output)
    merged = encoded(lens, TEXTS, "document", file=output, progress=False, **options)
    alone = encoded(lens, TEXTS, "document", progress=False, **options)
    for ours, theirs in zip(split(merged), split(alone), strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.npz", "2.npz", "3.npz", "all.safetensors"]


def test_the_command_and_what_makes_no_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lens = Lens(encoder())
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda _: lens)
    Path("c.jsonl").write_text("".join(f"{json.dumps({'_id': str(at), 'text': t})}\n" for at, t in enumerate(TEXTS)))
    Path("d.jsonl").write_text(Path("c.jsonl").read_text().replace(TEXTS[2], "no more"))
    Path("q.txt").write_text(f"{TEXTS[5]}\n{TEXTS[6]}\n")
    command = ["retrieval", "c.jsonl", "--queries", "q.txt", "--batch-size", "1"]
    for number in (1, 2):
        assert main([*command, "--shard", f"{number}/2", "-o", f"{number}.npz"]) == 0
    assert main(["merge", "2.npz", "1.npz", "-o", "all.safetensors"]) == 0
    assert f"vectors of {len({*TEXTS})} texts" in capsys.readouterr().out
    asked: list[str] = []
    encode = lens.sentences.encode
    monkeypatch.setattr(lens.sentences, "encode", lambda texts, *rest: asked.extend(texts) or encode(texts, *rest))
    assert main([*command, "--vectors", "all.safetensors", "-o", "page.html"]) == 0
    assert {*asked[:2]} == {TEXTS[5], TEXTS[6]}  # the questions alone, before what the cases of the page are about
    assert main([*command, "--shard", "2/2", "--int8", "-o", "int8.npz"]) == 0
    assert main([command[0], "d.jsonl", *command[2:], "--shard", "2/2", "-o", "d.npz"]) == 0
    Path("no.npz").write_text("mine")
    capsys.readouterr()
    for fault, arguments in (
        ("lacks shard 2/2", ["merge", "1.npz", "-o", "x.safetensors"]),
        ("are both shard 1/2", ["merge", "1.npz", "2.npz", "1.npz", "-o", "x.safetensors"]),
        ("what differs: type of numbers", ["merge", "1.npz", "int8.npz", "-o", "x.safetensors"]),
        ("what differs: corpus", ["merge", "1.npz", "d.npz", "-o", "x.safetensors"]),
        ("x.npz is named otherwise", ["merge", "1.npz", "2.npz", "-o", "x.npz"]),
        ("is written as .npz", [*command, "--shard", "1/2", "-o", "x.html"]),
        ("too few for 90 shards", [*command, "--shard", "1/90", "-o", "x.npz"]),
        ("no.npz is no file of bertlens", [*command, "--shard", "1/2", "-o", "no.npz"]),
    ):
        assert main(arguments) == 2
        err = capsys.readouterr().err
        assert fault in err and err.count("\n") == 1
    assert Path("no.npz").read_text() == "mine" and not [*Path().glob("x.*")]
