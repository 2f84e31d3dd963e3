"""The checks of a notebook's claims: code that runs in its kernel, each part behind the cell that it is about.

checks/NAME.py has parts that begin with `# %% after CELL`. A part sees what the notebook has by then, in a copy of its
names, so that a notebook cannot lean on its checks. What stands above the first part is for all of them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat

CHECKS = Path(__file__).resolve().parent / "checks"
PART = re.compile(r"# %% after (\S+)")
BEFORE = """
import numpy as np
from bertlens.survey import mean_interval
low, high = (lambda values, at=at: mean_interval(np.asarray(values, dtype=float))[at] for at in (1, 2))
"""


def parts(stem: str) -> dict[str, str]:
    """Cell -> the code behind it, with the lines of the file where they stand."""
    path = CHECKS / f"{stem}.py"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    starts = [at for at, line in enumerate(lines) if PART.match(line)]
    found = {}
    for start, end in pairwise([*starts, len(lines)]):
        name = PART.match(lines[start])[1]  # type: ignore[index]
        assert name not in found
        found[name] = "\n".join([*lines[: starts[0]], *[""] * (start - starts[0]), *lines[start:end]])
    return found


def with_checks(notebook: Any, stem: str) -> Any:
    """The notebook with a cell of checks behind each cell that has some."""
    ids = [cell.id for cell in notebook.cells]
    for name, code in parts(stem).items():
        path = str(CHECKS / f"{stem}.py")
        source = (
            "__names = dict(globals())\n"
            f"exec({BEFORE!r}, __names)\n"
            f"exec(compile({code!r}, {path!r}, 'exec'), __names)\n"
            "del __names"
        )
        cell = nbformat.v4.new_code_cell(source)
        notebook.cells.insert(next(at for at, one in enumerate(notebook.cells) if one.id == name) + 1, cell)
        assert name in ids
    return notebook
