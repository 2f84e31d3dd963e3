"""A collection: questions, passages that belong to documents, and which documents are relevant to which question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np


def id_order(ids: Sequence[str]) -> np.ndarray:
    """(N,) int64 the rank of each id: whole numbers by size, before all others, which go by their letters."""
    keys = [(0, int(name), name) if name.isdecimal() and name.isascii() else (1, 0, name) for name in ids]
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[sorted(range(len(ids)), key=keys.__getitem__)] = np.arange(len(ids))
    return ranks


@dataclass(frozen=True, eq=False)
class Collection:
    """Q questions and P passages, each with its id. A passage is a part of a document, or is one."""

    query_ids: tuple[str, ...]  # (Q,) none twice
    queries: tuple[str, ...]  # (Q,)
    passage_ids: tuple[str, ...]  # (P,) none twice
    passages: tuple[str, ...]  # (P,)
    documents: tuple[str, ...]  # (P,) the id of each passage's document; its own where there are no documents
    grades: Mapping[str, Mapping[str, int]]  # question -> document -> grade; relevant above 0. Empty: no judgements
    notes: tuple[str, ...] = ()  # sentences on what was read
    # question -> the passages, by place, that are the question itself: no list of it holds them
    namesakes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def passage_order(self) -> np.ndarray:
        """(P,) see `id_order`: how passages of one score stand."""
        return id_order(self.passage_ids)

    @cached_property
    def longest_namesake(self) -> int:
        """How many passages a list may lose to `namesakes`."""
        return max(map(len, self.namesakes.values()), default=0)

    @cached_property
    def has_documents(self) -> bool:
        """Whether passages are parts of documents."""
        return self.documents != self.passage_ids

    @cached_property
    def judged(self) -> tuple[int, ...]:
        """The questions, by place, that have a relevant document: metrics are of them."""
        return tuple(query for query in range(len(self.queries)) if self.relevant(query))

    def relevant(self, query: int) -> dict[str, int]:
        """The relevant documents of a question, by place, with their grades."""
        return {name: grade for name, grade in self.grades.get(self.query_ids[query], {}).items() if grade > 0}
