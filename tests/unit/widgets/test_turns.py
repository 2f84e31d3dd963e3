"""Long work gives way: a head is answered between two turns of any question that takes several."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import bertlens as bl
from bertlens.widgets.messages import turns
from bertlens.widgets.questions import QUESTIONS
from unit import tiny
from unit.asking import replies
from unit.widgets.test_questions_long import VALUES

LAYERS, HEADS = 2, 3
# each question that takes turns, with the least number of them: of one head in a layer, of all of a layer, of all heads
IN_TURN = {
    "pictures": HEADS,
    "thumbs": HEADS,
    "statistics": HEADS,
    "gates": HEADS,
    "spectra": 2,
    "score_maps": 4,
    "norm_view": LAYERS * HEADS,
    "moved": LAYERS * HEADS,
    "survey": LAYERS * HEADS,
    "compared_heads": LAYERS * HEADS,
}
HEAD = {"op": "head", "layer": 0, "head": 2}


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    model = tiny.bert(
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        hidden_size=8 * HEADS,
        intermediate_size=48,
        max_position_embeddings=1100,
    )
    return bl.Lens(tiny.shaken(model), tiny.wordpiece())


def traced(lens: bl.Lens) -> bl.Trace:
    return lens.trace("the cat sat on the mat . it was very warm . " * 90)


def opened(lens: bl.Lens, trace: bl.Trace, op: str) -> Any:
    if op == "survey":
        return trace.explore(stats=bl.survey.head_stats(lens, ["the cat sat on the mat"] * 8, progress=False))
    if op == "compared_heads":
        return bl.compare(trace, trace.rerun(bl.whatif.off(0, 1))).explore()
    return trace.rerun(bl.whatif.off(0, 1)).explore() if op == "moved" else trace.explore()


def asked(view: Any, message: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    return replies(view, {"id": 1, "trace": view.overview["header"]["trace"], "map": "self"} | message)[0]


def message_of(op: str) -> dict[str, Any]:
    names = [name.removesuffix("?") for name in QUESTIONS[op].arguments if name != "other?"]  # the view has both runs
    return {"op": op} | {name: VALUES[name][0] for name in names}


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which every step takes longer than a page's patience; two or more steps for a head's rows."""
    clock = iter(range(10**9))
    monkeypatch.setattr(turns.time, "monotonic", lambda: float(next(clock)))
    for module in ("rows", "leading"):
        monkeypatch.setattr(f"bertlens.measures.{module}.within", lambda name, *tokens: False, raising=False)
    monkeypatch.setattr("bertlens.measures.rows.WEIGHTS_AT_ONCE", 1 << 16)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("op", IN_TURN)
def test_a_head_is_answered_between_two_turns(op: str, lens: bl.Lens, hurried: None) -> None:
    trace = traced(lens)
    view, message, n_turns = opened(lens, trace, op), message_of(op), 1
    while (fields := asked(view, message)[0]).get("again"):
        n_turns += 1
        between = asked(view, HEAD)[0]
        assert (between["layer"], between["head"]) == (0, 2) and "again" not in between
    assert "error" not in fields
    assert n_turns >= IN_TURN[op]


@pytest.mark.parametrize("op", ["survey", "compared_heads"])
def test_turns_give_what_one_turn_gives(op: str, lens: bl.Lens, hurried: None, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced(lens)
    view, message = opened(lens, trace, op), message_of(op)
    while (found := asked(view, message))[0].get("again"):
        pass
    monkeypatch.setattr(turns.time, "monotonic", lambda: 0.0)
    whole = asked(opened(lens, trace, op), message)
    assert {**whole[0], "id": 0} == {**found[0], "id": 0} and whole[1] == found[1]


def test_a_survey_that_nobody_ends_does_not_keep_the_trace(lens: bl.Lens, hurried: None) -> None:
    trace = traced(lens)
    view = opened(lens, trace, "survey")
    assert asked(view, message_of("survey"))[0]["again"]
    gone = weakref.ref(trace)
    view.close()
    del trace, view
    gc.collect()
    assert gone() is None
