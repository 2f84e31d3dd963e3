"""Leaves and this screen by keyboard alone: in every script and tokenizer, at one token and at thousands, in a changed
run and in a saved page. Each opens, says something and gives the focus back."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.views import Seen, hosted
from unit import nine_languages, tiny

ENGLISH, ARABIC, THAI = (nine_languages.SENTENCES[code][1] for code in ("en", "ar", "th"))
LONG = 8192  # words


def tiny_lens(tokenizer: object) -> bl.Lens:
    return bl.Lens(tiny.bert_with(tokenizer, max_position_embeddings=256), tokenizer)


VIEWS: dict[str, Callable[[], bl.Trace]] = {
    "one token": lambda: bl.Lens(tiny.bert(), tiny.wordpiece()).trace("cat"),
    "a changed run": lambda: (
        bl.Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat on the mat").rerun(whatif.off(0, 1), whatif.hide(2))
    ),
    "Arabic": lambda: tiny_lens(nine_languages.wordpiece()).trace(ARABIC),
    "Thai": lambda: tiny_lens(nine_languages.unigram()).trace(THAI),
    "byte level": lambda: tiny_lens(nine_languages.byte_level()).trace(ENGLISH),
    "Unigram": lambda: tiny_lens(nine_languages.unigram()).trace(ENGLISH),
}


LEAF, TALLEST = 240, 870  # px that a leaf may add to the view; of the view where a question is open


def height(seen: Seen) -> float:
    box = seen.root.bounding_box()
    assert box
    return box["height"]


def goes_through(seen: Seen, tallest: float = math.inf) -> float:
    """The three questions by keys from the first number, if there is one; then all heads. The px that a leaf adds."""
    expect(seen.part("claim")).not_to_be_empty(timeout=60_000)
    if tallest < math.inf:
        expect(seen.part("claim")).to_contain_text("Without it", timeout=60_000)  # the claim is whole
    opened = []
    keyboard = seen.page.keyboard
    number = seen.root.locator(".bl-weight").first
    if number.count():
        number.focus()
        keyboard.press("Enter")
        leaf = seen.part("leaf")
        expect(leaf.locator(".bl-leaf-body")).to_contain_text(re.compile(r"\w"))
        seen.settled()
        opened.append(height(seen))
        assert opened[0] <= tallest
        leaf.get_by_role("tab", selected=True).focus()
        for _ in range(2):
            keyboard.press("ArrowRight")
            expect(leaf.get_by_role("tab", selected=True)).to_be_focused()
            expect(leaf.locator(".bl-leaf-body")).to_contain_text(re.compile(r"\w"), timeout=60_000)
            expect(leaf.locator(".bl-leaf-body")).not_to_contain_text(re.compile("NaN|undefined|null"))
        keyboard.press("Escape")
        expect(leaf).to_have_count(0)
        expect(number).to_be_focused()
    tile = seen.root.locator(".bl-open-heads")
    tile.focus()
    keyboard.press("Enter")
    expect(seen.part("heads-leaf").locator("[data-head]").first).to_be_visible()
    opened.append(height(seen))
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert seen.axe() == []
    keyboard.press("Escape")
    expect(tile).to_be_focused()
    expect(seen.part("heads-leaf")).to_have_count(0)
    return max(opened) - height(seen)


def saves_this_screen(seen: Seen) -> None:
    root = ElementTree.fromstring(seen.save("SVG", "This screen").read_bytes())
    assert float((root.get("viewBox") or "0 0 0 0").split()[3]) > 100 and len(list(root.iter())) > 10


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", VIEWS)
def test_by_keyboard_alone(show: Callable[..., Seen], kind: str) -> None:
    seen = show(VIEWS[kind]().explore(), folded=True, width=962, height=900)
    added = goes_through(seen, TALLEST if kind == "one token" else math.inf)
    assert kind != "one token" or added <= LEAF
    saves_this_screen(seen)


def test_in_a_saved_page(show_saved: Callable[..., Seen], language_model: bl.Lens) -> None:
    text = "The cat did not drink the milk because the [MASK] was tired."
    seen = show_saved(language_model.trace(text).explore(layer=5, head=7), folded=True, matters=True, width=962)
    goes_through(seen)
    saves_this_screen(seen)


def test_of_two_views_each_has_its_own(page_of: Callable[..., object]) -> None:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    page = hosted(page_of, *(lens.trace(text).explore() for text in ("the cat sat on the mat", "a dog lay there")))
    views = [Seen(page, page.locator(".bertlens").nth(n), folded=True) for n in range(2)]
    for view in views:
        view.root.locator(".bl-open-heads").click()
    for view in views:
        expect(view.part("heads-leaf").locator("[data-head]").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(views[1].part("heads-leaf")).to_have_count(0)
    expect(views[0].part("heads-leaf")).to_have_count(1)


@pytest.mark.long
def test_at_thousands_of_words(show: Callable[..., Seen]) -> None:
    lens = bl.Lens(tiny.bert(max_position_embeddings=LONG + 2), tiny.wordpiece())
    seen = show(lens.trace(" ".join(["cat"] * LONG)).explore(), folded=True, width=962, height=900)
    assert goes_through(seen) <= LEAF
