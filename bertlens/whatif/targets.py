"""The answer that is asked about in place of the model's first: a label, or a word at a mask."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from torch import Tensor

from ..base.quotes import isolate, quotation
from ..base.vocabulary import phrases
from ..errors import InputError, ModelError, check_index
from ..measures.answer_words import word_name, word_names, word_number
from ..measures.metrics import token_id
from ..measures.predictions import classes, kind_of, labels_of, masked, words_of
from ..text.display import spelling_of, unknown_id
from ..text.tokenizer import pieces_of
from ..trace.trace import Trace

NEAR = 4  # names that are offered for one that is none


@dataclass(frozen=True)
class Target:
    """An answer by its name and its number, in the vocabulary or among the classes. position: -1 of the whole text."""

    name: str
    number: int
    position: int


def target_of(trace: Trace, name: str | int, position: int | None = None) -> Target:
    """A class, or a word at a mask, as `whatif.label` and `whatif.logit` name them.

    position: None is the first mask; of token classifiers the token that has the class most.
    Raises InputError for a class or word that does not exist and a position that is not masked, ModelError where the
    model answers with neither.
    """
    kind = kind_of(trace)
    original = trace.original
    if kind == "words":
        places = masked(trace)
        if position is not None and position not in places:
            raise InputError(phrases.NOT_MASKED.format(position=position, places=", ".join(map(str, places))))
        at = places[0] if position is None else int(position)
        number = token_id(trace, name, at)
        check_index(number, words_of(original.record.output).shape[-1], "token")
        return Target(name_of(trace, kind, number, at), number, at)
    if kind not in ("labels", "tags"):
        raise ModelError(f"{trace.model_name} answers with no label and no word: there is none to choose")
    number = _class(labels_of(trace), name)
    if kind == "labels":
        if position is not None:
            raise InputError("the label is of the whole text: give no position")
        return Target(name_of(trace, kind, number, -1), number, -1)
    if position is not None:
        check_index(position, trace.n_tokens, "position")
        return Target(name_of(trace, kind, number, position), number, int(position))
    _, [class_numbers] = classes(trace, original.record.output)
    best = class_numbers[:, number].masked_fill(trace.special_mask, -float("inf")).argmax()
    return Target(name_of(trace, kind, number, int(best)), number, int(best))


def _class(names: list[str], name: str | int) -> int:
    if not isinstance(name, str):
        check_index(name, len(names), "class")
        return int(name)
    if name not in names:
        raise InputError(
            phrases.NO_SUCH_LABEL.format(name=isolate(repr(name[:40])), labels=", ".join(map(isolate, names[:20])))
        )
    return names.index(name)


def name_of(trace: Trace, kind: str, number: int, position: int) -> str:
    """An answer by its number and place: a word as it is shown there, a class as the model's config writes it."""
    return word_name(trace, number, position) if kind == "words" else labels_of(trace)[number]


def numbers_at(kind: str, trace: Trace, position: int, *outputs: Any) -> tuple[str, list[Tensor]]:
    """The unit, and the number of every word or class in each output: at a mask, of the text (-1), of a token."""
    if kind == "words":
        return "probability", [words_of(output)[0, position].double().softmax(-1) for output in outputs]
    unit, numbers = classes(trace, *outputs)
    return unit, numbers if kind == "labels" else [rows[position] for rows in numbers]


def named_by(trace: Trace, text: str) -> str:
    """The name of the answer that somebody typed: a word as it is shown at the first mask, a label in either case.

    Raises InputError with names that are near where it is none, ModelError where the model has neither.
    """
    kind, text = kind_of(trace), text.strip()[:100]
    if kind == "words":
        return _word(trace, text, masked(trace)[0])
    if kind not in ("labels", "tags"):
        target_of(trace, text)  # says why not
    names = labels_of(trace)
    spellings = {name.lower(): name for name in reversed(names)} | {name: name for name in names}
    label = spellings.get(text) or spellings.get(text.lower())
    if label is None:
        guesses = get_close_matches(text.lower(), [name.lower() for name in names], NEAR, 0.4) or list(spellings)[:NEAR]
        raise InputError(
            phrases.NO_LABEL.format(text=quotation(text[:40])) + _offered(spellings[name] for name in guesses)
        )
    return label


def _word(trace: Trace, text: str, position: int) -> str:
    number = word_number(trace, text, position)
    if number is not None:
        return word_name(trace, number, position)
    tokenizer: Any = trace.borrowed.tokenizer
    pieces = pieces_of(tokenizer, f" {text}") if text else []  # as it stands behind a space, lowered where texts are
    if len(pieces) == 1 and (single := tokenizer.convert_tokens_to_ids(pieces[0])) != unknown_id(tokenizer):
        return word_name(trace, single, position)
    words = [
        name
        for name in word_names(trace, position, trace.borrowed.vocabulary_size)
        if name[:1].lower() == text[:1].lower()
    ]
    why = phrases.NO_TOKEN
    if len(pieces) > 1:
        pieces_shown = map(spelling_of(tokenizer).display, pieces[:6])
        why = phrases.SEVERAL_TOKENS.format(count=len(pieces), pieces=isolate(" ".join(pieces_shown)))
    raise InputError(
        phrases.NO_WORD.format(text=quotation(text[:40]), why=why) + _offered(get_close_matches(text, words, NEAR))
    )


def _offered(names: Any) -> str:
    listing = ", ".join(map(isolate, dict.fromkeys(names)))
    return phrases.NEAR.format(names=listing) if listing else ""
