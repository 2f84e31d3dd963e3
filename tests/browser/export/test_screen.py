"""This screen as a file: what stands there, at 85 and 180 mm, in every kind; nothing that is only of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import expect

import bertlens as bl
from browser.views import Seen

TEXT = "The cat did not drink the milk because the [MASK] was tired."
SVG = "{http://www.w3.org/2000/svg}"
MM = 72 / 25.4  # points


@pytest.fixture
def seen(show: Callable[..., Seen], language_model: bl.Lens) -> Seen:
    view = language_model.trace(TEXT).explore(layer=5, head=7, query=10)
    seen = show(view, folded=True, width=962, height=900)
    expect(seen.part("strip").locator("[data-strip-head]").first).to_be_visible(timeout=60_000)
    expect(seen.part("heads-to-come")).to_have_count(0, timeout=60_000)
    expect(seen.part("claim")).to_contain_text("falls from", timeout=60_000)
    return seen


def words_of(path: Path) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(path.read_bytes()).iter(f"{SVG}text")]


def bare(word: str) -> str:
    return word.strip("().,")


def on_screen(seen: Seen) -> list[str]:
    parts = [*(seen.part(name).inner_text() for name in ("claim", "answer")), TEXT.replace("[MASK]", "")]
    return [word for part in parts for word in part.replace("more …", "").split()]


@pytest.mark.parametrize("width", [85, 180])
def test_it_has_the_words_and_numbers_of_the_screen_and_the_width_that_was_asked_for(seen: Seen, width: int) -> None:
    before = seen.root.bounding_box(), seen.root.get_attribute("style")
    menu = seen.export_menu()
    expect(menu.locator(".bl-menu-line").first.locator("span")).to_have_text("This screen")  # offered first
    menu.get_by_role("button", name=f"{width} mm").click()
    path = seen.save("SVG", "This screen")
    root = ElementTree.fromstring(path.read_bytes())
    assert root.get("width") == f"{width}mm"
    words = words_of(path)
    missing = [word for word in map(bare, on_screen(seen)) if word not in {bare(one) for one in words}]
    assert not missing and "[MASK]" in words
    assert "0.73" in words and "compare" not in words and "All" not in words
    size = {float(text.get("font-size") or 0) for text in root.iter(f"{SVG}text") if text.get("textLength")}
    letters = min(size) * (11 / 13.5) * width / float((root.get("viewBox") or "").split()[2])
    assert 1.5 < letters < 8 * 25.4 / 72 + 0.1  # mm: the smallest are readable
    assert (seen.root.bounding_box(), seen.root.get_attribute("style")) == before  # the view is as it was
    expect(menu.get_by_text("This screen")).to_be_visible()  # and the menu stays open


def test_png_and_pdf_hold_the_same_picture(seen: Seen) -> None:
    seen.export_menu().get_by_role("button", name="85 mm").click()
    png = Image.open(io.BytesIO(seen.save("PNG", "This screen").read_bytes())).convert("RGB")
    assert abs(png.width - 85 / 25.4 * 600) <= 2
    reds = sum(r > 180 and g < 110 and b < 80 for r, g, b in png.resize((400, 400 * png.height // png.width)).getdata())
    assert reds > 1000  # arcs, curve, bar
    pdf = seen.save("PDF", "This screen").read_bytes()
    box = [float(one) for one in re.findall(rb"MediaBox ?\[ ?([\d. ]+)\]", pdf)[0].split()]
    assert abs(box[2] - 85 * MM) < 0.1 and box[3] > 150
    assert b"/Image" not in pdf.replace(b"/ImageC", b"").replace(b"/ImageB", b"").replace(b"/ImageI", b"")  # no pixels


def test_what_is_grey_says_why(language_model: bl.Lens, show_saved: Callable[..., Seen]) -> None:
    seen = show_saved(language_model.trace(TEXT).explore(layer=5, head=7), folded=True)
    menu = seen.export_menu()
    pdf = menu.locator(".bl-menu-line").first.get_by_role("button", name="PDF")
    expect(pdf).to_be_disabled()
    expect(menu).to_contain_text(f"Grey: {pdf.get_attribute('title')}")
