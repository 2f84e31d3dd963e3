"""Words of a text in a live page, beside Python's, in nine languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bertlens.export.page_tokenizer import is_rare, tokenizer_files
from bertlens.survey.treebank import read_treebank
from bertlens.text.encoding import encode
from unit.export import engine
from unit.nine_languages import SENTENCES, tokenizer_of

KINDS = ["WordPiece", "WordPiece, cased", "byte level", "byte level, a blank before"]
TREEBANKS = ("ar", "de", "hi", "ko", "ru", "th", "tr", "zh")


def apart(kind: str, texts: list[str], folder: Path) -> list[tuple[str, Any, Any]]:
    """What a page takes for other words, of the texts that it has the same tokens of."""
    tokenizer = tokenizer_of(kind)
    files = tokenizer_files(tokenizer)
    [answers] = engine.node(folder, readers=[{"tokenizer": files, "texts": [(text,) for text in texts]}])
    rows = []
    for text, answer in zip(texts, answers, strict=True):
        encoding = encode(tokenizer, text, limit=None)
        words = [-1 if word is None else word for word in encoding.word_ids]
        if answer["ids"] != list(encoding.input_ids):
            assert is_rare(text), text
        elif answer["words"] != words:
            rows.append((text, answer["words"], words))
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_the_same_words(kind: str, tmp_path: Path) -> None:
    assert apart(kind, [text for _, text in SENTENCES.values()], tmp_path) == []


@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_the_same_words_of_treebanks(kind: str, tmp_path: Path, data: Path) -> None:
    for language in TREEBANKS:
        sentences = read_treebank(data / "pud_world" / f"{language}_pud-ud-test.conllu.gz")
        blank = "" if language in ("th", "zh") else " "
        texts = [blank.join(sentence.words) for sentence, _ in zip(sentences, range(100), strict=False)]
        assert apart(kind, texts, tmp_path) == [], language
