"""A line of the table, and timing in turn: A B A B …, so that whatever else the machine does falls on both."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Row:
    """One line: what was done, what it may cost, what it cost, what the peer costs; `ok` is None without a budget."""

    work: str
    budget: str
    measured: str
    peer: str = "–"
    ok: bool | None = None


def measure(group: str) -> list[Row]:
    """All rows of a group: a module of this package with rows(). Called in a fresh process, before torch is there.

    One thread: a busy machine makes threads wait for each other, and the wait would be measured.
    """
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return list(import_module(f"benchmarks.{group}").rows())


def in_turn(
    *works: Callable[[], Any],
    rounds: int = 15,
    warm: int = 2,
    limit: float = 60,
    clock: Callable[[], float] | None = None,
) -> list[list[float]]:
    """Seconds of each work in each round, (works, rounds), by `device.seconds`; every second round goes backwards.

    Torch has one thread here (see `measure`), so on an idle machine CPU time is wall time, and on a busy one it still
    is the work's own; with more threads, pass the wall's `clock`. Past `limit` seconds no new round begins, but there
    are 3 at least.
    """
    from benchmarks.device import seconds  # with torch, which `measure` comes before

    clock = clock or seconds
    times: list[list[float]] = [[] for _ in works]
    begun = time.monotonic()
    for number in range(warm + rounds):
        if number >= warm + 3 and time.monotonic() - begun > limit:
            break
        order = range(len(works)) if number % 2 else range(len(works) - 1, -1, -1)
        for i in order:
            start = clock()
            works[i]()
            spent = clock() - start
            if number >= warm:
                times[i].append(spent)
    return times


def ratio(times: list[float], base: list[float]) -> float:
    """The median over the rounds of times / base: both of one round met the same load."""
    return median(a / b for a, b in zip(times, base, strict=True))


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.1f} ms"


def mb(count: float) -> str:
    """Bytes as megabytes of 10^6."""
    return f"{count / 1e6:,.2f} MB" if count < 10e6 else f"{count / 1e6:,.0f} MB"
