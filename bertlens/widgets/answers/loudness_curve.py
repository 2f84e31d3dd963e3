"""The answer over how loud a head is, as the page's slider has it."""

from __future__ import annotations

from collections.abc import Iterator
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
from .first_answer import saved_heads
from .whatif import asked_target, carried_target

STRONGEST = 6  # heads of a saved page
Curve = tuple[int, int, str, int]  # layer, head, target, where


def loudness(
    trace: Trace, layer: int, head: int, target: str = "", target_at: int = -1, patience: float = PATIENCE
) -> Answer:
    """The model's answers while a head is 0 to 2 times as loud, each an exact run.

    Fields: layer, head, factors; kind, unit, rows as [position, name] as of `answers`; why_not, a sentence, "" where it
    is there. Arrays: values (factors, rows) float32; of an encoder with one text whose vector is a sum over its tokens,
    shares (factors, S) float32, as of `shares`.
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
    arrays = {"values": curve.numbers, "shares": curve.shares}
    return fields, {name: values.float() for name, values in arrays.items() if values is not None}


def carried(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """The head shown and the six that matter most, where a page carries single changes: of the model's first answer and
    of the one that the view is set to."""
    if why_not(trace):
        return
    for answer in ({}, *carried_target(trace, selection)):
        heads = [(layer, head) for layer, head, _ in saved_heads(trace, **answer)[0]["heads"][:STRONGEST]]
        for layer, head in dict.fromkeys([*selection.heads[:1], *heads]):
            yield {"layer": layer, "head": head, **answer}
