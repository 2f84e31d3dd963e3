"""Which hypotheses explain an array of vectors: singles first, then pairs, on the rows where each can be told.

A hypothesis is refuted on the shortest texts where it can be, so that few are run on all. Its vectors are compared as
the array stores them; a row fits where its distance is within ten times the noise of the model's own float reruns, or,
where activations are rounded, within twice what the hypothesis differs from itself by.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..base.progress import bar
from ..errors import ModelError
from ..lens import Lens
from . import forward_faults, rounding_faults, text_faults
from .after_faults import FAULTS as AFTER_FAULTS
from .after_faults import After, Function
from .hypothesis import RIGHT, Fault, PassChange, Row, TextLengths
from .states import NOTHING, Runner, Vectors, right_row
from .text_faults import Reader
from .vector_array import VectorArray, look

TIMES = 10  # of the model's own noise: what a row may differ by
LEAST_NOISE = 2e-7  # relative: a float32 engine's
NEARER = 0.8  # of the right vectors' median distance: a hypothesis that is no nearer needs no floor
SHORT, SAMPLE = 4, 16  # texts by which hypotheses are refuted; texts on which those that are left are run
SURVIVORS = 4  # of those that no short text fits, the nearest, which are run on all
UNCALLED = (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError, NotImplementedError, ModelError)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A hypothesis, one fault of each factor or none, beside rows of the array."""

    text: Fault | None
    forward: tuple[Fault, ...]
    pooling: str
    after: str
    rows: np.ndarray  # (n,) which
    errors: np.ndarray  # (n,) relative distance
    outside: np.ndarray  # (n,) how many numbers lie outside their cells
    limits: np.ndarray  # (n,) what fits

    @property
    def faults(self) -> list[str]:
        reference = [fault.name for fault in (self.text, *self.forward) if fault]
        return [*reference, *(name for name in (self.pooling, self.after) if name != RIGHT)]

    @property
    def name(self) -> str:
        return " + ".join(self.faults) or RIGHT

    @property
    def weight(self) -> int:
        """How many faults it has; padding that nothing sees is none."""
        return len([name for name in self.faults if not name.startswith("padded to")])

    @property
    def factor(self) -> str:
        named = [("text", self.text), ("forward", self.forward), ("pooling", self.pooling != RIGHT)]
        return " × ".join([name for name, has in named if has] + ["after"] * (self.after != RIGHT)) or "none"

    @property
    def is_rounding(self) -> bool:
        return any(fault.is_rounding for fault in self.forward)

    @property
    def fits(self) -> np.ndarray:
        return self.errors <= self.limits

    @property
    def rank(self) -> tuple[int, int, float]:
        """Fewest rows that do not fit, fewest faults, smallest mean logarithm of the distance."""
        return int((~self.fits).sum()), self.weight, float(np.log(self.errors + 1e-12).mean())


