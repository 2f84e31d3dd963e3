"""What is asked of a run that has it already: every kind of change against runs without it, for every answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bertlens import Trace, whatif
from bertlens.whatif.swept_numbers import swept_numbers
from bertlens.widgets.answers import matter
from bertlens.widgets.answers.whatif import matters, matters_exact
from unit.whatif.test_effects import CHANGES, CLASSES, HEAD, KEY, LAYER, QUERY, first_at, numbers, traced

# what the run has, and which of the three rows (head off, cell cut, token hidden) it leaves nothing to do
HEAD_CELL, CELL, CELL_TOKEN, NONE = (True, True, False), (False, True, False), (False, True, True), (False,) * 3
THERE: dict[str, tuple[Any, tuple[bool, bool, bool]]] = {
    "head": (lambda other: whatif.off(LAYER, HEAD), HEAD_CELL),
    "layer": (lambda other: whatif.off(LAYER), HEAD_CELL),
    "another head": (lambda other: whatif.off(LAYER, HEAD + 1), NONE),
    "cell": (lambda other: whatif.cut(LAYER, HEAD, QUERY, KEY), CELL),
    "cell, the rest as it was": (lambda other: whatif.cut(LAYER, HEAD, QUERY, KEY, renormalize=False), CELL),
    "column of all heads": (lambda other: whatif.cut(LAYER, None, None, KEY), CELL),
    "another cell": (lambda other: whatif.cut(LAYER, HEAD, QUERY, KEY + 1), NONE),
    "token": (lambda other: whatif.hide(KEY), CELL_TOKEN),
    "another token": (lambda other: whatif.hide(KEY + 1), NONE),
    "mlp": (lambda other: whatif.mlp(LAYER), NONE),
    "mean": (lambda other: whatif.mean(LAYER, HEAD), NONE),
    "neuron": (lambda other: whatif.neuron(LAYER, HEAD, 1), NONE),
    "pattern": (lambda other: whatif.pattern(LAYER, HEAD, "uniform"), NONE),
    "resample": (lambda other: whatif.resample(LAYER, HEAD, other), CELL),
    "patch": (lambda other: whatif.patch(LAYER, QUERY, other, what="attention"), CELL),
}


def runs(name: str, kind: str) -> tuple[Trace, Any]:
    trace = traced(name)
    there = THERE[kind][0](trace.rerun(whatif.off(0, 0)))
    return trace.rerun(whatif.off(0, 1), there), there


def place_of(numbers_of: dict[tuple[int, str], float], fields: dict[str, Any]) -> tuple[int, str]:
    """The first answer at the place that is told of; of spans, anywhere."""
    if fields["kind"] == "span":
        return max(numbers_of, key=lambda at: numbers_of[at])
    return fields["position"], first_at(numbers_of, fields["kind"], fields["position"])


@pytest.mark.sampled(30)
@pytest.mark.parametrize("kind", THERE)
@pytest.mark.parametrize("name", CLASSES)
def test_rows_are_compared_with_the_run_without_what_it_has(name: str, kind: str) -> None:
    trace, there = runs(name, kind)
    fields = matter.cell_matters(trace, LAYER, HEAD, QUERY, KEY)[0]
    rest = trace.original.rerun(whatif.off(0, 1))
    for row, change, covered in zip(fields["rows"], CHANGES, THERE[kind][1], strict=True):
        assert row["cover"] == ([1] if covered else [])
        base = rest if covered else trace
        before, after = (numbers(run, fields["kind"]) for run in (base, base.rerun(change)))
        place, then = (place_of(found, fields) for found in (before, after))
        assert row["before"] == pytest.approx(before[place], abs=2e-6)
        assert row["after"] == pytest.approx(after[place], abs=2e-6)
        assert row["first"] == ("" if then == place else then[1])
        assert row["name"] == place[1] or len(before) == 1
        if covered and there == change:  # then after is the run that is shown
            assert row["after"] == pytest.approx(numbers(trace, fields["kind"])[place], abs=2e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["head", "layer", "token"])
@pytest.mark.parametrize("name", CLASSES)
def test_a_saved_page_holds_the_same_rows(name: str, kind: str) -> None:
    trace, _ = runs(name, kind)
    fields, arrays = matter.each_matters(trace)
    asked_of = matter.cell_matters(trace, LAYER, HEAD, QUERY, KEY)[0]
    cover = {n: (there, bases) for n, there, bases in fields["cover"]}
    heads = [LAYER * trace.n_heads + h for h in range(trace.n_heads)]
    token = trace.n_layers * trace.n_heads + KEY
    wanted = {"head": heads[HEAD : HEAD + 1], "layer": heads, "token": [token]}[kind]
    assert sorted(cover) == sorted([1, *wanted])  # and the other head that is off
    for n, row in ((heads[HEAD], asked_of["rows"][0]), (token, asked_of["rows"][2])):
        at = [place for place, *_ in fields["places"]].index(asked_of["position"])
        there, bases = cover.get(n, ([], [(name, before) for _, name, before in fields["places"]]))
        assert there == row["cover"]
        assert bases[at] == (row["name"], pytest.approx(row["before"], abs=1e-6))
        assert bases[at][1] + arrays["change"][n, at] == pytest.approx(row["after"], abs=2e-6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["head", "layer"])
@pytest.mark.parametrize("name", CLASSES)
def test_heads_that_are_off_keep_their_number(name: str, kind: str) -> None:
    trace, _ = runs(name, kind)
    metric = next(iter(swept_numbers(trace)))
    rest = trace.original.rerun(whatif.off(0, 1))
    off = range(trace.n_heads) if kind == "layer" else [HEAD]
    values = matters_exact(trace, metric, LAYER)[1]["values"]
    there, without = (matters_exact(run, metric, LAYER)[1]["values"] for run in (trace, rest))
    for head in range(trace.n_heads):
        assert values[head] == pytest.approx((without if head in off else there)[head], abs=2e-6)
    assert np.abs(values[list(off)]).max() > 1e-5
    estimated = matters(trace, metric)[1]["values"]
    if not np.isnan(estimated).all():
        assert np.flatnonzero(np.isnan(estimated)).tolist() == [1, *(LAYER * trace.n_heads + h for h in off)]
