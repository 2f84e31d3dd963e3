"""Ctrl-C in the middle of a survey, without a keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from bertlens.survey import batch


def interrupt_after(texts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next survey is interrupted when that many texts are counted."""
    left = iter(range(texts))
    count = batch.text_statistics

    def interrupted(*arguments: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return count(*arguments)

    monkeypatch.setattr(batch, "text_statistics", interrupted)
