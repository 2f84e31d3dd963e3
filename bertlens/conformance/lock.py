"""A lock: what a model makes of texts that were made for it, in a small file that CI, a server or a page is held to.

It holds no text of the user's. Numbers are compared beside the float noise of both sides, never for equality.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.amounts import amount, verb
from ..base.atomic import text_file
from ..base.outputs import signature
from ..base.quotes import quotation
from ..base.textfile import json_of
from ..errors import InputError
from ..lens import Lens
from ..trace.provenance import made_with
from .after_faults import normalised
from .probing import probing_texts
from .row_pattern import pattern
from .scoring import TIMES, Scoring

FORMAT = 1
BYTES = 20_000  # of the file, at most
COLUMNS = 32  # of each vector
WEIGHTS, PIECES = "weights", ("vocabulary of its tokenizer", "JSON of its tokenizer")
SHOWN = 40  # characters of a text in a sentence


@dataclass(frozen=True, eq=False)
class Lock:
    """What a model made of N texts."""

    model: str
    texts: list[str]
    ids: list[list[int]]  # as the model reads each
    vectors: np.ndarray  # (N, E); of a lock that was read the first COLUMNS, as long as the whole ones were
    norms: np.ndarray  # (N,)
    cosines: np.ndarray  # (N, N)
    noise: float  # relative, of the model's float reruns
    hashes: dict[str, Any]  # of weights and tokenizer, and versions: said where numbers differ, and decide nothing

    @staticmethod
    def of(lens: Lens, texts: Sequence[str], task: str | None, prompt_name: str | None) -> Lock:
        """Raises InputError and ModelError as `parity`."""
        reference = lens.sentences.encode(list(texts), task, prompt_name, 1, False).float().cpu().numpy()
        scoring = Scoring(lens, texts, reference, task, prompt_name)
        identity = lens.borrowed.identity()
        hashes = {name: identity[name] for name in (WEIGHTS, *PIECES)} | {"versions": made_with()["versions"]}
        ids = [list(row.ids) for row in scoring.own]
        norms = np.linalg.norm(scoring.right, axis=1)
        return Lock(
            lens.model_name, list(texts), ids, scoring.right, norms, _cosines(scoring.right), scoring.noise, hashes
        )

    @staticmethod
    def read(path: str | Path) -> Lock:
        """Raises InputError for a file that `write` has not written."""
        record = json_of(path)
        try:
            if record["bertlens_lock"] != FORMAT:
                raise ValueError
            rows = record["texts"]
            vectors, norms = (np.array([row[name] for row in rows], dtype=float) for name in ("first", "norm"))
            cosines = np.eye(len(rows))
            cosines[np.triu_indices(len(rows), 1)] = record["cosines"]
            if vectors.ndim != 2 or not all(isinstance(row["text"], str) for row in rows):
                raise ValueError
            return Lock(
                str(record["model"]),
                [row["text"] for row in rows],
                [[int(i) for i in row["ids"]] for row in rows],
                vectors,
                norms,
                cosines + np.triu(cosines, 1).T,
                float(record["noise"]),
                dict(record["hashes"]),
            )
        except (ValueError, TypeError, KeyError, IndexError):
            raise InputError(f"{Path(path).name} is no lock: give a file that .lock or --lock has written") from None

    def write(self, path: str | Path) -> Path:
        """JSON, a line a text. The longest texts are left out of a file that would be larger than BYTES."""
        rows = [
            {"text": text, "ids": ids, "norm": _short(norm), "first": [_short(x) for x in vector[:COLUMNS]]}
            for text, ids, norm, vector in zip(self.texts, self.ids, self.norms, self.vectors, strict=True)
        ]
        places = list(range(len(rows)))
        while len((text := self._json(rows, places)).encode()) > BYTES and len(places) > 1:
            places.remove(max(places, key=lambda n: len(json.dumps(rows[n]))))
        return text_file(text, path)

    def _json(self, rows: list[dict[str, Any]], places: list[int]) -> str:
        pairs = self.cosines[np.ix_(places, places)][np.triu_indices(len(places), 1)]
        lines = ",\n  ".join(json.dumps(rows[n], ensure_ascii=False) for n in places)
        head = {"bertlens_lock": FORMAT, "model": self.model, "noise": _short(self.noise), "hashes": self.hashes}
        tail = {"cosines": [round(float(x), 7) for x in pairs], "by": signature("parity")}
        return f'{json.dumps(head)[:-1]},\n "texts": [\n  {lines}],\n {json.dumps(tail)[1:]}\n'

    def said(self, vectors: np.ndarray, other: Lock | None = None) -> str:
        """What of the lock these vectors (N, E) of its texts do not keep, in sentences; "" for nothing.

        other: what the model at hand makes of them, with its tokens and noise.
        Raises InputError for vectors that are not one a text.
        """
        if vectors.ndim != 2 or len(vectors) != len(self.texts) or vectors.dtype.kind not in "fiu":
            raise InputError(f"the lock has {len(self.texts)} texts: give as many vectors, not {vectors.shape}")
        sentences: list[str] = []
        total = amount(len(self.texts), "text")
        if other and (rows := [n for n, (a, b) in enumerate(zip(self.ids, other.ids, strict=True)) if a != b]):
            n = rows[0]
            sentences.append(
                f"Tokens differ in {len(rows)} of {total}: {quotation(self.texts[n][:SHOWN])} has "
                f"{len(other.ids[n])}, locked {verb(len(self.ids[n]), 'is', 'are')} {len(self.ids[n])}."
            )
        limit = TIMES * max(self.noise, 0.0 if other is None else other.noise)
        distances = self._apart(vectors.astype(float))
        differs = ~(distances <= limit)
        if differs.any():
            like = pattern(self.texts, np.array([len(i) for i in self.ids]), differs)
            sentences.append(
                f"{differs.sum()} of {total} {verb(int(differs.sum()), 'has', 'have')} another vector than is locked "
                f"(worst {distances.max():.1e}, floats differ by {limit:.1e}){like}."
            )
        if sentences and other:
            matches = [what for what, names in (("weights", [WEIGHTS]), ("tokenizer", PIECES))
                    if all(self.hashes.get(name) == other.hashes[name] for name in names)]  # fmt: skip
            sentences.append(f"The same by hash: {' and '.join(matches) or 'neither weights nor tokenizer'}.")
        return " ".join(sentences)

    def _apart(self, vectors: np.ndarray) -> np.ndarray:
        """(N,) the largest of three relative differences of a row: of the first numbers, the length, the cosines."""
        norms = np.linalg.norm(vectors, axis=1)
        size = np.maximum(self.norms, 1e-30)
        beginning = np.linalg.norm(vectors[:, :COLUMNS] - self.vectors[:, :COLUMNS], axis=1) / size
        cosines = np.abs(_cosines(vectors) - self.cosines).max(1) / 2  # two rows move one
        return np.nan_to_num(np.max([beginning, np.abs(norms - self.norms) / size, cosines], axis=0), nan=np.inf)


def lock_of(lens: Lens, task: str | None, prompt_name: str | None) -> Lock:
    """Of the texts that `probing_texts` makes."""
    return Lock.of(lens, probing_texts(lens), task, prompt_name)


def _cosines(vectors: np.ndarray) -> np.ndarray:
    return normalised(vectors) @ normalised(vectors).T


def _short(number: float) -> float:
    return float(f"{number:.8g}")
