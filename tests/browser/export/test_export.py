"""What leaves the view through its export menu, and the page that stands alone. The HTML download: test_jupyter.py."""

from __future__ import annotations

import base64
import csv
import io
import re
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors
from bertlens.plots.grid import shown_grid
from browser.maps import encoder_decoder
from browser.views import TEXTS, Seen, shown

pytestmark = pytest.mark.usefixtures("neurons_open")

SVG = "{http://www.w3.org/2000/svg}"
START = {"layer": 1, "head": 8, "query": 3, "key": 4}


def caption_of(texts: list[str]) -> str:
    return " ".join(texts).replace("  ", " ")


def assert_says_where_from(caption: str, measure: str = "attention weight α") -> None:
    """Model, text, layer, head, measure and versions."""
    flat = caption.replace(" ", "")
    for part in ("all-MiniLM-L6-v2 (float32)", *TEXTS, "L1·H8 (paper: 2-9)", measure):
        assert part.replace(" ", "") in flat, part
    for package in ("bertlens", "torch", "transformers"):
        assert f"{package}{version(package)}" in flat


def svg_texts(path: Path) -> tuple[ElementTree.Element, list[str]]:
    """The figure, read by a strict parser, and its texts, its metadata last."""
    root = ElementTree.fromstring(path.read_bytes())
    assert root.tag == f"{SVG}svg"
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    return root, [*texts, root.findtext(f"{SVG}metadata") or ""]


def test_head_matrix_as_svg(show, pair):
    seen = show(pair.explore(**START))
    path = seen.save("SVG", "Head view")
    assert path.name == "bertlens-all-MiniLM-L6-v2-L1H8-head.svg"
    root, texts = svg_texts(path)
    assert root.findtext(f"{SVG}title") == "L1·H8, attention"
    assert "L1·H8 looks at the next word" in (root.findtext(f"{SVG}desc") or "")
    assert_says_where_from(caption_of(texts))
    assert [text for text in texts if text in pair.display_tokens] == pair.display_tokens * 2
    weights = pair.attention(1)[8].numpy()
    table = colors.table("weight", "light")
    strongest = np.unravel_index(weights.argmax(), weights.shape)
    fills = {rect.get("fill") for rect in root.iter(f"{SVG}rect")}
    assert "#{:02x}{:02x}{:02x}".format(*table[255]) in fills and weights[strongest] > 0.5
    assert f"{weights.max():.3g}" in texts  # the upper end of the legend


def test_atlas_as_svg(show, pair):
    """All heads are one picture of 21 × 21 cells each, with a gap between them."""
    root, texts = svg_texts(show(pair.explore(**START)).save("SVG", "Atlas"))
    grid = next(root.iter(f"{SVG}image")).get("href", "").removeprefix("data:image/png;base64,")
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(grid))).convert("RGB")).astype(int)
    gap = (image.shape[1] - 12 * 21) // 11
    assert image.shape[:2] == (6 * 21 + 5 * gap, 12 * 21 + 11 * gap)
    weights = pair.attention(0)[2].numpy()
    entries = np.round(255 * weights / weights.max()).astype(int)
    shift = 2 * (21 + gap)
    wanted = colors.table("weight", "light").astype(int)[entries]
    assert abs(image[:21, shift : shift + 21] - wanted).max() <= 6  # an entry at most
    assert not [rect for rect in root.iter(f"{SVG}rect") if rect.get("stroke-width") == "2.5"]  # none is marked
    assert {f"L{layer}" for layer in range(6)} <= set(texts)
    assert "all-MiniLM-L6-v2 (float32)" in caption_of(texts)


def test_neurons_as_svg(show, pair):
    root, texts = svg_texts(show(pair.explore(**START)).save("SVG", "Open tab"))
    assert root.findtext(f"{SVG}title") == "L1·H8: Neurons"
    text = caption_of(texts)
    assert "q·k ÷ √32" in text and "sat → on" in text
    assert shown(float(pair.attention(1)[8, 3, 4])) in text
    assert_says_where_from(text, "q, k, q × k, score and attention")


def test_head_as_png(show, pair):
    path = show(pair.explore(**START)).save("PNG", "Head view")
    assert path.suffix == ".png"
    image = np.asarray(Image.open(path).convert("RGB"))
    assert min(image.shape[:2]) > 400  # at least twice the figure's own pixels
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 50
    assert (image == colors.table("weight", "light")[255]).all(axis=-1).any()


