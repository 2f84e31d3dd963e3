"""The recipes of docs/architecture.md by public names alone, on the page: a toy tab with a kernel and in a file."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors
from bertlens.widgets import Question, Tab, register_question, register_tab, sheet
from bertlens.widgets.questions import QUESTIONS
from bertlens.widgets.tabs import TABS
from browser.views import PATIENCE, Seen
from unit.test_vocabulary import register_toy_tab


@pytest.fixture(scope="module")
def trace(embedded_lens: bl.Lens) -> Iterator[bl.Trace]:
    """Its views have two tabs more, until the file's last test."""
    before = [(registry, registry.copy()) for registry in (QUESTIONS, TABS)]
    register_toy_tab()

    def of_layer(_trace: bl.Trace, layer: int) -> Any:
        return sheet(("Layer", "", {"head": ["what", "value"], "rows": [["number", layer]]}))

    register_question(Question("toy_layer", of_layer, ("layer",), "", lambda _, layers: ({"layer": n} for n in layers)))
    register_tab(Tab("toy_layer", "Toy of a layer", "What its question takes.", "", ("toy_layer",)))
    yield embedded_lens.trace("The cat sat.")
    for registry, was in before:
        registry.clear()
        registry.update(was)


def largest(seen: Seen, trace: bl.Trace, layer: int, head: int) -> None:
    """The number in the toy's table is of the head shown."""
    seen.title(f"L{layer}·H{head}")
    truth = f"{float(trace.scores(layer)[head].max()):.3f}"
    expect(seen.part("sheet-toy").get_by_role("table").locator("tbody")).to_have_text(truth)


def test_toy_tab_asks_the_kernel(show: Any, trace: bl.Trace) -> None:
    seen = show(trace.explore(layer=1, head=8))
    seen.open_tab("Toy")
    for layer, head in ((1, 8), (4, 3)):
        seen.thumb(layer, head).click()
        largest(seen, trace, layer, head)
    values = trace.scores(4)[3].numpy()
    entries = np.floor(255 * (values / abs(values).max() + 1) / 2 + 0.5).clip(0, 255).astype(int)
    expected = colors.table("signed" if values.min() < 0 else "weight", "light")[entries]

    def drawn() -> bool:
        href = seen.part("sheet-toy").locator("image").get_attribute("href").removeprefix("data:image/png;base64,")
        return np.array_equal(np.asarray(Image.open(BytesIO(b64decode(href))).convert("RGB")), expected)

    deadline = time.monotonic() + PATIENCE / 1000
    while not drawn():  # the picture may be a frame behind its number
        assert time.monotonic() < deadline, seen.part("sheet-toy").inner_text()
        seen.page.evaluate("() => new Promise(requestAnimationFrame)")


def test_toy_tab_on_a_page_without_a_kernel(show_saved: Any, trace: bl.Trace) -> None:
    seen = show_saved(trace.explore(layer=1, head=8), layers=[1, 4])
    seen.open_tab("Toy")
    seen.thumb(4, 3).click()
    largest(seen, trace, 4, 3)
    seen.open_tab("Toy of a layer")  # the page holds its answers by the layer alone
    expect(seen.part("sheet-toy_layer").get_by_role("row", name="number 4")).to_be_visible()
    seen.open_tab("Toy")
    seen.thumb(0, 0).click()  # a layer that was left out: in words
    expect(seen.part("problem")).to_contain_text("layer 0 is not in this page, which holds")
