"""Text files, plain or gzipped, line by line: a line that cannot be read is named by its number."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ..errors import InputError
from .limits import TEXT_CHARACTERS
from .paths import as_path

_NO_UTF8 = re.compile("[\udc80-\udcff]")  # what "surrogateescape" makes of bytes that are no UTF-8


class Lines:
    """The lines of an open text file, with the number of the last one read, from 1.

    Raises InputError, naming the line, where it is no UTF-8 or longer than TEXT_CHARACTERS (a small gzip may hold a
    line that no memory does), and for a damaged gzip.
    """

    def __init__(self, file: TextIO, name: str):
        self._file, self._name = file, name
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number += 1
        try:
            line = self._file.readline(TEXT_CHARACTERS + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise self.error(f"cannot be read: {error}") from None
        if not line:
            self.number -= 1
            raise StopIteration
        if len(line) > TEXT_CHARACTERS:
            raise self.error(f"is longer than {TEXT_CHARACTERS:,} characters: split it")
        if _NO_UTF8.search(line):
            raise self.error("cannot be read as a corpus in UTF-8")
        return line

    def read(self) -> str:
        """All that is left; libraries know a file by this method."""
        return "".join(self)

    def error(self, what: str) -> InputError:
        """What is wrong with the last line read."""
        return InputError(f"line {self.number} of {self._name} {what}")


@contextmanager
def opened(path: Path) -> Iterator[Lines]:
    """The lines of a text file in UTF-8, with or without a byte order mark, plain or gzipped.

    Raises InputError for a file that cannot be opened; see Lines for others.
    """
    try:
        raw = as_path(path).open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror or error}") from None
    plain: Any = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
    with raw, io.TextIOWrapper(plain, encoding="utf-8-sig", errors="surrogateescape") as text:
        yield Lines(text, path.name)
