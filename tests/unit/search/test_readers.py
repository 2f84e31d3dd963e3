"""One collection out of whatever it is published as, with what published ones have: numbers for ids that are written in
two ways, a title that is a number, a passage twice, a judged document that the corpus lacks, a question in the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

import bertlens as bl
from bertlens.search.bm25 import bm25
from bertlens.search.collection import Collection
from bertlens.search.reading import collection
from bertlens.text.texts import entries
from unit.tiny_encoders import encoder

datasets, pa = (pytest.importorskip(name) for name in ("datasets", "pyarrow"))

QUESTIONS = {"12": "what lifts a wing", "13": "what heats a nose"}
PASSAGES = [("7", "lift", "of wings"), ("8", 1984, "heat of noses"), ("9", "", "slabs"), ("13", "", QUESTIONS["13"])]
PASSAGES.insert(2, PASSAGES[0])
TEXTS = {"7": "lift of wings", "8": "1984 heat of noses", "9": "slabs", "13": QUESTIONS["13"]}
GRADES = {"12": {"7": 2, "9": 0, "99": 1}, "13": {"8": 1}}
TRIPLES = [(query, document, grade) for query, row in GRADES.items() for document, grade in row.items()]
TWICE = "Of passages that stand there twice one is taken: 1 of 4 ('7')."
LACKS = "Relevant documents that the corpus lacks count as missed: 1 of 3 ('99')."
ITSELF = "Questions that stand in the corpus under their own id are left out of their own lists: 1 of 2 ('13')."
ALL_ASKED = "Of the folder's questions those are asked that are judged: 2 of 2."


class Query(NamedTuple):
    """As ir_datasets has questions, documents and judgements."""

    query_id: str
    text: str


class Doc(NamedTuple):
    doc_id: str
    title: Any
    text: str


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


class Qrels:
    """As ranx has judgements."""

    def to_dict(self) -> dict[str, dict[str, int]]:
        return GRADES


def rows(*names: str, titles: bool = False) -> tuple[list[dict[str, Any]], ...]:
    """Questions, passages and judgements under names; titles: whether these are texts all."""
    query, text, document, title, body, *judged = names
    passages = [{document: row[0], title: str(row[1]) if titles else row[1], body: row[2]} for row in PASSAGES]
    questions = [{query: name, text: question} for name, question in QUESTIONS.items()]
    return questions, passages, [dict(zip(judged, triple, strict=True)) for triple in TRIPLES]


BEIR = ("_id", "text", "_id", "title", "text", "query-id", "corpus-id", "score")
PLAIN = ("id", "question", "docid", "title", "text", "query", "document", "grade")


def json_lines(path: Path, table: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, table)))
    return path


def trec(folder: Path) -> Path:
    path = folder / "qrels.txt"
    path.write_text("\n".join(f"{query} 0 {document} {grade}" for query, document, grade in TRIPLES))
    return path


def frames(*names: str) -> list[pd.DataFrame]:
    """With the ids of questions as pandas has them, where one was missing once."""
    questions, passages, judgements = map(pd.DataFrame, rows(*names, titles=True))
    return [questions.astype({names[0]: float}), passages, judgements.astype({names[5]: float})]


def separated(folder: Path, ending: str, separator: str) -> list[Path]:
    paths = [folder / f"{name}.{ending}" for name in ("questions", "passages", "relevance")]
    for path, frame in zip(paths, frames(*PLAIN), strict=True):
        frame.to_csv(path, sep=separator, index=False)
    return paths


def parquet(folder: Path) -> list[Path]:
    paths = [folder / f"{name}.parquet" for name in ("questions", "passages", "relevance")]
    for path, frame in zip(paths, frames(*PLAIN), strict=True):
        frame.to_parquet(path)
    return paths


def beir(folder: Path) -> list[Any]:
    questions, passages, judgements = rows(*BEIR)
    json_lines(folder / "queries.jsonl", questions)
    json_lines(folder / "corpus.jsonl", passages)
    (folder / "qrels").mkdir()
    pd.DataFrame(judgements).to_csv(folder / "qrels" / "test.tsv", sep="\t", index=False)
    return [None, folder]


def mteb(folder: Path) -> list[Any]:
    """In Parquet, a folder of files of each; grades are floating numbers in some."""
    for name, table in zip(("queries", "corpus", "qrels"), rows(*BEIR, titles=True), strict=True):
        (folder / name).mkdir()
        frame = pd.DataFrame(table)
        frame = frame.astype({"score": float}) if name == "qrels" else frame
        frame.to_parquet(folder / name / "test-00000-of-00001.parquet")
    return [None, folder]


def trec_files(folder: Path) -> list[Path]:
    topics, documents = folder / "topics", folder / "documents"
    topics.write_text("".join(f"<top><num>{n}</num><title>{text}</title></top>\n" for n, text in QUESTIONS.items()))
    documents.write_text(
        "".join(f"<doc><docno>{n}</docno><title>{t}</title><text>{b}</text></doc>\n" for n, t, b in PASSAGES)
    )
    return [topics, documents, trec(folder)]


def joined() -> list[tuple[str, str]]:
    return [(name, f"{title} {text}".strip()) for name, title, text in PASSAGES]


def ms_marco(folder: Path) -> list[Path]:
    """Files with tabs, of which the first two have no line of names."""
    queries, passages, qrels = (folder / name for name in ("queries.tsv", "collection.tsv", "qrels.tsv"))
    queries.write_text("".join(f"{name}\t{text}\n" for name, text in QUESTIONS.items()))
    passages.write_text("".join(f"{name}\t{text}\n" for name, text in joined()))
    qrels.write_text("".join(f"{query}\t0\t{document}\t{grade}\n" for query, document, grade in TRIPLES))
    return [queries, passages, qrels]


def relevant() -> dict[str, list[str]]:
    return {query: [document for document, grade in row.items() if grade] for query, row in GRADES.items()}


def lotte(folder: Path) -> list[Path]:
    """Its judgements are rows of questions, with the ids of all answers as numbers."""
    qas = [
        {"qid": int(name), "query": QUESTIONS[name], "answer_pids": [*map(int, documents)]}
        for name, documents in relevant().items()
    ]
    queries, passages, _ = ms_marco(folder)
    return [queries, passages, json_lines(folder / "qas.search.jsonl", qas)]


def tevatron(folder: Path) -> list[Path]:
    questions, passages, _ = rows("query_id", "query", "docid", "title", "text", "q", "d", "g")
    of_document = {row["docid"]: row for row in passages} | {"99": {"docid": "99", "title": "", "text": "gone"}}
    train = [
        row
        | {"positive_passages": [of_document[name] for name in relevant()[row["query_id"]]], "negative_passages": []}
        for row in questions
    ]
    names = ("queries.jsonl", "corpus.jsonl", "train.jsonl")
    return [json_lines(folder / name, table) for name, table in zip(names, (questions, passages, train), strict=True)]


def tevatron_ids(folder: Path) -> list[Any]:
    """Of its second version: ids of documents, and text under names of its own."""
    questions = [{"query_id": name, "query_text": text} for name, text in QUESTIONS.items()]
    passages = [{"docid": name, "document_text": text} for name, text in joined()]
    train = [{"query_id": name, "positive_document_ids": names} for name, names in relevant().items()]
    return [datasets.Dataset.from_list(table) for table in (questions, passages, train)]


def dictionaries(folder: Path) -> list[Path]:
    """{id: text}, {id: row} and {question: {document: grade}} in files, the last as ranx writes it."""
    passages = {name: {"title": title, "text": text} for name, title, text in PASSAGES}
    contents = {"queries": QUESTIONS, "corpus": passages, "qrels": GRADES}
    paths = [folder / f"{name}.json" for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_text(json.dumps(content))
    return paths


IR_DATASETS = (
    [Query(*pair) for pair in QUESTIONS.items()],
    [Doc(*row) for row in PASSAGES],
    [Qrel(*triple, "0") for triple in TRIPLES],
)
READERS: dict[str, Callable[[Path], Any]] = {
    "frames": lambda folder: frames(*PLAIN),
    "csv": lambda folder: separated(folder, "csv", ","),
    "tsv": lambda folder: separated(folder, "tsv", "\t"),
    "lists": lambda folder: rows(*PLAIN),
    "json lines": lambda folder: [json_lines(folder / str(at), t) for at, t in enumerate(rows(*PLAIN))],
    "parquet": parquet,
    "data sets": lambda folder: [datasets.Dataset.from_list(table) for table in rows(*PLAIN, titles=True)],
    "arrow": lambda folder: [pa.Table.from_pylist(table) for table in rows(*PLAIN, titles=True)],
    "ir_datasets": lambda folder: IR_DATASETS,
    "ir_datasets, as they come": lambda folder: [*map(iter, IR_DATASETS)],
    "triples": lambda folder: [QUESTIONS, IR_DATASETS[1], TRIPLES],
    "beir": beir,
    "mteb": mteb,
    "trec": trec_files,
    "ms marco": ms_marco,
    "lotte": lotte,
    "tevatron": tevatron,
    "tevatron, ids": tevatron_ids,
    "dictionaries": lambda folder: [QUESTIONS, TEXTS, GRADES],
    "dictionaries in files": dictionaries,
    "ranx": lambda folder: [QUESTIONS, TEXTS, Qrels()],
}
READERS["json lines"] = lambda folder: [
    json_lines(folder / f"{at}.jsonl", table) for at, table in enumerate(rows(*PLAIN))
]
BINARY, UNIQUE = ("lotte", "tevatron", "tevatron, ids"), ("dictionaries", "dictionaries in files", "ranx")


def content(read: Collection) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    assert not read.has_documents
    return (
        dict(zip(read.query_ids, read.queries, strict=True)),
        dict(zip(read.passage_ids, read.passages, strict=True)),
        {query: dict(row) for query, row in read.grades.items()},
    )


@pytest.mark.parametrize("kind", READERS)
def test_each_reader_gives_the_same_collection(tmp_path: Path, kind: str) -> None:
    read = collection(*READERS[kind](tmp_path))
    grades = {q: dict.fromkeys(names, 1) for q, names in relevant().items()} if kind in BINARY else GRADES
    assert content(read) == (QUESTIONS, TEXTS, grades)
    assert read.namesakes == {1: (3,)}
    notes = [*([] if kind in UNIQUE else [TWICE]), LACKS, ITSELF]
    assert [*read.notes] == ([ALL_ASKED, *notes] if kind in ("beir", "mteb") else notes)


def test_texts_alone_are_counted(tmp_path: Path) -> None:
    """No id is a question's own there; a note tells that it stands in the corpus, and how it is left out."""
    (tmp_path / "a.txt").write_text("\n".join(TEXTS.values()))
    relevance = {"1": {"1": 2, "3": 0}, "2": {"2": 1}}
    for passages in ([*TEXTS.values()], tmp_path / "a.txt"):
        read = collection([*QUESTIONS.values()], passages, relevance)
        assert content(read)[1:] == (dict(zip("1234", TEXTS.values(), strict=True)), relevance)
        assert read.namesakes == {} and read.notes[2] == (
            "Questions that stand in the corpus word for word, and find themselves: 1 of 2 ('2'); of one id on both "
            "sides they are left out."
        )


