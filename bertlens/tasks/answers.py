"""A model's answers on labelled examples: run once, when they are asked for, and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from . import scores
from .examples import Examples
from .passes import batches, checked, logits_of
from .progress import bar

if TYPE_CHECKING:
    import pandas as pd

    from ..lens import Lens


class Answered:
    """A model and labelled examples. Rows count from 0, in the order of the examples; C classes."""

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
            with bar(len(left), "text", "answers", self.progress) as shown:
                for rows, inputs in batches(self.lens, self.examples, left, self.batch_size, self.truncation):
                    self._logits[rows] = checked(logits_of(self.lens, inputs), rows, self.examples).numpy()
                    shown.update(len(rows))
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
