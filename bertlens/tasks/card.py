"""A task as one card, for the page of a report: how good, which parts it needs, where it is wrong."""

from __future__ import annotations

import math
from html import escape

from ..errors import BertLensError
from ..trace.provenance import visible
from .importance import FEWEST_EXAMPLES
from .making import Task

CHOSEN = 4  # parts, and as many at random
FIRST = 4  # scores of all examples


def card_of(task: Task, seed: int = 0) -> str:
    """Markup of a card: an article with the scores of all examples, and what `heads` and `errors` say."""
    scores = task.metrics()
    whole = scores[scores["label"] == ""].head(FIRST)
    measured = "".join(
        f"<div><dt>{escape(row.measure)}</dt><dd>{_between(row.value, row.low, row.high, row.note)}</dd></div>"
        for row in whole.itertuples()
    )
    said = [task.errors(1, words=False).said]
    if len(task) >= FEWEST_EXAMPLES:
        try:
            said.insert(0, task.heads(CHOSEN, seed=seed).said)
        except BertLensError as error:  # a model whose heads cannot be changed
            said.insert(0, str(error))
    source = visible(task.examples.columns.source)
    return (
        '<article class="wide" id="task"><div><p class="place"><span>your labels</span></p>'
        f"<h3>How good are its answers: {escape(task.kind.asks)}?</h3>"
        f'<p class="measure">{len(task):,} labelled examples{f" of {escape(source)}" if source else ""}; intervals: '
        f"95 %, over examples drawn as these were.</p><dl>{measured}</dl>"
        f"{''.join(f'<p>{escape(visible(one))}</p>' for one in said)}</div></article>"
    )


def _between(value: float, low: float, high: float, note: str) -> str:
    shown = f"{value:.3f}" if math.isfinite(value) else "none"
    if math.isfinite(low):
        shown += f" ({low:.3f} to {high:.3f})"
    return (f"{shown}, {escape(note)}" if note else shown).replace("-", "−")
