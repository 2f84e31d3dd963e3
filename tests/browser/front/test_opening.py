"""The head that a view opens on is the one that matters most, by every head off in a run of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.views import Seen

SOLD = "He sold his [MASK], and then he bought it back."  # by the estimate another head is first
ONE = "One plus one is [MASK]."
LIVE = "They drank a glass of red [MASK]."


def by_brute_force(trace: bl.Trace) -> tuple[int, int]:
    """The head without which the first guess moves most."""
    [first, *_] = whatif.answers(trace).rows
    word = trace.model.tokenizer.convert_tokens_to_ids(first.name)
    at = trace.tokens.index("[MASK]")

    def chance(run: bl.Trace) -> float:
        return float(run.output.logits[0, at].double().softmax(-1)[word])

    before = chance(trace)
    heads = [(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    return max(heads, key=lambda at: abs(chance(trace.rerun(whatif.off(*at))) - before))


def opened(seen: Seen) -> tuple[int, ...]:
    """The head shown, once no more are to be run."""
    strip = seen.part("strip")
    expect(strip.locator("[data-strip-head]").first).to_be_visible(timeout=60_000)
    expect(strip.locator("h3")).not_to_contain_text("≈", timeout=60_000)
    expect(strip.locator("[data-strip-head]").first).to_have_attribute("aria-pressed", "true")
    name = strip.locator("[data-strip-head][aria-pressed=true]").get_attribute("data-strip-head") or ""
    return tuple(map(int, name.split("-")))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", [SOLD, ONE, "[MASK]"])
def test_a_notebook_opens_on_it_and_so_does_its_page(
    show: Callable[..., Seen], page_of: Any, language_model: bl.Lens, tmp_path: Path, text: str
) -> None:
    trace = language_model.trace(text)
    view = trace.explore()
    before = (view.layer, view.head)
    largest = by_brute_force(language_model.trace(text))
    assert before != largest  # or nothing is seen to move
    seen = show(view, folded=True)
    assert opened(seen) == largest == (view.layer, view.head)
    expect(seen.root.get_by_role("button", name="Back to the selection before")).to_have_count(0)
    other = language_model.trace(text).explore()
    other.to_html(tmp_path / "page.html", progress=False)
    assert opened(Seen(page_of(tmp_path / "page.html"), folded=True)) == largest
    assert (other.layer, other.head) == before  # of the notebook's own view nobody has seen anything


def test_a_head_that_was_given_or_chosen_stays(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    view = language_model.trace(SOLD).explore(layer=0, head=1)
    seen = show(view, folded=True)
    strip = seen.part("strip")
    expect(strip.locator("[data-strip-head]").first).to_be_visible()
    expect(strip.locator("h3")).not_to_contain_text("≈", timeout=60_000)
    assert (view.layer, view.head) == (0, 1)
    few = language_model.trace(SOLD).explore(heads="estimate")
    seen = show(few, folded=True)
    expect(seen.part("strip").locator("h3")).to_contain_text("≈ Heads that matter most here of 8 run")
    seen.part("strip").get_by_role("button", name="run all 72").click()
    assert opened(seen) == by_brute_force(few.trace)


def test_a_live_page_opens_on_it(page_of: Any, language_model: bl.Lens, tmp_path: Path) -> None:
    language_model.trace(LIVE).explore().to_html(tmp_path / "live.html", live=True, progress=False)
    seen = Seen(page_of(tmp_path / "live.html"), folded=True)
    assert opened(seen) == by_brute_force(language_model.trace(LIVE))
    line = seen.root.get_by_label("Sentence A")
    line.focus()
    line.fill(ONE)
    line.press("Enter")
    expect(seen.part("claim")).to_contain_text("L1·H8", timeout=60_000)
    assert opened(seen) == by_brute_force(language_model.trace(ONE))
