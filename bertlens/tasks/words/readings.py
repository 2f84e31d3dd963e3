"""The numbers of an answer that words move: a class's log-odds, and which answers are errors of a class.

C classes: the log-odds of each, its logit less the logarithm of what the others' add up to. Of tags they are added over
the words that stay; of a number C is 1 and it is the number itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ..task_answers import Answered

READ = ("classes", "tags", "number", "score")


def check_read(task: Answered) -> None:
    """Raises InputError for a task whose words are not told."""
    if task.kind.name not in READ:
        raise InputError(f"words are told of classes, tags and numbers, and not of {task.kind.lacks}")


def log_odds(logits: Tensor) -> Tensor:
    """(..., C) of logits (..., C), C of 2 and more. Gradients pass."""
    size = logits.shape[-1]
    if size == 2:
        difference = logits[..., 1] - logits[..., 0]
        return torch.stack([-difference, difference], -1)
    itself = torch.eye(size, dtype=torch.bool, device=logits.device)
    companions = logits[..., None, :].expand(*logits.shape, size).masked_fill(itself, -torch.inf)
    return logits - companions.logsumexp(-1)


def names_of(task: Answered) -> list[str]:
    """What numbers are of: the classes; "" of a number."""
    return task.names or [""]


class AnswerReading:
    """Reads answers of a task, whose own are run for it."""

    def __init__(self, task: Answered):
        self._task = task
        self._far = 0.0 if task.names else float(task.losses[~task.wrong].max())  # a larger loss counts as far off

    def __call__(self, record: np.ndarray, row: int, gone: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
        """(C,) the numbers of an answer; (C,) bool whether it is an error of each class, guessed so and labelled
        otherwise. gone: of tags, the words that are hidden, whose own answers do not count."""
        task = self._task
        label: Any = task.labels[row]
        if not task.names:
            loss, _ = task.kind.scores([record], np.array([label]))
            return np.array([float(record)]), np.array([loss[0] > self._far])
        logits = record[None] if record.ndim == 1 else record
        tags = np.atleast_1d(label)[: len(logits)]
        stays = ~np.isnan(logits).any(1)
        stays[[word for word in gone if word < len(stays)] if record.ndim > 1 else []] = False
        logits, tags = logits[stays], tags[stays]
        wrong, guesses = np.zeros(len(task.names), dtype=bool), logits.argmax(1)
        wrong[guesses[guesses != tags]] = True
        return log_odds(torch.from_numpy(logits)).sum(0).numpy(), wrong
