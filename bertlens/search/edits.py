"""Small edits of a text that change what it says: not, another number, another name; and fillers that change nothing.

The rules are for English; other edits are given as pairs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from ..survey.treebank import ROOT, Sentence
from ..text.tokenizer import resting_state

NOT, NUMBER, NAME, ROLES, PARAPHRASE = "not", "number", "name", "roles", "paraphrase"
RULES = {
    NOT: "“not” stands behind the first auxiliary verb of the text.",
    NUMBER: "Another number of as many digits stands in place of the first one.",
    NAME: "Another name of these texts stands in place of the first one.",
    ROLES: "Who does it and who it is done to have changed places.",
    PARAPHRASE: "The text in other words, as it was given.",
}
FILLERS = ("also", "indeed", "thus", "here", "still", "now", "then", "again")
WORDS = range(5, 41)  # of a sentence that is edited
PHRASE = 6  # words of a subject or an object that are exchanged, at most

_AUXILIARY = re.compile(r"\b(?:is|are|was|were|will|would|can|could|should|may|might|must|shall)\b")
_NEGATION = re.compile(r"\b(?:not|no|never|nor|neither|cannot|without|none)\b|n['’]t\b", re.IGNORECASE)
_ENGLISH = re.compile(r"\b(?:the|of|and)\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?!\w)")
_NAME = re.compile(r"(?<=[^\W\d_] )[A-Z][a-z]{2,}\b|(?<=, )[A-Z][a-z]{2,}\b")
_END = re.compile(r"(?<=[.!?])\s+")
_STOPS = " .!?\"'”’»"
_DATES = {
    *"January February March April May June July August September October November December".split(),
    *"Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
}
_OPENING = {
    "the",
    "a",
    "an",
    "this",
    "that",
    "these",
    "those",
    "some",
    "many",
    "his",
    "her",
    "its",
    "their",
    "our",
    "my",
}
_PRONOUNS = {*"he she it they i we you who which that this what him her them me us".split()}


@dataclass(frozen=True)
class Edit:
    """A text, what it is after the edit, and the same text with a filler of as many tokens as the edit puts in."""

    kind: str
    text: str
    edit: str
    filler: str


def sentences_of(text: str) -> list[str]:
    """The sentences of a middle length, by full stops."""
    return [sentence for sentence in _END.split(" ".join(text.split())) if len(sentence.split()) in WORDS]


class Editor:
    """Edits of English texts. fillers: words that change nothing, for a text of as many tokens."""

    def __init__(self, tokenizer: Any, fillers: Sequence[str], generator: np.random.Generator):
        self._tokenizer, self._generator = tokenizer, generator
        sizes = {word: self.tokens(f" {word}") for word in fillers}
        unknown = getattr(tokenizer, "unk_token_id", None)
        self._sizes = {word: len(ids) for word, ids in sizes.items() if ids and unknown not in ids}

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, without a template."""
        with resting_state(self._tokenizer):
            ids: list[int] = self._tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)[
                "input_ids"
            ]
        return ids

    def with_not(self, text: str) -> Edit | None:
        """None where the text has no auxiliary, or a negation."""
        place = _AUXILIARY.search(text)
        if place is None or _NEGATION.search(text) or not _ENGLISH.search(text):
            return None
        return self.beside(NOT, text, f"{text[: place.end()]} not{text[place.end() :]}", len(self.tokens(" not")))

    def with_number(self, text: str) -> Edit | None:
        """None where the text has no number."""
        place = _NUMBER.search(text)
        if place is None or not _ENGLISH.search(text):
            return None
        digits = [self._digit(int(letter), at == 0) if letter.isdecimal() else letter
                  for at, letter in enumerate(place[0])]  # fmt: skip
        number = "".join(digits)
        return self.beside(
            NUMBER, text, text[: place.start()] + number + text[place.end() :], len(self.tokens(f" {number}"))
        )

    def with_name(self, text: str, names: Sequence[str]) -> Edit | None:
        """None where the text has no name of these, and where they have no other one."""
        place = next((place for place in _NAME.finditer(text) if place[0] in names), None)
        others = [name for name in names if name not in text]
        if place is None or not others or not _ENGLISH.search(text) or not _is_prose(text):
            return None
        name = others[int(self._generator.integers(len(others)))]
        return self.beside(NAME, text, text[: place.start()] + name + text[place.end() :], len(self.tokens(f" {name}")))

    def beside(self, kind: str, text: str, edit: str, size: int | None = None) -> Edit | None:
        """The edit beside a filler of `size` tokens, None: of as many as the edit has otherwise.

        It stands behind the first auxiliary, else at the end. None where no words make up so many.
        """
        if size is None:
            before, after = self.tokens(text), self.tokens(edit)
            same = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
            size = len(after) - sum(block.size for block in same)
        phrase = self.phrase(max(1, size))
        if not phrase or text == edit:
            return None
        place = _AUXILIARY.search(text) if _ENGLISH.search(text) else None
        end = place.end() if place is not None else len(text.rstrip(_STOPS))
        return Edit(kind, text, edit, f"{text[:end]} {phrase}{text[end:]}")

    def phrase(self, size: int) -> str:
        """Fillers of so many tokens in all, at random; "" where there are none."""
        words: list[str] = []
        while size > 0:
            fits = [word for word, n in self._sizes.items() if n <= size and word not in words[-1:]]
            fits = fits or [word for word, n in self._sizes.items() if n <= size]
            if not fits:
                return ""
            words.append(fits[int(self._generator.integers(len(fits)))])
            size -= self._sizes[words[-1]]
        return " ".join(words)

    def _digit(self, digit: int, leads: bool) -> str:
        digits = [d for d in range(leads, 10) if d != digit]
        return str(digits[int(self._generator.integers(len(digits)))])


