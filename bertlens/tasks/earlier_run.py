"""Which examples an earlier run had right, in a file; and whether a model now has fewer of them right."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from ..base.amounts import amount
from ..base.atomic import replacing
from ..base.outputs import signature
from ..base.ranking import signed
from ..base.textfile import json_of
from ..errors import InputError
from ..measures.significance import paired
from .task_answers import Answered

FORMAT = 1


def save(task: Answered, path: Path) -> None:
    """Raises ExportError where it cannot be written."""
    right = (task.right == 1).astype(int).tolist()
    record = {"bertlens_task": FORMAT, "examples": _digest(task), "right": right, "by": signature("task")}
    with replacing(path) as out:
        out.write(f"{json.dumps(record)}\n".encode())


def record_of(path: Path) -> dict[str, Any]:
    """What `save` wrote. Raises InputError for another file."""
    record = json_of(path)
    if not isinstance(record, dict) or record.get("bertlens_task") != FORMAT:
        raise InputError(f"{path.name} holds no numbers of a task: give one that `bertlens task` wrote beside a page")
    right = record.get("right")
    if not isinstance(right, list) or not all(type(one) is int and one in (0, 1) for one in right):
        raise InputError(f"{path.name} is damaged: it lacks which examples were right, make it again")
    return record


def fall(task: Answered, path: Path) -> tuple[bool, str]:
    """Whether fewer examples are right than in the file, by more than chance gives (the interval of the paired
    difference lies below 0), and a sentence. Raises InputError for a file of other examples."""
    record = record_of(path)
    if record.get("examples") != _digest(task) or len(record["right"]) != len(task):
        raise InputError(f"{path.name} is of other examples: compare runs of one file, with one --limit")
    was, now = np.array(record["right"], dtype=float), (task.right == 1).astype(float)
    counts = f"Of {amount(len(task), 'example')} {was.sum():.0f} were right, now {now.sum():.0f}"
    if len(task) < 2:
        return False, f"{counts}: one has no interval."
    mean, low, high, _ = paired(now - was, True, 1)
    word = "fewer" if high < 0 else "more" if low > 0 else "no more and no fewer than chance gives"
    share = f"{signed(mean, '+.3f')} of them ({signed(low, '+.3f')} to {signed(high, '+.3f')}, paired)"
    return high < 0, f"{counts}: {word}, {share}."


def _digest(task: Answered) -> str:
    table = task.table
    columns = [name for name in ("text", "text_pair", "label") if name in table]
    return hashlib.sha256(json.dumps(table[columns].astype(str).to_numpy().tolist()).encode()).hexdigest()
