"""Heads: which is shown, which are drawn together, and how the atlas is ordered, coloured and filtered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from playwright.sync_api import expect

from bertlens.measures import byhead, gates, norms
from bertlens.measures.statistics import ATLAS_NAMES, STATISTICS
from browser.views import shown

from .hand import Hand
from .subjects import trace
from .table import ability

IT, CAT = 8, 2  # of the pair's tokens
FIRST = 10  # heads whose order is checked
Steps = Iterator[None]


def ranked(values: Any) -> list[str]:
    """Heads from the largest value on, of equal ones the lower first."""
    flat = np.asarray(values)
    order = np.argsort(-flat.ravel(), kind="stable")
    return [f"{n // flat.shape[1]}-{n % flat.shape[1]}" for n in order[:FIRST]]


def alpha() -> Any:
    """(L, H, S, S)"""
    pair = trace("pair")
    return torch.stack([pair.attention(layer) for layer in range(pair.n_layers)]).double().numpy()


def passed_on() -> Any:
    """(L, H, S, S), each row's shares by norm."""
    pair = trace("pair")
    found = torch.stack([norms.weighted_norm(pair, layer) for layer in range(pair.n_layers)]).double().numpy()
    return found / found.sum(-1, keepdims=True)


def in_order(hand: Hand, values: Any) -> None:
    """All heads are there, those with the largest values first."""
    hand.comes(lambda: hand.heads()[:FIRST], ranked(values))
    assert len(set(hand.heads())) == np.asarray(values).size


@ability("choose a head", 1)
def choose(hand: Hand) -> Steps:
    hand.head(3, 4)
    yield
    hand.shows("L3·H4")
    hand.has(layer=3, head=4)


@ability("go to the next head by an arrow key", 2)
def next_head(hand: Hand) -> Steps:
    hand.enter_heads()
    hand.press("ArrowRight")
    yield
    hand.shows("L1·H9")
    expect(hand.seen.thumb(1, 9)).to_be_focused()


@ability("go to the last head by a key", 2)
def last_head(hand: Hand) -> Steps:
    hand.enter_heads()
    hand.press("Control+End")
    yield
    hand.shows("L5·H11")


@ability("draw one more head", 1)
def overlay(hand: Hand) -> Steps:
    hand.add_head(0, 2)
    yield
    hand.has(heads=[[0, 2]], mode="lines")
    expect(hand.seen.chips()).to_have_count(2)


@ability("take a drawn head away", 1, heads=[[0, 2]], mode="lines")
def overlay_away(hand: Hand) -> Steps:
    hand.add_head(0, 2)
    yield
    hand.has(heads=[])
    expect(hand.seen.chips()).to_have_count(1)


@ability("draw all heads of a layer", 2)
def all_of_layer(hand: Hand) -> Steps:
    hand.mode("lines")
    hand.all_heads_of_layer(1)
    yield
    expect(hand.seen.chips()).to_have_count(12)


@ability("draw only one head again", 1, heads=[[1, 2], [1, 3]], mode="lines")
def only_one(hand: Hand) -> Steps:
    hand.only("L1·H8")
    yield
    hand.has(heads=[])
    expect(hand.seen.chips()).to_have_count(1)


@ability("mute a head in the lines", 1, heads=[[0, 2]], mode="lines")
def mute(hand: Hand) -> Steps:
    hand.mute(0)
    yield
    hand.comes(hand.drawn, [False, True])


@ability("leave one head alone in the lines", 2, heads=[[0, 2], [1, 3]], mode="lines")
def alone(hand: Hand) -> Steps:
    hand.mute(1, alone=True)
    yield
    hand.comes(hand.drawn, [False, True, False])


@ability("order the heads by the pinned cell", 2)
def by_cell(hand: Hand) -> Steps:
    hand.cell(IT, CAT)
    hand.order_by("cell")
    yield
    values = alpha()[:, :, IT, CAT]
    in_order(hand, values)
    assert hand.captions()[:FIRST] == [shown(v) for v in sorted(values.ravel(), reverse=True)[:FIRST]]


@ability("order the heads by the pinned cell, by norm", 3)
def by_cell_and_norm(hand: Hand) -> Steps:
    hand.cell(IT, CAT)
    hand.order_by("cell")
    hand.show("norm")
    yield
    pair = trace("pair")
    values = torch.stack([norms.weighted_norm(pair, n)[:, IT, CAT] for n in range(pair.n_layers)])
    in_order(hand, values)
    assert hand.captions()[0] == shown(float(values.max()))


@ability("order the heads by how sharp the pinned row is", 2)
def by_row(hand: Hand) -> Steps:
    hand.cell(IT, CAT)
    hand.order_by("row")
    yield
    row = alpha()[:, :, IT]
    entropy = -(row * np.log(row)).sum(-1)
    in_order(hand, -entropy)  # the sharpest first
    assert hand.captions()[0] == f"{entropy.min():.2f}"


