"""What the page on many machines says is run: its scripts with their shells, its engines where they are installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlens.survey import HeadStats, head_stats
from unit import survey_naive as naive

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "past_one_machine.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PYTHON, SCRIPTS = ([code for mark, code in FENCES if mark == kind] for kind in ("python", ""))
TEXTS = [f"The cat sat on the mat, and it was warm on day {day}." for day in range(128)]


def same(stats: HeadStats, alone: HeadStats) -> None:
    assert (stats.n_texts, stats.n_tokens, stats.corpus) == (alone.n_texts, alone.n_tokens, alone.corpus)
    ours, theirs = naive.arrays(stats), naive.arrays(alone)
    assert ours.keys() == theirs.keys()
    for name, sums in ours.items():
        if name.endswith(("count", "texts", "tokens", "gates")):
            np.testing.assert_array_equal(sums, theirs[name], err_msg=name)
        np.testing.assert_allclose(sums, theirs[name], rtol=1e-12, atol=1e-300, err_msg=name)


@pytest.fixture(scope="module")
def alone(embedded_lens: Any) -> HeadStats:
    return head_stats(embedded_lens, TEXTS, progress=False)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("engine", "number"), [("bertlens", 0), ("joblib", 1), ("dask.bag", 2), ("datasets", 3), ("ray.data", 4)]
)
def test_engines(engine: str, number: int, alone: HeadStats) -> None:
    pytest.importorskip(engine)
    names: dict[str, Any] = {"__name__": "page"}
    blocks = [PYTHON[0], *([PYTHON[3]] if number == 4 else []), PYTHON[number]]  # Ray's takes the function of another
    if number == 4:
        import ray  # not in the environment of `make`

        settings = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}
        ray.init(num_cpus=2, include_dashboard=False, runtime_env=settings, log_to_driver=False)
    for block in blocks if number else blocks[:1]:
        exec(compile(block, "past_one_machine.md", "exec"), names)
    assert names["texts"] == TEXTS and engine.split(".")[0] in (PYTHON[number] if number else "bertlens")
    same(names["stats"], alone)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("program", ["bash", "xargs", "make"])
def test_scripts(program: str, alone: HeadStats, tmp_path: Path) -> None:
    """Of Slurm, with its number of a job in the environment; of xargs; of make, whose second run has nothing to do."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "bertlens"
    lines = ["import sys", "from bertlens.cli import main", "sys.exit(main())"]
    command.write_text(f"#!{sys.executable}\n" + "\n".join(lines) + "\n")
    command.chmod(0o755)
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS))
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    environment = os.environ | {
        "PATH": path,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }

    def run(*arguments: str, **options: str) -> str:
        done = subprocess.run(
            arguments, cwd=tmp_path, env=environment | options, capture_output=True, text=True, check=True
        )
        return done.stdout

    if program == "bash":
        for number in (3, 1, 4, 2):
            run("bash", "-c", SCRIPTS[0], SLURM_ARRAY_TASK_ID=str(number), SLURM_CPUS_PER_TASK="1")
        run("bash", "-c", "bertlens merge part-*.npz -o stats.npz")
    elif program == "xargs":
        run("bash", "-ec", SCRIPTS[1])
    else:
        (tmp_path / "Makefile").write_text(SCRIPTS[2])
        run("make", "-j", "2")
        assert "up to date" in run("make")
    same(HeadStats.load(tmp_path / "stats.npz"), alone)


def test_the_page_has_the_lines_that_are_run() -> None:
    assert len(PYTHON) == 5 and len(SCRIPTS) == 3 and "\t" in SCRIPTS[2]
    assert all(len(textwrap.dedent(block).strip().splitlines()) <= 13 for block in (*PYTHON, *SCRIPTS))
