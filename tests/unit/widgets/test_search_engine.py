"""The search engine in a page: what it answers in node is what Python answers, and what it cannot is refused."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens.errors import ExportError, InputError
from bertlens.export import page_tokenizer
from bertlens.search.retrieval_run import Retrieval
from bertlens.search.view import collection_answers
from bertlens.search.view import search_engine as engine_page
from bertlens.search.view.case_questions import RetrievalQuestions
from unit import tiny_encoders
from unit.asking import replies
from unit.export import engine
from unit.search import cranfield
from unit.tiny_encoders import words

CORPUS = {f"p{at}": f"{words(6 + at % 5, at).capitalize()}, 12." for at in range(80)}
LONG = "p7"
CORPUS[LONG] = words(60, 7)  # the model reads 40 tokens
CORPUS["p70"] = CORPUS["p9"] = "The mat, the mat."  # of one score: by id
QUERIES = {f"q{at}": words(4, 100 + at) + "?" for at in range(6)}
RELEVANCE = {f"q{at}": {f"p{at}": 1, f"p{at + 10}": 2} for at in range(5)}
TYPED = ["was the cat warm on the mat", "cat", words(50, 9), "Zürich 12 the mat?"]
CLOSE = 2e-3


def asked(retrieval: Retrieval, questions: list[dict[str, Any]], folder: Path) -> list[tuple[str, Any]]:
    """The error and the fields of each answer of the page's model."""
    view = RetrievalQuestions(retrieval)
    listed = view.questions
    live = engine_page.search_engine(retrieval, {name: view.pair(name) for name in listed["query"]})
    for n, piece in enumerate(live.parts):
        (folder / f"{n}.json").write_text(json.dumps(piece))
    carried = {**live.about, "questions": {name: listed[name] for name in ("query", "text")}}
    carried["tokenizer"] = page_tokenizer.tokenizer_files(retrieval.lens.tokenizer)
    return [(error, fields) for error, fields, _ in engine.node(folder, carried=carried, asks=questions)]


@cache
def search() -> Retrieval:
    model = tiny_encoders.encoder(similarity_fn_name="cosine")
    return bl.retrieval(bl.Lens(model), QUERIES, CORPUS, RELEVANCE, progress=False)


@cache
def view() -> Any:
    return search().explore()


def python(question: dict[str, Any]) -> dict[str, Any]:
    [(content, _)] = replies(view(), {"id": 1, **question})
    return dict(content)


def same_order(rows: list[str], scores: list[float], reference: dict[str, float], near: float) -> bool:
    """Whether passages stand as their reference scores do, but where two lie nearer than `near`."""
    best = sorted(reference.values(), reverse=True)[: len(rows)]
    return all(abs(reference[name] - score) <= 2 * near for name, score in zip(rows, best, strict=True))


def test_typed_questions_are_ranked_as_in_python(tmp_path: Path) -> None:
    answers = asked(search(), [{"op": "search_typed", "text": text} for text in TYPED], tmp_path)
    for text, (error, page) in zip(TYPED, answers, strict=True):
        reference = python({"op": "search_typed", "text": text})
        assert error == "" and page["passages"] == len(CORPUS) and page["notes"] == reference["notes"]
        assert len(page["rows"]) == len(reference["rows"]) == 50
        scores = [row["score"] for row in page["rows"]]
        assert scores == sorted(scores, reverse=True)
        assert scores[:10] == pytest.approx([row["score"] for row in reference["rows"][:10]], abs=1e-3)
        lists = collection_answers.typed(search(), text)
        names = [search().collection.passage_ids[row] for row in lists.passages(0)]
        by_name = dict(zip(names, lists.scores[0].tolist(), strict=True))
        assert same_order([row["passage"] for row in page["rows"][:10]], scores[:10], by_name, 1e-4)
        assert [row["text"] for row in page["rows"]] == [CORPUS[row["passage"]][:300] for row in page["rows"]]
        order = [row["passage"] for row in page["rows"]]
        if {"p9", "p70"} <= {*order}:
            assert order.index("p9") == order.index("p70") + 1


def same_case(page: dict[str, Any], reference: dict[str, Any]) -> None:
    assert page["scores"] == pytest.approx(reference["scores"], abs=CLOSE)
    for name in ("why_not", "crosses", "wrong", "right", "judged", "named"):
        assert page[name] == reference[name], name
    assert page["notes"][: len(reference["notes"])] == reference["notes"]
    assert abs(page["gap"]) < 1e-6
    shown = [(row["passage"], row["relevant"]) for row in reference["passages"]]
    assert sorted((row["passage"], row["relevant"]) for row in page["passages"]) == sorted(shown)
    for side, text in reference["texts"].items():
        assert page["texts"][side]["names"] == text["names"] and page["texts"][side]["keys"] == text["keys"]
        assert page["texts"][side]["parts"] == pytest.approx(text["parts"], abs=CLOSE)
        assert [tuple(piece) for piece in page["texts"][side]["pieces"]] == [tuple(piece) for piece in text["pieces"]]
    for side, arcs in reference["arcs"].items():
        assert [arc[2] for arc in page["arcs"][side]] == pytest.approx([arc[2] for arc in arcs], abs=CLOSE)