class Search:
    """The texts, the array and the model's own vectors and noise. Raises InputError and ModelError as `parity`."""

    def __init__(self, lens: Lens, texts: Sequence[str], array: np.ndarray, task: str | None, prompt_name: str | None):
        self.lens, self.texts = lens, list(texts)
        self.reader = Reader(lens, task, prompt_name)
        self.runner = Runner(lens, self.reader)
        self.after = After.of(lens.sentences)
        self.after_functions = [(f.name, way) for f in AFTER_FAULTS if (way := f.way(self.after)) is not None]
        self.idle: set[str] = set()  # faults of the forward pass that change nothing here
        self._floors: dict[tuple[str, str], list[list[Vectors]]] = {}
        self._changes: dict[str, PassChange | None] = {}
        self.tried: list[Candidate] = []  # on all sampled rows or, refuted, on the short ones
        self.own = [right_row(self.reader, text) for text in self.texts]
        self.lengths = np.array([row.length for row in self.own])
        self.batch = TextLengths(int(self.lengths.max()), self.reader.limit)
        self.every = np.arange(len(self.texts))
        self.right = self.vectors(None, (), self.every)
        self._check(task, prompt_name)
        self.array = look(array, self.right)
        self._sort_rows()
        self._measure_noise()

    has_pairs = False  # whether two faults at once were tried

    def of_texts(self, texts: Sequence[str]) -> Search:
        """Other texts, beside nothing: for hypotheses to be told apart on."""
        narrowed = copy.copy(self)
        narrowed.texts, narrowed.every = list(texts), np.arange(len(texts))
        narrowed.own = [right_row(self.reader, text) for text in texts]
        narrowed.lengths = np.array([row.length for row in narrowed.own])
        narrowed.batch = TextLengths(int(narrowed.lengths.max()), self.reader.limit)
        return narrowed

    def _check(self, task: str | None, prompt_name: str | None) -> None:
        """Raises ModelError where the lens' own vectors are made otherwise than here."""
        at = self.every[:: max(1, len(self.every) // 8)]
        options = {"task": task, "prompt_name": prompt_name}
        reference = self.lens.sentences.encode([self.texts[n] for n in at], task, prompt_name, 1, False)
        self.encoded = reference.float().cpu().numpy().astype(float), at
        if self.encoded[0].shape != self.right[at].shape or _relative(self.right[at], self.encoded[0]).max() > 1e-3:
            raise ModelError(f"this encoder's vectors are made in a way that is not read here ({options})")

    def _sort_rows(self) -> None:
        """Rows in another order than the texts: each vector's nearest text, where that is another one each time."""
        ours, theirs = (_unit(x) for x in (self.array.of(self.right), self.array.numbers))
        cosines = ours @ theirs.T
        order = cosines.argmax(1)
        gain = cosines.max(1).mean() - cosines.diagonal().mean()
        if len(set(order)) == len(order) and not (order == self.every).all() and gain > 0.02 and cosines.max() > 0.5:
            by_length = np.argsort(self.lengths, kind="stable")
            how = ": sorted by length" if (self.lengths[np.argsort(order)] == self.lengths[by_length]).all() else ""
            shift = int(order[0])
            how = f": shifted by {shift}" if (np.roll(self.every, -shift) == order).all() else how
            self.array = self.array.reordered(order, f"The rows are in another order than the texts{how}.")

    def _measure_noise(self) -> None:
        sample = self.every if len(self.every) <= SAMPLE else np.argsort(self.lengths)[:: len(self.every) // SAMPLE]
        reruns = self.runner.noise([self.own[n] for n in sample], self.batch)
        moved = [self._finished(run, RIGHT) for run in reruns]
        right = self.right[sample]
        reference = _relative(self.right[self.encoded[1]], self.encoded[0]).max()
        self.noise = max(LEAST_NOISE, reference, *(float(_relative(right, shifted).max()) for shifted in moved))
        if self.noise > 1e-3:
            raise ModelError(f"float reruns of this model differ by {self.noise:.1g}: nothing smaller can be told")
        self.limit = TIMES * self.noise
        share = [float(np.abs(self.array.of(m) - self.array.of(right)).mean()) for m in moved]
        width = 2 * np.asarray(self.array.half).mean()
        self.crossing = 0.0 if not self.array.is_rounded else min(0.05, max(share) / max(width, 1e-30))

    def _finished(self, pooled: Sequence[Vectors], pooling: str, after: Function | None = None) -> np.ndarray:
        return (after or self.after.applied)(np.stack([vectors[pooling] for vectors in pooled]))

    def vectors(
        self,
        text: Fault | None,
        forward: tuple[Fault, ...],
        rows: np.ndarray,
        pooling: str = RIGHT,
        after: str = RIGHT,
        always: bool = False,
    ) -> np.ndarray:
        """(n, E) of these rows under a hypothesis. always: also where it changes none of the texts."""
        pooled = self.pooled(text, forward, rows)
        if pooled is None and always:
            pooled = self.pooled(None, forward, rows)
        assert pooled is not None
        return self._finished(pooled, pooling, dict(self.after_functions)[after])

    def pooled(self, text: Fault | None, forward: tuple[Fault, ...], rows: np.ndarray) -> list[Vectors] | None:
        """None where the hypothesis is not of this model, or changes none of these texts."""
        readings = self.readings(text, rows)
        change = self.change(forward)
        if readings is None or change is None:
            return None
        is_pair = len(forward) > 1 or (text is not None and bool(forward))
        return self.run(readings, change, forward[0].name if forward and not is_pair else None if is_pair else "")

    def run(self, readings: list[Row], change: PassChange, name: str | None) -> list[Vectors] | None:
        """name: by which what was run is known again; None where it need not be."""
        try:
            return self.runner.vectors(readings, change, self.batch, name)
        except UNCALLED:  # a family that has the part, and not in this form
            if name == "":
                raise
            return None

    def readings(self, text: Fault | None, rows: np.ndarray) -> list[Row] | None:
        if text is None:
            return [self.own[n] for n in rows]
        ids = [text.way(self.reader, self.texts[n]) for n in rows]
        if any(not i for i in ids):
            return None
        readings = [Row(tuple(i)) for i in ids]
        return None if readings == [self.own[n] for n in rows] else readings

    def change(self, forward: tuple[Fault, ...]) -> PassChange | None:
        name = " + ".join(fault.name for fault in forward)
        if name not in self._changes:
            self._changes[name] = self._joined(forward)
        return self._changes[name]

    def _joined(self, forward: tuple[Fault, ...]) -> PassChange | None:
        joined = NOTHING
        for fault in forward:
            try:
                change = fault.way(self.runner.parts)
            except UNCALLED:
                change = None
            if change is None or joined.meets(change):
                return None
            joined = change if joined is NOTHING else joined.joined(change)
        return joined

    def scored(
        self, text: Fault | None, forward: tuple[Fault, ...], rows: np.ndarray, array: VectorArray | None = None
    ) -> list[Candidate]:
        """A candidate for each pooling and what follows on it; none where the hypothesis is not of this model."""
        pooled = self.pooled(text, forward, rows)
        return [] if pooled is None else self.compared(text, forward, rows, pooled, array)

    def compared(
        self,
        text: Fault | None,
        forward: tuple[Fault, ...],
        rows: np.ndarray,
        pooled: list[Vectors],
        array: VectorArray | None = None,
    ) -> list[Candidate]:
        """`scored` of what was run already."""
        array = array or self.array
        names = [name for name in pooled[0] if all(name in vectors for vectors in pooled)]
        floors = None
        reference, _ = array.distance(self.right[rows], rows)
        candidates = []
        for pooling in names:
            for after, function in self.after_functions:
                if "over the texts" in after and len(rows) < len(self.every):
                    continue
                if (text or forward) and pooling != RIGHT and after != RIGHT:
                    continue  # three faults
                if any(fault.name.startswith("padded to") for fault in forward) and "padding" not in pooling:
                    continue  # padding that nothing sees
                ours = self._finished(pooled, pooling, function)
                errors, outside = array.distance(ours, rows)
                limits = np.full(len(rows), self.limit)
                if array.is_rounded:
                    limits[outside > 5 + TIMES * self.crossing * array.numbers.shape[1]] = 0
                if any(fault.is_rounding for fault in forward) and np.median(errors) < NEARER * np.median(reference):
                    floors = floors or self._floor(text, forward, rows)
                    moved = [array.of(self._finished(run, pooling, function)) for run in floors]
                    floor = np.max([_relative(array.of(ours), shifted) for shifted in moved], axis=0)
                    wide = np.maximum(self.limit, 2 * np.maximum(floor, np.median(floor)))
                    is_evidence = np.median(wide) < (0.5 if pooling != RIGHT or after != RIGHT else 1) * np.median(
                        reference
                    )
                    limits = wide if is_evidence else limits  # a floor as wide as the distance itself fits anything
                candidates.append(Candidate(text, forward, pooling, after, rows, errors, outside, limits))
        return candidates

    def _floor(self, text: Fault | None, forward: tuple[Fault, ...], rows: np.ndarray) -> list[list[Vectors]]:
        """What a hypothesis that rounds activations is when it is run again."""
        key = f"{text and text.name}|{[fault.name for fault in forward]}", f"{rows}"
        if key not in self._floors:
            readings, change = self.readings(text, rows), self.change(forward)
            assert readings is not None and change is not None
            readings = [change.row(row, self.batch) if change.row else row for row in readings]
            self._floors[key] = self.runner.floors(readings, change)
        return self._floors[key]

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
        self.tried += [] if array else unchanged
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
        left = {fault.name for c in unchanged for fault in c.forward}
        self.tried += [c for c in unchanged if c.forward] + [
            c for f, scores in screened if f.name not in left for c in scores
        ]
        return unchanged

    def _is_idle(self, fault: Fault, scores: list[Candidate]) -> bool:
        """Whether the fault changes nothing on all sampled rows: then it is part of no pair."""
        ours = self.vectors(None, (fault,), self.short)
        if _relative(self.right[self.short], ours).max() > self.limit / 2:
            return False
        if fault.name.startswith("padded to"):
            return True
        ours = self.vectors(None, (fault,), self.sample)
        return bool(_relative(self.right[self.sample], ours).max() <= self.limit / 2)

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
        """Faults of every row by two: text × forward and forward × forward on the three shortest rows, then on all."""
        rows = self.short[np.argsort(self.lengths[self.short], kind="stable")][:3]
        changes = {
            f: c for f in self.forward_faults if f.name not in self.idle and (c := self.change((f,))) is not None
        }
        texts = {t: readings for t in self.text_faults if (readings := self._on_all(t, rows)) is not None}
        fitting: list[Candidate] = []
        faults = list(changes)
        with bar(len(faults) * (len(faults) - 1) // 2 + len(faults), "run", "pairs", progress) as steps:
            for n, first in enumerate(faults):
                change = _held(changes[first])
                pooled = (
                    self.run([row for readings in texts.values() for row in readings], change, None) if texts else None
                )
                for at, text in enumerate(texts if pooled else ()):
                    of_text = (pooled or [])[at * len(rows) : (at + 1) * len(rows)]
                    fitting += self._fitting(text, (first,), rows, of_text)
                steps.update()
                for second in faults[n + 1 :]:
                    if not change.meets(changes[second]):
                        readings = [self.own[row] for row in rows]
                        if run := self.run(readings, change.joined(changes[second]), None):
                            fitting += self._fitting(None, (first, second), rows, run)
                    steps.update()
        best = {(c.text, c.forward): None for c in sorted(fitting, key=lambda c: c.rank)}
        return [c for text, pair in list(best)[:5] for c in self.scored(text, pair, self.sample) if c.weight <= 2]

    def _fitting(
        self, text: Fault | None, forward: tuple[Fault, ...], rows: np.ndarray, pooled: list[Vectors]
    ) -> list[Candidate]:
        """Of a pair of faults as the encoder pools."""
        bare = [{RIGHT: vectors[RIGHT]} for vectors in pooled]
        return [c for c in self.compared(text, forward, rows, bare) if c.after == RIGHT and c.fits.all()]

    def _on_all(self, text: Fault, rows: np.ndarray) -> list[Row] | None:
        """The rows under a text fault that changes all of them."""
        readings = self.readings(text, rows)
        is_of_all = readings is not None and all(row != self.own[n] for row, n in zip(readings, rows, strict=True))
        return readings if is_of_all else None

    def gram(self) -> VectorArray:
        """The array known by its rows' products alone, which a turn, other signs or another order of columns keep."""
        return TurnedArray(**vars(self.array))


def _held(change: PassChange) -> PassChange:
    """The change with its weights made once."""
    if change.weights is None:
        return change
    replaced_weights = change.weights()
    return replace(change, weights=lambda: replaced_weights)


class TurnedArray(VectorArray):
    """An array whose axes are not the model's: rows are compared by their products with each other."""

    def distance(self, vectors: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ours, theirs = self.of(vectors), self.numbers[rows]
        products = ours @ ours.T
        rest = np.linalg.norm(theirs @ theirs.T - products, axis=1) / np.maximum(
            np.linalg.norm(products, axis=1), 1e-30
        )
        return rest, np.zeros(len(rows), dtype=int)


def _relative(right: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.linalg.norm(other - right, axis=1) / np.maximum(np.linalg.norm(right, axis=1), 1e-30)


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)
