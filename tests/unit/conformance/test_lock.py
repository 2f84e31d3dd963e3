"""The lock of a model and the command: what the file holds, what keeps it, what does not, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import cli
from bertlens.conformance.lock import BYTES, Lock
from bertlens.errors import InputError
from unit import tiny
from unit.conformance import naive_encoder as naive
from unit.conformance.planted import LIMIT, lens_of
from unit.export import engine

MINE = "a text of mine, which is private"


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return lens_of("bert")


@pytest.fixture(scope="module")
def locked(lens: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> Path:
    p = bl.parity(lens, [MINE], lens.encode([MINE]))
    return p.lock(tmp_path_factory.mktemp("lock") / "vectors.lock")


def other(seed: int = 5, **changed: Any) -> bl.Lens:
    lens = lens_of("bert", seed)
    with torch.no_grad():
        for name, factor in changed.items():
            lens.model.get_parameter(name.replace("__", ".")).mul_(factor)
    return lens


def against(lens: bl.Lens, path: Path) -> str:
    return bl.parity(lens, [MINE], lens.encode([MINE])).against(path)


def test_a_lock_is_small_and_holds_what_a_model_written_out_makes_of_generated_texts(lens, locked: Path) -> None:
    text = locked.read_text(encoding="utf-8")
    assert len(text.encode()) <= BYTES and "private" not in text and max(map(len, text.split("\n"))) < 3_000
    rows = json.loads(text)["texts"]
    assert [row["text"] for row in rows] == bl.probing_texts(lens)
    ids = [lens.tokenizer(row["text"], truncation=True, max_length=LIMIT)["input_ids"] for row in rows]
    vectors = np.stack([naive.mean(lens.model, row) for row in ids])
    assert [row["ids"] for row in rows] == ids
    assert np.allclose([row["first"] for row in rows], vectors[:, :32], atol=1e-5)
    units = vectors / np.sqrt((vectors**2).sum(1))[:, None]
    cosines = [float(units[i] @ units[j]) for i in range(len(rows)) for j in range(i + 1, len(rows))]
    assert np.allclose(json.loads(text)["cosines"], cosines, atol=1e-6)
    assert Lock.read(locked).said(vectors) == ""


def test_a_lock_of_long_texts_leaves_the_longest_out(lens: bl.Lens, tmp_path: Path) -> None:
    texts = ["a cat", "warm " * 900, "the mat was very warm", "mat " * 2_000, "it sat"]
    lock = Lock.read(
        Lock.of(lens, [*texts, *(f"{'cat ' * 1_100}{n}" for n in range(9))], None, None).write(tmp_path / "a")
    )
    assert (tmp_path / "a").stat().st_size <= BYTES and {"a cat", "it sat"} <= set(lock.texts)
    assert texts[3] not in lock.texts
    assert lock.said(lens.encode(lock.texts).numpy()) == ""


def test_what_keeps_a_lock_and_what_does_not(lens: bl.Lens, locked: Path) -> None:
    assert against(lens, locked) == ""
    assert against(other(embeddings__LayerNorm__weight=1 + 2e-7), locked) == ""  # as floats differ
    said = against(other(encoder__layer__1__output__dense__weight=1.001), locked)
    assert "12 of 12 texts have another vector" in said and said.endswith("The same by hash: tokenizer.")
    cased = tiny.wordpiece(model_max_length=30)
    said = against(bl.Lens(lens.model, cased), locked)
    longer = sum(len(ids) > 30 for ids in Lock.read(locked).ids)
    assert f"Tokens differ in {longer} of 12 texts" in said and "has 30, locked are" in said and "weights" in said


def test_vectors_that_differ_past_the_locked_numbers_or_in_length_are_told(lens: bl.Lens, locked: Path) -> None:
    lock = Lock.read(locked)
    right = lens.encode(lock.texts).numpy()
    wide = np.concatenate([right, np.zeros_like(right)], 1)
    held = Lock(lock.model, lock.texts, lock.ids, wide, lock.norms, lock.cosines, lock.noise, lock.hashes)
    moved = wide.copy()
    moved[2, 40] = 0.01 * lock.norms[2]
    assert held.said(wide) == "" and "texts have another vector" in held.said(moved)
    assert "12 of 12 texts" in lock.said(1.001 * right)
    with pytest.raises(InputError, match="12 texts: give as many vectors"):
        lock.said(right[:3])


@pytest.mark.parametrize("text", ["no lock", '{"bertlens_lock": 1}', '{"bertlens_lock": 2, "texts": []}', "[]"])
def test_what_is_no_lock_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_text(text)
    with pytest.raises(InputError, match=r"a\.lock is no lock"):
        Lock.read(tmp_path / "a.lock")


@pytest.fixture
def folder(lens: bl.Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Vectors of two lines in each kind of file, right and wrong ones; the lens in place of what a name loads."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from safetensors.numpy import save_file

    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda model: lens)
    texts = ["the cat sat on the mat", "it was very warm, unbelievable"]
    (tmp_path / "t.txt").write_text("\n".join(texts))
    right = lens.encode(texts).numpy()
    np.save(tmp_path / "a.npy", right)
    np.savez(tmp_path / "a.npz", vectors=right)
    save_file({"vectors": right}, tmp_path / "a.safetensors")
    pq.write_table(pa.table({"vector": right.tolist()}), tmp_path / "a.parquet")
    np.save(
        tmp_path / "first.npy",
        np.stack([naive.states(lens.model, lens.tokenizer(t)["input_ids"])[-1][0] for t in texts]),
    )
    return tmp_path


def test_status_0_for_the_same_in_each_kind_of_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("npy", "npz", "safetensors", "parquet"):
        assert cli.main(["parity", "any", str(folder / f"a.{kind}"), "--texts", str(folder / "t.txt")]) == 0
        assert f"a.{kind}: The same: 2 of 2 vectors" in capsys.readouterr().out


def test_status_1_for_a_fault_and_2_for_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["--texts", str(folder / "t.txt")]
    assert cli.main(["parity", "any", str(folder / "first.npy"), *texts, "--no-pairs"]) == 1
    assert "Fault: first token" in capsys.readouterr().err
    for command, words in (
        ([], "name their file"),
        (["--texts", str(folder / "t.txt")], "name it too"),
        ([str(folder / "none.npy"), *texts], "none.npy"),
        ([str(folder / "a.npy")], "2 vectors for 12 texts"),
        (["--check", str(folder / "t.txt")], "is no lock"),
        (["--lock", str(folder / "a.npy")], "--force writes over it"),
    ):
        assert cli.main(["parity", "any", *command]) == 2
        assert words in capsys.readouterr().err


def test_a_lock_is_made_and_checked_by_the_command(
    folder: Path, lens: bl.Lens, locked: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = folder / "new.lock"
    assert cli.main(["parity", "any", "--lock", str(made)]) == 0
    assert cli.main(["parity", "any", "--lock", str(made)]) == 0  # over its own
    assert made.read_text() == locked.read_text()
    np.save(folder / "probes.npy", lens.encode(bl.probing_texts(lens)))
    assert cli.main(["parity", "any", str(folder / "probes.npy"), "--check", str(made)]) == 0
    assert "keeps it: 12 texts" in capsys.readouterr().out
    revised = other(encoder__layer__1__output__dense__weight=1.001)
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda model: revised)
    assert cli.main(["parity", "any", "--check", str(made)]) == 1
    assert "another vector than is locked" in capsys.readouterr().err


def test_the_pages_engine_and_the_embedded_model_keep_a_lock(embedded_lens: bl.Lens, tmp_path: Path) -> None:
    """The engine in node, on the weights that a page has, against a lock of torch on the same; not that of its own."""
    engine.write(embedded_lens.borrowed, tmp_path)
    same = bl.Lens(engine.rounded(embedded_lens.borrowed), embedded_lens.tokenizer)
    texts = [text for text in bl.probing_texts(same) if len(text) < 60][:5]
    locks = [Lock.read(Lock.of(lens, texts, None, None).write(tmp_path / "a.lock")) for lens in (same, embedded_lens)]
    runs, _ = engine.passes(embedded_lens.borrowed, tmp_path, [(same.trace(text), []) for text in texts])
    vectors = np.stack([run["pooled"] for run in runs])
    assert len(texts) == 5 and locks[0].said(vectors) == ""
    assert f"{len(texts)} of {len(texts)} texts have another vector" in locks[1].said(vectors)
    assert locks[1].said(embedded_lens.encode(texts).numpy()) == ""
