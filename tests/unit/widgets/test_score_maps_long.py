"""The score as a sum of pictures, of a long text: in turns, without S × S numbers, and without keeping the trace."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any

import pytest
import torch

from bertlens.base.limits import LIMITS, Limit
from bertlens.measures import sources
from bertlens.trace import Trace
from bertlens.widgets.answers import score_maps
from bertlens.widgets.messages import turns
from bertlens.widgets.questions import QUESTIONS
from unit.measures.test_sources import TEXT, lens_of


def traced(kind: str = "bert") -> Trace:
    return lens_of(kind).trace(TEXT)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_in_blocks_and_turns_they_are_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced(kind)
    fields, arrays = score_maps.score_maps(trace, 2, 1)
    monkeypatch.setattr(score_maps, "AT_ONCE", 5 * trace.n_tokens)
    monkeypatch.setattr(score_maps, "TOKENS", 4)
    monkeypatch.setitem(LIMITS, "at_once", Limit(4, "", ""))
    monkeypatch.setattr(score_maps, "PATIENCE", 0.0)
    n_turns = 0
    while (made := QUESTIONS["score_maps"].answer(trace, layer=2, head=1))[0].get("again"):
        assert made == ({"again": True}, {})
        n_turns += 1
    assert n_turns > 2 * trace.n_tokens / 5
    assert made[0]["pairs"] == fields["pairs"]
    assert made[0]["share"] == pytest.approx(fields["share"], abs=1e-6) and made[0]["gap"] < 1e-4
    torch.testing.assert_close(made[1]["values"], arrays["values"], atol=1e-5, rtol=0, equal_nan=True)
    assert not turns.unfinished(trace)  # memory only: nothing else tells whether what is done is kept


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_cell_of_several_tokens_has_the_largest_of_them(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced(kind)
    whole = score_maps.score_maps(trace, 2, 1)[1]["values"]
    monkeypatch.setattr(score_maps, "MOST_CELLS", 4)
    fields, arrays = score_maps.score_maps(traced(kind), 2, 1)
    block = fields["block"]
    assert block > 1 and arrays["values"].shape[1] <= 4
    for picture, cells in zip(whole, arrays["values"], strict=True):
        for row, column in itertools.product(*map(range, cells.shape)):
            tokens = picture[block * row :][:block, block * column :][:, :block].flatten()
            seen, cell = tokens[~tokens.isnan()], cells[row, column]
            if len(seen) == 0:
                assert cell.isnan()
            else:  # of two alike but for their sign either
                assert (seen - cell).abs().min() < 1e-6 and abs(cell.abs() - seen.abs().max()) < 1e-6


def test_begun_and_left_they_do_not_keep_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced()
    assert score_maps.score_maps(trace, 2, 1, patience=0.0)[0]["again"]
    monkeypatch.setattr(turns, "IDLE", -1.0)
    assert score_maps.score_maps(trace, 2, 0, patience=0.0)[0]["again"]
    assert [work[-1] for work in turns.unfinished(trace)] == [0]  # what nobody went on with is forgotten
    weak = weakref.ref(trace)
    del trace
    gc.collect()
    assert weak() is None


def test_what_goes_wrong_in_a_step_is_said_and_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced()

    def wrong(*_given: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(score_maps, "_pictures", wrong)
        with pytest.raises(ZeroDivisionError):
            score_maps.score_maps(trace, 2, 1)
    assert score_maps.score_maps(trace, 2, 1)[0]["block"] == 1


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_groups_sum_to_queries_and_keys(kind: str) -> None:
    trace = traced(kind)
    for side, whole in (("query", trace.query(2)[1]), ("key", trace.key(2)[1])):
        found = sources.groups(trace, 2, 1, side, slice(3, 7))
        torch.testing.assert_close(sum(found.values()), whole[3:7], atol=1e-10, rtol=0)


def test_visible_keys_of_some_queries_are_of_these_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced("gpt2")
    sizes: list[int] = []
    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *shape, **given: sizes.append(shape[1]) or zeros(*shape, **given))
    found = sources.visible_keys(trace, 1, 0, slice(2, 5))
    wanted = torch.ones(trace.n_tokens, trace.n_tokens).tril().bool()[2:5]
    assert torch.equal(found, wanted) and sizes == [3]
    assert torch.equal(sources.visible_keys(trace, 1, 0, 4), wanted[2])
