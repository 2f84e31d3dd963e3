"""python -m benchmarks [group ...]: measure, and print the table. Every group runs in a process of its own."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

from benchmarks.rows import measure

# In this order; a group is a module of this package with rows().
GROUPS = [
    name
    for name in (
        "size",
        "start",
        "trace",
        "norms",
        "gates",
        "length",
        "sources",
        "sentences",
        "search",
        "contrast",
        "whatif",
        "heads",
        "compare",
        "memory",
        "corpus",
        "survey",
        "tasks",
        "sars_cov_2",
        "notebook",
        "longpage",
        "pages",
        "live",
    )
    if Path(__file__).with_name(f"{name}.py").exists()
]
COLUMNS = ("work", "budget", "measured", "peer, same work", "")


def printed(cells: tuple[str, ...], widths: list[int]) -> str:
    """One line of the table, its cells wrapped."""
    wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for n in range(max(map(len, wrapped))):
        parts = [(cell[n] if n < len(cell) else "").ljust(width) for cell, width in zip(wrapped, widths, strict=True)]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure bertlens beside its peers.")
    parser.add_argument("groups", nargs="*", metavar="group", help=f"of: {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--device", default="cpu", help="where the models lie, for example cuda (default: cpu)")
    given = parser.parse_args()
    here, about = GROUPS, ""
    if given.device != "cpu":
        from benchmarks import device  # imports torch, which a group's process must not do before `measure`

        if why := device.missing(given.device):
            parser.error(why)
        os.environ[device.NAME] = given.device
        here = [name for name in GROUPS if name in device.GROUPS]
        left = ", ".join(name for name in GROUPS if name not in here)
        about = f"Models on {device.about(given.device)}, times on the wall. Not run, as they are of the CPU: {left}."
    chosen = given.groups or here
    if unknown := [name for name in chosen if name not in GROUPS]:
        parser.error(f"no group {unknown[0]!r}: there are {', '.join(GROUPS)}")
    if other := [name for name in chosen if name not in here]:
        parser.error(f"{other[0]} has no model to put on {given.device}: there are {', '.join(here)}")
    width = max(100, min(200, shutil.get_terminal_size((150, 24)).columns))
    shares = (0.24, 0.18, 0.27, 0.24)
    widths = [int(width * share) for share in shares] + [6]
    names = ("bertlens", "torch", "transformers")
    print(" · ".join([f"{name} {version(name)}" for name in names] + [f"{platform.machine()}, {os.cpu_count()} cores"]))
    if about:
        print(about)
    print("One thread. Times depend on the machine and its load; ratios are medians of runs in turn.\n")
    print(printed(COLUMNS, widths))
    missed, failed = [], []
    for group in chosen:
        start = time.perf_counter()
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                rows = process.submit(measure, group).result()
        except Exception as error:  # noqa: BLE001  one group must not take the others with it
            failed.append(f"{group}: {type(error).__name__}: {error}")
            rows = []
        print(f"--- {group} ({time.perf_counter() - start:.0f} s)".ljust(width, "-"))
        for row in rows:
            mark = {True: "ok", False: "MISSED", None: ""}[row.ok]
            print(printed((row.work, row.budget, row.measured, row.peer, mark), widths), flush=True)
            if row.ok is False:
                missed.append(f"{row.work}: {row.measured}, budget {row.budget}")
    for title, lines in (("missed", missed), ("failed", failed)):
        if lines:
            print(f"\n{title}:\n" + "\n".join(f"  {line}" for line in lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
