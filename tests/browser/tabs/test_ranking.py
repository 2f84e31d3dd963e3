"""A list of passages: a click on one shows why it has its score, of an encoder and of a cross-encoder."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from browser.views import Seen
from unit.tiny_encoders import crossed

QUERY = "How do cats sleep?"
PASSAGES = [
    "Dogs bark at night.",
    "A cat sleeps up to sixteen hours a day.",
    "The market fell on Monday.",
    "Kittens sleep even more than grown cats.",
]


@pytest.fixture(scope="module")
def found(embedded_lens: Any) -> Any:
    return bl.rank(embedded_lens, QUERY, PASSAGES, explained=2)


def listed(seen: Seen) -> list[list[str]]:
    rows = seen.part("ranked").locator("tbody tr")
    return rows.evaluate_all("all => all.map(one => [...one.cells].map(cell => cell.textContent))")  # type: ignore[no-any-return]


def passage(seen: Seen, text: str) -> Locator:
    return seen.part("ranked").get_by_role("button", name=text, exact=True)


def pinned(seen: Seen) -> Locator:
    return seen.part("ranked").locator("tr.bl-pinned .bl-link")


def test_a_click_on_a_passage_shows_its_pair(show: Any, embedded_lens: Any, found: Any) -> None:
    seen = show(found.explore(), width=950)
    for row, wanted in zip(listed(seen), found.itertuples(), strict=True):
        assert row == [str(wanted.rank), wanted.passage, f"{wanted.score:.3f}".replace("-", "−"), wanted.words]
    best, second = found["passage"].iloc[:2]
    expect(pinned(seen)).to_have_text(best)
    expect(seen.part("similar-value")).to_contain_text(f"{found['score'].iloc[0]:.3f}")
    seen.page.keyboard.press("Tab")
    passage(seen, second).press("Enter")
    expect(pinned(seen)).to_have_text(second)
    pair = bl.similarity(embedded_lens, QUERY, second, ("query", "document"))
    expect(seen.part("similar-value")).to_contain_text(f"{pair.value:.3f}")
    first = pair.effects(1).iloc[0]
    expect(seen.root.locator(".bl-similar-pairs tbody th").first).to_have_text(f"{first['a']} – {first['b']}")
    seen.root.get_by_role("textbox", name="Text b").fill("Something else.")
    seen.root.get_by_role("textbox", name="Text b").press("Enter")
    expect(pinned(seen)).to_have_count(0)


@pytest.mark.parametrize("width", [480, 950])
def test_a_saved_page_holds_the_first_pair(show_saved: Any, found: Any, width: int) -> None:
    seen = show_saved(found.explore(), width=width)
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= width
    best, second = found["passage"].iloc[:2]
    expect(pinned(seen)).to_have_text(best)
    expect(passage(seen, second)).to_be_disabled()
    expect(seen.part("similar-value")).to_contain_text(f"{found['score'].iloc[0]:.3f}")


def test_a_cross_encoder_opens_the_run_of_both(show: Any) -> None:
    lens = bl.Lens(crossed())
    ranking = bl.rank(lens, "the cat sat", ["a dog", "the mat on the cat", "it was tired"])
    view = ranking.explore()
    seen = show(view, width=1000)
    best, second = ranking["passage"].iloc[:2]
    assert (view.trace.text, view.trace.text_pair) == ("the cat sat", best)
    expect(pinned(seen)).to_have_text(best)
    assert all(len(row) == 3 for row in listed(seen))  # no words: its score is no sum over them
    passage(seen, second).click()
    expect(pinned(seen)).to_have_text(second)
    expect(seen.thumb(0, 0)).to_be_visible()
    assert view.trace.text_pair == second
