"""The line that carries a result from a page to a teacher; that a page's own is read is in the browser tests."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import re

import pytest

import bertlens as bl
from bertlens import cli
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


def test_a_class_is_collected(tmp_path, capsys):
    (tmp_path / "a.txt").write_text(f"{line()}\n\n{line(name='Bo', done=[{'step': 1, 'written': '=1+1'}])}\n")
    (tmp_path / "b.txt").write_text(f"{line()}\n{line()[:-2]}\n")
    out = tmp_path / "class.csv"
    cli.main(["results", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "-o", str(out)])
    rows = list(csv.DictReader(out.open()))
    assert [(row["name"], row["double"], row["step"], row["guess"]) for row in rows] == [
        ("Ada", "True", "2", "dog"),
        ("Bo", "False", "1", ""),
        ("Ada", "True", "2", "dog"),
    ]
    assert rows[1]["written"] == "'=1+1"  # no formula
    said = capsys.readouterr().out
    assert "3 results, 1 names doubled" in said and "b.txt, line 2: this result is damaged" in said
    (tmp_path / "a.txt").write_text("nothing")
    assert cli.main(["results", str(tmp_path / "a.txt"), "-o", str(out)]) == 2
    assert "a.txt, line 1: this is no result of a lesson" in capsys.readouterr().err


def test_files_as_programs_save_them_are_read_and_cells_stay_cells(tmp_path, capsys):
    """Excel's and Notepad's byte order marks, UTF-16, gzip; what was typed comes back cell by cell."""
    typed = 'a "b", c\rd\ne'
    text = f"{line(name='Ada')}\r\n{line(name='Zoë', done=[{'step': 1, 'act': 'write', 'written': typed}])}\r\n"
    for name, data in {
        "utf8": text.encode("utf-8-sig"),
        "utf16": text.encode("utf-16"),
        "big": b"\xfe\xff" + text.encode("utf-16-be"),
        "plain": text.encode(),
        "zipped.gz": gzip.compress(text.encode("utf-16")),
        "odd": text.encode() + "Grüße\n".encode("latin-1"),
    }.items():
        (tmp_path / name).write_bytes(data)
        out = tmp_path / f"{name}.csv"
        assert cli.main(["results", str(tmp_path / name), "-o", str(out)]) == 0
        assert ("line 3" in capsys.readouterr().out) == (name == "odd")
        with out.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["name"] for row in rows] == ["Ada", "Zoë"] and rows[1]["written"] == typed
    (tmp_path / "cut.gz").write_bytes(gzip.compress(text.encode() * 99)[:-9])
    assert cli.main(["results", str(tmp_path / "cut.gz"), "-o", str(out)]) == 2
    assert "cut.gz cannot be opened" in capsys.readouterr().err
    (tmp_path / "half").write_text(line(name="\ud800"))
    assert cli.main(["results", str(tmp_path / "half"), "-o", str(out)]) == 0  # a name of half a character


def test_a_class_is_drawn_step_by_step(tmp_path):
    def done(guess, right, written="", **more):
        key = {"step": 1, "act": "predict", "guess": guess, "truth": "was, 0.65", "right": right, **more}
        found = {"step": 2, "act": "find", "guess": "L1·H8", "truth": "L1·H8", "right": True}
        return [key, found, {"step": 3, "act": "write", "written": written}]

    class_of = [
        ("Ada", done("mat", False, "first")),
        ("Ada", done("was", True, "<script>boom()</script>")),  # of the same name: the last counts
        ("", done("was", True)),
        ("", done("cat", False)),
        ("Bob", done("", None, shown=True)),
        ("Eve", [{"step": 2, "act": "find", "skipped": True}]),
    ]
    lines = [line("A row", name, records) for name, records in class_of]
    (tmp_path / "all.txt").write_text("\n".join(lines))
    assert cli.main(["results", str(tmp_path / "all.txt"), "-o", str(tmp_path / "class.csv")]) == 0
    doubled = [(row["name"], row["double"]) for row in csv.DictReader((tmp_path / "class.csv").open())]
    assert set(doubled) == {("Ada", "True"), ("", "False"), ("Bob", "False"), ("Eve", "False")}
    page = (tmp_path / "class-chart.html").read_text()
    assert "5 results. 1 left out" in page and "<script" not in page and "&lt;script&gt;boom()" in page
    first, second, third = page.split("<section>")[1:]
    assert "2 of 3 guesses right" in first and "the answer: was, 0.65" in first and "1 had it shown" in first
    assert re.findall(r"<dt[^>]*>(.*?)</dt><dd(.*?)><span style=\"width:(\d+)%\"></span>(\d)", first) == [
        ("was", ' class="right"', "60", "2"),
        ("cat", "", "30", "1"),
    ]
    assert "4 of 5 found one" in second and "1 skipped it" in second
    assert "1 wrote something" in third and "first" not in third
