"""The answer of a sentence encoder's run on the page: its own number, before and after a change."""

from __future__ import annotations

import re
from typing import Any

import torch
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.views import shown
from unit.tiny_encoders import TEXTS, crossed, encoder

A, B = TEXTS[:2]


def weight_of(model: Any, layer: int) -> torch.Tensor:
    weight: torch.Tensor = model.encoder.layer[layer].attention.output.dense.weight
    return weight


def without(weight: torch.Tensor, head: int, number: Any) -> float:
    """A number of the model itself with a head's columns of W_O set to 0."""
    kept = weight.detach().clone()
    with torch.no_grad():
        weight[:, 8 * head : 8 * head + 8] = 0
        found = float(number())
        weight.copy_(kept)
    return found


def test_a_cross_encoders_score(show: Any) -> None:
    model = crossed()
    score, less = (
        float(model.predict((A, B))),
        without(weight_of(model.model.bert, 1), 2, lambda: model.predict((A, B))),
    )
    view = bl.Lens(model).trace(A, B).explore(layer=1, head=2)
    seen = show(view)
    expect(seen.part("answer")).to_have_text(re.compile(rf"^score\s*{re.escape(shown(score))}$"))
    seen = show(bl.Lens(model).trace(A, B).rerun(whatif.off(1, 2)).explore(layer=1, head=2))
    expect(seen.part("answer")).to_have_text(re.compile(rf"^score\s*{re.escape(shown(less))}$"))
    expect(seen.part("slopes")).to_contain_text(shown(score))


def test_a_sentence_encoders_own_similarity(show: Any) -> None:
    model = encoder(mode="cls", similarity_fn_name="dot")
    own: Any = lambda: model.similarity(*model.encode([A, B]))  # noqa: E731
    number, less = float(own()), without(weight_of(model[0].model, 1), 2, own)
    view = bl.Lens(model).trace(A, B).explore(layer=1, head=2)
    seen = show(view)
    answer = seen.part("answer")
    expect(answer).to_have_text(re.compile(rf"^similarity\s*{re.escape(shown(number))}$"))
    name = re.compile("^similarity of the two texts, dot product, in the run shown")
    expect(answer.locator(".bl-caps")).to_have_attribute("title", name)
    seen = show(bl.Lens(model).trace(A, B).rerun(whatif.off(1, 2)).explore(layer=1, head=2))
    expect(seen.part("answer")).to_have_text(re.compile(rf"^similarity\s*{re.escape(shown(less))}$"))
