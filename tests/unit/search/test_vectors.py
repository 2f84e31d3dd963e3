"""Vectors of texts: the encoder's own, once a text, in a file that safetensors reads, the same after an interrupt."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import bertlens as bl
from bertlens.base import batch_work, progress
from bertlens.errors import BertLensError, InputError, ModelError
from bertlens.search import vectors_file
from bertlens.search.vectors import PassageVectors, encoded
from bertlens.sentences.sparse_encoder import SparseTextEncoder
from unit import tiny
from unit.tiny_encoders import base, crossed, encoder, folder, parts, sparse, st, words

TEXTS = [words(n % 9 + 1, n) for n in range(20)]
TEXTS[7] = TEXTS[15] = TEXTS[2]  # equal ones
TEXTS[11] = ""
PASSES = {"batch_size": 1, "progress": False}  # 8 texts at once


def late() -> Any:
    multi = pytest.importorskip("sentence_transformers.multi_vector_encoder.modules")
    torch.manual_seed(3)
    first = base.Transformer(folder())
    reduce = base.Dense(32, 12, bias=False, activation_function=None, module_input_name="token_embeddings")
    normal = base.Normalize(module_input_name="token_embeddings")
    return st.MultiVectorEncoder(modules=[first, reduce, multi.MultiVectorMask([".", ","]), normal], device="cpu")


def plain() -> Any:
    return bl.Lens(tiny.FAMILIES["bert"].model(), tiny.wordpiece(model_max_length=40))


LENSES: dict[str, Callable[[], Any]] = {
    "pooled": lambda: bl.Lens(encoder()),
    "late": lambda: bl.Lens(late()),
    "plain": plain,
    "sparse": lambda: bl.Lens(sparse()),
}


@pytest.fixture(params=LENSES, scope="module")
def lens(request: pytest.FixtureRequest) -> Any:
    return LENSES[request.param]()


class Encodes:
    """Counts the texts that a lens encodes; raises KeyboardInterrupt at a call, by its number from 1."""

    def __init__(self, lens: Any, monkeypatch: pytest.MonkeyPatch, stop: int = 0):
        self.texts: list[str] = []
        self._calls, self._stop, self._encode = 0, stop, lens.sentences.encode
        monkeypatch.setattr(lens.sentences, "encode", self)

    def __call__(self, texts: Any, *settings: Any) -> Any:
        self._calls += 1
        if self._calls == self._stop:
            raise KeyboardInterrupt
        self.texts += texts
        return self._encode(texts, *settings)


def same(one: PassageVectors, other: PassageVectors) -> bool:
    """To the bit."""
    arrays = [(getattr(one, n), getattr(other, n)) for n in ("rows", "scales", "offsets", "columns")]
    return all((a is None and b is None) or (a.dtype == b.dtype and np.array_equal(a, b)) for a, b in arrays)


def matrix_of(vector: Any) -> np.ndarray:
    """(n, E) of a text as `lens.encode` gives it; of a sparse vector the weights that are not 0, (n, 1)."""
    if vector.is_sparse:
        return vector.coalesce().values().numpy()[:, None]  # type: ignore[no-any-return]
    return np.atleast_2d(vector.numpy())


def steps(rows: np.ndarray) -> np.ndarray:
    """The step of each row in int8."""
    return np.abs(rows).max(-1, keepdims=True) / 127


@pytest.mark.parametrize("int8", [False, True])
def test_vectors_are_the_encoders_own_and_the_files_those_that_were_made(lens: Any, int8: bool, tmp_path: Path) -> None:
    if int8 and isinstance(lens.sentences, SparseTextEncoder):
        with pytest.raises(InputError, match="a few weights a text, stored as they are: leave int8 out"):
            encoded(lens, TEXTS, "document", int8=True, **PASSES)
        return
    made = encoded(lens, TEXTS, "document", int8=int8, **PASSES)
    for text, matrix in enumerate(lens.encode(TEXTS, "document")):
        own = matrix_of(matrix)
        assert made.matrix(text).shape == own.shape and made.matrix(text).dtype == np.float64
        bound = steps(own) * 0.501 if int8 else 1e-5
        assert (np.abs(made.matrix(text) - own) <= bound + 1e-5).all()
    assert np.array_equal(made.matrix(2), made.matrix(15)) and len(made) == 20
    file = tmp_path / "vectors.safetensors"
    assert same(made, encoded(lens, TEXTS, "document", file=file, int8=int8, **PASSES))
    arrays = load_file(file)
    assert np.array_equal(arrays["vectors"], made.rows) and arrays["digests"].shape == (20, 16)
    assert ("scales" in arrays, "offsets" in arrays) == (int8, made.offsets is not None)
    assert made.rows.dtype == (np.int8 if int8 else np.float32)


def test_a_second_call_encodes_nothing_and_a_changed_text_is_encoded_alone(
    lens: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "vectors.safetensors"
    made = encoded(lens, TEXTS, "document", file=file, **PASSES)
    bytes_before = file.read_bytes()
    encodes = Encodes(lens, monkeypatch)
    assert same(made, encoded(lens, TEXTS, "document", file=file, **PASSES)) and encodes.texts == []
    order = np.arange(19, -1, -1)
    backwards = encoded(lens, [TEXTS[text] for text in order], "document", file=file, **PASSES)
    assert same(backwards, made.take(order)) and encodes.texts == [] and file.read_bytes() == bytes_before
    changed = [*TEXTS[:9], "another warm cat", *TEXTS[10:]]
    again = encoded(lens, changed, "document", file=file, **PASSES)
    assert encodes.texts == ["another warm cat"]
    others = np.delete(np.arange(20), 9)
    assert same(again.take(others), made.take(others)) and len(load_file(file)["digests"]) == 20
    own = matrix_of(lens.encode(["another warm cat"], "document")[0])
    np.testing.assert_allclose(again.matrix(9), own, atol=1e-5)


def test_equal_texts_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lens = LENSES["pooled"]()
    encodes = Encodes(lens, monkeypatch)
    encoded(lens, TEXTS, "document", **PASSES)
    assert sorted(encodes.texts) == sorted(set(TEXTS))


def test_the_bar_moves_with_every_batch_and_not_only_when_a_window_is_done() -> None:
    counts: list[float] = []
    with progress.watched(lambda _doing, count, _total: counts.append(count)):
        encoded(plain(), ["One.", "Two words.", "And three words."], None, batch_size=1)
    assert sorted(set(counts)) == [0, 1, 2, 3] and counts == sorted(counts)


@pytest.mark.parametrize(
    ("name", "int8"), [("pooled", False), ("late", False), ("late", True), ("pooled", True), ("sparse", False)]
)
def test_ended_in_the_middle_and_gone_on_it_is_the_same(
    name: str, int8: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lens = LENSES[name]()
    through, file = tmp_path / "through.safetensors", tmp_path / "vectors.safetensors"
    made = encoded(lens, TEXTS, "document", file=through, int8=int8, **PASSES)
    with monkeypatch.context() as patch:
        encodes = Encodes(lens, patch, stop=3)
        said = f"^stopped: 16 of 18 texts are done, and saved in {file}; the same call goes on$"
        with pytest.raises(BertLensError, match=said):
            encoded(lens, TEXTS, "document", file=file, int8=int8, **PASSES)
    encodes_again = Encodes(lens, monkeypatch)
    again = encoded(lens, TEXTS, "document", file=file, int8=int8, **PASSES)
    assert len(encodes.texts) == 16 and set(encodes.texts) | set(encodes_again.texts) == set(TEXTS)
    assert not set(encodes.texts) & set(encodes_again.texts)
    assert same(again, made) and file.read_bytes() == through.read_bytes()


def test_ended_before_the_first_and_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lens, file = LENSES["pooled"](), tmp_path / "vectors.safetensors"
    with monkeypatch.context() as patch:
        Encodes(lens, patch, stop=1)
        with pytest.raises(BertLensError, match=r"^stopped: 0 of 18 texts are done; the same call goes on$"):
            encoded(lens, TEXTS, None, file=file, **PASSES)
        assert list(tmp_path.iterdir()) == []  # nor a lock
    with monkeypatch.context() as patch:
        Encodes(lens, patch, stop=2)
        with pytest.raises(KeyboardInterrupt):
            encoded(lens, TEXTS, None, **PASSES)
    with monkeypatch.context() as patch, progress.watched(lambda *_: None):  # who watches ends the work himself
        Encodes(lens, patch, stop=2)
        with pytest.raises(KeyboardInterrupt):
            encoded(lens, TEXTS, None, file=file, **PASSES)
    assert len(load_file(file)["digests"]) >= 8


def test_killed_it_goes_on_from_what_was_saved_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but what was saved now and then is there."""
    lens, file, left = LENSES["pooled"](), tmp_path / "vectors.safetensors", tmp_path / "left.safetensors"

    class Often:
        def __init__(self, save: Callable[[], None]):
            self._save, self._count = save, 0

        def __call__(self) -> None:
            self._save()
            self._count += 1
            if self._count == 2:
                shutil.copy(file, left)

    with monkeypatch.context() as patch:
        patch.setattr(batch_work, "Autosave", Often)
        encoded(lens, TEXTS, "query", file=file, **PASSES)
    shutil.move(left, file)
    encodes = Encodes(lens, monkeypatch)
    again = encoded(lens, TEXTS, "query", file=file, **PASSES)
    assert len(encodes.texts) == len(set(TEXTS)) - 16
    assert same(again, encoded(lens, TEXTS, "query", **PASSES))


