"""The sentence at the top: words that are clicked and typed, arcs that are the head's own weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from browser.views import Seen, saved

MASKED = "The cat did not drink the milk because the [MASK] was tired."
PIECES = "The zorblaxian cats did not drink."
ARABIC = "لم تشرب القطة الحليب اليوم."
LONG = " ".join(["The old library stands beside the river and every evening a woman comes to read there."] * 4)
CELL = {"layer": 5, "head": 7}


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


def test_the_largest_number_is_the_weight_between_words(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    trace = language_model.trace(PIECES)
    assert len(trace.tokens) > len({one for one in trace.word_ids if one is not None}) + 2  # a word of several pieces
    seen = show(trace.explore(layer=2, head=3, query=trace.tokens.index("drink")), folded=True)
    for text in ("zorblaxian", "cats", "drink"):
        word(seen, text).hover()
        first = int(word(seen, text).get_attribute("data-piece") or -1)
        expect(word(seen, text)).to_contain_class("bl-asker")
        row = by_words(trace, 2, 3, first)
        others = {j: weight for j, weight in row.items() if j != first and trace.word_ids[j] is not None}
        best = max(others, key=lambda j: others[j])
        assert f"{others[best]:.2f}" in numbers(seen)
    assert "".join(seen.part("sentence").locator("[data-start]").all_text_contents()) == PIECES


def test_a_click_pins_a_word_and_another_or_escape_gives_it_back(
    show: Callable[..., Seen], language_model: bl.Lens
) -> None:
    view = language_model.trace(MASKED).explore(**CELL, query=None, key=None)
    seen = show(view, folded=True)
    expect(word(seen, "[MASK]")).to_have_class("bl-textword bl-mask bl-asker")  # the answer's word
    word(seen, "milk").click()
    expect(word(seen, "milk")).to_have_attribute("aria-pressed", "true")
    assert view.query == 7
    word(seen, "milk").click()
    expect(word(seen, "milk")).to_have_attribute("aria-pressed", "false")
    word(seen, "cat").focus()
    seen.page.keyboard.press("Space")
    expect(word(seen, "cat")).to_have_attribute("aria-pressed", "true")
    seen.page.keyboard.press("ArrowRight")
    expect(word(seen, "did")).to_be_focused()
    seen.page.keyboard.press("Escape")
    expect(word(seen, "cat")).to_have_attribute("aria-pressed", "false")
    assert view.query is None
    chip = seen.part("sentence").locator(".bl-chipmark").first
    box = chip.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    for y in (middle - 11.5, middle + 11.5):  # 24 px are what a finger meets
        seen.page.mouse.click(box["x"] + box["width"] / 2, y)
        expect(chip).to_have_attribute("aria-pressed", "true" if y < middle else "false")


def test_between_words_one_types_and_enter_runs(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    view = language_model.trace(MASKED).explore(**CELL, query=7, key=None)
    seen = show(view, folded=True)
    field = seen.root.get_by_label("Sentence A")
    box = word(seen, "tired").bounding_box()
    seen.page.mouse.dblclick(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    expect(field).to_be_focused()
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
    expect(word(seen, "So")).to_be_visible()
    expect(word(seen, "milk")).to_have_attribute("aria-pressed", "true")
    assert view.trace.tokens[view.query] == "milk"


def test_it_tells_what_can_be_done_until_two_touches(page_of: Any, language_model: bl.Lens) -> None:
    seen = Seen(page_of(saved(language_model.trace(MASKED).explore(**CELL))), folded=True)
    hint = seen.part("sentence").locator(".bl-hint")
    expect(hint).to_have_text("Touch a word.")  # without a model nothing is typed
    word(seen, "milk").click()
    expect(hint).to_be_visible()
    word(seen, "cat").click()
    expect(hint).to_have_count(0)


@pytest.mark.parametrize("width", [360, 480, 580, 938])
def test_a_click_moves_no_word(show_saved: Callable[..., Seen], language_model: bl.Lens, width: int) -> None:
    seen = show_saved(language_model.trace(MASKED).explore(**CELL), folded=True, width=width)
    milk = word(seen, "milk")
    place = milk.bounding_box()
    milk.click()  # from now on there is a way back in the header
    expect(seen.root.get_by_role("button", name="Back to the selection before")).to_be_visible()
    assert milk.bounding_box() == place  # or the second click of a double one meets another word


SIDE_BY_SIDE = """all => all.map((line) => Math.abs(line.querySelector("textarea").scrollHeight
    - line.querySelector(".bl-mirror").scrollHeight))"""


def test_texts_of_any_length_and_script_stay_inside(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    for text in (MASKED, LONG, 7 * f"{LONG} ", ARABIC):
        seen = show(language_model.trace(text).explore(layer=2, head=3), folded=True)
        sentence = seen.part("sentence")
        for width in (480, 968, 1400):
            seen.page.set_viewport_size({"width": width, "height": 900})
            seen.settled()
            frame = sentence.bounding_box()
            assert frame is not None
            assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (text[:20], width)
            for box in boxes(seen):
                assert frame["x"] <= box["left"] and box["right"] <= frame["x"] + frame["width"], (text[:20], width)
            assert frame["height"] < 520, (text[:20], width)
            if sentence.locator(".bl-longline").count() == 0:  # the field breaks its lines where the words do
                assert max(sentence.locator(".bl-textline").evaluate_all(SIDE_BY_SIDE)) <= 2, (text[:20], width)


def test_arabic_runs_from_the_right(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    seen = show(language_model.trace(ARABIC).explore(layer=2, head=3), folded=True)
    left = [box["left"] for box in boxes(seen)]
    assert left == sorted(left, reverse=True) and len(left) == len(ARABIC.split()) + 1


LAST = """all => all.map((line) => {
    const last = [...line.querySelectorAll(".bl-textword")].at(-1);
    const mark = line.querySelector(".bl-after > .bl-chipmark");
    const [word, chip] = [last, mark].map((one) => [...one.getClientRects()].at(-1));
    return Math.abs((word.top + word.bottom - chip.top - chip.bottom) / 2);
})"""


def test_the_mark_behind_a_text_stands_beside_its_last_word(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    """Whatever the width, and the field breaks its lines where the words do."""
    for text in ("The cat did not drink the milk because it was sour.", ARABIC):
        seen = show(language_model.trace(text).explore(**CELL), folded=True)
        for width in (340, 360, 375, 390, 412, 430, 480):
            seen.page.set_viewport_size({"width": width, "height": 900})
            seen.settled()
            lines = seen.part("sentence").locator(".bl-textline")
            assert max(lines.evaluate_all(LAST)) < 10, (text, width)
            assert max(lines.evaluate_all(SIDE_BY_SIDE)) <= 2, (text, width)
            assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (text, width)


def boxes(seen: Seen) -> list[dict[str, Any]]:
    words = seen.part("sentence").locator(".bl-textword")
    return list(words.evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())"))


def test_of_a_long_text_the_curve_of_a_head_waits_for_a_click(
    show: Callable[..., Seen], language_model: bl.Lens
) -> None:
    """And says then what the model's run without the head says."""
    trace = language_model.trace(f"{MASKED} " + " ".join([LONG] * 3))
    assert trace.n_tokens > 192
    seen = show(trace.explore(**CELL), folded=True)
    run = seen.part("loudness").get_by_role("button", name="Run it from silent to twice as loud")
    expect(run).to_be_visible()
    expect(seen.part("claim")).not_to_contain_text("Without it")
    run.click()
    expect(seen.part("loudness").get_by_role("slider")).to_be_visible()
    first = trace.predictions(k=1).iloc[0]
    off = trace.rerun(bl.whatif.off(**CELL)).predictions(k=10_000).set_index("token")["probability"]
    expect(seen.part("loudness")).to_contain_text(f"{off[first['token']]:.2f}")


