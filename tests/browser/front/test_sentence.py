"""The sentence at the top: words that are clicked and typed, arcs that are the head's own weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from browser.views import Seen
from unit.export import engine

MASKED = "The cat did not drink the milk because the [MASK] was tired."
PIECES = "The zorblaxian cats did not drink."
ARABIC = "لم تشرب القطة الحليب اليوم."
LONG = " ".join(["The old library stands beside the river and every evening a woman comes to read there."] * 4)
CELL = {"layer": 5, "head": 7}


@pytest.fixture(scope="module")
def masked() -> bl.Lens:
    return bl.Lens.embedded(mlm=True)


def word(seen: Seen, text: str) -> Locator:
    return seen.part("sentence").locator(f'.bl-textword:text-is("{text}")').first


def numbers(seen: Seen) -> list[str]:
    return seen.part("sentence").locator(".bl-weight text").all_text_contents()


def by_words(trace: bl.Trace, layer: int, head: int, query: int) -> dict[int, float]:
    """What a word looks at: by each word's first token, the sum over its tokens, the mean over the query's tokens."""
    weights, words = trace.attention(layer)[head], trace.word_ids
    rows = [i for i, one in enumerate(words) if one is not None and one == words[query]] or [query]
    sums: dict[int, float] = {}
    for j, one in enumerate(words):
        first = j if one is None else words.index(one)
        sums[first] = sums.get(first, 0.0) + float(weights[rows, j].mean())
    return sums


def test_the_largest_number_is_the_weight_between_words(show: Callable[..., Seen], masked: bl.Lens) -> None:
    trace = masked.trace(PIECES)
    assert len(trace.tokens) > len({one for one in trace.word_ids if one is not None}) + 2  # a word of several pieces
    seen = show(trace.explore(layer=2, head=3, query=trace.tokens.index("drink")))
    for text in ("zorblaxian", "cats", "drink"):
        word(seen, text).hover()
        first = int(word(seen, text).get_attribute("data-piece") or -1)
        expect(word(seen, text)).to_have_class("bl-textword bl-asker")
        row = by_words(trace, 2, 3, first)
        others = {j: weight for j, weight in row.items() if j != first and trace.word_ids[j] is not None}
        best = max(others, key=lambda j: others[j])
        assert f"{others[best]:.2f}" in numbers(seen)
    assert "".join(seen.part("sentence").locator("[data-start]").all_text_contents()) == PIECES


def test_a_click_pins_a_word_and_another_or_escape_gives_it_back(show: Callable[..., Seen], masked: bl.Lens) -> None:
    view = masked.trace(MASKED).explore(**CELL, query=None, key=None)
    seen = show(view)
    expect(word(seen, "[MASK]")).to_have_class("bl-textword bl-mask bl-asker")  # the answer's word
    word(seen, "milk").click()
    expect(word(seen, "milk")).to_have_attribute("aria-pressed", "true")
    assert view.query == 7
    word(seen, "milk").click()
    expect(word(seen, "milk")).to_have_attribute("aria-pressed", "false")
    word(seen, "cat").focus()
    seen.page.keyboard.press("Enter")
    expect(word(seen, "cat")).to_have_attribute("aria-pressed", "true")
    seen.page.keyboard.press("ArrowRight")
    expect(word(seen, "did")).to_be_focused()
    seen.page.keyboard.press("Escape")
    expect(word(seen, "cat")).to_have_attribute("aria-pressed", "false")
    assert view.query is None


def test_between_words_one_types_and_enter_runs(show: Callable[..., Seen], masked: bl.Lens) -> None:
    view = masked.trace(MASKED).explore(**CELL, query=7, key=None)
    seen = show(view)
    field = seen.root.get_by_label("Sentence A")
    box = word(seen, "tired").bounding_box()
    seen.page.mouse.dblclick(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    expect(field).to_be_focused()
    for _ in "tired":
        seen.page.keyboard.press("Backspace")
    seen.page.keyboard.type("sour")
    typed = MASKED.replace("tired", "sour")
    expect(field).to_have_value(typed)
    assert "".join(seen.part("sentence").locator("[data-start]").all_text_contents()) == typed
    seen.page.keyboard.press("Enter")
    expect(word(seen, "sour")).to_be_visible()
    expect(word(seen, "milk")).to_have_attribute("aria-pressed", "true")  # what was asked stays
    seen.page.keyboard.press("Home")
    seen.page.keyboard.type("So ")
    seen.page.keyboard.press("Enter")
    expect(seen.root.locator(".bl-row-label", has_text="so")).to_be_visible()
    expect(word(seen, "milk")).to_have_attribute("aria-pressed", "true")
    assert view.trace.tokens[view.query] == "milk"


@pytest.mark.parametrize("width", [480, 968, 1400])
def test_texts_of_any_length_and_script_stay_inside(show: Callable[..., Seen], masked: bl.Lens, width: int) -> None:
    for text in (MASKED, LONG, 7 * f"{LONG} ", ARABIC, "Cats."):
        seen = show(masked.trace(text).explore(layer=2, head=3), width=width)
        frame = seen.part("sentence").bounding_box()
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), text[:20]
        words = seen.part("sentence").locator(".bl-textword")
        for box in words.evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())"):
            assert frame["x"] <= box["left"] and box["right"] <= frame["x"] + frame["width"], text[:20]
        assert frame["height"] < 480, text[:20]
        lines = (
            seen.part("sentence")
            .locator(".bl-textline")
            .evaluate_all(
                "all => all.map((line) => [line.querySelector('.bl-mirror').scrollHeight, line.querySelector('textarea')])"
                ".map(([height, area]) => Math.abs(area.scrollHeight - height))"
            )
        )
        if text != 7 * f"{LONG} ":
            assert max(lines) <= 2, text[:20]  # the field breaks its lines where the words do


def test_arabic_runs_from_the_right(show: Callable[..., Seen], masked: bl.Lens) -> None:
    seen = show(masked.trace(ARABIC).explore(layer=2, head=3))
    left = [box["left"] for box in boxes(seen)]
    assert left == sorted(left, reverse=True) and len(left) == len(ARABIC.split()) + 1


def boxes(seen: Seen) -> list[dict[str, Any]]:
    words = seen.part("sentence").locator(".bl-textword")
    return list(words.evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())"))


def test_typing_runs_in_a_live_page(masked: bl.Lens, page_of: Any, tmp_path: Path) -> None:
    path = tmp_path / "live.html"
    masked.trace(MASKED).explore(**CELL).to_html(path, live=True, progress=False)
    exact = bl.Lens(engine.rounded(masked.borrowed), masked.tokenizer)
    seen = Seen(page_of(path, width=1280))
    field = seen.root.get_by_label("Sentence A")
    expect(field).to_be_enabled()
    expect(seen.root.get_by_role("button", name="Run", exact=True)).to_have_count(0)
    field.focus()
    seen.page.keyboard.press("End")
    for _ in "tired.":
        seen.page.keyboard.press("Backspace")
    seen.page.keyboard.type("sour.")
    expect(seen.root.locator(".bl-row-label", has_text="sour")).to_be_visible()
    trace = exact.trace(MASKED.replace("tired", "sour"))
    mask = trace.tokens.index("[MASK]")
    best = max(weight for j, weight in by_words(trace, 5, 7, mask).items() if j != mask)
    expect(seen.part("sentence").locator(".bl-weight text").first).to_have_text(f"{best:.2f}")
    expect(field).to_be_focused()
