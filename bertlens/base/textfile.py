"""The text of a file that people made: with or without a byte order mark, in UTF-16 as Excel writes it, gzipped."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from ..errors import InputError
from .paths import as_path

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def text_of(path: str | Path, errors: str = "strict") -> str:
    """UTF-8, or UTF-16 where the byte order mark says so. errors: "replace" takes � for what is neither.

    Raises InputError for a file that cannot be opened, a damaged or cut gzip, and for what is no such text.
    """
    path = as_path(path)
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be opened: {getattr(error, 'strerror', None) or error}") from None
    try:
        return data.decode("utf-16" if data[:2] in _UTF_16 else "utf-8-sig", errors)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"line {line} of {path.name} is no UTF-8: save it as UTF-8, in Excel as CSV UTF-8") from None
