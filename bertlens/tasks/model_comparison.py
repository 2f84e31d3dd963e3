"""Two models on one set of labelled examples, as before and after a fine-tuning: what changed, which heads turned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..base.amounts import amount
from ..base.dataframes import pd
from ..base.progress import Progress
from ..base.ranking import is_nothing, signed
from ..base.registered import registered
from ..comparison import Comparison, compare
from ..errors import InputError, ModelError, check_number, check_seed, excerpt
from ..lens import Lens
from ..measures.significance import paired, positive_mean_interval
from ..trace.trace import Trace
from ..whatif.head_study import HeadSite
from .ablations import FEWEST_DRAWS
from .effect_changes import Turned, turned
from .importance import heads
from .kinds import kind_of, one_each
from .task_answers import Answered

CHANGES = {(False, True): "fixed", (True, False): "broken", (False, False): "still wrong", (True, True): "still right"}
LN2 = math.log(2)  # a divergence is not larger
TEXTS = 32  # that attention is compared on


@dataclass(frozen=True, eq=False, repr=False)
class Against:
    """A task's model beside another one, see `Task.against`: `before` is the other one.

    table: DataFrame(row, text, text_pair (of pairs), label, before, guess, change, loss_before, loss), what changed
    most first. change: fixed, broken, still wrong, still right. heads: DataFrame(part, layer, head, distance, low,
    high), what turned most first: the Jensen-Shannon divergence of a head's attention before and after, nats in
    [0, ln 2], its mean over texts with its 95 % interval; without rows where heads are not those of one training, and
    `note` says why. accuracy: (after − before, low, high, p), McNemar's exact test.
    """

    table: pd.DataFrame
    heads: pd.DataFrame
    accuracy: tuple[float, float, float, float]
    note: str
    texts: int  # that heads were compared on
    before: Answered = field(compare=False)
    after: Answered = field(compare=False)

    @property
    def counts(self) -> dict[str, int]:
        """How many examples were fixed, broken, are still wrong, still right."""
        counts = self.table["change"].value_counts()
        return {name: int(counts.get(name, 0)) for name in CHANGES.values()}

    @property
    def said(self) -> str:
        """What changed, in a few sentences."""
        mean, low, high, p = self.accuracy
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        turned = [site for site, nats in self.heads[["part", "distance"]].to_numpy()[:5] if not is_nothing(nats)]
        sentence = (
            f"Turned most, over {amount(self.texts, 'text')}: {', '.join(turned)}"
            if turned
            else f"No head turned, over {amount(self.texts, 'text')}"
        )
        heads = f" {sentence}." if len(self.heads) else ""
        chance = "p < .001" if p < 0.001 else f"p = {p:.3f}"
        accuracy = f"Accuracy {signed(mean, '+.3f')} ({signed(low, '+.3f')} to {signed(high, '+.3f')}), {chance}."
        return f"Of {amount(len(self.table), 'example')}: {counts}. {accuracy}{heads}"

    def trace_before(self, row: int) -> Trace:
        """The run of an example by the other model."""
        return _trace(self.before, row)

    def compare(self, row: int) -> Comparison:
        """One example in both models, side by side: `.explore()` opens it. Raises InputError for a row there is not."""
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < len(self.after):
            raise InputError(f"no example {excerpt(row)}: choose a row from 0 to {len(self.after) - 1}")
        return compare(*(_trace(task, int(row)) for task in (self.before, self.after)))

    def effects(
        self,
        chosen: int | str = 10,
        ablation: str = "zero",
        measure: str = "loss",
        draws: int = FEWEST_DRAWS,
        seed: int = 0,
    ) -> Turned:
        """Which heads and MLPs matter now and did not: `Task.heads` of both models, of the same parts and texts.

        Parts are chosen that either model has large estimates of, on one half of the examples; the difference of the
        two effects is measured on the other half, paired by text. Arguments and errors: those of `Task.heads`.
        Raises ModelError where heads are not those of one training.
        """
        if not len(self.heads):
            raise ModelError(f"no head here is one of the other model: {self.note}")
        options = (chosen, ablation, measure, draws, seed)
        effects = heads(self.after, *options, beside=self.before)
        return turned(heads(self.before, *options, beside=self.after), effects)

    def explore(self, **selection: Any) -> Any:
        """The examples as a view, `Task.explore`, with what changed beside them."""
        return registered("task_view")(self.after, against=self, **selection)

    def __repr__(self) -> str:
        return f"Against({self.said})"


def against(after: Answered, other: Lens, texts: int, seed: int) -> Against:
    """See Task.against."""
    if not isinstance(other, Lens):
        raise InputError(f"against takes another lens, not {type(other).__name__}: bl.Lens(model, tokenizer)")
    texts = check_number(texts, "texts is how many to compare attention on,", 2)
    seed = check_seed(seed)
    if not after.kind.has_right:
        raise InputError(f"{after.kind.lacks} has no right and wrong: make a task of each model and compare .metrics()")
    other_task = same_examples(after, other)
    was, now = (task.right == 1 for task in (other_task, after))
    tables = [task.table for task in (other_task, after)]  # classes may have another order
    table = tables[1][[name for name in ("row", "text", "text_pair", "label") if name in tables[1]]].copy()
    table["before"], table["guess"] = (table_of_task["guess"] for table_of_task in tables)
    table["change"] = [CHANGES[bool(a), bool(b)] for a, b in zip(was, now, strict=True)]
    table["loss_before"], table["loss"] = (task.losses for task in (other_task, after))
    order = (table["loss"] - table["loss_before"]).abs().sort_values(ascending=False, kind="stable").index
    differences = now.astype(float) - was.astype(float)
    change = paired(differences, True, 1) if len(after) > 1 else (float(differences[0]), np.nan, np.nan, 1.0)
    rows = np.random.default_rng(seed).permutation(len(after))[:texts].tolist()
    distances, note = _distances(other_task, after, rows)
    records = [
        (str(HeadSite(layer, head)), layer, head, mean[layer, head], low[layer, head], min(high[layer, head], LN2))
        for mean, low, high in ([positive_mean_interval(distances)] if len(distances) > 1 else [])
        for layer in range(mean.shape[0])
        for head in range(mean.shape[1])
    ]
    heads = pd.DataFrame(records, columns=["part", "layer", "head", "distance", "low", "high"])
    heads = heads.sort_values("distance", ascending=False, kind="stable", ignore_index=True)
    return Against(table.loc[order].reset_index(drop=True), heads, change, note, len(distances), other_task, after)


def same_examples(task: Answered, other: Lens) -> Answered:
    """The examples with the other model's classes. Raises ModelError where these are not the same by name."""
    kind = kind_of(other)
    if kind.name != task.kind.name:
        raise ModelError(f"the other model is asked for {kind.asks}, this one for {task.kind.asks}")
    if not kind.names:
        if kind.name == "words" and task.lens.tokenizer.get_vocab() != other.tokenizer.get_vocab():
            raise ModelError("the other model has another vocabulary, so that a masked word is no one label")
        return Answered(other, replace(task.examples, kind=kind), task.batch_size, task.truncation, task.progress)
    names = kind.names
    if sorted(names) != sorted(task.names) or len(set(names)) != len(names):
        raise ModelError(f"the other model has the classes {', '.join(names[:8])}, not {', '.join(task.names[:8])}")
    numbers = np.array([names.index(name) for name in task.names])
    labels = one_each([numbers[label] for label in task.labels], task.labels.dtype)
    examples = replace(task.examples, kind=kind, labels=labels)
    return Answered(other, examples, task.batch_size, task.truncation, task.progress)


def _trace(task: Answered, row: int) -> Trace:
    task.check()
    return task.lens.run([task.examples.encoding(task.lens, row, task.truncation)])[0]


def _distances(before: Answered, after: Answered, rows: Sequence[int]) -> tuple[np.ndarray, str]:
    """(texts, L, H) how far apart each head's attention is; none, and why, where heads are not the same ones."""
    distances = []
    note = ""
    with Progress(total=len(rows), unit="text", desc="attention", delay=2, disable=not after.progress) as bar:
        for row in rows:
            pair = compare(_trace(before, row), _trace(after, row))
            note = pair.note
            if not pair.same_heads:
                return np.zeros((0, 0, 0)), note
            distances.append(pair.heads.cpu().numpy())
            bar.update()
    return np.stack(distances), note
