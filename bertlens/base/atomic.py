"""Files that are whole or not there, and one writer at a time."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import ExportError, InputError, stopped
from .paths import as_path

TRIAL = 1 << 16  # bytes
WAITS = (0.05, 0.2, 0.5, 0.0)  # seconds


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when all of it is written; after any failure nothing of it is left.

    Who may read what it replaces may read it, and nobody else, not even while it is written.

    Raises ExportError where it cannot be written.
    """
    path = as_path(path).resolve()  # through links: the file changes, not the link
    special = path.exists() and not path.is_file()  # a pipe or a terminal, which nothing can replace; or a folder
    draft = path if special else path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with draft.open("wb" if special else "xb") as out:
                if path.is_file():
                    shutil.copymode(path, draft)
                yield out
                out.flush()
            if not special:
                _move(draft, path)
        finally:
            if not special:
                draft.unlink(missing_ok=True)
    except KeyboardInterrupt as error:
        stopped(error, f"stopped: nothing is written to {path.name}")
        raise
    except OSError as error:
        raise ExportError(f"{path} cannot be written ({error.strerror or error})") from error


def _move(draft: Path, path: Path) -> None:
    """On Windows a file that another program has open is not replaced: one that looks at each new file, as searches and
    scanners do, is waited for. Raises ExportError where it stays so."""
    for seconds in WAITS:
        try:
            return os.replace(draft, path)
        except PermissionError as error:
            reason = error.strerror
            time.sleep(seconds)
    raise ExportError(f"{path} cannot be replaced ({reason}): if another program has it open, close it there")


def text_or_path(text: str, path: str | Path | None) -> str | Path:
    """Where `text` was written, so that a notebook shows no page of megabytes; the text itself without a path.

    Raises ExportError where it cannot be written.
    """
    return text if path is None else text_file(text, path)


def text_file(text: str, path: str | Path) -> Path:
    """Where `text` was written. Raises ExportError where it cannot be."""
    with replacing(path) as out:
        out.write(text.encode("utf-8", "replace"))
    return as_path(path)


def _file(path: str | Path) -> Path:
    """The path without links. Raises InputError where it is a folder, or in none."""
    path = as_path(path).resolve()
    if not path.parent.is_dir():
        raise InputError(f"no folder {path.parent} to write {path.name} in: make it first")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it")
    return path


def check_writable(path: str | Path) -> None:
    """Before long work whose result goes there. What is in the file stays.

    Raises InputError where it is a folder, or in none; ExportError where nothing can be written: no right, no room.
    """
    path = _file(path)
    try:
        if path.is_char_device():
            with path.open("wb", buffering=0) as device:
                device.write(b"")  # a full one says so
        elif not path.exists() or path.is_file():
            with tempfile.TemporaryFile(dir=path.parent) as trial:
                trial.write(bytes(TRIAL))
                trial.flush()
    except OSError as error:
        raise ExportError(f"{path} cannot be written ({error.strerror or error})") from error


@contextmanager
def claimed(path: str | Path) -> Iterator[None]:
    """Nobody else claims `path` meanwhile, on this machine or another that sees the same folder.

    Raises InputError where somebody has, where the folder is not there, or where `path` is itself a folder; ExportError
    where the folder cannot be written in.
    """
    from filelock import SoftFileLock, Timeout

    path = _file(path)
    mark = path.with_name(f"{path.name}.lock")
    lock = SoftFileLock(mark)
    try:
        lock.acquire(timeout=0.1)  # before 4.2 filelock only removes a dead run's mark at its first try
    except Timeout:
        raise InputError(
            f"{path} is being written by another run: give another name, or delete {mark.name} if that run is dead"
        ) from None
    except OSError as error:
        raise ExportError(f"{path} cannot be written ({error.strerror or error})") from error
    try:
        yield
    finally:
        lock.release()
