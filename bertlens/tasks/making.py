"""A model and labelled examples of what it is for: how good it is, where it is wrong, and which parts it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, ModelError
from . import scores
from .examples import Examples, examples_of
from .passes import batches, checked, logits_of

if TYPE_CHECKING:
    import pandas as pd

    from ..lens import Lens


def task(
    lens: Lens,
    examples: Any,
    *,
    text: str = "text",
    text_pair: str | None = None,
    label: str = "label",
    labels: Mapping[Any, Any] | None = None,
    limit: int | None = None,
    batch_size: int = 16,
    truncation: bool = False,
    progress: bool = True,
) -> Task:
    """A classifier of texts, or of pairs of texts, and labelled examples.

    examples: a file (.csv, .tsv: the separator is found; .jsonl; also gzipped), a DataFrame, a data set of Hugging Face
    (one split), dictionaries, or (text, label) pairs, where a text may be a pair. text, text_pair, label: the columns;
    a column "text_pair" is read without being named. A label is a class's name in the model's config, in either case,
    or its number from 0; a string is taken for a name first. labels: {yours: the model's} where they differ.
    limit: only the first so many. truncation: cut texts that are too long.
    Nothing is run before a result is asked for; answers are kept. After Ctrl-C the next call goes on.
    Raises InputError that names row and column for what cannot be read, for labels that the model has not, and for
    examples of one class; ModelError for another model than a classifier of texts into one of several classes.
    """
    return Task(
        lens, examples_of(lens, examples, text, text_pair, label, labels, limit), batch_size, truncation, progress
    )


class Task:
    """See `bertlens.task`. Rows count from 0, in the order of the examples; C classes."""

    def __init__(self, lens: Lens, examples: Examples, batch_size: int, truncation: bool, progress: bool):
        self.lens, self.examples = lens, examples
        self.batch_size, self.truncation, self.progress = batch_size, truncation, progress
        self._logits = np.full((len(examples), len(examples.names)), np.nan)
        self._fingerprint = lens.borrowed.fingerprint()

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def names(self) -> list[str]:
        """The classes, in the order of the logits."""
        return self.examples.names

    @property
    def labels(self) -> np.ndarray:
        """(n,) the class of each example, by its number."""
        return self.examples.labels

    def check(self) -> None:
        """Raises ModelError where the model's weights are no longer those that the task began with."""
        if not self._fingerprint.holds(self.lens.borrowed.runner.parameters()):
            raise ModelError("the model has changed since this task was made: make it again, bl.task(lens, examples)")

    @property
    def logits(self) -> np.ndarray:
        """(n, C) float64, the model's answers: run when they are first asked for. Raises ModelError for NaN."""
        self.check()
        left = np.flatnonzero(np.isnan(self._logits[:, 0])).tolist()
        if left:
            from tqdm.auto import tqdm

            with tqdm(total=len(left), unit="text", desc="answers", delay=2, disable=not self.progress) as bar:
                for rows, inputs in batches(self.lens, self.examples, left, self.batch_size, self.truncation):
                    self._logits[rows] = checked(logits_of(self.lens, inputs), rows, self.examples).numpy()
                    bar.update(len(rows))
        return self._logits

    @property
    def guesses(self) -> np.ndarray:
        """(n,) the class with the highest logit."""
        found: np.ndarray = self.logits.argmax(1)
        return found

    @property
    def table(self) -> pd.DataFrame:
        """DataFrame(row, text, text_pair (of pairs), label, guess, right, probability, margin, loss), an example a row.

        probability: of the guess, in [0, 1]; margin: the label's logit less the highest other one, below 0 where the
        guess is wrong; loss: −log p(label), nats.
        """
        import pandas as pd

        logits, names = self.logits, np.array(self.names, dtype=object)
        texts = self.examples.texts
        found: dict[str, Any] = {"row": np.arange(len(self)), "text": [text[0] for text in texts]}
        if any(len(text) > 1 for text in texts):
            found["text_pair"] = [text[1] for text in texts]
        found |= {"label": names[self.labels], "guess": names[self.guesses], "right": self.labels == self.guesses}
        found["probability"] = scores.softmax(logits).max(1)
        found["margin"] = scores.margins_of(self.labels, logits)
        found["loss"] = scores.losses_of(self.labels, logits)
        return pd.DataFrame(found)

    def metrics(self) -> pd.DataFrame:
        """DataFrame(measure, label, value, low, high, n, note): scores by scikit-learn, with their 95 % intervals.

        Of all: accuracy, macro-F1 (the mean over classes that occur as label or guess), Matthews' correlation in
        [-1, 1], log loss in nats, calibration error in [0, 1] (ten bins). Of each class: precision, recall, F1; NaN
        where nothing was guessed so, or nothing is so. low, high: where the number over all such examples lies, drawn
        independently: Wilson's for shares (n: of how many), for F1 Wilson's of TP / (TP + FP + FN), Student's t for the
        loss, the delta method for macro-F1 and Matthews. NaN, and `note` says why, below 50 (macro-F1, Matthews: 200).
        Raises InputError where scikit-learn is not installed.
        """
        return scores.metrics_table(self.labels, self.logits, self.names)

    def confusion(self) -> pd.DataFrame:
        """(C, C) how many examples of a label (rows) were guessed to be what (columns). `cell` has their texts."""
        import pandas as pd

        m = scores.sklearn_metrics()
        counts = m.confusion_matrix(self.labels, self.guesses, labels=list(range(len(self.names))))
        names = [pd.Index(self.names, name=name) for name in ("label", "guess")]
        return pd.DataFrame(counts, index=names[0], columns=names[1])

    def cell(self, label: str, guess: str) -> pd.DataFrame:
        """The examples of a cell of the confusion matrix, as rows of `table`, the largest loss first.

        Raises InputError for a class that does not exist.
        """
        for name in (label, guess):
            if name not in self.names:
                raise InputError(f"no label {name!r:.40}: there are {', '.join(self.names[:20])}")
        table = self.table
        chosen = table[(table["label"] == label) & (table["guess"] == guess)]
        return chosen.sort_values("loss", ascending=False, kind="stable")

    def calibration(self, bins: int = scores.BINS) -> pd.DataFrame:
        """DataFrame(from, to, n, confidence, accuracy, low, high): is a guess right as often as its probability says?

        Bins of the guess's probability, of equal width. confidence: its mean in the bin; low, high: Wilson's 95 %
        interval of the accuracy, NaN below 50 examples. Raises InputError for fewer than 2 or more than 100 bins.
        """
        if isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= 100:
            raise InputError(f"bins must be from 2 to 100, not {bins!r:.40}")
        return scores.calibration_table(self.labels, self.logits, bins)

    def __repr__(self) -> str:
        return f"Task({self.lens.model_name}, {len(self):,} examples, {len(self.names)} classes)"
