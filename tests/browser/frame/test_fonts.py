"""The layout under fonts that are narrower and wider than the one at hand: letters further apart, or closer."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.usefixtures("neurons_open")

FONTS = {"narrow": "-0.05em", "wide": "0.06em", "as it is": "0.01em"}  # of DejaVu Sans, a wide one, where it is there

BEYOND = """root => {
    const right = root.getBoundingClientRect().right;
    const inside = (one) => one.closest(".bl-scroll, .bl-hidden, svg, .bl-tip");
    return [...root.querySelectorAll("*")]
        .filter((one) => one.checkVisibility() && !inside(one) && one.getBoundingClientRect().right > right + 1)
        .map((one) => [String(one.className), one.textContent.slice(0, 30)]);
}"""
CUT = """root => [...root.querySelectorAll("button, h3, h4, label, summary")]
    .filter((one) => one.checkVisibility() && !one.closest(".bl-line-queries, .bl-grid, .bl-neuron-tokens, .bl-list"))
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow !== "visible")
    .map((one) => one.textContent.slice(0, 30))"""


@pytest.fixture
def opened(show, pair):
    def open_view(font: str, width: int):
        seen = show(pair.explore(layer=1, head=8, query=3, key=4), width=width + 24, height=1000)
        spacing = f".bertlens *, .bertlens {{ letter-spacing: {FONTS[font]} }}"
        seen.page.add_style_tag(content=spacing)
        expect(seen.part("neurons")).to_be_visible()
        seen.settled()
        return seen

    return open_view


@pytest.mark.parametrize("font", ["narrow", "wide"])
def test_at_320_px_nothing_is_cut_or_beyond_the_edge(opened, font):
    seen = opened(font, 320)
    for tab in ("Neurons", "Why", "Does it matter?", "Weight against norm", "Gates", "Geometry", "Table"):
        if tab != "Neurons":  # it is open
            seen.open_tab(tab)
        seen.settled()
        assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= 344, tab
        assert seen.root.evaluate(BEYOND) == [], tab
        assert seen.root.evaluate(CUT) == [], tab
    expect(seen.part("head-title")).to_have_text("L1·H8")


@pytest.mark.parametrize("font", ["narrow", "as it is"])
def test_at_950_px_the_details_stay_near(opened, font):
    seen = opened(font, 950)
    top = seen.root.bounding_box()["y"]
    assert seen.root.locator(".bl-asking").bounding_box()["y"] - top <= 740
    steps = seen.part("steps").bounding_box()["height"]  # of Present, in place
    assert steps <= 320 and seen.root.bounding_box()["height"] - steps <= 1320
    assert seen.root.locator(".bl-thumb").first.bounding_box()["width"] >= 40
    assert seen.root.evaluate(BEYOND) == [] and seen.root.evaluate(CUT) == []
