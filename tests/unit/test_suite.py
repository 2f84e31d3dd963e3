"""What `make test` makes of its tests: which it names, which it leaves out, what it writes down."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import conftest
import run_all
import sampling
import workers
from unit.tiny import bert

pytest_plugins = "pytester"
FAILS_ONCE = """
from pathlib import Path

def test_beside_others():
    tried = Path("tried")
    before = tried.exists()
    tried.touch()
    assert before
"""


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "state"), [("true", "FAILED"), ("", "passed")])
def test_a_test_that_passes_only_alone_is_named_and_red_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: str, state: str
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(run_all, "FAILED", tmp_path / ".pytest_cache/v/cache/lastfailed")
    (tmp_path / "test_one.py").write_text(FAILS_ONCE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    step = run_all.Step("browser", [*run_all.PYTEST, "test_one.py"], tmp_path, busy="test_one").run()
    assert step.code == 1
    step.try_alone()
    assert step.state == state and step.alone == ("test_one.py::test_beside_others",)
    assert run_all.summary([step]) == (state == "FAILED")
    assert "failed beside others, passed alone: test_one.py::test_beside_others" in capsys.readouterr().out
    [line] = run_all.durations([step])
    assert line.endswith(" s  test_one.py::test_beside_others")


def test_a_sample_is_of_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"case {n}" for n in range(20)]
    drawn = set()
    for commit in map(str, range(40)):
        monkeypatch.setattr(sampling, "commit", lambda commit=commit: commit)
        once = sampling.sample(names, 3)
        assert once == sampling.sample(names[::-1], 3) and len(set(once)) == 3
        drawn |= set(once)
    assert drawn == set(names)
    assert len(sampling.sample(names[:2], 3)) == 2


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("weights", lambda model: next(model.parameters()).data.add_(1e-6)),
        ("gradients", lambda model: next(model.parameters()).requires_grad_(False)),
        ("training", lambda model: model.encoder.train()),
        ("hooks", lambda model: model.encoder.register_forward_hook(lambda *_: None)),
    ],
)
def test_what_a_test_leaves_in_a_model_is_seen(kind: str, change: Callable[[Any], None]) -> None:
    model = bert()
    before = conftest.state(model)
    assert conftest.state(model) == before
    change(model)
    after = conftest.state(model)
    assert [name for name in before if after[name] != before[name]] == [kind]


def test_cases_that_are_not_drawn_are_long_and_told(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytester.makeconftest(Path(run_all.__file__).with_name("conftest.py").read_text(encoding="utf-8"))
    pytester.makeini(
        "[pytest]\nmarkers =\n  sampled(n, of=None): some\n  long: no\n  data: no\naddopts = -m 'not long'\n"
    )
    pytester.makepyfile(
        "import pytest\n@pytest.mark.sampled(2)\n@pytest.mark.parametrize('n', range(9))\ndef test_one(n): pass\n"
        "@pytest.mark.sampled(1)\n@pytest.mark.parametrize('n', [1, *(pytest.param(n, marks=pytest.mark.long) "
        "for n in range(2, 9))])\ndef test_one_that_is_not_long(n): pass\n"
        "@pytest.mark.sampled(2, of='kind')\ndef test_three(): pass\n"
        "@pytest.mark.sampled(2, of='kind')\n@pytest.mark.parametrize('n', range(4))\ndef test_four(n): pass\n"
        "def test_other(): pass\n"
    )
    monkeypatch.setattr(run_all, "LEFT_OUT", pytester.path / "left_out.txt")
    monkeypatch.setenv("BERTLENS_LEFT_OUT", str(run_all.LEFT_OUT))
    pytester.runpytest().assert_outcomes(passed=6, deselected=17)
    monkeypatch.setenv("CI", "true")
    capsys.readouterr()
    step = run_all.Step("unit", [])
    name = "test_cases_that_are_not_drawn_are_long_and_told.py::test_one"
    step.durations |= {f"{name}[1]": 0.5, f"{name}[2]": 1.5}
    lines = run_all.left_out([step])
    assert lines[0].split() == ["7", "cases", "7.0", "s", name]
    assert ["7", "cases", "?", f"{name}_that_is_not_long"] in [line.split() for line in lines]
    run_all.print_left_out(lines)
    said = capsys.readouterr().out
    assert "17 tests were left to `make test-long`" in said
    assert sum(int(line.split()[0]) for line in said.splitlines()[2:]) == 17
    pytester.runpytest("-m", "long or sampled").assert_outcomes(passed=22, deselected=1)


IN_PROCESSES = """
import os, warnings
from pathlib import Path
import pytest

