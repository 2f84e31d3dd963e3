"""A table as a Parquet file, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..base.atomic import replacing
from ..errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Raises InputError without the library that does it, ExportError where the file cannot be written."""
    with replacing(path) as out:
        try:
            table.to_parquet(out, index=False)
        except ImportError:
            raise InputError("Parquet files need the library pyarrow: pip install pyarrow") from None
