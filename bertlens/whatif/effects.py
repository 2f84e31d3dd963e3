"""What each of a few changes does to the model's answer, each alone: rows of one batch beside the run as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..base.vocabulary import phrases
from ..errors import ModelError, SelectionError
from ..measures.metrics import row_of
from ..measures.predictions import (
    UNITS,
    change_apart,
    classes,
    embedder_of,
    embedding,
    labels_of,
    states_of,
    texts_apart,
)
from ..run.changes import Change, base
from ..run.forward import output_of
from ..run.interventions import Run
from ..trace.trace import Trace
from .before_after import Answer, alike, answer_kind, answers_between
from .reruns import check
from .sweeps import TOKENS_AT_ONCE
from .targets import Target, name_of, numbers_at, target_of

Compared: TypeAlias = tuple[Sequence[Change], Change | None]  # changes, and the one more that is asked about
Refused: TypeAlias = str  # why a change cannot be made, in words
NOT_APART = "not there when each text is read alone, as it is for the similarity"


@dataclass(frozen=True)
class Effect:
    """The answer that is asked about, its number before a change and after, and the answer that comes first then with
    its number, where the one that is asked about came first before and does no longer (else `first` is ""). Before is
    the run without what covers the change (`changes.base`)."""

    position: int
    name: str
    before: float
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


def effects(
    trace: Trace, changes: Sequence[Change], target: str | int | None = None, position: int | None = None
) -> Effects:
    """The answer of `trace`, and with each of the changes alone, on top of those that it has; a change that is among
    them is compared with the run without it. All from one batch, in turns where the text is long.

    target: a label or a word that is asked about in place of the first answer; where, as of `targets.target_of`.
    Each is what `answers` of `trace.rerun(change)` has. The similarity of a pair takes a batch of either text.
    Raises ModelError where the model gives no answer, else like `Trace.rerun` and `target_of`.
    """
    check(trace, changes)
    kind = answer_kind(trace)
    target_answer = None if target is None else target_of(trace, target, position)
    if kind == "similarity":
        return _of_similarity(trace, changes)
    outputs = _outputs(trace, _compared(trace, changes))
    own_output, _ = next(outputs)
    origin = trace.original.record.output if kind == "embedding" and trace.changes else own_output
    places = place_effects(kind, trace, origin, own_output, own_output, target_answer)
    if not places:
        raise ModelError("the model has no answer to this text: none of its tokens is one to answer at")
    outcomes = [
        output if isinstance(output, Refused) else place_effects(kind, trace, origin, baseline, output, target_answer)
        for baseline, output in outputs
    ]

    def moved(at: int) -> tuple[bool, float]:
        rows = [outcome[at] for outcome in outcomes if not isinstance(outcome, Refused)]
        return any(row.first for row in rows), max((abs(row.after - row.before) for row in rows), default=0.0)

    at = max(range(len(places)), key=moved)
    changed = tuple(outcome if isinstance(outcome, Refused) else outcome[at] for outcome in outcomes)
    answer = places[at]
    return Effects(kind, _unit(kind, trace, own_output), answer.position, answer.name, answer.before, changed)


def _compared(trace: Trace, changes: Sequence[Change]) -> list[Compared]:
    """The run as it is, and each change with those that it is on top of."""
    return [(trace.changes, None), *((base(trace.changes, change), change) for change in changes)]


def _outputs(trace: Trace, runs: Sequence[Compared]) -> Iterator[tuple[Any, Any]]:
    """Of each the model's output without the one more, and with it, or `phrases.NO_KEY`."""
    bases = list(dict.fromkeys(tuple(earlier) for earlier, _ in runs))
    rows = outputs_of(trace, [*bases, *((*earlier, change) for earlier, change in runs if change is not None)])
    baselines = {earlier: next(rows) for earlier in bases}
    for earlier, change in runs:
        baseline = baselines[tuple(earlier)]
        yield baseline, baseline if change is None else next(rows)


