"""A model and labelled examples of what it is for: how good it is, where it is wrong, and which parts it needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.registered import registered
from ..errors import InputError
from . import scores
from .ablations import FEWEST_DRAWS
from .against import TEXTS, Against, against
from .answers import Answered
from .examples import examples_of
from .importance import Heads, heads
from .mistakes import Errors, errors
from .page import write
from .slices import slices

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


class Task(Answered):
    """See `bertlens.task`. Rows count from 0, in the order of the examples; C classes."""

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
        return scores.confusion_table(self.labels, self.guesses, self.names)

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

    def heads(
        self,
        chosen: int | str = 10,
        ablation: str = "zero",
        measure: str = "loss",
        draws: int = FEWEST_DRAWS,
        seed: int = 0,
    ) -> Heads:
        """What each head and each MLP matters to the task: `.table`, `.findings`, `.pruning()`, `.agreement`, `.said`.

        On one half of the examples (drawn with `seed`) a backward pass a batch estimates for every part what the mean
        loss would gain without it (first order, Michel et al. 2019, eq. 2). `chosen` parts with the largest estimates,
        and as many of the others at random ("all": every part), are then taken out of every text of the other half, one
        after the other, and their effects have intervals and a test, paired by text. measure: "loss" or "accuracy",
        what effects are of. ablation: "zero" switched off; "mean" at its mean over 32 texts of the first half;
        "resample" as it was in one of these, the mean of `draws` ≥ 5. The cost is printed before the runs begin; after
        Ctrl-C the texts that were done count. A head's effect is what the task loses without it while all others stay:
        heads that stand in for each other may both have small ones.
        Raises InputError for fewer than 20 examples and other arguments, ModelError where heads cannot be changed.
        """
        return heads(self, chosen, ablation, measure, draws, seed)

    def errors(self, n: int = 20, words: bool = True) -> Errors:
        """Where it is wrong: `.table` of the n examples with the largest loss, `.duplicates`, `.slices`, `.said`.

        Of each example the words that its answer rests on and how faithful they are (by occlusion, some 210 runs of the
        text and one for each token; words=False leaves them out), the nearest right text of its class, and a
        near-duplicate with another label. Raises InputError for n < 1.
        """
        return errors(self, n, words)

    def slices(self) -> pd.DataFrame:
        """DataFrame(kind, slice, n, wrong, rate, low, high, rate_outside, p, p_holm, finding), the smallest p first.

        Slices: the shortest and the longest third by words, each class, texts with each of the 50 most frequent words
        (of pairs, of each of the two texts), if they have 10 examples inside and outside. rate: the share of wrong
        answers, with Wilson's 95 % interval. p: of as many wrong answers or more where the slice says nothing of being
        wrong (Fisher's exact test, one-sided); p_holm: adjusted by Holm for all slices; finding: p_holm ≤ .05.
        """
        return slices(self)

    def against(self, other_lens: Lens, texts: int = TEXTS, seed: int = 0) -> Against:
        """This model beside another one on the same examples, as after and before a fine-tuning: the other is before.

        `.table` says example by example what was fixed, broken, is still wrong; `.heads` which heads' attention turned,
        over `texts` of the examples, drawn with `seed`; `.compare(row)` opens one example in both. Classes are matched
        by name. Raises ModelError for a model with other classes, InputError for other arguments.
        """
        return against(self, other_lens, texts, seed)

    def to_html(self, path: str | Path, *, heads: Heads | None = None, errors: Errors | None = None) -> None:
        """Write one page of plain tables, which needs nothing else: scores, confusion, calibration, 200 examples.

        heads, errors: results of these methods, to stand in it too. Raises ExportError where it cannot be written.
        """
        write(path, self, heads, errors)

    def explore(self, **selection: Any) -> Any:
        """The examples as a view: a table, scores, confusion, heads; a click on one runs it below. A TaskView, which
        takes these arguments. Runs the model on all examples where that was not done yet."""
        return registered("task_view")(self, **selection)

    def __repr__(self) -> str:
        return f"Task({self.lens.model_name}, {len(self):,} examples, {len(self.names)} classes)"