WORDS = {
    "a1": "the cat sat on the mat",
    "a2": "it was very warm",
    "a3": "cats sat on warm mats",
    "a4": "a mat was warm",
}


def test_a_question_is_no_answer_to_itself() -> None:
    """In no list, of the model and of BM25, down to the last passage; else lists are as without it."""
    queries = {"a1": WORDS["a1"], "a2": f"{WORDS['a2']}.", "q": "cats"}
    lens, judged = bl.Lens(encoder()), {"a1": {"a3": 1}, "a2": {"a4": 1}, "q": {"a1": 1}}
    r = bl.retrieval(lens, queries, WORDS, judged, progress=False)
    plain = bl.retrieval(lens, {f"x{name}": text for name, text in queries.items()}, WORDS, progress=False)
    for name in queries:
        order = plain.ranking(f"x{name}", 4)
        order = order[order["passage"] != name]
        assert r.ranking(name, 4)["passage"].tolist() == order["passage"].tolist()
        assert r.ranking(name, 4)["score"].tolist() == order["score"].tolist()
    deeper = r.stages.to_the_end(r.collection)
    for lists in (r.lists, deeper, bm25(r.collection)):
        for query, own in r.collection.namesakes.items():
            assert own and not {*own} & {*lists.passages(query).tolist()}
    ids = r.collection.passage_ids
    assert {name: ids[rows[0]] for name, rows in zip(("a1", "a2"), r.collection.namesakes.values(), strict=True)} == {
        "a1": "a1",
        "a2": "a2",
    }
    assert len(r.failures()) and not (r.failures()["query"] == r.failures()["wrong"]).any()
    table = r.hard_negatives(3).table
    assert not (table["query"] == table["negative"]).any()


