"""Ctrl-C in the middle of a survey or of a pass, without a keyboard."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
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


def at_every_line(
    work: Callable[[], Any], files: tuple[str, ...], seen: Callable[[], Any]
) -> Iterator[tuple[str, Any]]:
    """Runs `work` once for each line of these files that it reaches, with a Ctrl-C there.

    Gives the line, and whether it ended in KeyboardInterrupt, Python's handler is back, and `seen()` after. A line that
    runs often is interrupted the first and the last time.
    """
    lines: list[tuple[str, int]] = []

    def run(stop: int | None) -> bool:
        number = -1

        def trace(frame: Any, event: str, _: Any) -> Any:
            nonlocal number
            if not frame.f_code.co_filename.endswith(files):
                return None
            if event == "line":
                number += 1
                if stop is None:
                    lines.append((frame.f_code.co_filename, frame.f_lineno))
                elif number == stop:
                    sys.settrace(None)
                    signal.raise_signal(signal.SIGINT)
            return trace

        outer = sys.gettrace()
        sys.settrace(trace)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(outer)
        return False

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run(None)
        first = {line: at for at, line in reversed(list(enumerate(lines)))}
        last = {line: at for at, line in enumerate(lines)}
        for at in sorted({*first.values(), *last.values()}):
            stopped = run(at)
            handler = signal.getsignal(signal.SIGINT)
            yield ":".join(map(str, lines[at])), (stopped, handler is signal.default_int_handler, seen())
    finally:
        signal.signal(signal.SIGINT, before)
