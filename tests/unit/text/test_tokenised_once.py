"""A text is tokenised once: what a trace and its view say of it is read from that one record."""

from __future__ import annotations

from typing import Any

import pytest

import bertlens as bl
from unit.tiny import bert, wordpiece


def counted_calls(lens: bl.Lens, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The texts that the tokenizer is called with from now on."""
    calls = list[Any]()
    for name in ("__call__", "tokenize"):
        own = getattr(type(lens.tokenizer), name)

        def counted(self: Any, *texts: Any, own: Any = own, **options: Any) -> Any:
            calls.append(texts)
            return own(self, *texts, **options)

        monkeypatch.setattr(type(lens.tokenizer), name, counted)
    return calls


def test_a_trace_and_its_view_call_the_tokenizer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lens = bl.Lens(bert(num_hidden_layers=2), wordpiece())
    lens.trace("it was").explore()  # what is asked of a tokenizer once, whatever the text
    calls = counted_calls(lens, monkeypatch)
    trace = lens.trace("the cat sat, a ขอบ dog")
    view = trace.explore()
    assert calls == [("the cat sat, a ขอบ dog",)]
    assert trace.encoding.report.n_words and view.overview["header"]["trace"]


def test_a_pair_is_read_once_and_so_is_the_query_of_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    lens = bl.Lens(bert(num_hidden_layers=2), wordpiece())
    bl.similarity(lens, "it was", "warm")
    calls = counted_calls(lens, monkeypatch)
    pair = bl.similarity(lens, "the cat", "a mat")
    assert pair.traces[1].tokens[1] == "a" and pair.value
    assert calls == [("the cat",), ("a mat",)]
    calls.clear()
    passages = [f"the mat {'was warm ' * n}".strip() for n in range(6)]
    ranking = bl.rank(lens, "the cat", passages, progress=False)
    assert (ranking["words"] != "").sum() == 5
    assert calls.count(("the cat",)) == 2  # for its score, and for what is said of the passages