def test_what_was_made_before_an_error_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lens, file = LENSES["pooled"](), tmp_path / "vectors.safetensors"
    encode, calls = lens.sentences.encode, iter([True])

    def once(*arguments: Any) -> Any:
        if not next(calls, False):
            raise MemoryError
        return encode(*arguments)

    monkeypatch.setattr(lens.sentences, "encode", once)
    with pytest.raises(MemoryError):
        encoded(lens, TEXTS, None, file=file, **PASSES)
    assert len(set(map(bytes, load_file(file)["digests"]))) == 8


@pytest.mark.parametrize("name", ["pooled", "late", "sparse"])
def test_a_large_file_is_read_where_it_is_used(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lens = LENSES[name]()
    made = encoded(lens, TEXTS, "document", **PASSES)
    monkeypatch.setattr(vectors_file, "MAPPED", 0)
    mapped = encoded(lens, TEXTS, "document", file=tmp_path / "vectors.safetensors", **PASSES)
    assert same(mapped, made) and isinstance(mapped.rows.base, np.memmap) and type(mapped.rows) is np.ndarray
    changed = encoded(lens, [*TEXTS[:-1], "a cat"], "document", file=tmp_path / "vectors.safetensors", **PASSES)
    assert same(changed.take(np.arange(19)), made.take(np.arange(19)))


def test_another_models_file_and_a_damaged_one_are_refused_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "vectors.safetensors"
    lens = bl.Lens(encoder())
    encoded(lens, TEXTS, "document", file=file, **PASSES)
    whole = file.read_bytes()
    other = encoder()
    with torch.no_grad():
        next(other.parameters())[5] += 1
    remedy = "delete it, or name another file$"
    for given, task, int8, words_of in (
        (bl.Lens(other), "document", False, rf"holds vectors of another model \(what differs: weights\): {remedy}"),
        (bl.Lens(encoder(parts.Normalize())), "document", False, rf"another model \(what differs: .*\): {remedy}"),
        (lens, "query", False, f"holds vectors of another task: {remedy}"),
        (lens, "document", True, f"holds vectors of another type of numbers: {remedy}"),
        (bl.Lens(encoder(prompts={"document": "text: "})), "document", False, f"another .*: {remedy}"),
    ):
        with pytest.raises(InputError, match=words_of):
            encoded(given, TEXTS, task, file=file, int8=int8, **PASSES)
    for damaged in (whole[:-7], whole[:40], b"", b"{}" * 20):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=f"holds no vectors that can be read .*{remedy}"):
            encoded(lens, TEXTS, "document", file=file, **PASSES)
        assert file.read_bytes() == damaged
    save_file({"vectors": np.zeros((2, 3))}, file, {"kind": "something"})
    with pytest.raises(InputError, match=rf"\(it holds something else\): {remedy}"):
        encoded(lens, TEXTS, "document", file=file, **PASSES)
    header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])["__metadata__"]
    save_file({"vectors": np.zeros((2, 3))}, file, header | {"version": "0"})
    with pytest.raises(InputError, match=f"written by another version of bertlens: {remedy}"):
        encoded(lens, TEXTS, "document", file=file, **PASSES)


def test_what_has_no_vectors_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a cross-encoder reads two texts as one input"):
        encoded(bl.Lens(crossed()), TEXTS, "document")
    broken = encoder()
    with torch.no_grad():
        next(broken.parameters()).fill_(float("nan"))
    with pytest.raises(ModelError, match=r"makes vectors that are no numbers \(NaN or infinite\)"):
        encoded(bl.Lens(broken), TEXTS, "document", **PASSES)
    with pytest.raises(InputError, match="make it first"):
        encoded(bl.Lens(encoder()), TEXTS, "document", file=tmp_path / "no" / "vectors.safetensors", **PASSES)
    with pytest.raises(InputError, match="is a folder: name a file in it"):
        encoded(bl.Lens(encoder()), TEXTS, "document", file=tmp_path, **PASSES)
