"""What a page asks of one contrast: its sums, both scores without a word or a head, and which of these matter."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from typing_extensions import NotRequired, TypedDict

from ...base.quotes import quotation
from ...base.ranking import is_nothing
from ...base.vocabulary import phrases
from ...errors import ModelError
from ...whatif import off
from ..score_difference import Contrast
from ..text_words import TEXTS, check_text_name, signed, subject
from ..vector_contrast import LateContrast, VectorContrast
from ..word_runs import order_after, without_in_steps
from .case_texts import pieces_of

ARCS = 4  # of a word of the question to either passage
Side = Literal["query", "wrong", "right"]
TRIED: dict[Side, int] = {"wrong": 6, "query": 4, "right": 4}  # words of each text that are taken out
HEADS = 8  # that are switched off
DIGITS = 6
Pair = tuple[float, float]  # of the wrong passage, of the right one


class CaseText(TypedDict):
    """A text as it is written."""

    pieces: list[tuple[str, int]]  # each with its row of the split, -1 of what has none
    names: list[str]  # of rows
    keys: list[str]  # of rows; "" of what is no word
    parts: list[float] | None  # of the difference of the scores


class CaseTexts(TypedDict):
    query: CaseText
    wrong: CaseText
    right: CaseText


class CaseArcs(TypedDict):
    """Of a passage: row of the question, first row of a word, what the pair puts into that passage's score wherever the
    word stands."""

    wrong: NotRequired[list[tuple[int, int, float]]]
    right: NotRequired[list[tuple[int, int, float]]]


class ContrastFields(TypedDict):
    """Two scores and what they are sums of."""

    scores: Pair
    said: str
    why_not: str  # they are no sums
    crosses: bool  # question and passage are read as one input
    notes: list[str]
    texts: CaseTexts
    arcs: CaseArcs
    named: str  # the key of a word of the wrong passage
    gap: NotRequired[float]


class DrawnWord(TypedDict):
    draw: str
    word: str
    turned: bool


class CaseWithout(TypedDict):
    before: Pair
    after: Pair
    turned: bool
    said: str
    drawn: NotRequired[list[DrawnWord]]  # in Python


class StripRow(TypedDict):
    name: str
    key: NotRequired[str]  # of a word
    side: NotRequired[Side]
    after: Pair
    turned: bool
    said: str


class Strip(TypedDict):
    """What was tried, that first without which the order is nearest to turning."""

    before: Pair
    rows: list[StripRow]
    heads: NotRequired[int]  # of the model


def case(contrast: Contrast) -> ContrastFields:
    """Both scores and what they are sums of; arcs: the ARCS largest of each word of the question."""
    shares = {} if contrast.why_not else parts_of(contrast)
    texts = {
        text: _text(contrast, text, body, shares.get(text)) for text, body in zip(TEXTS, contrast.texts, strict=True)
    }
    fields: ContrastFields = {
        "scores": _pair(contrast.scores),
        "said": contrast.said,
        "why_not": contrast.why_not,
        "crosses": contrast.lens.sentences.crosses,
        "notes": list(contrast.notes),
        "texts": {"query": texts["query"], "wrong": texts["wrong"], "right": texts["right"]},
        "arcs": {},
        "named": "" if contrast.why_not else _named(contrast),
    }
    if not contrast.why_not:
        fields["gap"] = float(contrast.gap)
        fields["arcs"] = arcs_of(contrast)
    return fields


def _text(contrast: Contrast, text: str, body: str, parts: np.ndarray | None) -> CaseText:
    words = contrast.words(text)
    return {
        "pieces": pieces_of(contrast.lens.tokenizer, body, words),
        "names": list(words.names),
        "keys": list(words.keys),
        "parts": None if parts is None else _rounded(parts),
    }


def parts_of(contrast: Contrast) -> dict[str, np.ndarray]:
    """What each row of each text puts into the difference of the scores: of the right passage less than nothing, where
    it speaks for it. The question's rows sum to the difference; of a cross-encoder all three lists do together."""
    columns = {
        "query": contrast.query["difference"].to_numpy(),
        "wrong": contrast.wrong["part"].to_numpy(),
        "right": -contrast.right["part"].to_numpy(),
    }
    return {text: np.asarray(numbers, dtype=float) for text, numbers in columns.items()}


def arcs_of(contrast: Contrast) -> CaseArcs:
    """See `case`; none where the split has no pairs of words."""
    if not isinstance(contrast, VectorContrast) or contrast.of == "input":
        return {}
    arcs: Any = {}
    asking = [row for row, key in enumerate(contrast.words("query").keys) if key]
    for text, pair in zip(TEXTS[1:], contrast.pairs, strict=True):
        table = pair.pairs(words=True) if isinstance(contrast, LateContrast) else pair.pairs("output", words=True)
        places = [*contrast.words(text).by_key.values()]
        sums = np.stack([table.to_numpy()[:, rows].sum(1) for rows in places], 1) if places else np.zeros((0, 0))
        arcs[text] = [
            (row, places[at][0], round(float(sums[row, at]), DIGITS))
            for row in asking
            for at in np.argsort(-np.abs(sums[row]), kind="stable")[:ARCS]
            if not is_nothing(sums[row, at])
        ]
    return arcs


