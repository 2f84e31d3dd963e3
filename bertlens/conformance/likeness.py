"""What vectors look like that no hypothesis fits: how much of their distance one explains, and the others."""

from __future__ import annotations

import numpy as np

from . import rounding_faults
from .scoring import Candidate, relative
from .search import Search

EXPLAINED = 0.8  # of the squared distance, by which vectors look like a hypothesis
ALIKE, FAR = 0.3, 2.0  # cosine, and times as far, by which vectors look like a rounding of activations


def share(candidate: Candidate, right: Candidate) -> float:
    """Of the squared distance from the right vectors, what a hypothesis explains."""
    reference = dict(zip(right.rows, right.errors, strict=True))
    return 1 - float((candidate.errors**2).sum()) / max(sum(reference[n] ** 2 for n in candidate.rows), 1e-30)


def stands_out(search: Search, best: Candidate, sampled: list[Candidate], right: Candidate) -> bool:
    """Whether what is otherwise than the best explains half as much at most."""
    ours = search.vectors(best.text, best.forward, best.rows, best.pooling, best.after)
    for rival in sampled:
        if share(rival, right) > share(best, right) / 2 and set(rival.faults) != set(best.faults):
            theirs = search.vectors(rival.text, rival.forward, rival.rows, rival.pooling, rival.after)
            if relative(ours, theirs).max() > search.limit:
                return False
    return True


def moved(search: Search, candidate: Candidate) -> tuple[float, float]:
    """The cosine between how a hypothesis moves the model's own vectors and how these differ from them, and how many
    times as far, each row by its own length."""
    array, rows = search.array, candidate.rows
    ours = array.of(search.right[rows])
    theirs = search.vectors(candidate.text, candidate.forward, rows, candidate.pooling, candidate.after)
    size = np.maximum(np.linalg.norm(ours, axis=1, keepdims=True), 1e-30)
    change, off = (array.of(theirs) - ours) / size, (array.numbers[rows] - ours) / size
    lengths = max(float(np.linalg.norm(change)), 1e-30), max(float(np.linalg.norm(off)), 1e-30)
    return float((change * off).sum()) / lengths[0] / lengths[1], lengths[0] / lengths[1]


def rounds(candidate: Candidate) -> bool:
    """Whether it is a rounding of weights or activations and nothing else."""
    return candidate.weight == 1 and any(fault in rounding_faults.FAULTS for fault in candidate.forward)


def same_rounding(search: Search, sampled: list[Candidate]) -> Candidate | None:
    """The rounding that moves rows about as far as they are off, and the same way; no fault does so half as much."""
    ways = [(*moved(search, c), c) for c in sampled if c.weight == 1]
    roundings = [way for way in ways if rounds(way[2])]
    if not roundings:
        return None
    cosine, times, best = max(roundings, key=lambda way: way[0])
    others = max((way[0] for way in ways if not rounds(way[2])), default=0.0)
    return best if cosine >= max(ALIKE, 2 * others) and 1 / FAR <= times <= FAR else None
