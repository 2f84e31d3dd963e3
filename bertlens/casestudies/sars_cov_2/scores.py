"""How good a classifier is: accuracy, F1 per class, confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


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
        return sum(self.confusion[i][i] for i in range(len(self.labels))) / self.n

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
        """Mean F1 over the classes that have samples."""
        present = [row["f1"] for row in self.per_class if row["n"]]
        return sum(present) / len(present)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "n": self.n,
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "loss": self.loss,
            "labels": self.labels,
            "per_class": self.per_class,
            "confusion": self.confusion,
        }


def score(logits: Tensor, targets: Tensor, labels: list[str]) -> Scores:
    """Scores of logits (N, C) against class numbers (N,)."""
    n = len(labels)
    counts = torch.bincount(targets * n + logits.argmax(1), minlength=n * n).reshape(n, n)
    return Scores(labels, counts.tolist(), float(torch.nn.functional.cross_entropy(logits, targets)))
