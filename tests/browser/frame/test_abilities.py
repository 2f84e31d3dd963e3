"""All that can be done with a view, row by row of a table: it comes out, in at most two clicks more than before.

The rows are in `abilities/`, the ways to each control in `abilities/hand.py`.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from browser.frame.abilities import cells, changes, heads, runs, shown, tabs, texts  # noqa: F401  they fill the table
from browser.frame.abilities.hand import Hand
from browser.frame.abilities.subjects import SUBJECTS
from browser.frame.abilities.table import ABILITIES, Ability
from browser.stage import Stage
from browser.views import Seen, hosted, saved

MORE = 2  # clicks that an ability may take beyond those of before


@pytest.fixture(scope="module")
def stage(shared_page_of) -> Stage:
    return Stage(hosted(shared_page_of, width=1280, height=1000))


@pytest.fixture(scope="module")
def saved_page(shared_page_of) -> Page:
    """A page without a kernel, of some layers."""
    return shared_page_of(saved(SUBJECTS["pair"](), layers=[0, 1, 3], matters=True), width=1280, height=1000)


def opened(row: Ability, request: pytest.FixtureRequest) -> Hand:
    """A hand on a view that was just opened; all heads are unfolded, by a click, where that is needed."""
    if row.of == "saved page":
        page = request.getfixturevalue("saved_page")
        address, *place = page.url.split("#")
        if place:
            page.goto(address)  # in the same document
        page.reload()
        hand = Hand(Seen(page, folded=True))
    else:
        stage = request.getfixturevalue("stage")
        view = SUBJECTS[row.of](**row.given)
        stage.show(view)
        hand = Hand(Seen(stage.page, folded=True), view)
    if not row.front:
        hand.unfold()
    return hand


def test_the_table_is_long_and_its_names_are_its_own():
    assert len(ABILITIES) >= 60
    assert len({row.id for row in ABILITIES}) == len(ABILITIES)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("row", ABILITIES, ids=lambda row: row.id)
def test_it_can_be_done(request: pytest.FixtureRequest, embedded_lens, row: Ability) -> None:
    hand = opened(row, request)
    page = hand.seen.page
    steps = row.doing(hand)
    try:
        next(steps)
        clicks = hand.clicks
        assert next(steps, "checked") == "checked"
        assert clicks <= row.clicks_before + MORE, f"{clicks} clicks, {row.clicks_before} before"
    except BaseException:
        hand.leaves = True  # whatever is half done
        raise
    finally:
        if hand.leaves:
            page.reload()
