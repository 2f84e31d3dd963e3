"""The first screen: few controls, few words, not high; and a newcomer's way through it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens.widgets.first_head import opening

TEXTS = ("The cat did not drink the milk because it was sour.", "My sister threw it away.")
FONTS = {"as it is": "normal", "narrow": "-0.05em", "wide": "0.06em"}
HEIGHTS = {480: 1400, 950: 820, 968: 820, 1280: 740, 1400: 700}  # px, of a view as wide as its document
CONTROLS, WORDS = 20, 150

CONTROLS_SEEN = """root => [...root.querySelectorAll("button, select, input, summary, a[href], [role=tab]")]
    .filter((one) => one.checkVisibility() && !one.disabled)
    .filter((one) => !one.closest("[data-head], .bl-layer, .bl-row-label, .bl-col-label, .bl-list li"))
    .map((one) => one.getAttribute("aria-label") || one.innerText || one.name || one.type)"""
PIECES = """root => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const texts = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode())
        if (node.parentElement.checkVisibility() && !node.parentElement.closest("option, .bl-hidden, .bl-tip") &&
            getComputedStyle(node.parentElement).clipPath === "none")
            texts.push(node.data);
    return texts.join(" ").split(/\\s+/);
}"""  # what stands there to be read, names of tokens too


@pytest.fixture(scope="module")
def view():
    lens = bl.Lens.embedded()
    return lambda *texts: lens.trace(*texts).explore()


def opened(show, view, width, font="as it is"):
    """With the margin of a page, 12 px on each side."""
    seen = show(view, width=width, height=900)
    seen.page.add_style_tag(content=f".bertlens, .bertlens * {{ letter-spacing: {FONTS[font]} }}")
    seen.settled()
    return seen


@pytest.mark.parametrize("font", FONTS)
def test_the_first_screen_is_calm(show, view, font):
    seen = opened(show, view(*TEXTS), 968, font)
    for width, highest in HEIGHTS.items():
        seen.page.set_viewport_size({"width": width, "height": 900})
        seen.settled()
        controls = seen.root.evaluate(CONTROLS_SEEN)
        pieces = seen.root.evaluate(PIECES)
        words = [piece for piece in pieces if re.search(r"[^\W\d_]", piece)]
        assert len(controls) <= CONTROLS, (width, controls)
        assert len(words) <= WORDS, (width, len(words), words)
        expect(seen.part("answer").get_by_text("mean of all tokens")).to_be_visible()
        assert seen.root.bounding_box()["height"] <= highest, width
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


def test_one_sentence_alone_is_as_calm(show, view):
    seen = opened(show, view(TEXTS[0]), 968)
    assert len(seen.root.evaluate(CONTROLS_SEEN)) <= CONTROLS, seen.root.evaluate(CONTROLS_SEEN)


@pytest.mark.parametrize("width", [950, 968, 1400])
def test_a_masked_text_has_its_answer_in_the_first_row_and_no_warning(show, width):
    masked = bl.Lens.embedded(mlm=True).trace("The cat did not drink the [MASK] because it was sour.")
    seen = opened(show, masked.explore(), width)
    first = masked.predictions()["token"].iloc[0]
    expect(seen.part("answer")).to_contain_text(first)
    buttons = [seen.root.get_by_role("button", name=name, exact=True) for name in ("Present", "More settings")]
    present, more = (button.bounding_box()["y"] for button in buttons)
    assert abs(present - more) < 8
    expect(seen.root.get_by_role("list", name="What the tokenizer did")).to_have_count(0)


def test_the_line_for_beginners_goes_after_two_clicks_and_stays_away(show, view):
    seen = opened(show, view(*TEXTS), 968)
    start = seen.part("start")
    expect(start).to_be_visible()
    seen.thumb(1, 8).click()
    expect(start).to_be_visible()
    seen.at_cell(3, 4)
    expect(start).to_have_count(0)
    seen.page.evaluate("() => { mounted[0](); mount(0); }")
    expect(seen.root).to_be_visible()
    seen.settled()
    expect(start).to_have_count(0)


def test_it_opens_on_what_the_head_that_matters_looks_at(show, view):
    shown = view(*TEXTS)
    seen = opened(show, shown, 968)
    question = seen.tab("Neurons").inner_text().split("\n")[0]
    number = re.fullmatch(r"How is (0\.\d{3}) computed\?", question)
    layer, head, query, key = opening(shown.trace).values()
    weight = float(shown.trace.attention(layer)[head, query, key])
    assert number and number[1] == f"{weight:.3f}" and weight > 1 / shown.trace.n_tokens, question
    seen.tab("Neurons").click()
    expect(seen.part("formula-alpha")).to_have_text(number[1])


def test_a_newcomer_asks_three_questions_in_three_clicks_without_scrolling(show, view):
    """What does this head do, how is the number computed, why, does it matter: each answer's sentence is in sight."""
    seen = opened(show, view(*TEXTS), 1400)
    expect(seen.part("head-sentence")).to_contain_text(re.compile("looks at|rests (partly )?on"))
    for tab, said in (("Neurons", "formula"), ("Why", "why-says"), ("Does it matter?", "matter-says")):
        seen.tab(tab).click()
        expect(seen.part(said)).to_be_in_viewport()
        assert seen.page.evaluate("scrollY") == 0, tab


