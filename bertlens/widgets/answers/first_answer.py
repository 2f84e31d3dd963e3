"""What the first answer of a view rests on: heads that matter, tokens of a vector; and unrelated texts beside two."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from ...base.limits import BAND_WORK
from ...errors import BertLensError
from ...measures.vector_shares import vector_shares
from ...trace.trace import Trace
from ...whatif import single_changes
from ...whatif.before_after import answer_kind
from ...whatif.strongest_heads import first_number, limit, ranking, runs
from ...whatif.sweeps import work
from ..records import Answer, Selection
from ..turns import PATIENCE, ask_again, in_steps
from .whatif import asked_target, carried_target

ALIKE = (None, None)  # both texts are read as the view reads them, neither as a query


def heads_that_matter(
    trace: Trace, target: str = "", target_at: int = -1, long: bool = False, patience: float = PATIENCE
) -> Answer:
    """The heads that move the number of the answer's first bar most: see `whatif.strongest_heads`.

    Fields: kind, name, position, unit, before as of `FirstNumber`; heads as [layer, head, change], exact, the largest
    first; rows, of each the token whose row there moves it most, -1 where that is not known; tried, how many heads were
    run; limit, a sentence where nothing was tried unasked (`long` asks), "" where it is done; runs, about how many runs
    of the whole model that takes, 0 where it is done; why_not. Array, where it is done: changes (L, H) float32, of the
    heads tried exact, of the others to first order. Where it takes longer than `patience` (s): "again", see
    turns.
    """
    nothing: dict[str, Any] = {"kind": "", "name": "", "position": -1, "unit": "", "before": math.nan}
    nothing |= {"heads": [], "rows": [], "tried": 0, "limit": "", "runs": 0, "why_not": ""}
    about = asked_target(target, target_at)
    try:
        number = first_number(trace, about)
        fields = {name: getattr(number, name) for name in ("kind", "name", "position", "unit", "before")}
        if not long and (reason := limit(trace, number)):
            return nothing | fields | {"limit": reason, "runs": runs(trace, number)}, {}
        of = ("strongest heads", about)
        strongest = in_steps(trace, of, lambda here: ranking(here, about), patience)
    except BertLensError as error:
        return nothing | {"why_not": str(error)}, {}
    if strongest is None:
        return ask_again(trace, of)
    heads = {"heads": [*map(list, strongest.heads)], "rows": list(strongest.rows), "tried": strongest.tried}
    return nothing | fields | heads, {"changes": strongest.changes.float()}


def saved_heads(trace: Trace, target: str = "", target_at: int = -1, long: bool = False) -> Answer:
    """`heads_that_matter` as a saved page holds it."""
    return heads_that_matter(trace, target, target_at, long, math.inf)


def _is_carried(trace: Trace) -> bool:
    try:
        answer_kind(trace)
    except BertLensError:
        return True  # with the reason
    return not single_changes.why_not(trace)


def carried(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Of a text whose single changes a page without a kernel holds."""
    if _is_carried(trace):
        yield {}


def carried_with_target(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """With the target that the view is set to, of such a text."""
    if _is_carried(trace):
        yield from carried_target(trace, selection)


def unrelated(trace: Trace) -> Answer:
    """How similar unrelated texts are to the model, unchanged: beside the similarity of the two that are shown.

    Fields: n, pairs, low, median, high as of `sentences.baseline.Baseline`; why_not, a sentence where the answer is no
    similarity of two texts, or the model is so large that 48 sentences take more than about 2 s and nobody has asked.
    """
    from ...sentences import baseline  # no other view reads texts

    try:
        if answer_kind(trace) != "similarity":
            return {"why_not": "unrelated texts are compared where the answer is the similarity of two"}, {}
        lens: Any = trace.lens
        if not baseline.is_known(lens, ALIKE):
            tokens = sum(len(text.split()) + 4 for text in baseline.TEXTS)  # of pieces and of the template, about
            if work(trace, tokens / trace.n_tokens) > BAND_WORK:
                many = f"reading {len(baseline.TEXTS)} unrelated texts takes a while"
                return {"why_not": f"{many}: bl.similarity(lens, a, b).baseline compares them"}, {}
        numbers = asdict(baseline.baseline(lens, math.nan, ALIKE))
    except BertLensError as error:
        return {"why_not": str(error)}, {}
    return {name: numbers[name] for name in ("n", "pairs", "low", "median", "high")} | {"why_not": ""}, {}


def carried_unrelated(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Where they were compared."""
    from ...sentences import baseline

    try:
        lens: Any = trace.lens
        if lens is not None and answer_kind(trace) == "similarity" and baseline.is_known(lens, ALIKE):
            yield {}
    except BertLensError:
        pass


def shares(trace: Trace) -> Answer:
    """What a text's vector rests on. Fields: how, said as of `vector_shares`, why_not. Array: shares (S,) float64."""
    try:
        parts = vector_shares(trace)
    except BertLensError as error:
        return {"how": "", "said": "", "why_not": str(error)}, {}
    return {"how": parts.how, "said": parts.said, "why_not": ""}, {"shares": parts.values}
