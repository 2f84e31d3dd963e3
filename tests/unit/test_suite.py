"""What `make test` makes of its tests: which it names, which it leaves out, what it writes down."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import conftest
import run_all
import sampling
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
    step = run_all.Step("browser", [*run_all.PYTEST, "test_one.py"], tmp_path).run()
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
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.runpytest().assert_outcomes(passed=6, deselected=17)
    monkeypatch.setenv("CI", "true")
    capsys.readouterr()
    run_all.print_left_out()
    said = capsys.readouterr().out
    assert "17 tests were left to `make test-long`" in said
    assert sum(int(line.split()[0]) for line in said.splitlines()[2:]) == 17
    pytester.runpytest("-m", "long or sampled").assert_outcomes(passed=22, deselected=1)


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
