"""The head that a view opens on is the one that matters most, by every head off in a run of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.front.test_sentence import word
from browser.views import Seen, saved, saved_live
from unit.silenced import silenced

SOLD = "He sold his [MASK], and then he bought it back."  # by the estimate another head is first
ONE = "One plus one is [MASK]."
LIVE = "They drank a glass of red [MASK]."


def by_brute_force(trace: bl.Trace) -> tuple[int, int]:
    """The head without which the first guess moves most."""
    [first, *_] = whatif.answers(trace).rows
    assert trace.lens is not None and not trace.changes
    word = trace.lens.tokenizer.convert_tokens_to_ids(first.name)
    before, after = silenced(trace.lens, trace.text)
    moved = (after[..., word] - before[word]).abs()
    layer, head = divmod(int(moved.argmax()), trace.n_heads)
    return layer, head


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
    show: Callable[..., Seen], page_of: Any, language_model: bl.Lens, text: str
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
    assert opened(Seen(page_of(saved(other)), folded=True)) == largest
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
    seen = Seen(page_of(saved_live(language_model.trace(LIVE).explore(), tmp_path / "live.html")), folded=True)
    assert opened(seen) == by_brute_force(language_model.trace(LIVE))
    line = seen.root.get_by_label("Sentence A")
    line.focus()
    line.fill(ONE)
    line.press("Enter")
    expect(seen.part("claim")).to_contain_text("L1·H8", timeout=60_000)
    assert opened(seen) == by_brute_force(language_model.trace(ONE))


PLAIN = "The cat did not drink the milk because it was sour."


def furthest(trace: bl.Trace, asker: str) -> list[tuple[str, str, str]]:
    """The heads in which a word gives most to one word that is not beside it: head, weight and that word."""
    at = trace.tokens.index(asker)
    rows = []
    for layer in range(trace.n_layers):
        for head, row in enumerate(trace.attention(layer)[:, at].double().tolist()):
            far = [n for n, token in enumerate(trace.tokens) if token.isalpha() and abs(n - at) > 1]
            to = max(far, key=row.__getitem__)
            rows.append((row[to], f"{layer}-{head}", trace.tokens[to]))
    return [(name, f"{weight:.2f}", word) for weight, name, word in sorted(rows, reverse=True)]


@pytest.mark.parametrize("host", ["kernel", "live", "saved"])
def test_of_a_plain_sentence_the_heads_in_which_a_word_looks_furthest(
    show: Callable[..., Seen], page_of: Any, language_model: bl.Lens, tmp_path: Path, host: str
) -> None:
    """Each word of this sentence is one token of letters, so the weights are the model's own."""
    view = language_model.trace(PLAIN).explore()
    if host == "kernel":
        seen = show(view, folded=True)
    else:
        page = saved_live(view, tmp_path / "page.html") if host == "live" else saved(view)
        seen = Seen(page_of(page), folded=True)
    trace = language_model.trace(PLAIN)
    chips = seen.part("strip").locator("[data-strip-head]")
    expect(chips.first).to_have_attribute("aria-pressed", "true", timeout=60_000)

    def shown() -> list[tuple[str, str, str]]:
        names = chips.evaluate_all("all => all.map(one => one.dataset.stripHead)")
        return [
            (name, chip.locator(".bl-number").inner_text(), chip.locator(".bl-text-word").inner_text())
            for name, chip in zip(names, chips.all(), strict=True)
        ]

    assert shown() == furthest(trace, "sour")[: chips.count()]
    assert chips.count() >= 5
    word(seen, "milk").click()
    expect(seen.part("strip").locator("h3")).to_contain_text("Where milk looks")
    assert shown() == furthest(trace, "milk")[: chips.count()]
