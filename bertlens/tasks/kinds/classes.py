"""One class for each text, or pair of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...base.dataframes import pd
from ...errors import InputError, ModelError
from ...measures.significance import count_interval
from ...text.encoding import Encoding
from ..example_batch import Batch
from ..labels import ClassReader, LabelColumn
from ..scores import losses_of, margins_of, metrics_table, softmax
from .kind import Kind, Text


class Classes(Kind):
    name = "classes"
    lacks = "a task of classes"
    asks = "a class of the text"
    pads = True

    def labels(self, column: LabelColumn, texts: list[Text]) -> np.ndarray:
        cells = column.cells
        reader = ClassReader(column, self.names, cells)
        labels = [reader.of(row, cell) for row, cell in enumerate(cells)]
        reader.note()
        if len(labels) > 1 and len(set(labels)) == 1:
            raise InputError(
                f"all {len(labels):,} examples have the label {self.names[labels[0]]!r}: a task needs at least two of "
                f"the {len(self.names)} classes"
            )
        return np.array(labels, dtype=np.int64)

    def read(self, output: Any, batch: Batch) -> Tensor:
        logits = getattr(output, "logits", None)
        if not isinstance(logits, Tensor) or logits.ndim != 2:
            raise ModelError("the model's output has no logits of a text's classes")
        check_count(logits, self.names)
        return logits

    def losses(self, answers: Tensor, labels: np.ndarray) -> Tensor:
        return torch.nn.functional.cross_entropy(
            answers, torch.as_tensor(labels, device=answers.device), reduction="none"
        )

    def scores(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits = np.stack(records)
        return losses_of(labels, logits), (logits.argmax(1) == labels).astype(float)

    def columns(self, records: Sequence[np.ndarray], labels: np.ndarray) -> dict[str, Any]:
        logits, names = np.stack(records), np.array(self.names, dtype=object)
        guesses = logits.argmax(1)
        return {
            "label": names[labels],
            "guess": names[guesses],
            "right": labels == guesses,
            "probability": softmax(logits).max(1),
            "margin": margins_of(labels, logits),
        }

    def metrics(self, records: Sequence[np.ndarray], labels: np.ndarray) -> pd.DataFrame:
        return metrics_table(labels, np.stack(records), self.names)

    def counted(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return labels, np.stack(records), np.arange(len(labels))

    def of_quality(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[float, tuple[float, float]]:
        right = int((np.stack(records).argmax(1) == labels).sum())
        return right / len(labels), count_interval(right, len(labels))

    def said(self, label: Any) -> str:
        return self.names[label]

    def slices(self, labels: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
        return [("label", name, labels == k) for k, name in enumerate(self.names)]

    def of_interest(self, record: np.ndarray, label: Any, encoding: Encoding) -> Callable[[Any], Tensor]:
        """The guess's logit less the label's; of a right answer less the next one's."""
        guess, rival = rivals(record, int(label))
        return lambda output: output.logits[0, guess] - output.logits[0, rival]


def rivals(logits: np.ndarray, label: int) -> tuple[int, int]:
    """The guess, and what it is held against: the label, where that is the guess the next best."""
    guess = int(logits.argmax())
    return guess, label if label != guess else int(np.where(np.arange(len(logits)) == guess, -np.inf, logits).argmax())


def check_count(logits: Tensor, names: Sequence[str]) -> None:
    """Raises ModelError where the model gives another number of logits than its config names classes."""
    if logits.shape[-1] != len(names):
        raise ModelError(f"the model gives {logits.shape[-1]} logits and its config names {len(names)} classes")
