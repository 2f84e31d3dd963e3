"""How near each test sequence lies to what the model was trained on: exact edit distances, in nucleotides.

All pairs are too many to align. One edit changes at most 12 windows of 12 nucleotides on either side, so the windows
that two sequences do not share bound their distance from below; only pairs that can be the nearest are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError

WINDOW = 12
FAR = 6  # nucleotides: so far from every training sequence that it is not a near copy of one


@dataclass(frozen=True)
class Nearest:
    """The nearest training sequence of one sequence."""

    index: int  # the first of those that are equally near
    distance: int  # nucleotides that were exchanged, put in or left out


def nearest(sequences: Sequence[str], training: Sequence[str]) -> list[Nearest]:
    """For each sequence the training sequence at the least edit distance (Levenshtein 1966).

    Raises InputError without training sequences.
    """
    if not training:
        raise InputError("there are no training sequences to be near to")
    common = _windows(training[0])  # most windows are in every sequence: what differs from one of them is little
    differing = [common ^ _windows(sequence) for sequence in training]
    sizes = np.array([len(windows) for windows in differing])
    holders: dict[str, list[int]] = {}
    for index, windows in enumerate(differing):
        for window in windows:
            holders.setdefault(window, []).append(index)
    neighbours = []
    for sequence in sequences:
        windows = common ^ _windows(sequence)
        with_it = [index for window in windows for index in holders.get(window, ())]
        shared = np.bincount(np.array(with_it, dtype=np.intp), minlength=len(training))
        bounds = -(-(len(windows) + sizes - 2 * shared) // (2 * WINDOW))
        best: Nearest | None = None
        for index in np.argsort(bounds, kind="stable").tolist():
            if best is not None and bounds[index] > best.distance:
                break
            distance = edit_distance(sequence, training[index], None if best is None else best.distance)
            if distance is not None and (best is None or (distance, index) < (best.distance, best.index)):
                best = Nearest(index, distance)
        assert best is not None
        neighbours.append(best)
    return neighbours


def edit_distance(a: str, b: str, limit: int | None = None) -> int | None:
    """The least number of letters exchanged, put in or left out that makes a of b; None where it is above `limit`.

    By the furthest points on the diagonals (Ukkonen 1985): fast where the two are alike.
    """
    limit = max(len(a), len(b)) if limit is None else limit
    goal = len(b) - len(a)
    # furthest[k]: how many letters of a are used on diagonal k (letters of b less letters of a), with so many edits
    furthest = {0: _alike(a, b, 0, 0)}
    for edits in range(limit + 1):
        if furthest.get(goal, -1) >= len(a):
            return edits
        reached = {}
        for k in range(-edits - 1, edits + 2):
            used = max(
                furthest.get(k, -2) + 1,  # a letter exchanged
                furthest.get(k + 1, -2) + 1,  # a letter of a left out
                furthest.get(k - 1, -2),  # a letter of b put in
            )
            used = min(used, len(a), len(b) - k)
            if used >= 0 and used + k >= 0:
                reached[k] = _alike(a, b, used, used + k)
        furthest = reached
    return None


def _alike(a: str, b: str, i: int, j: int) -> int:
    """Where in a the run of letters that a from i and b from j share ends."""
    step = 64
    while a[i : i + step] == b[j : j + step] and i < len(a) and j < len(b):
        i, j = min(i + step, len(a)), j + min(step, len(a) - i)
    while i < len(a) and j < len(b) and a[i] == b[j]:
        i, j = i + 1, j + 1
    return i


def _windows(sequence: str) -> frozenset[str]:
    return frozenset(sequence[at : at + WINDOW] for at in range(len(sequence) - WINDOW + 1))
