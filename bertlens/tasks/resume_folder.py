"""What a task has run is kept in a folder, file by file, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays_file import ArraysFile, Autosave
from ..base.notes import note
from ..base.paths import as_path
from ..errors import ExportError, InputError
from ..lens import Lens
from .examples import Examples

FILE = ArraysFile("answers of a task", 2, "delete it")
NAME = re.compile(r"bertlens-task-\d{19}\.npz(\.[0-9a-f]{8}\.part)?")  # also of one that was cut off
Arrays = tuple[np.ndarray, ...]
Key = tuple[str, tuple[int, ...]]  # what arrays are, and of which rows


class ResumeFolder:
    """Arrays by what they are and of which rows, in a folder where there is one.

    Files of another model, other examples or another version, and damaged ones, are deleted: their rows are run again.
    Files that have another name than these stay.
    """

    def __init__(self, folder: str | Path | None = None, of: dict[str, Any] | None = None):
        self.folder, self._of = None if folder is None else as_path(folder, "a folder"), of
        self.arrays: dict[Key, Arrays] = {}  # all that is kept
        self._unsaved: list[Key] = []
        self._autosave = Autosave(self.save)
        if self.folder is None:
            return
        try:
            if self.folder.exists() and not (self.folder.is_dir() and (self._files() or not [*self.folder.iterdir()])):
                raise ExportError(f"{self.folder} holds something else: name another folder, or move what is in it")
            self.folder.mkdir(exist_ok=True)
            for path in self._files():
                self._read(path)
        except OSError as error:
            raise ExportError(f"{self.folder} cannot be written ({error.strerror or error})") from error

    def _files(self) -> list[Path]:
        """The oldest first."""
        assert self.folder is not None
        return sorted(path for path in self.folder.iterdir() if NAME.fullmatch(path.name))

    def _read(self, path: Path) -> None:
        try:
            with FILE.open(path, self._of) as (about, arrays):
                self.add(unpacked(about["labels"], arrays))
        except InputError as error:
            if "another version" in str(error):
                note(f"the answers in {self.folder} are of another version of bertlens: they are run again")
            path.unlink()

    def add(self, arrays: Mapping[Key, Arrays]) -> None:
        """What another run has left of the same task."""
        self.arrays |= arrays

    def __len__(self) -> int:
        return len(self.arrays)

    def get(self, label: str, rows: Sequence[int]) -> Arrays | None:
        return self.arrays.get((label, tuple(rows)))

    def put(self, label: str, rows: Sequence[int], *arrays: np.ndarray) -> None:
        if self.folder is None:
            return
        key = label, tuple(rows)
        self.arrays[key] = arrays
        self._unsaved.append(key)
        self._autosave()

    def save(self) -> None:
        """Write what is new. Raises ExportError where that cannot be done."""
        if self.folder is None or not self._unsaved:
            return
        labels, arrays = packed({key: self.arrays[key] for key in self._unsaved})
        FILE.write(self.folder / f"bertlens-task-{time.time_ns()}.npz", {"labels": labels}, arrays, self._of)
        self._unsaved = []

    def remove(self) -> None:
        """The folder is no longer needed: what was written in it goes, and it too where nothing else is in it."""
        if self.folder is not None:
            with suppress(OSError):
                for path in self._files():
                    path.unlink()
                self.folder.rmdir()


def packed(by_key: Mapping[Key, Arrays]) -> tuple[list[Any], dict[str, np.ndarray]]:
    """JSON of what arrays are, and the arrays by name."""
    labels = [[label, rows, len(arrays)] for (label, rows), arrays in by_key.items()]
    return labels, {f"{k}.{i}": a for k, arrays in enumerate(by_key.values()) for i, a in enumerate(arrays)}


def unpacked(labels: list[Any], arrays: Mapping[str, np.ndarray]) -> dict[Key, Arrays]:
    """What `packed` was given."""
    return {
        (label, tuple(rows)): tuple(arrays[f"{k}.{i}"] for i in range(count))
        for k, (label, rows, count) in enumerate(labels)
    }


def identity(lens: Lens, examples: Examples, truncation: bool) -> dict[str, Any]:
    """What a task is of, by name."""
    labels = [np.asarray(label).tolist() for label in examples.labels]
    text = json.dumps([examples.texts, labels, examples.names], ensure_ascii=False).encode("utf-8", "surrogatepass")
    return lens.borrowed.identity() | {"examples": hashlib.sha256(text).hexdigest(), "truncation": truncation}
