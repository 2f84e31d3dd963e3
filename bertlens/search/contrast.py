"""The contrast of two passages by one question, whatever model scores them."""

from __future__ import annotations

from typing import Any

from ..errors import InputError, SelectionError, check_lens
from .cross_contrast import cross_contrast
from .score_difference import Contrast, Tasks
from .vector_contrast import vector_contrast


def contrast(
    lens: Any,
    query: str,
    wrong: str,
    right: str,
    tasks: Tasks = ("query", "document"),
    of: str | None = None,
) -> Contrast:
    """Why a question finds the wrong passage before the right one: s(q, wrong) − s(q, right), split exactly.

    tasks: None, "query" or "document" of the question and of both passages, as in `lens.encode`. of: "output" for words
    by the last layer, "input" for words by what went in, about three forward passes of each text; None is the one that
    the pooling has (see `Similarity.of`). Late interaction is split by the question's tokens. Of a cross-encoder the
    difference is that of two logits, split by what went into both runs; tasks are none of its.
    Raises InputError for anything else than texts, ModelError for a cross-encoder of several labels.
    """
    check_lens(lens)
    if not isinstance(tasks, tuple | list) or len(tasks) != 2:
        raise InputError("tasks are two, of the question and of the passages: None, 'query' or 'document'")
    if lens.sentences.crosses:
        if of == "output":
            raise SelectionError("a cross-encoder has no vectors: words are split by what went in, of='input'")
        return cross_contrast(lens, (query, wrong, right))
    return vector_contrast(lens, (query, wrong, right), (tasks[0], tasks[1]), of)
