"""Words given one by one, and the words of a text: nine languages, and every kind of tokenizer."""

from __future__ import annotations

import itertools
import unicodedata

import pytest

from bertlens.errors import InputError
from bertlens.text.encoding import encode
from bertlens.widgets.badges import badges
from unit.nine_languages import KINDS, OTHERS, SENTENCES, Letters, tokenizer_of


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
def test_words_given_are_those_of_the_text_with_a_blank_between_two(kind: str) -> None:
    """The ids are the text's; the pieces of each word are those between the blanks around it."""
    tokenizer = tokenizer_of(kind)
    for words, _ in SENTENCES.values():
        encoding, running = (encode(tokenizer, text, limit=None) for text in (words, " ".join(words)))
        assert encoding.input_ids == running.input_ids
        assert encoding.text == running.text
        starts = [len(" ".join(words[:number])) for number in range(len(words))]
        for at, word in enumerate(encoding.word_ids):
            if encoding.offsets is None or word is None:
                continue
            start, end = encoding.offsets[at]
            assert 0 <= start <= end <= len(words[word])
            whole = running.offsets[at]
            source = " ".join(words)[slice(*whole)]
            assert source.strip() == words[word][start:end], (source, words[word])
            assert starts[word] <= max(whole[1] - 1, 0) + (not source.strip()) <= starts[word] + 1 + len(words[word])
        assert {*encoding.word_ids} - {None} == {*range(len(words))}


def unit_texts(kind: str, text: str) -> list[str]:
    """The words of a text, by the characters that their tokens stand for."""
    encoding = encode(tokenizer_of(kind), text, limit=None)
    spans: dict[int, list[int]] = {}
    for word, span in zip(encoding.word_ids, encoding.offsets, strict=True):
        if word is not None and text[slice(*span)].strip():
            spans.setdefault(word, []).extend(span)
    return [text[min(ends) : max(ends)].strip() for ends in spans.values()]


FAST = [kind for kind in [*KINDS, *OTHERS] if "Python" not in kind]


@pytest.mark.parametrize("kind", FAST)
def test_words_of_a_text_in_scripts_with_blanks(kind: str) -> None:
    """Those of the treebank where the tokenizer splits full stops off, else what stands between blanks.

    GPT-2's rule makes one token of a danda and the vowel sign before it: there they are of one word.
    """
    for language in ("en", "de", "ru", "ar", "hi", "ko"):
        words, text = SENTENCES[language]
        is_split = kind.startswith("WordPiece") or (kind.startswith("byte level") and language != "hi")
        assert unit_texts(kind, text) == (words if is_split else text.split()), language


@pytest.mark.parametrize("kind", FAST)
@pytest.mark.parametrize("language", ["th", "zh"])
def test_words_of_a_text_without_blanks_are_tokens(kind: str, language: str) -> None:
    """Cut where a token begins, but within a letter or before its marks; the report says that it is so."""
    text = SENTENCES[language][1]
    encoding = encode(tokenizer_of(kind), text, limit=None)
    spans = [span for span in encoding.offsets if span is not None]
    cuts = {start for start, _ in spans if not any(a < start < b for a, b in spans)}
    cuts = {at for at in cuts if unicodedata.category(text[at]) not in ("Mn", "Mc")}
    naive = [text[a:b] for a, b in itertools.pairwise([*sorted(cuts), len(text)])]
    assert unit_texts(kind, text) == naive
    assert len(naive) > 1 or encoding.report.unknown
    [badge] = [badge for badge in badges(encoding.report) if badge["kind"] == "without_blanks"]
    script = {"th": "Thai", "zh": "Chinese characters"}[language]
    assert badge["detail"].startswith(f"{script}: no blanks") and f"{badge['detail']}"[:-1] in encoding.report.lines()


@pytest.mark.parametrize("kind", FAST)
def test_no_script_with_blanks_is_said_to_have_none(kind: str) -> None:
    for language in ("en", "tr", "ar", "hi", "ko"):
        assert encode(tokenizer_of(kind), SENTENCES[language][1], limit=None).report.without_blanks == []


@pytest.mark.parametrize("kind", FAST)
def test_every_letter_is_of_a_token(kind: str) -> None:
    """Capitals and marks that a tokenizer drops included: İ is one letter, and "é" of two characters one token's."""
    for language, (_, text) in {**SENTENCES, "fr": ([], "le cafe\u0301, nai\u0308f")}.items():
        encoding = encode(tokenizer_of(kind), text, limit=None)
        covered = {at for span in encoding.offsets if span is not None for at in range(*span)}
        assert {at for at, letter in enumerate(text) if not letter.isspace()} <= covered, language
        assert encoding.report.without_token == []


def test_dotted_and_dotless_i_keep_their_places() -> None:
    """Lower case of İ is two characters; what stands behind it is not moved."""
    text = "İİ IĞDIR ışık İZMİR'İ sever"
    encoding = encode(tokenizer_of("WordPiece"), text, limit=None)
    spelled = ["İİ", "IĞDIR", "ışık", "İZMİR", "'", "İ", "sever"]
    assert unit_texts("WordPiece", text) == spelled
    for number, word in enumerate(spelled):
        pieces = [at for at, of in enumerate(encoding.word_ids) if of == number]
        assert "".join(text[slice(*encoding.offsets[at])] for at in pieces) == word


def test_a_word_with_a_blank_in_it_is_two() -> None:
    """Llama's has no splitter: around a special token in the text each stretch is one word to it."""
    assert unit_texts("Llama", "the cat [MASK] sat on it") == ["the", "cat", "[MASK]", "sat", "on", "it"]


def test_a_tokenizer_that_does_not_tell_words_apart_is_refused() -> None:
    """One in Python whose pieces go beyond blanks has no word to say for them; its text is read as it is."""

    class Pairs(Letters):
        def _tokenize(self, text: str) -> list[str]:
            return [text[at : at + 2] for at in range(0, len(text), 2)]

        def _convert_token_to_id(self, token: str) -> int:
            return sum(map(ord, token))

        def _convert_id_to_token(self, index: int) -> str:
            return "ab"

    with pytest.raises(InputError, match="give the text to trace, or take a fast tokenizer"):
        encode(Pairs(), ["the", "cat"], limit=None)
    assert len(encode(Pairs(), "the cat", limit=None)) == 4
