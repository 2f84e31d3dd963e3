"""Does it matter? What becomes of the model's answer without one head, without one of its cells, without one token."""

from __future__ import annotations

from typing import Any

from ...run.changes import Cut, Hide, Off
from ...trace.trace import Trace
from ...whatif.effects import Effect, effects
from . import Answer
from .whatif import code, label


def cell_matters(trace: Trace, layer: int, head: int, query: int, key: int) -> Answer:
    """The model's first answer, and with the head off, the cell cut, the looked-at token hidden: each alone, on top of
    the changes of the run. Raises as `whatif.effects`.

    Fields: layer, head, query, key; kind, unit, position, name, before as of `Effects`; rows in that order as {"asked":
    the change as a page asks for it, "label", "code", "why_not": "" where it can be made, "after", "first",
    "first_value" as of `Effect` (None, "", None where it cannot)}.
    """
    asked: list[list[Any]] = [["off", layer, head], ["cut", layer, head, query, key], ["hide", key]]
    changes = (Off(layer, head), Cut(layer, head, query, key), Hide(key))
    found = effects(trace, changes)
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
        "kind": found.kind,
        "unit": found.unit,
        "position": found.position,
        "name": found.name,
        "before": found.before,
        "rows": rows,
    }
    return fields, {}