def test_the_first_answer_stands_whole(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    """Its type is as much smaller as its name is longer, in any font."""
    trace = language_model.trace("She is a [MASK] scientist.")
    seen = show(trace.explore(**CELL), folded=True)
    name = seen.part("answer").locator(".bl-lead .bl-answer-name")
    expect(name).to_contain_text(str(trace.predictions(k=1)["token"][0]))
    for width in (480, 1400):
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert name.evaluate("it => it.scrollWidth <= it.clientWidth")


PAPER = """root => {
    const stage = root.querySelector(".bl-stage"), { left, right, width } = stage.getBoundingClientRect();
    const inside = [...stage.querySelectorAll("[data-n], .bl-arcs path")].map(one => one.getBoundingClientRect());
    return [width, inside.length, inside.filter(one => one.left < left - 8 || one.right > right + 8).length];
}"""


@pytest.mark.parametrize("text", [MASKED, f"{MASKED} {MASKED} {MASKED}", ARABIC], ids=["one line", "lines", "Arabic"])
def test_on_paper_words_and_arcs_are_laid_for_the_sheet(
    show_saved: Callable[..., Seen], language_model: bl.Lens, text: str
) -> None:
    seen = show_saved(language_model.trace(text).explore(**CELL), folded=True, width=1400)
    expect(seen.part("sentence").locator(".bl-arcs path").first).to_be_attached()
    before = seen.root.evaluate(PAPER)
    assert before[0] > 1200 and before[2] == 0
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    width, count, beyond = seen.root.evaluate(PAPER)
    assert width == 660 and count > 3 and beyond == 0  # A4 leaves some 718 px
    seen.page.pdf()  # ends with afterprint
    assert seen.root.evaluate(PAPER) == before