def test_a_question_of_the_corpus_is_in_no_list_of_its_own(tmp_path: Path) -> None:
    """The page ranks anew, and leaves out what Python has left out."""
    queries = {"p3": CORPUS["p3"], "p9": CORPUS["p9"]}
    judged = {"p3": {"p5": 1}, "p9": {"p8": 1}}
    retrieval = bl.retrieval(search().lens, queries, CORPUS, judged, progress=False)
    cases = [{"op": "search_case", "query": name, "wrong": None, "right": None, "texts": None} for name in queries]
    for case, (error, page) in zip(cases, asked(retrieval, cases, tmp_path), strict=True):
        reference = RetrievalQuestions(retrieval).full_answer(case)
        names = [[row["passage"] for row in fields["passages"]] for fields in (page, reference)]
        assert error == "" and sorted(names[0]) == sorted(names[1]) and case["query"] not in names[0]
        assert page["passages"][0]["rank"] == reference["passages"][0]["rank"] == 1
    other = {**cases[0], "wrong": "p3"}  # laid beside another all the same
    [(error, page)] = asked(retrieval, [other], tmp_path)
    assert error == "" and {"passage": "p3", "rank": None, "relevant": False} in page["passages"]


def test_cases_words_and_what_becomes_without_them_are_those_of_python(tmp_path: Path) -> None:
    query = python({"op": "search"})["questions"]["query"][0]
    texts = [None, None, "The cat was warm, it sat."]
    cases = [
        {"query": query, "wrong": None, "right": None, "texts": None},
        {"query": "q3", "wrong": LONG, "right": "p22", "texts": None},
        {"query": "q1", "wrong": None, "right": None, "texts": texts},
        {"query": None, "wrong": None, "right": None, "texts": [TYPED[0], None, None]},
        {"query": None, "wrong": "p5", "right": LONG, "texts": [TYPED[2], None, None]},
    ]
    questions = [{"op": op, **case} for case in cases for op in ("search_case", "search_words")]
    named = python({"op": "search_case", **cases[0]})["named"]
    for side, how in [("wrong", "hidden"), ("wrong", "deleted"), ("query", "hidden"), ("query", "deleted")]:
        word = named if side == "wrong" else next(filter(None, python(questions[0])["texts"]["query"]["keys"]))
        questions.append({"op": "search_without", "side": side, "word": word, "how": how, "draws": 0, **cases[0]})
    deletion = {"op": "search_without", "side": "wrong", "word": "l", "how": "deleted", "draws": 0}
    questions.append({**deletion, **cases[1]})  # in what is cut, too
    for question, (error, page) in zip(questions, asked(search(), questions, tmp_path), strict=True):
        reference = python(question)
        assert error == "" and "error" not in reference, (error, reference)
        if question["op"] == "search_case":
            same_case(page, reference)
        elif question["op"] == "search_words":
            by_word = {(row["side"], row["key"]): row for row in reference["rows"]}
            rows = {(row["side"], row["key"]): row for row in page["rows"]}
            assert len(rows.keys() & by_word.keys()) >= len(by_word) - 1  # the last one by a part that another has
            for name in rows.keys() & by_word.keys():
                assert rows[name]["after"] == pytest.approx(by_word[name]["after"], abs=CLOSE)
                assert rows[name]["name"] == by_word[name]["name"]
        else:
            assert page["after"] == pytest.approx(reference["after"], abs=CLOSE)
            assert page["turned"] == reference["turned"]
            stem = reference["said"].split(" (")[0]
            assert page["said"].split(" (")[0] == stem


def test_a_sentence_of_the_page_is_that_of_python(tmp_path: Path) -> None:
    questions = [{"op": "search_case", "query": f"q{n}", "wrong": None, "right": None, "texts": None} for n in range(5)]
    for question, (_, page) in zip(questions, asked(search(), questions, tmp_path), strict=True):
        assert page["said"] == python(question)["said"]


def test_what_a_page_refuses_of_a_case(tmp_path: Path) -> None:
    alone = bl.retrieval(search().lens, {"a": "the cat"}, {"p": "the mat"}, progress=False)
    case = {"query": None, "wrong": None, "right": None, "texts": ["the mat", None, None]}
    empty = {"op": "search_without", "side": "query", "word": "the", "how": "deleted", "draws": 0}
    one = {"query": None, "wrong": "p1", "right": "p2", "texts": ["the", None, None]}
    answers = asked(alone, [{"op": "search_typed", "text": "the mat"}, {"op": "search_case", **case}], tmp_path)
    assert answers[0][1]["rows"][0]["passage"] == "p" and answers[1][0] == ONE
    assert python({"op": "search_typed", "text": " "})["error"] == "type a question"
    (tmp_path / "b").mkdir()
    [(error, _), (missing, _)] = asked(search(), [{**empty, **one}, {**empty, **one, "word": "dog"}], tmp_path / "b")
    assert error == "without “the” nothing is left of the question"
    assert missing == "The question has no word “dog” as it is read"


