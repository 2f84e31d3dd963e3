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
from ..measures.predictions import UNITS, change_apart, embedder_of, embedding, states_of, texts_apart
from ..run.changes import Change, Hide, Off
from ..trace.trace import Trace
from .before_after import alike, answer_kind, answers_between
from .effects import NOT_APART, Effect, Refused, place_effects
from .reruns import check
from .sweeps import outputs, planned, work
from .swept_numbers import swept_numbers
from .targets import Target, target_of

Place = tuple[int, str, float]  # position, the first answer and its number
Row = tuple[Effect, ...] | Refused


@dataclass(frozen=True)
class SingleChanges:
    """What becomes of the answer of `places` with each change: an Effect for each place, or why it cannot be made.

    kind, unit: as in `Answers`. heads: (L·H) rows, layer by layer; tokens: (S,). swept: by name, as `swept_numbers` has
    them, how each number of the answer changes without each head (L·H).
    """

    kind: str
    unit: str
    places: tuple[Place, ...]
    heads: tuple[Row, ...]
    tokens: tuple[Row, ...]
    swept: dict[str, tuple[float, ...]]


def why_not(trace: Trace) -> str:
    """Why a page is saved without it, in a sentence, "" where it is not: the text's length, or the work by shapes."""
    tokens, heads, limit = trace.n_tokens, trace.n_layers * trace.n_heads, LIMITS["carried"].tokens
    if not within("carried", tokens):
        return f"This needs the model: a saved page holds it of texts of up to {limit} tokens, and this has {tokens:,}."
    if work(trace, heads / 2 + tokens) > ALONE_WORK:  # a head's run is of half the layers, on average
        return (
            f"This needs the model: to try each of {heads:,} heads and {tokens} tokens of a model of this size "
            "takes too long whenever a page is saved."
        )
    return ""


def single_changes(trace: Trace, target: str | int | None = None, position: int | None = None) -> SingleChanges:
    """On top of the changes of the run, or compared with the run without what covers the change, as of `effects`.

    target: the label or word that is asked about, as of `effects`.
    Raises ModelError where the model gives no answer, else like `Trace.rerun`.
    """
    kind = answer_kind(trace)
    target_answer = None if target is None else target_of(trace, target, position)
    heads: list[Change] = [Off(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    changes = [*heads, *(Hide(token) for token in range(trace.n_tokens))]
    outcome = _similarity(trace, changes) if kind == "similarity" else _answers(trace, kind, changes, target_answer)
    rows = tuple(outcome.effects.get(change, phrases.NO_KEY) for change in changes)
    swept = {name: tuple(values[change] for change in heads) for name, values in outcome.swept.items()}
    return SingleChanges(kind, outcome.unit, outcome.places, rows[: len(heads)], rows[len(heads) :], swept)


@dataclass(frozen=True)
class _Outcome:
    unit: str
    places: tuple[Place, ...]
    effects: dict[Change, Row]
    swept: dict[str, dict[Change, float]]


def _runs(trace: Trace, changes: Sequence[Change]) -> Iterator[tuple[Any, list[tuple[Change, Any]]]]:
    """As `sweeps.outputs`, of each change that leaves every token a key."""
    check(trace, changes)
    possible = {change for kind in ("heads", "tokens") for _, change in planned(trace, kind)}
    runs = outputs(trace, [((n,), change) for n, change in enumerate(changes) if change in possible])
    return ((baseline, [(changes[n], output) for (n,), output in batch]) for baseline, batch in runs)


def _answers(trace: Trace, kind: str, changes: Sequence[Change], target: Target | None) -> _Outcome:
    runs = _runs(trace, changes)
    own_output, _ = next(runs)
    origin = trace.original.record.output if kind == "embedding" and trace.changes else own_output
    answers = place_effects(kind, trace, origin, own_output, own_output, target)
    places = tuple((answer.position, answer.name, answer.before) for answer in answers)
    number, place = (target.number, target.position) if target else (None, -1)
    numbers = swept_numbers(trace, number, place if place >= 0 else None)
    readers = {name: bound(n.metric, trace) for name, n in numbers.items() if n.metric is not None}
    effects: dict[Change, Row] = {}
    swept: dict[str, dict[Change, float]] = {name: {} for name in readers}
    for baseline, batch in runs:
        baselines = {name: float(reader(baseline)) for name, reader in readers.items()}
        for change, output in batch:
            effects[change] = tuple(place_effects(kind, trace, origin, baseline, output, target))
            for name, reader in readers.items():
                swept[name][change] = float(reader(output)) - baselines[name]
    unit, _ = answers_between(kind, trace, own_output, own_output, 1)
    return _Outcome(unit, places, effects, swept)


def _similarity(trace: Trace, changes: Sequence[Change]) -> _Outcome:
    change_pairs = {change: change_apart(trace, change) for change in changes}
    vectors: list[dict[Change | None, tuple[Tensor, Tensor]]] = []
    for number, text in enumerate(texts_apart(trace)):
        text_vectors: dict[Change | None, tuple[Tensor, Tensor]] = {}
        for baseline_output, batch in _runs(text, [c for pair in change_pairs.values() if (c := pair[number])]):
            vector = embedding(text, states_of(text, baseline_output))
            text_vectors.setdefault(None, (vector, vector))
            text_vectors |= {change: (vector, embedding(text, states_of(text, output))) for change, output in batch}
        vectors.append(text_vectors)

    def compared(change_a: Change | None, change_b: Change | None) -> tuple[float, float]:
        plain, changed = zip(vectors[0][change_a], vectors[1][change_b], strict=True)
        return alike(trace, *plain), alike(trace, *changed)

    effects: dict[Change, Row] = {}
    swept: dict[Change, float] = {}
    for change, pair in change_pairs.items():
        if pair == (None, None):
            effects[change] = NOT_APART
        elif pair[0] in vectors[0] and pair[1] in vectors[1]:
            baseline, changed = compared(*pair)
            effects[change] = (Effect(-1, phrases.TEXTS_ALIKE, baseline, changed, "", changed),)
            swept[change] = changed - baseline
    places = ((-1, phrases.TEXTS_ALIKE, compared(None, None)[0]),)
    return _Outcome(UNITS[embedder_of(trace).function], places, effects, {"similarity": swept})
