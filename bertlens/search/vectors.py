"""Vectors of many texts, made once: in a file, where one is named, and made again only of a text that is new."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from ..base.paths import as_path
from ..errors import InputError, ModelError, check_batch, check_lens
from ..lens import Lens
from ..sentences.encoders import NO_VECTORS, WINDOW
from ..sentences.late_interaction import LateEncoder
from ..sentences.similarity_matrix import check_texts
from ..sentences.sparse_encoder import SparseTextEncoder
from . import vectors_file
from .long_work import complete

IS_WINDOWS = sys.platform == "win32"
STEPS = 127  # of an int8 row to each side of 0
UNSCALED = np.empty(0, np.float32)


class Matrix(NamedTuple):
    """Of a text."""

    rows: np.ndarray  # (n, E), of a sparse encoder (n, 1): the weights that are not 0
    scales: np.ndarray = UNSCALED  # (n,) of int8 rows, of float32 (0,)
    columns: np.ndarray | None = None  # (n,) int32 of a sparse encoder: the words that the weights are of, ascending


@dataclass(frozen=True, eq=False)
class PassageVectors:
    """Vectors of P texts. Of late interaction T rows in all, those of a text behind each other; of a sparse encoder T
    weights in all: nothing of the vocabulary's size."""

    rows: np.ndarray  # (P, E), of late interaction (T, E), of a sparse encoder (T, 1): float32, or int8
    scales: np.ndarray | None = None  # (P,) or (T,) float32: what an int8 row is multiplied by
    offsets: np.ndarray | None = None  # (P + 1,) int64 where the rows of each text begin, where there are T
    columns: np.ndarray | None = None  # (T,) int32 the words of the vocabulary, of a sparse encoder

    def __len__(self) -> int:
        return len(self.rows if self.offsets is None else self.offsets[1:])

    def span(self, start: int, end: int) -> slice:
        """The rows of texts from `start` to before `end`."""
        return slice(start, end) if self.offsets is None else slice(int(self.offsets[start]), int(self.offsets[end]))

    def places(self, texts: np.ndarray) -> np.ndarray:
        """(n,) the rows of these texts, text by text."""
        if self.offsets is None:
            return texts
        lengths = np.diff(self.offsets)[texts]
        ends = np.cumsum(lengths)
        return np.repeat(self.offsets[texts] - ends + lengths, lengths) + np.arange(lengths.sum())

    def numbers(self, places: slice | np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """(n, E) rows as numbers of this type. In float64 they are what the vectors are, exactly."""
        if self.scales is None:
            return self.rows[places].astype(dtype, copy=False)
        rows = self.rows[places].astype(dtype)
        rows *= self.scales[places, None].astype(dtype)
        return rows

    def matrix(self, text: int) -> np.ndarray:
        """(n, E) float64 of one text: a row, of late interaction one a token."""
        return self.numbers(self.span(text, text + 1))

    def take(self, texts: np.ndarray) -> PassageVectors:
        """Those of these texts alone, in this order."""
        places = self.places(texts)
        lengths = None if self.offsets is None else np.diff(self.offsets)[texts]
        scales, columns = (None if array is None else array[places] for array in (self.scales, self.columns))
        return PassageVectors(self.rows[places], scales, None if lengths is None else offsets_of(lengths), columns)


def offsets_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """(n + 1,) int64 where each begins that has so many rows, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def encoded(
    lens: Lens,
    texts: Sequence[str],
    task: str | None,
    *,
    file: str | Path | None = None,
    int8: bool = False,
    batch_size: int = 32,
    progress: bool = True,
) -> PassageVectors:
    """The model's own vectors of texts, as `lens.encode` makes them for a task; equal texts have equal ones.

    file: a safetensors file that they are read from and written to, now and then and at the end. What it holds of these
    texts is not made again; texts that are not among them leave it when it is next written. Ctrl-C saves and ends.
    int8: each row in whole steps of its largest number / 127, a quarter of the memory; scores are of the rounded rows.

    Of a sparse encoder the weights that are not 0 are stored, each with its word.

    Raises BertLensError, one sentence, after Ctrl-C where there is a file: the same call goes on; InputError for a
    file that is cut, of another model, task, prompt or type of numbers, or that another run writes, and for int8 of a
    sparse encoder; ModelError for a cross-encoder, and for vectors that are no numbers.
    """
    check_lens(lens)
    texts, batch_size = check_texts(list(texts)), check_batch(batch_size)
    if lens.sentences.crosses:
        raise ModelError(NO_VECTORS)
    if int8 and isinstance(lens.sentences, SparseTextEncoder):
        raise InputError("a sparse encoder's vectors are a few weights a text, stored as they are: leave int8 out")
    digests = [text_digest(text) for text in texts]
    is_ragged = isinstance(lens.sentences, LateEncoder | SparseTextEncoder)
    matrices: dict[bytes, Matrix] = {}
    path = None if file is None else as_path(file)
    about: dict[str, Any] = {}
    if path is not None:
        about = provenance(lens, task, int8)
        if path.is_file():
            saved_digests, saved = _read(path, about)
            if saved_digests == digests:
                return saved
            if IS_WINDOWS:  # which replaces no file that is mapped
                saved = replace(saved, rows=np.array(saved.rows))
            matrices = dict(zip(saved_digests, split(saved), strict=True))
    missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in matrices}
    if not missing:
        return _joined([matrices[digest] for digest in digests], int8, is_ragged)

    def save() -> None:
        ready = [digest for digest in digests if digest in matrices]
        if path is not None and ready:
            vectors_file.write(path, about, ready, [matrices[digest] for digest in ready], int8, is_ragged)

    def encode(window: Sequence[bytes]) -> list[Matrix]:
        vectors = lens.sentences.encode([missing[digest] for digest in window], task, None, batch_size, False)
        return _matrices(vectors, int8, lens.model_name)

    # long texts first, and always in this order: a run that goes on has the batches that it would have had
    order = sorted(missing, key=lambda digest: len(missing[digest]), reverse=True)
    complete(lens, matrices, order, encode, WINDOW * batch_size, path, save, "text", "vectors", progress)
    texts_in_order = [matrices[digest] for digest in digests]
    if path is None:
        return _joined(texts_in_order, int8, is_ragged)
    matrices.clear()
    del texts_in_order
    return _read(path, about)[1]


def text_digest(text: str) -> bytes:
    """By which a file knows a text."""
    return hashlib.blake2b(text.encode(), digest_size=vectors_file.DIGEST).digest()


def provenance(lens: Lens, task: str | None, int8: bool) -> dict[str, Any]:
    """What vectors are of, by name, JSON types."""
    of_task = {"task": task, "prompt": lens.sentences.prompt(task, None)}
    return lens.borrowed.identity() | of_task | {"type of numbers": "int8" if int8 else "float32"}


def _matrices(vectors: Any, int8: bool, name: str) -> list[Matrix]:
    """Of each text. vectors: what an encoder gives, (N, E) or of each text (n, E)."""
    columns: list[np.ndarray] | None = None
    if isinstance(vectors, Tensor) and vectors.is_sparse:
        texts, words = vectors.indices().cpu().numpy()  # in the order of texts, then of words
        ends = offsets_of(np.bincount(texts, minlength=len(vectors)))[1:-1]
        rows, columns = vectors.values().float().cpu().numpy()[:, None], np.split(words.astype(np.int32), ends)
        matrices = np.split(rows, ends)
    elif isinstance(vectors, Tensor):
        rows = vectors.float().cpu().numpy()
        matrices = [rows[at : at + 1] for at in range(len(rows))]
    else:
        matrices = [matrix.float().cpu().numpy() for matrix in vectors]
    if not all(np.isfinite(matrix).all() for matrix in matrices):
        raise ModelError(f"{name} makes vectors that are no numbers (NaN or infinite): its weights may be damaged")
    if columns is not None:
        return [Matrix(matrix, columns=words) for matrix, words in zip(matrices, columns, strict=True)]
    return [_rounded(matrix) if int8 else Matrix(matrix) for matrix in matrices]


def _rounded(rows: np.ndarray) -> Matrix:
    """(n, E) int8 and (n,) float32 scales of float32 rows."""
    scales = (np.abs(rows).max(axis=1, initial=0) / np.float32(STEPS)).astype(np.float32)
    scales[scales == 0] = 1
    return Matrix(np.clip(np.rint(rows / scales[:, None]), -STEPS, STEPS).astype(np.int8), scales)


def _joined(matrices: list[Matrix], int8: bool, is_ragged: bool) -> PassageVectors:
    rows = np.concatenate([matrix.rows for matrix in matrices])
    scales = np.concatenate([matrix.scales for matrix in matrices]) if int8 else None
    columns = None if matrices[0].columns is None else np.concatenate([matrix.columns for matrix in matrices])
    return PassageVectors(
        rows, scales, offsets_of([len(matrix.rows) for matrix in matrices]) if is_ragged else None, columns
    )


def split(vectors: PassageVectors) -> Iterator[Matrix]:
    """The vectors of each text, as parts of the arrays."""
    for text in range(len(vectors)):
        span = vectors.span(text, text + 1)
        scales, columns = (None if array is None else array[span] for array in (vectors.scales, vectors.columns))
        yield Matrix(vectors.rows[span], UNSCALED if scales is None else scales, columns)


def _read(path: Path, about: dict[str, Any]) -> tuple[list[bytes], PassageVectors]:
    arrays = vectors_file.read(path, about)
    digests = [bytes(digest) for digest in arrays["digests"]]
    return digests, PassageVectors(arrays["vectors"], *(arrays.get(name) for name in ("scales", "offsets", "columns")))
