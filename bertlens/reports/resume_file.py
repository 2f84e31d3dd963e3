"""What a report has done so far, in a file beside its target: the same report goes on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays_file import ArraysFile
from ..base.shards import Shard
from ..errors import InputError
from .rules import Measured
from .text_numbers import TextNumbers

FILE = ArraysFile("part of a report", 1, "delete it, or leave --resume out")
BY = ("weight", "norm")
RAGGED = ("ids", "token_lengths")  # one number a token
NUMBERS = ("places", "unknown")  # one a text
SUMS = ("truncated", "hash")
PLACES = "places of texts"


class ResumeFile:
    """The file, what report it is of, by name, and the numbers of claims that are done."""

    def __init__(self, path: Path, of: dict[str, Any]):
        self.path, self.of = path, of
        self.claims: dict[str, Measured] = {}

    def read(self) -> TextNumbers:
        """What the file holds; nothing where it is not there. Raises InputError for one of another report."""
        if not self.path.exists():
            return TextNumbers()
        with FILE.open(self.path, self.of) as (about, arrays):
            self.claims = {name: _measured(record) for name, record in about["claims"].items()}
            return unpacked(about, arrays)

    def write(self, numbers: TextNumbers, shard: Shard | None = None) -> None:
        """shard: of which these are all texts; None: of none, or not of all. Raises ExportError where it cannot be
        written."""
        about: dict[str, Any] = {"claims": {name: asdict(measured) for name, measured in self.claims.items()}}
        about |= {name: str(getattr(numbers, name)) for name in SUMS} | {"shard": shard}
        FILE.write(self.path, about, _packed(numbers), self.of)


def texts_in(path: Path) -> int | None:
    """Of how many texts the report is to be whose file this is; None where there is none that can be read."""
    try:
        with FILE.open(path) as (about, _):
            return len(about["of"][PLACES])
    except InputError:
        return None


def _packed(numbers: TextNumbers) -> dict[str, np.ndarray]:
    if not numbers.n:
        return {}
    arrays = {name: np.array(getattr(numbers, name)) for name in NUMBERS}
    arrays |= {by: np.stack(numbers.values[by]) for by in BY if numbers.values[by]}
    for join, names in ((np.stack, _arrays_of_texts()), (np.concatenate, RAGGED)):
        arrays |= {name: join(values) for name in names if (values := getattr(numbers, name))}
    return arrays


def unpacked(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> TextNumbers:
    """What `ResumeFile.write` was given."""
    numbers = TextNumbers()
    if "places" not in arrays:
        return numbers
    for name in NUMBERS:
        setattr(numbers, name, arrays[name].tolist())
    for by in BY:
        numbers.values[by] = [*arrays.get(by, ())]
    for name in _arrays_of_texts():
        setattr(numbers, name, [*arrays.get(name, ())])
    ends = np.cumsum([int(kinds.sum()) for kinds in numbers.kinds])[:-1]
    for name in RAGGED:
        setattr(numbers, name, np.split(arrays[name], ends) if name in arrays else [])
    for name in SUMS:
        setattr(numbers, name, int(about[name]))
    return numbers


def _arrays_of_texts() -> list[str]:
    """The fields of which each text has an array, all of one shape."""
    return [each.name for each in fields(TextNumbers) if each.name not in (*RAGGED, *NUMBERS, *SUMS, "values")]


def _measured(record: dict[str, Any]) -> Measured:
    head = record["head"]
    return Measured(**record | {"head": None if head is None else (int(head[0]), int(head[1]))})
