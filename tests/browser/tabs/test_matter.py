"""Does it matter? The tab says of a cell what runs with each change give; a run is shown and taken back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from bertlens import Lens, Trace, whatif
from browser.views import Seen, number, shown

LAYER, HEAD = 1, 8
MASKED = "The cat sat on the [MASK] because it was tired."


@pytest.fixture(scope="module")
def masked(language_model: Lens) -> Trace:
    return language_model.trace(MASKED)


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
    expect(seen.answer_bar("both texts")).to_have_attribute("title", re.compile(f"^{after[1]:.4f} "))
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


@pytest.mark.long
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


def test_a_saved_page_holds_heads_and_tokens(show_saved: Any, pair: Trace) -> None:
    """Their rows are runs of their own, for the next head and cell too; the cell needs Python. tests/unit/whatif/
    test_single_changes.py has the other answers."""
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
    expect(seen.part("matter")).to_contain_text("Two experiments on this text")
    seen.find_heads("matters")
    expect(seen.part("sweep-state")).to_contain_text("All 72 heads tried, in this text.")
    expect(seen.part("matters")).not_to_contain_text("≈")
    for layer, head in ((3, 3), (5, 1)):
        value = similarity(pair.rerun(whatif.off(layer, head))) - before
        assert number(seen.thumb(layer, head).inner_text().replace("+", "")) == pytest.approx(value, abs=5.1e-4)