def test_so_they_are_in_the_window_that_jupyterlab_leaves(show, view):
    """At 1,400 × 900 it leaves 968 × 776. What is clicked stays in sight, and nothing moves before a click."""
    seen = opened(show, view(*TEXTS), 968)
    seen.page.set_viewport_size({"width": 968, "height": 776})
    assert seen.page.evaluate("scrollY") == 0
    for tab, said in (("Neurons", "formula"), ("Why", "why-says"), ("Does it matter?", "matter-says")):
        seen.tab(tab).click()
        expect(seen.part(said)).to_be_in_viewport(ratio=1)
        expect(seen.tab(tab)).to_be_in_viewport(ratio=1)


def test_the_first_line_is_true_in_the_dark_and_of_norms(show, view):
    lens_view = view(*TEXTS)
    lens_view.theme = "dark"
    seen = opened(show, lens_view, 968)
    expect(seen.part("start")).to_contain_text("bright = it looks there. Click one, then click a word.")
    seen.shows("Norm ‖αf(x)‖")
    expect(seen.part("start")).to_contain_text("bright = it takes from there.")
    seen.shows("Difference")
    expect(seen.part("start")).to_contain_text("red = it looks more than it takes.")


def test_the_menu_of_questions_stays_while_one_searches(show, view):
    seen = opened(show, view(*TEXTS), 968)
    menu = seen.finder()
    menu.get_by_role("searchbox").click()
    seen.page.keyboard.type("entropy")
    expect(menu.locator("[data-question]")).to_have_count(2)
    expect(menu.locator("[data-question='entropy']")).to_contain_text("entropy")
    seen.page.keyboard.type(" of what")
    expect(menu).to_contain_text("Nothing of that name")
    assert menu.get_attribute("open") is not None


def test_what_am_i_seeing_is_a_walk_of_four_spotlights(show, view):
    seen = opened(show, view(*TEXTS), 968)
    seen.root.get_by_role("button", name="What am I seeing?").click()
    note = seen.part("walk")
    for n, title in enumerate(("All heads", "One head", "In words", "What to ask"), 1):
        expect(note).to_contain_text(title)
        expect(note).to_contain_text(f"{n} of 4")
        expect(note).to_be_in_viewport()
        note.get_by_role("button", name="Done" if n == 4 else "Next").press("Enter")
    expect(note).to_have_count(0)
    seen.root.get_by_role("button", name="What am I seeing?").click()
    seen.page.keyboard.press("Escape")
    expect(note).to_have_count(0)
    expect(seen.root.locator(".bl-mark-cell")).to_be_visible()  # the pin stays
