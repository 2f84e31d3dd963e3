"""What may stand behind a wrong passage in the first place: facts of a question, a wrong and a right passage, each a
rule that is counted, for the right passage that there is and for those of other questions, as chance has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from ..text.plain_words import words_of
from .collection import Collection
from .hubs import NEAREST, TEN
from .near_duplicates import RUN, incidence, near_duplicates
from .ranked_lists import RankedLists

FREQUENT = 0.1  # of the passages: a word that more of them hold is a frequent one
SAMPLE = 10_000  # passages, evenly spaced, in which words are counted
TWICE = 2
ENDED = 2**40  # place of a passage that a list has not
BLOCK = 256  # questions at a time
OTHERS = 300  # questions, evenly spaced, whose right passages chance may bring

# In the order in which they are asked for the kind of a failure: the narrower first
RULES = {
    "near_duplicate": (
        f"Of the wrong and a right passage, at least half of the runs of {RUN} words of the shorter one stand in the "
        "other too."
    ),
    "cut": (
        "Of the question’s rarer words that the right passage holds, at least half stand only behind what the model "
        "reads of it."
    ),
    "second_stage": (
        f"The first stage had a right document among its first {TEN}, and the second stage has all right ones further "
        "down than that."
    ),
    "hub": (
        f"The wrong passage is a hub: it is among the {TEN} best, for questions that it is not relevant to, more often "
        f"than it would be if each question drew {TEN} of its {NEAREST} nearest passages at random."
    ),
    "no_word": (
        "Question and right passage share no rarer word: none but words that more than a tenth "
        "of the passages hold, and more than one."
    ),
    "length": "One of the wrong and the right passage has at least twice as many words as the other.",
}


class ReadingLimit(Protocol):
    """What a model reads of passages, see `PassageLimit`."""

    def room(self, query: str) -> int | None: ...

    def excerpts(self, texts: Sequence[str], room: int | None) -> list[str]: ...


@dataclass(frozen=True, eq=False)
class Judgements:
    """The right passages of G judged questions in one row: E places in the collection, `starts` where each begins."""

    queries: np.ndarray  # (G,) int64 places of the questions
    passages: np.ndarray  # (E,) int64
    starts: np.ndarray  # (G,) int64
    order: np.ndarray  # (E,) int64 how they stand where no list has them: the larger grade first, then by id

    @classmethod
    def of(cls, collection: Collection) -> Judgements:
        """Of the questions whose relevant documents have a passage."""
        members: dict[str, list[int]] = {}
        for row, name in enumerate(collection.documents):
            members.setdefault(name, []).append(row)
        queries: list[int] = []
        passages: list[int] = []
        grades: list[int] = []
        starts: list[int] = []
        for query in collection.judged:
            pairs = [(row, g) for name, g in collection.relevant(query).items() for row in members.get(name, ())]
            if pairs:
                starts.append(len(passages))
                queries.append(query)
                passages += [row for row, _ in pairs]
                grades += [grade for _, grade in pairs]
        rows = np.array(passages, dtype=np.int64)
        order = np.empty(len(rows), dtype=np.int64)
        order[np.lexsort((collection.passage_order[rows], -np.array(grades)))] = np.arange(len(rows))
        return cls(np.array(queries, dtype=np.int64), rows, np.array(starts, dtype=np.int64), order)

    def best(self, key: np.ndarray) -> np.ndarray:
        """(G,) of each question the entry, a place of `passages`, with the least key (E,)."""
        minima = np.minimum.reduceat(key, self.starts)
        hits = np.flatnonzero(key == np.repeat(minima, np.diff([*self.starts, len(key)])))
        return hits[np.searchsorted(hits, self.starts)]


@dataclass(frozen=True, eq=False)
class Cases:
    """F judged questions, what stands first for each, and 1 + C right passages: its own, then those of C questions."""

    queries: np.ndarray  # (F,) int64
    wrong: np.ndarray  # (F,) int64 the first passage
    groups: np.ndarray  # (F, 1 + C) int64 whose right passages, by place in the judgements
    right: np.ndarray  # (F, 1 + C) int64 of these the best in the question's list
    ranks: np.ndarray  # (F, 1 + C) float64 of its document; infinite where the list has none of them
    first_ranks: np.ndarray  # (F, 1 + C) float64 the same in the first stage's list; NaN without one
    fails: np.ndarray  # (F, 1 + C) bool whether what stands first is of none of their documents

    @classmethod
    def of(
        cls,
        collection: Collection,
        judgements: Judgements,
        lists: RankedLists,
        first_lists: RankedLists | None,
        others: np.ndarray,
    ) -> Cases:
        """Of the judged questions with a list. others: (C,) those that chance may bring, by place in the judgements."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(collection.documents))}
        documents = np.array([numbers[name] for name in collection.documents], dtype=np.int64)
        lines = np.flatnonzero(lists.rows[judgements.queries, 0] >= 0)
        queries = judgements.queries[lines]
        wrong = lists.rows[queries, 0]
        groups = np.column_stack([lines, np.broadcast_to(others, (len(lines), len(others)))]).astype(np.int64)
        right, fails = np.empty_like(groups), np.empty(groups.shape, dtype=bool)
        ranks, first_ranks = np.empty(groups.shape), np.full(groups.shape, np.nan)
        right_documents = documents[judgements.passages]
        places = np.full(len(documents), ENDED)
        for line, query in enumerate(queries.tolist()):
            group = groups[line]
            place, rank = _places(lists.passages(query), documents, places, judgements.passages)
            best = judgements.best(np.where(place < ENDED, place, ENDED + judgements.order))[group]
            right[line], ranks[line] = judgements.passages[best], rank[best]
            fails[line] = ~np.logical_or.reduceat(right_documents == documents[wrong[line]], judgements.starts)[group]
            if first_lists is not None:
                _, rank = _places(first_lists.passages(query), documents, places, judgements.passages)
                first_ranks[line] = np.minimum.reduceat(rank, judgements.starts)[group]
        return cls(queries, wrong, groups, right, ranks, first_ranks, fails)

    def only(self, lines: np.ndarray) -> Cases:
        """Those of some questions, lines (F,) bool."""
        return Cases(**{field.name: getattr(self, field.name)[lines] for field in fields(self)})


