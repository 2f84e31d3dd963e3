"""Questions, passages and judgements, wherever they come from, made a collection: their ids have to fit each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ..base.paths import as_path
from ..errors import InputError, excerpt
from ..text.encoding import check_text
from ..text.table_files import table_file
from ..text.tables import Table, check_names, place_of, table_of
from ..text.texts import WAY, entries
from .collection import Collection
from .collection_files import Judgement, folder_files, marked_records, trec_judgements

Grades: TypeAlias = dict[str, dict[str, int]]  # question -> document -> grade
EXAMPLES = 3  # ids that a sentence names


class Fields(NamedTuple):
    """Under which names a source has what is read of it."""

    what: str  # as errors name all that it holds
    names: Mapping[str, tuple[Any, ...]]  # role -> columns, of which the first is taken that has something
    needs: tuple[str, ...]  # the roles that a table has a column for; what is no row of a table is the first
    way: str  # out, where it has none

    def cell(self, record: Mapping[Any, Any], role: str) -> Any:
        """None where it is missing."""
        cells = (record.get(name) for name in self.names.get(role, ()))
        return next((c for c in cells if c is not None and type(c).__name__ != "NAType" and c == c), None)  # NaN

    def id(self, record: Mapping[Any, Any], role: str) -> str:
        """Empty where it is missing."""
        cell = self.cell(record, role)
        return "" if cell is None else as_id(cell)


def as_id(cell: Any) -> str:
    """A column of numbers of which some are missing has 12.0 for 12."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).strip()


class Passage(NamedTuple):
    """A passage, or a question, with its place in the source as errors name it. id, document: "" where it has none."""

    place: str
    id: str
    document: str
    text: str


QUESTION_IDS = ("_id", "id", "qid", "query_id", "query-id")
PASSAGE_IDS = ("_id", "id", "passage_id", "pid", "docid", "doc_id", "docno", "corpus_id", "corpus-id")
JUDGED = Fields(
    "judgements",
    {
        "query": ("query-id", "query_id", "qid", "query"),
        "document": ("corpus-id", "corpus_id", "docid", "doc_id", "document"),
        "grade": ("score", "relevance", "grade"),
    },
    ("query", "document", "grade"),
    "a judgement has the columns query, document and grade, or is a line `question 0 document grade`",
)


def collection(
    queries: Any, corpus: Any, relevance: Any = None, *, column: Any = None, document: Any = None
) -> Collection:
    """Questions, passages, and which document is relevant to which question.

    queries, corpus: a table or its file, with ids ("_id", "id", …) and texts (of passages "text", of questions "query",
    "question" or "text", or `column`; of passages also "title" and "document", or `document`); a .I/.W file; TREC's
    topics or documents; {id: text}; {id: row}; a list of texts, or a file with one a line. What has no ids is counted
    from 1, parts of a document within it. corpus: also a folder as BEIR has it; queries=None asks the questions of
    it that are judged, by relevance or by its own judgements.

    A passage's text is title and text, without the title where the text begins with it; of `column` that column alone.

    relevance: a TREC file; a table of "query", "document" and "grade"; {question: {document: grade}}, or
    {question: [documents]}. A grade above 0 is relevant. Passages are judged by document, or all by their own ids.

    `notes` say what one should know of the reading. Raises InputError where questions and judgements do not fit each
    other, for a relevant document that the corpus lacks, an empty question, and two texts of one id.
    """
    for name in (column, document):
        if not isinstance(name, str | int | None):
            raise InputError(f"column= and document= name a column each: {excerpt(name)} is no name")
    notes: list[str] = []
    is_folder = isinstance(corpus, str | Path) and as_path(corpus, "the corpus").is_dir()
    asks_judged = is_folder and queries is None
    if is_folder:
        questions_file, corpus, judgements_file = folder_files(as_path(corpus))
        if asks_judged:
            queries, relevance = questions_file, judgements_file if relevance is None else relevance
    elif queries is None:
        raise InputError("there are no questions: queries=None is for a folder that holds queries.jsonl")

    questions = _passages(queries, _question_fields(column), notes)
    for question in questions:
        if not question.text.strip():
            raise InputError(f"{question.place} is an empty question: leave it out")
    judgements = None if relevance is None else _judgements(relevance)
    if judgements is not None:
        _check_questions([question.id for question in questions], judgements)
        if asks_judged:
            judged = [question for question in questions if question.id in judgements]
            notes.append(
                f"Of the folder's questions those are asked that are judged: {len(judged):,} of {len(questions):,}."
            )
            questions = judged
    passages = _passages(corpus, _passage_fields(column, document), notes)
    if empty := [passage.id for passage in passages if not passage.text.strip()]:
        notes.append(f"Passages without a text: {_share(empty, passages)}.")
    grades = {} if judgements is None else _grades(judgements, questions, passages, notes)
    return Collection(
        tuple(question.id for question in questions),
        tuple(question.text for question in questions),
        tuple(passage.id for passage in passages),
        tuple(passage.text for passage in passages),
        tuple(passage.document for passage in passages),
        grades,
        tuple(notes),
    )


