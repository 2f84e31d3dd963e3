"""A table as a file, .csv or .parquet, written whole or not at all; Parquet holds its `attrs`: units, provenance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..base.atomic import replacing
from ..base.dataframes import pd
from ..base.paths import as_path
from ..errors import InputError
from .arrays import inert


def write(table: pd.DataFrame, path: str | Path) -> None:
    """As Parquet where it is so named, else as CSV: an apostrophe stands there before what a spreadsheet would take for
    a formula.

    Raises InputError without the library that writes Parquet, ExportError where the file cannot be written.
    """
    with replacing(path) as out:
        if as_path(path).suffix.lower() != ".parquet":
            plain = table.map(lambda cell: inert(cell) if isinstance(cell, str) else cell)
            # the ends of the lines are such that a "\r" in a cell is quoted
            out.write(plain.to_csv(index=False, lineterminator="\r\n").encode("utf-8", "replace"))
            return
        try:
            table.to_parquet(out, index=False)
        except ImportError:
            raise InputError("Parquet files need the library pyarrow: pip install pyarrow") from None


def begins(columns: Sequence[str], path: Path) -> bool:
    """Whether these are the first columns of a table in a file (.csv, .jsonl, .parquet): so a command knows its own."""
    if path.suffix.lower() != ".parquet":
        begin = f'{{"{columns[0]}":' if path.suffix.lower() == ".jsonl" else ",".join(columns)
        with path.open("rb") as file:
            return file.readline().startswith(begin.encode())
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_schema
    except ImportError:
        return False
    try:
        return list(read_schema(path).names[: len(columns)]) == [*columns]
    except (OSError, ArrowException):
        return False
