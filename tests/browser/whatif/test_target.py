"""The answer whose change is asked: a word or a label, in every place that tells the answer."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
import transformers as tf
from playwright.sync_api import Locator, expect

from bertlens import Lens, Trace, whatif
from browser.stage import Stage
from browser.views import Seen, hosted, number, shown
from unit import tiny

MASKED = "The cat sat on the [MASK] because it was tired."
LAYER, HEAD, AT, CAT = 1, 8, 6, 2


@pytest.fixture(scope="module")
def masked() -> Trace:
    return Lens.embedded(mlm=True).trace(MASKED)


@pytest.fixture(scope="module")
def labelled() -> Trace:
    """A classifier of pairs with three labels."""
    config = tf.BertConfig(**tiny.BERT, num_labels=3, id2label={0: "no", 1: "perhaps", 2: "yes"})
    model = tiny.shaken(tf.BertForSequenceClassification(config), 0)
    return Lens(model, tiny.wordpiece()).trace("the cat sat on the mat", "it was very warm")


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
    expect(seen.part("answer")).to_contain_text(re.compile(rf"^ANSWER\s*chair {shown(chance(masked, 'chair'))}", re.I))

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


def test_what_the_text_has_not_is_said_and_the_first_asked(shared_page_of: Any, masked: Trace) -> None:
    stage = Stage(hosted(shared_page_of))
    stage.show(masked.explore(layer=LAYER, head=HEAD, query=AT, key=CAT, view="matter", settings={"target": "qqq"}))
    seen = Seen(stage.page)
    note = seen.part("matter").get_by_role("status")
    expect(note).to_contain_text("'qqq' is no single token of this tokenizer")
    expect(note).to_contain_text("So this is about the model’s first answer, not “qqq”.")
    first = str(masked.predictions(k=1)["token"][0])
    expect(seen.part("matter").locator("caption")).to_have_text(f"The probability of “{first}”")
    note.get_by_role("button", name="forget it").click()
    expect(note).to_have_count(0)


def test_a_label_of_a_pair_and_on_a_changed_run(show: Any, labelled: Trace) -> None:
    base = labelled.rerun(whatif.off(0, 1))
    seen = show(base.explore(layer=1, head=2, query=3, key=2))
    seen.open_tab("Does it matter?")
    changes = [whatif.off(1, 2), whatif.cut(1, 2, 3, 2), whatif.hide(2)]
    labels = seen.select("answer")
    expect(labels).to_have_value("")
    assert labels.locator("option").all_inner_texts() == ["the model’s first", "no", "perhaps", "yes"]
    for name in ("no", "perhaps", "yes"):
        labels.select_option(name)
        told(seen, base, name, changes)
    labels.select_option("the model’s first")
    told(seen, base, max(("no", "perhaps", "yes"), key=lambda name: chance(base, name)), changes)


def test_an_encoder_has_nothing_to_choose(show: Any, pair: Trace) -> None:
    seen = show(pair.explore(layer=LAYER, head=HEAD, query=8, key=2))
    seen.open_tab("Does it matter?")
    expect(seen.part("matter").locator("caption")).to_have_text("The similarity")
    expect(seen.part("target")).to_have_count(0)


def test_a_saved_page_tells_the_chosen_answer(show_saved: Any, masked: Trace) -> None:
    seen = show_saved(
        masked.explore(layer=LAYER, head=HEAD, query=AT, key=CAT, settings={"target": "chair"}), matters=True
    )
    expect(seen.part("answer")).to_contain_text(f"chair {shown(chance(masked, 'chair'))}")
    seen.open_tab("Does it matter?")
    expect(seen.part("matter").locator("caption")).to_have_text("The probability of “chair”")
    texts = rows(seen)
    for n, change in ((0, whatif.off(LAYER, HEAD)), (3, whatif.hide(CAT))):
        assert texts[n : n + 2] == [shown(chance(one, "chair")) for one in (masked, masked.rerun(change))]
    expect(field(seen)).to_be_disabled()


def test_one_token(show: Any) -> None:
    lens = Lens.embedded(mlm=True)
    trace = lens.trace("[MASK]")
    seen = show(trace.explore(layer=0, head=0, query=1, key=1))
    seen.open_tab("Does it matter?")
    ask(seen, "—")
    expect(seen.part("matter").locator("caption")).to_have_text("The probability of “—”")
    word = lens.tokenizer.convert_tokens_to_ids("—")
    after = trace.rerun(whatif.off(0, 0)).output.logits[0, 1].softmax(-1)[word]
    assert abs(float(rows(seen)[1].split()[0]) - float(after)) < 5.1e-4
