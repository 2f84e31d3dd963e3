"""A word of the sentence is hidden, and changed, as the tour and the docs tell, letter by letter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base.vocabulary.phrases import MASKED_EXAMPLES, NOTHING_HIDDEN, NOTHING_HIDDEN_SAVED
from browser.front.test_opening import by_brute_force, opened
from browser.front.test_sentence import MASKED, word
from browser.views import Seen, hold, saved, saved_live, tap_twice
from unit.silenced import silenced

PLAIN = "The cat did not drink the milk because it was sour."
HIDDEN = PLAIN.replace("milk", "[MASK]")
EDGES = """all => all.map((one) => one.getBoundingClientRect()).filter(({ height }) => height > 9).reduce(
    ([top, bottom], box) => [Math.min(top, box.top), Math.max(bottom, box.bottom)], [1e9, 0])"""


def line(seen: Seen) -> Any:
    return seen.root.get_by_label("Sentence A")


@pytest.mark.parametrize("way", ["button", "Backspace", "Delete"])
def test_a_hidden_word_is_guessed_and_comes_back(show: Callable[..., Seen], language_model: bl.Lens, way: str) -> None:
    view = language_model.trace(PLAIN).explore()
    seen = show(view, folded=True)
    expect(seen.part("cloze-claim")).to_contain_text(NOTHING_HIDDEN)
    word(seen, "milk").click()
    verbs = seen.part("verbs")
    expect(word(seen, "milk")).to_have_attribute("aria-pressed", "true")
    if way == "button":
        verbs.get_by_role("button", name="hide").click()
    else:
        seen.page.keyboard.press(way)
    expect(line(seen)).to_have_value(HIDDEN)
    expect(verbs).to_contain_text("was milk")
    expect(word(seen, "[MASK]")).to_have_attribute("data-label", "milk")  # its letters stay, as a ghost
    assert opened(seen) == by_brute_force(language_model.trace(HIDDEN)) == (view.layer, view.head)
    best = language_model.trace(HIDDEN).predictions(k=1)["token"][0]
    expect(seen.part("answer").locator(".bl-lead")).to_contain_text(best)
    expect(seen.part("answer").get_by_role("button", name="milk", exact=False).first).to_be_visible()
    expect(seen.part("own")).to_have_text("yours: milk, 3rd")
    assert language_model.trace(HIDDEN).predictions(k=3)["token"].tolist()[2] == "milk"
    if way == "button":
        verbs.get_by_role("button", name="show again").click()
    else:
        word(seen, "[MASK]").focus()
        seen.page.keyboard.press("Escape")
    expect(line(seen)).to_have_value(PLAIN)
    expect(word(seen, "milk")).to_be_visible()


@pytest.mark.parametrize("way", ["kernel", "saved"])
def test_where_nothing_is_hidden_each_word_says_how_surely_it_is_found_again(
    show: Callable[..., Seen], page_of: Callable[..., Any], language_model: bl.Lens, way: str
) -> None:
    """The two surest and the four least sure of twelve words, each with a run of its own; a bar hides its word."""
    text = "The cat did not drink the milk because the milk was sour."
    view = language_model.trace(text).explore()
    seen = show(view, folded=True) if way == "kernel" else Seen(page_of(saved(view)), folded=True)
    names, numbers = (seen.part("cloze").locator(f".bl-answer-{part}") for part in ("name", "number"))
    expect(names).to_have_text(["not", "The", "because", "cat", "drink", "sour"])

    def alone(word: str) -> float:
        hidden = language_model.trace(text.replace(word, "[MASK]", 1)).predictions(k=30522)
        return float(hidden.loc[hidden["token"] == word.lower(), "probability"].iloc[0])

    for name, number in zip(names.all_inner_texts(), numbers.all_inner_texts(), strict=True):
        found = alone(name)
        assert number == (f"{found:.2f}" if found >= 0.005 else "<\u20090.01")
        line_under = word(seen, name).evaluate("one => one.style.getPropertyValue('--probability')")
        assert line_under == f"{100 * found:.1f}%"
    best = language_model.trace(text.replace("sour", "[MASK]")).predictions(k=1).iloc[0]
    surest = alone("not")
    expect(seen.part("cloze-claim")).to_contain_text(
        f"It would find not again ({surest:.2f}), but not sour (less than 0.01): "
        f"in its place it guesses {best['token']} ({best['probability']:.2f})."
    )
    expect(seen.part("cloze")).to_contain_text("two surest, four least sure of 12")
    trace = view.trace
    at = trace.tokens.index("sour")
    words = [n for n in range(1, at) if n < at - 1]
    peaks = {(la, h): float(trace.attention(la)[h, at, words].max()) for la in range(6) for h in range(12)}
    order = sorted(peaks, key=lambda head: -peaks[head])[:6]
    chips = seen.part("strip").locator("[data-strip-head]")
    expect(chips.first).to_have_attribute("aria-pressed", "true")
    assert chips.evaluate_all("all => all.map((one) => one.dataset.stripHead)") == [f"{a}-{b}" for a, b in order]
    expect(chips.first).to_contain_text(f"{peaks[order[0]]:.2f}")
    assert (view.layer, view.head, view.query) == (*order[0], at)
    bar = seen.part("cloze").get_by_role("button", name="sour")
    if way == "saved":
        expect(bar).to_be_disabled()
        return
    bar.click()
    expect(line(seen)).to_have_value(text.replace("sour", "[MASK]"))
    expect(seen.part("answer").locator(".bl-lead")).to_contain_text(best["token"])


@pytest.mark.parametrize("way", ["double click", "Enter", "letters", "button"])
def test_a_word_is_changed_whole_and_escape_brings_it_back(
    show: Callable[..., Seen], language_model: bl.Lens, way: str
) -> None:
    seen = show(language_model.trace(MASKED).explore(layer=5, head=7), folded=True)
    tired = word(seen, "tired")
    if way == "double click":
        tired.dblclick()
    else:
        tired.click()
        if way == "Enter":
            seen.page.keyboard.press("Enter")
        if way == "button":
            seen.part("verbs").get_by_role("button", name="change").click()
    seen.page.keyboard.type("sour")
    expect(line(seen)).to_have_value(MASKED.replace("tired", "sour"))
    seen.page.keyboard.press("Escape")
    expect(line(seen)).to_have_value(MASKED)
    expect(word(seen, "tired")).to_be_visible()
    word(seen, "tired").dblclick()
    seen.page.keyboard.type("sour")
    seen.page.keyboard.press("Enter")
    expect(seen.part("answer").locator(".bl-lead")).to_contain_text("milk")


def test_a_finger_hides_by_two_taps_and_writes_by_a_long_one(
    page_of: Any, language_model: bl.Lens, tmp_path: Path
) -> None:
    page = saved_live(language_model.trace(PLAIN).explore(), tmp_path / "live.html")
    seen = Seen(page_of(page, width=390, touch=True), folded=True)
    expect(seen.part("cloze-claim")).to_contain_text(NOTHING_HIDDEN, timeout=60_000)
    top, bottom = seen.root.locator(".bl-title > *:visible").evaluate_all(EDGES)
    assert bottom - top < 48  # one row
    tap_twice(word(seen, "milk"))
    expect(line(seen)).to_have_value(HIDDEN)
    expect(seen.part("answer").locator(".bl-lead")).to_be_visible(timeout=60_000)
    slider = seen.root.get_by_role("slider")
    expect(slider).to_be_visible(timeout=60_000)
    box = slider.bounding_box()
    assert box and box["y"] + box["height"] < 700  # of the page
    hold(word(seen, "sour"))
    expect(line(seen)).to_be_focused()
    seen.page.keyboard.type("tired")
    expect(line(seen)).to_have_value(HIDDEN.replace("sour", "tired"))
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_a_mask_hiding_is_a_run_without_the_word(show: Callable[..., Seen]) -> None:
    seen = show(bl.Lens.embedded().trace(PLAIN).explore(), folded=True)
    word(seen, "milk").click()
    seen.part("verbs").get_by_role("button", name="hide").click()
    expect(seen.part("claim")).to_contain_text("In this changed run")
    expect(line(seen)).to_have_value(PLAIN)


def test_a_word_of_pieces_is_as_many_slots_and_a_mark_has_no_verbs(
    show: Callable[..., Seen], language_model: bl.Lens
) -> None:
    text = "The zorblaxian cats did not drink."
    pieces = len(language_model.trace("zorblaxian").tokens) - 2
    seen = show(language_model.trace(text).explore(), folded=True)
    word(seen, ".").click()
    expect(seen.part("verbs")).to_have_count(0)
    word(seen, "zorblaxian").click()
    seen.part("verbs").get_by_role("button", name="hide").click()
    expect(line(seen)).to_have_value(text.replace("zorblaxian", pieces * "[MASK]"))
    expect(seen.part("verbs")).to_contain_text(f"in {pieces} pieces")
    ghosts = seen.root.locator(".bl-ghost").evaluate_all("all => all.map((one) => one.dataset.label)")
    assert len(ghosts) == pieces and "".join(ghosts) == "zorblaxian"
    line(seen).fill("The [MASK] cats did not drink.")  # written by the reader, it has no letters to show
    line(seen).press("Enter")
    expect(word(seen, "[MASK]")).to_have_attribute("data-label", "[MASK]")


def test_a_saved_page_does_not_tell_to_write(page_of: Any, language_model: bl.Lens) -> None:
    seen = Seen(page_of(saved(language_model.trace(PLAIN).explore())), folded=True)
    expect(seen.part("cloze-claim")).to_contain_text(NOTHING_HIDDEN_SAVED)
    word(seen, "milk").click()
    expect(seen.part("verbs")).to_have_count(0)


def test_examples_of_a_masked_model_have_a_story(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    """The first guess is one, and a head carries it."""
    seen = show(language_model.trace(PLAIN).explore(), folded=True)
    seen.root.get_by_text("Examples", exact=False).first.click()
    for text, _ in MASKED_EXAMPLES:
        expect(seen.root.get_by_role("button", name=text, exact=True)).to_be_visible()
        trace = language_model.trace(text)
        [first, *_] = bl.whatif.answers(trace).rows
        assert first.before > 0.2, text
        _, off = silenced(language_model, text)
        word_id = language_model.tokenizer.convert_tokens_to_ids(first.name)
        layer, head = by_brute_force(trace)
        assert first.before - float(off[layer, head, word_id]) > 0.1, text


def test_a_hidden_word_that_is_no_good_guess_is_a_row_all_the_same(
    show: Callable[..., Seen], language_model: bl.Lens
) -> None:
    text = "The keys that the man forgot are on the table."
    seen = show(language_model.trace(text).explore(), folded=True)
    word(seen, "forgot").click()
    seen.page.keyboard.press("Backspace")
    hidden = language_model.trace(text.replace("forgot", "[MASK]"))
    ranks = hidden.predictions(k=30_000).set_index("token")
    rank, chance = ranks.index.get_loc("forgot") + 1, ranks.loc["forgot", "probability"]
    assert rank > 5
    expect(seen.part("answer").get_by_role("button", name="forgot", exact=False)).to_have_count(1)
    told = f"{chance:.2f}" if chance >= 0.005 else "less than 0.01"
    expect(seen.part("own")).to_have_text(f"yours: forgot, {told}")


def test_a_head_that_was_chosen_stays_with_a_way_to_the_best(
    show: Callable[..., Seen], language_model: bl.Lens
) -> None:
    view = language_model.trace(MASKED).explore(layer=0, head=1)
    seen = show(view, folded=True)
    note = seen.part("your-head")
    best = by_brute_force(view.trace)
    expect(note).to_contain_text(f"your head · best here: L{best[0]}·H{best[1]}", timeout=60_000)
    word(seen, "tired").dblclick()
    seen.page.keyboard.type("sour")
    seen.page.keyboard.press("Enter")
    expect(seen.part("claim")).to_contain_text("milk")
    assert (view.layer, view.head) == (0, 1)
    note.get_by_role("button").click(timeout=60_000)
    assert opened(seen) == by_brute_force(view.trace) == (view.layer, view.head)
    expect(note).to_have_count(0)
    line(seen).fill("He is a doctor, and [MASK] works in a hospital.")
    line(seen).press("Enter")
    expect(seen.part("claim")).to_contain_text("he", timeout=60_000)
    assert opened(seen) == by_brute_force(view.trace) == (view.layer, view.head)  # from then on it follows


def test_a_bar_that_is_chosen_stays_in_its_place(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    seen = show(language_model.trace(MASKED).explore(layer=5, head=7), folded=True)
    rows = seen.part("answer").locator(".bl-answer-row .bl-answer-name")
    expect(rows.first).to_be_visible()
    names = rows.all_text_contents()
    rows.nth(1).click()
    asked = seen.part("answer").locator(".bl-answer-row[aria-pressed=true] .bl-answer-name")
    expect(asked).to_have_text(names[1])
    assert rows.all_text_contents() == names
    expect(seen.part("claim")).to_contain_text("is a rare guess (0.03)", timeout=60_000)
