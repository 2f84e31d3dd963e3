"""Two Explorers beside each other in a notebook, each half as wide."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.views import TEXTS, Seen

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("neurons_open")]

CELLS = [
    f"import bertlens as bl, ipywidgets\nlens = bl.Lens.embedded()\ntrace = lens.trace(*{TEXTS!r})",
    "one, two = trace.explore(layer=1, head=8, query=3, key=4), trace.explore(layer=2, head=0)\n"
    "ipywidgets.HBox([one, two])",
]


def test_two_explorers_share_the_width_of_a_notebook(open_notebook):
    notebook = open_notebook(CELLS, width=1850, height=1400)
    page = notebook.page
    output = page.locator(".jp-OutputArea-output", has=page.locator(".bertlens")).first
    boxes = page.locator(".bertlens")
    expect(boxes).to_have_count(2)
    views = [Seen(page, boxes.nth(n)) for n in range(2)]
    for seen in views:
        expect(seen.part("matrix")).to_be_visible()
    room = output.bounding_box()["width"]
    assert room >= 1400, room
    page.set_viewport_size({"width": 1850 - int(room - 1400), "height": 1400})
    for seen in views:
        seen.settled()
    room = output.bounding_box()["width"]
    assert abs(room - 1400) < 12, room
    for seen in views:
        box = seen.root.bounding_box()
        assert box["width"] >= 600, seen.root.evaluate(
            "one => { const all = []; for (let e = one; e && all.length < 6; e = e.parentElement)"
            " all.push([e.className, e.clientWidth]); return all; }"
        )
        assert seen.root.evaluate("one => one.scrollWidth - one.clientWidth") <= 1
        scroll = seen.root.locator(".bl-matrix-scroll")
        assert scroll.evaluate("one => one.scrollWidth - one.clientWidth") == 0
        assert seen.root.locator(".bl-thumb").first.bounding_box()["width"] >= 40
        assert seen.root.locator(".bl-cells").bounding_box()["width"] >= 200
    assert output.evaluate("one => one.scrollWidth - one.clientWidth") <= 1  # nothing scrolls sideways
    first, second = views
    second.thumb(4, 5).click()  # each has a selection of its own
    second.title("L4·H5")
    first.title("L1·H8")
    first.at_cell(5, 2)
    first.open_tab("Neurons")
    expect(first.part("formula")).to_contain_text("the → cat")
