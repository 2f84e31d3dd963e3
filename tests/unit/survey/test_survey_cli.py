"""`bertlens survey`: a file of statistics, a run that goes on, bad input in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlens import Lens, cli
from bertlens.survey import HeadStats, survey_run
from unit import tiny
from unit.interrupts import interrupt_after

CORPUS = "The cat sat on the mat.\nIt was warm.\n\nNobody had asked for that, had they?\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text(CORPUS)
    return tmp_path / "corpus.txt"


def test_survey_writes_statistics(
    embedded_lens: Lens, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "stats.npz"
    assert cli.main(["survey", str(corpus), "-o", str(output)]) == 0
    assert capsys.readouterr().out == f"{output}: 3 texts, 26 tokens, all-MiniLM-L6-v2\n"
    expected = survey_run.head_stats(embedded_lens, CORPUS.split("\n")[:2], progress=False)
    first = tmp_path / "first.npz"
    assert cli.main(["survey", str(corpus), "-o", str(first), "--limit", "2", "--batch-size", "1"]) == 0
    np.testing.assert_allclose(HeadStats.load(first).values("entropy"), expected.values("entropy"), atol=1e-5)
    assert cli.main(["survey", str(corpus), "-o", str(first)]) == 2
    assert "--resume goes on" in capsys.readouterr().err
    assert cli.main(["survey", str(corpus), "-o", str(first), "--resume"]) == 0
    np.testing.assert_allclose(HeadStats.load(first).values("k90"), HeadStats.load(output).values("k90"), atol=1e-5)


def test_interrupted_survey_says_how_to_go_on(
    embedded_lens: Lens, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    interrupt_after(2, monkeypatch)
    output = tmp_path / "stats.npz"
    assert cli.main(["survey", str(corpus), "-o", str(output), "--batch-size", "1"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith(f"{output}: 2 texts") and err.endswith("--resume goes on\n")
    assert HeadStats.load(output).n_texts == 2


def test_bad_input_is_one_line(
    embedded_lens: Lens, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.npz").write_bytes(b"no")
    for arguments, message in (
        ([str(tmp_path / "missing.txt"), "-o", str(tmp_path / "a.npz")], "no corpus at"),
        (
            [str(corpus), "-o", str(tmp_path / "broken.npz"), "--resume"],
            "statistics (it is no .npz file)",
        ),
        ([str(corpus), "-o", str(tmp_path / "no" / "folder.npz")], "no folder"),
    ):
        assert cli.main(["survey", *arguments]) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert line.startswith("bertlens: ") and message in line


def test_a_table_is_read_by_its_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    lens = Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda _: lens)
    (tmp_path / "a.csv").write_text('text,review\nthe cat,"the mat, it was warm"\nsat,"a ""cat"""\n')
    for options, texts in (([], ["the cat", "sat"]), (["--column", "review"], ["the mat, it was warm", 'a "cat"'])):
        output = tmp_path / f"{len(options)}.npz"
        assert cli.main(["survey", str(tmp_path / "a.csv"), "-o", str(output), *options]) == 0
        note = "bertlens: texts are the column 'text' of a table with 2 columns: column= takes another\n"
        assert (note in capsys.readouterr().err) == (not options)
        expected = survey_run.head_stats(lens, texts, progress=False)
        np.testing.assert_array_equal(HeadStats.load(output).values("entropy"), expected.values("entropy"))
        page = tmp_path / f"{len(options)}.json"
        arguments = [
            "report",
            "any",
            str(tmp_path / "a.csv"),
            "-o",
            str(page),
            "--claims",
            "health-cut",
            "--texts",
            "2",
        ]
        assert cli.main([*arguments, *options]) == 0
        assert capsys.readouterr().err.count(note) == (not options)
        assert f'"hash": "{expected.corpus:016x}"' in page.read_text()
