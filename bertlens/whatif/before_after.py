"""The model's answer before the changes of a run and after, as the same names with two numbers each.

And what heads are swept for where nobody says: the answer that the model gave first, as numbers of its output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from ..base.quotes import quotation
from ..base.vocabulary import phrases
from ..errors import SelectionError
from ..measures.answer_words import namer
from ..measures.metrics import Metric, Read, difference, divergence, label, logit, probability, similarity
from ..measures.predictions import (
    UNITS,
    change_apart,
    changes_apart,
    classes,
    compared,
    embedder_of,
    embedding,
    is_lone,
    kind_of,
    labels_of,
    masked,
    one_of,
    texts_apart,
    words_of,
)
from ..run.changes import Change
from ..run.forward import output_of
from ..run.interventions import Run
from ..text.pair_positions import pair_positions
from ..trace.trace import Trace
from .reruns import check
from .sweeps import Index, outputs, planned, slopes, steps
from .targets import Target, name_of, numbers_at, target_of

Differences = list[tuple[Index, float]]
Pair = tuple[Tensor, Tensor]  # vectors before and after
Numbers = dict[int, Tensor]  # of all answers that there could be, by their place


@dataclass(frozen=True)
class Answer:
    """One answer: where (-1: the whole text), its name, its number in the original run and in the changed one."""

    position: int
    name: str
    before: float
    after: float


@dataclass(frozen=True)
class Answers:
    """What a model answers. kind: "words", "labels", "tags", "span", "similarity", or "embedding" where an encoder has
    nothing to compare the text with but itself. unit: "probability", "logit", or of `predictions.UNITS`. said: beside
    the number, how the vectors are made where the model does not say it itself."""

    kind: str
    unit: str
    rows: tuple[Answer, ...]
    said: str = ""


def answers(trace: Trace, k: int = 5, target: str | int | None = None, position: int | None = None) -> Answers:
    """The answers of `trace.original` beside those of `trace`: the k best of either, the best before first.

    target: a label or a word that is asked about, the first row then; where, as of `targets.target_of`.

    Words, labels and spans with their probability as in `Trace.predictions` (a regression with its output); of token
    classifiers the k tokens whose own label's probability changed most. Encoders: the similarity of both texts, each
    run alone with the changes; of one text, or where a change is of tokens that neither text alone has together, the
    cosine of the embedding with that of the original run (1 before). Raises ModelError where the model has no answer.
    """
    kind = answer_kind(trace)
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
        vector, changed_vector = (embedding(trace, output.last_hidden_state[0]) for output in (before, after))
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
    best = [values.topk(min(k, len(values))).indices.tolist() for values in (before, after)]
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
    pairs = ((place, number) for place, number in _NAMED[kind](trace, before, after, k))
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


def _best(_trace: Trace, before: Numbers, after: Numbers, k: int) -> list[tuple[int, int]]:
    return [(place, n) for place in before for n in _either(before[place], after[place], k)]


def _tags(trace: Trace, before: Numbers, after: Numbers, k: int) -> list[tuple[int, int]]:
    positions = (~trace.special_mask).nonzero()[:, 0].tolist()
    tags = {at: int(before[at].argmax()) for at in positions}
    change = {at: abs(float(after[at][tag] - before[at][tag])) for at, tag in tags.items()}
    return [(at, tags[at]) for at in sorted(sorted(positions, key=lambda at: -change[at])[:k])]


def _spans(trace: Trace) -> Tensor:
    """(S, S) bool: [start, end] within the second text, or the only one."""
    segment = 1 if bool((trace.segments == 1).any()) else 0
    inside = (trace.segments == segment) & ~trace.special_mask
    return (inside[:, None] & inside[None]).triu()


def span_chances(trace: Trace, output: Any) -> Tensor:
    """(S·S) of each span [start, end] the product of both probabilities, 0 where it is none."""
    start, end = (logits[0].double().softmax(-1) for logits in (output.start_logits, output.end_logits))
    return (start[:, None] * end[None]).masked_fill(~_spans(trace), 0).flatten()


def _best_spans(trace: Trace, before: Numbers, after: Numbers, k: int) -> list[tuple[int, int]]:
    return _best(trace, before, after, min(k, int(_spans(trace).sum())))


_NAMED: dict[str, Callable[[Trace, Numbers, Numbers, int], list[tuple[int, int]]]] = {
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
    texts = texts_apart(trace.original)
    number = changed = alike(trace, *(embedding(text, text.record.output.last_hidden_state[0]) for text in texts))
    if trace.changes:
        changed = alike(trace, *map(_changed_embedding, texts, changes_apart(trace)))
    return UNITS[embedder_of(trace).function], [Answer(-1, phrases.TEXTS_ALIKE, number, changed)]


def _changed_embedding(text: Trace, changes: Sequence[Change]) -> Tensor:
    """Of a run with changes, which records nothing else."""
    check(text, changes)
    assert text.model is not None
    return embedding(text, output_of(text.model, text.inputs(), Run([changes])).last_hidden_state[0])


@dataclass(frozen=True)
class SweptNumber:
    """A number of the answer that heads are swept for. sloped: (L, H, S) as of `sweeps.slopes`, by the tokens of the
    trace, None where there is no slope; exact: of some heads, (layer, head), as `sweeps.steps` gives them; metric: what
    is read of each run's output, None where it takes two texts."""

    label: str
    unit: str
    sloped: Callable[[], Tensor] | None
    exact: Callable[[Iterable[Index]], Iterator[Differences]]
    metric: Metric | Read | None = None

    @property
    def estimated(self) -> Callable[[], Tensor] | None:
        """(L, H) to first order, None where there is no slope."""
        sloped = self.sloped
        return None if sloped is None else lambda: sloped().sum(2)


