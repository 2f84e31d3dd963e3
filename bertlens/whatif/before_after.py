"""The model's answer before the changes of a run and after, as the same names with two numbers each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ..base.vocabulary import phrases
from ..base.vocabulary.constants import CHOICES
from ..measures.largest import largest
from ..measures.predictions import (
    NO_ANSWER,
    UNITS,
    change_apart,
    classes,
    compared,
    embedder_of,
    embedding,
    kind_of,
    masked,
    states_of,
    texts_apart,
)
from ..trace.checks import check_finite
from ..trace.trace import Trace
from .targets import Target, name_of, numbers_at, target_of

Numbers = dict[int, Tensor]  # of all answers that there could be, by their place


@dataclass(frozen=True)
class Answer:
    """One answer: where (-1: the whole text), its name, its number in the original run and in the changed one."""

    position: int  # -1: the whole text
    name: str
    before: float  # in the original run
    after: float  # in the changed one


@dataclass(frozen=True)
class Answers:
    """What a model answers. kind: "words", "labels", "tags", "span", "similarity", or "embedding" where an encoder has
    nothing to compare the text with but itself. unit: "probability", "logit", or of `predictions.UNITS`. said: beside
    the number, how the vectors are made where the model does not say it itself."""

    kind: str
    unit: str
    rows: tuple[Answer, ...]  # one for each answer
    said: str = ""


def answers(trace: Trace, k: int = 5, target: str | int | None = None, position: int | None = None) -> Answers:
    """The answers of `trace.original` beside those of `trace`: the k best of either, the best before first.

    target: a label or a word that is asked about, the first row then; where, as of `targets.target_of`.

    Words, labels and spans with their probability as in `Trace.predictions` (a regression with its output); of token
    classifiers k tokens with their own label, first the target's, else that of the first token whose label is not the
    commonest of the text, then those whose own label's probability changed most; and last the other labels of the
    first token, the best before first, up to 20. Encoders: the similarity of both texts, each
    run alone with the changes; of one text, or where a change is of tokens that neither text alone has together, the
    cosine of the embedding with that of the original run (1 before). Raises ModelError where the model has no answer,
    and where the original run has NaN or Inf.
    """
    kind = answer_kind(trace)
    check_finite(trace.original, NO_ANSWER)
    lead = None if target is None else target_of(trace, target, position)
    if kind == "similarity":
        unit, rows = _similarity(trace)
    else:
        unit, rows = answers_between(kind, trace, trace.original.record.output, trace.record.output, k, lead)
    return Answers(kind, unit, tuple(rows), embedder_of(trace).note if kind in ("similarity", "embedding") else "")


def answers_between(
    kind: str, trace: Trace, before: Any, after: Any, k: int, target: Target | None = None
) -> tuple[str, list[Answer]]:
    """The unit, and the answers in two outputs of the trace's text: of every kind but "similarity", as in `answers`."""
    if kind == "embedding":
        vector, changed_vector = (embedding(trace, states_of(trace, output)) for output in (before, after))
        cos = 1.0 if before is after else cosine(vector, changed_vector)
        return "cosine", [Answer(-1, phrases.EMBEDDING_ALIKE, 1.0, cos)]
    unit, (numbers, changed) = numbers_of(kind, trace, before, after)
    return unit, [
        Answer(answer.position, answer.name, answer.number_in(numbers), answer.number_in(changed))
        for answer in named_answers(kind, trace, numbers, changed, k, target)
    ]


def answer_kind(trace: Trace) -> str:
    """As `predictions.kind_of`, but "embedding" where the similarity of two texts cannot be had."""
    kind = kind_of(trace)
    if kind == "words":
        masked(trace)
    if kind == "similarity" and not (
        trace.text_pair and trace.lens is not None and all(any(change_apart(trace, change)) for change in trace.changes)
    ):
        return "embedding"
    return kind


def _either(before: Tensor, after: Tensor, k: int) -> list[int]:
    """The k largest of either, those of `before` first."""
    best = [largest(values, min(k, len(values)))[0].tolist() for values in (before, after)]
    return list(dict.fromkeys(best[0] + best[1]))


def numbers_of(kind: str, trace: Trace, *outputs: Any) -> tuple[str, list[Numbers]]:
    """The unit, and in each output the number of every word, label or tag at its place, of every span at place −1."""
    if kind == "words":
        places = masked(trace)
        return "probability", [{at: numbers_at(kind, trace, at, o)[1][0] for at in places} for o in outputs]
    if kind == "span":
        return "probability", [{-1: span_chances(trace, output)} for output in outputs]
    unit, rows = classes(trace, *outputs)
    return unit, [{-1: row} if kind == "labels" else dict(enumerate(row)) for row in rows]


