"""A model's answers on labelled examples: run once, when they are asked for, and kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.dataframes import pd
from ..base.progress import bar
from ..errors import InputError, ModelError
from ..lens import Lens
from .batch_answers import answers_of, batches, checked
from .example_batch import Batch
from .examples import Examples
from .kinds import Kind
from .resume_folder import ResumeFolder, identity

ANSWERS = "answers"  # by which they are kept


class Answered:
    """A model and labelled examples. Rows count from 0, in the order of the examples; C classes."""

    def __init__(
        self,
        lens: Lens,
        examples: Examples,
        batch_size: int,
        truncation: bool,
        progress: bool,
        keep: str | Path | None = None,
    ):
        self.lens, self.examples = lens, examples
        self.kept = ResumeFolder(keep, None if keep is None else identity(lens, examples, truncation))
        self.batch_size, self.truncation, self.progress = batch_size, truncation, progress
        self._records: list[np.ndarray | None] = [None] * len(examples)
        self._scores: tuple[np.ndarray, np.ndarray] | None = None
        self._fingerprint = lens.borrowed.fingerprint()

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def kind(self) -> Kind:
        """What the model is asked; its `name` is classes, tags, words, number, score or similarity."""
        return self.examples.kind

    @property
    def names(self) -> list[str]:
        """The classes, in the order of the logits; none where answers are numbers or words."""
        return self.examples.names

    @property
    def labels(self) -> np.ndarray:
        """(n,) the class of each example, by its number; a score; of tags an array for each."""
        return self.examples.labels

    def batches(self, rows: Sequence[int]) -> Iterator[Batch]:
        """Batches of these rows. Raises ModelError, before each of them, as `check`."""
        self.check(whole=True)
        for batch in batches(self.lens, self.examples, rows, self.batch_size, self.truncation):
            self.check()
            yield batch

    def check(self, *, whole: bool = False) -> None:
        """Raises ModelError where the model is no longer as it was when the task began. whole: by every value."""
        if name := self.lens.borrowed.change(self._fingerprint, whole=whole):
            raise ModelError(
                f"the model has changed since this task was made ({name}): make it again, bl.task(lens, examples)"
            )

    @property
    def records(self) -> list[np.ndarray]:
        """What is kept of each answer, run when it is first asked for. Raises ModelError for NaN."""
        self.check()
        rows = [row for row, record in enumerate(self._records) if record is None]
        if rows:
            with bar(len(rows), "text", "answers", self.progress) as progress:
                try:
                    for batch in self.batches(rows):
                        self.answer(batch)
                        progress.update(len(batch.rows))
                finally:
                    self.kept.save()
        return self._records  # type: ignore[return-value]  # none is left out now

    @property
    def is_run(self) -> bool:
        """Whether all answers are there, so that what is made of them alone takes no time."""
        return all(record is not None for record in self._records)

    def answer(self, batch: Batch) -> None:
        """Run a batch, or take what is kept of it."""
        arrays = self.kept.get(ANSWERS, batch.rows)
        if arrays is not None:
            records = list(arrays[0])
            if records[0].ndim > 1:  # of words, padded
                records = [record[: len(self.labels[row])] for row, record in zip(batch.rows, records, strict=True)]
        else:
            answers = checked(answers_of(self.lens, self.examples, batch), batch, self.examples)
            records = self.kind.records(answers, self.labels[batch.rows])
            self.kept.put(ANSWERS, batch.rows, _padded(records))
        for row, record in zip(batch.rows, records, strict=True):
            self._records[row] = record

    @property
    def logits(self) -> np.ndarray:
        """(n, C) float64, the model's answers. Raises InputError where answers are not classes of texts."""
        if self.kind.name != "classes":
            raise InputError(f"{self.kind.lacks} has no logits of classes: .table has its answers")
        return np.stack(self.records)

    def _scored(self) -> tuple[np.ndarray, np.ndarray]:
        records = self.records
        if self._scores is None:
            self.kind.prepare(records, self.labels)
            self._scores = self.kind.scores(records, self.labels)
        return self._scores

    @property
    def losses(self) -> np.ndarray:
        """(n,) the loss of each example: −log p(label) in nats, of tags its mean over words; of numbers the square."""
        return self._scored()[0]

    @property
    def right(self) -> np.ndarray:
        """(n,) how much of each answer is right, in [0, 1]: 0 or 1, of tags the share of words; of numbers NaN."""
        return self._scored()[1]

    @property
    def wrong(self) -> np.ndarray:
        """(n,) bool: answers that are not right, of tags in any word; of numbers the fifth with the largest loss."""
        return self.kind.wrong(self.losses, self.right)

    @property
    def guesses(self) -> np.ndarray:
        """(n,) the class with the highest logit. Raises InputError where answers are not classes of texts."""
        return self.logits.argmax(1)

    @property
    def notes(self) -> list[str]:
        """How labels were read and what the scores count, a sentence each, where there is something to say."""
        return [*self.examples.notes, *self.kind.notes(self.records, self.labels)]

    def scores_of(self, answers: Any, rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """(B,) losses and (B,) how much is right, of answers (B, ...) that were run in another way."""
        labels = self.labels[list(rows)]
        return self.kind.scores(self.kind.records(answers, labels), labels)

    @property
    def table(self) -> pd.DataFrame:
        """DataFrame(row, text, text_pair (of pairs), label, guess, ..., loss), an example a row.

        Of classes: right; probability, of the guess, in [0, 1]; margin: the label's logit less the highest other one,
        below 0 where the guess is wrong; loss: −log p(label), nats. Of masked words also rank, the label's, from 0.
        Of tags: right, where all words are; words and wrong, how many; probability and margin are the least of the
        text's words, loss their mean. Of numbers: error, guess − label, and loss, its square; of scores in another unit
        than the labels the guess is first put on the line that fits all labels best.
        """
        losses, texts = self.losses, self.examples.shown()
        columns: dict[str, Any] = {"row": np.arange(len(self)), "text": [text[0] for text in texts]}
        if any(len(text) > 1 for text in texts):
            columns["text_pair"] = [text[1] for text in texts]
        return pd.DataFrame(columns | self.kind.columns(self.records, self.labels) | {"loss": losses})


def _padded(records: Sequence[np.ndarray]) -> np.ndarray:
    """(B, ...) one array of all, NaN behind the end of those with fewer words."""
    if np.ndim(records[0]) < 2:
        return np.stack(records)
    length = max(map(len, records))
    return np.stack([np.pad(record, ((0, length - len(record)), (0, 0)), constant_values=np.nan) for record in records])
