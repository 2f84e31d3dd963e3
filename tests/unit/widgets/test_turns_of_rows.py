"""A layer of a long text is answered in turns of some rows: others' questions wait for one turn, never for a head."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch

from bertlens.measures import rows
from bertlens.trace import Trace
from bertlens.widgets.answers import gate_answers, head_answers, layer_pictures
from bertlens.widgets.messages import turns
from bertlens.widgets.questions import QUESTIONS
from unit.measures.test_sources import TEXT, lens_of

LAYERED: list[tuple[str, dict[str, Any]]] = [
    ("pictures", {}),
    ("thumbs", {"measure": "norm"}),
    ("thumbs", {"measure": "difference"}),
    ("statistics", {"by": "weight"}),
    ("statistics", {"by": "norm"}),
    ("gates", {"threshold": 0.35, "margin": 0.1}),
]


def traced() -> Trace:
    return lens_of("bert").trace(TEXT)


def in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A head at a time, four rows at a time, and no patience."""
    monkeypatch.setattr(rows, "LEAST_ROWS", 4)
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", 4 * len(TEXT.split()))
    for module in (head_answers, gate_answers, layer_pictures):
        monkeypatch.setattr(module, "PATIENCE", 0.0)


@pytest.mark.parametrize(("name", "arguments"), LAYERED)
def test_an_answer_in_turns_is_the_same(name: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = traced(), traced()
    fields, arrays = QUESTIONS[name].answer(one, layer=1, **arguments)
    in_turns(monkeypatch)
    n_turns = 0
    while (made := QUESTIONS[name].answer(other, layer=1, **arguments))[0].get("again"):
        assert made == ({"again": True}, {})
        n_turns += 1
    assert n_turns >= one.n_heads * (one.n_tokens // 4)
    assert str(made[0]) == str(fields)
    for part, values in arrays.items():
        torch.testing.assert_close(made[1][part], values, atol=1e-6, rtol=1e-6, equal_nan=True)
    assert not other.kept("heads begun", dict)  # memory only: nothing else tells whether what is done is kept


@pytest.mark.parametrize(("name", "arguments"), LAYERED)
def test_begun_and_left_it_does_not_keep_the_trace(
    name: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_turns(monkeypatch)
    trace = traced()
    assert QUESTIONS[name].answer(trace, layer=1, **arguments)[0]["again"]
    freed = weakref.ref(trace)
    gc.disable()
    try:
        del trace
        assert freed() is None
    finally:
        gc.enable()


def test_what_goes_wrong_in_a_turn_is_said_and_begun_anew() -> None:
    trace, calls = traced(), []

    def work(_here: rows.Here, _heads: slice) -> turns.Steps[int]:
        calls.append(1)
        yield
        if len(calls) == 1:
            raise ZeroDivisionError
        return 7

    assert turns.by_heads(trace, 0, work, "some", patience=-1.0) is None
    with pytest.raises(ZeroDivisionError):
        turns.by_heads(trace, 0, work, "some")
    assert turns.by_heads(trace, 0, work, "some") == [7] * len(rows.head_groups(trace, 0))