def outputs_of(trace: Trace, rows: Sequence[Sequence[Change]]) -> Iterator[Any]:
    """The model's output with each row of changes, or `phrases.NO_KEY` where one leaves a token without keys."""
    size = max(1, TOKENS_AT_ONCE // trace.n_tokens)
    for at in range(0, len(rows), size):
        batch = rows[at : at + size]
        try:
            outputs = _batch(trace, batch)
        except SelectionError:  # one of them leaves a token without keys
            outputs = [_alone(trace, row) for row in batch]
        yield from outputs


def _batch(trace: Trace, rows: Sequence[Sequence[Change]]) -> list[Any]:
    output = output_of(trace.borrowed, trace.inputs(len(rows)), Run(rows))
    answer = type(output)(
        **{name: value for name, value in output.items() if name not in ("hidden_states", "attentions")}
    )
    return [row_of(answer, row) for row in range(len(rows))]


def _alone(trace: Trace, row: Sequence[Change]) -> Any:
    try:
        return _batch(trace, [row])[0]
    except SelectionError:
        return phrases.NO_KEY


def _unit(kind: str, trace: Trace, output: Any) -> str:
    return answers_between(kind, trace, output, output, 1)[0]


def _of(kind: str, trace: Trace, target: Target, before: Any, after: Any) -> Effect:
    """What has become of the number of a label or a word, and what comes first in its place."""
    number, at = target.number, target.position
    _, (numbers, changed) = numbers_at(kind, trace, at, before, after)
    best = int(changed.argmax())
    if int(numbers.argmax()) != number:
        best = number
    return _effect(at, target.name, numbers[number], changed[number], name_of(trace, kind, best, at), changed[best])


def _effect(position: int, name: str, before: Any, after: Any, first: str, first_value: Any) -> Effect:
    return Effect(position, name, float(before), float(after), "" if first == name else first, float(first_value))


def place_effects(
    kind: str, trace: Trace, origin: Any, before: Any, after: Any, target: Target | None = None
) -> list[Effect]:
    """Place by place, what has become of the first answer of `before`, or of the target, in `after`.

    origin: the output that vectors are compared with.
    """
    if target:
        return [_of(kind, trace, target, before, after)]
    if kind == "tags":
        return _tags(trace, before, after)
    if kind == "embedding":
        then, now = (answers_between(kind, trace, origin, output, 1)[1][0] for output in (before, after))
        return [Effect(-1, then.name, then.after, now.after, "", now.after)]
    _, rows = answers_between(kind, trace, before, after, 1)
    groups: dict[int, list[Answer]] = {}
    for row in rows:  # the first before, and the first after where it is another
        groups.setdefault(row.position if kind == "words" else -1, []).append(row)
    return [
        _effect(answer.position, answer.name, answer.before, answer.after, best.name, best.after)
        for answer, best in ((answers[0], answers[-1]) for answers in groups.values())
    ]


def _tags(trace: Trace, before: Any, after: Any) -> list[Effect]:
    names = labels_of(trace)
    _, (numbers, changed) = classes(trace, before, after)
    rows = []
    for at in (~trace.special_mask).nonzero()[:, 0].tolist():
        tag, best = int(numbers[at].argmax()), int(changed[at].argmax())
        rows.append(_effect(at, names[tag], numbers[at, tag], changed[at, tag], names[best], changed[at, best]))
    return rows


def _of_similarity(trace: Trace, changes: Sequence[Change]) -> Effects:
    runs = _compared(trace, changes)
    vectors = [
        [_vectors(text, outputs) for outputs in _outputs(text, [_apart(trace, run, number) for run in runs])]
        for number, text in enumerate(texts_apart(trace.original))
    ]
    outcomes: list[Effect | Refused] = []
    for (_, change), pair_a, pair_b in zip(runs, *vectors, strict=True):
        if change and not any(change_apart(trace, change)):
            outcomes.append(NOT_APART)
        elif isinstance(pair_a[1], Refused) or isinstance(pair_b[1], Refused):
            outcomes.append(phrases.NO_KEY)
        else:
            baseline, changed = alike(trace, pair_a[0], pair_b[0]), alike(trace, pair_a[1], pair_b[1])
            outcomes.append(Effect(-1, phrases.TEXTS_ALIKE, baseline, changed, "", changed))
    plain, *rows = outcomes
    assert isinstance(plain, Effect)
    return Effects("similarity", UNITS[embedder_of(trace).function], -1, phrases.TEXTS_ALIKE, plain.before, tuple(rows))


def _apart(trace: Trace, run: Compared, number: int) -> Compared:
    """Of one of a pair's texts."""
    changes, change = run
    inside = [change_apart(trace, earlier)[number] for earlier in changes]
    text_change = None if change is None else change_apart(trace, change)[number]
    return [earlier for earlier in inside if earlier is not None], text_change


def _vectors(text: Trace, outputs: tuple[Any, Any]) -> tuple[Any, Any]:
    baseline, changed = (x if isinstance(x, Refused) else embedding(text, states_of(text, x)) for x in outputs)
    return baseline, changed
