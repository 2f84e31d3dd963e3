"""The model's answer at the front: its bars, the sentence of a head, the slider, and the heads that matter.

Every number on the screen is that of a run made here from the trace alone.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect

import bertlens as bl
from bertlens import Trace, whatif
from browser.views import Seen

TEXT = "The cat did not drink the milk because the [MASK] was tired."
LAYER, HEAD, AT, CAT = 5, 7, 10, 2


@pytest.fixture(scope="module")
def masked(language_model: bl.Lens) -> Trace:
    return language_model.trace(TEXT)


def chance(trace: Trace, word: str) -> float:
    assert trace.model is not None
    logits: torch.Tensor = trace.output.logits[0, AT]
    return float(logits.softmax(-1)[trace.model.tokenizer.convert_tokens_to_ids(word)])


def two(value: float) -> str:
    return f"{value:.2f}"


def slider(seen: Seen) -> Locator:
    return seen.part("loudness").get_by_role("slider")


def drag(seen: Seen, factor: float, release: bool = True) -> None:
    box = slider(seen).bounding_box()
    assert box is not None
    mouse, y = seen.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + box["width"] / 2, y)
    mouse.down()
    mouse.move(box["x"] + box["width"] * factor / 2, y, steps=5)
    if release:
        mouse.up()


def becomes(seen: Seen, view: Any, changes: tuple[Any, ...]) -> None:
    """Wait until the run shown has these changes."""
    for _ in range(200):
        if view.trace.changes == changes:
            return
        seen.page.wait_for_timeout(50)
    assert view.trace.changes == changes


FALLS = """isBelow => {
    const of = name => [...document.querySelectorAll(name)].map(one => one.getBoundingClientRect());
    const [[line], [mask], tracks] = [of(".bl-thread path"), of(".bl-mask"), of(".bl-answer-track")];
    if (!line || !mask || tracks.length < 5) return false;
    const reaches = x => Math.min(...[line.left, line.right].map(end => Math.abs(end - x))) < 2;
    const isDown = line.top > mask.bottom - 4 && line.bottom >= tracks.at(-1).bottom;
    return isDown && reaches((mask.left + mask.right) / 2) && reaches(tracks[0].left) && (line.width < 2) === isBelow;
}"""


def test_a_line_falls_from_the_mask_to_the_bars(show: Any, masked: Trace) -> None:
    """Straight where the bars can begin below it, else aside; at 900 px there is no room for it."""
    lens: Any = masked.lens
    for text, is_below in ((TEXT, True), ("[MASK] is the capital of France, and it lies on the river Seine.", False)):
        seen = show(lens.trace(text).explore(), folded=True, width=1000)
        seen.page.wait_for_function(FALLS, arg=is_below)
    seen.page.set_viewport_size({"width": 900, "height": 800})
    expect(seen.root.locator(".bl-thread path")).to_have_count(0)


def test_the_gesture(show: Any, masked: Trace) -> None:
    view = masked.explore(layer=LAYER, head=HEAD, query=AT, key=CAT)
    seen = show(view, folded=True)
    before, silent = (chance(run, "cat") for run in (masked, masked.rerun(whatif.off(LAYER, HEAD))))
    weight = float(masked.attention(LAYER)[HEAD, AT, CAT])
    expect(seen.part("claim")).to_have_text(
        f"L5·H7 lets [MASK] look at cat ({two(weight)}). Without it, cat falls from {two(before)} to {two(silent)}. "
    )
    bar = seen.part("answer").get_by_role("button", name=re.compile("^cat,"))
    expect(bar).to_have_accessible_name(f"cat, {two(before)}; {two(silent)} without L5·H7")

    drag(seen, 0.5, release=False)  # one of the nine: what is drawn is a run, though none was made now
    half = chance(masked.rerun(whatif.scale(LAYER, HEAD, 0.5)), "cat")
    says = f"With L5·H7 at 0.50, cat falls from {two(before)} to {two(half)}."
    expect(seen.part("claim")).to_contain_text(says)
    expect(slider(seen)).to_have_attribute("aria-valuetext", f"0.50: cat {two(half)}")
    assert view.trace.changes == ()
    seen.page.mouse.up()
    becomes(seen, view, (whatif.scale(LAYER, HEAD, 0.5),))
    expect(seen.part("claim")).to_contain_text(says)
    expect(bar).to_have_accessible_name(f"cat, {two(half)}; was {two(before)}")

    slider(seen).press("Home")
    expect(seen.part("claim")).to_have_text(
        f"With L5·H7 silent, cat falls from {two(before)} to {two(silent)}. "
        "It still looks at cat, but passes nothing on. "
    )
    becomes(seen, view, (whatif.scale(LAYER, HEAD, 0),))
    slider(seen).press("Backspace")
    expect(seen.part("claim")).to_contain_text(f"Without it, cat falls from {two(before)} to {two(silent)}.")


def test_another_answer_and_another_head(show: Any, masked: Trace) -> None:
    seen = show(masked.explore(layer=LAYER, head=HEAD, query=AT, key=CAT), folded=True)
    without = masked.rerun(whatif.off(2, 3))
    chips = seen.part("strip").locator("[data-strip-head]")
    expect(chips).to_have_count(6)
    expect(chips.first).to_contain_text("L5·H7")
    change = round(chance(without, "cat"), 2) - round(chance(masked, "cat"), 2)
    expect(chips.filter(has_text="L2·H3")).to_contain_text(two(change).replace("-", "−"))
    chips.filter(has_text="L2·H3").click()
    expect(seen.part("claim")).to_contain_text(
        f"Without it, cat falls from {two(chance(masked, 'cat'))} to {two(chance(without, 'cat'))}."
    )
    expect(seen.part("strip")).to_contain_text("L2·H3: 2nd of 72 that were tried")
    seen.part("answer").get_by_role("button", name=re.compile("^dog,")).click()
    expect(seen.part("loudness")).to_contain_text(f"dog {two(chance(masked, 'dog'))}")
    expect(seen.part("strip")).to_contain_text("and how dog moves without them")


def test_the_similarity_of_two_texts(show: Any, pair: Trace) -> None:
    """The bar's title has it in four decimals, that of the heading what it is of."""
    seen = show(pair.explore(), folded=True)
    first, second = (pair.lens.trace(text).layer_output(5).double().mean(0) for text in (pair.text, pair.text_pair))
    cosine = float(torch.cosine_similarity(first, second, dim=0))
    expect(seen.answer_bar("both texts")).to_have_attribute("title", f"{cosine:.4f} (cosine)")
    heading = seen.part("answer").get_by_role("heading", name="How alike")
    expect(heading).to_have_attribute("title", re.compile("^Cosine, "))
    expect(seen.part("strip").get_by_role("heading")).to_contain_text("and how the similarity moves without them")


