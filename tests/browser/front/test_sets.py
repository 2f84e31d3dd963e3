"""Where no head alone moves the answer there is no slider, but heads that move it together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.views import Seen

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
        view.to_html(tmp_path / "page.html", live=host == "live", progress=False)
        seen = Seen(page_of(tmp_path / "page.html"), folded=True)
    sets = seen.part("sets")
    names = " + ".join(f"L{layer}·H{head}" for layer, head in TAKEN[:3])
    numbers = [f"{chance(language_model, size):.2f}" for size in range(2, 7)]
    expect(sets).to_contain_text(f"Take three, {names}: not {numbers[1]}.", timeout=60_000)
    expect(sets).to_contain_text("of the 24 that move it most alone")
    expect(seen.part("claim")).to_contain_text("No single head matters here")
    expect(seen.root.get_by_role("slider")).to_have_count(0)
    sizes = sets.get_by_role("group").get_by_role("button")
    expect(sizes).to_have_text([f"{n + 2} {'heads ' if n == 0 else ''}{one}" for n, one in enumerate(numbers)])
    if host == "saved":
        expect(sizes.first).to_be_disabled()
        return
    three = sizes.nth(1)
    three.click()
    before = float(language_model.trace(NOT).predictions(1)["probability"][0])
    claim = f"Without {names}, not falls from {before:.2f} to {numbers[1]}."
    expect(seen.part("claim")).to_contain_text(claim, timeout=60_000)
    expect(three).to_have_attribute("aria-pressed", "true")
    first = seen.answer_bar("not")
    expect(first).to_contain_text(numbers[1])
    expect(first).to_have_accessible_name(f"not, {numbers[1]}; was {before:.2f}")
    if host == "kernel":
        assert {(one.layer, one.head) for one in view.trace.changes} == set(TAKEN[:3])
    sets.get_by_role("button", name="all on again").click()
    expect(seen.part("claim")).to_contain_text("No single head matters here", timeout=60_000)
    expect(first).to_contain_text(f"{before:.2f}")


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