def test_numbers_as_csv(show, pair):
    path = show(pair.explore(**START)).save("Numbers of this head")
    assert path.name == "bertlens-all-MiniLM-L6-v2-L1H8-attention.csv"
    head = path.read_text(encoding="utf-8")
    assert_says_where_from("\n".join(line for line in head.splitlines() if line.startswith("#")))
    table = pd.read_csv(path, comment="#", keep_default_na=False)
    assert list(table.columns) == ["query_index", "query", "key_index", "key", "attention"]
    values = table["attention"].to_numpy(np.float32).reshape(21, 21)
    assert values == pytest.approx(pair.attention(1)[8].numpy(), abs=1e-6)
    assert table["query"].tolist()[::21] == table["key"].tolist()[:21] == pair.display_tokens
    assert values.astype(float).sum(axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tab", ["neurons", "why", "norms", "gates", "geometry", "table"])
def test_every_file_of_numbers_has_one_format(show, pair, tab):
    """Columns are small letters, digits and "_", no name twice; numbers have a point and all their digits."""
    lines = show(pair.explore(**START, view=tab)).save("CSV", "Open tab").read_bytes().decode().split("\r\n")
    head, *rows = csv.reader(line for line in lines if line and not line.startswith("#"))
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) for name in head), head
    assert len(set(head)) == len(head) and {len(row) for row in rows} == {len(head)}
    body = "\n".join(line for line in lines if line and not line.startswith("#"))
    numbers = {cell for cell in re.split(r"[,\n]", re.sub(r'"(?:[^"]|"")*"', "", body)) if cell}
    assert len(numbers) > 5
    assert all(re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?|NaN|-?Infinity", one) for one in numbers)


@pytest.mark.parametrize("chosen", [{"layer_map": "attnres-n"}, {"measure": "norm", "hide_special": True}])
def test_numbers_read_back_are_those_of_the_pass(show, pair, chosen):
    """What the kernel sends comes back bit for bit; what the page multiplies, to the last digit but one."""
    path = show(pair.explore(**START, **chosen)).save("Numbers of this head")
    table = pd.read_csv(path, comment="#", keep_default_na=False)
    values = table.iloc[:, 4].to_numpy(np.float32)
    wanted = shown_grid(pair, 1, 8, **chosen).values.ravel()
    if "layer_map" in chosen:
        assert table.columns[4] == "attnres_n" and np.array_equal(values, wanted)
    else:
        assert table.columns[4] == "norm" and values == pytest.approx(wanted, rel=1e-5)


def test_a_saved_page_offers_no_pdf(show_saved, pair):
    """A notebook does: test_jupyter.py."""
    seen = show_saved(pair.explore(**START))
    seen.root.get_by_text("Export", exact=True).click()
    line = seen.root.locator(".bl-menu-line", has_text="Head view")
    expect(line.get_by_role("button")).to_have_text(["SVG", "PNG", "PDF"])
    expect(line.get_by_role("button", name="PDF")).to_be_disabled()


def test_menu_by_keyboard(show, pair):
    seen = show(pair.explore(**START))
    seen.root.get_by_text("Export", exact=True).focus()
    seen.page.keyboard.press("Enter")
    menu = seen.root.locator(".bl-menu", has=seen.page.get_by_text("Export", exact=True))
    expect(menu.locator(".bl-menu-list")).to_be_visible()
    seen.page.keyboard.press("Tab")
    expect(menu.get_by_role("button").first).to_be_focused()
    seen.page.keyboard.press("Escape")
    expect(menu.locator(".bl-menu-list")).to_be_hidden()
    expect(menu.locator("summary")).to_be_focused()


# The page without a kernel


def test_page_opens_from_a_file_and_works(page_of, pair, tmp_path):
    """From disk, without network, under a strict content policy."""
    path = tmp_path / "a page.html"
    text = pair.explore(**START).to_html(path).read_text(encoding="utf-8")
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy and "default-src 'none'" in policy[1] and "script-src 'sha256-" in policy[1]
    assert "'unsafe-inline'" not in policy[1].split("script-src")[1].split(";")[0] and "http" not in policy[1]
    assert text.count('"planes":[[') > 80  # the first picture, and most answers, are deflated
    page = page_of(path)
    seen = Seen(page)
    expect(seen.root).to_have_attribute("data-state", "saved")
    for layer, head in ((0, 2), (5, 11), (3, 7)):  # all heads are in it
        seen.thumb(layer, head).click()
        seen.title(f"L{layer}·H{head}")
        assert seen.numbers("alpha")[4] == shown(float(pair.attention(layer)[head, 3, 4]))
    expect(seen.root.get_by_label("Sentence A")).to_be_disabled()
    expect(page).to_have_title(re.compile("all-MiniLM-L6-v2"))
    expect(page.locator("body > footer")).to_contain_text(f"bertlens {version('bertlens')}")


def test_page_of_chosen_layers_names_what_it_holds(show_saved, pair):
    seen = show_saved(pair.explore(**START), layers=[1, 2])
    seen.thumb(2, 3).click()
    seen.title("L2·H3")
    seen.thumb(4, 0).click()
    expect(seen.part("problem")).to_have_text("layer 4 is not in this page, which holds layers 1, 2")
    seen.title("L2·H3")  # caption and picture are still those of the last head


@pytest.mark.parametrize("widget", [bl.HeadAtlas, bl.HeadView, bl.NeuronView])
def test_small_widgets_export_too(show_saved, pair, widget):
    seen = show_saved(widget(pair, layer=1, head=8))
    expect(seen.root.locator("canvas, img").first).to_be_visible()


def test_encoder_decoder_page_holds_all_maps(show):
    seen = show(encoder_decoder().explore(layer=0, head=0))
    seen.choice("map", "cross").click()
    expect(seen.part("matrix")).to_have_attribute("aria-rowcount", "3")
    seen.thumb(1, 2).click()
    seen.title("L1·H2")
    _, texts = svg_texts(seen.save("SVG", "Head view"))
    assert "cross" in caption_of(texts)


def test_png_does_not_wait_for_an_idle_moment(show, pair):
    """A browser may keep a canvas's toBlob for when it has nothing else to do, for seconds on a busy machine."""
    seen = show(pair.explore(**START))
    seen.page.evaluate("() => { HTMLCanvasElement.prototype.toBlob = () => undefined; }")  # that moment never comes
    image = Image.open(seen.save("PNG", "Head view"))
    assert image.format == "PNG" and min(image.size) > 400
    seen.page.reload()  # whoever has the tab next has a canvas that answers
