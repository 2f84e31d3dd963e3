"""One number for each text or pair: a regression, the score of a cross-encoder, the similarity of a bi-encoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...base.dataframes import pd
from ...errors import InputError, ModelError, excerpt
from ...lens import Lens
from ...measures.ranks import spearman
from ...text.encoding import Encoding
from ...text.tables import Columns
from ..correlations import guesses_of, numbers_table, spearman_interval
from ..example_batch import Batch
from ..labels import LabelColumn, listed, numbers_of
from .kind import Kind, Text

FAR = 0.8  # quantile of the loss above which a number counts as far off
APART = 0.25  # of the labels' range, at least so much lies between two that differ


class Regression(Kind):
    """A head that gives one number, in the unit of the labels."""

    name = "number"
    quality = "Spearman"
    has_right = False
    wrong_is = "far off"
    lacks = "a task of numbers"
    asks = "a number"
    pads = True

    def __init__(self) -> None:
        super().__init__([])
        self.line = (0.0, 1.0)  # what a number is read as, in the unit of the labels
        self._range = 0.0

    def labels(self, column: LabelColumn, texts: list[Text]) -> np.ndarray:
        if column.aliases:
            raise InputError("labels= says which class is which: here a label is a number")
        n, names = column.n, column.own_names
        numbers = {place: number for number, place in numbers_of(names)[0].items()}
        labels = np.array([_number(column, row, numbers) for row in range(n)])
        if names:
            count = "the numbers in its names" if numbers else "its own count of them"
            column.note(f"the data set names its labels {listed(names)}: they are read as {count}", is_ambiguous=True)
        if n > 1 and labels.min() == labels.max():
            raise InputError(f"all {n:,} examples have the label {labels[0]:g}: there is nothing to tell apart")
        self._range = float(np.ptp(labels))
        if set(labels) == {0.0, 1.0} and (line := self._between()) is not None:
            column.note(
                "the labels are 0 and 1 alone, as of two classes, and the model gives one number: it is measured as a "
                f"number; as classes: ((task.table['guess'] > {line:g}) == task.table['label']).mean() is the accuracy",
                is_ambiguous=True,
            )
        return labels

    def _between(self) -> float | None:
        """The guess that would lie between two classes: where a logit is 0. None where nothing says."""
        return 0.0

    def read(self, output: Any, batch: Batch) -> Tensor:
        logits = getattr(output, "logits", None)
        if not isinstance(logits, Tensor) or logits.ndim != 2 or logits.shape[1] != 1:
            raise ModelError("the model's output has no single number of a text")
        return logits[:, 0]

    def losses(self, answers: Tensor, labels: np.ndarray) -> Tensor:
        start, slope = self.line
        return (start + slope * answers - torch.as_tensor(labels, device=answers.device, dtype=answers.dtype)) ** 2

    def scores(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        start, slope = self.line
        return (start + slope * np.array(records) - labels) ** 2, np.full(len(labels), math.nan)

    def wrong(self, losses: np.ndarray, right: np.ndarray) -> np.ndarray:
        return losses > np.quantile(losses, FAR)

    def columns(self, records: Sequence[np.ndarray], labels: np.ndarray) -> dict[str, Any]:
        guesses = np.array(records)
        return {"label": labels, "guess": guesses, "error": self.line[0] + self.line[1] * guesses - labels}

    def metrics(self, records: Sequence[np.ndarray], labels: np.ndarray) -> pd.DataFrame:
        return numbers_table(labels, guesses_of(records), errors=True)

    def of_quality(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[float, tuple[float, float]]:
        guesses = guesses_of(records)
        return spearman(guesses, labels), spearman_interval(guesses, labels)

    def differ(self, a: Any, b: Any) -> bool:
        return abs(a - b) >= APART * self._range

    def said(self, label: Any) -> str:
        return f"{label:g}"

    def slices(self, labels: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
        third, two = np.quantile(labels, [1 / 3, 2 / 3])
        return [("label", f"at most {third:g}", labels <= third), ("label", f"more than {two:g}", labels > two)]

    def of_interest(self, record: np.ndarray, label: Any, encoding: Encoding) -> Callable[[Any], Tensor] | None:
        """What took the number away from the label: it, or less it where it is too low."""
        sign = 1.0 if (self.line[0] + self.line[1] * float(record) - label) * self.line[1] >= 0 else -1.0
        return lambda output: sign * output.logits[0, 0]


class PairScores(Regression):
    """A number in a unit of its own beside scores of another: their order counts, and the loss is that of a line."""

    name = "score"
    lacks = "a task of scores"
    asks = "a score"
    needs_all = True

    def prepare(self, records: Sequence[np.ndarray], labels: np.ndarray) -> None:
        """The line that the labels lie next to, by least squares over all examples."""
        guesses = guesses_of(records)
        spread = float(guesses.var())
        slope = float(np.mean((guesses - guesses.mean()) * (labels - labels.mean()))) / spread if spread > 0 else 0.0
        self.line = (float(labels.mean() - slope * guesses.mean()), slope)

    def metrics(self, records: Sequence[np.ndarray], labels: np.ndarray) -> pd.DataFrame:
        return numbers_table(labels, guesses_of(records), errors=False)


class CrossEncoder(PairScores):
    """Reads two texts as one input; its activation makes the score."""

    def __init__(self, activation: Callable[[Tensor], Tensor]):
        super().__init__()
        self._activation = activation

    def _between(self) -> float:
        return float(self._activation(torch.zeros(1, 1, device="cpu")).reshape(()))

    def texts(self, columns: Columns, names: Sequence[str], n: int) -> list[Text]:
        return in_pairs(super().texts(columns, names, n), "a cross-encoder")

    def read(self, output: Any, batch: Batch) -> Tensor:
        logits: Tensor = output.logits
        return self._activation(super().read(output, batch)[:, None]).reshape(len(logits))


class BiEncoder(PairScores):
    """Reads each text of a pair alone; the number is the similarity of their vectors."""

    name = "similarity"
    asks = "a similarity"
    pads = False

    def __init__(self, lens: Lens):
        super().__init__()
        self._model = lens.borrowed
        self._prompt = str(getattr(lens.sentences, "default_prompt", ""))
        pooling = getattr(lens.sentences, "module", [None, None])[1]
        if self._prompt and not getattr(pooling, "include_prompt", True):
            raise ModelError("this encoder leaves its prompt out of the vectors: a task of it is not read here")

    def _between(self) -> None:
        return None

    def texts(self, columns: Columns, names: Sequence[str], n: int) -> list[Text]:
        return in_pairs(super().texts(columns, names, n), "an encoder")

    def encodings(self, lens: Lens, text: Text, truncation: bool) -> list[Encoding]:
        return [lens.encoding(self._prompt + sentence, None, truncation) for sentence in text]

    def read(self, output: Any, batch: Batch) -> Tensor:
        states, masks = self._model.states(output), batch.inputs["attention_mask"].bool()
        if not states.requires_grad:
            states = states.double()
        vectors = [self._model.embedder.vector(state[mask]) for state, mask in zip(states, masks, strict=True)]
        half = len(vectors) // 2
        pairs = zip(vectors[:half], vectors[half:], strict=True)
        return torch.stack([self._model.embedder.compare(a, b) for a, b in pairs])

    def of_interest(self, record: np.ndarray, label: Any, encoding: Encoding) -> Callable[[Any], Tensor] | None:
        return None


def in_pairs(texts: list[Text], what: str) -> list[Text]:
    """Raises InputError where a text stands alone."""
    if texts and len(texts[0]) < 2:
        raise InputError(
            f"{what} scores two texts: name the second one's column by text_pair=, or give ((text, text), score)"
        )
    return texts


def _number(column: LabelColumn, row: int, numbers: Mapping[int, float]) -> float:
    """numbers: what a data set's numbers stand for by their names; nothing where they are what they are."""
    label = column.cell(row)
    try:
        number = float(label) if isinstance(label, str | Real) else math.nan
    except OverflowError:
        number = math.inf
    except ValueError:
        comma = " (a decimal comma is to be a point)" if "," in str(label) else ""
        raise InputError(f"{column.place(row)}: the label {excerpt(label)} is no number{comma}") from None
    if numbers:
        number = numbers.get(int(number), math.nan) if math.isfinite(number) else number
    if not math.isfinite(number):
        raise InputError(f"{column.place(row)}: the label {excerpt(label)} is no finite number")
    return number
