"""Each word hidden from all heads: the number of the label is that of a rerun with all of its pieces hidden."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bertlens import Lens, ModelError, whatif
from bertlens.base.generators import run_to_end
from bertlens.measures.words import lettered
from bertlens.whatif.hidden_words import HiddenWord, hidden_words
from unit.tasks.classifier import lens_of

TEXTS = ["unaffable cat sat on the mat .", "the cat", "mat"]


def of(trace: Any) -> list[HiddenWord]:
    return run_to_end(hidden_words(lambda: trace))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("text", TEXTS)
def test_numbers_are_those_of_a_rerun(text: str, classes: int) -> None:
    trace = lens_of(3, classes).trace(text)
    words = of(trace)
    assert [word.pieces for word in words] == lettered(trace)
    guess = int(trace.output.logits[0].argmax())
    for word in words:
        changed = trace.rerun(*map(whatif.hide, word.pieces))
        chance = torch.softmax(changed.output.logits[0].double(), -1)[guess]
        assert word.after == pytest.approx(float(chance), abs=1e-6)


def test_pieces_of_a_word_are_hidden_together() -> None:
    trace = lens_of(3).trace(TEXTS[0])
    first = of(trace)[0]
    assert len(first.pieces) > 1
    guess = int(trace.output.logits[0].argmax())
    alone = trace.rerun(whatif.hide(first.pieces[0])).output.logits[0].double().softmax(-1)[guess]
    assert abs(first.after - float(alone)) > 1e-6


def test_what_gives_no_label_is_refused() -> None:
    with pytest.raises(ModelError, match="gives texts no label"):
        of(Lens.embedded(mlm=True).trace("The cat sat on the [MASK]."))
    with pytest.raises(ModelError, match="no word"):
        of(lens_of().trace("."))