def test_what_an_own_passage_is() -> None:
    """Of one id and the same words, of the document where there are such; not one that is judged relevant, nor a number
    that stands for two things by accident, nor all that there is."""
    parts = [
        {"document": "a", "_id": "a-1", "title": "On wings", "text": "what lifts them"},
        {"document": "a", "_id": "a-2", "text": "slabs"},
        {"document": "b", "_id": "b-1", "text": "heat"},
    ]
    assert collection({"a": "What lifts them?"}, parts).namesakes == {0: (0, 1)}
    assert collection({"a-1": "on wings"}, parts).namesakes == {0: (0,)}
    assert collection({"a": "what lifts them"}, parts, {"a": {"a": 1}}).namesakes == {}
    assert collection({"a": "of slabs and heat"}, parts).namesakes == {}
    assert collection({"b": "heat"}, parts[2:]).namesakes == {}
    assert collection(["heat"], [parts[2]["text"], "slabs"]).namesakes == {}


def test_a_document_that_the_corpus_lacks_is_missed() -> None:
    """As trec_eval has it: it counts among the relevant ones, and no list holds it."""
    judged = {"q": {"a3": 1, "gone": 1}, "p": {"lost": 1}, "o": {"a1": 1, "a2": 1}}
    queries = {"q": "cats", "p": "warm", "o": WORDS["a1"]}
    r = bl.retrieval(bl.Lens(encoder()), queries, WORDS, judged, progress=False)
    assert r.by_question["recall@100"].to_dict() == {"q": 0.5, "p": 0.0, "o": 1.0}
    assert r.by_question["MRR@100"]["p"] == 0
    assert LACKS.replace("1 of 3 ('99')", "2 of 5 ('gone', 'lost')") in r.collection.notes
    assert "p" not in r.failures()["query"].tolist()
    assert {*r.hard_negatives(1).table["query"]} == {"q", "o"}
    with pytest.raises(bl.InputError, match=r"lacks most relevant documents, 2 of 3 \('gone', 'lost'\)"):
        collection({"q": "cats", "p": "warm"}, WORDS, {"q": {"a3": 1, "gone": 1}, "p": {"lost": 1}})


