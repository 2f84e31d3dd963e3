"""Cranfield by the rule of its README, read without the reader that is tested."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from bertlens.search.collection import Collection


def _text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode().replace("\r\n", "\n")


def records(path: Path) -> list[dict[str, str]]:
    parts = re.split(r"^\.I (\d+) *\n", _text(path), flags=re.MULTILINE)[1:]
    fields = [dict(re.findall(r"^\.([TABW])\n(.*?)(?=^\.[TABW]\n|\Z)", body, re.M | re.S)) for body in parts[1::2]]
    return [{"id": name} | {key: " ".join(text.split()) for key, text in of.items()}
            for name, of in zip(parts[::2], fields, strict=True)]  # fmt: skip


def collection(data: Path, words: int | None = None) -> Collection:
    """words: of a text, its first ones. Questions are numbered as in the judgements, in the order of their file."""
    folder = data / "cranfield"
    abstracts, questions = records(folder / "cran.all.1400.gz"), records(folder / "cran.qry.gz")
    ids = tuple(record["id"] for record in abstracts)
    texts = tuple(" ".join(f"{record['T']} {record['W']}".split()[:words]) for record in abstracts)
    grades: dict[str, dict[str, int]] = {}
    for line in _text(folder / "qrels.txt.gz").splitlines():
        question, _, abstract, grade = line.split()
        grades.setdefault(question, {})[abstract] = int(grade)
    numbers = tuple(str(at + 1) for at in range(len(questions)))
    return Collection(numbers, tuple(record["W"] for record in questions), ids, texts, ids, grades)
