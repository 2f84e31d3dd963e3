"""What a count found, as a notebook shows it: the sentence with its numbers, and a table below it.

And what it shows until then: a line with the seconds that have passed.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from threading import Event, Lock, Thread
from typing import Any, ParamSpec, TypeVar

import numpy as np

from bertlens.base.lazy import line
from bertlens.survey import mean_text
from bertlens.trace.trace import Trace

Head = tuple[int, int]  # layer, head
P = ParamSpec("P")
T = TypeVar("T")
_outermost = Lock()  # one line for a count and those within it


def _tick(over: Event) -> None:
    """Second by second, from the third on: most counts are there before."""
    seconds, show = 2, None
    while not over.wait(1 if show else 2):
        show = show or line()
        show(f"counting … {seconds} s")
        seconds += 1
    if show:
        show("")


def counted(count: Callable[P, T]) -> Callable[P, T]:
    """The function, which says that it counts while it takes long."""

    @wraps(count)
    def told(*arguments: P.args, **options: P.kwargs) -> T:
        if not _outermost.acquire(blocking=False):
            return count(*arguments, **options)
        over = Event()
        clock = Thread(target=_tick, args=[over])
        clock.start()
        try:
            return count(*arguments, **options)
        finally:
            over.set()
            clock.join()
            _outermost.release()

    return told


class Count(cached_property[T]):
    """A property that is counted once."""

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(counted(func))


class Finding:
    """A sentence (`said`), a table or None (`table`), and the numbers behind both: attributes by their names."""

    def __init__(self, said: str, table: Any = None, **numbers: Any) -> None:
        self.said, self.table = said, table
        self.__dict__.update(numbers)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this finding has no {name!r}, it has {', '.join(self.__dict__)}")

    def __repr__(self) -> str:
        return self.said if self.table is None else f"{self.said}\n{getattr(self.table, 'data', self.table)}"

    def _repr_html_(self) -> str:
        text = html.escape(self.said).replace("\n", "<br>")
        if self.table is None:
            return f"<p>{text}</p>"
        import pandas as pd  # with the tables alone

        with pd.option_context("display.max_colwidth", None):  # no cell ends in "…"
            return f"<p>{text}</p>{self.table._repr_html_()}"


def lengths(traces: Sequence[Trace]) -> str:
    """ "24 texts of 19 to 31 tokens"."""
    counts = [trace.n_tokens for trace in traces]
    return f"{len(counts)} texts of {min(counts)} to {max(counts)} tokens"


def head_name(head: Sequence[int]) -> str:
    return f"L{head[0]}·H{head[1]}"


def texts_of(columns: np.ndarray, digits: int = 2, most: float = np.inf) -> list[str]:
    """`mean_text` of each column of (texts, columns)."""
    return [mean_text(column, digits, most) for column in np.asarray(columns).T]


def verdicts(rows: Sequence[tuple[str, str, str]], columns: tuple[str, str, str]) -> Any:
    """A table of claims: what is said, whether it holds here, the numbers."""
    import pandas as pd  # with the tables alone

    table = pd.DataFrame(list(rows), columns=list(columns))
    return table.style.hide(axis="index").set_properties(**{"text-align": "left", "white-space": "normal"})
