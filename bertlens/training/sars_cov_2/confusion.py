"""A classifier's confusion matrix and what follows from it: accuracy, F1 per class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...survey.intervals import macro_f1_interval


@dataclass(frozen=True)
class Scores:
    """Scores of one split. `confusion[i][j]`: samples of class i that were taken for class j."""

    labels: list[str]
    confusion: list[list[int]]
    loss: float  # mean cross-entropy, nats, every sample weighing the same

    @property
    def n(self) -> int:
        return sum(map(sum, self.confusion))

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return self.right / self.n

    @property
    def right(self) -> int:
        """How many answers are right."""
        return sum(self.confusion[i][i] for i in range(len(self.labels)))

    @property
    def per_class(self) -> list[dict[str, Any]]:
        """Precision, recall and F1 of each class in [0, 1] (0 where nothing was found), and its number of samples."""
        rows = []
        for i, label in enumerate(self.labels):
            right = self.confusion[i][i]
            support = sum(self.confusion[i])
            claimed = sum(row[i] for row in self.confusion)
            rows.append(
                {
                    "variant": label,
                    "precision": right / claimed if claimed else 0.0,
                    "recall": right / support if support else 0.0,
                    "f1": 2 * right / (claimed + support) if claimed + support else 0.0,
                    "n": support,
                }
            )
        return rows

    @property
    def macro_f1(self) -> float:
        """Mean F1 over the classes that have samples or were answered, as scikit-learn counts them."""
        claimed = [sum(column) for column in zip(*self.confusion, strict=True)]
        present = [row["f1"] for row, answers in zip(self.per_class, claimed, strict=True) if row["n"] or answers]
        return sum(present) / len(present)

    @property
    def macro_f1_interval(self) -> list[float] | None:
        """[low, high] of `macro_f1`, 95 % over samples; None where a class is too rare for one."""
        ends = macro_f1_interval(self.confusion)
        return None if math.isnan(ends[0]) else [*ends]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "n": self.n,
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "macro_f1_interval": self.macro_f1_interval,
            "loss": self.loss,
            "labels": self.labels,
            "per_class": self.per_class,
            "confusion": self.confusion,
        }


def score(logits: Tensor, targets: Tensor, labels: list[str]) -> Scores:
    """Scores of logits (N, C) against class numbers (N,)."""
    counts = confusion(logits.argmax(1), targets, len(labels))
    return Scores(labels, counts, float(torch.nn.functional.cross_entropy(logits, targets)))


def confusion(answers: Tensor, targets: Tensor, n_classes: int) -> list[list[int]]:
    """Confusion of class numbers (N,), n_classes x n_classes: row the class, column the answer."""
    counts = torch.bincount(targets * n_classes + answers, minlength=n_classes**2).reshape(n_classes, n_classes)
    table: list[list[int]] = counts.tolist()
    return table
