"""What two runs answer, name by name: labels, words at masks, tags, spans, the similarity of a pair, or how alike their
vectors are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..base.quotes import quotation
from ..base.ranking import ranked
from ..base.vocabulary import phrases
from ..errors import BertLensError
from ..measures.answer_words import word_names
from ..measures.predictions import (
    UNITS,
    chances,
    classes,
    embedder_of,
    embedding,
    is_lone,
    kind_of,
    labels_of,
    masked,
    predictions,
    states_of,
    words_of,
)
from ..trace.trace import Trace
from .alignment import Alignment

Numbers = Mapping[str, float]  # of one place, by name


@dataclass(frozen=True)
class Both:
    """One answer's number in a and in b, NaN where that side has no such answer; where: its place in words, or ""."""

    where: str
    name: str
    a: float
    b: float


@dataclass(frozen=True)
class BothAnswers:
    """unit: "probability", "output", "score", or of `predictions.UNITS`; "" for no answer. said: one sentence, "" where
    neither answers."""

    unit: str
    rows: tuple[Both, ...]
    said: str


NOTHING = BothAnswers("", (), "")


def answers(a: Trace, b: Trace, words: Alignment, one_training: bool, k: int = 5) -> BothAnswers:
    """The answers of two runs beside each other: the k best of either, the best of a first.

    Words: at the first masks of both, the second ones, …; of token classifiers those aligned tokens whose answers are
    furthest apart. Of encoders the cosine of the two sentences in each, where both have a pair, else the cosine of the
    embeddings of a and b, where both are of one training. Nothing where the models answer different questions.
    """
    try:
        kinds = {kind_of(a), kind_of(b)}
        return _READ[kinds.pop()](a, b, words, one_training, k) if len(kinds) == 1 else NOTHING
    except BertLensError:
        return NOTHING


def _words(a: Trace, b: Trace, _words: Alignment, _one: bool, k: int) -> BothAnswers:
    places = [_masks(trace) for trace in (a, b)]
    count = max(map(len, places))
    rows: list[Both] = []
    sentences: list[tuple[bool, str]] = []
    for n in range(count):
        in_a, in_b = (_at(trace, at[n]) if n < len(at) else {} for trace, at in zip((a, b), places, strict=True))
        where = f"{_mask(a)} {n + 1}" if count > 1 else ""
        rows += _beside(where, in_a, in_b, k)
        name = f"{where} of {count}" if count > 1 else _mask(a)
        differs = bool(in_a and in_b) and _best(in_a) != _best(in_b)
        sentences.append((differs, _told(f"At {name}", in_a, in_b, "text {} has none")))
    if not count:
        return NOTHING
    sentence = next((words for differs, words in sentences if differs), sentences[0][1])
    return BothAnswers("probability", tuple(rows), sentence)


def _masks(trace: Trace) -> list[int]:
    try:
        return masked(trace)
    except BertLensError:
        return []


def _mask(trace: Trace) -> str:
    return str(trace.borrowed.tokenizer.mask_token)


def _at(trace: Trace, position: int) -> dict[str, float]:
    """The probability of every word at a mask."""
    chance = words_of(trace.record.output)[0, position].double().softmax(-1).tolist()
    return dict(zip(word_names(trace, position, len(chance)), chance, strict=True))


def _labels(a: Trace, b: Trace, _words: Alignment, _one: bool, k: int) -> BothAnswers:
    units, sides = [], []
    for trace in (a, b):
        unit, [numbers] = classes(trace, trace.record.output)
        units.append("output" if unit == "logit" else unit)
        sides.append(dict(zip(labels_of(trace), numbers.tolist(), strict=True)))
    if units[0] != units[1]:
        return NOTHING
    in_a, in_b = sides
    what = {"output": "Output", "score": "Score"}.get(units[0], "Answer")
    sentence = _told(what, in_a, in_b, "")
    if is_lone(a) and is_lone(b):
        sentence = f"{what}: {_pair(*in_a.values(), *in_b.values())}."
    return BothAnswers(units[0], tuple(_beside("", in_a, in_b, k)), sentence)


