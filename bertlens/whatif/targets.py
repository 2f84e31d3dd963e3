"""The answer that is asked about in place of the model's first: a label, or a word at a mask."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from torch import Tensor

from ..base.quotes import isolate, quotation
from ..base.vocabulary import phrases
from ..errors import InputError, ModelError, check_index
from ..measures.metrics import token_id
from ..measures.predictions import classes, kind_of, labels_of, masked, words_of
from ..trace.trace import Trace

NEAR = 4  # names that are offered for one that is none
MARKS = "Ġ▁"  # that tokenizers put before a word


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
        number = token_id(trace, name)
        check_index(number, words_of(original.record.output).shape[-1], "token")
        return Target(name_of(trace, kind, number), number, places[0] if position is None else position)
    if kind not in ("labels", "tags"):
        raise ModelError(f"{trace.model_name} answers with no label and no word: there is none to choose")
    number = _class(labels_of(trace), name)
    if kind == "labels":
        if position is not None:
            raise InputError("the label is of the whole text: give no position")
        return Target(name_of(trace, kind, number), number, -1)
    if position is not None:
        check_index(position, trace.n_tokens, "position")
        return Target(name_of(trace, kind, number), number, int(position))
    _, [class_numbers] = classes(trace, original.record.output)
    best = class_numbers[:, number].masked_fill(trace.special_mask, -float("inf")).argmax()
    return Target(name_of(trace, kind, number), number, int(best))


def _class(names: list[str], name: str | int) -> int:
    if not isinstance(name, str):
        check_index(name, len(names), "class")
        return int(name)
    if name not in names:
        raise InputError(
            phrases.NO_SUCH_LABEL.format(name=isolate(repr(name[:40])), labels=", ".join(map(isolate, names[:20])))
        )
    return names.index(name)


def name_of(trace: Trace, kind: str, number: int) -> str:
    """An answer by its number: as the tokenizer writes the word, as the model's config writes the class."""
    assert trace.model is not None
    return str(trace.model.tokenizer.convert_ids_to_tokens(number) if kind == "words" else labels_of(trace)[number])


def numbers_at(kind: str, trace: Trace, position: int, *outputs: Any) -> tuple[str, list[Tensor]]:
    """The unit, and the number of every word or class in each output: at a mask, of the text (-1), of a token."""
    if kind == "words":
        return "probability", [words_of(output)[0, position].double().softmax(-1) for output in outputs]
    unit, numbers = classes(trace, *outputs)
    return unit, numbers if kind == "labels" else [rows[position] for rows in numbers]


def named_by(trace: Trace, text: str) -> str:
    """The name of the answer that somebody typed: a word as the tokenizer writes it, a label in either case.

    Raises InputError with names that are near where it is none, ModelError where the model has neither.
    """
    kind, text = kind_of(trace), text.strip()[:100]
    assert trace.model is not None
    if kind == "words":
        masked(trace)
        return _word(trace.model.tokenizer, text)
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


def _word(tokenizer: Any, text: str) -> str:
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    pieces = tokenizer.tokenize(f" {text}") if text else []  # as it stands behind a space
    if len(pieces) == 1 and vocabulary.get(pieces[0]) not in (None, tokenizer.unk_token_id):
        return str(pieces[0])
    if text in vocabulary:
        return text
    initial = text[:1].lower()
    words = {bare: name for name in vocabulary if (bare := name.lstrip(MARKS)) and bare[0].lower() == initial}
    neighbours = [words[name] for name in get_close_matches(text, words, NEAR)]
    why = phrases.NO_TOKEN
    if len(pieces) > 1:
        why = phrases.SEVERAL_TOKENS.format(count=len(pieces), pieces=isolate(" ".join(pieces[:6])))
    raise InputError(phrases.NO_WORD.format(text=quotation(text[:40]), why=why) + _offered(neighbours))


def _offered(names: Any) -> str:
    listing = ", ".join(map(isolate, dict.fromkeys(names)))
    return phrases.NEAR.format(names=listing) if listing else ""
