"""Of which pieces a page carries the vectors, where all of them are too many for one file.

A text is in the letters of its language: all pieces of the scripts of the page's own texts, one script after the other,
then the most frequent pieces, whatever they are of. By frequency alone a sentence in ten could be read.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..model.borrowed import Model
from ..trace.trace import Trace

MOST = 130_000  # pieces of 384 numbers in four bits: 35 MB of a page


@dataclass(frozen=True, eq=False)
class CarriedRows:
    """carried: (V,) bool, by the number of a piece; said: what of it a reader has to know."""

    carried: np.ndarray
    said: str

    @property
    def count(self) -> int:
        return int(self.carried.sum())


def carried_rows(traces: Sequence[Trace], most: int = MOST) -> CarriedRows | None:
    """Of a page that opens with these texts; None where all fit, or the tokenizer does not say how frequent pieces are.

    The pieces of the texts themselves and the tokenizer's special ones are always there.
    """
    model = traces[0].borrowed
    pieces = _by_frequency(model)
    if model.vocabulary_size <= most or not pieces:
        return None
    carried = np.zeros(model.vocabulary_size, bool)
    carried[
        [*model.tokenizer.all_special_ids, *(number for trace in traces for number in trace.encoding.input_ids)]
    ] = True
    scripts = [_scripts(name) for name, _ in pieces]
    full_scripts: list[str] = []
    for script in dict.fromkeys(script for trace in traces for script in _in_order(trace)):
        rows = [number for (_, number), of in zip(pieces, scripts, strict=True) if of <= {script, *full_scripts}]
        missing = [number for number in rows if not carried[number]]
        if carried.sum() + len(missing) <= most:
            carried[missing] = True
            full_scripts.append(script)
    others = [number for _, number in pieces if not carried[number]]
    carried[others[: max(0, most - int(carried.sum()))]] = True
    letters = " and ".join(full_scripts)
    kinds = f"all of {letters} letters, of others the most frequent" if full_scripts else "the most frequent"
    has = f"{int(carried.sum()):,} of {len(carried):,} pieces"
    sentence = f"The page has the vectors of {has}: {kinds}. It refuses a text with another piece, by its name."
    return CarriedRows(carried, sentence)


def _by_frequency(model: Model) -> list[tuple[str, int]]:
    """Pieces and their numbers, the most frequent first; none where the tokenizer is no Unigram."""
    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    file = json.loads(backend.to_str())["model"] if backend is not None else {}
    if file.get("type") != "Unigram":
        return []
    scores = {number: score for number, (_, score) in enumerate(file["vocab"])}
    order = sorted(scores, key=lambda number: (-scores[number], number))
    return [(file["vocab"][number][0], number) for number in order if number < model.vocabulary_size]


def _in_order(trace: Trace) -> list[str]:
    return [
        script
        for letter in (trace.encoding.text or "") + (trace.encoding.text_pair or "")
        if (script := _script(letter))
    ]


def _scripts(text: str) -> set[str]:
    return {_script(letter) for letter in text} - {""}


@cache
def _script(letter: str) -> str:
    """As Unicode names its letters: Latin, Cyrillic, CJK; "" of what is no letter."""
    if not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "").split(" ")[0].split("-")[0]
    return name if name == "CJK" else name.capitalize()
