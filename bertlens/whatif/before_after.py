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

from ..base.vocabulary import phrases
from ..errors import SelectionError
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
from ..trace.trace import Trace
from .reruns import check
from .sweeps import Index, estimate, outputs, planned, steps
from .targets import Target, name_of, numbers_at, target_of

Found = list[tuple[Index, float]]
Pair = tuple[Tensor, Tensor]  # vectors before and after


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
    kind = asked_kind(trace)
    if kind == "similarity":
        unit, rows = _similarity(trace)
    else:
        unit, rows = between(kind, trace, trace.original.record.output, trace.record.output, k)
    if target is not None:
        chosen = target_of(trace, target, position)
        unit, (before, after) = numbers_at(
            kind, trace, chosen.position, trace.original.record.output, trace.record.output
        )
        own = Answer(chosen.position, chosen.name, float(before[chosen.number]), float(after[chosen.number]))
        rows = [own, *(row for row in rows if (row.position, row.name) != (own.position, own.name))]
    return Answers(kind, unit, tuple(rows), embedder_of(trace).note if kind in ("similarity", "embedding") else "")


def between(kind: str, trace: Trace, before: Any, after: Any, k: int) -> tuple[str, list[Answer]]:
    """The unit, and the answers in two outputs of the trace's text: of every kind but "similarity", as in `answers`."""
    return _READ[kind](trace, before, after, k)


def asked_kind(trace: Trace) -> str:
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


def _words(trace: Trace, before: Any, after: Any, k: int) -> tuple[str, list[Answer]]:
    rows = []
    for position in masked(trace):
        _, (first, second) = numbers_at("words", trace, position, before, after)
        best = _either(first, second, k)
        rows += [Answer(position, name_of(trace, "words", n), float(first[n]), float(second[n])) for n in best]
    return "probability", rows


def _labels(trace: Trace, before: Any, after: Any, k: int) -> tuple[str, list[Answer]]:
    names = labels_of(trace)
    unit, (first, second) = classes(trace, before, after)
    return unit, [Answer(-1, names[n], float(first[n]), float(second[n])) for n in _either(first, second, k)]


def _tags(trace: Trace, before: Any, after: Any, k: int) -> tuple[str, list[Answer]]:
    names = labels_of(trace)
    unit, (before, after) = classes(trace, before, after)
    own = before.argmax(-1)
    positions = (~trace.special_mask).nonzero()[:, 0].tolist()
    change = {at: abs(float(after[at, own[at]] - before[at, own[at]])) for at in positions}
    most = sorted(sorted(positions, key=lambda at: -change[at])[:k])
    return unit, [Answer(at, names[int(own[at])], float(before[at, own[at]]), float(after[at, own[at]])) for at in most]


def _spans(trace: Trace) -> Tensor:
    """(S, S) bool: [start, end] within the second text, or the only one."""
    segment = 1 if bool((trace.segments == 1).any()) else 0
    inside = (trace.segments == segment) & ~trace.special_mask
    return (inside[:, None] & inside[None]).triu()


def _span(trace: Trace, before: Any, after: Any, k: int) -> tuple[str, list[Answer]]:
    allowed = _spans(trace)
    pair = []
    for output in (before, after):
        start, end = (logits[0].double().softmax(-1) for logits in (output.start_logits, output.end_logits))
        pair.append((start[:, None] * end[None]).masked_fill(~allowed, 0).flatten())
    before, after = pair
    rows = []
    for n in _either(before, after, min(k, int(allowed.sum()))):
        i, j = divmod(n, trace.n_tokens)
        words = " ".join(trace.display_tokens[i : j + 1])
        rows.append(Answer(i, words, float(before[n]), float(after[n])))
    return "probability", rows


def cosine(one: Tensor, other: Tensor) -> float:
    return float(torch.cosine_similarity(one.detach().double(), other.detach().double(), dim=0))


def alike(trace: Trace, one: Tensor, other: Tensor) -> float:
    """The model's similarity of two vectors."""
    return float(compared(trace, one.double(), other.double()).detach())


