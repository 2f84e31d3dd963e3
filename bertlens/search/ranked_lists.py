"""What a search gives: for each question the best passages with their scores, and the documents that they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError, excerpt
from .collection import Collection
from .judgements import examples
from .source_records import as_id, id_among


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Of Q questions the K best passages, the best first; passages of one score by id."""

    rows: np.ndarray  # (Q, K) int64 places in the collection's passages; −1 where a list has ended
    scores: np.ndarray  # (Q, K) float64; NaN where a list has ended

    def passages(self, query: int) -> np.ndarray:
        """(n,) int64 of one question."""
        rows = self.rows[query]
        return rows[rows >= 0]

    def documents(self, query: int, collection: Collection) -> list[str]:
        """The documents of one question, each at the place of its best passage."""
        return [*dict.fromkeys(collection.documents[row] for row in self.passages(query))]

    def best_right(self, query: int, collection: Collection) -> int:
        """The passage that stands first of those of relevant documents; of one that is in no list, any of it.

        Raises InputError where no document is relevant.
        """
        relevant = collection.relevant(query)
        rows = [*self.passages(query).tolist(), *range(len(collection.passages))]
        place = next((row for row in rows if collection.documents[row] in relevant), None)
        if place is None:
            name = excerpt(collection.query_ids[query])
            raise InputError(f"no relevant passage is known for question {name}: name one by right=")
        return place

    def without(self, passages: Mapping[int, Sequence[int]], depth: int) -> RankedLists:
        """The `depth` best of each question, by place, but for these passages of it."""
        rows, scores = self.rows[:, :depth].copy(), self.scores[:, :depth].copy()
        for query, places in passages.items():
            stays = ~np.isin(self.rows[query], places)
            rows[query], scores[query] = -1, np.nan
            n = min(depth, int(stays.sum()))
            rows[query, :n], scores[query, :n] = self.rows[query, stays][:n], self.scores[query, stays][:n]
        return RankedLists(rows, scores)


@dataclass(frozen=True, eq=False)
class LongerLists(RankedLists):
    """Lists of which some hold all passages."""

    searches: Mapping[int, tuple[np.ndarray, np.ndarray]]  # question -> (P,) int64 passages, (P,) float64 scores

    def passages(self, query: int) -> np.ndarray:
        return self.searches[query][0] if query in self.searches else super().passages(query)


def place_among(ids: tuple[str, ...], name: str | int, what: str) -> int:
    """Where an id stands. Raises InputError, with examples, for one that is not there."""
    try:
        return ids.index(id_among(as_id(name), ids))
    except ValueError:
        raise InputError(f"no {what} {excerpt(name)} in this collection: there are {examples(ids)}") from None
