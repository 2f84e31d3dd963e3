"""python -m benchmarks.against TREE [group ...]: this tree beside another checkout of it, which has its own `.venv`.

Each group runs in both trees in turn, three times (--runs), so that both meet the same load. A row stands for the first
number that it measured (a ratio, milliseconds, bytes); the medians are compared, and a row that is more than 10 % worse
is marked. Rows are matched by their words: what only one tree has is listed below. Numbers of a busy machine say
little: run what is marked once more, alone.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parents[1]
WORSE = 1.10
CODE = """import json, sys
if __name__ == "__main__":
    from benchmarks.rows import measure
    print("rows:", json.dumps([[row.work, row.measured] for row in measure(sys.argv[1])]))
"""


def measured(tree: Path, group: str) -> dict[str, float]:
    """Row -> its first number, of one group run in a tree."""
    command = [str(tree / ".venv" / "bin" / "python"), "-c", CODE, group]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{group} failed in {tree}:\n{done.stderr[-2000:]}")
    rows = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("rows:"))[5:])
    numbers = {work: re.search(r"[\d,]*\.?\d+", text) for work, text in rows}
    return {work: float(number[0].replace(",", "")) for work, number in numbers.items() if number}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("tree", type=Path, help="the other checkout")
    parser.add_argument("groups", nargs="*", default=["trace", "norms", "gates", "sources"], metavar="group")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    worse = 0
    for group in given.groups:
        before: dict[str, list[float]] = defaultdict(list)
        now: dict[str, list[float]] = defaultdict(list)
        for number in range(given.runs):
            turns = [(given.tree.resolve(), before), (HERE, now)]
            for tree, results in turns if number % 2 == 0 else turns[::-1]:
                for work, value in measured(tree, group).items():
                    results[work].append(value)
        print(f"--- {group}")
        for work in [work for work in before if work in now]:
            old, new = median(before[work]), median(now[work])
            factor = new / old if old else 1.0
            worse += factor > WORSE
            mark = "WORSE " if factor > WORSE else ""
            print(f"{factor:6.2f} ×  {old:10,.2f} -> {new:10,.2f}  {mark}{work}", flush=True)
        for work in sorted(before.keys() ^ now.keys()):
            print(f"  in one tree only: {work}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
