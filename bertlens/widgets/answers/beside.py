"""Questions about two runs: those of a view of two, or the run shown and another that the page names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from ...comparison.runs import Comparison, compare
from ...errors import InputError
from ...vocabulary import phrases
from ...vocabulary.constants import COMPARED_RUNS
from . import Answer
from .compare import Compared
from .view import traced

if TYPE_CHECKING:
    from ..questions import Asked
    from ..saving import Selection

Other: TypeAlias = tuple[str, ...]  # see `_of`


def compared(asked: Asked, aligned: bool = False, other: Other | None = None, **window: Any) -> Answer:
    """`Compared.maps` of the view's two runs, or of this one and another."""
    return _of(asked, other).maps(**window, aligned=aligned)


def compared_heads(asked: Asked, aligned: bool = False, other: Other | None = None) -> Answer:
    """`Compared.heads` of the view's two runs, or of this one and another."""
    return _of(asked, other).heads(aligned)


def compared_answers(asked: Asked, other: Other | None = None) -> Answer:
    """What the model answers in both: unit, said, rows as [where, name, a, b] (None where there is no number)."""
    found = _of(asked, other).comparison.answers()
    rows = [[row.where, row.name, *(None if math.isnan(x) else x for x in (row.a, row.b))] for row in found.rows]
    return {"unit": found.unit, "said": found.said, "rows": rows}, {}


def compared_with(asked: Asked, other: Other) -> Answer:
    """`Compared.told` of the run shown and another."""
    return _of(asked, other).told(), {}


def _of(asked: Asked, other: Other | None) -> Compared:
    """The two runs of a view, or the run shown beside another.

    other: ("text", text, second text or "", "cut" where it may be cut), run by the same lens, as b; ("original",), the
    run without changes, as a; ("before",), the run of the model before a fine-tuning, as a.
    """
    shown = asked.shown
    if other is None:
        if shown.compared is None:
            raise InputError("this view shows one run: bl.compare(a, b).explore() compares two")
        return shown.compared
    name = (asked.map, *other)
    if name not in shown.others:
        made = Compared(_beside(asked, other))
        for oldest in list(shown.others)[: 1 - COMPARED_RUNS]:
            shown.others.pop(oldest, None)
        shown.others[name] = made
    return shown.others[name]


def _beside(asked: Asked, other: Other) -> Comparison:
    own = asked.trace
    if other[0] == "original":
        if not own.changes:
            raise InputError(phrases.UNCHANGED_RUN)
        return compare(own.original, own)
    if other[0] == "before":
        if asked.shown.tasked is None:
            raise InputError("this view was made without labelled examples: task.against(other_lens).explore()")
        return compare(asked.shown.tasked.before(asked.shown.trace).maps[asked.map], own)
    asked.shown.trace.check_unchanged()
    text, text_pair, cut = other[1:]
    return compare(own, traced(asked, text, text_pair, cut == "cut").maps[asked.map])


def saved_heads(asked: Asked, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `compared_heads` that a page without a kernel holds."""
    if asked.shown.compared is not None:
        yield from asked.shown.compared.kinds


def saved_answers(asked: Asked, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The arguments of `compared_answers` that a page without a kernel holds."""
    if asked.shown.compared is not None:
        yield {}


def saved(asked: Asked, selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `compared` that a page without a kernel holds."""
    if asked.shown.compared is not None:
        yield from asked.shown.compared.saved(selection)
