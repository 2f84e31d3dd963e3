"""The Python line of every card computes the card's number."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import Lens
from bertlens.reports import CLAIMS, Card
from bertlens.reports.claim import SETUP
from unit import tiny
from unit.reports.test_few_texts import broken

TREEBANK = ("clark-syntax", "clark-probe", "clark-coreference")
# of a model with few heads, whose shortest texts are rested on, as those of the other one are not
BROADCAST = ("sinks-broadcast",)
PAIRS = [
    ("the cat cat sat.", f"cat, untidyish, {word}.")
    for word in ("old", "brownish", "torn", "small", "untidy", "grey", "washed", "long")
]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def computed(cards: tuple[Card, ...], lens: Lens, texts: list[Any], treebank: Path | None = None) -> dict[str, float]:
    """What the lines give, each after what all of them begin with."""
    begun: dict[str, Any] = {"lens": lens, "texts": texts, "treebank": treebank}
    exec("\n".join(SETUP), begun)
    found = {}
    for card in cards:
        names = dict(begun)
        *before, last = ast.parse(card.claim.python).body
        assert isinstance(last, ast.Expr)
        exec(compile(ast.Module(before, []), card.claim.name, "exec"), names)
        found[card.claim.name] = float(eval(compile(ast.Expression(last.value), card.claim.name, "eval"), names))
    return found


def check(cards: tuple[Card, ...], found: dict[str, float]) -> None:
    for card in cards:
        assert math.isfinite(card.measured.value), (card.claim.name, card.measured.why)
        assert found[card.claim.name] == pytest.approx(card.measured.value, rel=1e-4, abs=1e-6), card.claim.name


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", range(4))
def test_lines_of_a_trained_model(language_model: Lens, part: int) -> None:
    names = [claim.name for claim in CLAIMS if claim.name not in TREEBANK + BROADCAST][part::4]
    cards = bl.report(language_model, PAIRS, names, texts=len(PAIRS), progress=False).cards
    check(cards, computed(cards, language_model, PAIRS))


def test_lines_of_a_model_that_is_not_sound() -> None:
    lens, texts = (
        broken(),
        ["the cat \N{SNOWMAN} sat", "the cat sat " * 40, *(f"the cat sat {'it was warm ' * n}" for n in range(8))],
    )
    cards = bl.report(lens, texts, "health", texts=len(texts), progress=False).cards
    assert all(card.measured.value > 0 for card in cards)
    check(cards, computed(cards, lens, texts))


def test_the_line_of_heads_that_broadcast() -> None:
    torch.manual_seed(0)
    lens = Lens(tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT)), 3), tiny.wordpiece())
    texts = ["cat", "mat", "it", "the cat", "sat", "warm", "on", "was"]
    cards = bl.report(lens, texts, BROADCAST, texts=len(texts), progress=False).cards
    check(cards, computed(cards, lens, texts))


def test_lines_of_a_treebank(treebank: Path) -> None:
    torch.manual_seed(0)
    model = tf.BertModel(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 2, "max_position_embeddings": 96}))
    lens = Lens(tiny.shaken(model, 3), tiny.wordpiece())
    cards = bl.report(lens, treebank, TREEBANK, texts=80, progress=False).cards
    check(cards, computed(cards, lens, [*bl.survey.corpus.items(treebank)], treebank))
