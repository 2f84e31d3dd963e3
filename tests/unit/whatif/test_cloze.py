"""Each word hidden in a run of its own: the numbers are those of the text with the mask token written in its place."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bertlens import Lens, ModelError
from bertlens.base.generators import run_to_end
from bertlens.measures.words import lettered
from bertlens.whatif.cloze import ClozeWord, cloze_words
from unit import tiny

TEXTS = [
    "The cat did not drink the milk because it was sour.",
    "Unbelievably sour!",
    "cat",
    "42 is 7 × 6",
    "قط شرب الحليب",
]


@pytest.fixture(scope="module")
def lens() -> Lens:
    return Lens.embedded(mlm=True)


def of(trace: Any) -> list[ClozeWord]:
    return run_to_end(cloze_words(lambda: trace))


@pytest.mark.parametrize("text", TEXTS)
def test_as_the_text_with_the_mask_in_its_place(lens: Lens, text: str) -> None:
    trace = lens.trace(text)
    words = of(trace)
    assert [word.pieces for word in words] == lettered(trace)
    for word in words:
        ids = trace.input_ids.clone()
        ids[word.pieces] = lens.tokenizer.mask_token_id
        with torch.no_grad():
            logits = lens.model(ids[None]).logits[0, word.pieces].double()
        chances = logits.softmax(-1)
        own = chances[range(len(word.pieces)), trace.input_ids[word.pieces]].prod()
        assert word.probability == pytest.approx(float(own), rel=1e-4, abs=1e-9)
        assert word.guess_probability == pytest.approx(float(chances[0].max()), rel=1e-4)
        assert word.guess == lens.tokenizer.convert_ids_to_tokens(int(chances[0].argmax()))


def test_the_guess_is_the_answer_of_the_hidden_word(lens: Lens) -> None:
    """As the reader sees it who then hides the word, letter by letter the same text."""
    [*_, last] = of(lens.trace("The cat did not drink the milk because the milk was sour."))
    best = lens.trace("The cat did not drink the milk because the milk was [MASK].").predictions(1)
    assert last.guess == best["token"][0]
    assert last.guess_probability == pytest.approx(best["probability"][0], rel=1e-4)


def test_of_a_changed_run_and_beside_a_mask(lens: Lens) -> None:
    from bertlens import whatif

    trace = lens.trace("The cat sat on the [MASK] because it was tired.")
    assert all(lens.tokenizer.mask_token_id not in trace.input_ids[word.pieces] for word in of(trace))
    changed = trace.rerun(whatif.off(1, 8))
    before, after = ([word.probability for word in of(run)] for run in (trace, changed))
    assert before != after


def test_refusals(lens: Lens) -> None:
    for text in ("", "?!", "แมว", "😀 !"):  # the last two are unknown tokens
        with pytest.raises(ModelError, match="no word that the model could find again"):
            of(lens.trace(text))
    with pytest.raises(ModelError, match="names no words: there is none to guess"):
        of(Lens(tiny.bert(), tiny.wordpiece()).trace("the cat"))
