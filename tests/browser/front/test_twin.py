"""Two sentences, one below the other: their numbers are those of two runs in Python, and a hand needs three actions."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from browser.views import Seen
from unit.silenced import silenced

ABOVE = "The cat did not drink the milk because the [MASK] was sour."
BELOW = "The cat did not drink the milk because the [MASK] was tired."
HE, SHE = "He is a doctor. [MASK] works at night.", "She is a doctor. [MASK] works at night."
WIDTH = 962  # px of the window: 938 of the view


def verb(seen: Seen) -> Locator:
    return seen.root.get_by_role("button", name="⇄ compare")


def below(seen: Seen) -> Locator:
    return seen.part("sentence-below")


def settled(seen: Seen) -> None:
    expect(seen.root.get_by_text("all 72 were run in both")).to_be_visible(timeout=60_000)


def write(seen: Seen, old: str, new: str) -> None:
    below(seen).locator("[data-n]", has_text=re.compile(f"^{old}$")).first.dblclick()
    seen.page.keyboard.type(new)
    seen.page.keyboard.press("Enter")


def test_both_sentences_have_the_numbers_of_their_own_runs(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    view = language_model.trace(ABOVE).explore()
    seen = show(view, folded=True, width=WIDTH, height=900)
    verb(seen).click()
    write(seen, "sour", "tired")
    settled(seen)
    (a, a_off), (b, b_off) = (silenced(language_model, text) for text in (ABOVE, BELOW))
    vocabulary = language_model.tokenizer.get_vocab()
    bars = seen.part("answer").locator(".bl-answer-row")
    told = bars.evaluate_all(
        "all => all.map(one => [one.querySelector('bdi').textContent, +one.dataset.above, +one.dataset.below])"
    )
    assert len(told) == 5 and [value for *_, value in told] == sorted((value for *_, value in told), reverse=True)
    for name, above, under in told:
        assert above == pytest.approx(float(a[vocabulary[name]]), abs=1e-4)
        assert under == pytest.approx(float(b[vocabulary[name]]), abs=1e-4)
    assert told[0][0] == language_model.tokenizer.convert_ids_to_tokens(int(b.argmax()))
    layer, head = view.layer, view.head
    moved = {
        (n, m): [float(off[n, m, full.argmax()] - full.max()) for full, off in ((a, a_off), (b, b_off))]
        for n in range(6)
        for m in range(12)
    }
    assert max(moved, key=lambda off: max(map(abs, moved[off]))) == (layer, head)  # one head for both: the largest
    before = [float(full.max()) for full in (a, b)]
    after = [full + change for full, change in zip(before, moved[layer, head], strict=True)]
    effect = seen.root.locator(".bl-twin-effect").inner_text()
    assert re.findall(r"\d\.\d\d", effect) == [f"{x:.2f}" for pair in zip(before, after, strict=True) for x in pair]
    expect(seen.part("claim")).to_contain_text(re.compile(r"One word turns\s+milk\s+into\s+cat\."))
    arcs = below(seen).locator(".bl-weight")
    trace = language_model.trace(BELOW)
    row = trace.attention(layer)[head, trace.tokens.index("[MASK]")]
    for piece, text in arcs.evaluate_all("all => all.map(one => [+one.dataset.word, one.textContent])"):
        assert text == f"{float(row[piece]):.2f}"
    assert view.trace.text == ABOVE  # what the view shows is the first run
    box = seen.root.locator(".bl-front").bounding_box()
    assert box is not None and box["height"] <= 695 - 52  # below the header
    controls = "all => all.filter(one => one.checkVisibility()).length"
    assert seen.root.locator("button, textarea, summary, input, [role=slider]").evaluate_all(controls) <= 27
    assert seen.axe() == []
    seen.page.set_viewport_size({"width": 390, "height": 900})
    seen.page.wait_for_timeout(500)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_she_beside_he_by_three_actions_and_back(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    seen = show(language_model.trace(HE).explore(), folded=True, width=WIDTH, height=900)
    keyboard = seen.page.keyboard
    verb(seen).focus()
    keyboard.press("Enter")  # 1
    expect(below(seen).locator("[data-n]", has_text=re.compile("^He$"))).to_be_focused()
    expect(seen.root.locator("[aria-live]").first).to_contain_text("second sentence")
    keyboard.type("She")  # 2
    keyboard.press("Enter")  # 3
    expect(seen.part("claim")).to_contain_text(re.compile(r"One word turns\s+he\s+into\s+she\."), timeout=60_000)
    settled(seen)
    expect(seen.root.locator(".bl-differs")).to_have_text(["He", "She"])
    claim, arcs = seen.part("claim").inner_text(), below(seen).locator(".bl-weight").all_text_contents()
    below(seen).locator("[tabindex='0']").first.focus()
    keyboard.press("End")
    expect(below(seen).locator(".bl-weight")).not_to_have_text(arcs)  # those of the word that has the keys
    expect(seen.part("claim")).to_have_text(claim, use_inner_text=True)  # of the words that ask in both
    keyboard.press("Escape")
    expect(below(seen)).to_have_count(0)
    expect(verb(seen)).to_be_focused()
    seen.root.get_by_role("button", name="Back to the selection before").click()  # undo
    expect(below(seen)).to_contain_text("She is a doctor")
    seen.root.get_by_role("button", name="one sentence ›").click()
    expect(below(seen)).to_have_count(0)


def test_she_beside_he_by_touch(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    seen = show(language_model.trace(HE).explore(), folded=True, width=480, height=900)
    verb(seen).dispatch_event("click")
    word = below(seen).locator("[data-n]", has_text=re.compile("^He$"))
    word.dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True})
    seen.page.wait_for_timeout(600)
    word.dispatch_event("pointerup", {"pointerType": "touch", "bubbles": True})
    seen.page.keyboard.type("She")
    seen.page.keyboard.press("Enter")
    expect(seen.part("claim")).to_contain_text(re.compile(r"One word turns\s+he\s+into\s+she\."), timeout=60_000)


def test_a_state_brings_the_second_sentence_back_and_a_saved_page_has_none(
    show: Callable[..., Seen], show_saved: Callable[..., Seen], language_model: bl.Lens
) -> None:
    settings = {"compare_with": {"run": "", "text": SHE, "text_pair": ""}}
    view = language_model.trace(HE).explore(settings=settings)
    seen = show(view, folded=True, width=WIDTH, height=900)
    expect(below(seen)).to_contain_text("She is a doctor")
    tables = language_model.trace(HE).explore(settings=settings, view="compare")  # where it stood in 0.4.0
    seen = show(tables, folded=True, width=WIDTH, height=900)
    expect(seen.part("compare-said")).to_be_visible()
    expect(below(seen)).to_have_count(0)
    page = show_saved(view, folded=True, width=WIDTH, height=900)
    expect(below(page)).to_have_count(0)
    expect(verb(page)).to_have_count(0)


def test_nothing_hidden_in_either_then_the_same_word_in_both(
    show: Callable[..., Seen], language_model: bl.Lens
) -> None:
    seen = show(
        language_model.trace("The cat did not drink the milk because the milk was sour.").explore(),
        folded=True,
        width=WIDTH,
        height=900,
    )
    verb(seen).click()
    write(seen, "sour", "tired")
    expect(seen.part("claim")).to_contain_text("Hide a word in both")
    bar = seen.part("answer").get_by_role("button", name=re.compile("^milk.*hide it in both")).first
    bar.click()
    expect(seen.part("claim")).to_contain_text(re.compile(r"One word turns\s+milk\s+into\s+cat\."), timeout=60_000)


def test_vectors_of_two_texts_are_as_alike_as_in_python(show: Callable[..., Seen], embedded_lens: bl.Lens) -> None:
    a, b = "The old key to the cabinet is on the table.", "The new key to the cabinet is on the table."
    seen = show(embedded_lens.trace(a).explore(), folded=True, width=WIDTH, height=900)
    verb(seen).click()
    write(seen, "old", "new")
    cosine = bl.similarity(embedded_lens, a, b).value
    expect(seen.part("claim")).to_contain_text(f"alike by {cosine:.2f} (cosine)", timeout=60_000)
    settled(seen)
    assert seen.axe() == []


def test_from_right_to_left(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    seen = show(language_model.trace("قط شرب الحليب").explore(), folded=True, width=390, height=900)
    verb(seen).click()
    expect(below(seen).locator("[dir=rtl]")).to_have_count(2)  # words and field's line
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
