"""Does it matter? What becomes of the model's answer without one head, without one of its cells, without one token."""

from __future__ import annotations

import numpy as np
from typing_extensions import TypedDict

from ...base.wire import Float32
from ...errors import BertLensError
from ...measures.predictions import is_lone
from ...run.changes import Change, Cut, Hide, Off
from ...trace.trace import Trace
from ...whatif.before_after import answer_kind
from ...whatif.chips import code, label
from ...whatif.effects import Effect, Effects, Refused, effects
from ...whatif.single_changes import SingleChanges, single_changes, why_not
from ..messages.records import Nothing
from .whatif import asked_target


class RowEffect(TypedDict):
    """As of `whatif.effects.Effect`: after None, first "" where it cannot be made."""

    name: str  # "" of an answer that is one number without a name
    before: float
    why_not: str  # "" where it can be made
    after: float | None
    first: str
    first_value: float | None


class MatterRow(RowEffect):
    asked: list[int | str]  # the change as a page asks for it
    label: str
    code: str
    cover: list[int]  # places of the run's changes that it is compared without


class CellMatters(TypedDict):
    layer: int
    head: int
    query: int
    key: int
    target: str
    target_at: int
    kind: str  # as of `Effects`, as all to `before`
    unit: str
    position: int
    name: str
    before: float
    rows: list[MatterRow]  # head off, cell cut, token hidden


def cell_matters(
    trace: Trace, layer: int, head: int, query: int, key: int, target: str = "", target_at: int = -1
) -> tuple[CellMatters, Nothing]:
    """The model's first answer, or the target's, and with the head off, the cell cut, the looked-at token hidden: each
    alone, on top of the changes of the run; what is among them, against the run without it. Raises as `whatif.effects`.
    """
    requests: list[list[int | str]] = [["off", layer, head], ["cut", layer, head, query, key], ["hide", key]]
    changes = (Off(layer, head), Cut(layer, head, query, key), Hide(key))
    outcome = effects(trace, changes, *asked_target(target, target_at))
    rows: list[MatterRow] = [
        {
            "asked": sent,
            "label": label(change, trace.display_tokens),
            "code": code(change),
            "cover": _cover(trace, change),
            **_row(trace, outcome, effect),
        }
        for sent, change, effect in zip(requests, changes, outcome.changes, strict=True)
    ]
    fields: CellMatters = {
        "layer": layer,
        "head": head,
        "query": query,
        "key": key,
        "target": target,
        "target_at": target_at,
        "kind": outcome.kind,
        "unit": outcome.unit,
        "position": outcome.position,
        "name": _named(trace, outcome.kind, outcome.name),
        "before": outcome.before,
        "rows": rows,
    }
    return fields, {}


def changes_alone(trace: Trace, target: str, target_at: int) -> SingleChanges:
    """Of each head and each token, made once."""
    answer = asked_target(target, target_at)
    return trace.kept(f"alone {target} {target_at}", lambda: single_changes(trace, *answer))


class EachMatters(TypedDict, total=False):
    """Of rows, heads layer by layer and then tokens; or why_not alone."""

    why_not: str  # a sentence, "" where it is there
    kind: str  # as of `SingleChanges`, as unit
    unit: str
    places: list[tuple[int, str, float]]  # position, name, before
    refused: list[tuple[int, str]]  # row, why
    first: list[tuple[int, int, str, float | None]]  # row, place, name, number where another answer comes first
    cover: list[tuple[int, list[int], list[tuple[str, float]]]]  # row, cover, (name, before) of each place
    metrics: list[str]  # names of what is swept


class EachChange(TypedDict, total=False):
    change: Float32  # (rows, places) of the first answer, NaN where refused
    swept: Float32  # (metrics, L·H) as of `matters_exact`


def each_matters(trace: Trace, target: str = "", target_at: int = -1) -> tuple[EachMatters, EachChange]:
    """What `cell_matters` needs of every head and token, for a page without a kernel; or why it is not there."""
    try:
        answer_kind(trace)
        if reason := why_not(trace):
            return {"why_not": f"{reason} Open the notebook."}, {}
        outcome = changes_alone(trace, target, target_at)
    except BertLensError as error:
        return {"why_not": str(error)}, {}
    rows = [*outcome.heads, *outcome.tokens]
    differences = np.full((len(rows), len(outcome.places)), np.nan, np.float32)
    leaders: list[tuple[int, int, str, float | None]] = []
    cover: list[tuple[int, list[int], list[tuple[str, float]]]] = []
    for n, row in enumerate(rows):
        if isinstance(row, str):
            continue
        change = Off(*divmod(n, trace.n_heads)) if n < len(outcome.heads) else Hide(n - len(outcome.heads))
        if covering := _cover(trace, change):
            cover.append((n, covering, [(_named(trace, outcome.kind, effect.name), effect.before) for effect in row]))
        for at, effect in enumerate(row):
            differences[n, at] = effect.after - effect.before
            if effect.first:
                leaders.append((n, at, effect.first, effect.first_value))
    fields: EachMatters = {
        "why_not": "",
        "kind": outcome.kind,
        "unit": outcome.unit,
        "places": [(at, _named(trace, outcome.kind, name), number) for at, name, number in outcome.places],
        "refused": [(n, row) for n, row in enumerate(rows) if isinstance(row, str)],
        "first": leaders,
        "cover": cover,
        "metrics": list(outcome.swept),
    }
    return fields, {"change": differences, "swept": np.array(list(outcome.swept.values()), np.float32)}


def _row(trace: Trace, outcome: Effects, effect: Effect | Refused) -> RowEffect:
    answer = outcome if isinstance(effect, Refused) else effect
    name = _named(trace, outcome.kind, answer.name)
    row = RowEffect(name=name, before=answer.before, why_not="", after=None, first="", first_value=None)
    if isinstance(effect, Refused):
        return row | {"why_not": effect}
    return row | {"after": effect.after, "first": effect.first, "first_value": effect.first_value}


def _cover(trace: Trace, change: Change) -> list[int]:
    return [n for n, earlier in enumerate(trace.changes) if earlier.covers(change)]


def _named(trace: Trace, kind: str, name: str) -> str:
    """What a number is of, "" where there is only one of them."""
    return "" if kind == "labels" and is_lone(trace) else name