def swept_numbers(trace: Trace, target: str | int | None = None, position: int | None = None) -> dict[str, SweptNumber]:
    """By name, what "which heads matter?" may be asked of: of the answer that the original run gave first, or of a
    label or a word (`targets.target_of`).

    Raises ModelError where the model gives no answer, InputError for a target that does not exist.
    """
    kind = answer_kind(trace)
    if kind in _OF_TARGET:
        return _OF_TARGET[kind](trace, None if target is None else target_of(trace, target, position))
    if target is not None:
        target_of(trace, target, position)  # says why not
    return _OF_ANSWER[kind](trace)


def swept_number(trace: Trace, name: str, target: str | int | None = None, position: int | None = None) -> SweptNumber:
    """One of `swept_numbers`. Raises SelectionError for another."""
    choices = swept_numbers(trace, target, position)
    if name not in choices:
        raise SelectionError(f"no number {name[:40]!r} of the answer: there are {', '.join(choices)}")
    return choices[name]


def by_metric(trace: Trace, metric: Metric | Read, label: str, unit: str) -> SweptNumber:
    """A number that is read of each run's output."""
    has_slope = not isinstance(metric, Metric) or not metric.flat or bool(trace.changes)
    return SweptNumber(
        label,
        unit,
        (lambda: slopes(trace, metric)) if has_slope else None,
        lambda heads: steps(trace, metric, heads=heads),
        metric,
    )


def _swept_words(trace: Trace, target: Target | None) -> dict[str, SweptNumber]:
    """Of a word, and of it over the best of the others."""
    at, several = target.position if target else masked(trace)[0], len(masked(trace)) > 1
    logits = words_of(trace.original.record.output)[0, at]
    best = logits.topk(2).indices.tolist()
    word = target.number if target else best[0]
    rival = next(n for n in best if n != word)
    name, rival_name = map(namer(trace, at), (word, rival))
    named = {"name": quotation(name), "other": quotation(rival_name), "where": f" at {at}" if several else ""}
    return {
        "logit": by_metric(trace, logit(word, at), phrases.LOGIT.format(**named), "logits"),
        "difference": by_metric(trace, difference(word, rival, at), phrases.LOGIT_OVER.format(**named), "nats"),
        "probability": by_metric(trace, probability(word, at), phrases.PROBABILITY.format(**named), "0 to 1"),
        "divergence": by_metric(trace, divergence(at), phrases.DIVERGENCE.format(**named), "nats"),
    }


def _swept_labels(trace: Trace, target: Target | None) -> dict[str, SweptNumber]:
    names = labels_of(trace)
    best = target.number if target else int(trace.original.record.output.logits[0].argmax())
    name = "logit" if is_lone(trace) else phrases.LOGIT.format(name=quotation(names[best]), where="")
    numbers = {"logit": by_metric(trace, label(best), name, "logits")}
    if one_of(trace):
        numbers["divergence"] = by_metric(trace, divergence(), phrases.DIVERGENCE.format(where=""), "nats")
    return numbers