@pytest.fixture(scope="session")
def of_all():
    yield os.getpid()
    assert os.environ.get("BROKEN") is None, "at the session's end"

@pytest.mark.parametrize("n", range(3))
def test_of_one_process(of_all, tmp_path, n):
    assert of_all == os.getpid() != int(os.environ["FIRST"])
    warnings.warn(f"warned {n}")

def test_wrong():
    print("printed in a process")
    assert 1 == 2

def test_dies():
    os._exit(9)

@pytest.mark.skip(reason="not here")
def test_skipped():
    pass
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork: everything runs in one process")
def test_what_is_collected_once_runs_in_processes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = Path(workers.__file__).parent
    pytester.makeini(f"[pytest]\npythonpath = {tests}\n")
    pytester.makeconftest(
        "import os\npytest_plugins = ['workers']\nos.environ['FIRST'] = str(os.getpid())\n"
        "with open('collections', 'a') as file:\n    file.write('one ')\n"
    )
    pytester.makepyfile(test_a=IN_PROCESSES, test_b=IN_PROCESSES, test_c=IN_PROCESSES.replace("os._exit(9)", "pass"))
    run = pytester.runpytest_subprocess("-q", "-rs", "-p", "no:cacheprovider", "--workers", "2")
    run.assert_outcomes(passed=10, failed=5, skipped=3, warnings=9)
    assert (pytester.path / "collections").read_text() == "one "
    text = run.stdout.str()
    assert text.count("printed in a process") == 3 * 2  # its line in the test, and what was captured
    assert len(re.findall(r"worker[01] died in this test: 9", text)) == 2
    assert all(text.count(f"UserWarning: warned {n}") == 3 for n in range(3))
    assert text.count("not here") == 3
    monkeypatch.setenv("BROKEN", "1")
    run = pytester.runpytest_subprocess("-q", "-k", "of_one", "-p", "no:cacheprovider", "--workers", "2")
    run.assert_outcomes(passed=9, errors=2, warnings=9)  # each process ends its own session
    run = pytester.runpytest_subprocess("-q", "-x", "-k", "wrong", "-p", "no:cacheprovider", "--workers", "1")
    run.assert_outcomes(failed=1, deselected=15)


def test_the_longest_file_runs_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(workers, "DURATIONS", tmp_path / "durations.txt")
    step = run_all.Step("unit", [])
    step.durations |= {"tests/a.py::test_1": 2.0, "tests/b.py::test_1[x]": 1.5, "tests/b.py::test_1[y]": 1.0}
    rows = run_all.of_files([step])
    assert [row.split() for row in rows] == [
        ["2.5", "s", "2", "cases", "tests/b.py"],
        ["2.0", "s", "1", "cases", "tests/a.py"],
    ]
    (tmp_path / "durations.txt").write_text(run_all.FILES.format(cores=2, steps="", files="\n".join(rows), drawn=""))
    assert workers.seconds() == {"tests/a.py": 2.0, "tests/b.py": 2.5}
    names = ["tests/a.py::1", "tests/a.py::2", "tests/b.py::1", "tests/new.py::1"]
    queue = workers.files([SimpleNamespace(nodeid=name) for name in names])  # type: ignore[list-item]
    assert [[item.nodeid for item in file] for file in queue] == [names[3:], names[2:3], names[:2]]


def test_durations_are_younger_than_ten_commits_of_tests() -> None:
    if "BERTLENS_LEFT_OUT" in os.environ:
        pytest.skip("this run writes them")
    tests = Path(workers.__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=tests, capture_output=True, text=True)
        if done.returncode:
            pytest.skip("not a git checkout: how old the durations are is unknown")
        return done.stdout.strip()

    last = git("log", "-1", "--format=%H", "--", workers.DURATIONS.name)
    commits = int(git("rev-list", "--count", f"{last}..HEAD", "--", ".") if last else 99)
    assert commits <= 10, f"tests/durations.txt is {commits} commits old: `make test` writes it, commit it"


LATE = re.compile(
    r"^(?:from|import) ((?:sentence_transformers|datasets|dask|distributed|polars|pyarrow)\b)", re.MULTILINE
)


def test_no_file_fails_to_be_read_where_a_package_is_absent() -> None:
    """With the oldest transformers there is no sentence-transformers, and no other package of an extra."""
    tests = Path(__file__).parents[1]
    lacking = []
    for file in sorted([*tests.glob("unit/**/*.py"), *tests.glob("wire/**/*.py")]):
        text = file.read_text(encoding="utf-8")
        lacking += [
            f"{file.relative_to(tests)}: {line[0]}"
            for line in LATE.finditer(text)
            if f'importorskip("{line[1]}"' not in text[: line.start()]
        ]
    assert lacking == []
