"""Ctrl-C, and other signals whose handlers raise, in the middle of a survey or of a pass."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bertlens.survey import batch_stats


def interrupt_after(texts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next survey is interrupted when that many texts are counted."""
    left = iter(range(texts))
    count = batch_stats.text_statistics

    def interrupted(*arguments: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return count(*arguments)

    monkeypatch.setattr(batch_stats, "text_statistics", interrupted)


class Late(Exception):
    """What a user's own handler raises."""


def late(number: int, frame: Any) -> None:
    raise Late


@contextmanager
def handling(number: int, handler: Any) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def at_every_line(
    work: Callable[[], Any], files: tuple[str, ...], seen: Callable[[], Any], number: int = signal.SIGINT
) -> Iterator[tuple[str, Any]]:
    """Runs `work` once for each line of these files that it reaches, with a signal there whose handler raises.

    Gives the line, and whether it ended in that error, the handler is back, and `seen()` after. A line that runs often
    is interrupted the first and the last time.
    """
    handler = signal.default_int_handler if number == signal.SIGINT else late
    lines: list[tuple[str, int]] = []
    ours: dict[str, bool] = {}  # of file names: calls are many, files few

    def run(stop: int | None) -> bool:
        count = -1

        def trace(frame: Any, event: str, _: Any) -> Any:
            nonlocal count
            name = frame.f_code.co_filename
            if (is_ours := ours.get(name)) is None:
                is_ours = ours[name] = name.endswith(files)
            if not is_ours:
                return None
            if event == "line":
                count += 1
                if stop is None:
                    lines.append((frame.f_code.co_filename, frame.f_lineno))
                elif count == stop:
                    sys.settrace(None)
                    signal.raise_signal(number)
            return trace

        outer = sys.gettrace()
        sys.settrace(trace)
        try:
            work()
        except (KeyboardInterrupt, Late):
            return True
        finally:
            sys.settrace(outer)
        return False

    with handling(number, handler):
        run(None)
        first = {line: at for at, line in reversed(list(enumerate(lines)))}
        last = {line: at for at, line in enumerate(lines)}
        for at in sorted({*first.values(), *last.values()}):
            stopped = run(at)
            yield ":".join(map(str, lines[at])), (stopped, signal.getsignal(number) is handler, seen())
