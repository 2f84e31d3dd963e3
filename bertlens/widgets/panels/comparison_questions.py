"""The questions about two runs: of a view of two, or of the run shown and another that the page names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

from typing_extensions import TypedDict

from ...base.vocabulary import phrases
from ...comparison.runs import Comparison, compare
from ...errors import BertLensError, InputError
from ..messages.records import Nothing, Selection
from ..request import Request
from .comparison_panel import ONE_RUN, Compared, ComparisonPanel, HeadsApart, WindowMaps, WindowPlace

Other: TypeAlias = tuple[str, ...]  # see `_runs`


class ComparedAnswers(TypedDict):
    unit: str
    said: str
    rows: list[tuple[str, str, float | None, float | None]]  # where, name, a, b: None where there is no number


def compared(
    request: Request, aligned: bool = False, other: Other | None = None, **window: Any
) -> tuple[WindowPlace, WindowMaps]:
    """`ComparisonPanel.maps` of the two runs."""
    return _runs(request, other).maps(**window, aligned=aligned)


def compared_heads(request: Request, aligned: bool = False, other: Other | None = None) -> tuple[HeadsApart, Nothing]:
    """`ComparisonPanel.heads` of the two runs."""
    return _runs(request, other).heads(aligned)


def compared_answers(request: Request, other: Other | None = None) -> tuple[ComparedAnswers, Nothing]:
    """What the model answers in both."""
    answers = _runs(request, other).comparison.answers()
    rows = [(row.where, row.name, _number(row.a), _number(row.b)) for row in answers.rows]
    return {"unit": answers.unit, "said": answers.said, "rows": rows}, {}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def compared_with(request: Request, other: Other) -> tuple[Compared, Nothing]:
    """`ComparisonPanel.told` of the run shown and another."""
    return _runs(request, other).told(), {}


def _runs(request: Request, other: Other | None) -> ComparisonPanel:
    """The two runs of a view, or the run shown and another.

    other: ("text", text, second text or "", "cut" where it may be cut), run by the same lens, as b; ("original",), the
    run without changes, as a; ("before",), the run of the model before a fine-tuning, as a.
    """
    if other is None:
        panel = request.view.panel(ComparisonPanel)
        if panel is None:
            raise InputError(ONE_RUN)
        return panel
    return request.view.memoised("runs", (request.map, *other), lambda: ComparisonPanel(_compared(request, other)))


def _compared(request: Request, other: Other) -> Comparison:
    trace, view = request.trace, request.view
    if other[0] == "original":
        if not trace.changes:
            raise InputError(phrases.UNCHANGED_RUN)
        return compare(trace.original, trace)
    if other[0] == "before":
        before = next(filter(None, (panel.before(view.trace) for panel in view.panels)), None)
        if before is None:
            raise InputError("this view was made without labelled examples: task.against(other_lens).explore()")
        return compare(before.maps[request.map], trace)
    view.trace.check_unchanged()
    text, text_pair, cut = other[1:]
    return compare(trace, request.traced(text, text_pair, cut == "cut").maps[request.map])


def saved_with(request: Request, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `compared_with` that a page without a kernel holds."""
    if other := _other_run(request):
        yield {"other": other}


def saved_heads(request: Request, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `compared_heads` that a page without a kernel holds."""
    panel, other = _saved_runs(request)
    if panel:
        yield from ({**kind, **other} for kind in panel.kinds)


def saved_answers(request: Request, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `compared_answers` that a page without a kernel holds."""
    panel, other = _saved_runs(request)
    if panel:
        yield other


def saved(request: Request, selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `compared` that a page without a kernel holds."""
    panel, other = _saved_runs(request)
    if panel:
        pins = panel.pinned(selection) if other else selection
        yield from ({**window, **other} for window in panel.saved(pins))


def _saved_runs(request: Request) -> tuple[ComparisonPanel | None, dict[str, Any]]:
    """The two runs that a page without a kernel shows: the view's, or those that its page set beside each other."""
    if panel := request.view.panel(ComparisonPanel):
        return panel, {}
    other = _other_run(request)
    return (_runs(request, tuple(other)), {"other": other}) if other else (None, {})


def _other_run(request: Request) -> list[str]:
    """The run that the page set beside the one shown, [] for none: as `otherOf` of js/src/tabs/compare/tworuns.ts."""
    beside = {"run": "", "text": "", "text_pair": "", **request.traits["settings"].get("compare_with", {})}
    text, text_pair = beside["text"], beside["text_pair"]
    texts = (request.trace.text or "", request.trace.text_pair or "")
    if beside["run"] == "original":
        other = ["original"] if request.trace.changes else []
    elif beside["run"]:
        other = [beside["run"]]
    else:
        is_shown = (text, text_pair) == texts and not request.trace.changes
        cut = "cut" if request.traits["truncation"] else ""
        other = ["text", text, text_pair, cut] if text and not is_shown else []
    try:
        return other if other and _runs(request, tuple(other)) else []
    except BertLensError:
        return []  # the page said why
