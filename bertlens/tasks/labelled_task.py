"""A model and labelled examples of what it is for: how good it is, where it is wrong, and which parts it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..base.amounts import amount
from ..base.atomic import text_file
from ..base.dataframes import pd
from ..base.registered import registered
from ..errors import BertLensError, InputError, check_number, excerpt
from ..export.space import SpaceSource
from ..lens import Lens
from ..measures.significance import Sizes
from ..search.edits import FILLERS
from . import scores
from .ablation_effects import effects
from .ablations import FEWEST_DRAWS
from .cluster import on_cluster
from .examples import examples_of
from .importance import Heads, heads
from .layer_scores import LAYERED, layers
from .mistakes import Errors, errors
from .model_comparison import TEXTS, Against, against
from .subgroups import slices
from .task_answers import Answered
from .task_page import corpus_of, notebook_card, page_of
from .words import RUNS, TaskEdits, TaskWords, task_edits, task_words


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
    keep: str | Path | None = None,
) -> Task:
    """A model and labelled examples of what it is for. What that is, its head says: `Task.kind`.

    A classifier of texts or pairs has one class for each; a regression a number; a classifier of tokens a tag for each
    word; a masked language model the word at the one [MASK] of each text, one token; a cross-encoder and an encoder of
    sentences a score for a pair of texts, beside which the model's own is read.
    examples: a file (.csv, .tsv: the separator is found; .jsonl, .json, .parquet; also gzipped; of tags .conll, a word
    a line), a folder of such tables, "hf://datasets/OWNER/NAME#SPLIT", a table (pandas, polars, Arrow, {name: column}),
    a data set of Hugging Face (one split, also streaming), dictionaries, or (text, label) pairs, where a text may be a
    pair. text, text_pair, label: the columns; a column "text_pair" is read without being named. Words and tags are
    lists, also as a frame's .to_csv writes them, or texts with a space between two.
    A class or tag is its name in the model's config, in either case; of classes that numbers name ("-1", "1 star") its
    number; else its place from 0. Names that a data set has for its numbers are names. 1, 1.0 and "1" are one label.
    Tags of entities may be written in another scheme than the model's. Where a label could be read in two ways a
    warning says which was taken; `Task.notes` has it, too. labels: {yours: the model's} where they differ. limit: only
    the first so many, with a note where their labels are not like those of the others. truncation: cut texts that are
    too long. Words that were cut or have no token have no answer.
    Nothing is run before a result is asked for; answers are kept. After Ctrl-C the next call goes on. keep: a folder
    for answers, effects and words of errors; a later task of this model and these examples takes them from there.
    Raises InputError that names row and column for what cannot be read, for labels that the model has not, and for
    examples of one class; ModelError for a model that answers otherwise, such as by a span or several labels.
    """
    labelled = examples_of(lens, examples, text, text_pair, label, labels, limit)
    return Task(lens, labelled, batch_size, truncation, progress, keep)


def by_layer(lens: Lens, pairs: Any, *, seed: int = 0, **options: Any) -> Sizes:
    """How well each layer of an encoder of sentences agrees with scores of pairs, as `Task.layers` has it.

    pairs: as the examples of `task`, such as ((text, text), score), which takes these options. Raises InputError for a
    model whose task is another, and as `task` and `Task.layers`.
    """
    of_pairs = task(lens, pairs, **options)
    if of_pairs.kind.name != "similarity":
        raise InputError("by_layer is of an encoder and scores of pairs: of a model with a head, bl.task(…).layers()")
    return of_pairs.layers(seed)


class Task(SpaceSource, Answered):
    """See `bertlens.task`, also for `keep`. Rows count from 0, in the order of the examples; C classes."""

    def metrics(self) -> pd.DataFrame:
        """DataFrame(measure, label, value, low, high, n, note): scores by scikit-learn, with their 95 % intervals.

        Of all: accuracy, macro-F1 (the mean over classes that occur as label or guess), Matthews' correlation in
        [-1, 1], log loss in nats, calibration error in [0, 1] (ten bins). Of each class: precision, recall, F1; NaN
        where nothing was guessed so, or nothing is so. low, high: where the number over all such examples lies, drawn
        independently; none leaves its number's range. Shares: Clopper and Pearson's (n: of how many); F1: theirs of
        TP / (TP + FP + FN), and macro-F1 those of all classes put together; Matthews: the delta method; the loss:
        Student's t on its logarithm. NaN, and `note` says why, below 50 (macro-F1, Matthews, log loss, reciprocal rank:
        200); macro-F1 with fewer than 5 examples of a class, Matthews with fewer than 5 beside the largest class, the
        loss with fewer than 3 wrong answers.

        Of numbers: Pearson's and Spearman's correlations (200 examples; no interval of Pearson's where guesses or
        labels are skewed by more than 2), the mean squared and absolute error; of scores in another unit than the
        labels the correlations alone. Of masked words: accuracy, the share with the word among the first five, the mean
        reciprocal rank, log loss. Of tags: the accuracy of words; where they spell entities, in IOB1, IOB2, IOE2,
        IOBES, BILOU or BMES (B-x or B_x), precision, recall and F1 of entities, of all and of each type, as seqeval's
        strict mode reads them: both ends and the type; else macro-F1 and the scores of each tag. Their intervals are
        over texts (`significance.share_interval`). `note` says why a score is NaN. Raises InputError where
        scikit-learn is not installed, and where no word has a token.
        """
        self._scored()
        return self.kind.metrics(self.records, self.labels)

    def confusion(self) -> pd.DataFrame:
        """(C, C) how many examples of a label (rows) were guessed to be what (columns). `cell` has their texts.

        Of tags it counts words. Raises InputError for a task without classes.
        """
        labels, logits, _ = self.kind.counted(self.records, self.labels)
        return scores.confusion_table(labels, logits.argmax(1), self.names)

    def cell(self, label: str, guess: str) -> pd.DataFrame:
        """The examples of a label with this guess, a cell of `confusion`: rows of `table`, the largest loss first.

        Of tags those with such a word. Raises InputError for a class that does not exist.
        """
        labels, logits, rows = self.kind.counted(self.records, self.labels)
        for name in (label, guess):
            if name not in self.names:
                raise InputError(f"no label {excerpt(name)}: there are {', '.join(self.names[:20])}")
        inside = (labels == self.names.index(label)) & (logits.argmax(1) == self.names.index(guess))
        return self.table.loc[np.unique(rows[inside])].sort_values("loss", ascending=False, kind="stable")

    def calibration(self, bins: int = scores.BINS) -> pd.DataFrame:
        """DataFrame(from, to, n, confidence, accuracy, low, high): is a guess right as often as its probability says?

        Bins of the guess's probability, of equal width. confidence: its mean in the bin; low, high: 95 % interval of
        the accuracy over examples, NaN below 50; of tags n counts words. Raises InputError for a task without
        classes, and for fewer than 2 or more than 100 bins.
        """
        bins = check_number(bins, "bins must be", 2, 100)
        return scores.calibration_table(*self.kind.counted(self.records, self.labels), bins)

    def heads(
        self,
        chosen: int | str = 10,
        ablation: str = "zero",
        measure: str = "loss",
        draws: int = FEWEST_DRAWS,
        seed: int = 0,
        client: Any = None,
    ) -> Heads:
        """What each head and each MLP matters to the task: `.table`, `.findings`, `.pruning()`, `.agreement`, `.said`.

        On one half of the examples (drawn with `seed`) a backward pass a batch estimates for every part what the mean
        loss would gain without it (first order, Michel et al. 2019, eq. 2). `chosen` parts with the largest estimates,
        and as many of the others at random ("all": every part), are then taken out of every text of the other half, one
        after the other, and their effects have intervals and a test, paired by text. measure: "loss" or "accuracy",
        what effects are of. ablation: "zero" switched off; "mean" at its mean over 32 texts of the first half;
        "resample" as it was in one of these, the mean of `draws` ≥ 5. The cost is printed before the runs begin; after
        Ctrl-C the texts that were done count. A head's effect is what the task loses without it while all others stay:
        heads that stand in for each other may both have small ones. client: as for
        `survey.head_stats`, workers that do the runs; no number changes, also where one of them dies.
        Raises InputError for fewer than 20 examples and other arguments, ModelError where heads cannot be changed.
        """
        sweep = effects if client is None else partial(on_cluster, client)
        return heads(self, chosen, ablation, measure, draws, seed, sweep)

    @property
    def has_layers(self) -> bool:
        """Whether `layers` can tell of such a task."""
        return self.kind.name in LAYERED

    def layers(self, seed: int = 0) -> Sizes:
        """Which layer knows the labels? `.table` has a row a layer, 0 the embeddings; `.said` is a few sentences.

        Of classes: the mean of each text's tokens after each layer, read by a ridge regression that is fitted on one
        half of the examples, drawn by `seed`, and measured on the other. mean, mean_low, mean_high: its accuracy there,
        with Clopper and Pearson's interval. difference, low, high, p: to the last layer, paired by text; untrained: the
        accuracy on the states of a model of this config before any training (its weights drawn by `seed`), and
        over_untrained, …: mean less that; Holm over all tests. better: low is above 0.

        Of similarities of pairs: two rows a layer, with vectors as they are and less their mean (centred). mean:
        Spearman's correlation with the labels; difference, low, high, p: to the last layer, by the influence functions
        of both, Holm over all rows. anisotropy: the mean cosine of different texts.

        `.choice`: the best layer of one half of what was measured, told on the other. Raises InputError for fewer than
        40 examples and other kinds of task, ModelError for a family without an adapter.
        """
        return layers(self, seed)

    def errors(self, n: int = 20, words: bool = True) -> Errors:
        """Where it is wrong: `.table` of the n examples with the largest loss, `.duplicates`, `.slices`, `.said`.

        Of each example the words that its answer rests on and how faithful they are (by occlusion, some 210 runs of the
        text and one for each token; words=False leaves them out), the nearest right text of its class, and a
        near-duplicate with another label. Raises InputError for n < 1.
        """
        return errors(self, n, words)

    def slices(self) -> pd.DataFrame:
        """DataFrame(kind, slice, n, wrong, rate, low, high, rate_outside, p, p_holm, finding), the smallest p first.

        Slices: the shortest and the longest third by words, each class, texts that the tokenizer cuts finely (in more
        than 2 pieces a word, or in pieces of fewer than 2 characters), if they have 10 examples inside and outside.
        rate: the share of wrong answers, with its 95 % interval. p: of as many wrong answers or more where the slice
        says nothing of being wrong (Fisher's exact test, one-sided); p_holm: adjusted by Holm for all slices; finding:
        p_holm ≤ .05. Texts with a word are told by `words`, in its columns wrong to p_wrong_holm.
        """
        return slices(self)

    def words(self, n: int = 30, *, runs: int = RUNS, against: Lens | None = None, seed: int = 0) -> TaskWords:
        """What words do its answers go by? `.table`, `.suspects`, `.said`, `.cases(word)`, `.counter_examples(words)`.

        Each word, two words side by side, piece of words, word in one place of the text and order of two words that 5
        examples hold is hidden in all of them, by the mask and by deletion, and what the log-odds of each class lose is
        told beside what words of about as many texts do. Of tags: of the answers at all other words, added; of a
        number, the number. Where that takes more than `runs` texts, a backward pass for each class estimates it over
        all examples; the n parts of each class with the largest estimates, and n in whose texts more is wrong than
        chance would make it, run in up to 40 texts each, and 59 drawn ones in up to 8, which say how far an estimate
        may be off. Of tags, which have no estimate, fewer texts of each part are run then, and of the rarest none. The
        table is descriptive of these examples, and of a model that reads a text that nobody wrote.
        against: another model, as before a fine-tuning: `.changes` has the effects in both. seed: of what is drawn.
        Raises InputError for masked words, for vectors of pairs and for arguments below 1; ModelError where
        estimates need a gradient and there is none, and for a model with other classes.
        """
        return task_words(self, n, runs, seed, against)

    def edits(
        self,
        *,
        words: Sequence[str] | None = None,
        frames: Sequence[str] | None = None,
        roles: Iterable[tuple[str, str]] | None = None,
        n: int = 200,
        fillers: Sequence[str] = FILLERS,
        seed: int = 0,
    ) -> TaskEdits:
        """Does an answer turn at *not*, another number, another name? `.table`, `.pairs`, `.said`.

        The first texts of up to n examples of each kind, drawn by `seed`, are edited by the rules of
        `Retrieval.probe`, which are for English; each is run beside the same text with a filler of as many tokens.
        words and frames: words of your own, and texts with {} where a word goes, that say nothing of the classes; an
        answer turns where it is another one than to the frame without a word. roles: (text, text) pairs in which who
        does it and who it is done to have changed places. fillers: words that change nothing.
        Of numbers: how far each moves them. Raises InputError for other answers, words without frames, other arguments.
        """
        return task_edits(self, words, frames, roles, n, fillers, seed)

    def against(self, other_lens: Lens, texts: int = TEXTS, seed: int = 0) -> Against:
        """This model beside other_lens on the same examples, as after and before a fine-tuning: the other is before.

        `.table` says example by example what was fixed, broken, is still wrong; `.heads` which heads' attention turned,
        over `texts` of the examples, drawn with `seed`; `.compare(row)` opens one example in both. Classes are matched
        by name. Raises ModelError for a model with other classes, InputError for other arguments.
        """
        return against(self, other_lens, texts, seed)

    def to_html(
        self,
        path: str | Path,
        *,
        heads: Heads | None = None,
        errors: Errors | None = None,
        words: TaskWords | None = None,
        live: int = 10,
    ) -> Path:
        """Write one page, which needs nothing else, and return where it is: the view of the examples (`explore`), and
        below it, as plain tables, errors, words, scores, confusion, calibration, 200 examples.

        heads, errors, words: results of these methods, to stand in it too. live: of how many texts, those with the
        largest loss, the view has the run, as far as 14 MB reach; 0 leaves the view out. Raises ExportError where it
        cannot be written, InputError for a number below 0.
        """
        live = min(check_number(live, "live is how many texts to show the heads of,", 0), len(self))
        for argument, kind, way in (
            (heads, Heads, "task.heads()"),
            (errors, Errors, "task.errors()"),
            (words, TaskWords, "task.words()"),
        ):
            if not isinstance(argument, kind | None):
                raise InputError(f"what {way} gave stands in a page, not {excerpt(argument)}")
        return text_file(page_of(self, heads, errors, live, words), path)

    def _rights(self, page: Mapping[str, Any]) -> tuple[Any, str, bool]:
        return self.lens, corpus_of(self), False

    def explore(self, **selection: Any) -> Any:
        """The examples as a view: a table, scores, confusion, heads; a click on one runs it below. A TaskView, which
        takes these arguments. Runs the model on all examples where that was not done yet."""
        return registered("task_view")(self, **selection)

    def _repr_html_(self) -> str:
        """What it is of, and the scores of all examples where these were run; nothing is run for it."""
        try:
            return notebook_card(self)
        except BertLensError:  # the model has changed since, or scikit-learn is not there
            return f"<p>{escape(repr(self))}</p>"

    def __repr__(self) -> str:
        what = f"{len(self.names)} classes" if self.names else self.kind.asks
        return f"Task({self.lens.model_name}, {amount(len(self), 'example')}, {what})"
