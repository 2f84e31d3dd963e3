"""Heads that move the answer together: the numbers are those of runs without them, and none of the others moves it
further."""

from __future__ import annotations

from typing import Any

import pytest

from bertlens import Lens, whatif
from bertlens.base.generators import run_to_end
from bertlens.base.vocabulary.constants import LITTLE
from bertlens.whatif import head_sets as of_sets
from bertlens.whatif.head_sets import HeadSets, head_sets
from bertlens.widgets.answers import first_answer
from unit import tiny
from unit.whatif.test_strongest_heads import KINDS, as_bar, drawn, lens_of

NOT = "The cat did [MASK] drink the milk because it was sour."


def of(trace: Any, about: tuple[str | None, int | None] = (None, None)) -> HeadSets:
    return run_to_end(head_sets(lambda: trace, about))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_each_head_that_is_added_moves_it_furthest_by_brute_force(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole runs, of all heads."""
    monkeypatch.setattr(of_sets, "CANDIDATES", 100)
    trace = lens_of(kind).trace(*KINDS[kind][1])
    first = whatif.answers(trace).rows[0]

    def number(heads: list[tuple[int, int]]) -> float:
        run = trace.rerun(*(whatif.off(*head) for head in heads)) if heads else trace
        return as_bar(kind, drawn(run, first.name, first.position))

    outcome = of(trace)
    before = number([])
    assert outcome.number.before == pytest.approx(before, abs=1e-6)
    assert len(set(outcome.heads)) == len(outcome.heads) == 6 and outcome.tried == trace.n_layers * trace.n_heads
    for n in (1, 2, 4):
        others = [
            (layer, head)
            for layer in range(trace.n_layers)
            for head in range(trace.n_heads)
            if (layer, head) not in outcome.heads[: n - 1]
        ]
        sizes = {head: abs(number([*outcome.heads[: n - 1], head]) - before) for head in others}
        assert sizes[outcome.heads[n - 1]] >= max(sizes.values()) - 3e-6
        assert outcome.values[n - 1] == pytest.approx(number([*outcome.heads[:n]]), abs=3e-6)


def test_no_head_alone_and_three_together(language_model: Lens) -> None:
    """The story of the mock: *not* hangs on no head, and on three."""
    trace = language_model.trace(NOT)
    outcome = of(trace)
    assert outcome.number.name == "not" and outcome.tried == 24
    assert outcome.heads[:4] == ((1, 9), (1, 11), (2, 11), (3, 8))
    run = trace.rerun(*(whatif.off(*head) for head in outcome.heads[:3]))
    assert outcome.values[2] == pytest.approx(run.predictions(1)["probability"][0], abs=1e-6)
    assert abs(outcome.values[0] - outcome.number.before) < LITTLE < 0.2 < outcome.number.before - outcome.values[2]
    other = of(language_model.trace(NOT), ("never", 4))
    assert other.number.name == "never" and other.number.before < 0.01


def test_a_saved_page_holds_them_where_no_head_matters_alone(language_model: Lens) -> None:
    assert [*first_answer.carried_head_sets(language_model.trace(NOT), [])] == [{}]
    milk = "The cat did not drink the milk because the [MASK] was sour."
    assert [*first_answer.carried_head_sets(language_model.trace(milk), [])] == []
    assert [*first_answer.carried_head_sets(language_model.trace(NOT).rerun(whatif.off(0, 0)), [])] == []


def test_refusals_and_turns(language_model: Lens) -> None:
    fields, _ = first_answer.head_sets(language_model.trace("The cat sat."), patience=60)
    assert "mask" in fields["why_not"].lower() and fields["heads"] == []
    given = Lens(tiny.bert(), tiny.wordpiece()).trace("the cat")
    assert first_answer.head_sets(given, patience=60)[0]["heads"]  # of a lone vector too
    trace = language_model.trace(NOT)
    fields, _ = first_answer.head_sets(trace, patience=0)
    assert fields["again"] and 0 <= fields["done"] < 1
    while fields.get("again"):
        fields, _ = first_answer.head_sets(trace, patience=0)
    assert len(fields["heads"]) == 6
    long = language_model.trace(" ".join(["the cat sat on the mat and"] * 30) + " [MASK] .")
    assert "tokens" in first_answer.head_sets(long)[0]["why_not"]