ONE = "a contrast is of two passages, and there is one"


@pytest.mark.parametrize(
    ("model", "refusal"),
    [
        (lambda: tiny_encoders.encoder(similarity_fn_name="euclidean"), "a page ranks by the cosine"),
        (lambda: tiny_encoders.encoder(mode="max"), "a page ranks by the cosine"),
        (lambda: tiny_encoders.encoder(include_prompt=False), "leaves its prompt out of the pooling"),
        (lambda: tiny_encoders.sparse(), "a sparse encoder has weights of words"),
    ],
)
def test_models_that_no_page_ranks_by(model: Any, refusal: str) -> None:
    made = bl.retrieval(bl.Lens(model()), QUERIES, CORPUS, RELEVANCE, progress=False)
    with pytest.raises(ExportError, match=refusal):
        engine_page.search_engine(made, {})


def test_a_cross_encoder_and_a_large_collection_are_refused(tmp_path: Path, monkeypatch: Any) -> None:
    cross = bl.Lens(tiny_encoders.crossed())
    made = bl.retrieval(cross, QUERIES, CORPUS, RELEVANCE, first_stage=search().lens, progress=False)
    with pytest.raises(ExportError, match=r"a cross-encoder scores pairs.*save the page of its first stage"):
        made.to_html(tmp_path / "a.html", live=True)
    with pytest.raises(InputError, match="a cross-encoder scores what a first stage ranks"):
        collection_answers.typed(made, "the mat")
    monkeypatch.setattr(engine_page, "PASSAGES", 79)
    with pytest.raises(ExportError, match="a page carries 79 passages, this collection has 80: rank a part of it"):
        search().to_html(tmp_path / "a.html", live=True)
    assert not (tmp_path / "a.html").exists()
    with pytest.raises(InputError, match="give live=True and the folder"):
        search().to_html(tmp_path / "a", hosted=True)
    with pytest.raises(InputError, match="probe, heads, layers, dimensions stand on the page of tables"):
        search().to_html(tmp_path / "a.html", live=True, heads=object())  # type: ignore[arg-type]


def test_weights_that_a_page_has_no_room_for_go_beside_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("bertlens.export.live.LIMIT", 1000)
    way = r"put them beside it, r\.to_html\(folder, live=True, hosted=True\)$"
    with pytest.raises(ExportError, match=way):
        search().to_html(tmp_path / "a.html", live=True)
    assert search().to_html(tmp_path / "a", live=True, hosted=True).name == "index.html"


def test_vectors_of_16_bits_hold_those_of_8_in_their_upper_byte() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 24))
    vectors[0] = 0
    rows = engine_page.rounded(vectors)
    largest = np.abs(vectors).max(1, keepdims=True)
    largest[0] = 1
    steps = rows.astype(float) - engine_page.ZERO
    assert np.abs(steps * largest / engine_page.STEPS - vectors).max() <= 0.5 * largest.max() / engine_page.STEPS
    upper = engine_page.upper(rows)
    assert np.abs(upper).max() == 127
    assert np.abs(upper * largest / 127 - vectors).max() <= 0.51 * largest.max() / 127


def test_the_page_says_how_far_its_scores_are() -> None:
    said = engine_page.Digits(16, 1400, 0.00042, 0).said
    assert "moves the score of such a passage by at most 0.0005; the 10 that are first are among the 50" in said
    assert "vectors (16 bits) moves the score of a passage by" in engine_page.Digits(2, 6, 0.1, 0).said
    said = engine_page.Digits(1, 1400, 0.0, 3).said
    assert said.startswith("On a question") and "3 of the first 10 are not among the 50" in said


@pytest.mark.long
def test_on_cranfield_two_hundred_typed_questions_are_ranked_as_in_python(data: Path, tmp_path: Path) -> None:
    """Questions and titles of the collection, typed; the embedded model."""
    whole = cranfield.collection(data, 180)
    corpus = {name: text for name, text in zip(whole.passage_ids, whole.passages, strict=True) if text}
    queries = dict(zip(whole.query_ids, whole.queries, strict=True))
    made = bl.retrieval(bl.Lens.embedded(), queries, corpus, progress=False)
    titles = [record["T"] for record in cranfield.records(data / "cranfield" / "cran.all.1400.gz") if record["T"]]
    typed = [*whole.queries[:100], *titles[5:1405:14]]
    assert len(typed) == 200
    near = 1e-4
    answers = asked(made, [{"op": "search_typed", "text": text} for text in typed], tmp_path)
    gaps = []
    for text, (_, page) in zip(typed, answers, strict=True):
        lists = collection_answers.typed(made, text)
        names = [made.collection.passage_ids[row] for row in lists.passages(0)]
        reference = dict(zip(names, lists.scores[0].tolist(), strict=True))
        first = page["rows"][:10]
        gaps += [abs(row["score"] - reference[row["passage"]]) for row in first]
        assert same_order([row["passage"] for row in first], [row["score"] for row in first], reference, near), text
    assert max(gaps) <= near
