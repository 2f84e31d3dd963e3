"""Where no head alone moves the answer there is no slider, but heads that move it together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.views import Seen, saved, saved_live

NOT = "The cat did [MASK] drink the milk because it was sour."
TAKEN = ((1, 9), (1, 11), (2, 11), (3, 8), (1, 6), (0, 5))


def chance(lens: bl.Lens, size: int) -> float:
    run = lens.trace(NOT).rerun(*(whatif.off(*head) for head in TAKEN[:size]))
    return float(run.predictions(50).set_index("token")["probability"]["not"])


@pytest.mark.parametrize("host", ["kernel", "live", "saved"])
def test_heads_that_move_it_together(
    show: Callable[..., Seen], page_of: Callable[..., Any], language_model: bl.Lens, tmp_path: Path, host: str
) -> None:
    view = language_model.trace(NOT).explore()
    if host == "kernel":
        seen = show(view, folded=True)
    else:
        page = saved_live(view, tmp_path / "page.html") if host == "live" else saved(view)
        seen = Seen(page_of(page), folded=True)
    sets, claim, slider = seen.part("sets"), seen.part("claim"), seen.root.get_by_role("slider")
    names = " + ".join(f"L{layer}·H{head}" for layer, head in TAKEN[:3])
    numbers = [f"{chance(language_model, size):.2f}" for size in range(2, 7)]
    expect(sets).to_contain_text(f"Take three, {names}: not {numbers[1]}.", timeout=60_000)
    expect(sets).to_contain_text("of 24 tried")
    expect(claim).to_contain_text("No single head matters here")
    sizes = sets.get_by_role("group").get_by_role("button")
    expect(sizes).to_have_text([f"{n + 2} {'heads ' if n == 0 else ''}{one}" for n, one in enumerate(numbers)])
    three, five = sizes.nth(1), sizes.nth(3)
    expect(three).to_have_attribute("aria-pressed", "true")  # the first that moves it by 0.20 is taken
    expect(seen.part("loudness")).to_contain_text("How loud are these three together?")
    pressed = seen.part("strip").locator("[data-strip-head][aria-pressed=true]")
    expect(pressed).to_have_count(3)
    trace = language_model.trace(NOT)
    mean = sum(float(trace.attention(layer)[head, 4, 3]) for layer, head in TAKEN[:3]) / 3
    assert trace.tokens[3:5] == ["did", "[MASK]"]
    expect(seen.part("sentence").locator(".bl-weight text").first).to_have_text(f"{mean:.2f}")
    before = float(trace.predictions(1)["probability"][0])
    first = seen.answer_bar("not")
    off = ", ".join(f"L{layer}·H{head}" for layer, head in TAKEN[:3])
    expect(first).to_have_accessible_name(f"not, {before:.2f}; {numbers[1]} without {off}")
    expect(slider).to_have_accessible_name(f"How loud are {off} together?")
    frame = seen.root.bounding_box()
    assert frame and frame["height"] <= 700
    slider.press("Home")
    expect(claim).to_contain_text(f"With these three silent, not falls from {before:.2f} to {numbers[1]}.")
    expect(first).to_have_accessible_name(f"not, {numbers[1]}; was {before:.2f}")
    for _ in range(3):
        slider.press("ArrowRight")
    run = trace.rerun(*(whatif.scale(*head, 0.3) for head in TAKEN[:3]))
    after = float(run.predictions(1)["probability"][0])
    about = "≈ " if host == "saved" else ""  # 0.30 is none of the nine
    expect(claim).to_contain_text(f"With these three at 0.30, not falls from {before:.2f} to {about}", timeout=60_000)
    if host != "saved":
        expect(claim).to_contain_text(f"to {after:.2f}.", timeout=60_000)
    if host == "kernel":
        assert {(one.layer, one.head, one.factor) for one in view.trace.changes} == {(*one, 0.3) for one in TAKEN[:3]}
    slider.press("Backspace")
    expect(claim).to_contain_text("No single head matters here", timeout=60_000)
    five.click()
    expect(sets).to_contain_text(f"Take five, L1·H9 + L1·H11 + L2·H11 + L3·H8 + L1·H6: not {numbers[3]}.")
    expect(seen.part("loudness")).to_contain_text(numbers[3], timeout=60_000)
    expect(five).to_have_attribute("aria-pressed", "true")
    seen.part("strip").locator('[data-strip-head="1-11"]').click()  # one of them alone
    expect(slider).to_have_count(0)
    expect(claim).to_contain_text("L1·H11")
    expect(pressed).to_have_count(1)
    three.click()
    expect(slider).to_be_visible()
    expect(pressed).to_have_count(3)


def test_a_head_that_moves_nothing_has_no_slider(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    """It says by how much less, which is true of every strength that was run."""
    text = "The cat did not drink the milk because the [MASK] was tired."
    trace = language_model.trace(text)
    cat = [float(trace.rerun(whatif.scale(0, 1, n / 4)).predictions(1)["probability"][0]) for n in range(9)]
    assert max(cat) - min(cat) < 0.02
    seen = show(trace.explore(layer=0, head=1), folded=True)
    expect(seen.part("flat")).to_have_text("L0·H1, from silent to twice as loud, moves cat by less than 0.02.")
    expect(seen.root.get_by_role("slider")).to_have_count(0)
    expect(seen.part("your-head")).to_contain_text("best here")
    seen.part("your-head").get_by_role("button").click()
    expect(seen.root.get_by_role("slider")).to_be_visible()
