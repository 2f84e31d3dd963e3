"""How long a large corpus takes to begin: its texts are counted, where that is quick, and the first one is there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow
import pyarrow.parquet

from benchmarks.models import text
from benchmarks.rows import Row, ms
from bertlens.survey import corpus

LINES = 10**6


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """A file of each kind, of so many texts of 18 words, with labels where it is a table."""
    words = text(20)
    for kind, header, line in (("text", "", f"{words}\n"), ("CSV", "text,label\n", f'"{words}, he said",1\n')):
        path = folder / f"corpus.{kind.lower()}"
        path.write_text(header + line * LINES, encoding="utf-8")
        yield kind, path
    path = folder / "corpus.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": [words] * LINES}), path)
    yield "Parquet", path


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        for kind, path in files(Path(name)):
            start = time.process_time()
            count = corpus.size(path)
            first = next(corpus.items(path, "text" if kind == "CSV" else None))
            spent = time.process_time() - start
            assert isinstance(first, str) and first.startswith(text(20)) and count in (LINES, None)
            counted = "" if count else ", not counted before"
            yield Row(
                f"a corpus of {LINES:,} lines begins: {kind}, {path.stat().st_size / 1e6:.0f} MB",
                "≤ 2 s",
                ms(spent) + counted,
                ok=spent <= 2,
            )