def test_a_run_beside_one_that_counted_questions_as_answers_is_refused(tmp_path: Path) -> None:
    lens, judged = bl.Lens(encoder()), {"a1": {"a3": 1}}
    r = bl.retrieval(lens, {"a1": WORDS["a1"]}, WORDS, judged, progress=False)
    record = json.loads(r.save(tmp_path / "a.json").read_text())
    (tmp_path / "b.json").write_text(json.dumps({k: v for k, v in record.items() if not k.startswith("passages that")}))
    assert not r.against(tmp_path / "a.json")["falls"].any()
    with pytest.raises(bl.InputError, match=r"of another collection, its passages that are their own question are not"):
        r.against(tmp_path / "b.json")


@pytest.mark.parametrize("writing", ["12.0", "12"])
@pytest.mark.parametrize("side", ["12.0", "12"])
def test_a_number_is_one_id_however_it_is_written(writing: str, side: str) -> None:
    rows = [{"id": f"{n}{writing[2:]}", "text": text} for n, text in enumerate(WORDS.values(), 12)]
    judged = {f"{n}{side[2:]}": {f"{n}{side[2:]}": 1} for n in (12, 13)}
    read = collection([{"id": f"12{writing[2:]}", "text": "x"}, {"id": f"13{writing[2:]}", "text": "y"}], rows, judged)
    assert read.query_ids == ("12", "13") and read.passage_ids == ("12", "13", "14", "15")
    assert read.grades == {"12": {"12": 1}, "13": {"13": 1}} and read.notes == ()


