"""What a kind of task has to say of its examples: how they are read, what an answer is, and how far it is off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ...base.dataframes import pd
from ...errors import InputError
from ...lens import Lens
from ...text.encoding import Encoding
from ...text.tables import Columns
from ..example_batch import Batch
from ..labels import LabelColumn, missing

Text = tuple[Any, ...]  # an example's texts: one, or two; of a task of tokens, its words


class Kind:
    """One kind of task. A record is what is kept of a model's answer to one example: a row of numbers."""

    name: ClassVar[str]
    quality: ClassVar[str] = "accuracy"  # what a pruning curve is of
    has_right: ClassVar[bool] = True  # whether an answer is right or wrong
    lacks: ClassVar[str] = "this task"  # the subject of what it cannot do
    asks: ClassVar[str] = ""  # what the model is asked for
    wrong_is: ClassVar[str] = "wrong"  # of slices and errors
    needs_all: ClassVar[bool] = False  # whether the loss of one answer depends on all
    pads: ClassVar[bool] = False  # whether the head may look at padding, which is then tried

    def __init__(self, names: list[str]):
        self.names = names  # of the classes, in the order of the logits; none where there are no classes

    def texts(self, columns: Columns, names: Sequence[str], n: int) -> list[Text]:
        """The texts of n rows. Raises InputError that names row and column."""
        return list(texts_of(columns, names, n))

    def labels(self, column: LabelColumn, texts: list[Text]) -> np.ndarray:
        """(n,) what each example's answer is to be. Raises InputError that names row and column."""
        raise NotImplementedError

    def encodings(self, lens: Lens, text: Text, truncation: bool) -> list[Encoding]:
        """What the model reads of an example: one input, or of pairs that are read apart two."""
        return [lens.encoding(text[0], text[1] if len(text) > 1 else None, truncation)]

    def read(self, output: Any, batch: Batch) -> Tensor:
        """(B, ...) the answers to the examples of a batch, out of the model's output. Gradients pass."""
        raise NotImplementedError

    def finite(self, answers: Tensor, batch: Batch) -> Tensor:
        """(B,) bool: whether there is an answer, and no number of it is NaN or Inf."""
        return torch.isfinite(answers.reshape(len(answers), -1)).all(1)

    def losses(self, answers: Tensor, labels: np.ndarray) -> Tensor:
        """(B,) the loss of each answer. Gradients pass."""
        raise NotImplementedError

    def records(self, answers: Tensor, labels: np.ndarray) -> list[np.ndarray]:
        """What is kept of each answer; answers are float64 on the CPU."""
        return list(answers.detach().numpy())

    def prepare(self, records: Sequence[np.ndarray], labels: np.ndarray) -> None:
        """Take in what a loss needs to know of all answers of the model as it is."""

    def scores(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) losses, and (n,) how much of each answer is right, in [0, 1]; NaN where there is no right and wrong."""
        raise NotImplementedError

    def wrong(self, losses: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(n,) bool: which examples count as wrong in slices and errors."""
        return right < 1

    def columns(self, records: Sequence[np.ndarray], labels: np.ndarray) -> dict[str, Any]:
        """The columns of a task's table between text and loss."""
        raise NotImplementedError

    def metrics(self, records: Sequence[np.ndarray], labels: np.ndarray) -> pd.DataFrame:
        """See Task.metrics."""
        raise NotImplementedError

    def counted(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(m,) labels, (m, C) logits and (m,) rows of what a confusion and a calibration count.

        Raises InputError for a kind without classes.
        """
        raise InputError(f"{self.lacks} has no classes to count: .metrics() and .table have its numbers")

    def notes(self, records: Sequence[np.ndarray], labels: np.ndarray) -> list[str]:
        """What a reader of the scores has to know of what they count, a sentence each."""
        return []

    def of_quality(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[float, tuple[float, float]]:
        """`quality` of these answers, and its 95 % interval."""
        raise NotImplementedError

    def differ(self, a: Any, b: Any) -> bool:
        """Whether two labels say something else of one text."""
        return bool(a != b)

    def said(self, label: Any) -> str:
        """A label in words."""
        return str(label)

    def slices(self, labels: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
        """(kind, name, (n,) bool) of the slices by label."""
        return []

    def of_interest(self, record: np.ndarray, label: Any, encoding: Encoding) -> Callable[[Any], Tensor] | None:
        """The 0-d number of a text's output that its words are asked for; None where there is none."""
        return None


def texts_of(columns: Columns, names: Sequence[str], n: int) -> Iterator[Text]:
    """The texts of n rows, each a str that is not empty. Raises InputError that names row and column."""
    cells = [columns.values[name] for name in names]
    for row in range(n):
        for name, column in zip(names, cells, strict=True):
            if not isinstance(column[row], str):
                what = "is missing" if missing(column[row]) else f"is a {type(column[row]).__name__}, not a text"
                raise InputError(f"{columns.place(row, name)}: the text {what}")
            if not column[row].strip():
                raise InputError(f"{columns.place(row, name)}: the text is empty")
        yield tuple(column[row] for column in cells)


def one_each(values: Sequence[Any], dtype: Any) -> np.ndarray:
    """(n,) an entry for each value, arrays of one length too."""
    array = np.empty(len(values), dtype=dtype)
    for place, value in enumerate(values):
        array[place] = value
    return array
