"""Which words does an answer rest on? Each hidden from all heads, all of its pieces at once, in a run of its own."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from ..base.limits import HEADS_WORK, STEP_WORK
from ..base.vocabulary import phrases
from ..errors import ModelError
from ..measures.metrics import bound
from ..measures.rows import Here
from ..measures.words import lettered
from ..run.changes import Hide
from ..trace.trace import Trace
from .before_after import answer_kind
from .effects import outputs_of
from .strongest_heads import FirstNumber, first_number
from .sweeps import batches, work


@dataclass(frozen=True)
class HiddenWord:
    """A word of a text, its tokens as pieces; after: the number of the answer where it is hidden, in its unit, NaN
    where that would leave a token without keys."""

    pieces: list[int]
    after: float


def hidden_words(here: Here) -> Generator[float, None, list[HiddenWord]]:
    """Each word that has a letter or a digit, in the order of the text: what becomes of the number of a classifier's
    first answer (`strongest_heads.first_number`). A run of the whole model each, in batches, on top of the changes of
    the run shown. Yields the share that is done. Raises ModelError as `why_not` says."""
    if reason := why_not(here()):
        raise ModelError(reason)
    number = first_number(here())
    words: list[HiddenWord] = []
    groups = batches(here(), lettered(here()), STEP_WORK)
    for n, group in enumerate(groups):
        words += _run(here(), number, group)
        if n + 1 < len(groups):
            yield (n + 1) / len(groups)
    return words


def why_not(trace: Trace) -> str:
    """Why no word is hidden, in one sentence; "" where each may be. Raises ModelError where the model has no answer."""
    if answer_kind(trace) != "labels":
        return f"{trace.model_name} gives texts no label: none of them rests on a word"
    words = lettered(trace)
    if not words:
        return phrases.NO_WORD_TO_HIDE
    return phrases.WORDS_LONG.format(words=len(words)) if work(trace, len(words)) > HEADS_WORK else ""


def _run(trace: Trace, number: FirstNumber, words: Sequence[list[int]]) -> list[HiddenWord]:
    rows = [[*trace.changes, *map(Hide, pieces)] for pieces in words]
    assert number.swept.metric is not None  # of a label
    read = bound(number.swept.metric, trace)
    return [
        HiddenWord(pieces, math.nan if isinstance(output, str) else float(read(output)))
        for pieces, output in zip(words, outputs_of(trace, rows), strict=True)
    ]
