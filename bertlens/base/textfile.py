"""The text of a file that people made: with or without a byte order mark, in UTF-16 as Excel writes it, gzipped."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError
from .paths import as_path

PIECE = 1_000_000  # bytes that are read at a time
LINE_CHARACTERS = 10_000_000  # at most: what a small gzip holds in one line may be more than the memory
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def text_of(path: str | Path, errors: str = "strict") -> str:
    """UTF-8, or UTF-16 where the byte order mark says so. errors: "replace" takes � for what is neither.

    Raises InputError for a file that cannot be opened, a damaged or cut gzip, and for what is no such text.
    """
    return "".join(_pieces(path, errors))


def json_of(path: str | Path) -> Any:
    """What JSON has in such a file; None where it is no JSON. Raises as `text_of`."""
    try:
        return json.loads(text_of(path))
    except (ValueError, RecursionError):
        return None


def lines_of(path: str | Path) -> Iterator[str]:
    """The lines of such a text as it is read: they end in any of the three ways, and keep their ends. Raises as
    `text_of`."""
    rest, number = "", 1
    for piece in _pieces(path, "strict"):
        lines = list(io.StringIO(rest + piece, newline=""))
        rest = lines.pop() if lines else ""  # not ended, or by one of two marks
        yield from lines
        number += len(lines)
        if len(rest) > LINE_CHARACTERS:
            raise InputError(f"line {number} of {path} is longer than {LINE_CHARACTERS:,} characters: split it")
    if rest:
        yield rest


def _pieces(path: str | Path, errors: str) -> Iterator[str]:
    path, line = as_path(path), 1
    decoder: codecs.IncrementalDecoder | None = None
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while piece := file.read(PIECE):
                coding = "utf-16" if piece[:2] in _UTF_16 else "utf-8-sig"
                decoder = decoder or codecs.getincrementaldecoder(coding)(errors)
                yield decoder.decode(piece)
                line += piece.count(b"\n")
        yield decoder.decode(b"", True) if decoder else ""
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be opened: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError as error:
        line += error.object.count(b"\n", 0, error.start)
        raise InputError(f"line {line} of {path.name} is no UTF-8: save it as UTF-8, in Excel as CSV UTF-8") from None
