"""What a command writes: over a file of an earlier run of its own, over no other one, and never over what it reads."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens.cli import command_line as cli
from bertlens.export.html import INDEX, WEIGHTS
from bertlens.training.folder import CHECKPOINT
from unit import tiny
from unit.lessons.test_results import line
from unit.tasks.classifier import labelled, lens_of

TASK = ["--heads", "0", "--errors", "0"]
COMMANDS: dict[str, tuple[list[str], list[str]]] = {  # arguments, with {} for the folder; and what they write
    "html": (["the cat", "-o", "{}/package.html"], ["package.html"]),
    "classroom": (["tiny", "--text", "the cat", "-o", "{}/package.html"], ["package.html"]),
    "handout": (["{}/tiny.lesson.json", "--model", "tiny", "-o", "{}/package.html"], ["package.html"]),
    "results": (["{}/lines.txt", "-o", "{}/package.csv"], ["package.csv", "package-chart.html"]),
    "report": (
        ["tiny", "{}/corpus.txt", "-o", "{}/package.html", "--claims", "vig-next"],
        ["package.html", "package-numbers.json"],
    ),
    "retrieval": (
        ["{}/corpus", "--model", "tiny", "-o", "{}/package.html"],
        ["package.html", "package-numbers.json"],
    ),
    "task": (["tiny", "{}/labelled.csv", "-o", "{}/package.html", *TASK], ["package.html", "package-numbers.json"]),
}
NEIGHBOURS = ("package.html", "package.json", "package.csv", "class.html")  # of any project


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture(scope="module")
def classifier() -> bl.Lens:
    return lens_of()


@pytest.fixture(scope="module")
def numbers(lens: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The numbers of a report."""
    report = bl.report(lens, texts=2, claims="vig-next", progress=False)
    return Path(report.to_json(tmp_path_factory.mktemp("report") / "numbers.json")).read_bytes()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lens: bl.Lens, classifier: bl.Lens) -> Path:
    monkeypatch.setattr(cli, "load_lens", lambda model: lens)
    monkeypatch.setattr("bertlens.tasks.task_command.task", lambda _, *given, **how: bl.task(classifier, *given, **how))
    # nothing of what is in it
    monkeypatch.setattr("bertlens.tasks.labelled_task.page_of", lambda *given: "<p>the page</p>\n")
    (tmp_path / "lines.txt").write_text(line())
    bl.Lesson("Tiny", [bl.Lesson.step("Look.", {"text": "the cat"})]).save(tmp_path / "tiny.lesson.json")
    (tmp_path / "corpus.txt").write_text("the cat sat on the mat, it was warm.\n" * 9)
    (tmp_path / "corpus" / "qrels").mkdir(parents=True)
    (tmp_path / "corpus" / "corpus.jsonl").write_text(
        '{"_id": "1", "text": "the cat"}\n{"_id": "2", "text": "it was"}\n'
    )
    (tmp_path / "corpus" / "queries.jsonl").write_text('{"_id": "a", "text": "was it a cat"}\n')
    (tmp_path / "corpus" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\na\t1\t1\n")
    rows = "\n".join(f"{text},{label}" for text, label in labelled(40))
    (tmp_path / "labelled.csv").write_text(f"text,label\n{rows}\n")
    return tmp_path


def run(name: str, folder: Path, *more: str) -> int:
    return cli.main([name, *(argument.replace("{}", str(folder)) for argument in COMMANDS[name][0]), *more])


def listed(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_writes_over_its_own_files_and_over_no_others(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = COMMANDS[name][1]
    for neighbour in {*NEIGHBOURS} - {*written}:
        (folder / neighbour).write_text("the user's own")
    before = listed(folder)
    assert run(name, folder) == 0
    assert listed(folder).keys() == before.keys() | {*written}
    assert {file: content for file, content in listed(folder).items() if file not in written} == before
    assert run(name, folder) == 0  # once more, over its own
    for file in written:
        content = (folder / file).read_bytes()
        (folder / file).write_text("the user's own")
        capsys.readouterr()
        assert run(name, folder) == 2
        said = capsys.readouterr().err
        assert f"{file} is there already, and is of no earlier bertlens {name}: name another, or --force" in said
        assert (folder / file).read_text() == "the user's own"
        (folder / file).write_bytes(content)
    (folder / written[-1]).write_text("the user's own")
    assert run(name, folder, "--force") == 0
    assert (folder / written[-1]).read_text() != "the user's own"


@pytest.mark.parametrize("name", ["html", "classroom", "handout", "task", "report", "retrieval"])
def test_a_page_of_another_command_is_none_of_its_own(name: str, folder: Path) -> None:
    """The class's page of 55 MB is not the table's chart, nor a report."""
    other = "html" if name != "html" else "classroom"
    assert run(other, folder) == 0
    before = listed(folder)
    assert run(name, folder) == 2 and listed(folder) == before
    (folder / "package.html").write_text("")  # nothing can be lost
    assert run(name, folder) == 0


def test_as_the_documents_have_it_the_page_of_the_class_stays(folder: Path) -> None:
    page = ["classroom", "tiny", "--text", "the cat", "-o", str(folder / "class.html")]
    assert cli.main(page) == 0
    whole = (folder / "class.html").read_bytes()
    assert cli.main(["results", str(folder / "lines.txt"), "-o", str(folder / "class.csv")]) == 0
    assert (folder / "class.html").read_bytes() == whole


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (["results", "{}/lines.txt", "-o", "{}/lines.txt"], "lines.txt"),
        (["results", "{}/lines.txt", "-o", "{}/link.csv"], "lines.txt"),
        (["results", "{}/lines.txt", "{}/a-chart.html", "-o", "{}/a.csv"], "a-chart.html"),
        (["report", "tiny", "{}/corpus.json", "-o", "{}/corpus.json"], "corpus.json"),
        (["report", "tiny", "-o", "{}/r.html", "--check", "{}/r-numbers.json"], "r-numbers.json"),
        (["report", "tiny", "-o", "{}/r.html", "--against", "{}/r-numbers.json"], "r-numbers.json"),
        (["retrieval", "{}/corpus", "--relevance", "{}/judged.csv", "-o", "{}/judged.csv"], "judged.csv"),
        (["task", "tiny", "{}/a.html", "-o", "{}/a.html"], "a.html"),
        (["survey", "{}/corpus.txt", "-o", "{}/corpus.txt", "--force"], "corpus.txt"),
        (["classroom", "tiny", "--lesson", "{}/a.lesson.json", "-o", "{}/a.lesson.json"], "a.lesson.json"),
        (["handout", "{}/a.lesson.json", "--model", "tiny", "-o", "{}/a.lesson.json"], "a.lesson.json"),
        (["train-mlm", "--corpus", "{}", "-o", "{}"], "corpus.txt"),
        (["train-mlm", "--corpus", "{}/corpus.txt", "--model", "{}", "-o", "{}"], "corpus.txt"),
    ],
)
def test_nothing_is_written_over_what_is_read(
    folder: Path, numbers: bytes, capsys: pytest.CaptureFixture[str], command: list[str], output: str
) -> None:
    (folder / "link.csv").symlink_to(folder / "lines.txt")
    (folder / "r-numbers.json").write_bytes(numbers)
    for name in ("corpus.json", "judged.csv", "a.html", "a.lesson.json", "a-chart.html"):
        (folder / name).write_text(line())
    before = listed(folder)
    for more in ([], ["--force"]):
        capsys.readouterr()
        assert cli.main([argument.replace("{}", str(folder)) for argument in command] + more) == 2
        said = capsys.readouterr().err
        assert "is read from: name another to write to" in said and said.count("\n") == 1
        assert listed(folder) == before, output


def test_a_part_of_a_report_is_deleted_and_no_other_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "package.part.npz").write_bytes(b"the user's own")
    assert run("report", folder) == 2
    assert "package.part.npz is there already" in capsys.readouterr().err
    assert (folder / "package.part.npz").read_bytes() == b"the user's own"
    assert run("report", folder, "--force") == 0 and not (folder / "package.part.npz").exists()


