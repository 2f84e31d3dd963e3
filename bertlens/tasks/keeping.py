"""What a task has run is kept in a folder, piece by piece, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.atomic import replacing
from ..base.paths import as_path
from ..errors import ExportError
from ..trace.provenance import versions

if TYPE_CHECKING:
    from ..lens import Lens
    from .examples import Examples

EVERY = 5.0  # seconds between two pieces
ABOUT = "about.json"
Arrays = tuple[np.ndarray, ...]


class Kept:
    """Arrays by what they are and of which rows, in a folder where there is one.

    A folder of another model, other examples or another version is begun anew. What is damaged counts as not there.
    """

    def __init__(self, folder: str | Path | None = None, about: dict[str, Any] | None = None):
        self.folder = None if folder is None else as_path(folder, "a folder")
        self._known: dict[tuple[str, tuple[int, ...]], Arrays] = {}
        self._new: list[tuple[str, tuple[int, ...]]] = []
        self._saved = time.monotonic()
        if self.folder is None:
            return
        try:
            self._open(self.folder, json.dumps(about, sort_keys=True))
        except OSError as error:
            raise ExportError(f"{self.folder} cannot be written ({error.strerror or error})") from error

    def _open(self, folder: Path, about: str) -> None:
        with suppress(OSError, UnicodeDecodeError):
            if (folder / ABOUT).read_text(encoding="utf-8") == about:
                for piece in sorted(folder.glob("*.npz")):
                    with suppress(Exception):  # whatever is wrong with a file, its rows are run again
                        self._known |= _read(piece)
                return
        if folder.is_dir() and any(child.name != ABOUT and child.suffix != ".npz" for child in folder.iterdir()):
            raise ExportError(f"{folder} holds something else: name another folder")
        folder.mkdir(exist_ok=True)
        for piece in folder.glob("*.npz"):
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
        index = json.dumps([[what, rows, len(self._known[what, rows])] for what, rows in self._new]).encode()
        arrays: dict[str, Any] = {
            f"{k}.{i}": a for k, key in enumerate(self._new) for i, a in enumerate(self._known[key])
        }
        np.savez(out, index=np.frombuffer(index, dtype=np.uint8), **arrays)
        with replacing(self.folder / f"{time.time_ns()}.npz") as file:
            file.write(out.getbuffer())
        self._new, self._saved = [], time.monotonic()

    def remove(self) -> None:
        """The folder is no longer needed."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def _read(piece: Path) -> dict[tuple[str, tuple[int, ...]], Arrays]:
    with np.load(piece, allow_pickle=False) as file:
        index = json.loads(file["index"].tobytes())
        return {
            (what, tuple(rows)): tuple(file[f"{k}.{i}"] for i in range(count))
            for k, (what, rows, count) in enumerate(index)
        }


def about(lens: Lens, examples: Examples, batch_size: int, truncation: bool) -> dict[str, Any]:
    """What the pieces of a task are of."""
    labels = [np.asarray(label).tolist() for label in examples.labels]
    given = json.dumps([examples.texts, labels, examples.names], ensure_ascii=False).encode("utf-8", "surrogatepass")
    return {
        "model": lens.borrowed.fingerprint().digest,
        "examples": hashlib.sha256(given).hexdigest(),
        "batch_size": batch_size,
        "truncation": truncation,
        "version": versions()["bertlens"],
    }
