"""Two tasks, each done in three actions by what is written: nothing is done that no line on the screen tells."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from browser.front.test_opening import by_brute_force, opened
from browser.front.test_sentence import word
from browser.views import Seen, hold

TIRED = "The cat did not drink the milk because the [MASK] was tired."
OWN = "My sister plays the violin in a large orchestra."

TWO_TASKS = pytest.mark.sampled(3, of="two tasks")
WAYS = pytest.mark.parametrize("way", ["mouse", "touch", "keys"])
WIDTHS = pytest.mark.parametrize("width", [938, 390])


class Hand:
    """Does what it reads, by one way, and counts."""

    def __init__(self, seen: Seen, way: str) -> None:
        self.seen, self.way, self.actions = seen, way, 0

    def reads(self, line: str) -> None:
        """The line stands on the screen, within its window."""
        expect(self.seen.root.get_by_text(re.compile(line)).first).to_be_in_viewport(timeout=60_000)

    def goes_to(self, name: str) -> Locator:
        """Brings the keys to a word: no action, as the way of a pointer is none."""
        place = word(self.seen, name)
        self.seen.root.locator(".bl-stage [tabindex='0']").first.focus()
        self.seen.page.keyboard.press("Home")
        for _ in range(40):
            if place.evaluate("one => one === document.activeElement"):
                break
            self.seen.page.keyboard.press("ArrowRight")
        expect(place).to_be_focused()
        return place

    def looks_at(self, name: str) -> None:
        self.actions += 1
        self.reads("Touch a word")
        if self.way == "keys":
            self.goes_to(name)
            self.reads("Space: look")
            self.seen.page.keyboard.press("Space")
        else:
            place = word(self.seen, name)
            place.tap() if self.way == "touch" else place.click()

    def selects(self, name: str) -> None:
        self.actions += 1
        if self.way == "keys":
            self.goes_to(name)
            self.reads("Enter: change")
            self.seen.page.keyboard.press("Enter")
        elif self.way == "touch":
            self.reads("Hold it to write another")
            hold(word(self.seen, name))
        else:
            self.reads("Double-click it to write another")
            word(self.seen, name).dblclick()

    def writes(self, text: str) -> None:
        self.actions += 1
        self.seen.page.keyboard.type(text)
        self.seen.page.keyboard.press("Enter")

    def presses(self, name: str) -> None:
        self.actions += 1
        button = self.seen.part("verbs").get_by_role("button", name=name, exact=True)
        expect(button).to_be_in_viewport()
        if self.way == "keys":
            for _ in range(40):
                if button.evaluate("one => one === document.activeElement"):
                    break
                self.seen.page.keyboard.press("Tab")
            expect(button).to_be_focused()
            self.seen.page.keyboard.press("Enter")
        else:
            button.tap() if self.way == "touch" else button.click()


@pytest.fixture
def hand(page_of: Any, tmp_path: Path) -> Callable[..., Hand]:
    """Of a page with the model in it, which nobody has touched yet."""

    def open_page(trace: bl.Trace, way: str, width: int) -> Hand:
        trace.explore().to_html(tmp_path / "live.html", live=True, progress=False)
        page = page_of(tmp_path / "live.html", touch=way == "touch", width=width + 24, height=900)
        return Hand(Seen(page, folded=True), way)

    return open_page


@TWO_TASKS
@WAYS
@WIDTHS
def test_make_the_model_say_milk(hand: Callable[..., Hand], language_model: bl.Lens, way: str, width: int) -> None:
    hers = hand(language_model.trace(TIRED), way, width)
    lead = hers.seen.part("answer").locator(".bl-lead")
    expect(lead).to_contain_text("cat")
    hers.selects("tired")
    hers.writes("sour")
    expect(hers.seen.root.get_by_label("Sentence A")).to_have_value(TIRED.replace("tired", "sour"))
    expect(lead).to_contain_text("milk", timeout=60_000)
    assert hers.actions <= 3


@TWO_TASKS
@WAYS
@WIDTHS
def test_the_head_that_the_guess_of_a_hidden_word_rests_on(
    hand: Callable[..., Hand], language_model: bl.Lens, way: str, width: int
) -> None:
    hidden = OWN.replace("violin", "[MASK]")
    hers = hand(language_model.trace(OWN), way, width)
    hers.looks_at("violin")
    hers.presses("hide")
    expect(hers.seen.root.get_by_label("Sentence A")).to_have_value(hidden)
    layer, head = by_brute_force(language_model.trace(hidden))
    first = hers.seen.part("strip").locator("[data-strip-head]").first  # of the text before, while this one is run
    expect(first).to_have_attribute("data-strip-head", f"{layer}-{head}", timeout=60_000)
    assert opened(hers.seen) == (layer, head)
    name = f"L{layer}·H{head}"
    expect(hers.seen.part("claim")).to_contain_text(name)
    claim = hers.seen.root.locator(".bl-front")
    expect(claim).to_contain_text(re.compile("Without it, .* (falls|rises) from"))
    expect(claim.get_by_text(name).first).to_be_in_viewport()
    assert hers.actions <= 3