def test_a_survey_begins_anew_where_it_is_told_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "stats.npz").write_bytes(b"the user's own")
    command = ["survey", str(folder / "corpus.txt"), "-o", str(folder / "stats.npz")]
    assert cli.main(command) == 2
    assert "is there already: --resume goes on with it; name another, or --force" in capsys.readouterr().err
    assert (folder / "stats.npz").read_bytes() == b"the user's own"
    assert cli.main([*command, "--force"]) == 0
    assert bl.survey.HeadStats.load(folder / "stats.npz").n_texts == 9


def test_a_hosted_page_takes_no_place_of_a_site(
    folder: Path, lens: bl.Lens, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two files in a folder: from Python as from the command."""
    room = bl.classroom(lens, ["the cat"])
    web = folder / "web"
    for name in (INDEX, WEIGHTS):
        web.mkdir(exist_ok=True)
        (web / name).write_text("<p>the user's own</p>")
        with pytest.raises(bl.ExportError, match=f"{name} is there already, and is of no earlier page"):
            room.to_html(web, hosted=True, progress=False)
        assert cli.main(["classroom", "tiny", "--text", "the cat", "--hosted", str(web)]) == 2
        assert listed(web) == {name: b"<p>the user's own</p>"}
        assert cli.main(["classroom", "tiny", "--text", "the cat", "--hosted", str(web), "--force"]) == 0
        room.to_html(web, hosted=True, progress=False)  # over its own
        for file in web.iterdir():
            file.unlink()
    (web / INDEX).write_text("<p>the user's own</p>")
    assert room.to_html(web, hosted=True, progress=False, force=True).read_text() != "<p>the user's own</p>"


@pytest.mark.parametrize("name", ["train-mlm", "train-sars-cov-2"])
def test_a_model_is_trained_in_no_folder_of_other_files(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of the user's would be written over, file by file."""
    begun: list[Any] = []

    def training(*given: Any, **named: Any) -> Any:
        begun.append(1)
        raise bl.InputError("begun")

    monkeypatch.setattr("bertlens.training.run.files", training)
    monkeypatch.setattr("bertlens.training.sars_cov_2.variant_run.prepare", training)
    mine = folder / "mine"
    lens_of().model.save_pretrained(mine)
    before = listed(mine)
    data = ["--corpus" if name == "train-mlm" else "--data", str(folder / "corpus.txt")]
    command = [name, *data, "-o", str(mine)]
    assert cli.main(command) == 2
    assert "mine holds other files already, config.json among them: give another folder, or --force" in (
        capsys.readouterr().err
    )
    assert not begun and listed(mine) == before
    assert cli.main([*command, "--force"]) == 2 and begun == [1]
    (mine / CHECKPOINT).write_bytes(b"")  # of a run that goes on: whose, the run says
    assert cli.main(command) == 2 and begun == [1, 1]
    assert cli.main([*command[:-1], str(folder / "new")]) == 2 and begun == [1, 1, 1]


def test_a_pipe_and_a_device_take_what_is_written(folder: Path) -> None:
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert cli.main(["html", "the cat", "-o", os.devnull]) == 0
