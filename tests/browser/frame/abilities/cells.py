"""One head: which of its cells are pinned, the way back, and what is said."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from browser.views import shown

from .hand import Hand
from .heads import CAT, IT, Steps
from .subjects import trace
from .table import ability

PINNED: dict[str, Any] = {"query": 3, "key": 4}


def expect_pinned(hand: Hand, query: int | None, key: int | None) -> None:
    hand.has(query=query, key=key)
    expect(hand.root.locator(".bl-mark-cell")).to_have_count(1 if query is not None and key is not None else 0)


def numbers(hand: Hand) -> list[float]:
    return [value for _, value in hand.seen.listed()]


def largest(row: object) -> list[float]:
    return sorted((round(float(v), 3) for v in np.asarray(row)), reverse=True)


def lists(hand: Hand, row: object) -> None:
    """The list beside the head has the largest numbers of a row."""
    wanted = largest(row)
    hand.comes(lambda: bool(found := numbers(hand)) and found[:5] == pytest.approx(wanted[:5], abs=1.1e-3), True)


@ability("pin a cell", 1)
def cell(hand: Hand) -> Steps:
    hand.cell(IT, CAT)
    yield
    expect_pinned(hand, IT, CAT)
    lists(hand, trace("pair").attention(1)[8, IT])


@ability("pin a cell by keys", 4)
def cell_by_keys(hand: Hand) -> Steps:
    hand.enter_matrix()
    hand.press("ArrowDown", "ArrowRight", "Enter")
    yield
    expect_pinned(hand, 1, 1)


@ability("unpin by a key", 2, **PINNED)
def escape(hand: Hand) -> Steps:
    hand.enter_matrix()
    hand.press("Escape")
    yield
    expect_pinned(hand, None, None)


@ability("unpin a cell by another click", 1, **PINNED)
def cell_again(hand: Hand) -> Steps:
    hand.cell(3, 4)
    yield
    expect_pinned(hand, None, None)


@ability("pin a word that looks", 1)
def query(hand: Hand) -> Steps:
    hand.query(IT)
    yield
    expect_pinned(hand, IT, None)
    lists(hand, trace("pair").attention(1)[8, IT])


@ability("pin a word that is looked at", 1)
def key(hand: Hand) -> Steps:
    hand.key(CAT)
    yield
    expect_pinned(hand, None, CAT)
    lists(hand, trace("pair").attention(1)[8, :, CAT])


@ability("pin a word of the list beside the head", 1, query=3)
def listed(hand: Hand) -> Steps:
    hand.listed("on")
    yield
    expect_pinned(hand, 3, 4)


@ability("find a word by its letters", 2)
def find(hand: Hand) -> Steps:
    hand.find("rug")
    yield
    expect_pinned(hand, trace("pair").tokens.index("rug"), None)


@ability("find a word as the one that is looked at", 2)
def find_key(hand: Hand) -> Steps:
    hand.find("dog", "Control+Enter")
    yield
    expect_pinned(hand, None, trace("pair").tokens.index("dog"))


@ability("find a token by its place", 2)
def find_place(hand: Hand) -> Steps:
    hand.find("17")
    yield
    expect_pinned(hand, 17, None)


@ability("go on to the next place of a word", 3)
def find_next(hand: Hand) -> Steps:
    hand.find("the")
    hand.press("Enter")
    yield
    places = [n for n, token in enumerate(trace("pair").tokens) if token == "the"]
    expect_pinned(hand, places[1], None)


@ability("read a cell without pinning it", 0)
def hover(hand: Hand) -> Steps:
    hand.point_at(IT, CAT)
    yield
    expect(hand.seen.tip).to_contain_text(shown(float(trace("pair").attention(1)[8, IT, CAT])))
    hand.has(query=None, key=None)


@ability("hear the number of a cell by keys", 3)
def heard(hand: Hand) -> Steps:
    hand.enter_matrix()
    hand.press("ArrowDown", "ArrowDown")
    yield
    value = shown(float(trace("pair").attention(1)[8, 2, 0]))
    expect(hand.seen.said).to_contain_text(re.compile(rf"cat .*\[CLS\].*{value}"))


@ability("go back after a wrong click", 2)
def back(hand: Hand) -> Steps:
    hand.head(4, 5)
    hand.back()
    yield
    hand.shows("L1·H8")


@ability("go forward again", 3)
def forward(hand: Hand) -> Steps:
    hand.head(4, 5)
    hand.back()
    hand.forward()
    yield
    hand.shows("L4·H5")


@ability("go back by keys", 2)
def back_by_keys(hand: Hand) -> Steps:
    hand.head(4, 5)
    hand.press("Alt+ArrowLeft")
    yield
    hand.shows("L1·H8")


@ability("ask what is seen", 1, settings={"explain": False}, **PINNED)
def explain(hand: Hand) -> Steps:
    hand.explain()
    yield
    expect(hand.explained()).to_contain_text(shown(float(trace("pair").attention(1)[8, 3, 4])))


@ability("see the keys that do something", 1, front=True)
def help(hand: Hand) -> Steps:
    hand.help()
    yield
    for key in ("Escape", "Alt", "Enter", "x"):
        expect(hand.helped()).to_contain_text(key)


@ability("present a head", 1, front=True, **PINNED)
def present(hand: Hand) -> Steps:
    slide = hand.present()
    yield
    expect(slide.get_by_test_id("says")).to_contain_text("“sat”")
    hand.seen.page.keyboard.press("Escape")
    expect(slide).to_have_count(0)


@ability("go through what is presented by keys", 7, front=True, **PINNED)
def steps(hand: Hand) -> Steps:
    slide = hand.present()
    hand.press(*["ArrowRight"] * 5, "ArrowDown")
    yield
    expect(slide.get_by_test_id("says")).to_contain_text("“on”")  # the next word asks
    hand.has(query=4)
    hand.seen.page.keyboard.press("Escape")
    expect(slide).to_have_count(0)


@ability("choose layer and head where a view has no atlas", 4, of="head alone")
def selects(hand: Hand) -> Steps:
    hand.layer_and_head(4, 5)
    yield
    hand.shows("L4·H5")
