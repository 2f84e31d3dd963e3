"""The words that a model answers with, by name and by number: one name for each token of the vocabulary at a place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..base.vocabulary import phrases
from ..text.display import TokenNames, names_of, spelling_of
from ..text.tokenizer import pieces_of
from ..trace.trace import Trace


def namer(trace: Trace, position: int) -> Callable[[int], str]:
    """Gives a token of the vocabulary, by id, as an answer at a position is shown: "niño", not "ĠniÃ±o"."""
    return partial(_names(trace).name, after_blank=is_after_blank(trace, position))


def word_name(trace: Trace, number: int, position: int) -> str:
    """As `namer`, of one token."""
    return namer(trace, position)(number)


def word_names(trace: Trace, position: int, count: int) -> list[str]:
    """Of the first `count` rows of the answer, by id; no two the same."""
    names = _names(trace).by_id(is_after_blank(trace, position))[:count]
    return names + [phrases.NAMELESS.format(number=number) for number in range(len(names), count)]


def word_number(trace: Trace, name: str, position: int) -> int | None:
    """The token that is shown so as an answer at a position, else the one that the tokenizer writes so; None for none.

    Where two tokens are shown alike, the one that would stand there: "cat" is "Ġcat" behind a blank.
    """
    return _names(trace).number(name, is_after_blank(trace, position))


def is_after_blank(trace: Trace, position: int) -> bool:
    """Whether white space stands before a token in its text; of a mask before the mask, as the text was given."""
    tokenizer, encoding = trace.borrowed.tokenizer, trace.encoding
    spelling, mask = spelling_of(tokenizer), getattr(tokenizer, "mask_token", None)
    ids, segment = trace.input_ids.tolist(), encoding.segments[position]
    if mask is None or ids[position] != tokenizer.mask_token_id:
        return spelling.is_after_blank(encoding.tokens[position])
    masks = [n for n, number in enumerate(ids) if number == ids[position] and encoding.segments[n] == segment]
    stretches = ((encoding.text_pair if segment else encoding.text) or "").split(mask)
    at = masks.index(position)
    if encoding.report.truncated_side == "left":  # the first ones may be cut off
        at += len(stretches) - 1 - len(masks)
    if at == 0 and not stretches[0]:
        return spelling.is_after_blank("".join(pieces_of(tokenizer, "a")[:1]))
    return stretches[at][-1:].isspace() if at < len(stretches) else True


def _names(trace: Trace) -> TokenNames:
    return names_of(trace.borrowed.tokenizer)
