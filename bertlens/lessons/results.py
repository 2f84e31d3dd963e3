"""What was done in a lesson, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# of a step, with what each is where nothing was said
COLUMNS: dict[str, Any] = {
    "step": 0,
    "act": "",
    "guess": "",
    "truth": "",
    "right": None,
    "hints": 0,
    "shown": False,
    "skipped": False,
    "written": "",
}


def results(done: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """DataFrame with the columns of COLUMNS, one row a step in their order; steps count from 1."""
    import pandas as pd

    rows = [{name: one.get(name, start) for name, start in COLUMNS.items()} for one in done]
    return pd.DataFrame(sorted(rows, key=lambda row: row["step"]), columns=list(COLUMNS))
