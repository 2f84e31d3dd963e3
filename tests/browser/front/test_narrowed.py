"""A page that is made narrower, as a tablet that is turned: nothing that opened stays beyond its edge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import bertlens as bl
from browser.front.test_walks import small
from browser.views import Seen

WIDTHS = (950, 480, 390)
TOUCH = """one => {
    const { right, top } = one.getBoundingClientRect();
    const place = { clientX: right - 4, clientY: top + 4, pointerType: "touch", bubbles: true };
    for (const kind of ["pointerover", "pointermove"]) one.dispatchEvent(new PointerEvent(kind, place));
    one.dispatchEvent(new PointerEvent("pointerenter", { ...place, bubbles: false }));
}"""  # a finger leaves no element, and a page that is turned moves no pointer
BEYOND = """() => [...document.querySelectorAll("*")]
    .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map((one) => `${one.tagName}.${one.className}`)"""


@pytest.fixture(scope="module")
def live(embedded_lens: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("narrowed") / "live.html"
    lens = bl.Lens(small(embedded_lens.tokenizer), embedded_lens.tokenizer)
    view = lens.trace("The cat sat on the mat because it was tired.").explore(layer=1, head=8, mode="matrix")
    return Path(view.to_html(path, live=True, progress=False))


def check_narrow(page: Page) -> None:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(  # a frame after the turn, the layout is told its width
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
        )
        size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert size[0] <= size[1], (width, size, page.evaluate(BEYOND))
    page.set_viewport_size({"width": 1400, "height": 900})


def test_a_tooltip_does_not_widen_a_page_that_is_narrowed(page_of, live):
    seen = Seen(page_of(live, width=1400, height=900))
    check_narrow(seen.page)
    for place in (seen.thumb(5, 11), seen.root.locator(".bl-cells").first):
        place.evaluate(TOUCH)
        expect(seen.tip).to_be_visible()
        box = seen.tip.bounding_box()
        assert box and box["x"] + box["width"] > WIDTHS[-1]  # beyond the narrow page
        check_narrow(seen.page)
        expect(seen.tip).to_have_count(0)


def test_an_open_menu_does_not_either(page_of, live):
    seen = Seen(page_of(live, width=1400, height=900))
    for name in ("Examples", "Export"):
        seen.root.locator("summary", has_text=name).first.click()
        check_narrow(seen.page)
