"""Each head switched off alone, each token hidden alone: what the model answers then, as a saved page holds it.

A head's run begins at its layer, and runs share batches: half the work of runs one by one, or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from torch import Tensor

from ..base.limits import ALONE_WORK, LIMITS, within
from ..measures.metrics import bound
from ..measures.predictions import UNITS, change_apart, embedder_of, embedding, texts_apart
from ..run.changes import Change, Hide, Off
from ..trace.trace import Trace
from .answering import SIMILARITY, alike, asked, asked_kind, between
from .effects import NO_KEY, NOT_APART, Effect, Place, Refused, answered
from .runs import check
from .sweeps import outputs, planned
from .targets import Target, target_of

Row = tuple[Effect, ...] | Refused


@dataclass(frozen=True)
class Alone:
    """What becomes of the answer of `places` with each change: an Effect for each place, or why it cannot be made.

    kind, unit: as in `Answers`. heads: (L·H) rows, layer by layer; tokens: (S,). swept: by name, as `answering.asked`
    has them, how each number of the answer changes without each head (L·H).
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
    """On top of the changes of the run. Each number is what `answers` of `trace.rerun(change)` has.

    target: the label or word that is asked about, as of `effects`.
    Raises ModelError where the model gives no answer, else like `Trace.rerun`.
    """
    kind = asked_kind(trace)
    chosen = None if target is None else target_of(trace, target, position)
    heads: list[Change] = [Off(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    changes = [*heads, *(Hide(token) for token in range(trace.n_tokens))]
    if kind == "similarity":
        unit, places, rows, read = _similarity(trace, changes)
    else:
        unit, places, rows, read = _answers(trace, kind, changes, chosen)
    size = len(heads)
    swept = {name: values[:size] for name, values in read.items()}
    return Alone(kind, unit, places, rows[:size], rows[size:], swept)


Found = tuple[str, tuple[Place, ...], tuple[Row, ...], dict[str, tuple[float, ...]]]


def _run(trace: Trace, changes: Sequence[Change]) -> tuple[Any, Any]:
    """The output of the run as it is, and (change, output) of each change that leaves every token a key."""
    check(trace, changes)
    possible = {change for kind in ("heads", "tokens") for _, change in planned(trace, kind)}
    batches = outputs(trace, [((n,), change) for n, change in enumerate(changes) if change in possible])
    [(_, own)] = next(batches)
    return own, ((changes[n], output) for (n,), output in chain.from_iterable(batches))


def _answers(trace: Trace, kind: str, changes: Sequence[Change], target: Target | None) -> Found:
    own, runs = _run(trace, changes)
    first = trace.original._record.output if kind == "embedding" and trace.changes else own
    places = tuple(answered(kind, trace, first, own, own, target))
    numbers = asked(trace, target.number, target.position if target.position >= 0 else None) if target else asked(trace)
    reads = {name: bound(one.metric, trace) for name, one in numbers.items() if one.metric is not None}
    before = {name: float(read(own)) for name, read in reads.items()}
    made: dict[Change, tuple[Effect, ...]] = {}
    swept: dict[str, dict[Change, float]] = {name: {} for name in reads}
    for change, output in runs:
        found = answered(kind, trace, first, own, output, target)
        made[change] = tuple(found[place] for place in places)
        for name, read in reads.items():
            swept[name][change] = float(read(output)) - before[name]
    unit, _ = between(kind, trace, own, own, 1)
    rows = tuple(made.get(change, NO_KEY) for change in changes)
    return unit, places, rows, {name: tuple(values.values()) for name, values in swept.items()}


def _similarity(trace: Trace, changes: Sequence[Change]) -> Found:
    apart = [change_apart(trace, change) for change in changes]
    vectors: list[dict[Change | None, Tensor]] = []
    for number, text in enumerate(texts_apart(trace)):
        own, runs = _run(text, [there for pair in apart if (there := pair[number]) is not None])
        same = {None: embedding(text, own.last_hidden_state[0])}
        vectors.append(same | {change: embedding(text, output.last_hidden_state[0]) for change, output in runs})
    before = alike(trace, *(same[None] for same in vectors))
    rows: list[Row] = []
    for pair in apart:
        if pair == (None, None):
            rows.append(NOT_APART)
        elif pair[0] in vectors[0] and pair[1] in vectors[1]:
            after = alike(trace, vectors[0][pair[0]], vectors[1][pair[1]])
            rows.append((Effect(after, "", after),))
        else:
            rows.append(NO_KEY)
    swept = tuple(row[0].after - before for row in rows if not isinstance(row, str))
    unit = UNITS[embedder_of(trace).function]
    return unit, ((-1, SIMILARITY, before),), tuple(rows), {"similarity": swept}