def test_a_saved_page_has_the_curve_of_its_head(show_saved: Any, masked: Trace) -> None:
    seen = show_saved(masked.explore(layer=LAYER, head=HEAD, query=AT, key=CAT), folded=True)
    before, half = (chance(run, "cat") for run in (masked, masked.rerun(whatif.scale(LAYER, HEAD, 0.5))))
    drag(seen, 0.5)
    expect(seen.part("claim")).to_contain_text(f"With L5·H7 at 0.50, cat falls from {two(before)} to {two(half)}.")
    seen.part("loudness").get_by_role("button", name="Undo").click()
    expect(slider(seen)).to_have_attribute("aria-valuenow", "1")


def test_a_chip_that_is_pointed_at_shows_its_own_head_everywhere(show, masked):
    """Arcs, sentence and the bar that is asked about; the slider, which is of the head shown, steps back."""
    seen = show(masked.explore(layer=LAYER, head=HEAD, heads="estimate"), folded=True)
    chip = seen.part("strip").locator("[data-strip-head]").nth(1)
    layer, head = map(int, (chip.get_attribute("data-strip-head") or "").split("-"))
    name, before = f"L{layer}·H{head}", chance(masked, "cat")
    without = chance(masked.rerun(whatif.off(layer, head)), "cat")
    bar, dim = seen.answer_bar("cat"), re.compile("bl-of-other")
    chip.hover()
    expect(bar).to_have_accessible_name(f"cat, {two(before)}; {two(without)} without {name}")
    expect(seen.part("claim")).to_contain_text(name)
    expect(seen.part("claim")).to_contain_text(two(without))
    expect(seen.part("loudness")).to_have_class(dim)
    seen.away()
    expect(bar).to_have_accessible_name(re.compile(rf"without L{LAYER}·H{HEAD}$"))
    expect(seen.part("loudness")).not_to_have_class(dim)
