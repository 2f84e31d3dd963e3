"""The first screen: few controls, few words, not high; and a newcomer's way through it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens.widgets.first_head import opening
from unit.tasks.classifier import lens_of

TEXTS = ("The cat did not drink the milk because it was sour.", "My sister threw it away.")
FONTS = {"as it is": "normal", "narrow": "-0.05em", "wide": "0.06em"}
HEIGHTS = {480: 1300, 950: 780, 968: 780, 1280: 780, 1400: 780}  # px, of a view as wide as its document
CONTROLS, WORDS = 20, 120
MASKED = "The cat did not drink the milk because the [MASK] was tired."

CONTROLS_SEEN = """root => [...root.querySelectorAll("button, select, input, summary, a[href], [role=tab]")]
    .filter((one) => one.checkVisibility() && !one.disabled)
    .filter((one) => !one.closest("[data-head], .bl-layer, .bl-row-label, .bl-col-label, .bl-list li"))
    .filter((one) => !one.closest(".bl-stage, .bl-head-chip"))
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


def opened(show, view, width, font="as it is", **options):
    """With the margin of a page, 12 px on each side."""
    seen = show(view, width=width, height=900, **options)
    seen.page.add_style_tag(content=f".bertlens, .bertlens * {{ letter-spacing: {FONTS[font]} }}")
    seen.settled()
    return seen


@pytest.mark.sampled(2)
@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("kind", ["one text", "two texts", "a mask", "a label"])
def test_the_first_screen_is_calm(show, view, language_model, kind, font):
    first = {
        "one text": lambda: view(TEXTS[0]),
        "two texts": lambda: view(*TEXTS),
        "a mask": lambda: language_model.trace(MASKED).explore(),
        "a label": lambda: lens_of(classes=5).trace("the cat sat on the mat because it was warm").explore(),
    }[kind]()
    seen = opened(show, first, 968, font, folded=True)
    expect(seen.part("strip").locator("[data-strip-head]")).to_have_count(6)
    for width, highest in HEIGHTS.items():
        seen.page.set_viewport_size({"width": width, "height": 900})
        seen.settled()
        controls = seen.root.evaluate(CONTROLS_SEEN)
        pieces = seen.root.evaluate(PIECES)
        words = [piece for piece in pieces if re.search(r"[^\W\d_]", piece)]
        assert len(controls) <= CONTROLS, (width, controls)
        assert len(words) <= WORDS, (width, len(words), words)
        assert seen.root.bounding_box()["height"] <= highest, width
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


def test_four_questions_are_answered_without_a_click(show, language_model):
    """What does the model answer, which head matters, what does it look at, and what happens without it."""
    seen = opened(show, language_model.trace(MASKED).explore(), 968, folded=True)
    for said in (
        seen.answer_bar("cat"),
        seen.part("strip").get_by_role("button", name="L5·H7"),
        seen.part("claim").get_by_text("lets [MASK] look at cat"),
        seen.part("claim").get_by_text("Without it, cat falls from"),
        seen.root.get_by_role("button", name="All 72 heads"),
    ):
        expect(said.first).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("width", [950, 968, 1400])
def test_a_masked_text_has_its_answer_in_the_first_row_and_no_warning(show, language_model, width):
    masked = language_model.trace("The cat did not drink the [MASK] because it was sour.")
    seen = opened(show, masked.explore(), width)
    first = masked.predictions()["token"].iloc[0]
    expect(seen.part("answer")).to_contain_text(first)
    buttons = [seen.root.get_by_role("button", name=name, exact=True) for name in ("Present", "More settings")]
    present, more = (button.bounding_box()["y"] for button in buttons)
    assert abs(present - more) < 8
    expect(seen.root.get_by_role("list", name="What the tokenizer did")).to_have_count(0)


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


MOVES = """root => root.getAnimations({ subtree: true })
    .map((one) => [one.animationName, one.effect.getComputedTiming().endTime])"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_how_unfolds_in_place_as_the_steps_of_present(show, view, motion):
    seen = opened(show, view(*TEXTS), 968)
    seen.page.emulate_media(reduced_motion=motion)
    seen.page.evaluate(
        """() => new MutationObserver(() => {
        const steps = document.querySelector("[data-testid=steps]");
        if (steps) window.moves ??= (MOVES)(steps);
    }).observe(document.body, { subtree: true, childList: true })""".replace("MOVES", MOVES)
    )
    seen.tab("Neurons").click()
    titles = seen.part("steps").locator("h4")
    expect(titles).to_have_text(["Query and key", "q · k", "The score", "The exponential", "The softmax"])
    for title in titles.all():
        expect(title).to_be_in_viewport(ratio=1)
    moves = seen.page.evaluate("window.moves")
    seen.page.emulate_media(reduced_motion="no-preference")
    assert [end <= 250 for _, end in moves] == ([True] if motion == "no-preference" else []), moves


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


FRONT, BELOW = ("The sentence", "The answer", "The heads"), ("All heads", "One head", "In words", "What to ask")


@pytest.mark.parametrize("folded", [True, False])
def test_what_am_i_seeing_is_a_walk_of_spotlights(show, view, folded):
    seen = opened(show, view(*TEXTS), 968, folded=folded)
    seen.root.get_by_role("button", name="What am I seeing?").click()
    note = seen.part("walk")
    titles = FRONT if folded else (*FRONT, *BELOW)
    for n, title in enumerate(titles, 1):
        expect(note).to_contain_text(title)
        expect(note).to_contain_text(f"{n} of {len(titles)}")
        expect(note).to_be_in_viewport()
        note.get_by_role("button", name="Done" if n == len(titles) else "Next").press("Enter")
    expect(note).to_have_count(0)
    seen.root.get_by_role("button", name="What am I seeing?").click()
    seen.page.keyboard.press("Escape")
    expect(note).to_have_count(0)
    assert seen.page.evaluate("models[0].get('query')") is not None  # the pin stays
