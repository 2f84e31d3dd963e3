"""Figures of the view's own selection: units, filters and maps of layers, and running text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens import InputError, Lens, ModelError, SelectionError, Trace
from bertlens.measures import norms
from bertlens.measures.words import merge_map, units
from bertlens.plots.grid import shown_grid
from unit import tiny


@pytest.fixture(scope="module")
def pair() -> Trace:
    return Lens(tiny.bert(), tiny.wordpiece()).trace("the unbelievable cats sat", "it was warm.")


def test_words_are_merged_as_the_measures_do(pair: Trace) -> None:
    for measure, values in (("weight", pair.attention(1)[3]), ("norm", norms.weighted_norm(pair, 1)[3])):
        grid = shown_grid(pair, 1, 3, measure, units="words")
        np.testing.assert_allclose(grid.values, merge_map(pair, values.float()).numpy(), atol=1e-6)
        assert [list(unit.pieces) for unit in grid.rows] == units(pair)
    assert [unit.label for unit in grid.rows][:4] == ["[CLS]", "the", "unbelievable", "cats"]


def test_filters_leave_the_cells_that_they_name(pair: Trace) -> None:
    alpha, segments, special = pair.attention(0)[2].numpy(), pair.segments.numpy(), pair.special_mask.numpy()
    for name, (a, b) in {"AA": (0, 0), "AB": (0, 1), "BA": (1, 0), "BB": (1, 1)}.items():
        grid = shown_grid(pair, 0, 2, pair_filter=name, hide_special=True)
        left = alpha[(segments == a) & ~special][:, (segments == b) & ~special]
        np.testing.assert_array_equal(grid.values, left)
        scaled = shown_grid(pair, 0, 2, pair_filter=name, hide_special=True, renormalize=True)
        np.testing.assert_allclose(scaled.values, left / left.sum(1, keepdims=True), rtol=1e-6)
    whole = shown_grid(pair, 0, 2, renormalize=True)  # nothing is hidden
    np.testing.assert_array_equal(whole.values, alpha)
    [edge] = whole.edges(whole.rows)
    assert edge == int(segments.argmax()) and shown_grid(pair, 0, 2, pair_filter="BB").edges(whole.cols) == [edge]


def test_a_map_of_a_layer_is_that_of_the_measure(pair: Trace) -> None:
    grid = shown_grid(pair, 1, None, layer_map="attnres-n", hide_special=True, renormalize=True)
    content = ~pair.special_mask
    wanted = norms.attnres_norm(pair, 1)[content][:, content].float()
    np.testing.assert_array_equal(grid.values, wanted.numpy())  # norms are no shares of a row
    assert grid.title == "L1 AttnRes-N, ‖Σₕ αf(x) + δx‖"
    axes = bl.plots.attention_map(pair, 1, layer_map="attnres-n")
    assert axes.get_title() == "L1 AttnRes-N, ‖Σₕ αf(x) + δx‖"


def test_the_legend_says_what_lies_beyond_its_end() -> None:
    rows = np.full((80, 80), 0.8 / 79, np.float32)
    rows[:, 0] = 0.2
    rows[3] = np.eye(80, dtype=np.float32)[5]
    trace = Trace.from_attentions([rows[None]], [f"t{n}" for n in range(80)])
    axes = bl.plots.attention_map(trace, 0, 0, gate="")
    assert axes.figure.axes[1].get_ylabel() == "α, larger ones alike (up to 1.000)"


def test_running_text_breaks_at_its_width(pair: Trace) -> None:
    narrow, wide = (bl.plots.running_text(pair, 1, 3, query=2, width=width) for width in (40, 180))
    assert {box.get_x() + box.get_width() <= narrow.get_xlim()[1] for box in narrow.patches} == {True}
    lines = [len({round(box.get_y(), 3) for box in axes.patches}) for axes in (narrow, wide)]
    assert lines[0] > lines[1] == 2  # each sentence a line
    _, given = bl.plots.figure.pyplot().subplots()
    assert bl.plots.running_text(pair, 1, 3, key=2, axes=given) is given


def test_what_does_not_exist(pair: Trace) -> None:
    bad: list[dict[str, Any]] = [
        {"units": "letters"},
        {"pair_filter": "CC"},
        {"layer_map": "nothing"},
        {"measure": "score"},
        {"head": None},
        {"head": 99},
        {"layer": 9},
    ]
    for one in bad:
        with pytest.raises(SelectionError):
            shown_grid(**({"trace": pair, "layer": 0, "head": 0} | one))
    with pytest.raises(InputError, match="a gate is outlined in all pieces of a head"):
        bl.plots.attention_map(pair, 0, 0, gate="self", units="words")
    texts: list[tuple[dict[str, Any], str]] = [
        ({}, "give a query or a key"),
        ({"query": 1, "key": 1}, "give a query or a key"),
        ({"query": 99}, "query"),
        ({"query": 0, "hide_special": True}, "query 0 is filtered out"),
        ({"key": 1, "pair_filter": "AB"}, "key 1 is filtered out"),
        ({"query": 1, "theme": "auto"}, "theme is one of"),
    ]
    for options, message in texts:
        with pytest.raises(SelectionError, match=message):
            bl.plots.running_text(pair, 0, 0, **options)
    maps = Trace.from_attentions([np.full((1, 3, 3), 1 / 3, np.float32)], ["a", "b", "c"])
    with pytest.raises(ModelError):
        shown_grid(maps, 0, 0, layer_map="attn-n")
    only = Lens(tiny.bert(), tiny.wordpiece()).trace("")
    with pytest.raises(SelectionError, match="no tokens are left"):
        shown_grid(only, 0, 0, hide_special=True)
