"""Two runs beside each other, as a page's own model answers it: against bertlens.compare on the same weights."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens import whatif
from bertlens.comparison.alignment import common
from bertlens.widgets.panels.comparison_panel import ComparisonPanel
from unit.export import engine

TYPED = "The old cat sat on the mat, and the mat was on the unbelievably old floor."
OTHER = "The old mat, the cat and the floor: on the mat the old cat sat 㐂, naïve."
PAIR = ("The cat sat down.", "It was asleep.")
LONG = "She gave the dog a bone, and he buried it at once in the garden. " * 9
HEBREW = ("הילד קרא 12 ספרים ביום אחד.", "ביום אחד הילד קרא קרא ספרים.")
ALIGNED = {"aligned": True}
WINDOWS = [("weight", 0, 0, {}), ("norm", 0, 0, ALIGNED), ("difference", 3, 2, {})]


def about(other: list[str], row: int = 0) -> list[dict[str, Any]]:
    asked = {"trace": "last", "other": other}
    maps = [
        {
            "op": "compared",
            **asked,
            "layer": 2,
            "head": 5,
            "measure": measure,
            "row": row + at,
            "col": row + col,
            **kind,
        }
        for measure, at, col, kind in WINDOWS
    ]
    heads = [{"op": "compared_heads", **asked, **kind} for kind in ({}, ALIGNED)]
    return [{"op": "compared_with", **asked}, *heads, {"op": "compared_answers", **asked}, *maps]


QUESTIONS = [
    {"op": "trace", "text": TYPED},
    *about(["text", OTHER, "", ""]),
    {"op": "compared_with", "trace": "last", "other": ["original"]},
    {"op": "change", "trace": "last", "changes": [["off", 1, 3], ["hide", 4]]},
    *about(["original"]),
    {"op": "trace", "text": PAIR[0], "text_pair": PAIR[1]},
    *about(["text", PAIR[1], PAIR[0], ""]),
    {"op": "trace", "text": LONG},
    *about(["text", f"{TYPED} {LONG}", "", ""], 20),
    {"op": "trace", "text": HEBREW[0]},
    *about(["text", HEBREW[1], "", ""]),
]


@pytest.fixture(scope="module")
def said(embedded_lens: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """[(comparison, first row, answers to `about`)]"""
    lens, found = engine.asked(
        embedded_lens, "The cat sat.", QUESTIONS, tmp_path_factory.mktemp("compare"), decimals=[(512, 3)]
    )
    trace = lens.trace(TYPED)
    runs = [
        (trace, lens.trace(OTHER), 0),
        (trace, trace.rerun(whatif.off(1, 3), whatif.hide(4)), 0),
        (lens.trace(*PAIR), lens.trace(*PAIR[::-1]), 0),
        (lens.trace(LONG), lens.trace(f"{TYPED} {LONG}"), 20),
        (lens.trace(HEBREW[0]), lens.trace(HEBREW[1]), 0),
    ]
    refused = found.pop(1 + len(about([])))
    assert refused[0] == "this run is the unchanged one"
    assert [error for error, *_ in found] == [""] * len(found)
    step = 1 + len(about([]))
    return [(bl.compare(a, b), row, found[n * step + 1 : (n + 1) * step]) for n, (a, b, row) in enumerate(runs)]


RUNS = pytest.mark.parametrize("run", [0, 1, 2, 3, 4], ids=["texts", "original", "pairs", "long", "hebrew"])


@RUNS
def test_two_runs_are_told_of_as_python_does(said, run):
    comparison, _, answers = said[run]
    own = json.loads(json.dumps(ComparisonPanel(comparison).told()))
    found = answers[0][1]
    model = {side.pop("model") for side in found["sides"]}
    assert model == {"all-MiniLM-L6-v2"} and all(side.pop("model") for side in own["sides"])
    assert found == own
    if run == 0:
        assert "Another alignment is as long" in own["said"][0] and "Only aligned tokens: " in own["said"][1]


@RUNS
def test_how_far_heads_are_apart(said, run):
    comparison, _, answers = said[run]
    for n, aligned in ((1, False), (2, True)):
        own = ComparisonPanel(comparison).heads(aligned)[0]
        assert answers[n][1]["apart"] == pytest.approx(own["apart"], abs=1e-5)
        assert answers[n][1]["most"] == json.loads(json.dumps(own["most"]))
    if run in (0, 2):  # words that stand elsewhere in the other text
        assert "not aligned with this one" in " ".join(one["words"] for one in answers[1][1]["most"])


@RUNS
def test_one_head_in_both(said, run):
    comparison, row, answers = said[run]
    for (measure, at, col, kind), (_, fields, _, arrays) in zip(WINDOWS, answers[4:], strict=True):
        asked = {"layer": 2, "head": 5, "measure": measure, "row": row + at, "col": row + col}
        own_fields, own = ComparisonPanel(comparison).maps(*asked.values(), **kind)
        assert {**fields, "arrays": 0} == {**json.loads(json.dumps(own_fields)), "arrays": 0}
        for side in "ab":
            assert arrays[side].shape == own[side].shape
            np.testing.assert_allclose(arrays[side], own[side], atol=2e-5)


@RUNS
def test_what_the_model_answers_in_both(said, run):
    comparison, _, answers = said[run]
    own = comparison.answers()
    found = answers[3][1]
    assert (found["unit"], found["said"]) == (own.unit, own.said) and own.unit == "cosine"
    [[where, name, a, b]] = found["rows"]
    assert [(row.where, row.name) for row in own.rows] == [(where, name)]
    assert b == pytest.approx(own.rows[0].b, abs=1e-5)
    assert (a is None and np.isnan(own.rows[0].a)) or a == pytest.approx(own.rows[0].a, abs=1e-5)


def test_what_two_texts_have_in_common_where_there_is_a_choice(tmp_path):
    rng = random.Random(7)
    texts = [[rng.choices("abcd"[: 2 + n % 3], k=1 + rng.randrange(14)) for _ in range(2)] for n in range(400)]
    found = engine.node(tmp_path, commons=texts)
    for (x, y), one in zip(texts, found, strict=True):
        pairs, free = common([(key,) for key in x], [(key,) for key in y])
        assert one == {"pairs": [list(pair) for pair in pairs], "open": [list(pair) for pair in free]}
