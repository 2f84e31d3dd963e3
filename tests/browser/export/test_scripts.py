"""A saved page of a right-to-left text: where its letters are drawn, and what it is without scripts and on paper."""

from __future__ import annotations

import re
import zlib

import pytest

import bertlens as bl
from browser.views import Seen, saved

HEBREW = "הילד קרא 12 ספרים."
# where each letter of a paragraph is drawn
LETTERS = """node => {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), letters = [], range = document.createRange();
    for (let text; (text = walker.nextNode()); )
        for (let n = 0; n < text.length; n++) {
            range.setStart(text, n); range.setEnd(text, n + 1);
            const { left, top } = range.getBoundingClientRect();
            letters.push([text.data[n], left, top]);
        }
    return letters;
}"""


@pytest.fixture(scope="module")
def html() -> str:
    trace = bl.Lens.embedded().trace(HEBREW)
    return saved(trace.explore(layer=1, head=8, query=2, key=3, mode="text"))


def test_numbers_stand_outside_the_quotes_and_words_from_right_to_left(page_of, html):
    page = Seen(page_of(html)).page
    status = page.locator(".bl-words p", has_text="of its attention").first
    drawn = [one for one in status.evaluate(LETTERS) if one[0] not in "\u2068\u2069 "]
    line = drawn[0][2]  # the quotes stand on the first
    letters = [(letter, left) for letter, left, top in drawn if abs(top - line) < 8]
    assert sum(letter in "“”" for letter, _ in letters) == sum(letter in "“”" for letter, *_ in drawn) == 4
    left = {letter: [at for one, at in letters if one == letter] for letter, _ in letters}
    for start, end in zip(left["“"], left["”"], strict=True):
        inside = [letter for letter, at in letters if start < at < end]
        assert inside and not set(inside) & {*"0123456789", *"givesat"}
    words = page.locator(".bl-running .bl-word").evaluate_all("all => all.map(one => one.getBoundingClientRect().left)")
    assert words[:6] == sorted(words[:6], reverse=True)


def test_without_scripts_there_is_a_picture(page_of, html):
    picture = page_of(html, scripts=False).locator("noscript img")
    assert picture.is_visible() and picture.bounding_box()["width"] > 400


def test_shades_are_printed(page_of, html):
    page = Seen(page_of(html)).page
    page.locator(".bl-running .bl-word").first.wait_for()
    shades = page.locator(".bl-word").evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    streams = re.findall(rb"stream\r?\n(.*?)endstream", page.pdf(), re.DOTALL)
    drawn = b"".join(zlib.decompress(stream) for stream in streams if stream[:1] == b"\x78")
    fills = {tuple(round(255 * float(part)) for part in fill.split()) for fill in re.findall(rb"([\d. ]+) rg", drawn)}
    assert len(set(shades)) > 3 and {tuple(map(int, re.findall(r"\d+", shade))) for shade in shades} <= fills
