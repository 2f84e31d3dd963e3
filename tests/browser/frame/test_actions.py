"""What people come for takes few actions, and nothing of it is out of sight: at 1400 and 938 px, without scrolling."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import bertlens as bl
from browser.front.test_twin import HE, below, verb
from browser.tabs.test_search import saved
from browser.tabs.test_task import mixed
from browser.views import Seen

TEXT = "The cat did not drink the milk because the [MASK] was tired."
WIDTHS = pytest.mark.parametrize("width", [1400, 962])  # px of the window: 938 of the view
COUNT = """() => {
    window.actions = 0;
    addEventListener("click", ({ isTrusted, detail }) => { window.actions += isTrusted && detail === 1; }, true);
    addEventListener("keydown", ({ key }) => { window.actions += /^(Enter|Escape|Arrow)/.test(key); }, true);
}"""  # a double click is one action, so is a word that is typed with the key that ends it


class Hand:
    """Does only what is in sight, and is counted by the page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.evaluate(COUNT)

    def click(self, target: Locator, double: bool = False) -> None:
        self.sees(target)
        target.dblclick() if double else target.click()

    def sees(self, answer: Locator, within: int | None = None) -> None:
        expect(answer).to_be_in_viewport(timeout=60_000)
        assert self.page.evaluate("scrollY") == 0
        if within is not None:
            assert self.page.evaluate("window.actions") <= within


@pytest.fixture
def opened(show: Callable[..., Seen], language_model: bl.Lens) -> Callable[..., Seen]:
    def of(text: str, width: int, **place: int) -> Seen:
        seen = show(language_model.trace(text).explore(**place), folded=True, width=width, height=900)
        expect(seen.part("claim")).to_contain_text("it, ", timeout=60_000)
        expect(seen.part("heads-to-come")).to_have_count(0, timeout=60_000)
        return seen

    return of


@WIDTHS
def test_he_is_compared_with_she_by_three_actions(opened: Callable[..., Seen], width: int) -> None:
    seen = opened(HE, width)
    hand = Hand(seen.page)
    hand.click(verb(seen))
    hand.click(below(seen).locator("[data-n]", has_text=re.compile("^He$")), double=True)
    seen.page.keyboard.type("She")
    seen.page.keyboard.press("Enter")
    expect(seen.part("claim")).to_contain_text(re.compile(r"One word turns\s+he\s+into\s+she\."), timeout=60_000)
    hand.sees(seen.part("claim"), within=3)
    hand.sees(seen.part("answer").locator(".bl-answer-row").last)


@WIDTHS
def test_why_it_looks_there_takes_two(opened: Callable[..., Seen], width: int) -> None:
    seen = opened(TEXT, width, layer=5, head=7, query=10)
    hand = Hand(seen.page)
    hand.click(seen.root.locator(".bl-weight").first)
    hand.click(seen.part("leaf").get_by_role("tab", name="Why"))
    hand.sees(seen.part("leaf-lines").locator("li").last, within=2)
    hand.sees(seen.part("leaf-says"))


@WIDTHS
def test_the_picture_for_a_paper_takes_three(opened: Callable[..., Seen], width: int) -> None:
    seen = opened(TEXT, width, layer=5, head=7, query=10)
    hand = Hand(seen.page)
    hand.click(seen.root.locator(".bl-menu > summary", has_text="Export"))
    menu = seen.root.locator(".bl-menu[open] .bl-menu-list")
    hand.click(menu.get_by_role("button", name="180 mm"))
    with seen.page.expect_download() as file:
        hand.click(menu.locator(".bl-menu-line", has_text="This screen").get_by_role("button", name="SVG"))
    assert 'width="180mm"' in file.value.path().read_text("utf8")
    hand.sees(menu, within=3)


@WIDTHS
def test_the_worst_case_of_a_task_takes_none_why_one_and_what_would_turn_it_two(
    show: Callable[..., Seen], width: int
) -> None:
    lens, _, examples = mixed()
    task = bl.task(lens, examples, progress=False)
    seen = show(task.explore(), width=width, height=900, folded=True)
    expect(seen.part("claim")).to_contain_text("It rests on", timeout=60_000)
    hand = Hand(seen.page)
    worst = task.table.sort_values("loss", ascending=False, kind="stable").iloc[0]
    hand.sees(seen.part("verdict"), within=0)
    expect(seen.part("verdict")).to_have_text(f"wrong: the label is {worst['label']}")
    hand.sees(seen.part("claim"), within=1)  # why: on which word it rests stands there already
    hand.click(seen.root.locator("[data-strip-head]").first)
    expect(seen.part("claim")).to_contain_text(re.compile("Without it|No single head matters"))
    hand.sees(seen.part("claim"), within=2)


@WIDTHS
def test_the_worst_case_of_a_search_takes_none_why_one_and_what_would_turn_it_two(tab_of: Any, width: int) -> None:
    page: Page = tab_of(saved(), width=width, height=900)
    hand = Hand(page)
    hand.sees(page.get_by_role("listbox", name="Questions").get_by_role("option", selected=True), within=0)
    hand.sees(page.get_by_test_id("claim").locator("p").first, within=1)
    hand.click(page.get_by_role("button", name="What if"))
    hand.sees(page.get_by_test_id("outcome"), within=2)
    hand.sees(page.get_by_test_id("scores"))
