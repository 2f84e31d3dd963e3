"""The answer over how loud a head is, as the page's slider has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...base.vocabulary.constants import LOUDNESS
from ...errors import BertLensError
from ...trace.trace import Trace
from ...whatif.loudness import Loudness, loudness_in_steps
from ...whatif.single_changes import why_not
from ..records import Answer, Selection
from ..turns import PATIENCE, ask_again, in_steps
from .whatif import asked_target, carried_target

Curve = tuple[int, int, str, int]  # layer, head, target, where


def loudness(
    trace: Trace, layer: int, head: int, target: str = "", target_at: int = -1, patience: float = PATIENCE
) -> Answer:
    """The model's answers while a head is 0 to 2 times as loud, each an exact run.

    Fields: layer, head, factors; kind, unit, rows as [position, name] as of `answers`; why_not, a sentence, "" where it
    is there. Arrays: values (factors, rows) float32.
    Where it takes longer than `patience` (s): "again", see turns.
    """
    fields: dict[str, Any] = {"layer": layer, "head": head, "factors": list(LOUDNESS)}
    curves = trace.kept("loudness of heads", dict[Curve, Loudness])
    key = layer, head, target, target_at
    if key not in curves:
        answer = asked_target(target, target_at)
        begin = partial(loudness_in_steps, layer=layer, head=head, target=answer[0], position=answer[1])
        try:
            curve = in_steps(trace, ("loudness", key), begin, patience)
        except BertLensError as error:
            nothing = {"kind": "", "unit": "", "rows": [], "why_not": str(error)}
            return fields | nothing, {"values": np.zeros((len(LOUDNESS), 0), np.float32)}
        if curve is None:
            return ask_again()
        curves[key] = curve
    curve = curves[key]
    fields |= {"kind": curve.kind, "unit": curve.unit, "rows": [list(row) for row in curve.rows], "why_not": ""}
    return fields, {"values": curve.numbers.numpy().astype(np.float32)}


def carried(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """The head shown, where a page carries single changes."""
    yield from of_heads(trace, selection, selection.heads[:1])


def of_heads(trace: Trace, selection: Selection, heads: Iterable[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """These heads, of the model's first answer and of the one that the view is set to."""
    if why_not(trace):
        return
    for layer, head in heads:
        for answer in ({}, *carried_target(trace, selection)):
            yield {"layer": layer, "head": head, **answer}
