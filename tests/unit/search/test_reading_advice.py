"""Each refusal of the readers of a collection names a way, and who goes it gets what was meant."""

from __future__ import annotations

import ast
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from bertlens import InputError
from bertlens.search import collection_files, judgements, reading, source_records
from bertlens.search.collection import Collection
from bertlens.search.reading import collection, texts

READERS = (reading, judgements, source_records, collection_files)
Q, P = {"q1": "what lifts", "q2": "what heats"}, {"7": "lift of wings", "8": "heat of noses"}
G = {"q1": {"7": 1}, "q2": {"8": 1}}
ROWS = [{"query": q, "document": d, "grade": g} for q, row in G.items() for d, g in row.items()]
PLAIN = (Q, P, G)


class Advice(NamedTuple):
    """What is refused, with which words, and what these words tell to give instead."""

    refused: Any  # arguments, or a function of a folder that writes files and gives arguments
    way: str
    followed: Any
    meant: tuple[Any, Any, Any] = PLAIN  # questions, passages, judgements


def file(name: str, text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name

    return write


def lines(rows: Any) -> str:
    return "\n".join(map(json.dumps, rows))


def frame(of: dict[str, str], name: str = "text", number: str = "id") -> pd.DataFrame:
    return pd.DataFrame({number: [*of], name: [*of.values()]})


def beir(*names: str, without: str = "") -> Callable[[Path], Path]:
    """A folder with judgements of these names."""

    def write(folder: Path) -> Path:
        for name, table in (("queries", Q), ("corpus", P)):
            if name != without:
                file(f"{name}.jsonl", lines({"_id": key, "text": text} for key, text in table.items()))(folder)
        for name in names:
            text = "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in map(dict.values, ROWS))
            file(f"qrels/{name}", text)(folder)
        return folder

    return write


def both(folder: Path) -> Path:
    file("corpus.jsonl.gz", "")(folder)
    return beir("test.tsv")(folder)


NUMBERED = {"1": "what lifts", "4": "what heats"}
PARTS = [{"_id": "a", "text": "x"}, {"_id": "a", "text": "y"}]
TOP = "<top>\n<num>q1</num>\n<title>what lifts</title>\n</top>\n<top>\n{}<title>what heats</title>\n</top>\n"
MARKS = ".I q1\n.W\nwhat lifts\n.I{}\n.W\nwhat heats\n"
QRELS = "q1 0 7 1\nq2 0 {}8 1\n"
CUT, WHOLE = "\ud83d", "\U0001f600"
ADVICE = {
    "names": Advice((frame(Q), P, G, ["text"]), "name a column each", (frame(Q), frame(P), G, "text")),
    "no questions": Advice(
        (None, P, G), "queries=None is for a folder that holds queries.jsonl", lambda f: (None, beir("test.tsv")(f))
    ),
    "empty question": Advice(({**Q, "q3": " "}, P, G), "leave it out", PLAIN),
    "no text": Advice((Q, [("7", P["7"]), ("8", P["8"])], G), "{id: text}", (Q, dict([*P.items()]), G)),
    "no text, texts": Advice(([*Q.values(), 3], P), "give texts", ([*Q.values(), "3"], P), ({"3": "3"}, P, {})),
    "no text, rows": Advice(
        (Q, [("7", P["7"])], {"q1": ["7"]}), "rows with ids and texts",
        (Q, [{"id": "7", "text": P["7"]}], {"q1": ["7"]}),
        (Q, {"7": P["7"]}, {"q1": {"7": 1}}),
    ),
    "one of a dictionary": Advice((Q, {**P, "9": 5}, G), "'9' of passages is no text, but 5", (Q, {**P, "9": "5"}, G)),
    "missing text": Advice((Q, frame({**P, "9": None}), G), "leave it out", (Q, frame(P), G)),
    "missing in a dictionary": Advice(({**Q, "q3": None}, P, G), "'q3' of questions has no 'text': leave it", PLAIN),
    "another key": Advice(
        (Q, [{"id": name, "body": text} for name, text in P.items()], G),
        "there are 'id', 'body'; column= names the one of the texts",
        (Q, [{"id": name, "body": text} for name, text in P.items()], G, "body"),
    ),
    "another column": Advice(
        (Q, frame(P, "body"), G), "there are 'id', 'body'; column= names the one of", (Q, frame(P, "body"), G, "body")
    ),
    "another column of questions": Advice(
        (frame(Q, "asked"), frame(P, "asked"), G), "there are 'id', 'asked'; name the one of the texts by column=",
        (frame(Q, "asked"), frame(P, "asked"), G, "asked"),
    ),
    "a line of names": Advice(
        lambda f: (file("q.csv", "q1,what lifts 2\nq2,what heats\n")(f), P, G), "name the one of the texts by column=",
        lambda f: (file("q.csv", "id,text\nq1,what lifts\nq2,what heats\n")(f), P, G),
    ),
    "a row for names": Advice(
        lambda f: (Q, file("p.csv", "7,lift of wings\n8,heat of noses\n")(f), G),
        "if its first line is a row, put one above it that names the columns",
        lambda f: (Q, file("p.csv", "id,text\n7,lift of wings\n8,heat of noses\n")(f), G),
    ),
    "an empty file": Advice(
        lambda f: (Q, file("p.csv", "")(f), G), "its first line is to name the columns",
        lambda f: (Q, file("p.csv", "id,text\n7,lift of wings\n8,heat of noses\n")(f), G),
    ),
    "no passages": Advice((Q, {}, G), "there are no passages: give one or more", PLAIN),
    "no such document": Advice(
        (Q, [{"id": "7", "text": "x", "book": "b"}], {"q1": ["b"]}, None, "page"), "there are 'id', 'text', 'book'",
        (Q, [{"id": "7", "text": "x", "book": "b"}], {"q1": ["b"]}, None, "book"), (Q, {"7": "x"}, {"q1": {"b": 1}}),
    ),
    "no such column of documents": Advice(
        (Q, frame({"7": "x"}, number="b"), {"q1": ["7"]}, None, "page"), "there are 'b', 'text'; column= names the one",
        (Q, frame({"7": "x"}, number="b"), {"q1": ["7"]}, None, "b"), (Q, {"7:1": "x"}, {"q1": {"7": 1}}),
    ),
    "a title": Advice(
        (Q, [{"id": "7", "title": {"en": "lift"}, "text": "of wings"}]), "is a text, a number or a list of these",
        (Q, [{"id": "7", "title": ["lift"], "text": "of wings"}]), (Q, {"7": P["7"]}, {}),
    ),
    "passages of a document": Advice(
        (Q, PARTS, {"q1": ["a"]}), "document= names the column of their documents",
        (Q, PARTS, {"q1": ["a"]}, None, "_id"),
        (Q, {"a:1": "x", "a:2": "y"}, {"q1": {"a": 1}}),
    ),
    "a question twice": Advice(
        ([*frame(Q).to_dict("records"), {"id": "q1", "text": "x"}], P, G), "leave one out", (frame(Q), P, G)
    ),
    "an id missing": Advice(
        (Q, [{"id": "7", "text": P["7"]}, {"text": P["8"]}], G), "give it one",
        (Q, [{"id": "7", "text": P["7"]}, {"id": "8", "text": P["8"]}], G),
    ),
    "an id missing, and left out": Advice(
        (Q, [*frame(P).to_dict("records"), {"text": "x"}], G), "or leave it out", (Q, frame(P), G)
    ),
    "no judgement": Advice(
        (Q, P, [["q1"], ["q2"]]), "a judgement has the columns query, document and grade", (Q, P, ROWS)
    ),
    "no judgement, its keys": Advice(
        (Q, P, [{"query": "q1", "doc": "7", "grade": 1}]), "columns query, document and grade, or is a line "
        "`question 0 document grade`; there are 'query', 'doc', 'grade'", (Q, P, ROWS),
    ),
    "no judgement, a line": Advice(
        lambda f: (Q, P, file("r.txt", "q1 7 1\nq2 8 1\n")(f)), "or is a line `question 0 document grade`",
        lambda f: (Q, P, file("r.txt", QRELS.format(""))(f)),
    ),
    "no grade": Advice((Q, P, {"q1": {"7": None}}), "a judgement has the columns query, document and grade", PLAIN),
    "a grade": Advice((Q, P, {**G, "q1": {"7": 0.5}}), "a grade is a whole number", PLAIN),
    "two grades": Advice((Q, P, [*ROWS, {**ROWS[0], "grade": 2}]), "leave one out", (Q, P, ROWS)),
    "nothing is relevant": Advice((Q, P, {"q1": {"7": 0}}), "leave relevance= out", (Q, P), (Q, P, {})),
    "no relevance": Advice((Q, P, {}), "leave relevance= out", (Q, P), (Q, P, {})),
    "other questions": Advice((Q, P, {"q1": ["7"], "q5": ["8"]}), "leave out what the other side lacks",
                              (Q, P, {"q1": ["7"]}), (Q, P, {"q1": {"7": 1}})),
    "places": Advice(
        (NUMBERED, P, {"1": ["7"], "2": ["8"]}), "bl.search.texts(queries) counts the questions",
        (texts(NUMBERED), P, {"1": ["7"], "2": ["8"]}),
        ({"1": Q["q1"], "2": Q["q2"]}, P, {"1": {"7": 1}, "2": {"8": 1}}),
    ),
    "documents that are not there": Advice(
        (Q, P, {"q1": ["7"], "q2": ["8", "x", "y", "z"]}), "leave these judgements out", PLAIN
    ),
    "another corpus": Advice((Q, {"70": "x"}, G), "it has '70': give the corpus that was judged", PLAIN),
    "an id that is a list": Advice(
        ([{"id": ["q1"], "text": "what lifts"}], P, {"q1": ["7"]}), "an id is a text or a number",
        ([{"id": "q1", "text": "what lifts"}], P, {"q1": ["7"]}), ({"q1": "what lifts"}, P, {"q1": {"7": 1}}),
    ),
    "half a character in an id": Advice(
        ({f"q1{CUT}": "what lifts"}, P), "remove it with text.encode('utf-8', 'ignore').decode()",
        ({f"q1{CUT}".encode("utf-8", "ignore").decode(): "what lifts"}, P), ({"q1": "what lifts"}, P, {}),
    ),
    "half a character in a judgement": Advice(
        (Q, P, {"q1": [f"7{CUT}"], "q2": ["8"]}), "remove it with text.encode('utf-8', 'ignore').decode()", PLAIN
    ),
    "a set": Advice((Q, {"x", "y"}), "give a list or {id: text}", (Q, ["x", "y"]), (Q, {"1": "x", "2": "y"}, {})),
    "no file": Advice((Q, "nowhere", G), "name a file, or give a table, a dictionary or a list", PLAIN),
    "a folder of texts": Advice(
        lambda f: (file("of/q.txt", "what lifts\n")(f).parent, P), "name a file of questions",
        lambda f: (file("of/q.txt", "what lifts\n")(f), P), ({"1": "what lifts"}, P, {}),
    ),
    "a record without a number": Advice(
        lambda f: (file("q.qry", MARKS.format(""))(f), P, G), "a record begins with .I and its id",
        lambda f: (file("q.qry", MARKS.format(" q2"))(f), P, G),
    ),
    "a topic without a number": Advice(
        lambda f: (file("topics", TOP.format(""))(f), P, G), "without <num>, its id",
        lambda f: (file("topics", TOP.format("<num>q2</num>\n"))(f), P, G),
    ),
    "fields of a line": Advice(
        lambda f: (Q, P, file("qrels.txt", QRELS.format("x "))(f)), "a judgement is `question 0 document grade`",
        lambda f: (Q, P, file("qrels.txt", QRELS.format(""))(f)),
    ),
    "a folder that lacks a file": Advice(
        lambda f: (None, beir("test.tsv", without="corpus")(f)), "a folder holds corpus.jsonl, queries.jsonl and",
        lambda f: (None, beir("test.tsv")(f)),
    ),
    "a file twice": Advice(
        lambda f: (None, both(f)), "has corpus.jsonl and corpus.jsonl.gz: leave one of them there",
        lambda f: (None, beir("test.tsv")(f)),
    ),
    "several judgements": Advice(
        lambda f: (None, beir("dev.tsv", "train.tsv")(f)), "qrels/dev.tsv, qrels/train.tsv: name one by relevance=",
        lambda f: (None, beir("dev.tsv", "train.tsv")(f), f / "qrels" / "dev.tsv"),
    ),
    "splits": Advice(
        (Q, {"train": frame(P), "test": frame(P)}, G), "has the splits train, test: give one", (Q, frame(P), G)
    ),
    "columns of two lengths": Advice(
        (Q, {"id": ["7", "8"], "text": [P["7"]]}, G), "have [1, 2] rows, not one number",
        (Q, {"id": ["7", "8"], "text": [*P.values()]}, G),
    ),
    "half a row": Advice(
        lambda f: (Q, file("p.csv", "id,text\n7,lift, of wings\n8,heat of noses\n")(f), G), "is to be quoted",
        lambda f: (Q, file("p.csv", 'id,text\n7,"lift of wings"\n8,heat of noses\n')(f), G),
    ),
    "a workbook": Advice(
        lambda f: (Q, file("p.xlsx", "x")(f), G), "save the sheet as CSV UTF-8 first",
        lambda f: (Q, file("p.csv", "id,text\n7,lift of wings\n8,heat of noses\n")(f), G),
    ),
    "lines of JSON": Advice(
        lambda f: (Q, file("p.json", lines({"_id": n, "text": t} for n, t in P.items()))(f), G),
        "a row a line is .jsonl",
        lambda f: (Q, file("p.jsonl", lines({"_id": n, "text": t} for n, t in P.items()))(f), G),
    ),
}  # fmt: skip


def arguments(of: Any, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    given = of(folder) if callable(of) else of
    return dict(zip(("queries", "corpus", "relevance", "column", "document"), given, strict=False))


def content(read: Collection) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    return (
        dict(zip(read.query_ids, read.queries, strict=True)),
        dict(zip(read.passage_ids, read.passages, strict=True)),
        {query: dict(row) for query, row in read.grades.items()},
    )


def refusal(of: Any, folder: Path) -> tuple[str, str, int]:
    """The sentence, and the file and line that raised it."""
    with pytest.raises(InputError) as error:
        collection(**arguments(of, folder))
    place = traceback.extract_tb(error.value.__traceback__)[-1]
    return str(error.value), place.filename, place.lineno or 0


@pytest.mark.parametrize("name", ADVICE)
def test_the_way_that_a_refusal_names_leads_there(tmp_path: Path, name: str) -> None:
    advice = ADVICE[name]
    sentence, *_ = refusal(advice.refused, tmp_path / "a")
    assert advice.way in sentence
    read = content(collection(**arguments(advice.followed, tmp_path / "b")))
    questions, passages, grades = advice.meant
    assert questions.items() <= read[0].items() and passages.items() <= read[1].items() and grades == read[2]
    assert len(read[0]) <= len(questions) + 2 and len(read[1]) <= len(passages) + 1


def test_every_refusal_of_the_readers_is_among_them(tmp_path: Path) -> None:
    """By where they are raised: a new one is to have its way gone here, too."""
    places = {refusal(advice.refused, tmp_path / str(at))[1:] for at, advice in enumerate(ADVICE.values())}
    for module in READERS:
        path = str(module.__file__)
        for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise):
                spans = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                assert any(file == path and line in spans for file, line in places), f"{path}:{node.lineno}"