@ability("order the heads by what the pinned token is given", 2)
def by_token(hand: Hand) -> Steps:
    hand.cell(IT, CAT)
    hand.order_by("token")
    yield
    received = alpha()[:, :, :, CAT].mean(-1)
    in_order(hand, received)
    assert hand.captions()[0] == f"{round(100 * received.max())} %"


@ability("order the heads by where weight and norm differ in the pinned row", 3)
def by_contrast(hand: Hand) -> Steps:
    hand.cell(IT, CAT)
    hand.order_by("contrast")
    yield
    in_order(hand, abs(alpha() - passed_on())[:, :, IT].sum(-1) / 2)


@ability("order the heads by where weight and norm differ", 1)
def by_variation(hand: Hand) -> Steps:
    hand.order_by("variation")
    yield
    differ = abs(alpha() - passed_on()).sum(-1).mean(-1) / 2
    in_order(hand, differ)
    assert hand.captions()[0] == f"{round(100 * differ.max())} %"


def by_statistic(name: str) -> None:
    """The number is Python's; of two heads that are alike to a rounding, either comes first."""

    @ability(f"order the heads by {STATISTICS[name].label}", 2)
    def doing(hand: Hand) -> Steps:
        hand.order_by(name)
        yield
        values = byhead.statistics(trace("pair"), "weight", [name]).values[..., 0].double().numpy()
        hand.comes(lambda: hand.heads()[0] in ranked(values)[:2], True)
        at = [tuple(map(int, one.split("-"))) for one in hand.heads()]
        found = [values[one] for one in at]
        assert found == sorted(found, reverse=True) or np.abs(np.diff(found)[np.diff(found) > 0]).max() < 1e-6


for _name in ATLAS_NAMES:
    by_statistic(_name)


@ability("order the heads by gate", 2)
def by_gate(hand: Hand) -> Steps:
    hand.order_by("gate")
    yield
    labels = gates.classify(trace("pair")).set_index(["layer", "head"]).label
    order = [*gates.GATES, "mixed", "undefined"]
    hand.comes(lambda: hand.heads()[:2] == ["0-0", "0-1"], False)
    found = [order.index(labels[tuple(map(int, one.split("-")))]) for one in hand.heads()]
    assert found == sorted(found) and len(found) == 72


@ability("go back to the order of layers and heads", 2, settings={"atlas_order": "entropy"})
def by_place(hand: Hand) -> Steps:
    hand.order_back()
    yield
    hand.comes(lambda: hand.heads()[:FIRST], [f"0-{n}" for n in range(FIRST)])


@ability("go along the heads in their order by an arrow key", 4)
def along(hand: Hand) -> Steps:
    hand.order_by("next")
    hand.enter_heads()
    hand.press("ArrowRight")
    yield
    after = hand.heads()[hand.heads().index("1-8") + 1]
    expect(hand.root.locator(f"[data-head='{after}']")).to_be_focused()
    hand.shows("L{}·H{}".format(*after.split("-")))


@ability("set bars of a statistic beside layers and heads", 2)
def bars(hand: Hand) -> Steps:
    hand.bars("next")
    yield
    mean = float(np.mean([np.trace(one, 1) for one in alpha()[3]]) / 21)
    expect(hand.bar(3)).to_have_attribute("aria-label", f"Layer 3, mean to the next token: {round(100 * mean)} %")


@ability("leave out heads below a value", 1, settings={"atlas_stat": "previous"})
def at_least(hand: Hand) -> Steps:
    hand.at_least(0.5)
    yield
    previous = np.array([[np.trace(one, -1) / 21 for one in layer] for layer in alpha()])
    hand.comes(hand.left_out, int((previous < 0.5 * previous.max()).sum()))


@ability("find the heads of one gate", 1)
def of_gate(hand: Hand) -> Steps:
    hand.gate("backward contextual")
    yield
    table = gates.classify(trace("pair"))
    others = table[table.label != "backward contextual"]
    wanted = [f"{layer}-{head}" for layer, head in zip(others.layer, others["head"], strict=True)]
    hand.comes(lambda: sorted(hand.receding()), sorted(wanted))


@ability("colour the heads by a statistic", 1)
def colour(hand: Hand) -> Steps:
    hand.colour()
    yield
    hand.comes(lambda: len(hand.coloured()), 72)


@ability("show all thumbnails on one scale", 1)
def one_scale(hand: Hand) -> Steps:
    weights = alpha().max((-1, -2))
    faint = divmod(int(weights.argmin()), 12)
    before = hand.picture(*faint)
    hand.one_scale()
    yield
    hand.comes(lambda: bool((hand.picture(*faint) == before).all()), False)
    assert hand.picture(*faint)[..., :3].min() > before[..., :3].min()  # fainter than on its own scale


@ability("read what a head does without choosing it", 0)
def hover_head(hand: Hand) -> Steps:
    hand.seen.thumb(0, 2).hover()
    yield
    share = round(100 * float(np.trace(alpha()[0, 2], -1)) / 21)
    expect(hand.seen.tip).to_contain_text(re.compile(rf"L0·H2.*\b{share} %", re.DOTALL))
    hand.has(layer=1, head=8)
