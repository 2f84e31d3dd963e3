"""Runs the quick checks and the unit tests of what changed: for the loop of work. `make test` runs everything.

Changed is what differs from the commit where this branch left main, committed or not, new files too. Of that,
- a module in bertlens/<folder>/ runs tests/unit/<folder>/ where there is such a folder,
- any other module runs the test files named after it: bertlens/lens.py and tests/unit/test_lens*.py,
- a study of the notebooks runs tests/notebooks/test_studies.py,
- a test file in tests/unit or tests/wire runs itself,
and the tests of the project's own rules (tests/unit/test_project.py) always run. No rule knows who imports whom: a
change that others rest on wants `make test`. Tests marked `slow` are left out. `--from COMMIT` compares with another
commit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from run_all import ROOT, find_npm, quick_steps, run_beside, spread, summary

ALWAYS = "tests/unit/test_project.py"


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def changed(since: str | None) -> list[str]:
    """Paths that differ from `since`, or from the commit that this branch and main have in common."""
    base = since or next(iter(git("merge-base", "main", "HEAD")), "HEAD")
    return sorted({*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")})


def tests_of(path: Path) -> list[Path]:
    """The unit tests that belong to a changed file, by the rule above."""
    top, *rest = path.parts
    if top == "bertlens" and path.suffix == ".py":
        folder = ROOT / "tests/unit" / rest[0]
        return [folder] if folder.is_dir() else sorted((ROOT / "tests/unit").glob(f"test_{path.stem}*.py"))
    if path.parent == Path("notebooks/studies"):
        return [ROOT / "tests/notebooks/test_studies.py"]
    is_test = path.name.startswith("test_") and top == "tests" and rest[0] in ("unit", "wire")
    return [ROOT / path] if is_test and (ROOT / path).exists() else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="since", help="the commit to compare with")
    since = parser.parse_args().since

    found = {test.relative_to(ROOT) for path in changed(since) for test in tests_of(Path(path))} | {Path(ALWAYS)}
    inside = {test for test in found if not any(parent in found for parent in test.parents)}
    tests = sorted(str(test) for test in inside)
    print("unit tests of what changed:", *tests, sep="\n  ", flush=True)

    quick, last = quick_steps(find_npm()), spread("pytest, what changed", "-m", "not long and not slow", *tests)
    run_beside(last, quick)
    return summary([*quick, last])


if __name__ == "__main__":
    sys.exit(main())
