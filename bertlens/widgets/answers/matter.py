"""Does it matter? What becomes of the model's answer without one head, without one of its cells, without one token."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BertLensError
from ...measures.predictions import is_lone
from ...run.changes import Cut, Hide, Off
from ...trace.trace import Trace
from ...whatif.alone import alone, why_not
from ...whatif.answering import asked_kind
from ...whatif.effects import Effect, effects
from . import Answer
from .whatif import asked_target, code, label


def cell_matters(
    trace: Trace, layer: int, head: int, query: int, key: int, target: str = "", target_at: int = -1
) -> Answer:
    """The model's first answer, or the target's, and with the head off, the cell cut, the looked-at token hidden: each
    alone, on top of the changes of the run. Raises as `whatif.effects`.

    Fields: layer, head, query, key, target, target_at; kind, unit, position, name, before as of `Effects`, name "" of
    an answer that is one number without a name; rows in that
    order as {"asked": the change as a page asks for it, "label", "code", "why_not": "" where it can be made, "after",
    "first", "first_value" as of `Effect` (None, "", None where it cannot)}.
    """
    asked: list[list[Any]] = [["off", layer, head], ["cut", layer, head, query, key], ["hide", key]]
    changes = (Off(layer, head), Cut(layer, head, query, key), Hide(key))
    found = effects(trace, changes, *asked_target(target, target_at))
    rows = [
        {
            "asked": sent,
            "label": label(change, trace.display_tokens),
            "code": code(change),
            "why_not": "" if isinstance(effect, Effect) else effect,
            "after": effect.after if isinstance(effect, Effect) else None,
            "first": effect.first if isinstance(effect, Effect) else "",
            "first_value": effect.first_value if isinstance(effect, Effect) else None,
        }
        for sent, change, effect in zip(asked, changes, found.changes, strict=True)
    ]
    fields = {
        "layer": layer,
        "head": head,
        "query": query,
        "key": key,
        "target": target,
        "target_at": target_at,
        "kind": found.kind,
        "unit": found.unit,
        "position": found.position,
        "name": _named(trace, found.kind, found.name),
        "before": found.before,
        "rows": rows,
    }
    return fields, {}


def each_matters(trace: Trace, target: str = "", target_at: int = -1) -> Answer:
    """What `cell_matters` needs of every head and token, for a page without a kernel; or why it is not there.

    Fields: why_not, a sentence, "" where it is there; kind, unit as of `Alone`; places as [position, name, before]; of
    the rows, heads layer by layer and then tokens, refused as [row, why], and first as [row, place, name, number] where
    another answer comes first; metrics, the names of what is swept. Arrays, float32: change (rows, places) of the first
    answer, NaN where refused; swept (metrics, L·H) as of `matters_exact`.
    """
    try:
        asked_kind(trace)
        if reason := why_not(trace):
            return {"why_not": f"{reason} Open the notebook."}, {}
        found = trace.kept(f"alone {target} {target_at}", lambda: alone(trace, *asked_target(target, target_at)))
    except BertLensError as error:
        return {"why_not": str(error)}, {}
    rows = [*found.heads, *found.tokens]
    change = np.full((len(rows), len(found.places)), np.nan, np.float32)
    first = []
    for n, row in enumerate(rows):
        if isinstance(row, str):
            continue
        for at, (effect, (_, _, before)) in enumerate(zip(row, found.places, strict=True)):
            change[n, at] = effect.after - before
            if effect.first:
                first.append([n, at, effect.first, effect.first_value])
    fields = {
        "why_not": "",
        "kind": found.kind,
        "unit": found.unit,
        "places": [[at, _named(trace, found.kind, name), before] for at, name, before in found.places],
        "refused": [[n, row] for n, row in enumerate(rows) if isinstance(row, str)],
        "first": first,
        "metrics": list(found.swept),
    }
    return fields, {"change": change, "swept": np.array(list(found.swept.values()), np.float32)}


def _named(trace: Trace, kind: str, name: str) -> str:
    """What a number is of, "" where there is only one of them."""
    return "" if kind == "labels" and is_lone(trace) else name