def _tags(a: Trace, b: Trace, words: Alignment, _one: bool, k: int) -> BothAnswers:
    """Of the first piece of each aligned unit of the text."""
    sides = []
    for trace in (a, b):
        chance = chances(trace, trace.record.output.logits[0].double())
        if chance is None:
            return NOTHING
        names = labels_of(trace)
        sides.append([dict(zip(names, row, strict=True)) for row in chance.tolist()])
    rows = []
    for i, j in words.shared:
        p, q = words.a[i].pieces[0], words.b[j].pieces[0]
        if not a.special_mask[p]:
            in_a, in_b = sides[0][p], sides[1][q]
            name = _best(in_a)
            rows.append((Both(f"{words.a[i].name} ({p})", name, in_a[name], in_b.get(name, math.nan)), in_b))
    if not rows:
        return NOTHING
    changed = sum(_best(in_b) != row.name for row, in_b in rows)
    furthest = sorted((row for row, _ in rows), key=lambda row: -abs(row.a - row.b))[:k]
    sentence = f"{changed} of {len(rows)} aligned {words.by} get another label in b than in a."
    return BothAnswers("probability", tuple(furthest), sentence)


def _span(a: Trace, b: Trace, _words: Alignment, _one: bool, k: int) -> BothAnswers:
    tables = [predictions(trace, k) for trace in (a, b)]
    in_a, in_b = (dict(zip(table["token"][::-1], table["probability"][::-1], strict=True)) for table in tables)
    return BothAnswers("probability", tuple(_beside("", in_a, in_b, k)), _told("Answer", in_a, in_b, ""))


def _similarity(a: Trace, b: Trace, _words: Alignment, one_training: bool, _k: int) -> BothAnswers:
    if a.text_pair and b.text_pair:
        x, y = (float(predictions(trace)["logit"][0]) for trace in (a, b))
        units = {UNITS[embedder_of(trace).function] for trace in (a, b)}
        if len(units) > 1:
            return NOTHING
        sentence = phrases.SENTENCES_ALIKE_BY.format(both=_pair(x, y))
        return BothAnswers(units.pop(), (Both("", phrases.SENTENCES_ALIKE, x, y),), sentence)
    in_a, in_b = (embedding(trace, states_of(trace, trace.record.output)).detach().double().cpu() for trace in (a, b))
    if not one_training or in_a.shape != in_b.shape:
        return NOTHING
    cosine = float(torch.cosine_similarity(in_a, in_b, dim=0))
    sentence = phrases.VECTORS_ALIKE_BY.format(cosine=f"{cosine:.3f}")
    return BothAnswers("cosine", (Both("", phrases.VECTORS_ALIKE, math.nan, cosine),), sentence)


_READ: dict[str, Callable[[Trace, Trace, Alignment, bool, int], BothAnswers]] = {
    "words": _words,
    "labels": _labels,
    "tags": _tags,
    "span": _span,
    "similarity": _similarity,
}


def _best(side: Numbers) -> str:
    return max(side, key=side.__getitem__)


def _beside(where: str, in_a: Numbers, in_b: Numbers, k: int) -> list[Both]:
    """The k largest of either, those of a first."""
    best = [name for side in (in_a, in_b) for name in sorted(side, key=side.__getitem__, reverse=True)[:k]]
    return [Both(where, name, in_a.get(name, math.nan), in_b.get(name, math.nan)) for name in dict.fromkeys(best)]


def _told(what: str, in_a: Numbers, in_b: Numbers, missing: str) -> str:
    """The best of either; `missing` says of which one there is none."""
    sides: Sequence[tuple[str, Numbers]] = (("a", in_a), ("b", in_b))
    if in_a and in_b and _best(in_a) == _best(in_b):
        name = _best(in_a)
        return f"{what}: {quotation(name)} in both, {_pair(in_a[name], in_b[name])}."
    best: list[Any] = [
        f"{quotation(_best(side))} in {name} ({side[_best(side)]:.3f})" if side else missing.format(name)
        for name, side in sides
    ]
    return f"{what}: {', '.join(best)}."


def _pair(a: float, b: float) -> str:
    """Two numbers with as many digits as tell them apart."""
    order = sorted((a, b), reverse=True)
    texts = dict(zip(order, ranked(order), strict=True))
    return phrases.BOTH.format(a=texts[a], b=texts[b])
