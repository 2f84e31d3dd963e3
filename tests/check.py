"""Runs the quick checks and the tests that a change can reach, the nearest first, in two minutes: for the loop of work.

Changed is what differs from the commit where this branch left main, committed or not, new files too; `--from COMMIT`
compares with another. Which tests of tests/unit, tests/wire and tests/notebooks that reaches is read off the code
(tests/reach.py), how long they take off the last run of `make test` (tests/durations.txt). Those run that are fewest
steps away, the changed ones always, and the project's own rules; tests marked `slow` do not. What was left for want of
time is told, with its seconds: a change that many rest on wants `make test`, which runs everything. The page is checked
where what it is made of has changed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import reach
import workers
from run_all import ROOT, find_npm, quick_steps, run_beside, spread, summary

ALWAYS = ROOT / "tests/unit/test_project.py"
SECONDS = 110.0  # of all processes together: two cores take about as long, with what starts before
NAMED = 12  # files left for want of time
PAGE = ("vitest", "tsc", "biome")


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def changed(since: str | None) -> list[str]:
    """Paths that differ from `since`, or from the commit that this branch and main have in common."""
    base = since or next(iter(git("merge-base", "main", "HEAD")), "HEAD")
    return sorted({*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")})


def within(steps: Mapping[Path, int], seconds: Mapping[str, float]) -> tuple[list[Path], dict[Path, float]]:
    """What runs of the test files that are so many steps away, and what is left, with its seconds.

    Of files equally far the quick ones run first; one that takes longer than what is left of the time is left out.
    """
    prices = {test: seconds.get(str(test.relative_to(ROOT)), 0.0) for test in steps}
    runs, rest, left = [], {}, SECONDS
    for test in sorted(steps, key=lambda test: (steps[test], prices[test])):
        if steps[test] == 0 or prices[test] <= left:
            runs.append(test)
            left -= prices[test]
        else:
            rest[test] = prices[test]
    return runs, rest


def is_of_page(paths: Sequence[str]) -> bool:
    """Whether the page is made of one of these files, or its tests read one."""
    js = (path for pattern in ("tests/**/*.ts*", "*.mjs") for path in (ROOT / "js").glob(pattern))
    code = "\n".join(path.read_text(encoding="utf-8") for path in js)
    return any(path.startswith("js/") or Path(path).name in code for path in paths)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="since", help="the commit to compare with")
    paths = changed(parser.parse_args().since)

    runs, rest = within(reach.picked(paths), workers.seconds())
    tests = sorted(str(test.relative_to(ROOT)) for test in {*runs, ALWAYS})
    print("tests that the change can reach:", *tests, sep="\n  ", flush=True)

    page = is_of_page(paths)
    quick = [step for step in quick_steps(find_npm()) if page or step.name not in PAGE]
    last = spread("pytest, what changed", "-m", "not long and not slow", *tests)
    run_beside(last, quick)
    if rest:
        print(f"\n===== left to `make test`: {len(rest)} more files that it can reach, {sum(rest.values()):.0f} s")
        print(*(f"{price:8.1f} s  {test.relative_to(ROOT)}" for test, price in [*rest.items()][:NAMED]), sep="\n")
        print("the nearest first" + ", and so on" * (len(rest) > NAMED))
    return summary([*quick, last])


if __name__ == "__main__":
    sys.exit(main())
