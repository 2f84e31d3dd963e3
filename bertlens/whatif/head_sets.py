"""Heads that move the answer together, where none does alone: those that stand in for each other."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from ..measures.rows import Here
from ..run.changes import Off
from .reruns import rerun
from .strongest_heads import Asked, FirstNumber, Head, count, effects_of_runs, first_number, ranking, size_of

MOST = 6  # heads of a set
CANDIDATES = 24  # heads that are tried in each step, those that move the number most alone


@dataclass(frozen=True)
class HeadSets:
    """heads: in the order in which they were added. values: the number without the first, without the first two, and
    so on. tried: how many heads were candidates."""

    number: FirstNumber
    heads: tuple[Head, ...]
    values: tuple[float, ...]
    tried: int


def head_sets(here: Here, about: Asked) -> Generator[float, None, HeadSets]:
    """Sets of one to six heads, each that before it and the head that, off with them, takes the first number of the
    answer furthest from where it is: exact runs, of the 24 that move it most alone. A set that was not tried may move
    it more. Yields the share that is done. Raises like `first_number`."""
    number = first_number(here(), about)
    if not effects_of_runs(here(), about):
        yield from (0.0 for _ in ranking(here, about, count(here())))
    alone = dict(effects_of_runs(here(), about))
    candidates = sorted(sorted(alone), key=lambda head: -size_of(number, alone[head]))[:CANDIDATES]
    heads, values = [candidates[0]], [number.before + alone[candidates[0]]]
    most = min(MOST, len(candidates))
    while len(heads) < most:
        yield (len(heads) - 1) / (most - 1)
        without = first_number(rerun(here(), *(Off(*head) for head in heads)), about)
        others = [head for head in candidates if head not in heads]
        after = {
            (layer, head): without.before + effect
            for batch in without.swept.exact(others)
            for (layer, head), effect in batch
        }
        heads.append(max(others, key=lambda head: abs(after[head] - number.before)))
        values.append(after[heads[-1]])
    return HeadSets(number, tuple(heads), tuple(values), len(candidates))
