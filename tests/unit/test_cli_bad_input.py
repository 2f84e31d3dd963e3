"""Commands that cannot come to an end say so before their work, in one line: what is wrong and the way out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from safetensors import SafetensorError

import bertlens
from bertlens import ExportError, cli
from bertlens.base.atomic import check_writable, claimed
from bertlens.training import run
from bertlens.training.folder import CHECKPOINT, HISTORY
from bertlens.training.steps import FILE
from unit import tiny

WORDS = "the cat sat on the warm mat and it was very warm there . "


@pytest.fixture
def training(tmp_path: Path) -> tuple[Path, list[str]]:
    """(folder to train in, command): an encoder of 32 positions and a corpus, so small that all is read at once."""
    encoder, corpus, output = tmp_path / "encoder", tmp_path / "corpus.txt", tmp_path / "out"
    torch.manual_seed(3)
    tf.BertModel(tf.BertConfig(**tiny.BERT | {"max_position_embeddings": 32})).save_pretrained(encoder)
    tiny.wordpiece().save_pretrained(encoder)
    corpus.write_text("\n".join([WORDS] * 220))
    given = ["--model", str(encoder), "--corpus", str(corpus), "-o", str(output), "--steps", "4", "--length", "20"]
    return output, ["train-mlm", *given]


@pytest.fixture
def never_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(*_: Any, **__: Any) -> None:
        raise AssertionError("the training began")

    monkeypatch.setattr(run, "train", train)


def said(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a command that ends with status 2; bars of progress before it do not count."""
    capsys.readouterr()
    assert cli.main(command) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("bertlens: ")]
    assert len(lines) == 1 and "Traceback" not in lines[0]
    return lines[0]


@pytest.mark.usefixtures("never_trains")
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--threads", "0"], "--threads is a number from 1"),
        (["--threads", "1" + "0" * 30], "--threads is a number from 1"),
        (["--learning-rate", "nan"], "a learning rate is a number from 0 on"),
        (["--learning-rate", "inf"], "a learning rate is a number from 0 on"),
        (["--learning-rate", "-1"], "a learning rate is a number from 0 on"),
        (["--seed", "1" + "0" * 30], "seed is a whole number from 0 to 4294967295"),
        (["--seed", "-1"], "seed is a whole number from 0"),
        (["--hours", "nan"], "hours that are not negative"),
        (["--warmup", "-1"], "warm-up is a number of steps"),
        (["--steps", "1" + "0" * 30], "at most 1,000,000,000"),
        (["--length", "33"], "too long for the model: give at most 32"),
    ],
)
def test_numbers_that_no_training_can_have(
    training: tuple[Path, list[str]], more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said([*training[1], *more], capsys)
    assert message in found and "truncation" not in found and len(found) < 200


@pytest.mark.usefixtures("never_trains")
def test_files_to_score_are_read_before_the_training(
    training: tuple[Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content, message in (
        (b"", "has no text to score"),
        (b"\xff\xfe\x00\x01" * 100, "cannot be read as a corpus in UTF-8"),
        (b"the cat\n", "has no text to score"),
    ):
        (tmp_path / "score.txt").write_bytes(content)
        assert message in said([*training[1], "--score", str(tmp_path / "score.txt")], capsys)


def test_a_damaged_checkpoint_is_named(training: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    output, command = training
    output.mkdir()
    FILE.write(output / CHECKPOINT, {}, {}, {"seed": 7})
    whole = (output / CHECKPOINT).read_bytes()
    assert "is of another run (what differs: seed): delete it to begin anew, or give another folder" in said(
        command, capsys
    )
    for content in (b"", b"no zip at all", whole[: len(whole) // 2], whole[:-100] + bytes(100)):
        (output / CHECKPOINT).write_bytes(content)
        found = said(command, capsys)
        assert "holds no checkpoint of a training run (" in found and "delete it to begin anew" in found


def test_a_damaged_history_is_named(training: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    output, command = training
    output.mkdir()
    (output / HISTORY).write_bytes(b"PK\x03\x04 no more")
    assert "holds no history of a training run (" in said(command, capsys)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
@pytest.mark.parametrize("name", [CHECKPOINT, HISTORY])
def test_a_full_disk_is_one_line(
    training: tuple[Path, list[str]], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output, command = training
    output.mkdir()
    (output / name).symlink_to("/dev/full")
    assert "cannot be written" in said(command, capsys)
    assert not list(output.glob("*.part")) and not list(output.glob("*.lock"))


@pytest.mark.parametrize("error", [SafetensorError("no space"), OSError(28, "No space left on device")])
def test_a_disk_that_is_full_at_the_end_keeps_the_checkpoint(
    training: tuple[Path, list[str]],
    error: Exception,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any) -> None:
        raise error

    output, command = training
    with monkeypatch.context() as patch:
        patch.setattr(tf.BertForMaskedLM, "save_pretrained", full)
        assert "the model cannot be written in" in said(command, capsys)
    assert (output / CHECKPOINT).is_file()
    assert cli.main(command) == 0 and not (output / CHECKPOINT).exists()


@pytest.mark.usefixtures("never_trains")
def test_one_run_in_a_folder_and_none_over_a_finished_one(
    training: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    output, command = training
    output.mkdir()
    with claimed(output / CHECKPOINT):
        assert "is being written by another run" in said(command, capsys)
    (output / "metrics.json").write_text("{}")
    assert "holds a finished run: give another folder, or --force" in said(command, capsys)


@pytest.mark.parametrize("name", ["folder", "nowhere/page.html", "/dev/full"])
def test_a_page_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def embedded() -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(bertlens.Lens, "embedded", embedded)
    (tmp_path / "folder").mkdir()
    found = said(["html", "the cat", "-o", str(tmp_path / name)], capsys)
    reasons = {"folder": "is a folder: name a file", "/dev/full": "cannot be written (No space left"}
    assert reasons.get(name, "make it first") in found
    assert not any((tmp_path / "folder").iterdir())


def test_a_trial_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "page.html"
    there.write_text("mine")
    check_writable(there)
    check_writable(tmp_path / "new.html")
    check_writable(os.devnull)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"] and there.read_text() == "mine"
    monkeypatch.setattr("tempfile.TemporaryFile", lambda dir: open("/dev/full", "wb"))  # noqa: SIM115
    with pytest.raises(ExportError, match="cannot be written"):
        check_writable(there)


def test_numbers_of_a_survey(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, output = tmp_path / "corpus.txt", tmp_path / "stats.npz"
    corpus.write_text(f"{WORDS}\nthe cat\n")
    lens = bertlens.Lens(tiny.bert(), tiny.wordpiece())
    monkeypatch.setattr(bertlens.Lens, "embedded", lambda: lens)
    huge = "1" + "0" * 30
    found = said(["survey", str(corpus), "-o", str(output), "--batch-size", huge], capsys)
    assert "batch_size must be at least 1 and at most 65,536" in found and not output.exists()
    assert cli.main(["survey", str(corpus), "-o", str(output), "--limit", huge]) == 0  # all texts there are
    foreign = tmp_path / "foreign.npz"
    foreign.write_bytes(b"something else")
    found = said(["survey", str(corpus), "-o", str(foreign), "--resume"], capsys)
    assert found == f"bertlens: {foreign} holds no head statistics (it is no .npz file): run the survey again"
    assert foreign.read_bytes() == b"something else"
