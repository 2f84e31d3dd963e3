"""No ability grows unseen: its lines stand in tests/line_budgets.toml, and are edited where it does."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("tomllib")  # Python 3.11
import line_budgets

if not line_budgets.files():
    pytest.skip("not a git checkout: the list of files is unknown", allow_module_level=True)


def test_every_file_is_of_one_ability() -> None:
    entries = line_budgets.budgets().values()
    paths = Counter(path for entry in entries for path in (*entry["paths"], *entry["tests"]))
    assert [path for path, times in paths.items() if times > 1] == []
    assert [path for path in paths if not (line_budgets.ROOT / path).exists()] == []
    homes = {path: path for path in paths}
    nobodys = [name for name in line_budgets.files() if not line_budgets.owner(name, homes)]
    assert nobodys == [], "name them in tests/line_budgets.toml"
    assert all(path.startswith(line_budgets.PRODUCT) for entry in entries for path in entry["paths"])
    assert all(path.startswith(line_budgets.TESTS) for entry in entries for path in entry["tests"])


def test_no_ability_grows_by_more_than_a_tenth() -> None:
    print(line_budgets.table())
    assert line_budgets.over() == [], line_budgets.table()
    assert sum(map(line_budgets.product, line_budgets.counts().values())) > 50_000


def test_growth_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {"paths": [], "tests": [], "lines": 100, "test_lines": 50}
    monkeypatch.setattr(line_budgets, "budgets", lambda: {"front": lines})
    for now, said in (
        (Counter(CSS=110, tests=55), 0),
        (Counter(CSS=60, Python=51), 1),
        (Counter(CSS=200, tests=56), 2),
    ):
        monkeypatch.setattr(line_budgets, "counts", lambda now=now: {"front": now})
        assert len(line_budgets.over()) == said


def test_the_longest_path_owns_a_file() -> None:
    homes = {"bertlens/tasks/": "tasks", "bertlens/tasks/kinds.py": "kinds", "js/src": "page"}
    names = (
        "bertlens/tasks/kinds.py",
        "bertlens/tasks/kinds.pyi",
        "bertlens/tasksheet.py",
        "js/src/a.ts",
        "js/srcs/a.ts",
    )
    assert [line_budgets.owner(name, homes) for name in names] == ["kinds", "tasks", "", "page", ""]


def test_lines_of_code_are_counted() -> None:
    """Neither blank, nor a comment, nor a docstring; a string over three lines that is no docstring is three."""
    python = '"""Two\nlines."""\n\n# why\nx = 1  # here\n\n\ndef f():\n    """What."""\n    return """a\nb\nc"""\n'
    assert line_budgets.python_lines(python) == 5
    page = "// why\nconst a = 1; // here\n\n/* one\n two */\n/* at once */\nconst b = `\n`;\n"
    assert line_budgets.page_lines(page) == 3