def texts(queries: Any, column: Any = None) -> list[str]:
    """The questions of a source, `queries`, without their ids: a list is counted 1, 2, … in its order.

    For judgements that count the questions of a file which numbers them otherwise, as Cranfield's do.
    """
    fields = _question_fields(column)
    return [passage.text for passage in _passages(queries, fields._replace(names={"text": fields.names["text"]}), [])]


def _question_fields(column: Any) -> Fields:
    names = ("query", "question", "text", *([] if column is None else [column]))
    return Fields("questions", {"text": names, "id": QUESTION_IDS}, ("text",), WAY)


def _passage_fields(column: Any, document: Any) -> Fields:
    names: dict[str, tuple[Any, ...]] = {
        "text": ("text" if column is None else column,),
        "id": tuple(name for name in PASSAGE_IDS if name != document),
        "title": ("title",) if column is None else (),
        "document": ("document" if document is None else document,),
    }
    needs = ("text",) if document is None else ("text", "document")
    return Fields("passages", names, needs, "column= names the one of the texts, document= the one of documents")


def _passages(source: Any, fields: Fields, notes: list[str]) -> list[Passage]:
    """What a source holds, each with an id of its own, and with its document or itself as one."""
    passages: list[Passage] = []
    for place, record in _records(source, fields):
        text, title = fields.cell(record, "text"), fields.cell(record, "title")
        if not isinstance(text, str):
            columns = " or ".join(map(repr, fields.names["text"]))
            fault = f"has no {columns}" if text is None else f"is no text, but {excerpt(text, 60)}"
            raise InputError(f"{place} {fault}: give texts, {{id: text}}, or rows with ids and texts")
        if isinstance(title, str) and not _begins(text, title):
            text = f"{title} {text}".rstrip()
        check_text(text, place)
        passages.append(Passage(place, fields.id(record, "id"), fields.id(record, "document"), text))
    if not passages:
        raise InputError(f"there are no {fields.what}: give one or more")

    has_documents = _all_have(passages, "document")
    if "document" in fields.needs and not has_documents:
        raise InputError(f"no passage has a {fields.names['document'][0]!r}, as document= names it")
    if not _all_have(passages, "id"):
        where = " within their documents" if has_documents else ""
        notes.append(f"The {fields.what} have no ids: they are counted from 1{where}.")
        passages = [*_counted(passages)]
    places: dict[str, str] = {}
    for passage in passages:
        if passage.id in places:
            way = "; document= names the column of their documents" if "document" in fields.names else ""
            raise InputError(
                f"two {fields.what} have the id {excerpt(passage.id)}: {places[passage.id]} and {passage.place}{way}"
            )
        places[passage.id] = passage.place
    return passages if has_documents else [passage._replace(document=passage.id) for passage in passages]


