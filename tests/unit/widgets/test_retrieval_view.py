"""The view of a retrieval: its list is the model's own order, its case the contrast, its page what was computed."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens.errors import InputError, SelectionError
from bertlens.export.html import question_name
from bertlens.search.view import case_questions
from bertlens.search.view.case_answers import gains_of
from bertlens.whatif import off
from unit import tiny_encoders
from unit.asking import replies
from unit.tiny_encoders import words

CORPUS = {f"p{at}": f"{words(6 + at % 5, at).capitalize()}, 12." for at in range(40)}
LONG = "p7"
CORPUS[LONG] = words(60, 7)  # of which the model reads 40 tokens, its prompt's two and the template's two among them
QUERIES = {f"q{at}": words(4, 100 + at) + "?" for at in range(6)}
RELEVANCE = {f"q{at}": {f"p{at}": 1, f"p{at + 10}": 2} for at in range(5)}
SIDES = ("query", "wrong", "right")


@cache
def search() -> bl.Retrieval:
    model = tiny_encoders.encoder(similarity_fn_name="cosine")
    return bl.retrieval(bl.Lens(model), QUERIES, CORPUS, RELEVANCE, progress=False)


@cache
def view() -> bl.RetrievalView:
    return search().explore()


def part_of_answer(op: str, of: bl.RetrievalView | None = None, **fields: Any) -> dict[str, Any]:
    """What comes in one turn: all of it, or "again"."""
    [(content, _)] = replies(of or view(), {"id": 7, "op": op, **fields})
    assert content.pop("id") == 7
    json.dumps(content, allow_nan=False)
    return content


def answer(op: str, of: bl.RetrievalView | None = None, **fields: Any) -> dict[str, Any]:
    while (content := part_of_answer(op, of, **fields)).get("again"):
        assert 0 <= content["done"] <= 1
    return content


def case(query: str, **fields: Any) -> dict[str, Any]:
    return {"query": query, "wrong": None, "right": None, "texts": None} | fields


def test_the_list_begins_with_the_largest_gap_and_ranks_are_counted():
    listed = answer("search")["questions"]
    failures = search().failures().sort_values("gap", ascending=False, kind="stable")
    n = len(failures)
    assert listed["query"][:n] == failures["query"].tolist() and sorted(listed["query"]) == [*RELEVANCE]
    assert listed["failed"] == [True] * n + [False] * (5 - n)
    for name, rank, text in zip(listed["query"], listed["rank"], listed["text"], strict=True):
        table = search().ranking(name, 40)
        assert rank == 1 + next(at for at, passage in enumerate(table["passage"]) if passage in RELEVANCE[name])
        assert text == QUERIES[name]
    assert view().query == failures["query"].iloc[0]
    rules = [rule[0] for rule in answer("search")["rules"]]
    for at, row in enumerate(failures.itertuples()):
        assert [rules[kind] for kind in listed["kinds"][at]] == [rule for rule in rules if getattr(row, rule)]


def test_a_case_is_the_contrast_and_its_pieces_are_the_texts():
    query = view().query
    fields, contrast = answer("search_case", **case(query)), search().contrast(query)
    assert fields["said"] == contrast.said and fields["scores"] == pytest.approx(contrast.scores, abs=1e-6)
    for side, text in zip(SIDES, contrast.texts, strict=True):
        assert "".join(piece for piece, _ in fields["texts"][side]["pieces"]) == text
        for piece, row in fields["texts"][side]["pieces"]:
            name = fields["texts"][side]["names"][row]
            assert row < 0 or name in (piece.casefold(), "[UNK]")
    difference = fields["scores"][0] - fields["scores"][1]
    assert sum(fields["texts"]["query"]["parts"]) == pytest.approx(difference, abs=1e-4)
    sums = [sum(fields["texts"][side]["parts"]) for side in SIDES[1:]]
    assert sums == pytest.approx([contrast.scores[0], -contrast.scores[1]], abs=1e-4)
    assert fields["named"] == contrast.named


def test_arcs_are_the_largest_pairs_of_each_word_of_the_question():
    query = view().query
    fields, contrast = answer("search_case", **case(query)), search().contrast(query)
    for side, text in zip(SIDES[1:], contrast.texts[1:], strict=True):
        pair = bl.similarity(search().lens, contrast.texts[0], text, ("query", "document"))
        table = pair.pairs("output", words=True).to_numpy()
        keys = fields["texts"][side]["keys"]
        for row, key in enumerate(fields["texts"]["query"]["keys"]):
            sums: dict[str, float] = {}
            for at, word in enumerate(keys):
                sums[word] = sums.get(word, 0.0) + table[row, at]
            arcs = [(at, part) for asked, at, part in fields["arcs"][side] if asked == row]
            best = sorted((abs(total) for word, total in sums.items() if word), reverse=True)[: 4 if key else 0]
            assert [abs(part) for _, part in arcs] == pytest.approx(best, abs=1e-5)
            assert all(keys.index(keys[at]) == at for at, _ in arcs)
            assert all(part == pytest.approx(sums[keys[at]], abs=1e-5) for at, part in arcs)


def test_what_the_model_has_not_read_has_no_row():
    contrast_of = answer("search_case", **case("q0", wrong=LONG))["texts"]["wrong"]
    pieces = contrast_of["pieces"]
    read = [piece for piece, row in pieces if row >= 0]
    assert "".join(piece for piece, _ in pieces) == CORPUS[LONG]
    assert 30 < len(read) < 40 and " ".join(read) == " ".join(CORPUS[LONG].split()[: len(read)])
    assert pieces[-1][0].split() == CORPUS[LONG].split()[len(read) :]


def test_strips_are_the_experiments_of_the_contrast():
    query = view().query
    contrast = search().contrast(query)
    strip = answer("search_words", **case(query))
    assert {row["side"] for row in strip["rows"]} == {*SIDES}
    for row in strip["rows"]:
        table = contrast.without(row["key"], row["side"], n_random=0)
        assert row["after"] == pytest.approx(table[["wrong", "right"]].iloc[1].tolist(), abs=1e-5)
        assert row["turned"] == table["turned"].iloc[1]
        assert row["said"] == table.attrs["said"]
    gaps = [row["after"][0] - row["after"][1] for row in strip["rows"]]
    assert gaps == sorted(gaps)
    heads = answer("search_heads", **case(query))
    assert (
        heads["heads"] == search().lens.trace("cat").n_layers * search().lens.trace("cat").n_heads
        and len(heads["rows"]) == 8
    )
    for row in heads["rows"]:
        layer, head = map(int, re.findall(r"\d+", row["name"]))
        after = contrast.rerun(off(layer, head))["after"]
        assert row["after"] == pytest.approx(after.tolist()[:2], abs=1e-5)
        assert ("turns" in row["said"]) == row["turned"] == (after["difference"] < 0)


@pytest.mark.parametrize("how", ["hidden", "deleted"])
def test_a_word_is_taken_out_beside_draws(how):
    query = view().query
    fields = answer(
        "search_without", **case(query), side="wrong", word=search().contrast(query).named, how=how, draws=3
    )
    table = search().contrast(query).without(how=how, n_random=3, frequencies=search().frequencies)
    assert fields["after"] == pytest.approx(table[["wrong", "right"]].iloc[1].tolist(), abs=1e-5)
    assert fields["said"] == table.attrs["said"].replace("named", "asked")
    assert [draw["turned"] for draw in fields["drawn"]] == table["turned"].iloc[2:].tolist()


def test_rewritten_texts_are_scored_as_they_stand():
    query = view().query
    contrast = search().contrast(query)
    texts = ["cat dog?", contrast.texts[1], "the mat was warm"]
    fields = answer("search_case", **case(query, texts=[texts[0], None, texts[2]]))
    lens = search().lens
    scores = [bl.similarity(lens, texts[0], text, ("query", "document")).value for text in texts[1:]]
    assert fields["scores"] == pytest.approx(scores, abs=1e-5)
    assert "".join(piece for piece, _ in fields["texts"]["right"]["pieces"]) == texts[2]


def test_a_typed_question_is_ranked_as_one_of_the_collection_is():
    text = QUERIES["q5"]  # of which there is a list
    fields, table = answer("search_typed", text=text), search().ranking("q5", 50)
    assert [row["passage"] for row in fields["rows"]] == table["passage"].tolist()
    assert [row["score"] for row in fields["rows"]] == pytest.approx(table["score"].tolist(), abs=1e-6)
    assert fields["passages"] == len(CORPUS) and "behind its prompt" in fields["notes"][0]
    typed = {"query": None, "wrong": None, "right": None, "texts": [text, None, None]}
    first = answer("search_case", **typed)
    assert [first["wrong"], first["right"]] == table["passage"].tolist()[:2] and not first["judged"]
    assert [row["rank"] for row in first["passages"]] == [*range(1, len(CORPUS) + 1)]
    contrast = search().contrast("q5", first["wrong"], first["right"])
    assert first["scores"] == pytest.approx(contrast.scores, abs=1e-6) and first["said"] == contrast.said
    other = answer("search_case", **typed | {"wrong": LONG, "right": "p3", "texts": [text, "the mat", None]})
    assert other["wrong"] == LONG and "".join(piece for piece, _ in other["texts"]["wrong"]["pieces"]) == "the mat"
    assert answer("search_words", **typed)["rows"]
    assert answer("search_typed", text=" ") == {"error": "type a question"}
    assert "in this collection" in answer("search_case", **typed | {"wrong": "nowhere"})["error"]


def test_tables_are_those_of_the_retrieval():
    tables = answer("search_tables")
    assert [row["mean"] for row in tables["quality"]["rows"]] == pytest.approx(search().metrics()["mean"].tolist())
    assert [row["bm25"] for row in tables["quality"]["rows"]] == pytest.approx(search().metrics()["bm25"].tolist())
    assert [row["passage"] for row in tables["hubs"]["rows"]] == search().hubs()["passage"].tolist()[:100]
    assert tables["before"] is None
    again = answer("search_tables", search().explore(before=search()))
    assert [row["difference"] for row in again["before"]["rows"]] == [0.0] * 6


def test_the_named_word_is_tried_over_all_failures():
    view = search().explore()
    assert answer("search", view)["held"] == []
    fields = answer("search_work", view, work="turns")
    assert answer("search", view)["held"] == ["turns"]
    failures, turned, shares = search().failures(), 0, []
    for row, told in zip(failures.itertuples(), fields["rows"], strict=True):
        table = search().contrast(row.query, row.wrong, row.right).without(frequencies=search().frequencies)
        turned += int(table["turned"].iloc[1])
        shares.append(table["turned"][table["draw"] == "random"].mean())
        assert (told["query"], told["turned"]) == (row.query, table["turned"].iloc[1])
    assert f"the order turns in {turned} of {len(failures)} failures (" in fields["said"]
    assert f"a random word of the same passage in {sum(shares) / len(shares):.2f} of them" in fields["said"]
    held = elements(view.to_html(contrasts=0, progress=False))
    assert held[question_name({"op": "search_work", "work": "turns"})] == fields
    assert held[question_name({"op": "search"})]["held"] == ["turns"]


def test_without_judgements_all_questions_are_there_and_two_passages_beside_each_other():
    bare = bl.retrieval(search().lens, QUERIES, CORPUS, progress=False).explore()
    listed = answer("search", bare)["questions"]
    assert listed["query"] == [*QUERIES] and listed["rank"] == [None] * 6
    fields = answer("search_case", bare, **case("q3"))
    assert [fields["wrong"], fields["right"]] == search().ranking("q3", 2)["passage"].tolist()
    assert fields["judged"] is False
    assert answer("search_tables", bare)["quality"] is None


@pytest.mark.parametrize(
    "model", [tiny_encoders.encoder(similarity_fn_name="euclidean"), tiny_encoders.encoder(mode="cls")]
)
def test_other_scores_have_what_they_can_have(model):
    found = bl.retrieval(bl.Lens(model), QUERIES, CORPUS, RELEVANCE, progress=False).explore()
    fields = answer("search_case", found, **case(found.query))
    assert bool(fields["why_not"]) == (fields["texts"]["wrong"]["parts"] is None)
    assert fields["arcs"] == {} and "".join(piece for piece, _ in fields["texts"]["right"]["pieces"]) in CORPUS.values()
    if fields["why_not"]:
        assert "no word can be named" in answer("search_words", found, **case(found.query))["error"]


def test_a_cross_encoder_has_a_case_too():
    lens = bl.Lens(tiny_encoders.crossed())
    retrieval = bl.retrieval(lens, QUERIES, CORPUS, RELEVANCE, first_stage=search().lens, progress=False)
    found = retrieval.explore()
    fields, contrast = answer("search_case", found, **case(found.query)), retrieval.contrast(found.query)
    parts = [part for side in SIDES for part in fields["texts"][side]["parts"]]
    assert sum(parts) == pytest.approx(contrast.difference + contrast.gap, abs=1e-4)
    for side, text in zip(SIDES, contrast.texts, strict=True):
        assert "".join(piece for piece, _ in fields["texts"][side]["pieces"]) == text
    assert answer("search_heads", found, **case(found.query))["rows"]


def elements(html: str) -> dict[str, Any]:
    found = re.findall(r'<script type="application/json" id="([^"]*)">(.*?)</script>', html, re.DOTALL)
    unescape = {"&#34;": '"', "&quot;": '"'}
    return {re.sub("&#34;|&quot;", lambda mark: unescape[mark[0]], name): json.loads(text) for name, text in found}


def test_a_page_carries_what_was_computed():
    html = view().to_html(contrasts=2, progress=False)
    held = elements(html)
    assert held["bertlens-data"] == {"query": view().query, "theme": "auto"}
    names = answer("search")["questions"]["query"][:2]
    wanted = [{"op": "search"}, {"op": "search_tables"}]
    for name in names:
        wanted += [case(name, op=op) for op in ("search_case", "search_words", "search_heads")]
    assert {question_name(question) for question in wanted} < {*held}
    assert len(held) == 1 + len(wanted) + 2  # and the word that is named
    assert held[question_name(case(names[1], op="search_case"))] == answer("search_case", **case(names[1]))


def test_what_is_refused_while_a_page_is_made_is_a_refusal_in_it(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_given: Any, **_named: Any) -> Any:
        raise bl.InputError("not today")

    for name in case_questions.QUESTIONS:
        monkeypatch.setitem(case_questions.QUESTIONS, name, case_questions.SearchQuestion(name, refuse))
    held = elements(view().to_html(contrasts=1, progress=False))
    assert held.pop("bertlens-data")["query"] == view().query
    wanted = [{"op": "search"}, {"op": "search_tables"}, case(view().query, op="search_case")]
    assert {question_name(question) for question in wanted} < {*held}
    assert all(fields == {"error": "not today"} for fields in held.values()) and answer("search") in held.values()


def test_text_of_a_collection_is_text_in_its_page():
    corpus = CORPUS | {"p0": "</script><script>alert(1)</script> <b>cat</b>"}
    found = bl.retrieval(search().lens, QUERIES, corpus, RELEVANCE, progress=False)
    html = found.explore(query="q0").to_html(contrasts=1, progress=False)
    assert "alert(1)" in html and "<script>alert" not in html and "<b>cat" not in html


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bl.RetrievalView(3), r"shows what bl.retrieval\(…\) gives, not int"),
        (lambda: search().explore(query="q9"), "no question 'q9' in this view"),
        (lambda: search().explore(theme="red"), "no theme 'red'"),
        (lambda: view().to_html(contrasts=-1), "contrasts is of how many"),
    ],
)
def test_what_cannot_be_shown_is_refused(make, message):
    with pytest.raises((InputError, SelectionError), match=message):
        make()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"op": "tasks"}, "does not know"),
        ({"op": "search_case", **case("q77")}, "no question 'q77' in this collection"),
        ({"op": "search_case", **case("q0", wrong="p1", right="p1")}, "cannot be laid beside itself"),
        ({"op": "search_case", **case("q0", texts=["a", 3, "b"])}, "a case has three texts"),
        ({"op": "search_without", **case("q0"), "side": "wrong", "word": "zz", "how": "hidden", "draws": 1}, "no word"),
        ({"op": "search_without", **case("q0"), "side": "wrong", "word": "a", "how": "hidden", "draws": 99}, "0 to 50"),
        ({"op": "search_without", **case("q0")}, "no text None: there are query, wrong, right"),
    ],
)
def test_questions_that_have_no_answer_get_a_sentence(fields, message):
    content = answer(**fields)
    assert [*content] == ["error"] and message in content["error"]


def test_a_closed_view_says_so():
    closed = search().explore()
    closed.close()
    assert "this view is closed" in answer("search", closed)["error"]
    closed.query, closed.theme = "q99", "dark"  # what a link to another view sets
    assert (closed.query, closed.theme) == ("q99", "dark")


def test_gains_are_those_by_which_the_contrast_names_a_word():
    contrast = search().contrast(view().query)
    for side in SIDES:
        gains = gains_of(contrast, side)
        sign = -1 if side == "right" else 1
        assert max(gains, key=lambda key: sign * gains[key]) == contrast.named_in(side).casefold()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_hard_negatives_are_the_file_that_python_writes(tmp_path: Path, ending: str):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    [(content, [file])] = replies(view(), {"id": 7, "op": "search_negatives", "n": 3, "ending": ending})
    mined = search().hard_negatives(3)
    assert content == {"id": 7, "said": mined.said}
    assert file == mined.save(tmp_path / f"triplets{ending}").read_bytes()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n": 0, "ending": ".csv"}, "n is how many negatives of a question to take, at least 1"),
        ({"n": None, "ending": ".csv"}, "n is how many negatives"),
        ({"n": 1, "ending": ".exe"}, "triplets are written as one of"),
        ({"n": 1, "ending": f"/../../../{'x' * 9}.sh"}, "triplets are written as one of"),
    ],
)
def test_what_is_no_file_of_hard_negatives_is_refused(fields: dict[str, Any], message: str):
    assert message in answer("search_negatives", **fields)["error"]


ODD = (None, 5, -1, 1.5, True, "", "x", "abc", [], ["d1"], {}, {"text": ""}, [None] * 3, [1, 2, 3], ["x"] * 4)
MESSAGES: dict[str, dict[str, Any]] = {
    "hello": {},
    "search": {},
    "search_tables": {},
    "search_typed": {"text": "what"},
    "search_case": case("q0"),
    "search_words": case("q0"),
    "search_heads": case("q0"),
    "search_without": case("q0") | {"side": "query", "word": "x", "how": "hidden", "draws": 0},
    "search_negatives": {"n": 1, "ending": ".csv"},
    "search_work": {"work": "layers"},
    "search_stop": {"work": "layers"},
}


def nothing_tried(_contrast: Any) -> Generator[float, None, dict[str, Any]]:
    yield 0.5
    return {"before": (0.0, 0.0), "rows": []}


def test_every_message_is_tried() -> None:
    assert MESSAGES.keys() == case_questions.QUESTIONS.keys()


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_with_odd_arguments_is_answered_or_refused_in_a_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for strip in ("word_strip", "head_strip"):  # runs of many texts, where a case is one
        monkeypatch.setattr(case_questions.case_answers, strip, nothing_tried)
    monkeypatch.setattr(case_questions.Works, "outcome", lambda self, name, work, patience: {"rows": [], "said": ""})
    found = search().explore()
    for argument in [*MESSAGES[name], "other"]:
        for odd in ODD:
            fields = MESSAGES[name] | {argument: odd}
            assert not re.match(r"\w*(Error|Exception|Iteration)\b", answer(name, found, **fields).get("error", "")), (
                fields
            )
    found.close()


def carried(view: bl.RetrievalView) -> dict[str, Any]:
    """What a page without cases holds."""
    return elements(view.to_html(contrasts=0, progress=False))


@pytest.mark.parametrize("part", ["layers", "dimensions"])
def test_layers_and_dimensions_are_the_retrievals_own(part: str) -> None:
    own = search().explore()
    told = answer("search_work", own, work=part)
    sizes = search().layers(progress=False) if part == "layers" else search().dimensions()
    table = sizes.table.sort_values("layer" if part == "layers" else "dimensions", kind="stable")
    assert told["said"] == sizes.said and told["measure"] == "nDCG@10"
    assert [row["at"] for row in told["rows"]] == table[told["by"]].tolist()
    end = "" if part == "layers" else "difference_"
    for name, column in {"mean": "mean", "low": f"{end}low", "high": f"{end}high", "p": f"{end}p"}.items():
        assert [row[name] for row in told["rows"]] == [None if x != x else x for x in table[column]]
    names = [name for column in told["columns"] for name in (column["name"], column["high"]) if name]
    assert len(names) >= 8 and all({*names} <= row.keys() for row in told["rows"])
    assert all(column["label"] for column in told["columns"]) and told["about"].startswith("Difference: to ")
    name = question_name({"op": "search_work", "work": part})
    assert carried(own)[name] == told == part_of_answer("search_work", own, work=part)
    assert name not in carried(search().explore())


def test_what_ranks_no_part_says_so() -> None:
    own = search().explore()
    assert answer("search_work", own, work="heads")["error"].startswith("no work 'heads': ")
    lens = bl.Lens(tiny_encoders.crossed())
    pairs = bl.retrieval(lens, QUERIES, CORPUS, RELEVANCE, first_stage=search().lens, progress=False)
    assert "has no vectors" in answer("search_work", pairs.explore(), work="layers")["error"]


def test_layers_are_ended_and_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_questions, "PATIENCE", 0.0)
    own = search().explore()
    assert part_of_answer("search_work", own, work="layers")["again"]
    assert answer("search_stop", own, work="layers") == {}
    monkeypatch.undo()
    assert answer("search_work", own, work="layers") == {"stopped": True}
    assert answer("search", own)["held"] == []
    assert answer("search_work", own, work="layers")["rows"]


DRAWN = {"side": "wrong", "how": "hidden", "draws": 5}


@pytest.mark.parametrize("op", ["search_words", "search_heads", "search_without"])
def test_what_takes_many_runs_comes_in_turns_that_let_other_questions_in(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case_questions, "PATIENCE", 0.0)
    about = case("q0", wrong=LONG)
    about |= DRAWN | {"word": words(1, 7)} if op == "search_without" else {}
    own, at_once = search().explore(), answer(op, **about)
    shares = []
    while (turn := part_of_answer(op, own, **about)).get("again"):
        shares.append(turn["done"])
        assert "said" in part_of_answer("search_case", own, **case("q0"))
    assert turn == at_once and len(shares) >= 3 and shares == sorted({*shares})
