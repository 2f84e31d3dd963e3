"""Text files of a survey, plain or gzipped."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import InputError


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The lines of a text file, plain or gzipped. Raises InputError for one that is neither."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            yield lines
    except (UnicodeDecodeError, json.JSONDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path.name} cannot be read as a corpus in UTF-8: {error}") from None
