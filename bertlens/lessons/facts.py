"""What a view shows of a trace, as the checks of a lesson read it."""

from __future__ import annotations

from torch import Tensor

from ..base.vocabulary.constants import NAMED_ANSWERS
from ..errors import BertLensError
from ..measures.byhead import ByHead, statistics
from ..measures.norms import weighted_norm
from ..measures.words import annotation, grouped
from ..text.display import word_of
from ..trace.trace import Trace
from ..whatif.before_after import answers
from .language import Facts


def facts_of(
    trace: Trace, layer: int, head: int, query: int | None = None, key: int | None = None, measure: str = "weight"
) -> Facts:
    """The facts of a head with its chosen row and column. What the model answers is asked once per trace.

    measure: what the view shows; what is taken is told beside a norm only. Raises ModelError where there is none.
    """
    table = statistics_of(trace, layer)
    weights = trace.attention(layer)[head].tolist()
    words = words_of(trace)
    original_answer, answer = first_answers(trace)
    return Facts(
        statistics=dict(zip(table.names, table.values[0, head].tolist(), strict=True)),
        queries=words,
        keys=words,
        special=trace.special_mask.tolist(),
        weight=lambda i, j: weights[i][j],
        query=query,
        key=key,
        answer=answer,
        before=original_answer,
        head=f"L{layer}·H{head}",
        taken=None if measure == "weight" else lambda i, j: float(taken_of(trace, layer)[head, i, j]),
    )


def statistics_of(trace: Trace, layer: int) -> ByHead:
    """The statistics of a layer's heads, kept with the trace."""
    return trace.kept(("lesson statistics", layer), lambda: statistics(trace, layers=[layer]))


def taken_of(trace: Trace, layer: int) -> Tensor:
    """(H, S, S) each key's share of what a row takes, ‖αf(x)‖ ÷ its sum over the row; kept with the trace."""

    def shares() -> Tensor:
        norms = weighted_norm(trace, layer)
        return norms / norms.sum(-1, keepdim=True)

    return trace.kept(("lesson norms", layer), shares)


def words_of(trace: Trace) -> list[tuple[str, list[int]]]:
    """(label, positions) of each word, named as a page names it."""
    labels = annotation(trace)[0]
    sign = trace.encoding.continuation
    return [(word_of((labels[piece] for piece in pieces), sign), pieces) for pieces in grouped(trace.word_ids)]


def first_answers(trace: Trace) -> tuple[str | None, str | None]:
    """What the model says first in the original run and in this one; None where it gives no answer with a name."""
    return trace.kept("lesson answers", lambda: _first_answers(trace))


def _first_answers(trace: Trace) -> tuple[str | None, str | None]:
    try:
        change = answers(trace)
    except BertLensError:
        return None, None
    if change.kind not in NAMED_ANSWERS:
        return None, None
    rows = [row for row in change.rows if row.position == change.rows[0].position]
    return max(rows, key=lambda row: row.before).name, max(rows, key=lambda row: row.after).name
