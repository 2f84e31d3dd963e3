"""What a fault of the logits costs a task: the same texts with the classes that the fault makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..base.amounts import amount, verb
from ..base.dataframes import pd
from ..errors import InputError
from ..measures.significance import paired
from .labelled_task import Task


@dataclass(frozen=True, eq=False, repr=False)
class TaskCosts:
    """See `Parity.costs`. fault: its name. Prints as its sentence."""

    fault: str
    table: pd.DataFrame  # a row a text with another class: row, text, label, before, now; what was right first
    accuracy: tuple[float, float]  # without the fault, with it
    difference: tuple[float, float, float, float]  # of the accuracies, and low, high, p, paired by text
    total: int  # texts

    @property
    def said(self) -> str:
        """How many texts have another class, and the accuracy without and with the fault."""
        n, total = len(self.table), amount(self.total, "text")
        before, now = self.accuracy
        _, low, high, p = self.difference
        between = f" ({low:+.3f} to {high:+.3f}, p = {p:.2g})" if np.isfinite([low, high, p]).all() else ""
        return (
            f"With {self.fault}, {n:,} of {total} {verb(n, 'has', 'have')} another class. "
            f"Accuracy {before:.3f} before, {now:.3f} now{between}."
        )

    def __repr__(self) -> str:
        return self.said


def costs(task: Task, fault: str, logits: Callable[[list[str]], np.ndarray]) -> TaskCosts:
    """logits: of texts, (N, C) under the fault.

    Raises InputError for what is no Task of single texts and classes, ModelError where the model has changed.
    """
    if not isinstance(task, Task) or task.kind.name != "classes" or any(len(text) > 1 for text in task.examples.texts):
        raise InputError("costs are told of a bl.task(…) of single texts and classes")
    before = task.guesses
    texts = [text[0] for text in task.examples.texts]
    now = logits(texts).argmax(1)
    rights = [guesses == task.labels for guesses in (before, now)]
    rows = np.flatnonzero(before != now)
    rows = rows[np.argsort(~rights[0][rows], kind="stable")]
    names = np.array(task.names, dtype=object)
    columns = {"label": names[task.labels[rows]], "before": names[before[rows]], "now": names[now[rows]]}
    table = pd.DataFrame({"row": rows, "text": [texts[row] for row in rows], **columns})
    accuracy = float(rights[0].mean()), float(rights[1].mean())
    moved = rights[1].astype(float) - rights[0]
    change = paired(moved, True, 1) if len(moved) > 1 else (float(moved[0]), np.nan, np.nan, np.nan)
    return TaskCosts(fault, table, accuracy, change, len(texts))
