"""Three wishes, by how many actions they take at two widths, from the first screen and without scrolling."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

import bertlens as bl
from browser.front.test_leaves import number
from browser.front.test_twin import HE, below, verb
from browser.tabs.test_search_walk import Counted
from browser.views import Seen


@pytest.mark.parametrize("width", [962, 1424])  # px of the window: 938, 1400 of the view
def test_three_wishes_and_their_actions(show: Callable[..., Seen], language_model: bl.Lens, width: int) -> None:
    seen = show(language_model.trace(HE).explore(), folded=True, width=width, height=900)
    expect(seen.part("claim")).to_contain_text("Without it", timeout=60_000)
    hers = Counted(seen.page)
    hers.click(number(seen))  # why does it look there?
    hers.click(seen.part("leaf").get_by_role("tab", name="Why does it look there"))
    leaf = seen.part("leaf").locator(".bl-leaf-body")
    expect(leaf.locator(".bl-number").first).to_be_visible()
    hers.sees(leaf, 2)
    seen.page.keyboard.press("Escape")

    hers.actions = 0  # save this picture for a paper
    hers.click(seen.root.locator("summary", has_text="Export"))
    line = seen.root.locator(".bl-menu-line", has=seen.page.get_by_text("This screen", exact=True))
    with seen.page.expect_download() as download:
        hers.click(line.get_by_role("button", name="SVG"))
    assert "<svg" in Path(download.value.path()).read_text("utf8")
    assert hers.actions <= 3
    seen.page.keyboard.press("Escape")

    hers.actions = 0  # compare he with she
    hers.click(verb(seen))
    word = below(seen).locator("[data-n]", has_text="He").first
    expect(word).to_be_in_viewport(ratio=0.99)
    word.dblclick()
    seen.page.keyboard.type("She")
    seen.page.keyboard.press("Enter")
    hers.actions += 2  # into the word, and out of it when it is written
    expect(seen.part("claim")).to_contain_text(re.compile(r"turns\s+he\s+into\s+she\."), timeout=60_000)
    hers.sees(seen.part("claim"), 3)
    hers.sees(seen.part("answer"), 3)