def _similarity(trace: Trace) -> tuple[str, list[Answer]]:
    texts = texts_apart(trace.original)
    before = after = alike(trace, *(embedding(text, text.record.output.last_hidden_state[0]) for text in texts))
    if trace.changes:
        after = alike(trace, *map(_changed_embedding, texts, changes_apart(trace)))
    return UNITS[embedder_of(trace).function], [Answer(-1, phrases.TEXTS_ALIKE, before, after)]


def _changed_embedding(text: Trace, changes: Sequence[Change]) -> Tensor:
    """Of a run with changes, which records nothing else."""
    check(text, changes)
    assert text.model is not None
    return embedding(text, output_of(text.model, text.inputs(), Run([changes])).last_hidden_state[0])


def _embedding(trace: Trace, before: Any, after: Any, k: int) -> tuple[str, list[Answer]]:
    first, second = (embedding(trace, output.last_hidden_state[0]) for output in (before, after))
    same = 1.0 if before is after else cosine(first, second)
    return "cosine", [Answer(-1, phrases.EMBEDDING_ALIKE, 1.0, same)]


_READ: dict[str, Callable[[Trace, Any, Any, int], tuple[str, list[Answer]]]] = {
    "words": _words,
    "labels": _labels,
    "tags": _tags,
    "span": _span,
    "embedding": _embedding,
}


@dataclass(frozen=True)
class Asked:
    """A number of the answer that heads are swept for. estimated: (L, H) to first order, None where there is no slope;
    exact: of some layers' heads, as `sweeps.steps` gives them; metric: what is read of each run's output, None where it
    takes two texts."""

    label: str
    unit: str
    estimated: Callable[[], Tensor] | None
    exact: Callable[[Iterable[int]], Iterator[Found]]
    metric: Metric | Read | None = None


def asked(trace: Trace, target: str | int | None = None, position: int | None = None) -> dict[str, Asked]:
    """By name, what "which heads matter?" may be asked of: of the answer that the original run gave first, or of a
    label or a word (`targets.target_of`).

    Raises ModelError where the model gives no answer, InputError for a target that does not exist.
    """
    kind = asked_kind(trace)
    if kind in _OF_TARGET:
        return _OF_TARGET[kind](trace, None if target is None else target_of(trace, target, position))
    if target is not None:
        target_of(trace, target, position)  # says why not
    return _ASKED[kind](trace)


def asked_of(trace: Trace, name: str, target: str | int | None = None, position: int | None = None) -> Asked:
    """One of `asked`. Raises SelectionError for another."""
    choices = asked(trace, target, position)
    if name not in choices:
        raise SelectionError(f"no number {name[:40]!r} of the answer: there are {', '.join(choices)}")
    return choices[name]


def _by_metric(trace: Trace, metric: Metric | Read, label: str, unit: str) -> Asked:
    has_slope = not isinstance(metric, Metric) or not metric.flat or bool(trace.changes)
    return Asked(
        label,
        unit,
        (lambda: estimate(trace, metric)) if has_slope else None,
        lambda layers: steps(trace, metric, layers=layers),
        metric,
    )


def _asked_words(trace: Trace, target: Target | None) -> dict[str, Asked]:
    """Of a word, and of it over the best of the others."""
    at, several = target.position if target else masked(trace)[0], len(masked(trace)) > 1
    logits = words_of(trace.original.record.output)[0, at]
    best = logits.topk(2).indices.tolist()
    first = target.number if target else best[0]
    second = next(n for n in best if n != first)
    one, other = (name_of(trace, "words", n) for n in (first, second))
    named = {"name": one, "other": other, "where": f" at {at}" if several else ""}
    return {
        "logit": _by_metric(trace, logit(first, at), phrases.LOGIT.format(**named), "logits"),
        "difference": _by_metric(trace, difference(first, second, at), phrases.LOGIT_OVER.format(**named), "nats"),
        "probability": _by_metric(trace, probability(first, at), phrases.PROBABILITY.format(**named), "0 to 1"),
        "divergence": _by_metric(trace, divergence(at), phrases.DIVERGENCE.format(**named), "nats"),
    }


