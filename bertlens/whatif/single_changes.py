"""Each head switched off alone, each token hidden alone: what the model answers then, as a saved page holds it.

A head's run begins at its layer, and runs share batches: half the work of runs one by one, or less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..base.limits import ALONE_WORK, LIMITS, within
from ..base.vocabulary import phrases
from ..measures.metrics import bound
from ..measures.predictions import UNITS, change_apart, embedder_of, embedding, texts_apart
from ..run.changes import Change, Hide, Off
from ..trace.trace import Trace
from .before_after import alike, asked, asked_kind, between
from .effects import NOT_APART, Effect, Refused, answered
from .reruns import check
from .sweeps import outputs, planned
from .targets import Target, target_of

Place = tuple[int, str, float]  # position, the first answer and its number
Row = tuple[Effect, ...] | Refused


@dataclass(frozen=True)
class Alone:
    """What becomes of the answer of `places` with each change: an Effect for each place, or why it cannot be made.

    kind, unit: as in `Answers`. heads: (L·H) rows, layer by layer; tokens: (S,). swept: by name, as
    `before_after.metrics_of` has them, how each number of the answer changes without each head (L·H).
    """

    kind: str
    unit: str
    places: tuple[Place, ...]
    heads: tuple[Row, ...]
    tokens: tuple[Row, ...]
    swept: dict[str, tuple[float, ...]]


def why_not(trace: Trace) -> str:
    """Why a page is saved without it, in a sentence, "" where it is not: the text's length, or the work by shapes."""
    tokens, heads, most = trace.n_tokens, trace.n_layers * trace.n_heads, LIMITS["carried"].tokens
    if not within("carried", tokens):
        return f"This needs the model: a saved page holds it of texts of up to {most} tokens, and this has {tokens:,}."
    width = (trace.head_dim or 0) * trace.n_heads
    runs = heads / 2 + tokens  # a head's is of half the layers, on average
    if runs * tokens * trace.n_layers * 12 * width**2 > ALONE_WORK:
        return (
            f"This needs the model: to try each of {heads:,} heads and {tokens} tokens of a model of this size "
            "takes too long whenever a page is saved."
        )
    return ""


def alone(trace: Trace, target: str | int | None = None, position: int | None = None) -> Alone:
    """On top of the changes of the run, or compared with the run without what covers the change, as of `effects`.

    target: the label or word that is asked about, as of `effects`.
    Raises ModelError where the model gives no answer, else like `Trace.rerun`.
    """
    kind = asked_kind(trace)
    chosen = None if target is None else target_of(trace, target, position)
    heads: list[Change] = [Off(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    changes = [*heads, *(Hide(token) for token in range(trace.n_tokens))]
    made = _similarity(trace, changes) if kind == "similarity" else _answers(trace, kind, changes, chosen)
    rows = tuple(made.effects.get(change, phrases.NO_KEY) for change in changes)
    swept = {name: tuple(values[change] for change in heads) for name, values in made.swept.items()}
    return Alone(kind, made.unit, made.places, rows[: len(heads)], rows[len(heads) :], swept)


@dataclass(frozen=True)
class _Made:
    unit: str
    places: tuple[Place, ...]
    effects: dict[Change, Row]
    swept: dict[str, dict[Change, float]]


def _runs(trace: Trace, changes: Sequence[Change]) -> Iterator[tuple[Any, list[tuple[Change, Any]]]]:
    """As `sweeps.outputs`, of each change that leaves every token a key."""
    check(trace, changes)
    possible = {change for kind in ("heads", "tokens") for _, change in planned(trace, kind)}
    runs = outputs(trace, [((n,), change) for n, change in enumerate(changes) if change in possible])
    return ((own, [(changes[n], output) for (n,), output in batch]) for own, batch in runs)


def _answers(trace: Trace, kind: str, changes: Sequence[Change], target: Target | None) -> _Made:
    runs = _runs(trace, changes)
    own, _ = next(runs)
    origin = trace.original.record.output if kind == "embedding" and trace.changes else own
    shown = answered(kind, trace, origin, own, own, target)
    places = tuple((one.position, one.name, one.before) for one in shown)
    numbers = asked(trace, target.number, target.position if target.position >= 0 else None) if target else asked(trace)
    reads = {name: bound(one.metric, trace) for name, one in numbers.items() if one.metric is not None}
    made: dict[Change, Row] = {}
    swept: dict[str, dict[Change, float]] = {name: {} for name in reads}
    for before, batch in runs:
        numbers_before = {name: float(read(before)) for name, read in reads.items()}
        for change, output in batch:
            made[change] = tuple(answered(kind, trace, origin, before, output, target))
            for name, read in reads.items():
                swept[name][change] = float(read(output)) - numbers_before[name]
    unit, _ = between(kind, trace, own, own, 1)
    return _Made(unit, places, made, swept)


def _similarity(trace: Trace, changes: Sequence[Change]) -> _Made:
    apart = {change: change_apart(trace, change) for change in changes}
    vectors: list[dict[Change | None, tuple[Tensor, Tensor]]] = []
    for number, text in enumerate(texts_apart(trace)):
        found: dict[Change | None, tuple[Tensor, Tensor]] = {}
        for own, batch in _runs(text, [there for pair in apart.values() if (there := pair[number]) is not None]):
            vector = embedding(text, own.last_hidden_state[0])
            found.setdefault(None, (vector, vector))
            found |= {change: (vector, embedding(text, output.last_hidden_state[0])) for change, output in batch}
        vectors.append(found)

    def compared(one: Change | None, other: Change | None) -> tuple[float, float]:
        before, after = zip(vectors[0][one], vectors[1][other], strict=True)
        return alike(trace, *before), alike(trace, *after)

    made: dict[Change, Row] = {}
    swept: dict[Change, float] = {}
    for change, pair in apart.items():
        if pair == (None, None):
            made[change] = NOT_APART
        elif pair[0] in vectors[0] and pair[1] in vectors[1]:
            before, after = compared(*pair)
            made[change] = (Effect(-1, phrases.TEXTS_ALIKE, before, after, "", after),)
            swept[change] = after - before
    before, _ = compared(None, None)
    return _Made(UNITS[embedder_of(trace).function], ((-1, phrases.TEXTS_ALIKE, before),), made, {"similarity": swept})
