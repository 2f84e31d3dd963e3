"""Another run beside the one that the Explorer shows: a typed text, one run before, the run without changes."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from bertlens import whatif
from browser.frame.abilities.subjects import LONG, trace
from browser.tabs.test_compare import TEXTS, apart, check_row
from browser.views import Seen, saved


def field(seen: Seen) -> Locator:
    return seen.part("compare-with").get_by_role("textbox", name="The other text")


def open_compare(seen: Seen) -> None:
    """By the menu of texts: the tab stands in its row once there is something in it."""
    seen.root.locator(".bl-texts summary").click()
    seen.root.get_by_role("button", name="Compare this text with …").click()


def compare_with(seen: Seen, text: str) -> None:
    open_compare(seen)
    field(seen).fill(text)
    field(seen).press("Enter")
    seen.part("compare-said").wait_for()
    seen.settled()


def heads_are(seen: Seen, c: bl.Comparison) -> None:
    """All of them, and the words of the first five."""
    expect(seen.part("compare-most").locator("li")).to_have_text(c.most(5)["words"].tolist())
    found = apart(seen)
    assert len(found) == c.heads.numel()
    for name, number in found:
        assert number == f"{c.heads[tuple(map(int, name.split('-')))]:.3f}", name


def units(seen: Seen) -> Locator:
    return seen.root.locator("[data-unit]")


def test_a_typed_text_beside_the_run_shown(show: Any, embedded_lens: Any) -> None:
    """By keys; numbers, answers, aligned words alone, a word that only the other text has, back, undo."""
    traces = [embedded_lens.trace(text) for text in TEXTS]
    c, view = bl.compare(*traces), traces[0].explore(layer=5, head=8, query=2)
    seen = show(view, width=1400)
    expect(seen.tab("Compare")).to_have_count(0)
    seen.root.locator(".bl-texts summary").press("Enter")
    seen.root.get_by_role("button", name="Compare this text with …").press("Enter")
    expect(field(seen)).to_be_focused()
    expect(field(seen)).to_have_value(TEXTS[0])
    assert field(seen).evaluate("one => [one.selectionStart, one.selectionEnd]") == [0, len(TEXTS[0])]
    submit = seen.part("compare-with").get_by_role("button", name="Compare")
    expect(submit).to_be_disabled()  # the same text
    seen.page.keyboard.insert_text(TEXTS[1])
    seen.page.keyboard.press("Enter")
    expect(seen.part("compare-answers")).to_have_text(c.answers().said)
    expect(seen.tab("Compare")).to_be_focused()
    expect(seen.part("compare")).to_contain_text("The pictures above are of a.")
    # at first the words that both texts have
    only = c.only()
    expect(seen.part("compare-said")).to_have_text(only.said)
    expect(units(seen)).to_have_count(12)
    assert seen.root.locator(".bl-nothing").count() == 0
    heads_are(seen, only)
    check_row(seen, only, 5, 8, 2)
    seen.shows("Norm ‖αf(x)‖")
    expect(seen.part("compare-maps")).to_contain_text("‖αf(x)‖, of aligned words alone")
    seen.settled()
    check_row(seen, only, 5, 8, 2, "norm")
    seen.shows("Weight α")
    seen.check("aligned words only").uncheck()
    expect(units(seen)).to_have_count(16)
    expect(seen.part("compare-said")).to_have_text(c.said)
    heads_are(seen, c)
    check_row(seen, c, 5, 8, 2)
    # a word of the other text alone leaves the pictures above as they are
    expect(units(seen).nth(10)).to_contain_text("she")
    units(seen).nth(10).click()
    expect(units(seen).nth(10)).to_have_attribute("aria-pressed", "true")
    seen.settled()
    check_row(seen, c, 5, 8, 10)
    assert view.query == 2
    units(seen).nth(7).click()  # "mat", 6 in the run shown
    expect(units(seen).nth(7)).to_have_attribute("aria-pressed", "true")
    assert view.query == 6
    seen.part("compare-most").get_by_role("button").first.click()
    assert (view.layer, view.head) == tuple(int(n) for n in c.most(1)[["layer", "head"]].iloc[0])
    # back, and undo
    seen.part("compare").get_by_role("button", name="Stop comparing").click()
    expect(field(seen)).to_be_visible()
    seen.root.get_by_role("button", name="Back to the selection before").click()
    expect(seen.part("compare-said")).to_have_text(c.said)


def test_a_changed_run_beside_the_unchanged_one(show: Any, embedded_lens: Any) -> None:
    original = embedded_lens.trace(TEXTS[0])
    changed = original.rerun(whatif.off(1, 8))
    seen = show(changed.explore(layer=2, head=8, query=3), width=950)
    open_compare(seen)
    seen.part("compare-with").get_by_role("button", name="this text without the change").click()
    c = bl.compare(original, changed)
    expect(seen.part("compare-answers")).to_have_text(c.answers().said)
    expect(seen.part("compare")).to_contain_text("The pictures above are of b.")
    runs = seen.root.locator(".bl-runs dd")
    expect(runs.nth(0)).to_contain_text("nothing changed")
    expect(runs.nth(1)).to_contain_text("L1·H8 off")
    heads_are(seen, c)
    check_row(seen, c, 2, 8, 3)
    expect(seen.root.get_by_role("checkbox", name="aligned words only")).to_have_count(0)  # all are
    # without the change there is nothing to stand beside it
    seen.root.get_by_role("button", name="Reset").first.click()
    expect(seen.part("compare-with")).to_be_visible()


def test_a_text_that_was_run_before_and_a_pair(show: Any, embedded_lens: Any) -> None:
    pair = (TEXTS[0], "The dog lay on the rug.")
    view = embedded_lens.trace(*pair).explore()
    seen = show(view, width=950)
    open_compare(seen)
    expect(field(seen)).to_have_value(pair[0])
    other = seen.part("compare-with").get_by_role("textbox", name="Its second sentence")
    expect(other).to_have_value(pair[1])
    other.fill("A cat sat.")
    other.press("Enter")
    c = bl.compare(embedded_lens.trace(*pair), embedded_lens.trace(pair[0], "A cat sat."))
    expect(seen.part("compare-answers")).to_have_text(c.answers().said)
    assert "Similarity" in c.answers().said
    expect(seen.part("compare-said")).to_have_text(c.only().said)
    # another text: it is that one which is compared now; then with itself, which is nothing
    box = seen.root.get_by_role("textbox", name="Sentence B, optional")
    box.fill("A cat sat.")
    box.press("Enter")
    expect(seen.part("compare-with")).to_be_visible()
    before = seen.part("compare-with").get_by_role("button", name="/ The dog lay on the rug.")
    before.click()
    c = bl.compare(embedded_lens.trace(pair[0], "A cat sat."), embedded_lens.trace(*pair))
    expect(seen.part("compare-answers")).to_have_text(c.answers().said)
    heads_are(seen, c.only())


def test_what_the_model_cannot_read_is_said_and_can_be_cut(show: Any, embedded_lens: Any) -> None:
    view = embedded_lens.trace(TEXTS[0]).explore(view="compare")
    seen = show(view, width=950)
    field(seen).fill("cat " * 1000)
    field(seen).press("Enter")
    expect(seen.part("compare")).to_contain_text("1002 tokens, the model reads")
    seen.part("compare").get_by_role("checkbox", name="cut if too long").check()
    expect(seen.part("compare-said")).to_contain_text("aligned", timeout=60_000)
    expect(seen.part("compare-most").locator("li")).to_have_count(5, timeout=60_000)


def test_a_thousand_tokens_and_one(show: Any) -> None:
    """A window of the first that follows what is pinned; of the second the one row."""
    long = trace("long")
    seen = show(long.explore(layer=1, head=1, query=700), width=950)
    text = long.text.replace("warm", "cat", 1)
    compare_with(seen, text)
    c = bl.compare(long, long.lens.trace(text))
    expect(seen.part("compare-maps")).to_contain_text(f"of {len(c.only().tokens)}", timeout=60_000)
    expect(seen.part("compare-most").locator("li")).to_have_count(4, timeout=60_000)  # the heads of one layer
    heads_are(seen, c.only())
    assert len(c.tokens) == LONG + 1
    lens = bl.Lens.embedded()
    one = lens.trace("")
    seen = show(one.explore(), width=950)
    compare_with(seen, "cat")
    c = bl.compare(one, lens.trace("cat"))
    expect(seen.part("compare-said")).to_have_text(c.only().said)
    heads_are(seen, c.only())


def test_a_page_without_a_kernel_offers_no_other_run(show_saved: Any, tab_of: Any, two_runs: bl.Comparison) -> None:
    """It says why where a link leads there; what it holds of two runs it shows, of aligned words too."""
    page = saved(two_runs.a.explore(), layers=[0])
    seen = Seen(tab_of(page))
    expect(seen.tab("Compare")).to_have_count(0)
    state = {"view": "compare", "compare_with": {"text": "a dog"}}
    seen.page.goto(seen.page.url + "#bertlens=" + quote(json.dumps(state)))
    seen.page.reload()
    expect(seen.root.get_by_role("tabpanel")).to_contain_text("This needs the model")
    seen = show_saved(two_runs.explore(layer=0, head=2))
    seen.page.goto(seen.page.url + "#bertlens=" + quote(json.dumps({"layer": 0, "head": 2, "aligned_only": True})))
    seen.page.reload()
    expect(seen.part("compare-said")).to_have_text(two_runs.only().said)
    expect(seen.part("compare-answers")).to_have_text(two_runs.answers().said)
    heads_are(seen, two_runs.only())
    units(seen).nth(3).click()
    seen.settled()
    check_row(seen, two_runs.only(), 0, 2, 3)


@pytest.fixture(scope="module")
def two_runs(embedded_lens: Any) -> bl.Comparison:
    return bl.compare(*(embedded_lens.trace(text) for text in TEXTS))


def test_answers_of_masks_stand_in_a_table(show: Any, language_model: Any) -> None:
    lens = language_model
    c = bl.compare(*(lens.trace(text) for text in ("The cat sat on the [MASK].", "The dog sat on the old [MASK].")))
    seen = show(c.explore(), width=480)
    found = c.answers()
    expect(seen.part("compare-answers")).to_have_text(found.said)
    seen.root.get_by_text("All answers of both").click()
    rows = seen.root.locator(".bl-answers tbody tr")
    expect(rows).to_have_count(len(found.rows))
    for n, one in enumerate(found.rows):
        cells = rows.nth(n).locator("th, td").all_inner_texts()
        assert cells[:3] == [one.name, f"{one.a:.3f}", f"{one.b:.3f}"]
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 480


@pytest.mark.parametrize(("width", "theme"), [(950, "light"), (480, "dark")])
def test_nothing_is_cut_in_the_middle(show: Any, two_runs: bl.Comparison, width: int, theme: str) -> None:
    """The list of heads ends with a whole row, and no control of the first line stands alone."""
    seen = show(two_runs.explore(theme=theme), width=width, theme=theme)
    seen.settled()
    cut = """all => all.map(one => one.getBoundingClientRect()).filter(({ top, bottom }) => {
        const { bottom: end } = document.querySelector(".bl-apart").getBoundingClientRect();
        return top < end && bottom > end;
    }).length"""
    assert seen.root.locator("[data-apart]").evaluate_all(cut) == 0
    tables, export = seen.check("as tables").bounding_box(), seen.root.locator(".bl-menu summary").bounding_box()
    assert tables and export and abs(tables["y"] + tables["height"] / 2 - export["y"] - export["height"] / 2) < 4