def names_of(texts: Sequence[str]) -> list[str]:
    """Words with a capital inside a sentence that nowhere stand with a small letter; no months and weekdays."""
    small = {word for text in texts for word in re.findall(r"\b[a-z]+\b", text)}
    names = {name for text in texts for name in _NAME.findall(text) if _is_prose(text)}
    return sorted(name for name in names - _DATES if name.lower() not in small)


def _is_prose(text: str) -> bool:
    """Whether capitals are the exception, fewer than a third behind the first word: a title is none."""
    words = [word for word in text.split()[1:] if word[0].isalpha()]
    return 3 * sum(word[0].isupper() for word in words) < len(words)


def exchanged(sentence: Sentence) -> tuple[str, str] | None:
    """(text, edit) of a sentence of a treebank: the subject and the object of a verb in each other's place.

    None where no verb has one of each, of at most PHRASE words side by side, neither a pronoun.
    """
    for verb in range(len(sentence)):
        spans = [_span(sentence, verb, relation) for relation in ("nsubj", "obj")]
        if None in spans:
            continue
        (start, end), (other, last) = sorted(span for span in spans if span)
        words = [*sentence.words]
        first, second = words[start:end], words[other:last]
        if start == 0:
            if first[0].lower() in _OPENING:
                first = [first[0].lower(), *first[1:]]
            second = [second[0][:1].upper() + second[0][1:], *second[1:]]
        edit = [*words[:start], *second, *words[end:other], *first, *words[last:]]
        return " ".join(words), " ".join(edit)
    return None


def _span(sentence: Sentence, verb: int, relation: str) -> tuple[int, int] | None:
    """From which word to before which a verb's dependent stands with all that depends on it; None where it has none."""
    dependents = [w for w in range(len(sentence)) if sentence.heads[w] == verb and sentence.relations[w] == relation]
    if len(dependents) != 1 or sentence.words[dependents[0]].lower() in _PRONOUNS:
        return None
    inside = [w for w in range(len(sentence)) if _depends(sentence, w, dependents[0])]
    if len(inside) > PHRASE or inside[-1] - inside[0] + 1 != len(inside):
        return None
    return inside[0], inside[-1] + 1


def _depends(sentence: Sentence, word: int, head: int) -> bool:
    steps = 0
    while word not in (head, ROOT) and steps <= len(sentence):
        word, steps = sentence.heads[word], steps + 1
    return word == head
