"""Questions, passages and judgements, wherever they come from, made a collection: their ids have to fit each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple

from ..base.paths import as_path
from ..errors import InputError, excerpt
from ..text.encoding import check_text
from ..text.texts import WAY
from .collection import Collection
from .collection_files import folder_file, folder_judgements
from .judgements import check_questions, grades_of, judgements_of, share_of
from .namesakes import copies_elsewhere, namesakes
from .source_records import Fields, as_id, columns_of, records, whole_ids

TEXTS = "give texts, {id: text}, or rows with ids and texts"
QUESTION_IDS = ("_id", "id", "qid", "q_id", "query_id", "query-id", "question_id")
PASSAGE_IDS = ("_id", "id", "passage_id", "pid", "docid", "doc_id", "docno", "corpus_id", "corpus-id")


class Passage(NamedTuple):
    """A passage, or a question, with its place in the source as errors name it. id, document: "" where it has none."""

    place: str
    id: str
    document: str
    text: str
    versions: tuple[str, ...]  # the text; where it has a title, also without it, and the title


class SourceTexts(NamedTuple):
    """All of a source. has_ids: False where they are counted."""

    members: list[Passage]
    has_ids: bool

    @property
    def ids(self) -> list[str]:
        return [member.id for member in self.members]


def collection(
    queries: Any, corpus: Any, relevance: Any = None, *, column: Any = None, document: Any = None
) -> Collection:
    """Questions, passages, and which document is relevant to which question.

    queries, corpus: a table or its file, with ids ("_id", "id", …) and texts (of passages "text", of questions "query",
    "question" or "text", or `column`; of passages also "title" and "document", or `document`); rows as dictionaries or
    as named tuples, as ir_datasets has them; a .tsv of ids and texts without a first line of names, as of MS MARCO; a
    .I/.W file; TREC's topics or documents; {id: text}; {id: row}; a list of texts, or a file with one a line. What has
    no ids is counted from 1, parts of a document within it. corpus: also a folder as BEIR has it, or the same in
    Parquet; queries=None asks the questions of it that are judged, by relevance or by its own judgements.

    A passage's text is title and text, without the title where the text begins with it; of `column` that column alone.

    relevance: a TREC file; a table of "query", "document" and "grade", or triples of these; {question: {document:
    grade}}, or {question: [documents]}, also as a file; rows that list what is relevant, as of Tevatron and LoTTE. A
    grade above 0 is relevant. Passages are judged by document, or all by their own ids.

    A question that stands in the corpus under its own id is left out of its own list; relevant documents that the
    corpus lacks count as missed; a passage that is there twice, of one id and one text, is taken once.

    `notes` say what one should know of the reading. Raises InputError where questions and judgements do not fit each
    other, where the corpus lacks most relevant documents, for an empty question, and two texts of one id.
    """
    for name in (column, document):
        if not isinstance(name, str | int | None):
            raise InputError(f"column= and document= name a column each: {excerpt(name)} is no name")
    notes: list[str] = []
    is_folder = isinstance(corpus, str | Path) and as_path(corpus, "the corpus").is_dir()
    asks_judged = is_folder and queries is None
    if is_folder:
        folder = as_path(corpus)
        corpus = folder_file(folder, "corpus")
        if asks_judged:
            queries = folder_file(folder, "queries")
            relevance = folder_judgements(folder) if relevance is None else relevance
    elif queries is None:
        raise InputError("there are no questions: queries=None is for a folder that holds queries.jsonl")

    questions = _passages(queries, _question_fields(column), notes)
    for question in questions.members:
        if not question.text.strip():
            raise InputError(f"{question.place} is an empty question: leave it out")
    judgements = None if relevance is None else judgements_of(relevance, questions.ids)
    if judgements is not None:
        check_questions(questions.ids, judgements)
        if asks_judged:
            judged = [question for question in questions.members if question.id in judgements]
            notes.append(
                f"Of the folder's questions those are asked that are judged: {len(judged):,} of "
                f"{len(questions.members):,}."
            )
            questions = questions._replace(members=judged)
    passages = _passages(corpus, _passage_fields(column, document), notes)
    if empty := [passage.id for passage in passages.members if not passage.text.strip()]:
        notes.append(f"Passages without a text: {share_of(empty, passages.members)}.")
    documents = [passage.document for passage in passages.members]
    grades = {}
    if judgements is not None:
        grades = grades_of(judgements, questions.ids, passages.ids, documents, notes)
    own_passages = _namesakes(questions, passages, grades, notes)
    return Collection(
        tuple(questions.ids),
        tuple(question.text for question in questions.members),
        tuple(passages.ids),
        tuple(passage.text for passage in passages.members),
        tuple(documents),
        grades,
        tuple(notes),
        own_passages,
    )


def texts(queries: Any, column: Any = None) -> list[str]:
    """The questions of a source, `queries`, without their ids: a list is counted 1, 2, … in its order.

    For judgements that count the questions of a file which numbers them otherwise, as Cranfield's do.
    """
    fields = _question_fields(column)
    read = _passages(queries, fields._replace(names={"text": fields.names["text"]}), [])
    return [passage.text for passage in read.members]


def _question_fields(column: Any) -> Fields:
    names = ("query_text", "query", "question", "text", *([] if column is None else [column]))
    return Fields("questions", {"text": names, "id": QUESTION_IDS}, ("text",), WAY, _headless(column))


def _passage_fields(column: Any, document: Any) -> Fields:
    names: dict[str, tuple[Any, ...]] = {
        "text": ("document_text", "text") if column is None else (column,),
        "id": tuple(name for name in PASSAGE_IDS if name != document),
        "title": ("title",) if column is None else (),
        "document": ("document" if document is None else document,),
    }
    needs = ("text",) if document is None else ("text", "document")
    way = "column= names the one of the texts, document= the one of documents"
    return Fields("passages", names, needs, way, _headless(column if document is None else document))


def _headless(column: Any) -> tuple[str, ...]:
    """What is called by a name has one."""
    return ("_id", "text") if column is None else ()


def _passages(source: Any, fields: Fields, notes: list[str]) -> SourceTexts:
    """What a source holds, each with an id of its own, and with its document or itself as one."""
    passages: list[Passage] = []
    for place, record in records(source, fields):
        body = fields.cell(record, "text")
        if not isinstance(body, str):
            raise InputError(_no_text(place, record, body, fields))
        title = _title(fields.cell(record, "title"), place)
        text = body if _begins(body, title) else f"{title} {body}".rstrip()
        check_text(text, place)
        name, document = (fields.id(record, role, place) for role in ("id", "document"))
        passages.append(Passage(place, name, document, text, (text, body, title) if title.strip() else (text,)))
    if not passages:
        raise InputError(f"there are no {fields.what}: give one or more")
    ids, documents = (whole_ids([getattr(passage, role) for passage in passages]) for role in ("id", "document"))
    passages = [
        passage if (passage.id, passage.document) == names else passage._replace(id=names[0], document=names[1])
        for passage, names in zip(passages, zip(ids, documents, strict=True), strict=True)
    ]

    has_documents, has_ids = (_all_have(passages, role) for role in ("document", "id"))
    if "document" in fields.needs and not has_documents:
        name = fields.names["document"][0]
        raise InputError(f"no passage has a {name!r}, as document= names it: {columns_of(record)}")
    if has_ids:
        passages = _once(passages, fields, notes)
    else:
        where = " within their documents" if has_documents else ""
        notes.append(f"The {fields.what} have no ids: they are counted from 1{where}.")
        passages = [*_counted(passages)]
    return SourceTexts(
        passages if has_documents else [passage._replace(document=passage.id) for passage in passages], has_ids
    )


def _no_text(place: str, record: Any, body: Any, fields: Fields) -> str:
    """The sentence on a row without a text."""
    names = fields.names["text"]
    if body is not None:
        return f"{place} is no text, but {excerpt(body, 60)}: {TEXTS}"
    if name := next((name for name in names if name in record), None):
        return f"{place} has no {name!r}: leave it out"
    return f"{place} has no {' or '.join(map(repr, names))}: {columns_of(record)}; {fields.way}"


def _title(cell: Any, place: str) -> str:
    """A title as a text; a list of them side by side. Raises InputError for anything else."""
    cells = cell if isinstance(cell, list | tuple) else [] if cell is None else [cell]
    if not all(isinstance(member, str | Number) for member in cells):
        raise InputError(f"{place}: a title is a text, a number or a list of these, not {excerpt(cell, 60)}")
    return " ".join(member if isinstance(member, str) else as_id(member) for member in cells)


def _once(passages: list[Passage], fields: Fields, notes: list[str]) -> list[Passage]:
    """The passages, each once. Raises InputError where one id has two texts."""
    by_id: dict[str, Passage] = {}
    copies: dict[str, None] = {}
    for passage in passages:
        earlier = by_id.setdefault(passage.id, passage)
        if earlier is passage:
            continue
        if (earlier.text, earlier.document) != (passage.text, passage.document):
            way = "document= names the column of their documents" if "document" in fields.names else "leave one out"
            raise InputError(
                f"two {fields.what} have the id {excerpt(passage.id)}: {earlier.place} and {passage.place}; {way}"
            )
        copies[passage.id] = None
    if copies:
        notes.append(f"Of {fields.what} that stand there twice one is taken: {share_of([*copies], by_id)}.")
    return [*by_id.values()]


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
        raise InputError(f"{lacks[0]} has no {what}, as others have: give it one, or leave it out")
    return not lacks


def _begins(text: str, title: str) -> bool:
    """Whether a text begins with its title's words, however both are spaced and in small letters or capitals."""
    words = title.split()
    start = " ".join(words).casefold()
    head = " ".join(text.split(maxsplit=len(words))[: len(words)]).casefold()
    return head.startswith(start) and not head[len(start) :][:1].isalnum()


def _namesakes(
    questions: SourceTexts, passages: SourceTexts, grades: Any, notes: list[str]
) -> dict[int, tuple[int, ...]]:
    """See `namesakes`; of ids that were counted none."""
    asked = [(question.id, question.text) for question in questions.members]
    documents = [passage.document for passage in passages.members]
    versions = [passage.versions for passage in passages.members]
    own: dict[int, tuple[int, ...]] = {}
    if questions.has_ids and passages.has_ids:
        own = namesakes(asked, passages.ids, documents, versions, grades)
    if own:
        share = share_of([asked[at][0] for at in own], asked)
        notes.append(f"Questions that stand in the corpus under their own id are left out of their own lists: {share}.")
    if names := copies_elsewhere(asked, documents, versions, grades, own):
        notes.append(
            f"Questions that stand in the corpus word for word, and find themselves: {share_of(names, asked)}; of one "
            "id on both sides they are left out."
        )
    return own
