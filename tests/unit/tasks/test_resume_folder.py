"""A task that is stopped goes on where it was, and what it then says is what it would have said; on a cluster too."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bertlens as bl
from bertlens.base import arrays_file
from bertlens.cli import main
from bertlens.errors import ExportError
from bertlens.tasks import ablation_effects, cluster, labelled_task, task_answers
from bertlens.tasks.ablations import Ablation
from bertlens.whatif.head_study import HeadSite
from unit.tasks.classifier import labelled, lens_of
from unit.tasks.test_kinds import TAGS, headed, tagged
from unit.tasks.test_page import of_two

PARTS = [HeadSite(0, 1), HeadSite(1, 2), HeadSite(2, -1)]


def counted(monkeypatch: pytest.MonkeyPatch, stop: int = 0) -> list[int]:
    """Passes from now on, in both places that run a batch; the `stop`-th is interrupted."""
    run, calls = task_answers.answers_of, []

    def counting(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return run(*arguments)

    monkeypatch.setattr(task_answers, "answers_of", counting)
    monkeypatch.setattr(ablation_effects, "answers_of", counting)
    return calls


@pytest.mark.parametrize("stop", [3, 13])
def test_a_stopped_task_goes_on(tmp_path, monkeypatch, stop):
    lens = lens_of()
    alone = bl.task(lens, labelled(60), batch_size=8, progress=False)
    expected, words = alone.heads(3).table, alone.errors(3).table

    def again() -> bl.Task:
        return bl.task(lens, labelled(60), batch_size=8, progress=False, keep=tmp_path / "kept")

    with monkeypatch.context() as patch:
        calls = counted(patch, stop)
        with pytest.raises(KeyboardInterrupt):
            again().heads(3)
        assert len(calls) == stop
    first = again()
    with monkeypatch.context() as patch:
        calls = counted(patch)
        pd.testing.assert_frame_equal(first.heads(3).table, expected)
        all_of_them = len(calls)
    pd.testing.assert_frame_equal(first.errors(3).table, words)
    third = again()
    with monkeypatch.context() as patch:
        calls = counted(patch)
        pd.testing.assert_frame_equal(third.heads(3).table, expected)
        pd.testing.assert_frame_equal(third.errors(3).table, words)
        assert len(calls) <= 1 < all_of_them  # the batch that tells what it will cost
    assert not [path for path in (tmp_path / "kept").iterdir() if path.suffix != ".npz"]


def test_words_of_tags_are_kept_at_their_length(tmp_path):
    lens = headed("BertForTokenClassification", id2label=dict(enumerate(TAGS)), num_labels=5)
    first = bl.task(lens, tagged(20), progress=False, keep=tmp_path / "kept").table
    pd.testing.assert_frame_equal(bl.task(lens, tagged(20), progress=False, keep=tmp_path / "kept").table, first)


def test_what_is_of_another_task_or_damaged_is_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays_file, "EVERY", 0)
    monkeypatch.setattr(arrays_file, "PAUSE", 0)
    first = bl.task(lens_of(), labelled(40), batch_size=8, progress=False, keep=tmp_path / "kept")
    expected = first.logits
    pieces = sorted((tmp_path / "kept").glob("*.npz"))
    assert len(pieces) == 5
    pieces[0].write_bytes(b"PK damaged")
    with monkeypatch.context() as patch:
        calls = counted(patch)
        again = bl.task(lens_of(), labelled(40), batch_size=8, progress=False, keep=tmp_path / "kept")
        np.testing.assert_array_equal(again.logits, expected)
        assert len(calls) == 1
    for lens, examples in ((lens_of(1), labelled(40)), (lens_of(), labelled(40, seed=5))):
        other = bl.task(lens, examples, batch_size=8, progress=False, keep=tmp_path / "kept")
        assert len(other.kept) == 0
        np.testing.assert_allclose(other.logits, bl.task(lens, examples, progress=False).logits, atol=1e-5)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(ExportError, match="holds something else"):
        bl.task(lens_of(), labelled(40), keep=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"


def listed(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_of_the_users_stay_where_no_task_was_kept(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "1723456789012345678.npz").write_bytes(b"a user's own")
    np.savez(folder / "embeddings.npz", a=np.arange(3))
    before = listed(folder)
    with pytest.raises(ExportError, match="mine holds something else: name another folder, or move"):
        bl.task(lens_of(), labelled(40), keep=folder)
    assert listed(folder) == before


def test_files_of_the_users_stay_beside_those_of_a_task(tmp_path):
    folder = tmp_path / "kept"

    def task(seed: int = 0) -> bl.Task:
        return bl.task(lens_of(), labelled(40, seed=seed), batch_size=8, progress=False, keep=folder)

    assert len(task().losses) == 40
    mine = {"embeddings.npz": b"PK my own", "2024.npz": b"a year", "thesis.txt": b"all of it"}
    for name, content in mine.items():
        (folder / name).write_bytes(content)
    (folder / "bertlens-task-1723456789012345678.npz.0123abcd.part").write_bytes(b"cut off")
    assert len(task().kept) > 0
    other = task(seed=5)  # begun anew
    assert len(other.kept) == 0 and listed(folder) == mine
    assert len(other.losses) == 40
    other.kept.remove()
    assert listed(folder) == mine
    for name in mine:
        (folder / name).unlink()
    again = task()
    again.kept.remove()
    assert not folder.exists()


def test_the_command_leaves_a_folder_that_is_not_its_own(tmp_path, capsys):
    lens = lens_of()
    lens.model.save_pretrained(tmp_path / "model")
    lens.tokenizer.save_pretrained(tmp_path / "model")
    rows = "\n".join(f"{text},{label}" for text, label in labelled(60))
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}\n")
    folder = tmp_path / "task.html.kept"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    command = ["task", str(tmp_path / "model"), str(tmp_path / "a.csv"), "-o", str(tmp_path / "task.html")]
    assert main([*command, "--heads", "0", "--errors", "0"]) == 2
    assert "holds something else" in capsys.readouterr().err
    assert listed(folder) == {"thesis.txt": b"all of it"} and not (tmp_path / "task.html").exists()


def test_the_command_goes_on(tmp_path, capsys, monkeypatch):
    lens = lens_of()
    lens.model.save_pretrained(tmp_path / "model")
    lens.tokenizer.save_pretrained(tmp_path / "model")
    rows = "\n".join(f"{text},{label}" for text, label in labelled(60))
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}\n")

    def command(output: str) -> list[str]:
        options = ["--heads", "3", "--errors", "2", "--batch-size", "8"]
        return ["task", str(tmp_path / "model"), str(tmp_path / "a.csv"), "-o", str(tmp_path / output), *options]

    monkeypatch.setattr(labelled_task, "page_of", of_two)
    assert main(command("whole.html")) == 0
    for stop in (3, 14):
        with monkeypatch.context() as patch:
            counted(patch, stop)
            assert main(command("task.html")) != 0
        assert "stopped: the same command goes on" in capsys.readouterr().err
        assert (tmp_path / "task.html.kept").is_dir() and not (tmp_path / "task.html").exists()
    assert main(command("task.html")) == 0
    assert "going on from what was kept" in capsys.readouterr().out
    assert (tmp_path / "task.html").read_text() == (tmp_path / "whole.html").read_text()
    assert not list(tmp_path.glob("*.kept"))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.mark.long
@pytest.mark.slow
def test_heads_on_a_cluster(client):
    """Before a worker is killed: the next one has to load torch first."""
    task = bl.task(lens_of(), labelled(40), batch_size=10, progress=False)
    pd.testing.assert_frame_equal(task.heads(1, client=client).table, task.heads(1).table)
    with pytest.raises(bl.InputError, match="client is a"):
        task.heads(1, client="cluster")


@pytest.mark.sampled(5, of="processes")
@pytest.mark.slow
@pytest.mark.timeout(900)  # a new worker loads torch, beside other tests
def test_a_cluster_changes_no_number_and_neither_does_a_dead_worker(client, tmp_path, monkeypatch):
    task = bl.task(lens_of(), labelled(240), batch_size=4, progress=False)
    rows, pool = list(range(240)), [task.examples.encoding(task.lens, row, False) for row in range(8)]
    how = Ablation("resample", 5, task.lens, pool, PARTS, 0)
    alone = ablation_effects.effects(task, rows, PARTS, how)
    victim = next(iter(client.run(os.getpid).values()))
    killed = threading.Event()

    def kill() -> None:
        os.kill(victim, signal.SIGKILL)
        killed.set()

    counts: list[int] = []
    run = cluster.collected

    def killing(given: Any, *arguments: Any) -> Any:
        each = arguments[-1]

        def until(shown: Any) -> Iterator[Any]:
            for one in each(shown):
                counts.append(1)
                if len(counts) == 20:
                    threading.Timer(0.05, kill).start()
                yield one

        return run(given, *arguments[:-1], until)

    monkeypatch.setattr(cluster, "collected", killing)
    found = cluster.on_cluster(client, task, rows, PARTS, how)
    assert killed.wait(5)
    for name in ("row", "loss", "right"):
        np.testing.assert_array_equal(found[name], alone[name])
