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
from unit.test_project import ROOT
from unit.test_release import read

COMMAND = Path(sys.executable).with_name("bertlens")
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


def status(action: Any, **inputs: str) -> int:
    """Of its last step, as a runner does it: inputs by the environment, the others as they are by default."""
    *_, step = action["runs"]["steps"]
    given = {name: about.get("default", "") for name, about in action["inputs"].items()} | inputs
    values = {name: INPUT.sub(lambda m: given[m[1]], value) for name, value in step["env"].items()}
    path = os.pathsep.join([str(COMMAND.parent), os.environ["PATH"]])
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(shell, env={**os.environ, **values, "PATH": path}, capture_output=True).returncode


def test_inputs_reach_the_shell_by_its_environment_alone(action: Any) -> None:
    """Nothing of an input is read as a command."""
    steps = action["runs"]["steps"]
    used = {m[1] for step in steps for value in step["env"].values() for m in INPUT.finditer(value)}
    assert used == action["inputs"].keys()
    assert all("${{" not in step["run"] and step["shell"] == "bash" for step in steps)
    names = {name for step in steps for name in step["env"]}
    assert all(f'"${name}"' in " ".join(step["run"] for step in steps) for name in names)


@pytest.mark.sampled(1)
@pytest.mark.skipif(not COMMAND.is_file(), reason="the package is not installed with its command")
@pytest.mark.parametrize(("case", "expected"), [("kept", 0), ("changed", 1), ("nothing", 2)])
def test_the_status_of_the_action(action: Any, lock: Path, case: str, expected: int) -> None:
    path = {"kept": lock, "changed": changed(lock), "nothing": ""}[case]
    assert status(action, model="embedded", lock=str(path)) == expected


def test_the_hook_runs_the_command(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [hook] = read(ROOT / ".pre-commit-hooks.yaml")
    program, *options = shlex.split(hook["entry"])
    assert program == "bertlens" and hook["pass_filenames"] is False
    assert cli.main([*options, "embedded", "--check", str(lock)]) == 0
