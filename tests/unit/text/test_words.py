"""Words given one by one, and the words of a text: nine languages, and every kind of tokenizer."""

from __future__ import annotations

import pytest

from bertlens.text.encoding import encode
from unit.scripts import KINDS, OTHERS, SENTENCES, tokenizer_of


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
