"""A text is tokenised once: what a trace and its view say of it is read from that one record."""

from __future__ import annotations

from typing import Any

import pytest

import bertlens as bl
from unit.tiny import bert, wordpiece


def test_a_trace_and_its_view_call_the_tokenizer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lens, calls = bl.Lens(bert(num_hidden_layers=2), wordpiece()), list[Any]()
    lens.trace("it was").explore()  # what is asked of a tokenizer once, whatever the text
    for name in ("__call__", "tokenize"):
        own = getattr(type(lens.tokenizer), name)

        def counted(self: Any, *texts: Any, own: Any = own, **options: Any) -> Any:
            calls.append(texts)
            return own(self, *texts, **options)

        monkeypatch.setattr(type(lens.tokenizer), name, counted)
    trace = lens.trace("the cat sat, a ขอบ dog")
    view = trace.explore()
    assert calls == [("the cat sat, a ขอบ dog",)]
    assert trace.encoding.report.n_words and view.overview["header"]["trace"]
