"""How far long work is: a bar where it was called, or whoever watches the thread that it runs on, and may end it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias

from tqdm.auto import tqdm

Tell: TypeAlias = Callable[[str, float, float], None]  # what is done, how much of it, of how much; it may interrupt
_watcher: ContextVar[Tell | None] = ContextVar("watcher", default=None)


class Bar(Protocol):
    def update(self, n: float = 1) -> object: ...


class _WatchedBar:
    """A bar that tells who watches."""

    def __init__(self, tell: Tell, doing: str, total: int) -> None:
        self._tell, self._doing, self._total, self._done = tell, doing, total, 0.0

    def update(self, n: float = 1) -> None:
        self._done += n
        self._tell(self._doing, self._done, self._total)


@contextmanager
def watched(tell: Tell) -> Iterator[None]:
    """What this thread does in the block is told and not printed: `tell("parts", 3, 10)`.

    A KeyboardInterrupt that it raises ends the work as Ctrl-C does.
    """
    token = _watcher.set(tell)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def bar(total: int, unit: str, doing: str, shown: bool) -> Iterator[Bar]:
    """A bar for so many units, of which nothing is seen in the first two seconds, and at all unless `shown`."""
    tell = _watcher.get()
    if tell is None:
        with tqdm(total=total, unit=unit, desc=doing, delay=2, disable=not shown) as tqdm_bar:
            yield tqdm_bar
    else:
        tell(doing, 0, total)
        yield _WatchedBar(tell, doing, total)


def page_bar(shown: bool) -> tqdm[Any]:
    """The bar of a page that is being written, which grows by what the page turns out to need; gone at the end."""
    return tqdm(desc="page", delay=2, leave=False, disable=not shown)


def is_watched() -> bool:
    """Whether somebody else is told, so that nothing is to be printed."""
    return _watcher.get() is not None


def say(text: str, shown: bool) -> None:
    """A line before work begins: printed if `shown`, or told."""
    tell = _watcher.get()
    if tell is not None:
        tell(text, 0, 0)
    elif shown:
        print(text, flush=True)
