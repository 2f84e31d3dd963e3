"""Does it matter? What becomes of the model's answer without one head, without one of its cells, without one token."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BertLensError
from ...measures.predictions import is_lone
from ...run.changes import Change, Cut, Hide, Off
from ...trace.trace import Trace
from ...whatif.before_after import answer_kind
from ...whatif.chips import code, label
from ...whatif.effects import Effect, Effects, Refused, effects
from ...whatif.single_changes import SingleChanges, single_changes, why_not
from ..records import Answer
from .whatif import asked_target


def cell_matters(
    trace: Trace, layer: int, head: int, query: int, key: int, target: str = "", target_at: int = -1
) -> Answer:
    """The model's first answer, or the target's, and with the head off, the cell cut, the looked-at token hidden: each
    alone, on top of the changes of the run; what is among them, against the run without it. Raises as `whatif.effects`.

    Fields: layer, head, query, key, target, target_at; kind, unit, position, name, before as of `Effects`, name "" of
    an answer that is one number without a name; rows in that order as {"asked": the change as a page asks for it,
    "label", "code", "cover": places of the run's changes that it is compared without, "why_not": "" where it can be
    made, "name", "before", "after", "first", "first_value" as of `Effect` (after None, first "" where it cannot)}.
    """
    requests: list[list[Any]] = [["off", layer, head], ["cut", layer, head, query, key], ["hide", key]]
    changes = (Off(layer, head), Cut(layer, head, query, key), Hide(key))
    outcome = effects(trace, changes, *asked_target(target, target_at))
    rows = [
        {"asked": sent, "label": label(change, trace.display_tokens), "code": code(change)}
        | {"cover": _cover(trace, change), **_row(trace, outcome, effect)}
        for sent, change, effect in zip(requests, changes, outcome.changes, strict=True)
    ]
    fields = {
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


def each_matters(trace: Trace, target: str = "", target_at: int = -1) -> Answer:
    """What `cell_matters` needs of every head and token, for a page without a kernel; or why it is not there.

    Fields: why_not, a sentence, "" where it is there; kind, unit as of `SingleChanges`; places as [position, name,
    before]; of the rows, heads layer by layer and then tokens, refused as [row, why], first as [row, place, name,
    number] where another answer comes first, and cover as [row, cover, [name, before] of each place] where it is not
    compared with the run shown; metrics, the names of what is swept. Arrays, float32: change (rows, places) of the
    first answer, NaN where refused; swept (metrics, L·H) as of `matters_exact`.
    """
    try:
        answer_kind(trace)
        if reason := why_not(trace):
            return {"why_not": f"{reason} Open the notebook."}, {}
        outcome = changes_alone(trace, target, target_at)
    except BertLensError as error:
        return {"why_not": str(error)}, {}
    rows = [*outcome.heads, *outcome.tokens]
    differences = np.full((len(rows), len(outcome.places)), np.nan, np.float32)
    leaders, cover = [], []
    for n, row in enumerate(rows):
        if isinstance(row, str):
            continue
        change = Off(*divmod(n, trace.n_heads)) if n < len(outcome.heads) else Hide(n - len(outcome.heads))
        if covering := _cover(trace, change):
            cover.append([n, covering, [[_named(trace, outcome.kind, effect.name), effect.before] for effect in row]])
        for at, effect in enumerate(row):
            differences[n, at] = effect.after - effect.before
            if effect.first:
                leaders.append([n, at, effect.first, effect.first_value])
    fields = {
        "why_not": "",
        "kind": outcome.kind,
        "unit": outcome.unit,
        "places": [[at, _named(trace, outcome.kind, name), number] for at, name, number in outcome.places],
        "refused": [[n, row] for n, row in enumerate(rows) if isinstance(row, str)],
        "first": leaders,
        "cover": cover,
        "metrics": list(outcome.swept),
    }
    return fields, {"change": differences, "swept": np.array(list(outcome.swept.values()), np.float32)}


def _row(trace: Trace, outcome: Effects, effect: Effect | Refused) -> dict[str, Any]:
    answer = outcome if isinstance(effect, Refused) else effect
    row = {"name": _named(trace, outcome.kind, answer.name), "before": answer.before}
    if isinstance(effect, Refused):
        return row | {"why_not": effect, "after": None, "first": "", "first_value": None}
    return row | {"why_not": "", "after": effect.after, "first": effect.first, "first_value": effect.first_value}


def _cover(trace: Trace, change: Change) -> list[int]:
    return [n for n, earlier in enumerate(trace.changes) if earlier.covers(change)]


def _named(trace: Trace, kind: str, name: str) -> str:
    """What a number is of, "" where there is only one of them."""
    return "" if kind == "labels" and is_lone(trace) else name