def _asked_labels(trace: Trace, target: Target | None) -> dict[str, Asked]:
    names = labels_of(trace)
    best = target.number if target else int(trace.original.record.output.logits[0].argmax())
    said = "logit" if is_lone(trace) else phrases.LOGIT.format(name=names[best], where="")
    found = {"logit": _by_metric(trace, label(best), said, "logits")}
    if one_of(trace):
        found["divergence"] = _by_metric(trace, divergence(), phrases.DIVERGENCE.format(where=""), "nats")
    return found


def _asked_tags(trace: Trace, target: Target | None) -> dict[str, Asked]:
    if target:
        at_token = {"token": trace.display_tokens[target.position], "position": target.position}
        said = phrases.TOKEN_LOGIT.format(name=target.name, **at_token)
        return {"logit": _by_metric(trace, label(target.number, target.position), said, "logits")}
    at = (~trace.special_mask).nonzero()[:, 0]
    own = trace.original.record.output.logits[0].argmax(-1)[at]

    def logits(output: Any) -> Tensor:
        summed: Tensor = output.logits[0, at, own].sum()
        return summed

    return {"logit": _by_metric(trace, logits, phrases.TOKEN_LOGITS, "logits")}


def _asked_span(trace: Trace) -> dict[str, Asked]:
    output = trace.original.record.output
    summed = output.start_logits[0][:, None] + output.end_logits[0][None]
    n = int(summed.masked_fill(~_spans(trace), -torch.inf).flatten().argmax())
    i, j = divmod(n, trace.n_tokens)

    def logits(output: Any) -> Tensor:
        found: Tensor = output.start_logits[0, i] + output.end_logits[0, j]
        return found

    words = " ".join(trace.display_tokens[i : j + 1])[:40]
    return {"logit": _by_metric(trace, logits, f"start and end logits of “{words}”", "logits")}


def _asked_embedding(trace: Trace) -> dict[str, Asked]:
    return {"similarity": _by_metric(trace, similarity(), phrases.EMBEDDING_KEPT, "cosine")}


def _asked_similarity(trace: Trace) -> dict[str, Asked]:
    def slopes() -> Tensor:  # of a function of both: the sum of what either moves alone
        first, second = texts_apart(trace)
        return estimate(first, _similarity_with(second)) + estimate(second, _similarity_with(first))

    return {
        "similarity": Asked(
            phrases.TEXTS_ALIKE,
            UNITS[embedder_of(trace).function],
            slopes,
            lambda layers: _together(trace, list(layers)),
        )
    }


def _similarity_with(other: Trace) -> Callable[[Any], Tensor]:
    """Similarity of a run's embedding with that of another run as it is, changes included."""
    target = embedding(other, other.record.output.last_hidden_state[0]).detach()
    return lambda output: compared(other, embedding(other, output.last_hidden_state[0]), target)


def _together(trace: Trace, layers: list[int]) -> Iterator[Found]:
    """The similarity of two texts with the same head off in both, less that without."""
    made: tuple[dict[Index, Pair], dict[Index, Pair]] = ({}, {})
    nothing: dict[Index, Pair] = {}
    for batches in zip_longest(*(_embeddings(text, layers) for text in texts_apart(trace)), fillvalue=nothing):
        for text, batch in zip(made, batches, strict=True):
            text |= batch
        both = [(index, made[0].pop(index), made[1].pop(index)) for index in [*made[0]] if index in made[1]]
        if both:
            yield [(index, alike(trace, a[1], b[1]) - alike(trace, a[0], b[0])) for index, a, b in both]


def _embeddings(text: Trace, layers: list[int]) -> Iterator[dict[Index, Pair]]:
    """A text's vector without each change and with it, batch by batch."""
    heads = planned(text, "heads", layers=layers)
    check(text, [change for _, change in heads])
    for own, batch in outputs(text, heads):
        before, *after = (embedding(text, one.last_hidden_state[0]).detach() for one in (own, *(x for _, x in batch)))
        yield {index: (before, vector) for (index, _), vector in zip(batch, after, strict=True)}


_OF_TARGET: dict[str, Callable[[Trace, Target | None], dict[str, Asked]]] = {
    "words": _asked_words,
    "labels": _asked_labels,
    "tags": _asked_tags,
}
_ASKED: dict[str, Callable[[Trace], dict[str, Asked]]] = {
    "span": _asked_span,
    "similarity": _asked_similarity,
    "embedding": _asked_embedding,
}
