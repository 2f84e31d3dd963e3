"""How far long work is: a bar where it was called, or whoever watches the thread that it runs on, and may end it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias

from tqdm.auto import tqdm

from ..errors import stopped

MEASURED = 3  # steps, before a bar says how much time is left: the first one loads and warms up
Tell: TypeAlias = Callable[[str, float, float], None]  # what is done, how much of it, of how much; it may interrupt
_watcher: ContextVar[Tell | None] = ContextVar("watcher", default=None)


class Bar(Protocol):
    def update(self, n: float = 1) -> object: ...


class Progress(tqdm):
    """The bar of all long work. It says how much time is left once MEASURED steps are done; ■ ends it in one line."""

    end = ""  # what an interrupt leaves, if not only that it was one
    _steps = 0

    def update(self, n: float | None = 1) -> bool | None:
        """Further by n units, which are one step."""
        self._steps += bool(n)
        drew: bool | None = super().update(n)
        return drew

    def __iter__(self) -> Iterator[Any]:
        with self:
            for item in self.iterable:
                yield item
                self.update()

    @property
    def format_dict(self) -> dict[str, Any]:
        """What tqdm writes a bar of; from too few steps without a rate, so without a time."""
        fields: dict[str, Any] = super().format_dict
        is_measured = self._steps >= MEASURED or fields["n"] == fields["total"]
        return fields if is_measured else fields | {"rate": 0}

    def __exit__(self, kind: Any, error: BaseException | None, place: Any) -> None:
        if isinstance(error, KeyboardInterrupt):
            stopped(error, f"stopped: {self.end or getattr(self, 'desc', '')}".removesuffix(": "))
        super().__exit__(kind, error, place)


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
        with Progress(total=total, unit=unit, desc=doing, delay=2, disable=not shown) as progress:
            yield progress
    else:
        tell(doing, 0, total)
        yield _WatchedBar(tell, doing, total)


def page_bar(shown: bool) -> Progress:
    """The bar of a page that is being written, which grows by what the page turns out to need; gone at the end."""
    bar = Progress(desc="page", delay=2, leave=False, disable=not shown)
    bar.end = "the page is not written"
    return bar


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