def _swept_tags(trace: Trace, target: Target | None) -> dict[str, SweptNumber]:
    if target:
        at_token = {"token": quotation(trace.display_tokens[target.position]), "position": target.position}
        name = phrases.TOKEN_LOGIT.format(name=quotation(target.name), **at_token)
        return {"logit": by_metric(trace, label(target.number, target.position), name, "logits")}
    at = (~trace.special_mask).nonzero()[:, 0]
    tags = trace.original.record.output.logits[0].argmax(-1)[at]

    def logits(output: Any) -> Tensor:
        summed: Tensor = output.logits[0, at, tags].sum()
        return summed

    return {"logit": by_metric(trace, logits, phrases.TOKEN_LOGITS, "logits")}


def _swept_span(trace: Trace) -> dict[str, SweptNumber]:
    output = trace.original.record.output
    summed = output.start_logits[0][:, None] + output.end_logits[0][None]
    n = int(summed.masked_fill(~_spans(trace), -torch.inf).flatten().argmax())
    i, j = divmod(n, trace.n_tokens)

    def logits(output: Any) -> Tensor:
        total: Tensor = output.start_logits[0, i] + output.end_logits[0, j]
        return total

    words = " ".join(trace.display_tokens[i : j + 1])[:40]
    return {"logit": by_metric(trace, logits, f"start and end logits of {quotation(words)}", "logits")}


def _swept_embedding(trace: Trace) -> dict[str, SweptNumber]:
    return {"similarity": by_metric(trace, similarity(), phrases.EMBEDDING_KEPT, "cosine")}


def _swept_similarity(trace: Trace) -> dict[str, SweptNumber]:
    def sloped() -> Tensor:  # of a function of both: the sum of what either moves alone
        texts = texts_apart(trace)
        summed = torch.zeros(trace.n_layers, trace.n_heads, trace.n_tokens, dtype=torch.float64, device="cpu")
        for number, (text, other) in enumerate(zip(texts, reversed(texts), strict=True)):
            places = pair_positions(trace.original.encoding, text.encoding, number)
            at = {alone: place for place, alone in places.items()}
            rows = slopes(text, _similarity_with(other))
            columns = [at.get(alone, 0) for alone in range(text.n_tokens)]
            summed.index_add_(2, torch.tensor(columns, device="cpu"), rows)
        return summed

    return {
        "similarity": SweptNumber(
            phrases.TEXTS_ALIKE,
            UNITS[embedder_of(trace).function],
            sloped,
            lambda heads: _together(trace, list(heads)),
        )
    }


def _similarity_with(other: Trace) -> Callable[[Any], Tensor]:
    """Similarity of a run's embedding with that of another run as it is, changes included."""
    target = embedding(other, other.record.output.last_hidden_state[0]).detach()
    return lambda output: compared(other, embedding(other, output.last_hidden_state[0]), target)


def _together(trace: Trace, heads: list[Index]) -> Iterator[Differences]:
    """The similarity of two texts with the same head off in both, less that without."""
    pool: tuple[dict[Index, Pair], dict[Index, Pair]] = ({}, {})
    nothing: dict[Index, Pair] = {}
    for batches in zip_longest(*(_embeddings(text, heads) for text in texts_apart(trace)), fillvalue=nothing):
        for text, batch in zip(pool, batches, strict=True):
            text |= batch
        pairs = [(index, pool[0].pop(index), pool[1].pop(index)) for index in [*pool[0]] if index in pool[1]]
        if pairs:
            yield [(index, alike(trace, a[1], b[1]) - alike(trace, a[0], b[0])) for index, a, b in pairs]


def _embeddings(text: Trace, heads: list[Index]) -> Iterator[dict[Index, Pair]]:
    """A text's vector without each change and with it, batch by batch."""
    changes = planned(text, "heads", heads=heads)
    check(text, [change for _, change in changes])
    for baseline, batch in outputs(text, changes):
        rows = (baseline, *(output for _, output in batch))
        plain, *changed = (embedding(text, row.last_hidden_state[0]).detach() for row in rows)
        yield {index: (plain, vector) for (index, _), vector in zip(batch, changed, strict=True)}


_OF_TARGET: dict[str, Callable[[Trace, Target | None], dict[str, SweptNumber]]] = {
    "words": _swept_words,
    "labels": _swept_labels,
    "tags": _swept_tags,
}
_OF_ANSWER: dict[str, Callable[[Trace], dict[str, SweptNumber]]] = {
    "span": _swept_span,
    "similarity": _swept_similarity,
    "embedding": _swept_embedding,
}
