"""A table as a file, .csv or .parquet, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..base.atomic import replacing
from ..base.paths import as_path
from ..errors import InputError
from ..export.arrays import inert

if TYPE_CHECKING:
    import pandas as pd


def write(table: pd.DataFrame, path: str | Path) -> None:
    """By its ending. In a .csv an apostrophe stands before what a spreadsheet would take for a formula.

    Raises InputError without the library that writes Parquet, ExportError where the file cannot be written.
    """
    with replacing(path) as out:
        if as_path(path).suffix.lower() == ".csv":
            plain = table.map(lambda cell: inert(cell) if isinstance(cell, str) else cell)
            out.write(plain.to_csv(index=False, lineterminator="\r\n").encode("utf-8", "replace"))
            return
        try:
            table.to_parquet(out, index=False)
        except ImportError:
            raise InputError("Parquet files need the library pyarrow: pip install pyarrow") from None
