"""What a task has run is kept in a folder, piece by piece, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import io
import json
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.atomic import replacing
from ..base.paths import as_path
from ..errors import ExportError

if TYPE_CHECKING:
    from ..lens import Lens
    from .examples import Examples

EVERY = 5.0  # seconds between two pieces
ABOUT = "about.json"
Arrays = tuple[np.ndarray, ...]


class Kept:
    """Arrays by what they are and of which rows, in a folder where there is one.

    A folder of another model, other examples or another version is begun anew. What is damaged counts as not there, and
    what was not written here stays: files are deleted by the names that they are given here.
    """

    def __init__(self, folder: str | Path | None = None, about: dict[str, Any] | None = None):
        self.folder = None if folder is None else as_path(folder, "a folder")
        self._known: dict[tuple[str, tuple[int, ...]], Arrays] = {}
        self._new: list[tuple[str, tuple[int, ...]]] = []
        self._saved = time.monotonic()
        if self.folder is None:
            return
        written = json.dumps(about, sort_keys=True)
        self._of = hashlib.sha256(written.encode()).hexdigest()  # in each piece: another task may use the folder
        try:
            self._open(self.folder, written)
        except OSError as error:
            raise ExportError(f"{self.folder} cannot be written ({error.strerror or error})") from error

    def _open(self, folder: Path, about: str) -> None:
        with suppress(OSError, UnicodeDecodeError):
            if (folder / ABOUT).read_text(encoding="utf-8") == about:
                for piece in _pieces(folder):
                    with suppress(Exception):  # whatever is wrong with a file, its rows are run again
                        self._known |= _read(piece, self._of)
                return
        if folder.exists() and not _is_begun(folder) and (not folder.is_dir() or any(folder.iterdir())):
            raise ExportError(f"{folder} holds something else: name another folder, or move what is in it")
        folder.mkdir(exist_ok=True)
        for piece in _pieces(folder):
            piece.unlink()
        (folder / ABOUT).write_text(about, encoding="utf-8")

    def __len__(self) -> int:
        return len(self._known)

    def get(self, what: str, rows: Sequence[int]) -> Arrays | None:
        return self._known.get((what, tuple(rows)))

    def put(self, what: str, rows: Sequence[int], *arrays: np.ndarray) -> None:
        if self.folder is None:
            return
        key = what, tuple(rows)
        self._known[key] = arrays
        self._new.append(key)
        if time.monotonic() - self._saved > EVERY:
            self.save()

    def save(self) -> None:
        """Write what is new. Raises ExportError where that cannot be done."""
        if self.folder is None or not self._new:
            return
        out = io.BytesIO()
        pieces = [[what, rows, len(self._known[what, rows])] for what, rows in self._new]
        index = json.dumps({"of": self._of, "pieces": pieces}).encode()
        arrays: dict[str, Any] = {
            f"{k}.{i}": a for k, key in enumerate(self._new) for i, a in enumerate(self._known[key])
        }
        np.savez(out, index=np.frombuffer(index, dtype=np.uint8), **arrays)
        with replacing(self.folder / f"{time.time_ns()}.npz") as file:
            file.write(out.getbuffer())
        self._new, self._saved = [], time.monotonic()

    def remove(self) -> None:
        """The folder is no longer needed: what was written in it goes, and it too where nothing else is in it."""
        if self.folder is not None and _is_begun(self.folder):
            with suppress(OSError):
                for path in (*_pieces(self.folder), self.folder / ABOUT):
                    path.unlink()
                self.folder.rmdir()


def _pieces(folder: Path) -> list[Path]:
    """Those that `save` has named, also one that it was cut off in, the oldest first."""
    return sorted(path for path in folder.iterdir() if re.fullmatch(r"\d{19}\.npz(\.[0-9a-f]{8}\.part)?", path.name))


def _is_begun(folder: Path) -> bool:
    """Whether a task was kept there, of whatever version."""
    try:
        known = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(known, dict) and {"examples", "truncation"} <= known.keys()


def _read(piece: Path, of: str) -> dict[tuple[str, tuple[int, ...]], Arrays]:
    """What a file holds of this task, nothing of another."""
    with np.load(piece, allow_pickle=False) as file:
        index = json.loads(file["index"].tobytes())
        return {
            (what, tuple(rows)): tuple(file[f"{k}.{i}"] for i in range(count))
            for k, (what, rows, count) in enumerate(index["pieces"] if index["of"] == of else ())
        }


def about(lens: Lens, examples: Examples, truncation: bool) -> dict[str, Any]:
    """What the pieces of a task are of."""
    labels = [np.asarray(label).tolist() for label in examples.labels]
    given = json.dumps([examples.texts, labels, examples.names], ensure_ascii=False).encode("utf-8", "surrogatepass")
    return {
        "model": lens.borrowed.identity(),
        "examples": hashlib.sha256(given).hexdigest(),
        "truncation": truncation,
    }
