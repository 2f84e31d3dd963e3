"""What heads are swept for where nobody says: the answer that the model gave first, as numbers of its output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Protocol

import torch
from torch import Tensor

from ..base.quotes import quotation
from ..base.vocabulary import phrases
from ..errors import SelectionError
from ..measures.answer_words import namer
from ..measures.largest import largest
from ..measures.metrics import Metric, Read, difference, divergence, is_flat, label, logit, probability, similarity
from ..measures.predictions import (
    UNITS,
    compared,
    embedder_of,
    embedding,
    is_lone,
    labels_of,
    masked,
    one_of,
    states_of,
    texts_apart,
    words_of,
)
from ..text.pair_positions import pair_positions
from ..trace.trace import Trace
from .before_after import alike, answer_kind, spans
from .reruns import check
from .sweeps import Bases, Index, outputs, planned, slopes, steps
from .targets import Target, target_of

Differences = list[tuple[Index, float]]
Pair = tuple[Tensor, Tensor]  # vectors before and after


class Exact(Protocol):
    """What some heads do to a number; `bases`: kept from call to call by who calls, see `sweeps.outputs`."""

    def __call__(self, heads: Iterable[Index], bases: dict[Any, Any] | None = None) -> Iterator[Differences]: ...


@dataclass(frozen=True)
class SweptNumber:
    """A number of the answer that heads are swept for. slopes: (L, H, S) as of `sweeps.slopes`, by the tokens of the
    trace; of two texts (L, H, S + 1), at last what is of tokens that they have only when each is read alone; None where
    there is no slope. exact: of some heads, (layer, head), as `sweeps.steps` gives them, with what it keeps between the
    calls; metric: what is read of each
    run's output, None where it takes two texts."""

    label: str
    unit: str
    slopes: Callable[[], Tensor] | None
    exact: Exact
    metric: Metric | Read | None = None

    @property
    def estimated(self) -> Callable[[], Tensor] | None:
        """(L, H) to first order, None where there is no slope."""
        of_tokens = self.slopes
        return None if of_tokens is None else lambda: of_tokens().sum(2)


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


def by_metric(trace: Trace, metric: Metric | Read, label: str, unit: str, row: int | None = None) -> SweptNumber:
    """A number that is read of each run's output; maybe of one token's alone, see `sweeps.outputs`."""
    return SweptNumber(
        label,
        unit,
        None if is_flat(metric, trace) else lambda: slopes(trace, metric),
        lambda heads, bases=None: steps(trace, metric, heads=heads, bases=bases, row=row),
        metric,
    )


def _swept_words(trace: Trace, target: Target | None) -> dict[str, SweptNumber]:
    """Of a word, and of it over the best of the others."""
    at, several = target.position if target else masked(trace)[0], len(masked(trace)) > 1
    logits = words_of(trace.original.record.output)[0, at]
    best = largest(logits, 2)[0].tolist()
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
        return output.logits[0, at, tags].sum()

    return {"logit": by_metric(trace, logits, phrases.TOKEN_LOGITS, "logits")}


def _swept_span(trace: Trace) -> dict[str, SweptNumber]:
    output = trace.original.record.output
    summed = output.start_logits[0][:, None] + output.end_logits[0][None]
    n = int(summed.masked_fill(~spans(trace), -torch.inf).flatten().argmax())
    i, j = divmod(n, trace.n_tokens)

    def logits(output: Any) -> Tensor:
        return output.start_logits[0, i] + output.end_logits[0, j]

    words = " ".join(trace.display_tokens[i : j + 1])[:40]
    return {"logit": by_metric(trace, logits, f"start and end logits of {quotation(words)}", "logits")}


def _swept_embedding(trace: Trace) -> dict[str, SweptNumber]:
    return {"similarity": by_metric(trace, similarity(), phrases.EMBEDDING_KEPT, "cosine")}


def _swept_similarity(trace: Trace) -> dict[str, SweptNumber]:
    def sloped() -> Tensor:  # of a function of both: the sum of what either moves alone
        texts = texts_apart(trace)
        summed = torch.zeros(trace.n_layers, trace.n_heads, trace.n_tokens + 1, dtype=torch.float64, device="cpu")
        for number, (text, other) in enumerate(zip(texts, reversed(texts), strict=True)):
            places = pair_positions(trace.original.encoding, text.encoding, number)
            at = {alone: place for place, alone in places.items()}
            rows = slopes(text, _similarity_with(other))
            columns = [at.get(alone, trace.n_tokens) for alone in range(text.n_tokens)]
            summed.index_add_(2, torch.tensor(columns, device="cpu"), rows)
        return summed

    return {
        "similarity": SweptNumber(
            phrases.TEXTS_ALIKE,
            UNITS[embedder_of(trace).function],
            sloped,
            lambda heads, bases=None: _together(trace, list(heads), {} if bases is None else bases),
        )
    }


def _similarity_with(other: Trace) -> Callable[[Any], Tensor]:
    """Similarity of a run's embedding with that of another run as it is, changes included."""
    target = embedding(other, states_of(other, other.record.output)).detach()
    return lambda output: compared(other, embedding(other, states_of(other, output)), target)


def _together(trace: Trace, heads: list[Index], bases: dict[Any, Any]) -> Iterator[Differences]:
    """The similarity of two texts with the same head off in both, less that without."""
    pool: tuple[dict[Index, Pair], dict[Index, Pair]] = ({}, {})
    nothing: dict[Index, Pair] = {}
    texts = [_embeddings(text, heads, bases.setdefault(n, {})) for n, text in enumerate(texts_apart(trace))]
    for batches in zip_longest(*texts, fillvalue=nothing):
        for text, batch in zip(pool, batches, strict=True):
            text |= batch
        pairs = [(index, pool[0].pop(index), pool[1].pop(index)) for index in [*pool[0]] if index in pool[1]]
        if pairs:
            yield [(index, alike(trace, a[1], b[1]) - alike(trace, a[0], b[0])) for index, a, b in pairs]


def _embeddings(text: Trace, heads: list[Index], bases: Bases) -> Iterator[dict[Index, Pair]]:
    """A text's vector without each change and with it, batch by batch."""
    changes = planned(text, "heads", heads=heads)
    check(text, [change for _, change in changes])
    for baseline, batch in outputs(text, changes, bases):
        rows = (baseline, *(output for _, output in batch))
        plain, *changed = (embedding(text, states_of(text, row)).detach() for row in rows)
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
