"""A task as one card, for the page of a report: how good, which parts it needs, where it is wrong."""

from __future__ import annotations

from ..errors import BertLensError
from ..export import pages
from .importance import FEWEST_EXAMPLES
from .making import Task

CHOSEN = 4  # parts, and as many at random
FIRST = 4  # scores of all examples


def card_of(task: Task, seed: int = 0) -> str:
    """Markup of a card: an article with the scores of all examples, and what `heads` and `errors` say."""
    scores = task.metrics()
    sentences = [task.errors(1, words=False).said]
    if len(task) >= FEWEST_EXAMPLES:
        try:
            sentences.insert(0, task.heads(CHOSEN, seed=seed).said)
        except BertLensError as error:  # a model whose heads cannot be changed
            sentences.insert(0, str(error))
    return pages.render(
        "taskcard.jinja",
        asked=task.kind.asks,
        n=len(task),
        source=task.examples.columns.source,
        scores=scores[scores["label"] == ""].head(FIRST).to_dict("records"),
        sentences=sentences,
    )
