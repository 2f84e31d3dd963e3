"""A token as a person reads it: in the text's letters, however its tokenizer writes blanks, bytes and parts of words.

`js/src/engine/tokenizer.ts` says the same of the tokens of a page.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from ..base.memo import Memo
from ..base.vocabulary import phrases

BLANK = "␣"  # a token that is white space and nothing else


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's alphabet: printable bytes stand for themselves, the others for characters from U+0100 on, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    gaps = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(0x100 + i): b for i, b in enumerate(gaps)}


_BYTES = _byte_alphabet()


@dataclass(frozen=True)
class Spelling:
    """How a tokenizer writes its tokens.

    has_bytes: a letter of GPT-2's alphabet for each byte of the text. blank: what stands for white space, "Ġ", "▁" or
    "". continuation: what a piece that goes on with a word begins with, "##" or "". end: what the last piece of a word
    ends with, "</w>" or "". added: tokens that are no pieces of the model, written as the text has them.
    """

    has_bytes: bool = False
    blank: str = ""
    continuation: str = ""
    end: str = ""
    added: frozenset[str] = frozenset()

    def display(self, token: str) -> str:
        """In letters of the text, without the blank before it; part of a character as its bytes, <0xF0>.

        The sign of a piece that goes on with a word stays; a bare blank is "␣".
        """
        if self.has_bytes:
            if token in self.added or any(letter not in _BYTES for letter in token):
                return token
            raw = bytes(_BYTES[letter] for letter in token)
            try:
                return raw.decode("utf-8").removeprefix(" ") or BLANK
            except UnicodeDecodeError:
                return "".join(f"<0x{byte:02X}>" for byte in raw)
        text = token.removesuffix(self.end)
        if self.blank:
            text = text.replace(self.blank, " ").removeprefix(" ")
        return text or BLANK

    def is_after_blank(self, token: str) -> bool:
        """Whether white space stands before the token, as its tokenizer writes it."""
        return bool(self.blank) and token.startswith(self.blank)


def spelling_of(tokenizer: Any) -> Spelling:
    """By what its steps do to a text, whatever they are called."""
    added = frozenset(getattr(tokenizer, "added_tokens_encoder", ()))
    backend = getattr(tokenizer, "backend_tokenizer", None) if getattr(tokenizer, "is_fast", False) else None
    if backend is None:
        to_text = getattr(tokenizer, "convert_tokens_to_string", " ".join)
        if hasattr(tokenizer, "byte_decoder"):
            return Spelling(True, "Ġ", added=added)
        blank = "" if "▁" in to_text(["▁a"]) else "▁"
        return Spelling(False, blank, "" if blank else "##", "" if "</w>" in to_text(["a</w>"]) else "</w>", added)
    text, steps, model = "a a", backend.pre_tokenizer, backend.model
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    if steps is not None:
        text = "".join(piece for piece, _ in steps.pre_tokenize_str(text))
    has_bytes = "Ġ" in text or (backend.decoder is not None and b'"ByteLevel"' in backend.decoder.__getstate__())
    blank = "Ġ" if has_bytes else "▁" if "▁" in text else ""
    continuation = getattr(model, "continuing_subword_prefix", None) or ""
    return Spelling(has_bytes, blank, continuation, getattr(model, "end_of_word_suffix", None) or "", added)


def spelling_in(tokens: Sequence[str]) -> Spelling:
    """Of tokens that came without their tokenizer, by the signs that stand in them."""
    blank = next((sign for sign in "Ġ▁" if any(token.startswith(sign) for token in tokens)), "")
    letters = "".join(tokens)
    has_bytes = blank == "Ġ" and all(letter in _BYTES for letter in letters)
    if has_bytes:
        try:
            bytes(_BYTES[letter] for letter in letters).decode("utf-8")
        except UnicodeDecodeError:
            has_bytes = False
    return Spelling(has_bytes, blank, "" if blank else "##", "</w>")


def as_written(displayed: str, source: str | None) -> str:
    """A displayed token in the letters of the text it was made of, where its tokenizer put those in another way of
    writing alone (Unicode's NFKC: of Thai ำ it makes two characters, of ， a comma)."""
    letters = displayed if source is None else source.strip()
    return letters if unicodedata.normalize("NFKC", letters) == displayed else displayed


def letters_of(piece: str, continuation: str) -> str:
    """A displayed piece as it stands in its word, without the sign that it goes on with it."""
    return piece.removeprefix(continuation) or piece


def word_of(pieces: Iterable[str], continuation: str) -> str:
    """Displayed pieces as one word; the sign of the first stays: what it goes on with is not among them. A bare blank
    before a word, which is a piece of some tokenizers, is no letter of it."""
    names = [*pieces]
    start = next((n for n, piece in enumerate(names) if piece != BLANK), 0)
    return "".join(letters_of(piece, continuation) if n else piece for n, piece in enumerate(names[start:]))


def unknown_id(tokenizer: Any) -> int | None:
    """The id of what there is no piece for: the tokenizer's, else that which its model gives; None where none is."""
    number = getattr(tokenizer, "unk_token_id", None)
    if number is None and getattr(tokenizer, "is_fast", False):
        try:
            pieces = tokenizer.backend_tokenizer.model.tokenize("\U0010ffff")  # a character of no text
        except Exception:  # noqa: BLE001  (of a vocabulary without one; the library raises nothing narrower)
            return None
        number = pieces[0].id if len(pieces) == 1 else None
    return None if number is None else int(number)


class TokenNames:
    """What the tokens of a vocabulary are called as answers: as they are displayed, told apart where two look alike.

    By place: behind white space "cat" is the token "Ġcat" and "##cat" the one that goes on with a word; within a word
    "cat" is that one, and "␣cat" is "Ġcat".
    """

    def __init__(self, tokenizer: Any):
        spelling = spelling_of(tokenizer)
        tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
        self.tokens = [
            phrases.NAMELESS.format(number=n) if token is None else str(token) for n, token in enumerate(tokens)
        ]
        self.labels = [spelling.display(token) for token in self.tokens]
        self._after_blank = [spelling.is_after_blank(token) for token in self.tokens]
        self._memo = Memo()

    def by_id(self, after_blank: bool) -> list[str]:
        """By id, no two the same, at a place behind white space or another."""
        return self._memo.get(after_blank, lambda: [*self._ids(after_blank)])

    def name(self, number: int, after_blank: bool) -> str:
        names = self.by_id(after_blank)
        return names[number] if number < len(names) else phrases.NAMELESS.format(number=number)

    def number(self, name: str, after_blank: bool) -> int | None:
        """By such a name, else as the tokenizer writes it; None where there is no such token."""
        for at in (after_blank, not after_blank):
            if name in self._ids(at):
                return self._ids(at)[name]
        return self._by_token.get(name)

    @cached_property
    def _by_token(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    def _ids(self, after_blank: bool) -> dict[str, int]:
        """Id by name, in the order of ids."""
        return self._memo.get(("ids", after_blank), lambda: self._table(after_blank))

    def _table(self, after_blank: bool) -> dict[str, int]:
        owners: dict[str, int] = {}
        for number, word in enumerate(self.labels):
            owner = owners.setdefault(word, number)
            if self._after_blank[owner] != after_blank == self._after_blank[number]:
                owners[word] = number
        ids: dict[str, int] = {}
        for number, word in enumerate(self.labels):
            name = word if owners[word] == number else (BLANK if self._after_blank[number] else "##") + word
            if name != word and (name in owners or name in ids):
                name = f"{name} ({number})"
            ids[name] = number
        return ids


_NAMES: WeakKeyDictionary[Any, Memo] = WeakKeyDictionary()


def names_of(tokenizer: Any) -> TokenNames:
    """Made once for each tokenizer, and again when tokens were added to it."""
    memo = _NAMES.setdefault(tokenizer, Memo())
    return memo.get(len(tokenizer), lambda: TokenNames(tokenizer))