def without(
    contrast: Contrast, side: str, word: str, how: str, draws: int, frequencies: Mapping[str, int]
) -> Generator[float, None, CaseWithout]:
    """Both scores before and after, whether the order turned, and the sentence, with so many draws beside it."""
    table = yield from without_in_steps(contrast, word, side, how, draws, frequencies)
    before, after = (_pair(table[["wrong", "right"]].iloc[at]) for at in (0, 1))
    drawn: list[DrawnWord] = [
        {"draw": row.draw, "word": row.word, "turned": bool(row.turned)} for row in table.iloc[2:].itertuples()
    ]
    return {
        "before": before,
        "after": after,
        "turned": bool(table["turned"].iloc[1]),
        "said": table.attrs["said"],
        "drawn": drawn,
    }


def word_strip(contrast: Contrast) -> Generator[float, None, Strip]:
    """Words that may matter, by the split, each hidden; a step is the words of one text."""
    if contrast.why_not:
        raise ModelError(phrases.NO_NAMED_WORD.format(why=contrast.why_not))
    rows: list[StripRow] = []
    for at, (side, count) in enumerate(TRIED.items()):
        words, gains = contrast.words(side), gains_of(contrast, side)
        keys = [key for key in sorted(gains, key=lambda key: -abs(gains[key]))[:count] if not is_nothing(gains[key])]
        yield at / len(TRIED)
        if not keys:
            continue
        try:
            scores = contrast.scores_without(side, [words.tokens(key) for key in keys])
        except ModelError:  # a question to which the model adds tokens
            continue
        for key, pair in zip(keys, scores.tolist(), strict=True):
            name = words.names[words.by_key[key][0]]
            place = subject(side)[0].lower() + subject(side)[1:]
            rows.append(
                {
                    "name": name,
                    "key": key,
                    "side": side,
                    **_after(contrast, pair, f"With {quotation(name)} hidden in {place}"),
                }
            )
    return _strip(contrast, rows)


def best_tried(strip: Strip) -> str:
    """The key of the word of the wrong passage without which the order is nearest to turning, of those of `word_strip`;
    "" where none takes it nearer."""
    before = strip["before"][0] - strip["before"][1]
    for row in strip["rows"]:  # the nearest first
        if row.get("side") == "wrong":
            nearer = math.copysign(1, before) * (before - (row["after"][0] - row["after"][1]))
            return row["key"] if nearer > 0 else ""
    return ""


def head_strip(contrast: Contrast) -> Generator[float, None, Strip]:
    """The same of HEADS heads, those whose parts of the two scores differ most; a step is one of them off, in the runs
    of all texts."""
    tables = [contrast.by("head")]
    if isinstance(contrast, VectorContrast):
        tables.append(contrast.by("head", of="passages"))
    sizes: dict[str, float] = {}
    for table in tables:
        for name, size in table["difference"].abs().items():
            sizes[str(name)] = max(sizes.get(str(name), 0.0), float(size))
    heads = [name for name in sorted(sizes, key=lambda name: -sizes[name]) if re.fullmatch(r"L\d+·H\d+", name)]
    rows: list[StripRow] = []
    for at, name in enumerate(heads[:HEADS]):
        yield at / HEADS
        layer, head = map(int, re.findall(r"\d+", name))
        scores = contrast.rerun(off(layer, head))["after"]
        outcome = _after(contrast, [*scores.iloc[:2]], f"With {name} off in the runs of all texts")
        rows.append({"name": name, **outcome})
    return {**_strip(contrast, rows), "heads": len(heads)}


def gains_of(contrast: Contrast, side: str) -> dict[str, float]:
    """What each word of a text, wherever it stands, puts into the difference, the same word of the other passage
    counted against it: by this `Contrast.named_in` names one."""
    columns = parts_of(contrast)
    sums = contrast.words(check_text_name(side)).sums(columns[side])
    if side == "query":
        return sums
    passage = "right" if side == "wrong" else "wrong"
    passage_sums = contrast.words(passage).sums(columns[passage])
    return {key: gain + passage_sums.get(key, 0.0) for key, gain in sums.items()}


def order_of(before: Sequence[float], after: Sequence[float]) -> str:
    """What becomes of the order of two scores, by more than rounding: see `order_after`."""
    return order_after(before[0] - before[1], after[0] - after[1], max(map(abs, before)))


class _OrderAfter(TypedDict):
    after: Pair
    turned: bool
    said: str


def _after(contrast: Contrast, after: Sequence[float], experiment: str) -> _OrderAfter:
    """What became of both scores and their order; said: the sentence."""
    before, order = contrast.scores, order_of(contrast.scores, after)
    numbers = " → ".join(signed([before[0] - before[1], after[0] - after[1]]))
    return {
        "after": _pair(after),
        "turned": order == phrases.TURNS,
        "said": f"{experiment} {order} ({numbers}).",
    }


def _strip(contrast: Contrast, rows: list[StripRow]) -> Strip:
    sign = math.copysign(1, contrast.difference)
    rows.sort(key=lambda row: sign * (row["after"][0] - row["after"][1]))
    return {"before": _pair(contrast.scores), "rows": rows}


def _named(contrast: Contrast) -> str:
    """The key of the word that the split names, "" where it names none."""
    gains = gains_of(contrast, "wrong")
    key = max(gains, key=gains.__getitem__, default="")
    return key if key and gains[key] > 0 else ""


def _rounded(numbers: Any) -> list[float]:
    return [round(float(number), DIGITS) for number in numbers]


def _pair(scores: Any) -> Pair:
    wrong, right = _rounded(scores)
    return wrong, right
