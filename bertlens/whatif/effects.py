"""What each of a few changes does to the model's answer, each alone: rows of one batch beside the run as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from torch import Tensor

from ..errors import ModelError, SelectionError
from ..measures.metrics import row_of
from ..measures.predictions import (
    UNITS,
    change_apart,
    changes_apart,
    classes,
    embedder_of,
    embedding,
    labels_of,
    texts_apart,
)
from ..run.changes import Change
from ..run.forward import output_of
from ..run.interventions import Run
from ..trace.trace import Trace
from .answering import SIMILARITY, Answer, alike, asked_kind, between
from .runs import check, inputs_of
from .sweeps import TOKENS_AT_ONCE
from .targets import Target, name_of, numbers_at, target_of

Refused: TypeAlias = str  # why a change cannot be made, in words
NO_KEY = "a token would have nothing left to look at"
NOT_APART = "not there when each text is read alone, as it is for the similarity"


@dataclass(frozen=True)
class Effect:
    """With a change: the number of the answer that is asked about, and the answer that comes first then with its
    number, where the one that is asked about came first before and does no longer (else `first` is "")."""

    after: float
    first: str
    first_value: float


@dataclass(frozen=True)
class Effects:
    """The model's first answer, or the one that is asked about, and what becomes of it with each change, or why the
    change cannot be made.

    kind, unit, position, name: as in `Answers`. The first answer of several places is the one that changes most: where
    another answer comes first, else where the number moves most.
    """

    kind: str
    unit: str
    position: int
    name: str
    before: float
    changes: tuple[Effect | Refused, ...]


Place: TypeAlias = tuple[int, str, float]  # position, the first answer and its number


def effects(
    trace: Trace, changes: Sequence[Change], target: str | int | None = None, position: int | None = None
) -> Effects:
    """The answer of `trace`, and with each of the changes alone, on top of those that it has. All from one batch: the
    run as it is and the changed ones are its rows, in turns where the text is long.

    target: a label or a word that is asked about in place of the first answer; where, as of `targets.target_of`.
    Each is what `answers` of `trace.rerun(change)` has. The similarity of a pair takes a batch of either text.
    Raises ModelError where the model gives no answer, else like `Trace.rerun` and `target_of`.
    """
    check(trace, changes)
    kind = asked_kind(trace)
    chosen = None if target is None else target_of(trace, target, position)
    if kind == "similarity":
        return _of_similarity(trace, changes)
    outputs = _outputs(trace, trace.changes, changes)
    own = next(outputs)
    before = trace.original._record.output if kind == "embedding" and trace.changes else own

    def read(output: Any) -> dict[Place, Effect]:
        return answered(kind, trace, before, own, output, chosen)

    found = [one if isinstance(one, Refused) else read(one) for one in outputs]
    places = read(own)
    if not places:
        raise ModelError("the model has no answer to this text: none of its tokens is one to answer at")

    def moved(place: Place) -> tuple[bool, float]:
        made = [one[place] for one in found if not isinstance(one, Refused)]
        return any(one.first for one in made), max((abs(one.after - place[2]) for one in made), default=0.0)

    position, name, value = most = max(places, key=moved)
    rows = tuple(one if isinstance(one, Refused) else one[most] for one in found)
    return Effects(kind, _unit(kind, trace, own), position, name, value, rows)


def _outputs(trace: Trace, there: Sequence[Change], changes: Sequence[Change]) -> Iterator[Any]:
    """The model's output with the changes that there are, then with each of the others on top of them, or NO_KEY."""
    rows = [tuple(there), *((*there, change) for change in changes)]
    size = max(1, TOKENS_AT_ONCE // trace.n_tokens)
    for at in range(0, len(rows), size):
        batch = rows[at : at + size]
        try:
            outputs = _batch(trace, batch)
        except SelectionError:  # one of them leaves a token without keys
            outputs = [_alone(trace, row) for row in batch]
        yield from outputs


def _batch(trace: Trace, rows: Sequence[Sequence[Change]]) -> list[Any]:
    assert trace.model is not None
    output = output_of(trace.model, inputs_of(trace, len(rows)), Run(rows))
    answer = type(output)(
        **{name: value for name, value in output.items() if name not in ("hidden_states", "attentions")}
    )
    return [row_of(answer, row) for row in range(len(rows))]


def _alone(trace: Trace, row: Sequence[Change]) -> Any:
    try:
        return _batch(trace, [row])[0]
    except SelectionError:
        return NO_KEY


def _unit(kind: str, trace: Trace, output: Any) -> str:
    return between(kind, trace, output, output, 1)[0]


def _of(kind: str, trace: Trace, target: Target, before: Any, after: Any) -> dict[Place, Effect]:
    """What has become of the number of a label or a word, and what comes first in its place."""
    own, at = target.number, target.position
    _, (first, second) = numbers_at(kind, trace, at, before, after)
    best = int(second.argmax())
    if int(first.argmax()) != own or best == own:
        effect = Effect(float(second[own]), "", float(second[own]))
    else:
        effect = Effect(float(second[own]), name_of(trace, kind, best), float(second[best]))
    return {(at, target.name, float(first[own])): effect}


def answered(
    kind: str, trace: Trace, first: Any, before: Any, after: Any, target: Target | None = None
) -> dict[Place, Effect]:
    """By place, what has become of the first answer of `before`, or of the target, in `after`."""
    if target:
        return _of(kind, trace, target, before, after)
    if kind == "tags":
        return _tags(trace, before, after)
    if kind == "embedding":
        then, now = (_only(kind, trace, first, output) for output in (before, after))
        return {(-1, then.name, then.after): Effect(now.after, "", now.after)}
    _, rows = between(kind, trace, before, after, 1)
    groups: dict[int, list[Answer]] = {}
    for row in rows:  # the first before, and the first after where it is another
        groups.setdefault(row.position if kind == "words" else -1, []).append(row)
    found = {}
    for answers in groups.values():
        own, best = answers[0], answers[-1]
        effect = Effect(own.after, "" if own is best else best.name, best.after)
        found[own.position, own.name, own.before] = effect
    return found


def _only(kind: str, trace: Trace, before: Any, after: Any) -> Answer:
    _, [row] = between(kind, trace, before, after, 1)
    return row


def _tags(trace: Trace, before: Any, after: Any) -> dict[Place, Effect]:
    names = labels_of(trace)
    _, (first, second) = classes(trace, before, after)
    found = {}
    for at in (~trace.special_mask).nonzero()[:, 0].tolist():
        own, best = int(first[at].argmax()), int(second[at].argmax())
        effect = Effect(float(second[at, own]), "" if own == best else names[best], float(second[at, best]))
        found[at, names[own], float(first[at, own])] = effect
    return found


def _of_similarity(trace: Trace, changes: Sequence[Change]) -> Effects:
    apart = [change_apart(trace, change) for change in changes]
    vectors: list[tuple[Tensor, list[Tensor | Refused]]] = []
    for number, (text, there) in enumerate(zip(texts_apart(trace.original), changes_apart(trace), strict=True)):
        made = _outputs(text, there, [change for pair in apart if (change := pair[number]) is not None])
        same = _vector(text, next(made))
        rows = [same if pair[number] is None else _vector(text, next(made)) for pair in apart]
        vectors.append((same, rows))
    before = alike(trace, *(same for same, _ in vectors))
    found: list[Effect | Refused] = []
    for pair, one, other in zip(apart, vectors[0][1], vectors[1][1], strict=True):
        if pair == (None, None):
            found.append(NOT_APART)
        elif isinstance(one, Refused) or isinstance(other, Refused):
            found.append(NO_KEY)
        else:
            after = alike(trace, one, other)
            found.append(Effect(after, "", after))
    return Effects("similarity", UNITS[embedder_of(trace).function], -1, SIMILARITY, before, tuple(found))


def _vector(text: Trace, output: Any) -> Any:
    return output if isinstance(output, Refused) else embedding(text, output.last_hidden_state[0])
