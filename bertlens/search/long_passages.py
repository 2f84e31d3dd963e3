"""Passages to split: those that the model reads no more than the beginning of, and what that costs."""

from __future__ import annotations

import numpy as np

from ..base.amounts import amount
from ..base.dataframes import pd
from ..text.plain_words import words_of
from .collection import Collection
from .failure_rules import ReadingLimit


def long_passages(collection: Collection, limit: ReadingLimit, failures: pd.DataFrame | None = None) -> pd.DataFrame:
    """DataFrame(passage, document, words, read, questions, cut), a row a passage that is longer than the model reads.

    words, read: how many it has, and how many of them the model reads; of a model that reads question and passage as
    one input, beside the longest question. questions: to how many judged questions its document is relevant. cut: for
    how many of the failures, a table of `failure_table`, it is the right passage, and words asked for stand behind
    what is read; NaN without failures. Those that cost most first. attrs: passages, how many there are in all.
    """
    room = limit.room(max(collection.queries, key=len, default=""))
    excerpts = limit.excerpts(collection.passages, room)
    rows = [row for row, text in enumerate(excerpts) if text != collection.passages[row]]
    questions: dict[str, int] = {}
    for query in collection.judged:
        for name in collection.relevant(query):
            questions[name] = questions.get(name, 0) + 1
    cuts = None if failures is None else failures.loc[failures["cut"], "right"].value_counts().to_dict()
    ids = [collection.passage_ids[row] for row in rows]
    table = pd.DataFrame(
        {
            "passage": ids,
            "document": [collection.documents[row] for row in rows],
            "words": np.array([len(words_of(collection.passages[row])) for row in rows], dtype=np.int64),
            "read": np.array([len(words_of(excerpts[row])) for row in rows], dtype=np.int64),
            "questions": np.array([questions.get(collection.documents[row], 0) for row in rows], dtype=np.int64),
            "cut": np.array([np.nan if cuts is None else cuts.get(name, 0) for name in ids], dtype=float),
        }
    )
    order = np.lexsort((collection.passage_order[rows], -table["words"], -table["questions"], -table["cut"].fillna(0)))
    table = table.iloc[order].reset_index(drop=True)
    table.attrs["passages"] = len(collection.passages)
    return table


def sentence(table: pd.DataFrame) -> str:
    """How many there are, and how many of them matter to failures."""
    total = table.attrs["passages"]
    if not len(table):
        return f"The model reads all of {'the passage' if total == 1 else f'each of the {total:,} passages'}."
    clause = f"Of {len(table):,} of {amount(total, 'passage')} the model reads no more than a part"
    count = int((table["cut"] > 0).sum())
    if not count:
        return f"{clause}."
    verb = "is a right passage that lost" if count == 1 else "are right passages that lost"
    return f"{clause}; {count:,} of them {verb} words of the question so: split these first."
