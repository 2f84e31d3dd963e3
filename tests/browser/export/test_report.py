"""The page of a report: cards fit at every width, on paper too, and a click brings up the head that a card names."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

import bertlens as bl
from bertlens.base.colors import INKS
from bertlens.reports import Report
from browser.views import Seen
from unit import tiny


@pytest.fixture(scope="module")
def report() -> Report:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    texts = [("the cat sat on the mat, it was warm.", f"the mats, unbelievable cats {'it ' * n}") for n in range(9)]
    return bl.report(lens, texts, progress=False)


def overflow(page: Page) -> Any:
    """What stands out of the page on the right."""
    return page.evaluate(
        "() => [...document.querySelectorAll('#report *')].filter((one) => one.getBoundingClientRect().right >"
        " innerWidth + 1).map((one) => one.outerHTML.slice(0, 80))"
    )


@pytest.mark.browser
def test_cards_fit_and_a_click_brings_up_the_head(page_of: Any, report: Report) -> None:
    page = page_of(report.to_html(progress=False), width=950)
    seen = Seen(page)
    for width, theme in ((480, "light"), (950, "dark"), (1400, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=theme)
        assert overflow(page) == []
        ground = page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
        assert ground == f"rgb{tuple(bytes.fromhex(INKS[theme]['bg'][1:]))}"
    expect(page.locator("article")).to_have_count(len(report.cards))
    card = next(card for card in report.cards if card.measured.head not in (None, (0, 0)))
    layer, head = card.measured.head or (0, 0)
    page.locator(f"article#{card.claim.name}").get_by_role("link", name="Show the head").click()
    expect(seen.root.get_by_text(f"L{layer}·H{head}", exact=True).first).to_be_visible()
    page.wait_for_function("Math.abs(document.querySelector('main').getBoundingClientRect().top) < 400")
    page.locator(".index a").first.click()
    expect(page.locator("article").first).to_be_in_viewport()
    page.emulate_media(media="print", color_scheme="dark")  # on paper ink is dark whatever the theme
    colour = "one => getComputedStyle(one).color"
    assert page.locator("article h3").first.evaluate(colour) == "rgb(0, 0, 0)"
    assert page.locator("article .rule").first.evaluate(colour) == "rgb(68, 68, 68)"
    assert page.locator("body").evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)"
    expect(page.locator("main")).to_be_hidden()
    expect(page.locator("article").last).to_be_visible()
