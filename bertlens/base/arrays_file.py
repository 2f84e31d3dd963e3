"""A file of arrays and of what they are: all that a run goes on from, or leaves to be read again.

An .npz that numpy.load reads, without pickles; its array "about" is JSON. That says what kind of file it is, of which
version, and of what: of which model, texts and settings.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BertLensError, ExportError, InputError
from .atomic import replacing
from .interrupts import SignalHold
from .notes import note
from .paths import as_path

ABOUT = "about"
TRIAL = "answers to trial texts"  # what a model gives to them: numbers, compared within a bound
MODULES = "modules"  # a digest, which bertlens 0.4.0 made of more settings; each stands by its own name, too
RELEASES = "releases"  # which are named, and decide nothing
EVERY = 30.0  # seconds between two saves, at least
PAUSE = 20  # and so many times as long as the save took: a large file takes seconds


def write(path: str | Path, about: dict[str, Any], arrays: Mapping[str, np.ndarray], compressed: bool = False) -> None:
    """What was there before stays whole if this is cut off. Raises ExportError where it cannot be written."""
    save: Any = np.savez_compressed if compressed else np.savez
    with replacing(path) as out:
        save(out, **{ABOUT: np.array(json.dumps(about))}, **arrays)


def about_of(path: str | Path) -> dict[str, Any]:
    """What a file of any kind says of itself. Raises InputError where it is none, or damaged."""
    path = as_path(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            about: dict[str, Any] = json.loads(str(file[ABOUT]))
            return about | {"kind": about["kind"]}
    except Exception as error:  # noqa: BLE001  as in `ArraysFile.open`
        raise InputError(f"{path} is no file of bertlens that can be read ({reason(error)})") from None


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The first name whose value differs; "" where none does. Answers to trial texts count within their bound."""
    if before is now:
        return ""
    names = [name for name in {**before, **now} if name not in (RELEASES, TRIAL)]
    if (TRIAL in before) != (TRIAL in now) and "weights" in before and "weights" in now:
        names = [name for name in names if name in before and name in now and name != MODULES]
        note("a file of bertlens 0.4.0 holds no answers to trial texts: its model is compared by settings alone")
    differing = next((name for name in names if before.get(name, ...) != now.get(name, ...)), "")
    if not differing and TRIAL in before and TRIAL in now:
        differing = _apart(before[TRIAL], now[TRIAL])
    return differing


def is_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two records are of the same, by `difference`."""
    return not difference(before, now)


def _apart(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """How far the answers to trial texts are from each other, in words; "" where they are the same."""
    if before["tokens"] != now["tokens"]:
        return "the tokens of trial texts"
    if len(before["numbers"]) != len(now["numbers"]):
        return "one of them takes no texts together"
    largest = 0.0
    for pair in zip(before["numbers"], now["numbers"], strict=True):
        if None in pair:
            if pair != (None, None):
                return "one of them refuses a trial text"
            continue
        a, b = (np.frombuffer(base64.b64decode(numbers), np.float32).astype(float) for numbers in pair)
        if a.shape != b.shape:
            return "the size of an answer to a trial text"
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return "numbers in the answer to a trial text"
        finite = np.isfinite(a)
        distance = np.abs(a - b)[finite].max(initial=0)
        if distance > before["within"] * np.abs(a[finite]).max(initial=0):
            largest = max(largest, distance)
    return f"it answers a trial text otherwise, by {largest:.2g}" if largest else ""


def reason(error: Exception) -> str:
    """Why a file cannot be read."""
    why = getattr(error, "strerror", None) or " ".join(str(error).split())[:150] or type(error).__name__
    return "it is no .npz file" if "pickle" in why else why  # numpy's advice for whatever is none


@dataclass(frozen=True)
class ArraysFile:
    """A kind of such files: its name in an error, its version (JSON), and what to do about one that cannot be used."""

    name: str
    version: Any
    remedy: str

    def write(
        self,
        path: str | Path,
        about: dict[str, Any],
        arrays: Mapping[str, np.ndarray],
        of: Mapping[str, Any] | None = None,
        compressed: bool = False,
    ) -> None:
        """of: what the file is of, by name, JSON types. Raises as `write`."""
        write(path, about | {"kind": self.name, "version": self.version, "of": of}, arrays, compressed)

    @contextmanager
    def open(
        self, path: str | Path, of: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        """What `write` was given, about and arrays, for a block that makes something of them.

        Raises InputError for a file that is damaged, of another kind or version, or of something else than `of`; also
        where the block fails.
        """
        path = as_path(path)
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            about = json.loads(str(arrays.pop(ABOUT)))
            if about["kind"] != self.name:
                raise ValueError(f"it holds {about['kind']}")
            if about["version"] != self.version:
                raise InputError(f"{path} was written by another version of bertlens: {self.remedy}")
            if of is not None and (name := difference(about["of"], json.loads(json.dumps(of)))):
                raise InputError(f"{path} is of another run (what differs: {name}): {self.remedy}")
            yield about, arrays
        except BertLensError:
            raise
        except Exception as error:  # noqa: BLE001  a damaged zip raises whatever its decoders stumble on
            raise InputError(f"{path} holds no {self.name} ({reason(error)}): {self.remedy}") from None


class Autosave:
    """Saves now and then what grows meanwhile. save: what writes it, given what this is called with."""

    def __init__(self, save: Callable[..., None]):
        self._save = save
        self._end, self._seconds = time.monotonic(), 0.0  # of the save before

    def __call__(self, *given: Any) -> None:
        """Save, unless that was a moment ago. Signals wait; a disk that is full now may not be so at the end."""
        start = time.monotonic()
        if start - self._end > max(EVERY, PAUSE * self._seconds):
            with SignalHold(), suppress(ExportError):
                self._save(*given)
            self._end = time.monotonic()
            self._seconds = self._end - start
