"""A task in shards, in two stages, is that of one process to the bit: answers, estimates, the choice, the effects."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bertlens as bl
from bertlens.cli import main
from bertlens.tasks import task_shards as shards
from unit.tasks.classifier import NAMES, labelled, lens_of
from unit.tasks.test_resume_folder import counted

N = 2
SETTINGS = {"heads": 2, "ablation": "mean", "seed": 0}


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command of a task, in a folder of its own: arguments -> status."""
    monkeypatch.chdir(tmp_path)
    lens = lens_of()
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda _: lens)
    rows = [f"{text},{NAMES[label]}" for text, label in labelled(40)]
    Path("a.csv").write_text("\n".join(["text,label", *rows]))

    def command(*options: str, file: str = "a.csv") -> int:
        return main(["task", "m", file, "--batch-size", "4", "--heads", "2", "--ablation", "mean", *options])

    return command


def in_shards(command: Any, stage: str, *options: str) -> list[str]:
    """The files, in another order than they were written in."""
    names = [f"{stage}-{number}.npz" for number in range(1, N + 1)]
    for number, name in enumerate(names, 1):
        assert command("--stage", stage, "--shard", f"{number}/{N}", "-o", name, *options) == 0
    return random.Random(1).sample(names, N)


def test_two_stages_are_one_process(job: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    files = in_shards(job, "estimate")
    assert main(["merge", *files, "-o", "estimates.npz"]) == 0
    files = in_shards(job, "exact", "--parts", "estimates.npz")
    assert main(["merge", *files, "-o", "effects.npz"]) == 0
    assert "effects.npz: exact of 20 examples, of 2 parts" in capsys.readouterr().out
    assert main(["merge", *files, "effects.npz", "-o", "effects.npz"]) == 0  # named by *.npz, as an earlier output is
    assert "of 2 parts; effects.npz itself is none of them" in capsys.readouterr().out

    def task() -> bl.Task:
        return bl.task(lens_of(), labelled(40), batch_size=4, progress=False, keep="kept")

    expected = task().heads(2, ablation="mean")
    merged = bl.task(lens_of(), labelled(40), batch_size=4, progress=False)
    shards.read(merged, [Path("effects.npz"), Path("estimates.npz")], SETTINGS)
    calls = counted(monkeypatch)
    effects = merged.heads(2, ablation="mean")
    assert len(calls) == 0
    pd.testing.assert_frame_equal(effects.table, expected.table, check_exact=True)
    pd.testing.assert_frame_equal(merged.metrics(), task().metrics(), check_exact=True)
    assert effects.agreement == expected.agreement and effects.said == expected.said
    monkeypatch.setattr(bl.Task, "to_html", lambda _, path, **__: Path(path).write_text("<html>"))
    page = ["--errors", "0", "-o", "page.html", "--parts", "estimates.npz", "effects.npz"]
    assert job(*page) == 0 and len(calls) <= 1 and expected.said in capsys.readouterr().out
    assert not [*Path().glob("*.kept")]


def test_a_kind_whose_loss_needs_all_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are read by a line through all of them: each shard has it."""
    from bertlens.tasks.kinds.numbers import PairScores

    monkeypatch.setattr("bertlens.tasks.kinds.numbers.Regression.prepare", PairScores.prepare)
    monkeypatch.setattr("bertlens.tasks.kinds.numbers.Regression.needs_all", True)
    lens = lens_of(classes=1)
    examples = [(text, float(at % 7)) for at, (text, _) in enumerate(labelled(40))]

    def task(keep: str | None = None) -> bl.Task:
        return bl.task(lens, examples, batch_size=4, progress=False, keep=None if keep is None else tmp_path / keep)

    paths = [tmp_path / f"{number}.npz" for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        shards.run_stage(task(f"kept {number}"), "estimate", shards.Shard(number, 2), SETTINGS, path)
    shards.merge(paths, tmp_path / "all.npz")
    merged = task()
    shards.read(merged, [tmp_path / "all.npz"], SETTINGS)
    expected = task().heads(2).table
    assert expected["estimate"].abs().max() > 0
    pd.testing.assert_frame_equal(merged.heads(2).table, expected, check_exact=True)


def test_what_makes_no_whole_is_named(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    files = in_shards(job, "estimate", "--heads", "0")
    Path("b.csv").write_text(Path("a.csv").read_text().replace("cat", "mat"))
    Path("other.npz").write_bytes(b"PK other")
    assert job("--stage", "estimate", "--shard", "1/2", "-o", "b-1.npz", "--heads", "0", file="b.csv") == 0
    assert job("--stage", "estimate", "--shard", "1/2", "-o", "seed-1.npz", "--heads", "0", "--seed", "1") == 0
    assert job("--stage", "estimate", "-o", "whole.npz", "--heads", "0", "--seed", "1") == 0
    exact = ["--stage", "exact", "--shard", "1/2", "-o", "e.npz", "--parts"]
    capsys.readouterr()
    for fault, command in (
        ("lacks shard 2/2", lambda: main(["merge", "estimate-1.npz", "-o", "x.npz"])),
        ("estimate-1.npz are both", lambda: main(["merge", *files, "estimate-1.npz", "-o", "x.npz"])),
        ("what differs: examples", lambda: main(["merge", "b-1.npz", *sorted(files)[1:], "-o", "x.npz"])),
        ("what differs: seed", lambda: main(["merge", "seed-1.npz", *sorted(files)[1:], "-o", "x.npz"])),
        ("other.npz is no file of bertlens", lambda: main(["merge", *files, "other.npz", "-o", "x.npz"])),
        ("estimate-1.npz is shard 1/2: put the parts together", lambda: job(*exact, "estimate-1.npz")),
        ("whole.npz was made with --seed 1", lambda: job(*exact, "whole.npz")),
        ("name its merged file by --parts", lambda: job(*exact[:-1])),
        ("has two stages", lambda: job("--shard", "1/2", "-o", "x.html")),
        ("as 3/32, not '4/2'", lambda: job("--stage", "estimate", "--shard", "4/2", "-o", "x.npz")),
        ("a part of a task is an .npz file", lambda: job("--stage", "estimate", "-o", "x.html")),
    ):
        assert command() == 2
        err = capsys.readouterr().err
        assert fault in err and err.count("\n") == 1
    assert not Path("x.npz").exists()
