"""Hard negatives: what to train on, of each question its right passages and those that the model ranks high wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.atomic import text_file
from ..base.dataframes import pd
from ..base.paths import as_path
from ..errors import InputError, check_number
from ..export import table_file
from .collection import Collection
from .near_duplicates import near_duplicates
from .ranked_lists import RankedLists

SPARE = 50  # passages of a question that are looked at beyond as many as are asked for
ENDINGS = (".parquet", ".jsonl", ".csv")


@dataclass(frozen=True, eq=False, repr=False)
class HardNegatives:
    """Triplets of a question, a right passage and one that is ranked high wrongly, see `Retrieval.hard_negatives`.

    table: DataFrame(query, positive, negative, rank, margin, judged), a row a triplet: the ids of the question and of
    both passages; rank: where the negative stands in the question's list, from 1; margin: its score less that of the
    positive, NaN where the list has no such; judged: whether its document has a grade, which then is 0.
    triplets: DataFrame(anchor, positive, negative), the texts of the same rows, in the columns that losses of
    sentence-transformers take (MultipleNegativesRankingLoss, TripletLoss, and those of cross-encoders).
    """

    table: pd.DataFrame
    triplets: pd.DataFrame
    duplicates: int  # passages that nearly repeat a right one of their question, and are left out

    @property
    def unjudged(self) -> int:
        """Of how many negatives nobody has judged whether they answer their question."""
        return int((~self._negatives["judged"]).sum())

    @property
    def _negatives(self) -> pd.DataFrame:
        return self.table.drop_duplicates(["query", "negative"])

    @property
    def said(self) -> str:
        """How many there are, and how many of the negatives may be right answers, in a few sentences."""
        n, questions = len(self._negatives), self.table["query"].nunique()
        risk = f"{self.unjudged:,} of them nobody has judged: some may be right answers."
        if not self.unjudged:
            risk = "All of them were judged, and are not relevant."
        elif self.unjudged == n:
            risk = "Nobody has judged any of them: some may be right answers."
        repeats = f"Passages left out, for they nearly repeat a right one: {self.duplicates:,}."
        count = f"Triplets: {len(self.table):,}, of {questions:,} question(s) and {n:,} negative(s)."
        return " ".join([count, risk, *([repeats] if self.duplicates else [])])

    def dataset(self) -> Any:
        """The triplets as a `datasets.Dataset`, for the trainers of sentence-transformers. Raises InputError."""
        try:
            from datasets import Dataset
        except ImportError:
            raise InputError("a Dataset needs the library datasets: pip install datasets, or take .triplets") from None
        return Dataset.from_dict({name: self.triplets[name].tolist() for name in self.triplets})

    def save(self, path: str | Path) -> Path:
        """Write the triplets as .parquet, .jsonl or .csv, in which an apostrophe stands before what a spreadsheet takes
        for a formula. Raises InputError for another ending, ExportError."""
        path = check_ending(path)
        if path.suffix.lower() == ".jsonl":
            return text_file(self.triplets.to_json(orient="records", lines=True, force_ascii=False), path)
        table_file.write(self.triplets, path)
        return path

    def __repr__(self) -> str:
        return f"HardNegatives({self.said})"


def check_ending(path: str | Path) -> Path:
    """Raises InputError for a file that triplets are not written as."""
    path = as_path(path)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"triplets are written as one of {', '.join(ENDINGS)}: {path.name} is none of them")
    return path


def hard_negatives(collection: Collection, lists: RankedLists, n: int = 5, judged: bool = False) -> HardNegatives:
    """Of each judged question and each of its relevant documents n triplets: fewer where the list has no more.

    The positive is the best-ranked passage of the document, of one that the list has not its first by id; negatives are
    the best-ranked passages of no relevant document, but for those that nearly repeat a positive of the question (see
    `near_duplicates`). judged: True for those alone that have a grade, 0.
    Raises InputError for n below 1, without judgements, and where no negative is there.
    """
    n = check_number(n, "n is how many negatives of a question to take,", 1)
    members: dict[str, list[int]] = {}
    for row in np.argsort(collection.passage_order).tolist():
        members.setdefault(collection.documents[row], []).append(row)
    cases = []
    for query in collection.judged:
        relevant, grades = collection.relevant(query), collection.grades[collection.query_ids[query]]
        rows = lists.passages(query).tolist()
        best: dict[str, int] = {}
        for row in rows:
            best.setdefault(collection.documents[row], row)
        positives = [best.get(name, members[name][0]) for name in relevant if name in members]
        places = [
            place
            for place, row in enumerate(rows)
            if collection.documents[row] not in relevant and (not judged or collection.documents[row] in grades)
        ]
        cases.append((query, positives, places[: n + SPARE]))
    repeats = _repeats(collection, lists, cases)
    lines, duplicates = [], 0
    for (query, positives, places), is_repeat in zip(cases, repeats, strict=True):
        rows, scores = lists.passages(query).tolist(), lists.scores[query]
        negatives = [place for place, repeat in zip(places, is_repeat, strict=True) if not repeat][:n]
        end = negatives[-1] if len(negatives) == n else len(rows)
        duplicates += sum(repeat and place < end for place, repeat in zip(places, is_repeat, strict=True))
        grades = collection.grades[collection.query_ids[query]]
        score_of = dict(zip(rows, scores, strict=False))
        for positive in positives:
            score = score_of.get(positive, np.nan)
            for place in negatives:
                has_grade = collection.documents[rows[place]] in grades
                lines.append((query, positive, rows[place], place + 1, scores[place] - score, has_grade))
    if not lines:
        raise InputError(
            "no question has a negative: " + ("none has a grade of 0" if judged else "give relevance, or more passages")
        )
    queries, positive_rows, negative_rows, ranks, margins, has_grades = (
        list(column) for column in zip(*lines, strict=True)
    )
    ids, texts = collection.passage_ids, collection.passages
    table = pd.DataFrame(
        {
            "query": [collection.query_ids[query] for query in queries],
            "positive": [ids[row] for row in positive_rows],
            "negative": [ids[row] for row in negative_rows],
            "rank": ranks,
            "margin": margins,
            "judged": has_grades,
        }
    )
    triplets = pd.DataFrame(
        {
            "anchor": [collection.queries[query] for query in queries],
            "positive": [texts[row] for row in positive_rows],
            "negative": [texts[row] for row in negative_rows],
        }
    )
    return HardNegatives(table, triplets, duplicates)


def _repeats(
    collection: Collection, lists: RankedLists, cases: Sequence[tuple[int, list[int], list[int]]]
) -> list[list[bool]]:
    """Of each question, for each place of its list that may be a negative, whether it nearly repeats a positive."""
    negatives = [lists.passages(query)[places].tolist() for query, _, places in cases]
    left = {row: number for number, row in enumerate(sorted({row for rows in negatives for row in rows}))}
    right = {row: number for number, row in enumerate(sorted({row for _, rows, _ in cases for row in rows}))}
    texts = collection.passages
    pairs = near_duplicates([texts[row] for row in left], [texts[row] for row in right]).tocoo()
    alike = {*zip(pairs.row.tolist(), pairs.col.tolist(), strict=True)}
    return [
        [any((left[row], right[positive]) in alike for positive in positives) for row in rows]
        for rows, (_, positives, _) in zip(negatives, cases, strict=True)
    ]
