"""What parts of a model have in common: how they rank, and their measure question by question."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import InputError, ModelError, excerpt
from ..collection import Collection
from ..metrics import GRADED, MEASURES
from ..ranked_lists import RankedLists
from ..stages import Stages, nearest
from ..vectors import PassageVectors

MEASURE = "nDCG@10"


def check_measure(measure: str, collection: Collection) -> str:
    """Raises InputError for a measure that there is not, or not of these judgements."""
    names = [name for name in MEASURES if name != GRADED or _is_graded(collection)]
    if measure not in names:
        raise InputError(f"no measure {excerpt(measure)}: there are {', '.join(names)}")
    return measure


def _is_graded(collection: Collection) -> bool:
    return any(grade > 1 for query in collection.judged for grade in collection.relevant(query).values())


def single_vectors(stages: Stages, what: str) -> tuple[PassageVectors, PassageVectors]:
    """Those of passages and of questions. Raises ModelError, which names what is asked, where texts have none."""
    vectors, query_vectors = stages.vectors, stages.query_vectors
    if vectors is None or query_vectors is None or vectors.offsets is not None:
        raise ModelError(f"{what} are told of a model that makes one vector of a text: this one does not")
    return vectors, query_vectors


def ranked_by(
    queries: np.ndarray, passages: np.ndarray, function: str, collection: Collection, depth: int
) -> RankedLists:
    """What vectors (Q, E) and (P, E) rank, `depth` passages each or as many as hold half as many documents."""
    q, p = (PassageVectors(np.ascontiguousarray(array, dtype=np.float32)) for array in (queries, passages))
    return nearest(function, collection, q, p, min(depth, len(passages)))


def shares_of(lists: RankedLists, collection: Collection, measure: str) -> np.ndarray:
    """(n,) the measure of each judged question, in [0, 1]; as `metrics.by_question` has it."""
    function, depth = MEASURES[measure][0], depth_of(measure)
    shares = []
    for query in collection.judged:
        grades = collection.relevant(query)
        order = lists.documents(query, collection)[:depth]
        gains = np.array([grades.get(name, 0) for name in order], dtype=float)
        shares.append(function(gains, np.array([*grades.values()], dtype=float)))
    return np.array(shares)


def depth_of(measure: str) -> int:
    """How many documents it reads."""
    return int(measure.rpartition("@")[2])


def part(collection: Collection, rows: np.ndarray) -> Collection:
    """The same questions over these passages alone, with what is relevant among them."""
    documents = tuple(collection.documents[row] for row in rows)
    there, places = set(documents), {int(row): at for at, row in enumerate(rows)}
    grades = {
        query: {name: grade for name, grade in of.items() if name in there} for query, of in collection.grades.items()
    }
    namesakes = {query: tuple(places[row] for row in of if row in places) for query, of in collection.namesakes.items()}
    return replace(
        collection,
        passage_ids=tuple(collection.passage_ids[row] for row in rows),
        passages=tuple(collection.passages[row] for row in rows),
        documents=documents,
        grades=grades,
        namesakes={query: of for query, of in namesakes.items() if of},
    )
