"""Which hypotheses explain an array of vectors: singles first, then pairs, on the rows where each can be told.

A hypothesis is refuted on the shortest texts where it can be, so that few are run on all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..base.progress import bar
from ..lens import Lens
from . import forward_faults, rounding_faults, text_faults
from .hypothesis import Fault, PassChange, Row
from .scoring import SAMPLE, UNCALLED, Candidate, Scoring, relative
from .vector_array import VectorArray

SHORT = 4  # texts by which hypotheses are refuted
SURVIVORS = 4  # of those that no short text fits, the nearest, which are run on all


class Search(Scoring):
    """Hypotheses beside the array, those that were tried, and those that fit."""

    def __init__(self, lens: Lens, texts: Sequence[str], array: np.ndarray, task: str | None, prompt_name: str | None):
        super().__init__(lens, texts, array, task, prompt_name)
        self.idle: set[str] = set()  # faults of the forward pass that change nothing here
        self.tried: list[Candidate] = []  # on all sampled rows or, refuted, on the short ones
        self.has_pairs = False  # whether two faults at once were tried

    @cached_property
    def sample(self) -> np.ndarray:
        """Rows on which hypotheses are run: all, or of many the shortest, the longest, the rest evenly, and of those
        that the right vectors do not fit."""
        if len(self.every) <= SAMPLE:
            return self.every
        by_length = np.argsort(self.lengths, kind="stable")
        errors, _ = self.array.distance(self.right, self.every)
        worst = np.argsort(-errors)[:4]
        spread = by_length[np.linspace(0, len(by_length) - 1, SAMPLE - 4 - SHORT).round().astype(int)]
        return np.unique([*by_length[:SHORT], *worst, *spread])

    @cached_property
    def short(self) -> np.ndarray:
        order = self.sample[np.argsort(self.lengths[self.sample], kind="stable")]
        return np.sort(order[:SHORT])

    @cached_property
    def text_faults(self) -> list[Fault]:
        return text_faults.faults(self.reader)

    @cached_property
    def forward_faults(self) -> list[Fault]:
        return [*forward_faults.FAULTS, *rounding_faults.FAULTS]

    def singles(self, progress: bool, array: VectorArray | None = None) -> list[Candidate]:
        """Every fault alone, poolings and what follows on each: those on all sampled rows."""
        unchanged = self.scored(None, (), self.sample, array)
        self.tried += unchanged
        screened: list[tuple[Fault, list[Candidate]]] = []
        with bar(len(self.text_faults) + len(self.forward_faults), "run", "hypotheses", progress) as steps:
            for text in self.text_faults:
                scores = self.scored(text, (), self.sample, array)
                self.tried += scores
                unchanged += scores
                steps.update()
            for fault in self.forward_faults:
                if fault.name not in self.idle and (scores := self.scored(None, (fault,), self.short, array)):
                    screened.append((fault, scores))
                    if self._is_idle(fault, scores):
                        self.idle.add(fault.name)
                steps.update()
        for fault in self._survivors(screened):
            scores = self.scored(None, (fault,), self.sample, array)
            unchanged += scores
        forward = {fault.name for c in unchanged for fault in c.forward}
        self.tried += [c for c in unchanged if c.forward] + [
            c for f, scores in screened if f.name not in forward for c in scores
        ]
        return unchanged

    def _is_idle(self, fault: Fault, scores: list[Candidate]) -> bool:
        """Whether the fault changes nothing on all sampled rows: then it is part of no pair."""
        ours = self.vectors(None, (fault,), self.short)
        if relative(self.right[self.short], ours).max() > self.limit / 2:
            return False
        if fault.name.startswith("padded to"):
            return True
        ours = self.vectors(None, (fault,), self.sample)
        return bool(relative(self.right[self.sample], ours).max() <= self.limit / 2)

    def _survivors(self, screened: list[tuple[Fault, list[Candidate]]]) -> list[Fault]:
        """Faults that some short row fits, and the nearest of the others."""
        ranked = sorted(
            screened, key=lambda pair: min(np.log(c.errors + 1e-12).mean() for c in pair[1] if c.weight <= 2)
        )
        fitting = [f for f, scores in screened if any(c.fits.any() and c.weight <= 2 for c in scores)]
        nearest = [f for f, _ in ranked[:SURVIVORS]]
        return [f for f, _ in screened if (f in fitting or f in nearest) and f.name not in self.idle] + [
            f for f, _ in screened if f.name.startswith("padded to") and f.name in self.idle and f in fitting
        ]

    def row_split(self, singles: Iterable[Candidate], progress: bool) -> list[Candidate]:
        """Pairs of a text fault that spares some rows and a forward fault, which those rows alone name."""
        partial = [
            c for c in singles if c.forward and not c.text and c.weight <= 2 and c.fits.any() and not c.fits.all()
        ]
        partial = sorted(partial, key=lambda c: c.rank)[:6]
        pairs: list[Candidate] = []
        with bar(len(partial), "fault", "pairs by rows", progress) as steps:
            for candidate in partial:
                spared = candidate.rows[candidate.fits]
                for text in self.text_faults:
                    readings = self.readings(text, self.sample)
                    if readings is None or any(readings[list(self.sample).index(n)] != self.own[n] for n in spared):
                        continue
                    pairs += self.scored(text, candidate.forward, self.sample)
                steps.update()
        return pairs

    def pairs(self, progress: bool) -> list[Candidate]:
        """Faults of every row by two, text × forward and forward × forward: on the shortest row, those that fit it on
        three, then on all."""
        rows = self.short[np.argsort(self.lengths[self.short], kind="stable")][:3]
        plain_rows = [self.own[row] for row in rows]
        texts = [(text, readings) for text in self.text_faults if (readings := self._on_all(text, rows)) is not None]
        fitting: list[Candidate] = []
        faults = self._paired()
        with bar(len(faults) * (len(faults) + 1) // 2, "run", "pairs", progress) as steps:
            for n, (first, change, tensors) in enumerate(faults):
                change = _held(change)
                fitting += self._tried([(text, (first,), readings) for text, readings in texts], change, rows)
                steps.update()
                for second, second_change, second_tensors in faults[n + 1 :]:
                    if not tensors & second_tensors and not change.meets(second_change):
                        trial = None, (first, second), plain_rows
                        fitting += self._tried([trial], change.joined(second_change), rows)
                    steps.update()
        best = {(c.text, c.forward): None for c in sorted(fitting, key=lambda c: c.rank)}
        return [c for text, pair in list(best)[:5] for c in self.scored(text, pair, self.sample) if c.weight <= 2]

    def _paired(self) -> list[tuple[Fault, PassChange, set[str]]]:
        """Faults of the forward pass that change something here, with the names of the tensors that each changes. Those
        that change most come first: as the first of a pair their weights are made once."""
        sized: list[tuple[int, Fault, PassChange, set[str]]] = []
        for fault in self.forward_faults:
            change = None if fault.name in self.idle else self.change((fault,))
            if change is not None:
                with suppress(*UNCALLED):
                    weights = change.weights() if change.weights else {}
                    sized.append((sum(t.numel() for t in weights.values()), fault, change, set(weights)))
        return [entry[1:] for entry in sorted(sized, key=lambda entry: -entry[0])]

    def _tried(
        self, trials: list[tuple[Fault | None, tuple[Fault, ...], list[Row]]], change: PassChange, rows: np.ndarray
    ) -> list[Candidate]:
        """Of hypotheses with one change of the pass, each with its texts as they are read, those that fit the first row
        and then the others, pooled as the encoder does."""
        fitting: list[Candidate] = []
        for places in (slice(1), slice(1, None))[: len(rows)]:
            pooled = self.run([row for *_, readings in trials for row in readings[places]], change, None, True)
            of_each = zip(*[iter(pooled or ())] * len(rows[places]), strict=True)
            scores = [
                (trial, c)
                for trial, vectors in zip(trials, of_each, strict=False)
                for c in self.compared(*trial[:2], rows[places], list(vectors), is_bare=True)
                if c.fits.all()
            ]
            trials, fitting = [trial for trial, _ in scores], [c for _, c in scores]
        return fitting

    def _on_all(self, text: Fault, rows: np.ndarray) -> list[Row] | None:
        """The rows under a text fault that changes all of them."""
        readings = self.readings(text, rows)
        is_of_all = readings is not None and all(row != self.own[n] for row, n in zip(readings, rows, strict=True))
        return readings if is_of_all else None


def _held(change: PassChange) -> PassChange:
    """The change with its weights made once."""
    if change.weights is None:
        return change
    replaced_weights = change.weights()
    return replace(change, weights=lambda: replaced_weights)
