"""Texts that are typed and run again, and what leaves the view: figures, numbers, pages, links, lines of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from PIL import Image
from playwright.sync_api import expect

from browser.views import TEXTS, rows_of

from .hand import Hand
from .heads import Steps
from .subjects import trace
from .table import ability

DOGS = "Dogs chase the red ball across a wide field."
SVG = "{http://www.w3.org/2000/svg}"
CELL: dict[str, Any] = {"query": 3, "key": 4}


def runs(hand: Hand, text: str, second: str = "") -> None:
    """The view is of this text."""
    hand.has(text=text, text_pair=second)
    expect(hand.seen.part("sentence").locator(".bl-textword").first).to_have_text(text.split()[0])


def svg(path: Path) -> ElementTree.Element:
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    return root


# texts


@ability("run another text", 2, of="one", front=True)
def run(hand: Hand) -> Steps:
    hand.text(DOGS)
    yield
    runs(hand, DOGS)


@ability("run another text by a key", 2, of="one", front=True)
def run_by_key(hand: Hand) -> Steps:
    hand.text(DOGS, how="Enter")
    yield
    runs(hand, DOGS)


@ability("add a second sentence", 3, of="one")
def second(hand: Hand) -> Steps:
    hand.text(second=TEXTS[1])
    yield
    runs(hand, *TEXTS)
    hand.comes(hand.seen.shape, (trace("pair").n_tokens,) * 2)


@ability("go back to the text before", 3, of="one", front=True)
def text_before(hand: Hand) -> Steps:
    hand.text(DOGS)
    runs(hand, DOGS)
    hand.text_before()
    yield
    runs(hand, TEXTS[0])


@ability("go back to one of several earlier texts", 6, of="one", front=True)
def earlier(hand: Hand) -> Steps:
    hand.text(DOGS)
    runs(hand, DOGS)
    hand.text("Cats sleep all day long.")
    runs(hand, "Cats sleep all day long.")
    hand.earlier_text(TEXTS[0])
    yield
    runs(hand, TEXTS[0])


@ability("cut a text that is too long", 3, of="one", front=True)
def cut(hand: Hand) -> Steps:
    hand.text(" ".join(["the cat sat on the mat"] * 100), how="")
    hand.cut_if_too_long()
    hand.run()
    yield
    hand.has(truncation=True)
    hand.comes(lambda: hand.view.trace.n_tokens, 512)


@ability("read what the tokenizer did", 1, of="accent", front=True)
def notes(hand: Hand) -> Steps:
    menu = hand.notes()
    yield
    expect(menu.get_by_role("paragraph").or_(menu.locator("p")).first).to_be_visible()


@ability("read why a token is unusual", 1, of="odd", front=True)
def warning(hand: Hand) -> Steps:
    report = hand.warning()
    yield
    expect(report.locator("details[open] span").first).to_be_visible()


# files


@ability("save the head as a figure", 2, front=True, **CELL)
def head_svg(hand: Hand) -> Steps:
    path = hand.save("SVG", "head")
    yield
    assert svg(path).findtext(f"{SVG}title") == "L1·H8, attention"


@ability("save the head as pixels", 2, front=True, **CELL)
def head_png(hand: Hand) -> Steps:
    path = hand.save("PNG", "head")
    yield
    assert min(Image.open(path).size) > 400


@ability("save the lines as a figure", 3)
def lines_svg(hand: Hand) -> Steps:
    hand.mode("lines")
    path = hand.save("SVG", "head")
    yield
    count = int((trace("pair").attention(1)[8] >= 0.02).sum())
    assert len([one for one in svg(path).iter(f"{SVG}path") if one.get("stroke-opacity")]) == count


@ability("save the atlas as a figure", 2, front=True)
def atlas_svg(hand: Hand) -> Steps:
    path = hand.save("SVG", "atlas")
    yield
    assert {f"L{n}" for n in range(6)} <= {"".join(one.itertext()) for one in svg(path).iter(f"{SVG}text")}


@ability("save the atlas as pixels", 2, front=True)
def atlas_png(hand: Hand) -> Steps:
    path = hand.save("PNG", "atlas")
    yield
    assert min(Image.open(path).size) > 400


@ability("save what is open below as a figure", 3, **CELL)
def tab_svg(hand: Hand) -> Steps:
    hand.tab("gates")
    path = hand.save("SVG", "tab")
    yield
    assert svg(path).findtext(f"{SVG}title") == "L1·H8: Gates"


@ability("save what is open below as pixels", 3, **CELL)
def tab_png(hand: Hand) -> Steps:
    hand.tab("neurons")
    path = hand.save("PNG", "tab")
    yield
    assert min(Image.open(path).size) > 200


@ability("save the numbers of what is open below", 3, **CELL)
def tab_csv(hand: Hand) -> Steps:
    hand.tab("gates")
    path = hand.save("CSV", "tab")
    yield
    assert len(rows_of(path)) == 72


@ability("save the numbers of a head", 2, front=True)
def head_csv(hand: Hand) -> Steps:
    path = hand.save("CSV")
    yield
    values = np.array([float(row["attention"]) for row in rows_of(path)]).reshape(21, 21)
    assert np.abs(values - trace("pair").attention(1)[8].numpy()).max() < 1e-6


@ability("save a page that needs no kernel", 2, of="one", front=True)
def page(hand: Hand) -> Steps:
    path = hand.save("HTML")
    yield
    assert "bertlens-data" in path.read_text(encoding="utf-8")


@ability("save a page of one layer", 2, front=True)
def layer_page(hand: Hand) -> Steps:
    path = hand.save("HTML", "layer 1")
    yield
    assert "bertlens-data" in path.read_text(encoding="utf-8")


@ability("save a figure of a column's width", 3, front=True, **CELL)
def width(hand: Hand) -> Steps:
    hand.sheet(("width", "85 mm"))
    path = hand.save("SVG", "head", opened=True)
    yield
    assert svg(path).get("width") == "85mm"


@ability("save a figure with letters of 7 points", 4, front=True, **CELL)
def letters(hand: Hand) -> Steps:
    hand.sheet(("width", "180 mm"), ("letters, pt", "7"))
    path = hand.save("SVG", "head", opened=True)
    yield
    assert svg(path).get("width") == "180mm"


@ability("save a dark figure", 3, front=True, **CELL)
def dark(hand: Hand) -> Steps:
    hand.sheet("dark")
    path = hand.save("SVG", "head", opened=True)
    yield
    fills = {one.get("fill") for one in svg(path).iter(f"{SVG}text")} | {
        one.get("fill") for one in svg(path).iter(f"{SVG}g")
    }
    assert not fills & {"#000", "#000000"}


@ability("save a figure with its caption", 3, front=True, **CELL)
def caption(hand: Hand) -> Steps:
    hand.sheet("caption")
    path = hand.save("SVG", "head", opened=True)
    yield
    texts = " ".join("".join(one.itertext()) for one in svg(path).iter(f"{SVG}text"))
    assert "all-MiniLM-L6-v2" in texts


@ability("save a figure with what is selected", 3, front=True, **CELL)
def selection(hand: Hand) -> Steps:
    hand.sheet("selection")
    path = hand.save("SVG", "head", opened=True)
    yield
    assert [one for one in svg(path).iter(f"{SVG}rect") if one.get("stroke-width") == "2"]


# copies


@ability("copy the state as a line of Python", 2, front=True, **CELL)
def python(hand: Hand) -> Steps:
    line = hand.copy_python().splitlines()[-1]
    yield
    view = eval(line, {"trace": trace("pair")})
    assert (view.layer, view.head, view.query, view.key) == (1, 8, 3, 4)


@ability("copy a link to the state", 3, of="saved page")
def link(hand: Hand) -> Steps:
    hand.head(3, 4)
    link = hand.copy_link()
    yield
    hand.seen.thumb(0, 0).click()
    hand.shows("L0·H0")
    hand.seen.page.goto(link)
    hand.shows("L3·H4")


@ability("choose a cell of a page without a kernel", 2, of="saved page")
def saved_cell(hand: Hand) -> Steps:
    hand.head(0, 2)
    hand.cell(3, 2)
    yield
    hand.shows("L0·H2")
    expect(hand.root.locator(".bl-mark-cell")).to_have_count(1)


@ability("unpin on a page without a kernel", 3, of="saved page")
def saved_unpin(hand: Hand) -> Steps:
    hand.cell(3, 2)
    hand.enter_matrix()
    hand.press("Escape")
    yield
    expect(hand.root.locator(".bl-mark-cell")).to_have_count(0)