def _places(
    rows: np.ndarray, documents: np.ndarray, places: np.ndarray, passages: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of passages (E,) the place in a list (n,), ENDED where it has them not, and the rank of their document, infinite
    there. places: (P,) of ENDED, and so again afterwards."""
    _, starts, inverse = np.unique(documents[rows], return_index=True, return_inverse=True)
    ranks = np.full(len(rows) + 1, np.inf)
    ranks[:-1] = (1 + np.argsort(np.argsort(starts)))[inverse]
    places[rows] = np.arange(len(rows))
    place = places[passages]
    places[rows] = ENDED
    return place, ranks[np.minimum(place, len(rows))]


class RarerWords:
    """The rarer words of questions, and which passages hold them, whole or as far as a model reads them."""

    def __init__(self, collection: Collection, queries: np.ndarray, limit: ReadingLimit | None):
        self._collection, self._limit = collection, limit
        texts = [words_of(collection.queries[query]) for query in queries]
        vocabulary = {word for words in texts for word in words}
        n = len(collection.passages)
        sample = range(0, n, -(-n // SAMPLE))
        counts = Counter(word for row in sample for word in vocabulary.intersection(words_of(collection.passages[row])))
        ceiling = max(1.0, FREQUENT * len(sample))
        rarer = sorted(word for word in vocabulary if counts[word] <= ceiling)
        self._numbers = {word: number for number, word in enumerate(rarer)}
        self._of_questions = incidence([self._of(words) for words in texts], len(rarer))
        self._rooms = [None if limit is None else limit.room(collection.queries[query]) for query in queries]

    def _of(self, words: Sequence[str]) -> set[int]:
        return {self._numbers[word] for word in words if word in self._numbers}

    def rules(self, lines: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
        """name -> (n, N) bool of "no_word" and, with a limit, "cut", for right passages (n, N) of the questions at
        `lines` (n,)."""
        passages, at = np.unique(right, return_inverse=True)
        at = at.reshape(right.shape)
        texts = [self._collection.passages[row] for row in passages]
        common = self._shared(texts, lines, at)
        rules = {"no_word": common == 0}
        if self._limit is not None:
            rules["cut"] = np.zeros(right.shape, dtype=bool)
            rooms = [self._rooms[line] for line in lines]
            for room in dict.fromkeys(rooms):
                cell = np.flatnonzero([space == room for space in rooms])
                legible = self._shared(self._limit.excerpts(texts, room), lines[cell], at[cell])
                rules["cut"][cell] = (common[cell] > 0) & (2 * legible <= common[cell])
        return rules

    def _shared(self, texts: Sequence[str], lines: np.ndarray, at: np.ndarray) -> np.ndarray:
        """(n, N) int32 how many rarer words the questions at `lines` (n,) share with the texts at `at` (n, N)."""
        of_texts = incidence([self._of(words_of(text)) for text in texts], len(self._numbers))
        common = np.empty(at.shape, dtype=np.int32)
        for start in range(0, len(lines), BLOCK):
            block = slice(start, start + BLOCK)
            product = (self._of_questions[lines[block]] @ of_texts.T).toarray()
            common[block] = np.take_along_axis(product, at[block], axis=1)
        return common


def near_duplicate(collection: Collection, judgements: Judgements, cases: Cases) -> np.ndarray:
    """(F, 1 + C) bool whether what stands first nearly repeats a right passage."""
    wrong, line = np.unique(cases.wrong, return_inverse=True)
    passages, column = np.unique(judgements.passages, return_inverse=True)
    texts = [[collection.passages[row] for row in rows] for rows in (wrong, passages)]
    owners: list[list[int]] = [[] for _ in passages]
    ends = [*judgements.starts[1:], len(column)]
    for group, (start, end) in enumerate(zip(judgements.starts, ends, strict=True)):
        for passage in column[start:end]:
            owners[passage].append(group)
    repeated = near_duplicates(*texts).astype(np.int32) @ incidence(owners, len(ends))
    pairs = set(zip(*(axis.tolist() for axis in repeated.nonzero()), strict=True))
    lines = np.broadcast_to(line[:, None], cases.groups.shape)
    cells = zip(lines.ravel().tolist(), cases.groups.ravel().tolist(), strict=True)
    return np.fromiter((cell in pairs for cell in cells), dtype=bool, count=lines.size).reshape(lines.shape)


def length(collection: Collection, cases: Cases) -> np.ndarray:
    """(F, 1 + C) bool whether one of the two is TWICE as long as the other, in words."""
    rows = np.unique([*cases.wrong, *cases.right.ravel()])
    sizes = dict(zip(rows.tolist(), (len(words_of(collection.passages[row])) for row in rows), strict=True))
    right = np.array([sizes[row] for row in cases.right.ravel().tolist()]).reshape(cases.right.shape)
    wrong = np.array([sizes[row] for row in cases.wrong.tolist()])[:, None]
    return (right >= TWICE * wrong) | (wrong >= TWICE * right)


def second_stage(cases: Cases) -> np.ndarray:
    """(F, 1 + C) bool whether the first stage had a right document among TEN, above where the second has it."""
    return (cases.first_ranks <= TEN) & (cases.first_ranks < cases.ranks)
