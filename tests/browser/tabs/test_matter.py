"""Does it matter? The tab says of a cell what runs with each change give; a run is shown and taken back."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect

from bertlens import Lens, Trace, whatif
from bertlens.base.limits import LIMITS
from browser.views import Seen, number, shown

LAYER, HEAD = 1, 8
MASKED = "The cat sat on the [MASK] because it was tired."


@pytest.fixture(scope="module")
def masked() -> Trace:
    return Lens.embedded(mlm=True).trace(MASKED)


def rows(seen: Seen) -> Locator:
    return seen.part("matter").get_by_test_id("effect")


def cells(seen: Seen, row: int) -> list[str]:
    return rows(seen).nth(row).locator("td.bl-number").all_inner_texts()


def open_tab(seen: Seen) -> None:
    seen.open_tab("Does it matter?")
    expect(rows(seen)).to_have_count(3)


def similarity(trace: Trace) -> float:
    return float(trace.predictions()["logit"][0])


def test_a_pairs_similarity_with_each_change_and_back(show: Any, pair: Trace) -> None:
    query, key = pair.tokens.index("it"), pair.tokens.index("cat")
    view = pair.explore(layer=LAYER, head=HEAD, query=query, key=key)
    seen = show(view)
    open_tab(seen)
    changes = [whatif.off(LAYER, HEAD), whatif.cut(LAYER, HEAD, query, key), whatif.hide(key)]
    before = similarity(pair)
    after = [similarity(pair.rerun(change)) for change in changes]
    for row, value in enumerate(after):
        texts = cells(seen, row)
        assert texts[:2] == [shown(before), shown(value)]
        assert number(texts[2].replace("+", "")) == pytest.approx(value - before, abs=5.1e-4)
    said = seen.part("matter-says")
    far = max(abs(value - before) for value in after[:2])
    expect(said).to_have_text(re.compile(r"^Yes: " if far >= 0.05 else r"^Hardly: "))
    expect(said).to_contain_text(shown(before))

    rows(seen).nth(1).get_by_role("button", name="show this run").click()
    expect(seen.part("answer")).to_contain_text(shown(after[1]))
    expect(rows(seen).nth(1)).to_have_class("bl-pinned")
    assert view.trace.changes == (changes[1],)
    assert cells(seen, 1)[:2] == [shown(before), shown(after[1])]  # the same table
    rows(seen).nth(2).get_by_role("button", name="show this run").click()  # another row instead
    expect(rows(seen).nth(2)).to_have_class("bl-pinned")
    assert view.trace.changes == (changes[2],)
    rows(seen).nth(2).get_by_role("button", name="Undo").click()
    expect(rows(seen).nth(1)).to_have_class("bl-pinned")
    rows(seen).nth(1).get_by_role("button", name="Undo").click()
    expect(seen.root.locator(".bl-change")).to_have_count(0)
    expect(rows(seen).nth(1)).not_to_have_class("bl-pinned")
    assert view.trace is pair

    seen.thumb(3, 3).click()  # another head, the same cell
    seen.title("L3·H3")
    expect(rows(seen).first).to_contain_text("L3·H3 off")
    value = similarity(pair.rerun(whatif.off(3, 3)))
    expect(rows(seen).first.locator("td.bl-number").nth(1)).to_have_text(shown(value))


def test_on_a_changed_run_and_for_a_masked_word(show: Any, masked: Trace) -> None:
    at, cat = masked.tokens.index("[MASK]"), masked.tokens.index("cat")
    base = masked.rerun(whatif.off(0, 0))
    view = base.explore(layer=LAYER, head=HEAD, query=at, key=cat)
    seen = show(view)
    open_tab(seen)
    expect(seen.part("on-top")).to_contain_text("Before is the run shown, with L0·H0 off")
    table = base.predictions(k=20_000).set_index("token")["probability"]
    best = base.predictions(k=1)["token"][0]
    expect(seen.part("matter")).to_contain_text(f"The probability of “{best}”")
    for row, change in enumerate((whatif.off(LAYER, HEAD), whatif.cut(LAYER, HEAD, at, cat), whatif.hide(cat))):
        run = base.rerun(change).predictions(k=20_000).set_index("token")["probability"]
        texts = cells(seen, row)
        assert texts[0] == shown(table[best])
        assert texts[1].startswith(shown(run[best]))
        first = run.idxmax()
        assert (f"first is “{first}”" in texts[1]) == (first != best)
    seen.part("on-top").get_by_role("button", name="Undo the change").click()
    expect(seen.part("on-top")).to_have_count(0)
    expect(rows(seen)).to_have_count(3)
    assert view.trace is masked


def test_what_is_off_already_is_compared_with_the_run_with_it(show: Any, show_saved: Any, masked: Trace) -> None:
    """The last head that the lesson teaches: “sofa” overtakes “table” without it. In a kernel, and in a saved page."""
    trace = masked.lens.trace("The cat sat on the [MASK].")  # type: ignore[union-attr]
    off = trace.rerun(whatif.off(2, 1))
    first, then = (run.predictions(k=20_000).set_index("token")["probability"] for run in (trace, off))
    assert (first.idxmax(), then.idxmax()) == ("table", "sofa")
    said = (
        f"Yes: without L2·H1 the answer is “sofa” ({shown(then['sofa'])}), no longer “table” "
        f"({shown(then['table'])}, was {shown(first['table'])})."
    )
    view = trace.explore(layer=2, head=1, query=6, key=2)
    seen = show(view)
    open_tab(seen)
    expect(seen.part("matter-says")).to_have_text(said)
    seen.thumb(2, 1).press("x")
    expect(seen.root.locator(".bl-change")).to_have_text(re.compile("^L2·H1 off"))
    expect(seen.part("matter-says")).to_have_text(said)
    expect(seen.part("on-top")).to_contain_text(
        "What the run has already is compared with the run without it: L2·H1 off"
    )
    seen.find_heads("matters")
    expect(seen.part("sweep-state")).to_contain_text("All 72 heads tried")
    swept = float(whatif.sweep(trace, whatif.logit("table"), progress=False)[2, 1])
    assert number(seen.thumb(2, 1).inner_text().replace("●", "").strip()) == pytest.approx(swept, abs=5.1e-4)
    rows(seen).first.get_by_role("button", name="Undo").click()
    expect(seen.root.locator(".bl-change")).to_have_count(0)
    assert view.trace is trace
    saved = show_saved(off.explore(layer=2, head=1, query=6, key=2), matters=True)
    open_tab(saved)
    expect(saved.part("matter-says")).to_have_text(said)


def test_a_long_text_is_run_when_it_is_asked_for(show: Any, embedded_lens: Any) -> None:
    trace = embedded_lens.trace(" ".join(["the cat sat on the mat"] * 33))
    assert trace.n_tokens > LIMITS["effects"].tokens
    seen = show(trace.explore(layer=LAYER, head=HEAD, query=3, key=2))
    seen.open_tab("Does it matter?")
    expect(seen.part("matter")).to_contain_text(f"reads this text of {trace.n_tokens} tokens four times")
    assert not [one for one in seen.page.evaluate("() => models[0].sent.map(({ op }) => op)") if one == "cell_matters"]
    seen.part("matter").get_by_role("button", name="Run it").click()
    expect(rows(seen)).to_have_count(3)
    expect(seen.part("matter-says")).to_contain_text("the text’s vector")


def test_a_saved_page_holds_heads_and_tokens(show_saved: Any, pair: Trace) -> None:
    """Their rows are runs of their own, for the next head and cell too; the cell needs Python. tests/unit/whatif/
    test_alone.py has the other answers."""
    before = similarity(pair)
    seen = show_saved(pair.explore(layer=1, head=1, query=3, key=2), matters=True)
    open_tab(seen)
    for (layer, head), key in (((1, 1), 2), ((2, 0), 2), ((2, 0), 4)):
        seen.thumb(layer, head).click()
        seen.title(f"L{layer}·H{head}")
        if key != 2:
            seen.at_cell(3, key)
        expect(rows(seen).first).to_contain_text(f"L{layer}·H{head} off")
        expect(rows(seen).nth(2)).to_contain_text(f"“{pair.display_tokens[key]}”")
        for row, change in ((0, whatif.off(layer, head)), (2, whatif.hide(key))):
            assert cells(seen, row)[:2] == [shown(before), shown(similarity(pair.rerun(change)))]
        expect(rows(seen).nth(1)).to_contain_text("needs Python: open the notebook")
        expect(rows(seen).get_by_role("button")).to_have_count(0)
    expect(seen.part("matter")).to_contain_text("Two experiments in this one text")
    seen.find_heads("matters")
    expect(seen.part("sweep-state")).to_contain_text("All 72 heads tried, in this text.")
    expect(seen.part("matters")).not_to_contain_text("≈")
    for layer, head in ((3, 3), (5, 1)):
        value = similarity(pair.rerun(whatif.off(layer, head))) - before
        assert number(seen.thumb(layer, head).inner_text().replace("+", "")) == pytest.approx(value, abs=5.1e-4)


def test_a_saved_page_says_why_it_holds_none(show_saved: Any) -> None:
    long = Lens.embedded().trace(" ".join(["the cat sat on the mat"] * 11))
    seen = show_saved(long.explore(), matters=True)
    seen.open_tab("Does it matter?")
    expect(seen.root.get_by_role("tabpanel")).to_have_text(
        f"This needs the model: a saved page holds it of texts of up to 64 tokens, and this has {long.n_tokens}. "
        "Open the notebook."
    )
    seen.find_heads("matters")
    expect(seen.part("sweep-state")).to_contain_text("Not computed: This needs the model")


def test_what_has_no_answer_says_so_in_one_sentence(show: Any, masked: Trace) -> None:
    assert masked.lens is not None
    seen = show(masked.lens.trace("The cat sat.").explore(layer=0, head=0))
    seen.open_tab("Does it matter?")
    expect(seen.root.get_by_role("tabpanel")).to_contain_text("no token of this text is masked: write [MASK]")
    given = Trace.from_attentions(torch.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    seen = show(given.explore())
    seen.open_tab("Does it matter?")
    expect(seen.root.get_by_role("tabpanel")).to_contain_text("made from attention weights, which no model runs")
