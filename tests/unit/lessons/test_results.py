"""The line that carries a result from a page to a teacher; that a page's own is read is in the browser tests."""

from __future__ import annotations

import base64
import json
import re

import pytest

import bertlens as bl
from bertlens.lessons.results import MARK, checksum

LESSON = bl.Lesson("Two", [bl.Lesson.step("a"), bl.Lesson.step("b", predict="word")])


def line(lesson="Two", name="Ada", done=({"step": 2, "act": "predict", "guess": "dog", "right": False},)) -> str:
    body = base64.b64encode(json.dumps({"lesson": lesson, "name": name, "done": list(done)}).encode()).decode()
    return f"{MARK}:{body}:{checksum(body)}"


def test_a_result_has_a_row_for_each_step():
    table = LESSON.grade(f"  {line()}\n")
    assert table.attrs["name"] == "Ada" and table["step"].tolist() == [1, 2]
    assert table["guess"].tolist() == ["", "dog"] and table["right"].tolist() == [None, False]
    assert len(LESSON.grade(line(done=[{"step": 99, "guess": "x"}]))) == 2  # of a longer lesson of that title


def test_the_checksum_is_fnv_1a():
    assert (checksum(""), checksum("a"), checksum("foobar")) == ("811c9dc5", "e40c292c", "bf9cf968")  # its own vectors


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "this is no result of a lesson"),
        (7, "this is no result of a lesson"),
        ("a:b:c", "this is no result of a lesson"),
        (line()[:-1], "damaged or was cut"),
        (line().replace(":ey", ":eY", 1), "damaged or was cut"),
        (line(lesson="Three"), "of the lesson 'Three', not of 'Two'"),
        (line(done=[{"guess": "x"}]), "cannot be read"),
        (line(done=[{"step": 1, "guess": ["x"]}]), "cannot be read"),
        (line(done=[3]), "cannot be read"),
        (line(name=5), "cannot be read"),
        (f"{MARK}:%%:{checksum('%%')}", "cannot be read"),
    ],
)
def test_another_line_is_one_sentence(given, said):
    with pytest.raises(bl.InputError, match=re.escape(said)):
        LESSON.grade(given)
