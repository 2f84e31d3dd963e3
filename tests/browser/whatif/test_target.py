"""The answer whose change is asked: a word or a label, in every place that tells the answer."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect

from bertlens import Lens, Trace, whatif
from browser.views import Seen, number, shown

MASKED = "The cat sat on the [MASK] because it was tired."
LAYER, HEAD, AT, CAT = 1, 8, 6, 2


@pytest.fixture(scope="module")
def masked(language_model: Lens) -> Trace:
    return language_model.trace(MASKED)


def chance(trace: Trace, name: str) -> float:
    assert trace.model is not None
    logits: torch.Tensor = trace.output.logits[0]
    if logits.ndim == 1:
        return float(logits.softmax(-1)[("no", "perhaps", "yes").index(name)])
    return float(logits[AT].softmax(-1)[trace.model.tokenizer.convert_tokens_to_ids(name)])


def field(seen: Seen) -> Locator:
    return seen.part("matter").get_by_label("The word that is asked about")


def ask(seen: Seen, word: str) -> None:
    field(seen).fill(word)
    field(seen).press("Enter")


def rows(seen: Seen) -> list[str]:
    return seen.part("matter").get_by_test_id("effect").locator("td.bl-number").all_inner_texts()


def told(seen: Seen, trace: Trace, name: str, changes: list[Any]) -> None:
    """The table is of this answer: before, after, change in each row."""
    expect(seen.part("matter").locator("caption")).to_have_text(f"The probability of “{name}”")
    before = chance(trace, name)
    texts = rows(seen)
    for n, change in enumerate(changes):
        after = chance(trace.rerun(change), name)
        assert texts[3 * n] == shown(before) and texts[3 * n + 1].startswith(shown(after))
        assert number(texts[3 * n + 2].replace("+", "")) == pytest.approx(after - before, abs=5.1e-4)


def test_a_word_of_the_vocabulary_everywhere(show: Any, masked: Trace) -> None:
    view = masked.explore(layer=LAYER, head=HEAD, query=AT, key=CAT)
    seen = show(view)
    seen.open_tab("Does it matter?")
    changes = [whatif.off(LAYER, HEAD), whatif.cut(LAYER, HEAD, AT, CAT), whatif.hide(CAT)]
    first = str(masked.predictions(k=1)["token"][0])
    told(seen, masked, first, changes)
    ask(seen, "Chair")  # the tokenizer lowers it
    told(seen, masked, "chair", changes)
    expect(field(seen)).to_have_value("chair")
    expect(seen.part("matter-says")).to_contain_text("the probability of “chair”")
    expect(seen.answer_bar("chair")).to_have_attribute("title", re.compile(f"^{chance(masked, 'chair'):.4f} "))
    rivals = [name for name in masked.predictions(k=5)["token"] if name != "chair"]
    bars = seen.part("answer").locator(".bl-answer-name").all_inner_texts()
    assert bars == [*rivals[:4], "chair"]  # as the model ranks them

    ask(seen, "chairr")  # no token: said with what is near it, and the choice stays
    alert = seen.part("matter").get_by_role("alert")
    expect(alert).to_have_text(re.compile(r"^“chairr” cannot be asked about: it is 2 tokens .*Near it: chair"))
    expect(field(seen)).to_have_value("chairr")
    told(seen, masked, "chair", changes)

    seen.part("matter").get_by_test_id("effect").first.get_by_role("button", name="show this run").click()
    expect(seen.root.locator(".bl-change")).to_have_count(1)
    told(seen, masked, "chair", changes)
    off = masked.rerun(changes[0])
    slopes = seen.part("slopes")
    expect(slopes.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(rf"chair {shown(chance(masked, 'chair'))} → {shown(chance(off, 'chair'))}")
    )
    seen.find_heads("matters")
    expect(seen.part("matters")).to_contain_text("Without these logit of “chair” falls")
    expect(seen.part("sweep-state")).to_contain_text("All 72 heads tried")

    def logit(run: Trace) -> float:
        return float(run.output.logits[0, AT, run.model.tokenizer.convert_tokens_to_ids("chair")])

    seen.part("matters").get_by_role("button", name=re.compile("^L")).first.click()
    name = seen.part("matters").get_by_role("button", name=re.compile("^L")).first.inner_text()
    found = re.match(r"L(\d+)·H(\d+)\s*(.*)", name)
    assert found is not None
    change = logit(off.rerun(whatif.off(int(found[1]), int(found[2])))) - logit(off)
    assert number(found[3]) == pytest.approx(change, abs=6e-4)


def test_it_is_remembered_undone_linked_and_written(show: Any, masked: Trace) -> None:
    seen = show(masked.explore(layer=LAYER, head=HEAD, query=AT, key=CAT, settings={"target": "chair"}))
    seen.open_tab("Does it matter?")
    expect(field(seen)).to_have_value("chair")
    seen.part("matter").get_by_role("button", name="Ask about the model’s first again").click()
    first = str(masked.predictions(k=1)["token"][0])
    expect(seen.part("matter").locator("caption")).to_have_text(f"The probability of “{first}”")
    expect(field(seen)).to_have_value("")
    seen.root.get_by_role("button", name="Back to the selection before").click()
    expect(field(seen)).to_have_value("chair")
    expect(seen.part("matter").locator("caption")).to_have_text("The probability of “chair”")
