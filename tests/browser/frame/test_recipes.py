"""The recipes of docs/architecture.md by public names alone, on the page: a toy tab in a notebook and in a file."""

from __future__ import annotations

import json
import re
import time
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from bertlens.base import colors
from browser.views import PATIENCE, Seen

TOY = """
import bertlens as bl
from bertlens.widgets import Question, Tab, register_question, register_tab, sheet

def each_head(trace, layers):
    yield from ({"layer": layer, "head": head} for layer in layers for head in range(trace.n_heads))

def scores(trace, layer, head):
    values, tokens = trace.scores(layer)[head], trace.display_tokens
    return sheet(
        ("Scores", "before the softmax", {"values": values, "rows": tokens, "cols": tokens}),
        ("In numbers", "", {"head": ["what", "value"], "rows": [["largest score", float(values.max())]]}),
    )

register_question(Question("toy", scores, ("layer", "head"), "neurons", each_head))
register_tab(Tab("toy", "Toy", "What the toy shows.", "neurons", ("toy",)))

def of_layer(trace, layer):
    return sheet(("Layer", "", {"head": ["what", "value"], "rows": [["number", layer]]}))

each_layer = lambda trace, layers: ({"layer": layer} for layer in layers)
register_question(Question("toy_layer", of_layer, ("layer",), "", each_layer))
register_tab(Tab("toy_layer", "Toy of a layer", "What its question takes.", "", ("toy_layer",)))
trace = bl.Lens.embedded().trace("The cat sat.")
view = trace.explore(layer=1, head=8)
"""


def largest(seen: Seen, title: str) -> str:
    """The number in the toy's table, of the head shown."""
    seen.title(title)
    return seen.part("sheet-toy").get_by_role("row", name=re.compile("largest score")).get_by_role("cell").inner_text()


@pytest.fixture(scope="module")
def notebook(open_shared):
    return open_shared([TOY, "view"])


def test_toy_tab_asks_the_kernel(notebook):
    seen = Seen(notebook.page)
    seen.open_tab("Toy")
    for layer, head in ((1, 8), (4, 3)):
        seen.thumb(layer, head).click()
        truth = notebook.kernel(f"print(f'{{float(trace.scores({layer})[{head}].max()):.3f}}')")
        expect(seen.part("sheet-toy").get_by_role("cell", name=truth, exact=True)).to_be_visible()
        assert largest(seen, f"L{layer}·H{head}") == truth
    values = np.array(json.loads(notebook.kernel("print(trace.scores(4)[3].flatten().tolist())")), np.float32)
    entries = np.floor(255 * (values / abs(values).max() + 1) / 2 + 0.5).clip(0, 255).astype(int)
    scale = "signed" if values.min() < 0 else "weight"
    expected = colors.table(scale, "light")[entries]

    def drawn() -> bool:
        href = seen.part("sheet-toy").locator("image").get_attribute("href").removeprefix("data:image/png;base64,")
        pixels = np.asarray(Image.open(BytesIO(b64decode(href))).convert("RGB")).reshape(36, 3)
        return bool((pixels == expected).all())

    deadline = time.monotonic() + PATIENCE / 1000
    while not drawn():  # the picture may be a frame behind its number
        assert time.monotonic() < deadline, (seen.root.get_attribute("data-theme"), seen.part("sheet-toy").inner_text())
        notebook.page.evaluate("() => new Promise(requestAnimationFrame)")


def test_toy_tab_on_a_page_without_a_kernel(notebook, tab_of):
    html = notebook.kernel("print(view.to_html(layers=[1, 4]))")
    seen = Seen(tab_of(html))
    seen.open_tab("Toy")
    seen.thumb(4, 3).click()
    truth = notebook.kernel("print(f'{float(trace.scores(4)[3].max()):.3f}')")
    assert largest(seen, "L4·H3") == truth
    seen.open_tab("Toy of a layer")  # the page holds its answers by the layer alone
    expect(seen.part("sheet-toy_layer").get_by_role("row", name="number 4")).to_be_visible()
    seen.open_tab("Toy")
    seen.thumb(0, 0).click()  # a layer that was left out: in words
    expect(seen.part("problem")).to_contain_text("layer 0 is not in this page, which holds")
