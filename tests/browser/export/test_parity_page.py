"""The page of a comparison with another program: a click on a text opens it, at the first step that differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import bertlens as bl
from browser.views import Seen
from unit.conformance.planted import lens_of
from unit.conformance.test_parity_page import TEXTS, dump


@pytest.mark.browser
def test_a_click_on_a_text_opens_it_at_its_step(page_of: Any, tmp_path: Path) -> None:
    lens = lens_of("bert")
    p = bl.parity(lens, TEXTS, 1.001 * lens.encode(TEXTS).numpy(), pairs=False)
    steps = [bl.parity_steps(lens, TEXTS[0], dump(lens, TEXTS[0]))]
    page = page_of(p.to_html(tmp_path / "page.html", steps=steps, progress=False).read_text(), width=938)
    seen = Seen(page)
    links = page.locator(".axis a")
    expect(links).to_have_count(3)
    for name in (*links.all_inner_texts(), TEXTS[0]):
        links.get_by_text(name, exact=True).click()
        expect(seen.region("Sentence")).to_contain_text(name[-12:])
        page.wait_for_function("Math.abs(document.querySelector('main').getBoundingClientRect().top) < 400")
        expect(seen.root.get_by_text("is not in this page")).to_have_count(0)
    expect(seen.root).to_contain_text("L1·H0")  # where the step is
    page.reload()
    expect(seen.region("Sentence")).to_contain_text(TEXTS[0][-12:])
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
