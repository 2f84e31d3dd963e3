"""What a report has done so far, in a file beside its target: read again by the same report, which goes on from there.

Nothing in it is code: arrays, and a line of JSON.
"""

from __future__ import annotations

import json
import time
import zipfile
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..base.atomic import replacing
from ..errors import ExportError, InputError
from .gathered import Gathered
from .rules import Measured

SAVE_EVERY = 30.0  # seconds
BY = ("weight", "norm")
RAGGED = ("ids", "token_lengths")  # one value a token
COUNTED = ("places", "unknown")  # one number a text
SUMS = ("truncated", "hash")


@dataclass
class Part:
    """The file, whose report it is of (`key`), and the numbers of claims that are done."""

    path: Path
    key: str
    texts: int  # that the report is to be of
    done: dict[str, Measured] = field(default_factory=dict)
    _saved: float = field(default_factory=time.monotonic)

    def read(self) -> Gathered:
        """What the file holds; nothing where it is not there. Raises InputError for one of another report."""
        if not self.path.exists():
            return Gathered()
        other = f"{self.path} is of another report (model, texts, seed or version): delete it, or leave --resume out"
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                about = json.loads(str(arrays["about"]))
                if about["key"] != self.key:
                    raise InputError(other)
                self.done = {name: _measured(record) for name, record in about["done"].items()}
                return _unpacked(arrays, about)
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            raise InputError(f"{self.path} is no part of a report: delete it, or leave --resume out") from None

    def write(self, found: Gathered) -> None:
        """Raises ExportError where it cannot be written."""
        about: dict[str, Any] = {
            "key": self.key,
            "done": {name: asdict(measured) for name, measured in self.done.items()},
        }
        about["texts"] = self.texts
        about |= {name: str(getattr(found, name)) for name in SUMS}
        with replacing(self.path) as out:
            np.savez(out, about=np.array(json.dumps(about)), **_packed(found))
        self._saved = time.monotonic()

    def now_and_then(self, found: Gathered) -> None:
        """Write where the last time is long ago; a disk that is full now may not be at the end."""
        if time.monotonic() - self._saved > SAVE_EVERY:
            try:
                self.write(found)
            except ExportError:
                self._saved = time.monotonic()


def texts_in(path: Path) -> int | None:
    """Of how many texts the report is to be whose part this is; None where there is none that can be read."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return int(json.loads(str(arrays["about"]))["texts"])
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def _packed(found: Gathered) -> dict[str, Any]:
    if not found.n:
        return {}
    arrays: dict[str, Any] = {name: np.array(getattr(found, name)) for name in COUNTED}
    arrays |= {by: np.stack(found.values[by]) for by in BY if found.values[by]}
    for name in _stacked():
        if values := getattr(found, name):
            arrays[name] = np.stack(values)
    for name in RAGGED:
        if values := getattr(found, name):
            arrays[name] = np.concatenate(values)
    return arrays


def _unpacked(arrays: Any, about: dict[str, Any]) -> Gathered:
    found = Gathered()
    if "places" not in arrays:
        return found
    for name in COUNTED:
        setattr(found, name, arrays[name].tolist())
    for by in BY:
        found.values[by] = [*arrays[by]] if by in arrays else []
    for name in _stacked():
        setattr(found, name, [*arrays[name]] if name in arrays else [])
    ends = np.cumsum([int(kinds.sum()) for kinds in found.kinds])[:-1]
    for name in RAGGED:
        setattr(found, name, np.split(arrays[name], ends) if name in arrays else [])
    for name in SUMS:
        setattr(found, name, int(about[name]))
    return found


def _stacked() -> list[str]:
    return [each.name for each in fields(Gathered) if each.name not in (*RAGGED, *COUNTED, *SUMS, "values")]


def _measured(record: dict[str, Any]) -> Measured:
    head = record["head"]
    return Measured(**record | {"head": None if head is None else (int(head[0]), int(head[1]))})
