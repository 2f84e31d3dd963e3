"""How a model ranks the passages of a collection: by search, or as a second stage what another model has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.paths import as_path
from ..errors import InputError, check_batch, check_lens, check_number
from ..lens import Lens
from .collection import Collection
from .exact_search import DEPTH, search
from .pair_scores import pair_scores
from .ranked_lists import LongerLists, RankedLists
from .two_towers import check_towers
from .vectors import PassageVectors, encoded
from .vectors_file import mark

DOCUMENTS = 100  # that a question's list is to hold, where passages are parts of documents
SECOND = 100  # passages of a question that a cross-encoder scores
DEEPER = 4  # times as many passages, where they are of too few documents


@dataclass(frozen=True, eq=False)
class Stages:
    """What the model asked ranks, and what it was given to rank; None where there is no such thing."""

    lists: RankedLists  # of the model asked
    first_lists: RankedLists | None  # of the first stage, where the model is a second one
    vectors: PassageVectors | None  # of the passages, where the model makes vectors
    query_vectors: PassageVectors | None  # of the questions
    function: str = ""  # by which the vectors are compared

    def to_the_end(self, collection: Collection) -> RankedLists:
        """The lists; with vectors those of judged questions without a right document to the last passage."""
        lists, vectors = self.lists, self.vectors
        queries = [
            q for q in collection.judged if not collection.relevant(q).keys() & {*lists.documents(q, collection)}
        ]
        if vectors is None or self.query_vectors is None or not queries:
            return lists
        table = _search(self.function, collection, self.query_vectors, vectors, len(vectors), queries)
        lengths = (table.rows >= 0).sum(1)
        pairs = zip(table.rows, table.scores, lengths, strict=True)
        searches = {query: (rows[:n], scores[:n]) for query, (rows, scores, n) in zip(queries, pairs, strict=True)}
        return LongerLists(lists.rows, lists.scores, searches)


def ranked(
    lens: Lens,
    collection: Collection,
    *,
    first_stage: Lens | None = None,
    query_lens: Lens | None = None,
    file: str | Path | None = None,
    int8: bool = False,
    depth: int = DEPTH,
    batch_size: int = 32,
    progress: bool = True,
) -> Stages:
    """The `depth` best passages of each question by the model's own similarity; of one score by id, of a cross-encoder
    by the logit before.

    Questions are encoded as "query", passages as "document". file, int8: see `vectors.encoded`. Where passages are
    parts of documents, a list goes deeper until it holds half as many documents as `depth`, 100 at most, or all.
    first_stage: of a cross-encoder, the model whose first 100 passages it scores; its lists hold these alone. Its
    scores are kept beside `file`, in a file of each cross-encoder that ends in .pairs.npz.

    query_lens: what encodes questions, where it is another model; of a cross-encoder that of its first stage.

    Raises InputError for a cross-encoder without a first stage and a first stage for another model; as
    `vectors.encoded` and `check_towers`; ModelError for a cross-encoder of several labels.
    """
    check_lens(lens)
    depth, batch_size = check_number(depth, "depth is how many passages to rank,", 1), check_batch(batch_size)
    if lens.sentences.crosses:
        first_stage = _first_stage(first_stage)
        options: dict[str, Any] = {
            "query_lens": query_lens,
            "file": file,
            "int8": int8,
            "depth": depth,
            "batch_size": batch_size,
            "progress": progress,
        }
        first = ranked(first_stage, collection, **options)
        pairs_file = None if file is None else as_path(f"{file}.{mark(lens)}.pairs.npz")
        return Stages(_second(lens, collection, first.lists, pairs_file, batch_size, progress), first.lists, None, None)
    if first_stage is not None:
        lens.sentences.read("a", "document")  # of what makes no vectors that is what is wrong
        raise InputError(
            "first_stage is the model that a cross-encoder comes behind: this one searches the whole collection itself"
        )
    if query_lens is not None:
        check_towers(query_lens, lens)
    vectors = encoded(
        lens, collection.passages, "document", file=file, int8=int8, batch_size=batch_size, progress=progress
    )
    query_vectors = encoded(query_lens or lens, collection.queries, "query", batch_size=batch_size, progress=progress)
    function = lens.sentences.function
    return Stages(nearest(function, collection, query_vectors, vectors, depth), None, vectors, query_vectors, function)


def _first_stage(lens: Lens | None) -> Lens:
    """Raises InputError where it is none that can search."""
    if lens is None:
        raise InputError(
            "a cross-encoder scores pairs, not a whole collection: name the model whose first 100 passages it is to "
            "score, first_stage=bl.Lens(…)"
        )
    check_lens(lens)
    if lens.sentences.crosses:
        raise InputError("first_stage is a cross-encoder: name a model that makes vectors")
    return lens


def nearest(
    function: str, collection: Collection, queries: PassageVectors, vectors: PassageVectors, depth: int
) -> RankedLists:
    """The `depth` best passages of each question by these vectors; more where they are parts of documents, see
    `ranked`."""
    lists = _search(function, collection, queries, vectors, depth, range(len(queries)))
    goal = min(DOCUMENTS, (depth + 1) // 2, len(set(collection.documents))) if collection.has_documents else 0
    while depth < len(vectors):
        short = [number for number in range(len(queries)) if len(lists.documents(number, collection)) < goal]
        if not short:
            break
        depth = min(DEEPER * depth, len(vectors))
        deeper = _search(function, collection, queries, vectors, depth, short)
        rows = np.full((len(queries), depth), -1, dtype=np.int64)
        scores = np.full(rows.shape, np.nan)
        width = lists.rows.shape[1]
        rows[:, :width], scores[:, :width] = lists.rows, lists.scores
        rows[short], scores[short] = deeper.rows, deeper.scores
        lists = RankedLists(rows, scores)
    return lists


def _search(
    function: str,
    collection: Collection,
    queries: PassageVectors,
    vectors: PassageVectors,
    depth: int,
    numbers: Sequence[int],
) -> RankedLists:
    """The lists of these questions, by place; none holds a passage that is the question itself."""
    questions = queries.take(np.array(numbers, dtype=np.int64))
    deeper = depth + collection.longest_namesake
    lists = search(questions, vectors, function, collection.passage_order, deeper)
    namesakes = collection.namesakes
    return lists.without({at: namesakes[query] for at, query in enumerate(numbers) if query in namesakes}, depth)


def _second(
    lens: Lens, collection: Collection, lists: RankedLists, file: Path | None, batch_size: int, progress: bool
) -> RankedLists:
    """The first passages of each list in the order of the cross-encoder's scores; of one score by the logit under it,
    which a sigmoid may have rounded to 1, then by id."""
    rows = lists.rows[:, :SECOND]
    scores, logits = np.full(rows.shape, np.nan), np.full(rows.shape, np.nan)
    questions, columns = np.nonzero(rows >= 0)
    pairs = [
        (collection.queries[question], collection.passages[rows[question, column]])
        for question, column in zip(questions.tolist(), columns.tolist(), strict=True)
    ]
    scores[questions, columns], logits[questions, columns] = pair_scores(lens, pairs, file, batch_size, progress).T
    order = np.lexsort((collection.passage_order[rows], -logits, -scores))  # NaN, where a list has ended, is last
    return RankedLists(np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1))
