"""The answer over how loud a head is, as the page's slider has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from typing_extensions import NotRequired, TypedDict

from ...base.vocabulary.constants import LOUDNESS
from ...base.wire import Float32
from ...errors import BertLensError
from ...trace.trace import Trace
from ...whatif.loudness import Loudness, loudness_in_steps
from ...whatif.single_changes import why_not
from ...whatif.strongest_heads import Head
from ..messages.records import Selection
from ..messages.turns import PATIENCE, ask_again, in_steps
from .first_answer import carried_head_sets, saved_head_sets, saved_heads
from .whatif import asked_target, carried_target

STRONGEST = 6  # heads of a saved page
Curve = tuple[int, int, str, int, tuple[Head, ...]]  # layer, head, target, where, partners


class LoudnessFields(TypedDict):
    layer: int
    head: int
    factors: list[float]
    kind: str  # as of `answers`, as all to `why_not`
    unit: str
    rows: list[tuple[int, str]]  # position, name
    why_not: str  # a sentence, "" where it is there


class LoudnessArrays(TypedDict):
    values: Float32  # (factors, rows)
    shares: NotRequired[Float32]  # (factors, S) as of `shares`, of one text whose vector is a sum over its tokens


def loudness(
    trace: Trace,
    layer: int,
    head: int,
    target: str = "",
    target_at: int = -1,
    partners: tuple[Head, ...] = (),
    patience: float = PATIENCE,
) -> tuple[LoudnessFields, LoudnessArrays]:
    """The model's answers while a head, and its partners with it, is 0 to 2 times as loud, each an exact run.

    Where it takes longer than `patience` (s): "again", see turns.
    """
    fields = LoudnessFields(layer=layer, head=head, factors=list(LOUDNESS), kind="", unit="", rows=[], why_not="")
    curves = trace.kept("loudness of heads", dict[Curve, Loudness])
    key = layer, head, target, target_at, partners
    if key not in curves:
        answer = asked_target(target, target_at)
        where = partial(loudness_in_steps, layer=layer, head=head, partners=partners)
        begin = partial(where, target=answer[0], position=answer[1])
        try:
            curve = in_steps(trace, ("loudness", key), begin, patience)
        except BertLensError as error:
            return fields | {"why_not": str(error)}, {"values": np.zeros((len(LOUDNESS), 0), np.float32)}
        if curve is None:
            return ask_again()
        curves[key] = curve
    curve = curves[key]
    arrays: LoudnessArrays = {"values": curve.numbers.float()}
    if curve.shares is not None:
        arrays["shares"] = curve.shares.float()
    return fields | {"kind": curve.kind, "unit": curve.unit, "rows": list(curve.rows)}, arrays


def carried(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """The head shown and the six that matter most, where a page carries single changes: of the model's first answer and
    of the one that the view is set to."""
    if why_not(trace):
        return
    for answer in ({}, *carried_target(trace, selection)):
        heads = [(layer, head) for layer, head, _ in saved_heads(trace, **answer)[0]["heads"][:STRONGEST]]
        for layer, head in dict.fromkeys([*selection.heads[:1], *heads]):
            yield {"layer": layer, "head": head, **answer}


def carried_sets(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The sets of heads that a page holds, each as loud together."""
    for answer in carried_head_sets(trace, layers):
        first, *others = [[layer, head] for layer, head, _ in saved_head_sets(trace, **answer)[0]["heads"]] or [[]]
        for size in range(1, len(others) + 1):
            yield {"layer": first[0], "head": first[1], "partners": others[:size], **answer}