def test_numbers_of_sections_stay_as_they_are() -> None:
    read = collection({"q": "x"}, {"1.0": "a", "1.1": "b", "2": "c"}, {"q": {"1": 1, "2.0": 1}})
    assert read.passage_ids == ("1.0", "1.1", "2") and read.grades == {"q": {"1.0": 1, "2": 1}}


@pytest.mark.parametrize("content", ["12\tthe cat sat\n13\ta mat\n", "q1\tthe cat sat\nq2\tmat\n", "7\t猫が座る\n"])
def test_a_first_line_that_is_a_row_is_read_as_one(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.tsv").write_text(content, encoding="utf-8")
    read = collection({"x": "x"}, tmp_path / "a.tsv")
    assert [[name, text] for name, text in zip(read.passage_ids, read.passages, strict=True)] == [
        line.split("\t") for line in content.splitlines()
    ]


@pytest.mark.parametrize("header", ["id\tquestion text", "qid\tquery one", "0\t1", "q\tthe cat", "id\ttext\tx"])
def test_a_first_line_of_names_is_none(tmp_path: Path, header: str) -> None:
    """Of names that nobody knows the error lists them; no row is made of them, and none is taken for names."""
    row = "\t".join(["the cat sat"] * (1 + header.count("\t")))
    (tmp_path / "a.tsv").write_text(f"{header}\n{row}\n")
    if "\ttext" in header:
        assert collection({"x": "x"}, tmp_path / "a.tsv").passages == ("the cat sat",)
        return
    with pytest.raises(bl.InputError, match=r"^no column 'text' in a.tsv: there are "):
        collection({"x": "x"}, tmp_path / "a.tsv")


def test_a_folder_in_which_one_file_has_names_and_another_none_loses_no_row(tmp_path: Path) -> None:
    parts = tmp_path / "corpus"
    parts.mkdir()
    (parts / "1.tsv").write_text("_id\ttext\n1\tthe cat\n")
    (parts / "2.tsv").write_text("2\tthe mat\n")
    json_lines(tmp_path / "queries.jsonl", [{"_id": "x", "text": "cat"}])
    assert collection(None, tmp_path).passages == ("the cat", "the mat")
    for first, second in (("id\ttext\n", "2\tthe mat\n"), ("_id\ttext\n", "x\tthe mat\n"), ("text\n", "a mat\n")):
        (parts / "1.tsv").write_text(f"{first}1\tthe cat\n" if "\t" in first else f"{first}the cat\n")
        (parts / "2.tsv").write_text(second)
        with pytest.raises(
            bl.InputError, match=r"^2\.tsv has (no|a) column .*, other than 1\.tsv: both are of one fol"
        ):
            collection(None, tmp_path)
        if "\t" not in first:
            with pytest.raises(bl.InputError, match=r"^2\.tsv has (no|a) column"):
                [*entries(parts)]
