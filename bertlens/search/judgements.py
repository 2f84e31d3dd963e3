"""Which document is relevant to which question, out of whatever holds it, and how that fits a collection."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, TypeAlias

from ..base.paths import as_path
from ..errors import InputError, excerpt
from ..text.table_files import json_content, kind_of_file
from ..text.tables import table_of
from .collection_files import Judgement, trec_judgements
from .source_records import Fields, checked_id, columns_of, id_among, is_columns, is_missing, records, row_of

Grades: TypeAlias = dict[str, dict[str, int]]  # question -> document -> grade
EXAMPLES = 3  # ids that a sentence names
LISTS = ("positive_passages", "positive_document_ids", "answer_pids")  # of Tevatron, of LoTTE: all relevant ones
DOCUMENT_IDS = ("corpus-id", "corpus_id", "docid", "doc_id", "document")
JUDGED = Fields(
    "judgements",
    {
        "query": ("query-id", "query_id", "qid", "q_id", "query"),
        "document": DOCUMENT_IDS,
        "grade": ("score", "relevance", "grade"),
        "documents": LISTS,
    },
    ("query", "document", "grade"),
    "a judgement has the columns query, document and grade, or is a line `question 0 document grade`",
    lists=LISTS,
)
TRIPLE = tuple(JUDGED.names[role][0] for role in JUDGED.needs)


def judgements_of(relevance: Any, questions: Sequence[str]) -> Grades:
    """All that are judged; questions, by their ids, are written as they are asked.

    Raises InputError, which names the place, for what is no judgement, and for two grades.
    """
    judgements: Grades = {}
    ids = frozenset(questions)
    for place, question, document, cell in _of_relevance(relevance):
        if not question or not document or is_missing(cell):
            raise InputError(f"{place} is no judgement: {JUDGED.way}")
        try:
            grade = float(cell)
        except (TypeError, ValueError, OverflowError):
            grade = math.nan
        if not grade.is_integer():
            raise InputError(f"{place}: a grade is a whole number, not {excerpt(cell)}")
        row = judgements.setdefault(id_among(question, ids), {})
        if row.setdefault(document, int(grade)) != grade:
            raise InputError(
                f"{place}: document {excerpt(document)} has two grades for question {excerpt(question)}: leave one out"
            )
    if not any(grade > 0 for grades in judgements.values() for grade in grades.values()):
        raise InputError("no document is judged relevant, by a grade above 0: leave relevance= out")
    return judgements


def _of_relevance(relevance: Any) -> Iterator[Judgement]:
    if isinstance(relevance, str | Path):
        path = as_path(relevance, "relevance")
        if path.is_file() and (judgements := trec_judgements(path)) is not None:
            return judgements
        if path.is_file() and kind_of_file(path) == "json":
            content = json_content(path)
            if isinstance(content, dict) and not is_columns(content):
                return _of_dictionary(content, path.name)
    elif isinstance(relevance, Mapping):
        if not any(name in relevance for name in JUDGED.names["query"]):
            return _of_dictionary(relevance, "relevance")
    elif table_of(relevance) is None and not hasattr(relevance, "__array__"):
        if hasattr(relevance, "to_dict"):  # as ranx has them
            return _of_dictionary(relevance.to_dict(), "relevance")
        if isinstance(relevance, Iterable):
            relevance = [*map(_named, relevance)]
    return (judgement for place, record in records(relevance, JUDGED) for judgement in _of_row(place, record))


def _named(item: Any) -> Any:
    """A triple of question, document and grade with the names of these."""
    is_triple = isinstance(item, tuple | list) and len(item) == len(TRIPLE) and row_of(item) is None
    return dict(zip(TRIPLE, item, strict=True)) if is_triple else item


def _of_row(place: str, record: Mapping[Any, Any]) -> Iterator[Judgement]:
    """Of a row that lists its relevant documents, as ids or as rows of passages, one of each."""
    if isinstance(JUDGED.cell(record, "query"), list | tuple):
        raise InputError(f"{place} is no judgement: {JUDGED.way}")
    question, grade = JUDGED.id(record, "query", place), JUDGED.cell(record, "grade")
    documents = JUDGED.cell(record, "documents")
    if isinstance(documents, list | tuple) and question:
        for item in documents:
            row = row_of(item)
            name = checked_id(item, place) if row is None else JUDGED.id(row, "document", place)
            yield place, question, name, 1 if grade is None else grade
        return
    document = JUDGED.id(record, "document", place)
    if not question or not document or grade is None:
        listing = f"; {columns_of(record)}" if len(record) > 1 else ""
        raise InputError(f"{place} is no judgement: {JUDGED.way}{listing}")
    yield place, question, document, grade


def _of_dictionary(relevance: Mapping[Any, Any], source: str) -> Iterator[Judgement]:
    for question, documents in relevance.items():
        place = f"{source} of question {excerpt(question)}"
        if isinstance(documents, str) or not isinstance(documents, Iterable):
            documents = [documents]
        grades = documents.items() if isinstance(documents, Mapping) else ((document, 1) for document in documents)
        for document, grade in grades:
            name = "" if is_missing(document) else checked_id(document, place)
            yield place, checked_id(question, place), name, grade


def check_questions(names: list[str], judgements: Grades) -> None:
    """Raises InputError where both sides have questions that the other lacks: what matches may do so by accident."""
    questions = {*names}
    strangers = [name for name in judgements if name not in questions]
    unjudged = [name for name in names if name not in judgements]
    if strangers and unjudged:
        way = "leave out what the other side lacks; questions without ids are counted from 1"
        if judgements.keys() <= {str(number) for number in range(1, len(names) + 1)}:
            way = f"numbers up to {len(names):,} may be places: bl.search.texts(queries) counts the questions"
        raise InputError(
            f"judgements and questions do not fit: judged and not asked {share_of(strangers, judgements)}, asked and "
            f"not judged {share_of(unjudged, names)}; {way}"
        )


def grades_of(
    judgements: Grades, questions: Sequence[str], passages: Sequence[str], documents: Sequence[str], notes: list[str]
) -> Grades:
    """The judgements of questions that are asked, by document; all three are ids.

    A relevant document that the corpus lacks keeps its grade, so that measures count it as missed. Raises InputError
    where it lacks most of them.
    """
    judged = {question: judgements[question] for question in questions if question in judgements}
    if strangers := [name for name in judgements if name not in judged]:
        notes.append(f"Judged questions that are not asked are left out: {share_of(strangers, judgements)}.")
    homes = dict(zip(documents, documents, strict=True))
    by_passage = dict(zip(passages, documents, strict=True))
    relevant = dict.fromkeys(name for grades in judged.values() for name, grade in grades.items() if grade > 0)
    hits, of_passages = (sum(id_among(name, ids) in ids for name in relevant) for ids in (homes, by_passage))
    if hits < of_passages:
        homes = by_passage
        notes.append("Judgements are of passages: a document has the best grade of its own.")
    if lacks := [name for name in relevant if id_among(name, homes) not in homes]:
        share = share_of(lacks, relevant)
        if 2 * len(lacks) > len(relevant):
            raise InputError(
                f"the corpus lacks most relevant documents, {share}; it has {examples([*homes])}: "
                "give the corpus that was judged, or leave these judgements out"
            )
        notes.append(f"Relevant documents that the corpus lacks count as missed: {share}.")
    by_document: Grades = {}
    for question, grades in judged.items():
        for name, grade in grades.items():
            document = homes.get(id_among(name, homes))
            if document is not None or grade > 0:  # what is not relevant need not be there
                row = by_document.setdefault(question, {})
                document = name if document is None else document
                row[document] = max(grade, row.get(document, grade))
    unjudged = [name for name in questions if not any(grade > 0 for grade in by_document.get(name, {}).values())]
    if unjudged:
        notes.append(
            f"Questions without a relevant document, which measures leave out: {share_of(unjudged, questions)}."
        )
    return by_document


def share_of(names: Sequence[str], total: Sized) -> str:
    """How many of how many, with the first of them."""
    return f"{len(names):,} of {len(total):,} ({examples(names)})"


def examples(names: Sequence[str]) -> str:
    """The first ids of several, each as far as a sentence has room for it."""
    return ", ".join(map(excerpt, names[:EXAMPLES])) + (", …" if len(names) > EXAMPLES else "")