@dataclass(frozen=True)
class NamedAnswer:
    """An answer by the place and the number that `numbers_of` has it under, and by the position and name it is shown
    with."""

    place: int
    number: int
    position: int
    name: str

    def number_in(self, numbers: Numbers) -> float:
        """Its number in one output."""
        return float(numbers[self.place][self.number])


def named_answers(
    kind: str, trace: Trace, before: Numbers, after: Numbers, k: int, target: Target | None = None
) -> list[NamedAnswer]:
    """Which answers are shown of two outputs' numbers, as in `answers`: the target first."""
    pairs = _NAMED[kind](trace, before, after, k, None if target is None else target.position)
    rows = [NamedAnswer(place, number, *_name(kind, trace, place, number)) for place, number in pairs]
    if target is None:
        return rows
    lead = NamedAnswer(target.position, target.number, target.position, target.name)
    return [lead, *(row for row in rows if (row.position, row.name) != (lead.position, lead.name))]


def _name(kind: str, trace: Trace, place: int, number: int) -> tuple[int, str]:
    """The position and the name that an answer is shown with."""
    if kind == "span":
        i, j = divmod(number, trace.n_tokens)
        return i, " ".join(trace.display_tokens[i : j + 1])
    return place, name_of(trace, kind, number, place)


Place: TypeAlias = tuple[int, int]  # as `numbers_of` has an answer: its place, its number


def _best(_trace: Trace, before: Numbers, after: Numbers, k: int, _at: int | None = None) -> list[Place]:
    return [(place, n) for place in before for n in _either(before[place], after[place], k)]


def _tags(trace: Trace, before: Numbers, after: Numbers, k: int, at: int | None) -> list[Place]:
    tags = {int(n): int(before[int(n)].argmax()) for n in (~trace.special_mask).nonzero()[:, 0]}
    if at is None:
        if not tags:
            return []
        [(commonest, _)] = Counter(tags.values()).most_common(1)
        at = next((place for place, tag in tags.items() if tag != commonest), min(tags))
    tag = int(before[at].argmax())
    change = {n: abs(float(after[n][own] - before[n][own])) for n, own in tags.items() if n != at}
    others = sorted(sorted(change, key=lambda n: -change[n])[: k - 1])
    rest = [n for n in _either(before[at], after[at], CHOICES) if n != tag]
    return [(at, tag), *((n, tags[n]) for n in others), *((at, n) for n in rest[: CHOICES - 1])]


def spans(trace: Trace) -> Tensor:
    """(S, S) bool: [start, end] within the second text, or the only one."""
    segment = 1 if bool((trace.segments == 1).any()) else 0
    inside = (trace.segments == segment) & ~trace.special_mask
    return (inside[:, None] & inside[None]).triu()


def span_chances(trace: Trace, output: Any) -> Tensor:
    """(S·S) of each span [start, end] the product of both probabilities, 0 where it is none."""
    start, end = (logits[0].double().softmax(-1) for logits in (output.start_logits, output.end_logits))
    return (start[:, None] * end[None]).masked_fill(~spans(trace), 0).flatten()


def _best_spans(trace: Trace, before: Numbers, after: Numbers, k: int, _at: int | None) -> list[Place]:
    return _best(trace, before, after, min(k, int(spans(trace).sum())))


_NAMED: dict[str, Callable[[Trace, Numbers, Numbers, int, int | None], list[Place]]] = {
    "words": _best,
    "labels": _best,
    "tags": _tags,
    "span": _best_spans,
}


def cosine(one: Tensor, other: Tensor) -> float:
    return float(torch.cosine_similarity(one.detach().double(), other.detach().double(), dim=0))


def alike(trace: Trace, one: Tensor, other: Tensor) -> float:
    """The model's similarity of two vectors."""
    return float(compared(trace, one.double(), other.double()).detach())


def _similarity(trace: Trace) -> tuple[str, list[Answer]]:
    number, changed = (
        alike(run, *(embedding(text, states_of(text, text.record.output)) for text in texts_apart(run)))
        for run in (trace.original, trace)
    )
    return UNITS[embedder_of(trace).function], [Answer(-1, phrases.TEXTS_ALIKE, number, changed)]
