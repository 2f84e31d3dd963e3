"""One class for each text, or pair of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError, ModelError, excerpt
from ...survey.intervals import count_interval
from ...text.tables import Columns
from ..scores import losses_of, margins_of, metrics_table, softmax
from .kind import Kind, Text, listed, missing

if TYPE_CHECKING:
    import pandas as pd

    from ...text.encoding import Encoding
    from ..example_batch import Batch


class Classes(Kind):
    name = "classes"
    lacks = "a task of classes"
    asks = "a class of the text"
    pads = True

    def labels(self, columns: Columns, column: str, n: int, alias: Mapping[Any, Any], texts: list[Text]) -> np.ndarray:
        numbers = Numbers(columns, column, self.names, alias)
        labels = [numbers.of(row, columns.values[column][row]) for row in range(n)]
        if n > 1 and len(set(labels)) == 1:
            raise InputError(
                f"all {n:,} examples have the label {self.names[labels[0]]!r}: a task needs at least two of the "
                f"{len(self.names)} classes"
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
    return guess, label if label != guess else int(np.argsort(logits)[-2])


def check_count(logits: Tensor, names: Sequence[str]) -> None:
    """Raises ModelError where the model gives another number of logits than its config names classes."""
    if logits.shape[-1] != len(names):
        raise ModelError(f"the model gives {logits.shape[-1]} logits and its config names {len(names)} classes")


class Numbers:
    """The model's class for every label, each different one looked up once."""

    def __init__(self, columns: Columns, column: str, names: list[str], alias: Mapping[Any, Any]):
        self._columns, self._column, self._names, self._alias = columns, column, names, alias
        self._known: dict[Any, int] = {}

    def of(self, row: int, value: Any, where: str = "") -> int:
        """Raises InputError that names the row; where: what else is said of the place, as " (tag 3)"."""
        place = f"{self._columns.place(row, self._column)}{where}"
        try:
            number = self._known.get((type(value), value))
        except TypeError:
            raise InputError(f"{place}: a label is one name or number, not {excerpt(value)}") from None
        if number is None:
            number = self._known[(type(value), value)] = self._number(place, value)
        return number

    def _number(self, place: str, value: Any) -> int:
        names = self._names
        if missing(value) or (isinstance(value, str) and not value.strip()):
            raise InputError(f"{place}: the label is missing")
        if self._alias:
            key = value if value in self._alias else str(value).strip()
            if key not in self._alias:
                raise InputError(
                    f"{place}: no label {excerpt(value)} in labels=, which has {listed([*map(str, self._alias)])}"
                )
            value = self._alias[key]
        if isinstance(value, str):
            value = value.strip()
            if names.count(value) == 1:
                return names.index(value)
            matches = [i for i, name in enumerate(names) if name.lower() == value.lower()]
            if len(matches) == 1:
                return matches[0]
            if value.isdecimal() and len(value) < 20 and int(value) < len(names):
                return int(value)
        elif isinstance(value, Real) and value in range(len(names)):
            return int(float(value))
        guesses = get_close_matches(value, names, 1) if isinstance(value, str) else []
        way = f"did you mean {guesses[0]!r}?" if guesses else "say which is which by labels={'yours': 'the model’s'}"
        raise InputError(
            f"{place}: no label {excerpt(value)}, the model has {listed(names)} (0 to {len(names) - 1}); {way}"
        )
