"""What words a model's answers go by: found over all examples, said, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...base.amounts import amount, verb
from ...base.dataframes import pd
from ...base.quotes import quotation
from ...base.ranking import signed
from ...errors import InputError, check_lens, check_number, check_seed, excerpt
from ...measures.significance import FOUND
from ..model_comparison import same_examples
from ..task_answers import Answered
from .counter_examples import counter_examples
from .other_model import changes, changes_said
from .part_effects import (
    DRAWN,
    FEW,
    TEXTS,
    FeatureEffects,
    FeatureEstimates,
    RunPlan,
    drawn_plan,
    effects_of,
    estimates_of,
    ways_of,
    whole_plan,
)
from .readings import AnswerReading, check_read
from .text_parts import ORDER, PAIR, PIECE, PLACE, SIDES, WORD, Feature
from .tried_parts import FEWEST, TriedFeatures, tried_features
from .word_table import NAMED, least, means_of, more_wrong, tested, with_holm, word_table
from .words_file import write_words

RUNS = 20_000  # texts that are run without a word, at most, where not said otherwise
SAID = 0.005  # the least effect that two decimals show
WAYS = {"mask": "the mask in its place", "delete": "taken out of the text"}


@dataclass(frozen=True, eq=False, repr=False)
class TaskWords:
    """What words a model goes by, see `Task.words`.

    table: DataFrame, a row for each class and part, the largest first: by the end of its interval that is nearer to 0.
    class: whose log-odds; "" of a number. kind: "word"; "pair", two words side by side; "piece" of words, "…" where
    they go on; "place", a word in one place of the text; "order", two words side by side against the same in the other
    order. of: of pairs of texts, which. texts: how many hold it; run: in how many of these it was hidden.
    effect: what the log-odds lose without it, the mean over texts, and its 95 % interval, low and high; above 0 it
    speaks for the class. By the mask in its place, or by deletion where the tokenizer has no mask; deletion: by
    deletion; disagree: the two have other signs. matched: the mean effect of up to ten of its kind in about as many
    texts, matched_n; matched_as_far: how many of these move the class as far. beyond, with its interval: the effect
    less what was to be expected: of words and pieces `matched`, of pairs the effects of both words where they stand
    otherwise, of a place that of the word elsewhere, of an order that of the other one; NaN where there is no such
    text. p: Welch's t of `beyond`; p_holm: by Holm for all parts of all classes that were tried; finding: p_holm ≤ .05.
    estimate: by one backward pass, over all its texts. errors: of the run texts, those guessed to be of this class and
    labelled otherwise; turned: how many are not without it; turned_share, and matched_turned_share of the matched ones.
    With it label_with, without it label_without is the share of texts of this label; p_label: that a difference towards
    the effect is no chance (Fisher's exact test, one-sided). suspect: see `suspects`. wrong: how many texts
    with it are wrong, rate: their share, rate_outside: that of texts without it; p_wrong: that so many or more are is
    chance (Fisher's exact test, one-sided), p_wrong_holm: by Holm for all parts. least: what the rows are sorted by;
    an order that is found stands before its pair where its `beyond` reaches that of the pair.
    estimates: DataFrame(class, kind, word, of, texts, estimate) of all parts that were tried, where not all was run.
    error: by how much at most an estimate was off, of parts that were drawn; None where all was run.
    changes: against another model, see `Task.words`; None without one.
    """

    table: pd.DataFrame
    tried: int  # parts
    runs: int  # texts that were run without a part
    texts: int
    error: float | None
    changes: pd.DataFrame | None
    unit: str  # "log-odds", of numbers "the label’s unit"
    effects: FeatureEffects = field(compare=False)
    features: list[Feature] = field(compare=False)  # that were run
    task: Answered = field(compare=False)  # whose words they are

    @property
    def estimates(self) -> pd.DataFrame:
        """See the class."""
        rows = [
            (name, feature.kind, feature.name, feature.side, len(numbers), float(value))
            for feature, numbers in self.effects.estimates.items()
            for name, value in zip(self.effects.names, numbers.mean(0), strict=True)
        ]
        return pd.DataFrame(rows, columns=["class", "kind", "word", "of", "texts", "estimate"])

    @property
    def suspects(self) -> pd.DataFrame:
        """The rows of the table that are findings, beyond a quarter of the standard deviation of the class's log-odds,
        and that the labels do not account for: no association that way (p_label > .05), or one that rests on fewer than
        10 texts. Those that raise a class."""
        return self.table[self.table["suspect"] & (self.table["effect"] > 0)].reset_index(drop=True)

    def cases(self, word: str, of: str = "") -> pd.DataFrame:
        """The examples that hold a word of the table: rows of `Task.table`, the largest loss first.

        of: of pairs of texts "first text" or "second text", as the table has it; "": in either. Raises InputError for
        another word, and for a text that it is not tried in.
        """
        features = [feature for feature in self.features_named(word) if of in ("", SIDES[feature.side])]
        if not features:
            raise InputError(f"{excerpt(word)} is in no row of the table of {excerpt(of)}: its column of has those")
        rows = {row for feature in features for row in self.effects.features.occurrences[feature]}
        return self.task.table.loc[sorted(rows)].sort_values("loss", ascending=False, kind="stable")

    def counter_examples(self, words: Sequence[str], path: str | Path | None = None) -> pd.DataFrame:
        """DataFrame(text, text_pair (of pairs), label, row, word, change): what to train on next, so that a word alone
        does not decide: each example that holds one of these words without it, and with another word of about as many
        texts in its place; the label stays.

        words: of the table's, of kind "word". path: a .csv or .parquet file to write it to. Look through it: a word
        that the label is about takes the label with it. Raises InputError for other words, ExportError for a file that
        cannot be written.
        """
        return counter_examples(self.task, self.table, self.effects, self.features_named, words, path)

    def save(self, path: str | Path, n: int = 30) -> Path:
        """The first n words as JSON, with their effects in up to 100 texts each, to which `bertlens task … --check`
        holds a later model. Raises ExportError; InputError for n < 1."""
        n = check_number(n, "n is how many words to write,", 1)
        model, texts = self.task.lens.model_name, self.task.examples.texts
        return write_words(self.table, self.effects, texts, model, path, n)

    def features_named(self, word: str) -> list[Feature]:
        """What is in the table by the name of this word. Raises InputError where there is none."""
        if matches := [feature for feature in self.features if feature.name == word]:
            return matches
        raise InputError(f"no word {excerpt(word)} in the table: its column word has those that were run")

    @property
    def said(self) -> str:
        """What was found, and how it was measured, in a few sentences."""
        sentences = []
        for name in self.effects.names:
            rows = self.table[(self.table["class"] == name) & self.table["finding"] & (self.table["effect"] >= SAID)]
            if len(rows):
                goes = "The number goes up" if not name else f"{quotation(name)} goes"
                sentences.append(f"{goes} most by {', '.join(map(described, rows.head(NAMED).to_dict('records')))}.")
        if not sentences:
            sentences.append("No word can be told from words matched in count.")
        suspects = self.suspects
        if len(suspects):
            count = f"{amount(len(suspects), 'suspect')} that the labels do not account for"
            sentences.append(f"{count}: {suspected(suspects.iloc[0].to_dict(), self)}.")
        table = self.table[(self.table["kind"] == WORD) & (self.table["p_wrong_holm"] <= FOUND)]
        worse = table.sort_values("p_wrong", kind="stable").drop_duplicates(["word", "of"]).head(NAMED)
        if len(worse):
            named = ", ".join(map(self._with_wrong, worse.to_dict("records")))
            sentences.append(f"More is {self.task.kind.wrong_is} than chance would make it in texts with {named}.")
        turned = int((self.table["disagree"] & self.table["finding"]).sum())
        if turned:
            are = verb(turned, "row moves", "rows move")
            sentences.append(f"{turned} {are} a class the other way when deleted.")
        if self.changes is not None:
            sentences.append(changes_said(self.changes))
        return " ".join([*sentences, self.measured])

    def _with_wrong(self, row: dict[str, Any]) -> str:
        outside = int(self.task.wrong.sum()) - row["wrong"], self.texts - row["texts"]
        return f"{quotation(row['word'])} ({row['wrong']} of {row['texts']:,}, others {outside[0]} of {outside[1]:,})"

    @property
    def measured(self) -> str:
        """How, in a sentence or two."""
        way = WAYS[self.effects.ways[0]]
        texts = f"{amount(self.tried, 'part')} of {amount(self.texts, 'text')} tried, each {way}"
        unit = f"effects in {self.unit} (Welch’s t, Holm, 5 %)"
        if self.texts < 2:
            return f"{texts}; one text: no interval and no test."
        if self.error is None:
            return f"{texts}; {unit}."
        if not self.effects.estimates:
            return f"{texts}, {amount(len(self.features), 'part')} of them run in some texts; {unit}."
        probes = len(self.effects.plan.probes)
        return (
            f"{texts}: estimated by one backward pass for each class, {amount(len(self.features), 'part')} of them run "
            f"in up to {TEXTS} texts; {unit}. An estimate was off by {self.error:.2g} at most, in {probes} drawn parts."
        )

    def __repr__(self) -> str:
        return f"TaskWords({self.said})"


def described(row: dict[str, Any]) -> str:
    """A part in a sentence, with its effect."""
    word = quotation(row["word"].removesuffix(")").split(" (")[0] if row["kind"] == PLACE else row["word"])
    if row["kind"] == PLACE:
        word += f" as {row['word'].removesuffix(')').split(' (')[-1]}".replace("as first third", "in the first third")
        word = word.replace("as middle third", "in the middle third").replace("as last third", "in the last third")
    kind = {PAIR: " (two words)", PIECE: " (a piece)", ORDER: " (in this order)"}.get(row["kind"], "")
    return f"{word}{kind} ({signed(row['effect'], '+.2f')} in {amount(row['texts'], 'text')})"


def suspected(row: dict[str, Any], words: TaskWords) -> str:
    """A suspect in a sentence, with what would be said of a word matched in count."""
    task = words.task
    labels = f", {round(row['label_with'] * row['texts'])} of them {row['class']}" if task.names else ""
    to = f"moves {row['class']} by " if row["class"] else "moves the number by "
    count = f"in {amount(row['texts'], 'text')}{labels}"
    matched = "" if math.isnan(row["matched"]) else f"; a word matched in count by {signed(row['matched'], '+.2f')}"
    return f"{quotation(row['word'])}, {count}, {to}{signed(row['effect'], '+.2f')}{matched}"


def task_words(task: Answered, n: int, runs: int, seed: int, against: Any = None) -> TaskWords:
    """See Task.words."""
    n = check_number(n, "n is how many words of each class to run where not all can be,", 1)
    runs, seed = check_number(runs, "runs is how many texts to run without a word,", 1), check_seed(seed)
    check_read(task)
    if against is not None:
        check_lens(against)
    records, reading = task.records, AnswerReading(task)
    features = tried_features(task)
    if not features.occurrences:
        raise InputError(f"no word stands in {FEWEST} of these {len(task):,} examples: give more of them")
    plan, estimates = plan_of(task, features, n, runs, seed)
    effects = effects_of(task, features, plan, estimates)
    spread = np.array([reading(record, row)[0] for row, record in enumerate(records)]).std(0)
    sample = [*plan.sample]
    error = None if effects.errors is None else float(effects.errors.max())
    if estimates is None and plan.sample.keys() != features.occurrences.keys():
        error = math.nan  # of tags: nothing is estimated
    table = word_table(task, effects, sample, spread)
    unit = "log-odds" if task.names else "the unit of its answers"
    beside = None if against is None else changes(task, same_examples(task, against), effects)
    return TaskWords(
        table, len(features.occurrences), effects.runs, len(task), error, beside, unit, effects, sample, task
    )


def needs_estimates(task: Answered, runs: int) -> bool:
    """Whether so many runs do not reach, and there is something to estimate."""
    if task.kind.name == "tags":
        return False
    features = tried_features(task)
    return len(ways_of(task)) * len(whole_plan(features).removals(features)) > runs


def plan_of(
    task: Answered, features: TriedFeatures, n: int, runs: int, seed: int
) -> tuple[RunPlan, FeatureEstimates | None]:
    """Everything where so many runs reach; else what estimates choose, or of tags what is in most texts."""
    ways = len(ways_of(task))
    complete = whole_plan(features)
    if ways * len(complete.removals(features)) <= runs:
        return complete, None
    if task.kind.name == "tags":  # an answer at each word: there is no one number to have the slope of
        often = sorted(features.occurrences, key=lambda feature: -len(features.occurrences[feature]))
        texts = TEXTS
        while texts > FEW and ways * len(drawn_plan(features, often, texts, seed, 0).removals(features)) > runs:
            texts //= 2
        size = len(often)
        while size > 1 and ways * len(drawn_plan(features, often[:size], texts, seed, 0).removals(features)) > runs:
            size //= 2
        return drawn_plan(features, often[:size], texts, seed, 0), None
    estimates = estimates_of(task, features)
    wrong = more_wrong(task, features)
    worse = sorted((feature for feature in wrong if wrong[feature][1] <= FOUND), key=lambda feature: wrong[feature][0])
    parts = list(dict.fromkeys([*chosen(estimates, n), *worse[:n]]))
    return drawn_plan(features, parts, TEXTS, seed, DRAWN), estimates


def chosen(estimates: FeatureEstimates, n: int) -> list[Feature]:
    """For each class the n parts with the largest estimates beyond what was to be expected."""
    features, size = [*estimates.features.occurrences], len(estimates.names)
    rows = with_holm(tested(estimates, features, size, means_of(estimates, features)), len(features), size)
    best: dict[Feature, None] = {}
    for k in range(size):
        sample = sorted((row for row in rows if row["k"] == k), key=lambda row: (-least(row), -abs(row["effect"])))
        best |= dict.fromkeys(row["part"] for row in sample[:n])
    return list(best)
