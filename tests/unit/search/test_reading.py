"""A collection is the same out of every container, and what does not fit is refused in a sentence with the way out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bertlens import InputError
from bertlens.search.collection import Collection
from bertlens.search.reading import collection, texts

datasets, pl, pa = (pytest.importorskip(name) for name in ("datasets", "polars", "pyarrow"))

QUESTIONS = {"q1": "what lifts a wing", "q2": "what heats a nose"}
PASSAGES = [
    {"_id": "7", "title": "lift", "text": "of wings"},
    {"_id": "8", "title": "Heat  flow", "text": "heat flow, at noses"},
    {"_id": "9", "title": "", "text": "slabs"},
]
TEXTS = {"7": "lift of wings", "8": "heat flow, at noses", "9": "slabs"}
GRADES = {"q1": {"7": 2, "9": 0}, "q2": {"8": 1}}
ROWS = [
    {"query-id": query, "corpus-id": document, "score": grade}
    for query, grades in GRADES.items()
    for document, grade in grades.items()
]


def content(collection: Collection) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    return (
        dict(zip(collection.query_ids, collection.queries, strict=True)),
        dict(zip(collection.passage_ids, collection.passages, strict=True)),
        {query: dict(grades) for query, grades in collection.grades.items()},
    )


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    text = "\n".join(map(json.dumps, rows)).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def folder(path: Path) -> Path:
    """As BEIR has it: its questions are those of all splits."""
    questions = [{"_id": name, "text": text, "metadata": {}} for name, text in QUESTIONS.items()]
    lines(path / "queries.jsonl", [{"_id": "q0", "text": "who trains"}, *questions])
    lines(path / "corpus.jsonl", PASSAGES)
    (path / "qrels").mkdir()
    pd.DataFrame(ROWS).to_csv(path / "qrels" / "test.tsv", sep="\t", index=False)
    (path / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq0\t9\t1\n")
    return path


def test_a_folder_asks_what_it_judges(tmp_path: Path) -> None:
    path = folder(tmp_path)
    read = collection(None, path)
    assert content(read) == (QUESTIONS, TEXTS, GRADES) and not read.has_documents and read.judged == (0, 1)
    assert read.notes == ("Of the folder's questions those are asked that are judged: 2 of 3.",)
    assert content(collection(None, str(path), path / "qrels" / "train.tsv"))[::2] == (
        {"q0": "who trains"},
        {"q0": {"9": 1}},
    )
    assert content(collection(["mine"], path)) == ({"1": "mine"}, TEXTS, {})
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t7\t1\nq5\t7\t1\n")
    with pytest.raises(
        InputError,
        match=r"^judgements and questions do not fit: judged and not asked 1 of 2 \('q5'\), asked and not judged 2 of",
    ):
        collection(None, path)
    with pytest.raises(
        InputError, match=r"there are no questions: queries=None is for a folder that holds queries.json"
    ):
        collection(None, path / "corpus.jsonl")


IN_MEMORY = ("pandas", "polars", "arrow", "hugging face", "columns", "rows", "dictionary", "dictionary of rows")
IN_FILES = ("csv", "tsv", "parquet", "jsonl", "jsonl.gz", "json", "trec")


@pytest.mark.parametrize("kind", [*IN_MEMORY, *IN_FILES])
def test_containers(tmp_path: Path, kind: str) -> None:
    questions = [{"id": name, "question": text, "n": 0} for name, text in QUESTIONS.items()]

    def source(name: str, rows: list[dict[str, Any]]) -> Any:
        frame = pd.DataFrame(rows)
        path = tmp_path / f"{name}.{kind}"
        match kind:
            case "pandas":
                return frame
            case "polars":
                return pl.DataFrame(rows)
            case "arrow":
                return pa.Table.from_pylist(rows)
            case "hugging face":
                return datasets.Dataset.from_list(rows)
            case "columns":
                return frame.to_dict("list")
            case "rows":
                return iter(rows)
            case "csv" | "tsv":
                frame.to_csv(path, sep="," if kind == "csv" else "\t", index=False)
            case "parquet":
                frame.to_parquet(path)
            case "json":
                path.write_text(json.dumps(rows))
            case "dictionary" if name == "questions":
                return QUESTIONS
            case "dictionary" | "dictionary of rows":
                return {row.pop("_id", None) or row.pop("id"): row for row in map(dict, rows)}
            case "trec":
                tag, names, inner = {
                    "questions": ("top", ("num", "title"), ("id", "question")),
                    "passages": ("doc", ("docno", "title", "text"), ("_id", "title", "text")),
                }[name]
                cells = ["".join(f"<{n}>{row[i]}</{n}>" for n, i in zip(names, inner, strict=True)) for row in rows]
                path.write_text("\n".join(f"<{tag}>{cell}</{tag}>" for cell in cells))
            case _:
                return lines(path, rows)
        return path

    relevance = tmp_path / "qrels.txt"
    relevance.write_text("\n".join(f"{row['query-id']} 0 {row['corpus-id']} {row['score']}" for row in ROWS))
    if kind.startswith("dictionary"):
        relevance = GRADES  # type: ignore[assignment]
    elif kind != "trec":
        relevance = source("relevance", ROWS)
    passages = [dict(row) for row in PASSAGES]
    if kind not in ("csv", "tsv", "trec"):
        passages[2]["title"] = None  # type: ignore[assignment]
    whole = collection(source("questions", questions), source("passages", passages), relevance)
    if kind == "trec":
        assert whole.passages[1] == "heat flow, at noses"
    assert content(whole) == (QUESTIONS, TEXTS, GRADES) and whole.notes == ()
    assert content(collection(QUESTIONS, whole.passages))[1] == dict(zip("123", TEXTS.values(), strict=True))


@pytest.mark.parametrize("as_array", [list, tuple, iter, np.array, pd.Series, pl.Series, pa.array])
def test_texts_without_ids_are_counted_from_one(tmp_path: Path, as_array: Any) -> None:
    read = collection(as_array([*QUESTIONS.values()]), as_array([*TEXTS.values()]), {1: {1: 2, 3: 0}, 2.0: ["2"]})
    assert (read.query_ids, read.passage_ids, read.documents) == (("1", "2"), ("1", "2", "3"), ("1", "2", "3"))
    assert read.grades == {"1": {"1": 2, "3": 0}, "2": {"2": 1}}
    assert read.notes == tuple(
        f"The {what} have no ids: they are counted from 1." for what in ("questions", "passages")
    )
    (tmp_path / "a.txt").write_text("\n\n".join(TEXTS.values()))
    assert collection(QUESTIONS, tmp_path / "a.txt").passages == read.passages


def test_a_title_is_not_said_twice() -> None:
    titles = {"a b": "A  b.", "a": "ab", "c": "", "d e f": "d e", "é": "É: x"}
    read = collection(["q"], [{"title": title, "text": text} for title, text in titles.items()])
    assert read.passages == ("A  b.", "a ab", "c", "d e f d e", "É: x")
    assert collection(["q"], [{"title": "a", "text": "b"}], column="text").passages == ("b",)


def test_columns_are_named() -> None:
    frame = pd.DataFrame({"question": ["who", "what"], "answer": ["I", "it"], "docid": ["x", "x"], "title": ["t", "t"]})
    read = collection(frame, frame, column="answer", document="docid")
    assert read.queries == ("who", "what") and read.passages == ("I", "it") and read.documents == ("x", "x")
    assert collection(frame[["answer"]], frame[["answer"]], column="answer").queries == ("I", "it")
    with pytest.raises(
        InputError, match=r"no column 'text'.*'answer'.*; column= names the one of the texts, document="
    ):
        collection(frame, frame)
    with pytest.raises(
        InputError, match=r"two passages have the id 'x': row 0 and row 1; document= names the column of"
    ):
        collection(frame, frame, column="answer")
    with pytest.raises(InputError, match=r"no column 'page'.*'docid'.*; column= names the one of the texts, document="):
        collection(frame, frame, column="answer", document="page")
    with pytest.raises(InputError, match=r"no passage has a 'page', as document= names it"):
        collection(frame, TEXTS, document="page")
    with pytest.raises(InputError, match=r"column= and document= name a column each: .*is no name"):
        collection(frame, frame, column=["answer"])


PARTS = pd.DataFrame({"docid": [1, 2, 3, 4], "document": ["a", "a", "b", "b"], "text": ["w", "x", "y", "z"]})


@pytest.mark.parametrize("relevance", [{"q": {"a": 1, "b": 3}}, {"q": {1: 0, 2: 1, 3: 3, 4: -1}}])
def test_judgements_are_of_documents_or_of_their_passages(relevance: Any) -> None:
    """A document has the best grade of its passages."""
    read = collection({"q": "which"}, PARTS, relevance)
    assert read.documents == ("a", "a", "b", "b") and read.grades == {"q": {"a": 1, "b": 3}}
    note = "Judgements are of passages: a document has the best grade of its own."
    assert read.notes == (() if "a" in relevance["q"] else (note,))
    with pytest.raises(InputError, match=r"lacks most relevant documents, 2 of 3 \('5', '6'\); it has 'a', 'b': give"):
        collection({"q": "which"}, PARTS, {"q": ["a", "5", "6"]})


def test_counted_passages_are_not_taken_for_documents() -> None:
    read = collection(["q"], PARTS.drop(columns="docid"), {1: ["a"]})
    assert read.passage_ids == ("a:1", "a:2", "b:1", "b:2")
    assert read.notes[1] == "The passages have no ids: they are counted from 1 within their documents."
    with pytest.raises(InputError, match=r"the corpus lacks most relevant documents, 1 of 1 \('1'\)"):
        collection(["q"], PARTS.drop(columns="docid"), {1: ["1"]})


def marked(path: Path, numbers: list[str]) -> Path:
    path.write_text("".join(f".I {number}\n.W\nquestion {at}\n" for at, number in enumerate(numbers, 1)))
    return path


def test_numbers_of_questions_that_match_by_accident_are_refused(tmp_path: Path) -> None:
    """As Cranfield's: the file's ids are not the places that its judgements count."""
    path = marked(tmp_path / "q.qry", ["1", "2", "4", "8"])
    judged: dict[str, list[str]] = {str(number): ["7"] for number in range(1, 5)}
    with pytest.raises(InputError) as error:
        collection(path, TEXTS, judged)
    assert str(error.value) == (
        "judgements and questions do not fit: judged and not asked 1 of 4 ('3'), asked and not judged 1 of 4 ('8'); "
        "numbers up to 4 may be places: bl.search.texts(queries) counts the questions"
    )
    read = collection(texts(path), TEXTS, judged)
    assert content(read)[0] == {str(number): f"question {number}" for number in range(1, 5)} and len(read.judged) == 4
    with pytest.raises(
        InputError, match=r"asked 1 of 2 \('3'\), .* not judged 3 of 4 \('2', '4', '8'\); numbers up to 4 may"
    ):
        collection(path, TEXTS, {"2": [], "1": ["7"], "3": ["7"]})
    assert texts(marked(path, ["1", "1"])) == ["question 1", "question 2"]
    with pytest.raises(InputError, match=r"not judged 1 of 2 \('q2'\); leave out what the other side lacks; quest"):
        collection(QUESTIONS, TEXTS, {"q1": ["7"], "0": ["8"]})


def test_what_one_side_lacks_is_counted() -> None:
    read = collection(
        {**QUESTIONS, "q3": "and", "q4": "or"}, {**TEXTS, "10": " ", "11": ""}, {**GRADES, "q4": {"9": 0}}
    )
    assert read.notes == (
        "Passages without a text: 2 of 5 ('10', '11').",
        "Questions without a relevant document, which measures leave out: 2 of 4 ('q3', 'q4').",
    )
    assert read.judged == (0, 1) and read.passages[3:] == (" ", "")
    read = collection({"q2": "what"}, {"8": "heat"}, {**GRADES, "q2": {"8": 1, "77": 0}})
    assert read.grades == {"q2": {"8": 1}}
    assert read.notes == ("Judged questions that are not asked are left out: 1 of 2 ('q1').",)


@pytest.mark.parametrize(
    ("queries", "corpus", "relevance", "sentence"),
    [
        (QUESTIONS, TEXTS, {"q1": ["7", "77"], "q2": ["78"]}, "the corpus lacks most relevant documents, 2 of 3 ('77', "
         "'78'); it has '7', '8', '9': give the corpus that was judged, or leave these judgements out"),
        (QUESTIONS, TEXTS, {"x": ["7"]}, "asked 1 of 1 ('x'), asked and not judged 2 of 2 ('q1', 'q2'); leave"),
        (QUESTIONS, TEXTS, {"q1": {"7": 0}}, "no document is judged relevant, by a grade above 0: leave relev"),
        (QUESTIONS, TEXTS, {"q1": {"7": 0.5}}, "relevance of question 'q1': a grade is a whole number, not 0.5"),
        (QUESTIONS, TEXTS, {"q1": {"7": 10**400}}, "relevance of question 'q1': a grade is a whole number, not 1000"),
        (QUESTIONS, TEXTS, {"q1": {"7": "x"}}, "relevance of question 'q1': a grade is a whole number, not 'x'"),
        (QUESTIONS, TEXTS, {"q1": {"7": None}}, "relevance of question 'q1' is no judgement: a judgement has"),
        (QUESTIONS, TEXTS, [["7"], ["8"]], "item 0 of judgements is no judgement: a judgement has the columns query"),
        (QUESTIONS, {"7": "lift", "8": "\ud800"}, None, "'8' of passages holds half a character (lone surrogate U+D8"),
        (QUESTIONS, TEXTS, [*ROWS, {**ROWS[0], "score": 1}], "item 3 of judgements: document '7' has two grades for"),
        (QUESTIONS, TEXTS, pd.DataFrame(ROWS).drop(columns="score"), "no column 'grade': there are 'query-id', 'co"),
        (QUESTIONS, TEXTS, "nowhere", "no judgements at nowhere: name a file, or give a table, a dictionary or a list"),
        ("nowhere", TEXTS, None, "no questions at nowhere: name a file, or give a table, a dictionary or a list"),
        ([], TEXTS, None, "there are no questions: give one or more"),
        (QUESTIONS, [], None, "there are no passages: give one or more"),
        (3, TEXTS, None, "questions is a file, a table, or a list of texts"),
        (["who", " "], TEXTS, None, "item 1 of questions is an empty question: leave it out"),
        ({"a": "who", "b": ""}, TEXTS, None, "'b' of questions is an empty question: leave it out"),
        (["who", 3], TEXTS, None, "item 1 of questions is no text, but 3: give texts, {id: text}, or rows"),
        (QUESTIONS, {*TEXTS.values()}, None, "passages in a set have no order, so that nothing counts them: give a"),
        (QUESTIONS, [("7", "lift of")], None, "item 0 of passages is no text, but ('7', 'lift of'): give texts, {id:"),
        (QUESTIONS, [*PASSAGES, {**PASSAGES[0], "text": ""}], None, "two passages have the id '7': item 0 of passages"),
        ([{"id": 1, "text": "a"}, {"id": "1", "text": "b"}], TEXTS, None, "two questions have the id '1': item 0 of"),
        (QUESTIONS, [PASSAGES[0], {"text": "b"}], None, "item 1 of passages has no id, as others have"),
        (QUESTIONS, [{"document": None, "text": "b"}, {"document": 2, "text": "b"}], None, "item 0 of passages has no"),
        (QUESTIONS, pd.DataFrame({"text": pd.array(["a", pd.NA], "string")}), None, "row 1 has no 'text': leave it ou"),
    ],
)  # fmt: skip
def test_bad_input_is_a_sentence(queries: Any, corpus: Any, relevance: Any, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        collection(queries, corpus, relevance)
    assert sentence in str(error.value)


def test_a_line_that_is_no_judgement_is_named(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q1 7 1\n")
    with pytest.raises(
        InputError, match=r"line 1 of qrels.txt is no judgement: a judgement has the columns query, docum"
    ):
        collection(QUESTIONS, TEXTS, path)


@pytest.mark.long
@pytest.mark.data
def test_cranfield_is_asked_by_places(data: Path) -> None:
    """Of its 225 questions 94 have a number that is the place of another one."""
    queries, corpus, qrels = (data / "cranfield" / f"{name}.gz" for name in ("cran.qry", "cran.all.1400", "qrels.txt"))
    with pytest.raises(
        InputError, match=r"not asked 131 of 225 \('1', '2', '3', …\), asked and not judged 131 of 225 \('001', '"
    ):
        collection(queries, corpus, qrels)
    read = collection(texts(queries), corpus, qrels)
    judged = [line.split() for line in gzip.decompress(qrels.read_bytes()).decode().splitlines()]
    assert {query: dict(grades) for query, grades in read.grades.items()} == {
        query: {row[2]: int(row[3]) for row in judged if row[0] == query} for query in read.query_ids
    }
    assert len(read.judged) == len(read.queries) == 225 and len(read.passages) == 1400 and not read.has_documents
    assert read.notes[1:] == ("Passages without a text: 2 of 1,400 ('471', '995').",)
