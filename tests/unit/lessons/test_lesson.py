"""Lessons as data: files that come back as they were, what is refused, and whether their steps can be done."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

import bertlens as bl
from bertlens.whatif import cut, off
from bertlens.widgets.answers.view_commands import lesson_model

TEXT = "The cat did not drink the milk because it was tired."
step = bl.Lesson.step


def lesson() -> bl.Lesson:
    return bl.Lesson(
        "Where does “it” look?",
        [
            step("# A row\nRead **this**.", {"text": TEXT, "layer": 4, "head": 9}, notes="two minutes"),
            step("Guess.", {"layer": 4, "head": 9, "query": 9}, predict="key", hints=["one", "two"], after="So it is."),
            step("Find one.", check="previous > 0.5"),
            step("Find none.", check="previous > 0.99"),
            step("How much?", predict="number", of="weight(it, cat)", within=0.05),
            step("Why?", model="Because.", table={"columns": ["head", "mean"], "rows": [["L0·H2", "0.95"]]}),
        ],
    )


def test_a_lesson_is_saved_and_loaded(tmp_path):
    before = lesson()
    path = tmp_path / "it.lesson.json"
    before.save(path)
    after = bl.Lesson.load(path)
    assert after.steps == before.steps and after.record() == before.record() and repr(after) == repr(before)
    assert [one.act for one in after.steps] == ["read", "predict", "find", "find", "predict", "write"]
    assert after.steps[0].title == "A row" and after.steps[1].of == "argmax of words"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no lesson: it is not JSON"),
        ("[]", 'it has no "schema"'),
        ('{"schema": "bertlens lesson", "version": 1}', "of version 1, this bertlens reads 2: update the older"),
        ('{"schema": "bertlens lesson", "version": 9}', "of version 9, this bertlens reads 2: update the older"),
        ('{"schema": "bertlens lesson", "version": 2, "title": "x"}', "no list of steps"),
        (
            '{"schema": "bertlens lesson", "version": 2, "title": "x", "steps": [{}]}',
            "step 1 of this lesson has no text",
        ),
        ('{"schema": "bertlens lesson", "version": 2, "title": "", "steps": []}', "a lesson has a title"),
    ],
)
def test_another_file_is_refused_in_one_sentence(tmp_path, content, said):
    path = tmp_path / "x.lesson.json"
    path.write_text(content)
    with pytest.raises(bl.InputError, match=re.escape(said)):
        bl.Lesson.load(path)
    with pytest.raises(bl.InputError, match="cannot be read"):
        bl.Lesson.load(tmp_path / "none")
    path.write_text(json.dumps(" " * 1_000_001))
    with pytest.raises(bl.InputError, match="more than 1000 kB"):
        bl.Lesson.load(path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": ""}, "a step has a text"),
        ({"text": "a\x1b[31m"}, "without control characters"),
        ({"text": "a" * 4001}, "at most 4000 characters"),
        ({"text": "a", "acts": "x"}, "a step has no 'acts'"),
        ({"text": "a", "act": "dance"}, "no act 'dance'"),
        ({"text": "a", "act": "find"}, "a step to find has a check"),
        ({"text": "a", "check": "previos > 1"}, "'previos'"),
        ({"text": "a", "act": "read", "check": "previous > 1"}, "a check belongs to a step to find or to change"),
        ({"text": "a", "predict": "mood"}, "predict is one of key, head, number, word"),
        ({"text": "a", "predict": "head", "of": "0.5"}, "the largest of a statistic"),
        ({"text": "a", "predict": "key", "of": "previous"}, "'argmax' or 'argmax of words'"),
        ({"text": "a", "predict": "number", "of": "weight", "within": True}, "within is how near"),
        ({"text": "a", "hints": ["1", "2", "3"]}, "at most two hints"),
        ({"text": "a", "hints": ["\ud800"]}, "each a text without control characters"),
        ({"text": "a", "hints": ["a\0b"]}, "each a text without control characters"),
        ({"text": "a", "after": "\udfff"}, "without control characters"),
        ({"text": "a", "state": {"text": "a\0b"}}, "no NUL and no half character"),
        ({"text": "a", "state": {"text": "\ud800"}}, "no NUL and no half character"),
        ({"text": "a", "state": {"heads": [["\udc00"]]}}, "no NUL and no half character"),
        ({"text": "a", "show": {"text": "a\\\0"}}, "no NUL and no half character"),
        ({"text": "a", "state": {"colour": 1}}, "a state has no 'colour'"),
        ({"text": "a", "state": {"layer": "1"}}, "the layer of a state is a whole number"),
        ({"text": "a", "state": {"text": 5}}, "the text of a state is a text"),
        ({"text": "a", "state": {"changes": "off"}}, "the changes of a state are a list"),
        ({"text": "a", "state": [1]}, "a state is a dict"),
        ({"text": "a", "show": {"line_minimum": float("nan")}}, "plain values only"),
        ({"text": "a", "table": [1]}, "a step's table is {'columns'"),
        ({"text": "a", "table": {"columns": ["a"], "rows": 3}}, "a step's table is {'columns'"),
        ({"text": "a", "table": {"columns": ["a", "b"], "rows": [["x"]]}}, "each row as long"),
        ({"text": "a", "table": {"columns": ["a"], "rows": [[1]]}}, "a cell a text of at most 80"),
        ({"text": "a", "table": {"columns": ["a"], "rows": [["x"]] * 31}}, "at most 30 rows"),
        ({"text": "a", "table": {"columns": ["a"], "rows": [], "title": "x"}}, "and nothing else"),
    ],
)
def test_what_is_no_step_is_one_sentence(given, said):
    with pytest.raises(bl.InputError, match=re.escape(said)):
        step(**given)


def test_what_is_no_lesson_is_one_sentence():
    for given, said in ((("a", ["x"]), "each made by bl.Lesson.step"), (("\x1b",), "a line of text"), ((3,), "a line")):
        with pytest.raises(bl.InputError, match=said):
            bl.Lesson(*given)
    with pytest.raises(bl.InputError, match=r"each made by bl\.Lesson\.step"):
        bl.Lesson("a", 5)
    for path in (1, True, 99):  # numbers of open files
        with pytest.raises(bl.InputError, match="a lesson is named by a string or a path"):
            bl.Lesson.load(path)
    kept = bl.Lesson("a", [step("b", {"text": "a backslash: \\u0000, an emoji: 😀"})])
    assert json.loads(json.dumps(kept.record())) == kept.record()
    with pytest.raises(bl.InputError, match="takes the state of a view"):
        bl.Lesson("x").step("no view", "text")


def test_a_lesson_is_translated():
    german = lesson().translated("de", {"title": "Wohin?", 1: "Lies.", 2: {"text": "Rate.", "hints": ["eins"]}})
    assert (german.title, german.lang, german.steps[0].text) == ("Wohin?", "de", "Lies.")
    other = {"columns": ["Kopf", "Mittel"], "rows": [["L0·H2", "0,95"]]}
    assert lesson().translated("de", {6: {"table": other}}).steps[5].table == other
    assert german.steps[1].hints == ("eins",) and german.steps[1].after == "So it is."
    kept = [(one.state, one.check, one.predict, one.of, one.within) for one in german.steps]
    assert kept == [(one.state, one.check, one.predict, one.of, one.within) for one in lesson().steps]
    for none in (None, 5, True, ["a"], ("a",)):
        with pytest.raises(bl.InputError, match="step 1 has a text, or texts by name, not"):
            lesson().translated("de", {1: none})
        with pytest.raises(bl.InputError, match="texts are"):
            lesson().translated("de", none)
    for texts, said in (({9: "x"}, "no step 9: there are 1 to 6"), ({1: {"check": "x"}}, "not 'check'")):
        with pytest.raises(bl.InputError, match=said):
            lesson().translated("de", texts)


def test_check_says_what_cannot_be_fulfilled(embedded_lens):
    table = lesson().check(embedded_lens)
    assert list(table["holds"]) == [True, True, True, False, True, True]
    assert "no head or cell of this model fulfils 'previous > 0.99'" in table["says"][3]
    trace = embedded_lens.trace(TEXT)
    row = trace.attention(4)[9][9]
    words = [j for j in range(trace.n_tokens) if not trace.special_mask[j]]
    best = max(words, key=lambda j: row[j])
    assert table["says"][1] == f"{trace.tokens[best]}, {row[best]:.2f}"
    assert table["says"][4] == f"{row[trace.tokens.index('cat')]:.2f}"
    layer, head = map(int, re.findall(r"\d+", table["says"][2]))
    assert trace.attention(layer)[head].diagonal(-1).sum() / trace.n_tokens > 0.495
    other = bl.Lesson(
        "x",
        [step("a", {"text": "a"}), step("b", {"layer": 7}), step("c", {"layer": 0}, "change", check="answer changed")],
    )
    assert list(other.check(embedded_lens)["says"][1:]) == [
        "layer 7 does not exist: choose one from 0 to 5",
        "this model gives no answer to this text",
    ]
    assert bl.Lesson("x", [step("a", predict="word")]).check(embedded_lens)["says"][0].startswith("no text")


def test_a_step_takes_the_state_of_a_view(embedded_lens):
    trace = embedded_lens.trace(TEXT, "It slept.")
    view = trace.rerun(off(4, 9), cut(1, 2, 3, 4)).explore(layer=4, head=8, query=9, mode="lines", view="norms")
    one = bl.Lesson("x").step(view, "Guess.", predict="key")
    where = {"layer": 4, "head": 8, "query": 9, "mode": "lines", "view": "norms"}
    changes = [["off", 4, 9], ["cut", 1, 2, 3, 4]]
    assert one.act == "predict" and one.state == {"text": TEXT, "text_pair": "It slept.", "changes": changes, **where}
    mine = bl.Lesson("x", [one])
    assert mine.check(embedded_lens)["holds"][0]
    view.trace = trace.rerun(cut(1, renormalize=False))
    with pytest.raises(bl.InputError, match="changes that are made of numbers"):
        mine.step(view, "text")
    view.close()


def test_what_is_taken_is_told_beside_the_norm_only(embedded_lens):
    state = {"text": TEXT, "layer": 2, "head": 7}
    asked = {"predict": "number", "of": 'taken(it, "[CLS]")'}
    shown = [step("a", {**state, "measure": measure}, **asked) for measure in ("norm", "difference", "weight")]
    found = step("b", {**state, "measure": "norm"}, check="taken(it, cat) > 0.2", show={"layer": 4, "head": 2})
    table = bl.Lesson("x", [*shown, found]).check(embedded_lens)
    assert list(table["holds"]) == [True, True, False, False]
    assert table["says"][0] == table["says"][1]
    assert "what is taken is told while the picture shows the norm" in table["says"][3]  # show names no measure


def test_a_view_runs_the_embedded_model_that_its_lesson_names(embedded_lens):
    shown = []
    trace = embedded_lens.trace("She drank a cup of [MASK].")

    def ask(lesson, trace=trace):
        lesson_model(SimpleNamespace(traits={"lesson": lesson}, view=SimpleNamespace(trace=trace), show=shown.append))

    pages = {name: bl.Lesson.load(name).for_page() for name in ("heads-off", "patterns")}
    assert all(page["embedded"] for page in pages.values())
    ask(pages["heads-off"])
    assert shown[0].predictions(1)["token"][0] == "coffee" and shown[0].model_name == pages["heads-off"]["model"]
    ask(pages["patterns"])
    assert shown[1].model_name == embedded_lens.model_name and shown[1].text == trace.text
    other = bl.Lesson("x", [step("a")], model="another").for_page()
    assert not other["embedded"]
    with pytest.raises(bl.InputError, match="another is not embedded: run the lesson with your lens on it"):
        ask(other)
    assert len(shown) == 2