def _counted(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Of a document, 7:1, 7:2, …: no judgement of a document 1 is taken for one of them."""
    counts: Counter[str] = Counter()
    for passage in passages:
        counts[passage.document] += 1
        yield passage._replace(id=f"{passage.document}:{counts[passage.document]}".removeprefix(":"))


def _all_have(passages: Sequence[Passage], what: str) -> bool:
    """Whether all have an "id" or a "document", rather than none. Raises InputError where only some have."""
    lacks = [passage.place for passage in passages if not getattr(passage, what)]
    if lacks and len(lacks) < len(passages):
        raise InputError(f"{lacks[0]} has no {what}, as others have")
    return not lacks


def _begins(text: str, title: str) -> bool:
    """Whether a text begins with its title's words, however both are spaced and in small letters or capitals."""
    words = title.split()
    start = " ".join(words).casefold()
    head = " ".join(text.split(maxsplit=len(words))[: len(words)]).casefold()
    return head.startswith(start) and not head[len(start) :][:1].isalnum()


def _records(source: Any, fields: Fields) -> Iterator[tuple[str, Any]]:
    """What a source holds in its order: the place, and cells by name."""
    if isinstance(source, str | Path):
        records = _of_file(as_path(source, fields.what), fields)
    elif isinstance(source, Mapping) and source and all(isinstance(cell, str | Mapping) for cell in source.values()):
        records = (
            (f"{excerpt(name)} of {fields.what}", {**_row(cell, fields), "_id": name}) for name, cell in source.items()
        )
    elif (table := table_of(source)) is not None:
        records = _of_table(table, fields)
    elif isinstance(source, set | frozenset):
        raise InputError(
            f"{fields.what} in a set have no order, so that nothing counts them: give a list or {{id: text}}"
        )
    else:
        items = [*source] if isinstance(source, Iterable) and not hasattr(source, "__array__") else source
        if isinstance(items, list) and items and isinstance(items[0], Mapping):
            records = ((f"item {at} of {fields.what}", item) for at, item in enumerate(items))
        else:
            records = ((entry.place, entry.item) for entry in entries(items, None, fields.what, pairs=False))
    return ((place, _row(record, fields)) for place, record in records)


def _of_file(path: Path, fields: Fields) -> Iterator[tuple[str, Any]]:
    if not path.is_file():
        raise InputError(f"no {fields.what} at {path}: name a file, or give a table, a dictionary or a list")
    content = table_file(path, [(name,) for name in fields.names[fields.needs[0]]])
    if isinstance(content, Table):
        return _of_table(content, fields)
    if content is not None:
        return (
            (f"item {at} of {path.name}" if line is None else f"line {line} of {path.name}", item)
            for at, (line, item) in enumerate(content)
        )
    if (records := marked_records(path)) is not None:
        return records
    return ((entry.place, entry.item) for entry in entries(path, None, fields.what, pairs=False))


def _of_table(table: Table, fields: Fields) -> Iterator[tuple[str, Any]]:
    for names in (fields.names[role] for role in fields.needs):
        if not any(name in table.names for name in names):
            check_names(table.names, names[-1:], table.source, fields.way)
    columns = [*dict.fromkeys(name for names in fields.names.values() for name in names if name in table.names)]
    check_names(table.names, columns, table.source, fields.way)
    for at, (line, cells) in enumerate(table.rows(columns)):
        yield place_of(at, line, table.source), dict(zip(columns, cells, strict=True))


def _row(record: Any, fields: Fields) -> Mapping[Any, Any]:
    return record if isinstance(record, Mapping) else {fields.names[fields.needs[0]][0]: record}


def _judgements(relevance: Any) -> Grades:
    """All that are judged. Raises InputError, which names the place, for what is no judgement, and for two grades."""
    judgements: Grades = {}
    for place, question, document, cell in _of_relevance(relevance):
        if not question or not document or cell is None:
            raise InputError(f"{place} is no judgement: {JUDGED.way}")
        try:
            grade = float(cell)
        except (TypeError, ValueError, OverflowError):
            grade = math.nan
        if not grade.is_integer():
            raise InputError(f"{place}: a grade is a whole number, not {excerpt(cell)}")
        if judgements.setdefault(question, {}).setdefault(document, int(grade)) != grade:
            raise InputError(f"{place}: document {excerpt(document)} has two grades for question {excerpt(question)}")
    if not any(grade > 0 for grades in judgements.values() for grade in grades.values()):
        raise InputError("no document is judged relevant, by a grade above 0: leave relevance= out")
    return judgements


def _of_relevance(relevance: Any) -> Iterator[Judgement]:
    if isinstance(relevance, Mapping) and not any(name in relevance for name in JUDGED.names["query"]):
        return _of_dictionary(relevance)
    if isinstance(relevance, str | Path):
        path = as_path(relevance, "relevance")
        if path.is_file() and (judgements := trec_judgements(path)) is not None:
            return judgements
    return (
        (place, JUDGED.id(record, "query"), JUDGED.id(record, "document"), JUDGED.cell(record, "grade"))
        for place, record in _records(relevance, JUDGED)
    )


def _of_dictionary(relevance: Mapping[Any, Any]) -> Iterator[Judgement]:
    for question, documents in relevance.items():
        if isinstance(documents, str) or not isinstance(documents, Iterable):
            documents = [documents]
        grades = documents.items() if isinstance(documents, Mapping) else ((document, 1) for document in documents)
        for document, grade in grades:
            yield f"relevance of question {excerpt(question)}", as_id(question), as_id(document), grade


def _check_questions(names: list[str], judgements: Grades) -> None:
    """Raises InputError where both sides have questions that the other lacks: what matches may do so by accident."""
    questions = {*names}
    strangers = [name for name in judgements if name not in questions]
    unjudged = [name for name in names if name not in judgements]
    if strangers and unjudged:
        way = "leave out what the other side lacks; questions without ids are counted from 1"
        if judgements.keys() <= {str(number) for number in range(1, len(names) + 1)}:
            way = f"numbers up to {len(names):,} may be places: bl.search.texts(queries) counts the questions"
        raise InputError(
            f"judgements and questions do not fit: judged and not asked {_share(strangers, judgements)}, asked and not "
            f"judged {_share(unjudged, names)}; {way}"
        )


def _grades(judgements: Grades, questions: list[Passage], passages: list[Passage], notes: list[str]) -> Grades:
    """The judgements of questions that are asked, by document."""
    judged = {question.id: judgements[question.id] for question in questions if question.id in judgements}
    if strangers := [name for name in judgements if name not in judged]:
        notes.append(f"Judged questions that are not asked are left out: {_share(strangers, judgements)}.")
    relevant = dict.fromkeys(name for grades in judged.values() for name, grade in grades.items() if grade > 0)
    homes = {passage.document: passage.document for passage in passages}
    if not relevant.keys() <= homes.keys() and relevant.keys() <= {passage.id for passage in passages}:
        homes = {passage.id: passage.document for passage in passages}
        notes.append("Judgements are of passages: a document has the best grade of its own.")
    if lacks := [name for name in relevant if name not in homes]:
        raise InputError(
            f"the corpus lacks relevant documents, {_share(lacks, relevant)}; it has {examples([*homes])}: "
            "give the corpus that was judged, or leave these judgements out"
        )
    by_document: Grades = {}
    for question, grades in judged.items():
        for name, grade in grades.items():
            if name in homes:  # what is not relevant need not be there
                row = by_document.setdefault(question, {})
                row[homes[name]] = max(grade, row.get(homes[name], grade))
    unjudged = [
        question.id
        for question in questions
        if not any(grade > 0 for grade in by_document.get(question.id, {}).values())
    ]
    if unjudged:
        notes.append(f"Questions without a relevant document, which measures leave out: {_share(unjudged, questions)}.")
    return by_document


def _share(names: Sequence[str], total: Sized) -> str:
    return f"{len(names):,} of {len(total):,} ({examples(names)})"


def examples(names: Sequence[str]) -> str:
    """The first ids of several, each as far as a sentence has room for it."""
    return ", ".join(map(excerpt, names[:EXAMPLES])) + (", …" if len(names) > EXAMPLES else "")
