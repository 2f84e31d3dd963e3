"""What `make check` picks: the graph of tests/reach.py against a walk of its own, and what no import says."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest

import check
import layers
import reach

ROOT = reach.ROOT
BASES = (ROOT, ROOT / "tests", ROOT / "notebooks")
LINE = re.compile(r"^ *(?:from (\S+) import (\(.*?\)|[^\n]*)|import ([\w., ]+))", re.MULTILINE | re.DOTALL)


@cache
def files_of(dotted: str) -> list[Path]:
    """The files that importing a dotted name runs, packages first."""
    parts = dotted.split(".")
    modules = [base.joinpath(*parts[:n]) for base in BASES for n in range(1, len(parts) + 1)]
    return [path for module in modules for path in (module / "__init__.py", module.with_suffix(".py")) if path.exists()]


@cache
def imports(path: Path) -> set[Path]:
    """What a file imports, by its lines alone: what is for types, and a package's lazy names, is left aside."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^( *)if TYPE_CHECKING:\n(?:\1 +.*\n|\n)+", "", text, flags=re.MULTILINE)
    found: set[Path] = set()
    for module, names, plain in LINE.findall(text):
        above = len(module) - len(module.lstrip("."))
        if above and path.is_relative_to(layers.PACKAGE):
            folder = path.parents[above - 1].relative_to(ROOT)
            module = ".".join([*folder.parts, *filter(None, [module[above:]])])
        for name in re.findall(r"(\w+)(?: as \w+)?", names):
            found.update(files_of(f"{module}.{name}"))
        for name in filter(None, re.split(r"[, ]+", plain)):
            found.update(files_of(name))
    return found - {path}


def test_what_a_walk_by_lines_reaches_is_picked() -> None:
    """One line in each of 60 modules, drawn by seed."""
    reached: dict[Path, set[Path]] = {}
    for test in reach.test_files():
        seen, stack = set(), [test]
        while stack:
            if (path := stack.pop()) not in seen:
                seen.add(path)
                stack += imports(path)
        reached[test] = seen
    modules = sorted(layers.modules().values())
    broad = 0
    for path in random.Random(63).sample(modules, 60):
        own = {test for test, seen in reached.items() if path in seen}
        picked = set(reach.picked([str(path.relative_to(ROOT))]))
        assert own <= picked, (path, own - picked)
        broad += len(picked) == len(reached)
    assert broad < 10


@pytest.mark.parametrize(
    ("changed", "test", "steps"),
    [
        ("tests/unit/test_reach.py", "test_reach.py", 0),
        ("bertlens/measures/norms.py", "measures/test_norms.py", 1),
        ("bertlens/widgets/views.py", "widgets/test_opening.py", 2),  # trace.explore()
        ("bertlens/training/__init__.py", "whatif/test_strongest_heads.py", 3),  # Lens.embedded(mlm=True), in a fixture
        ("bertlens/cli/command_line.py", "test_cli.py", 1),
        ("bertlens/export/templates/report.jinja", "reports/test_report.py", 4),
        ("js/src/index.tsx", "test_wheel.py", 1),
        ("docs/faq.md", "test_documents.py", 1),
    ],
)
def test_what_no_folder_says(changed: str, test: str, steps: int) -> None:
    assert (ROOT / changed).exists()
    assert 0 <= reach.picked([changed])[ROOT / "tests/unit" / test] <= steps


def test_code_of_a_notebook_counts() -> None:
    notebooks = ROOT / "tests/notebooks/test_notebooks.py"
    for module in ("bertlens/tasks/subgroups.py", "bertlens/search/hard_negatives.py"):
        assert notebooks in reach.picked([module])


def test_who_can_say_what_a_release_does() -> None:
    assert set(reach.picked(["constraints.txt"])) == set(reach.test_files())
    assert reach.picked(["tests/browser/frame/test_axe.py"]) == {}
    assert ROOT / "tests/unit/measures/test_norms.py" not in reach.picked(["docs/faq.md", "tests/wire/vectors.json"])


def test_the_nearest_run_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "SECONDS", 10.0)
    steps = {ROOT / name: n for name, n in {"long": 1, "quick": 1, "far": 2, "own": 0, "late": 3}.items()}
    seconds = {"own": 4.0, "quick": 3.0, "long": 7.0, "far": 3.0, "late": 1.0}
    runs, rest = check.within(steps, seconds)
    assert [path.name for path in runs] == ["own", "quick", "far"]
    assert {path.name: price for path, price in rest.items()} == {"long": 7.0, "late": 1.0}
    monkeypatch.setattr(check, "SECONDS", 0.0)
    assert [path.name for path in check.within(steps, seconds)[0]] == ["own"]  # what has changed runs all the same
