"""A hypothesis beside rows of an array: its vectors, how far each row is from them, and what fits.

Vectors are compared as the array stores them; a row fits where its distance is within ten times the noise of the
model's own float reruns, or, where activations are rounded, within twice what the hypothesis differs from itself by.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..lens import Lens
from .after_faults import FAULTS as AFTER_FAULTS
from .after_faults import After, Function, normalised
from .hypothesis import RIGHT, Fault, PassChange, Row, TextLengths
from .states import NOTHING, Runner, Vectors, right_row
from .text_faults import Reader
from .vector_array import VectorArray, look

TIMES = 10  # of the model's own noise: what a row may differ by
LEAST_NOISE = 2e-7  # relative: a float32 engine's
CHUNK = 256  # texts whose vectors by every pooling are held at once
SAMPLE = 16  # texts on which the hypotheses that are left are run
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


class Scoring:
    """The texts, the array and the model's own vectors and noise. Raises InputError and ModelError as `parity`."""

    rows_are = "vectors"
    is_reordered = False  # the array's rows stand in another order than the texts

    def __init__(self, lens: Lens, texts: Sequence[str], array: np.ndarray, task: str | None, prompt_name: str | None):
        self.lens, self.texts = lens, list(texts)
        self.task, self.prompt_name = task, prompt_name
        self.reader = Reader(lens, task, prompt_name)
        self.runner = self._runner(self.reader)
        self.after_functions = self._after_functions()
        self._floors: dict[tuple[str, str], list[list[Vectors]]] = {}
        self._changes: dict[str, PassChange | None] = {}
        self.own = [right_row(self.reader, text) for text in self.texts]
        self.lengths = np.array([row.length for row in self.own])
        self.batch = TextLengths(int(self.lengths.max()), self.reader.limit)
        self.every = np.arange(len(self.texts))
        self.right = self.vectors(None, (), self.every)
        self._check(task, prompt_name)
        self.array = look(array, self.right)
        self._sort_rows()
        self._measure_noise()

    def _runner(self, reader: Reader) -> Runner:
        return Runner(self.lens, reader)

    def _after_functions(self) -> list[tuple[str, Function]]:
        after = After.of(self.lens.sentences)
        return [(f.name, way) for f in AFTER_FAULTS if (way := f.way(after)) is not None]

    def of_texts(self, texts: Sequence[str], task: str | None = None) -> Scoring:
        """Other texts, beside nothing: for hypotheses to be told apart on. task: as what they are encoded, where that
        is another than here."""
        narrowed = copy.copy(self)
        narrowed.texts, narrowed.every = list(texts), np.arange(len(texts))
        if task is not None:
            narrowed.reader = Reader(self.lens, task)
            narrowed.runner = self._runner(narrowed.reader)
        narrowed.own = [right_row(narrowed.reader, text) for text in texts]
        narrowed.lengths = np.array([row.length for row in narrowed.own])
        narrowed.batch = TextLengths(int(narrowed.lengths.max()), self.reader.limit)
        return narrowed

    def elsewhere(self, candidate: Candidate, texts: Sequence[str], task: str | None = None) -> np.ndarray:
        """(N, E) of other texts under a hypothesis, as queries or documents where a task is given."""
        other = self.of_texts(texts, task)
        change = other.change(candidate.forward)
        assert change is not None
        pooled: list[Vectors] = []
        for start in range(0, len(texts), CHUNK):
            rows = other.every[start : start + CHUNK]
            readings = other.readings(candidate.text, rows) or [other.own[n] for n in rows]
            vectors = other.runner.vectors(readings, change, other.batch, None)
            pooled += [{candidate.pooling: of_text[candidate.pooling]} for of_text in vectors]
        return self._finished(pooled, candidate.pooling, dict(self.after_functions)[candidate.after])

    def _check(self, task: str | None, prompt_name: str | None) -> None:
        """Raises ModelError where the lens' own vectors are made otherwise than here."""
        at = self.every[:: max(1, len(self.every) // 8)]
        options = {"task": task, "prompt_name": prompt_name}
        reference = self.lens.sentences.encode([self.texts[n] for n in at], task, prompt_name, 1, False)
        self.encoded = reference.float().cpu().numpy().astype(float), at
        if self.encoded[0].shape != self.right[at].shape or relative(self.right[at], self.encoded[0]).max() > 1e-3:
            raise ModelError(f"this encoder's vectors are made in a way that is not read here ({options})")

    def _sort_rows(self) -> None:
        """Rows in another order than the texts: each vector's nearest text, where that is another one each time."""
        ours, theirs = (normalised(x) for x in (self.array.of(self.right), self.array.numbers))
        cosines = ours @ theirs.T
        order = cosines.argmax(1)
        gain = cosines.max(1).mean() - cosines.diagonal().mean()
        if len(set(order)) == len(order) and not (order == self.every).all() and gain > 0.02 and cosines.max() > 0.5:
            by_length = np.argsort(self.lengths, kind="stable")
            how = ": sorted by length" if (self.lengths[np.argsort(order)] == self.lengths[by_length]).all() else ""
            shift = int(order[0])
            how = f": shifted by {shift}" if (np.roll(self.every, -shift) == order).all() else how
            self.is_reordered = True
            self.array = self.array.reordered(order, f"The rows are in another order than the texts{how}.")

    def _measure_noise(self) -> None:
        sample = self.every if len(self.every) <= SAMPLE else np.argsort(self.lengths)[:: len(self.every) // SAMPLE]
        reruns = self.runner.noise([self.own[n] for n in sample], self.batch)
        moved = [self._finished(run, RIGHT) for run in reruns]
        right = self.right[sample]
        reference = relative(self.right[self.encoded[1]], self.encoded[0]).max()
        self.noise = max(LEAST_NOISE, reference, *(float(relative(right, shifted).max()) for shifted in moved))
        if self.noise > 1e-3:
            raise ModelError(f"float reruns of this model differ by {self.noise:.1g}: nothing smaller can be told")
        self.limit = TIMES * self.noise
        share = [float(np.abs(self.array.of(m) - self.array.of(right)).mean()) for m in moved]
        width = 2 * np.asarray(self.array.half).mean()
        self.crossing = 0.0 if not self.array.is_rounded else min(0.05, max(share) / max(width, 1e-30))

    def _finished(self, pooled: Sequence[Vectors], pooling: str, after: Function | None = None) -> np.ndarray:
        return (after or self.after_functions[0][1])(np.stack([vectors[pooling] for vectors in pooled]))

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

    def run(
        self, readings: list[Row], change: PassChange, name: str | None, is_bare: bool = False
    ) -> list[Vectors] | None:
        """name: by which what was run is known again; None where it need not be."""
        try:
            return self.runner.vectors(readings, change, self.batch, name, is_bare)
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
        is_bare: bool = False,
    ) -> list[Candidate]:
        """`scored` of what was run already. is_bare: with what follows on the pooling as it is right."""
        array = array or self.array
        names = [name for name in pooled[0] if all(name in vectors for vectors in pooled)]
        floors = None
        reference, _ = array.distance(self.right[rows], rows)
        candidates = []
        for pooling in names:
            for after, function in self.after_functions[: 1 if is_bare else None]:
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
                is_plain = pooling == RIGHT and after == RIGHT
                nearer = np.median(errors) < np.median(reference)
                if any(fault.is_rounding for fault in forward) and (nearer or is_plain):
                    floors = floors or self._floor(text, forward, rows)
                    moved = [self._finished(run, pooling, function) for run in floors]
                    alone = array.distance(moved[-1], rows)
                    errors, outside = min((errors, outside), alone, key=lambda pair: pair[0].mean())
                    for runs in (moved[:-1], moved):  # jittered; and in another batch, which the other program may have
                        floor = np.max([relative(array.of(ours), array.of(run)) for run in runs], axis=0)
                        wide = np.maximum(self.limit, 2 * np.maximum(floor, np.median(floor)))
                        least = (1 if is_plain else 0.5) * np.median(reference)
                        if np.median(wide) < least:  # a floor as wide as the distance itself fits anything
                            limits = wide
                        if (errors <= limits).all():
                            break
                candidates.append(Candidate(text, forward, pooling, after, rows, errors, outside, limits))
        return candidates

    def _floor(self, text: Fault | None, forward: tuple[Fault, ...], rows: np.ndarray) -> list[list[Vectors]]:
        """What a hypothesis that rounds activations is when it is run again."""
        key = f"{text and text.name}|{[fault.name for fault in forward]}", f"{rows}"
        if key not in self._floors:
            readings, change = self.readings(text, rows), self.change(forward)
            assert readings is not None and change is not None
            self._floors[key] = self.runner.floors(change.read(readings, self.batch), change)
        return self._floors[key]

    def gram(self) -> VectorArray:
        """The array known by its rows' products alone, which a turn, other signs or another order of columns keep."""
        return TurnedArray(**vars(self.array))


class TurnedArray(VectorArray):
    """An array whose axes are not the model's: rows are compared by their products with each other."""

    def distance(self, vectors: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ours, theirs = self.of(vectors), self.numbers[rows]
        products = ours @ ours.T
        rest = np.linalg.norm(theirs @ theirs.T - products, axis=1) / np.maximum(
            np.linalg.norm(products, axis=1), 1e-30
        )
        return rest, np.zeros(len(rows), dtype=int)


def relative(right: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.linalg.norm(other - right, axis=1) / np.maximum(np.linalg.norm(right, axis=1), 1e-30)
