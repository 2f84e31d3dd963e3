"""What a command may write: nothing over what it reads, nothing over a file that no earlier run of it has written.

A page or JSON file says in its last bytes which command wrote it; by that a later run knows it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from ..errors import InputError
from .atomic import check_writable

TAIL = 400  # bytes
FORCE = "name another, or --force writes over it"


def print_any_letter() -> None:
    """What a command prints goes anywhere: where Windows sends it to a file, that knows a few hundred letters, and “?"
    stands for any other."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def signature(command: str) -> str:
    return f"written by bertlens {command}"


def sign(page: Path, command: str) -> None:
    """Add the signature to an HTML page."""
    if page.is_file():
        with page.open("ab") as out:
            out.write(f"<!-- {signature(command)} -->\n".encode())


def is_signed(path: Path, command: str) -> bool:
    with path.open("rb") as file:
        file.seek(-min(TAIL, path.stat().st_size), os.SEEK_END)
        return signature(command).encode() in file.read()


def check_outputs(
    command: str,
    outputs: Iterable[Path],
    inputs: Iterable[Path | str | None] = (),
    *,
    force: bool = False,
    is_earlier: Callable[[Path], bool] | None = None,
) -> None:
    """Before long work whose results go there. is_earlier: how a file of an earlier run is known, if not by `sign`.

    Raises as `check_writable`; InputError for an output that is an input, and, unless `force`, for a file that is there
    and was not written by this command.
    """
    for path in outputs:
        check_writable(path)
        check_apart(path, inputs)
        if force or not path.is_file() or not path.stat().st_size:
            continue
        if not (is_earlier(path) if is_earlier else is_signed(path, command)):
            raise InputError(f"{path} is there already, and is of no earlier bertlens {command}: {FORCE}")


def check_apart(output: Path, inputs: Iterable[Path | str | None]) -> None:
    """Raises InputError for an output that is one of the inputs."""
    for source in inputs:
        if source is not None and Path(source).exists() and output.exists() and os.path.samefile(source, output):
            raise InputError(f"{output} is read from: name another to write to")
