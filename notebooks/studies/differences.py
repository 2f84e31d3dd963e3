"""Which heads look elsewhere: when two words change places, when a head is off, after training went on.

Everything is the Jensen-Shannon divergence of rows of attention, in nats, over many sentences. Arrays: (texts, …).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bertlens.comparison.runs import compare
from bertlens.lens import Lens
from bertlens.survey import HeadStats, head_stats, mean_text
from bertlens.whatif import off

from .finding import Count, Finding, lengths, texts_of

OFF = (1, 8)  # the head that is switched off: the one that looks at the next word
STATISTICS = ["previous", "next", "self", "first", "entropy"]


def exchanged(text: str) -> str:
    """The two words in the middle in the other order."""
    words = text.split()
    middle = len(words) // 2
    words[middle - 1 : middle + 1] = words[middle - 1 : middle + 1][::-1]
    return " ".join(words)


class Differences:
    """Counts over the first sentences of pairs; the second ones are the sentences to compare with."""

    def __init__(self, lens: Lens, pairs: Sequence[tuple[str, str]]) -> None:
        self.lens, self.sentences = lens, [a for a, _ in pairs]
        self.others = [second for _, second in pairs]
        self.traces = [lens.trace(text) for text in self.sentences]
        self.layers = [f"L{number}" for number in range(self.traces[0].n_layers)]

    def __repr__(self) -> str:
        return lengths(self.traces)

    def name(self, at: Any) -> str:
        """ "L1·H8" of a head by its number among all."""
        layer, head = divmod(int(at), self.traces[0].n_heads)
        return f"L{layer}·H{head}"

    @Count
    def stats(self) -> HeadStats:
        return head_stats(self.lens, self.sentences, progress=False)

    @Count
    def order(self) -> Finding:
        """Two words exchanged, `by_order`, beside another sentence, `by_other`: (texts, layers, heads); `most`
        heads that differ most, `previous` (layers, heads) weight on the token before."""
        trace = self.lens.trace
        by_order, by_other = (
            _heads([compare(run, trace(text)) for run, text in zip(self.traces, texts, strict=True)])
            for texts in (map(exchanged, self.sentences), self.others)
        )
        previous, n = self.stats.values("previous"), len(by_order)
        top = by_order.mean(0).ravel().argsort()[::-1][:5]
        alone = sum(int(run.argmax()) == top[0] for run in by_order)
        five = ", ".join(f"{self.name(at)} (weight on the previous token {previous.ravel()[at]:.2f})" for at in top)
        note = (
            f"{lengths(self.traces)}; nats, mean of {by_order.shape[2]} heads.\n"
            f"{self.name(top[0])} differs by {mean_text(by_order.reshape(n, -1)[:, top[0]], 3)}, the mean of all "
            f"heads by {mean_text(by_order.mean((1, 2)), 3)}. It differs most in {alone} of {n} sentences; one of "
            f"{previous.size} heads would by chance in {n / previous.size:.1f}.\nThe five that differ most: {five}."
        )
        columns = {"two words exchanged": by_order, "another sentence": by_other}
        table = pd.DataFrame({name: texts_of(x.mean(2), 3) for name, x in columns.items()}, index=self.layers)
        return Finding(note, table, by_order=by_order, by_other=by_other, most=top, previous=previous)

    @Count
    def without_head(self) -> Finding:
        """L1·H8 off: `by_off` (texts, layers, heads), `first` in how many texts L2·H8 differs most; `runs`."""
        runs = [compare(run, run.rerun(off(*OFF))) for run in self.traces]
        by_off = _heads(runs)
        leading, later = sum(self.name(run.argmax()) == "L2·H8" for run in by_off), by_off[0, OFF[0] + 1 :].size
        note = (
            f"{lengths(self.traces)}. With L1·H8 off, L2·H8 differs most in {leading} of {len(runs)} sentences; by "
            f"chance in {len(runs) / later:.1f} ({later} later heads).\n{runs[0].most(1)['words'][0]}"
        )
        table = pd.DataFrame({"nats, mean of 12 heads": texts_of(by_off.mean(2), 5)}, index=self.layers)
        return Finding(note, table, by_off=by_off, first=leading, runs=runs)

    def trained_on(self, later: Lens) -> Finding:
        """The model and one that was made from it: `by_training` (texts, layers, heads), `ranked` heads, `shared`
        (texts,) of the first five, `turned` (layers, heads) change of the weight on the first token; `runs`."""
        runs = [compare(run, later.trace(text)) for run, text in zip(self.traces, self.sentences, strict=True)]
        by_training = _heads(runs)
        n, ranked = len(runs), by_training.mean(0).ravel().argsort()[::-1]
        shared = np.array([len({*run.ravel().argsort()[::-1][:5]} & {*ranked[:5]}) for run in by_training])
        later_stats, rows = head_stats(later, self.sentences, progress=False), [*ranked[:5], *ranked[-3:]]
        table = pd.DataFrame(
            {"nats [95 %]": texts_of(by_training.reshape(n, -1)[:, rows], 3)}, index=[self.name(at) for at in rows]
        )
        for name in STATISTICS:
            old, now = (stats.values(name).ravel()[rows] for stats in (self.stats, later_stats))
            table[name] = [f"{x:.2f} → {y:.2f}" for x, y in zip(old, now, strict=True)]
        note = (
            f"{runs[0].note}\n{lengths(self.traces)}. The five heads that differ most on average are among the first "
            f"five of one sentence {mean_text(shared, 1)} times, by chance {25 / ranked.size:.1f} times."
        )
        turned = later_stats.values("first") - self.stats.values("first")
        return Finding(note, table, by_training=by_training, ranked=ranked, shared=shared, turned=turned, runs=runs)

    def by_layer(self, found: np.ndarray) -> Finding:
        """Mean of the heads of each layer."""
        table = pd.DataFrame({"nats, mean of 12 heads": texts_of(found.mean(2), 3)}, index=self.layers)
        return Finding(lengths(self.traces), table)


def _heads(compared: Sequence[Any]) -> np.ndarray:
    return np.stack([run.heads.numpy() for run in compared])
