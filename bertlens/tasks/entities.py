"""Named spans of a text that its tags spell out, and how many of them were found: strict, in the scheme IOB2."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .scores import Z

Entity = tuple[str, int, int]  # type, first word, the word behind its last


def is_iob(names: Sequence[str]) -> bool:
    """Whether tags spell entities: all are O, B-… or I-…, and some B- is there."""
    return all(name == "O" or name[:2] in ("B-", "I-") for name in names) and any(name[:2] == "B-" for name in names)


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of one text. Strict IOB2: one begins at B-x and goes on over I-x; an I-x without it is none."""
    found: list[Entity] = []
    begun: tuple[str, int] | None = None
    for at, tag in enumerate([*tags, "O"]):
        if begun is not None and tag != f"I-{begun[0]}":
            found.append((*begun, at))
            begun = None
        if tag.startswith("B-"):
            begun = tag[2:], at
    return found


def counts(labels: Sequence[Sequence[str]], guesses: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """Of each type, in alphabetical order: (n, 3) how many entities of a text were found, are there, were guessed."""
    each = [(set(entities(a)), set(entities(b))) for a, b in zip(labels, guesses, strict=True)]
    types = sorted({kind for pair in each for one in pair for kind, *_ in one})
    return {
        kind: np.array(
            [
                [sum(one[0] == kind for one in group) for group in (there & guessed, there, guessed)]
                for there, guessed in each
            ]
        ).reshape(len(each), 3)
        for kind in types
    }


def ratio_interval(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """(low, high) of Σ above / Σ below over texts drawn alike, (n,) each: linearised, on the logit. NaN without any.

    Words and entities of one text are not independent, so that texts are what is counted (Cochran 1977, 6.4).
    """
    total, n = float(below.sum()), len(below)
    if total == 0 or n < 2:
        return math.nan, math.nan
    value = float(above.sum()) / total
    if not 0 < value < 1:
        return value, value
    each = above - value * below
    error = math.sqrt(n / (n - 1) * float((each * each).sum())) / total
    middle, half = math.log(value / (1 - value)), Z * error / (value * (1 - value))
    return 1 / (1 + math.exp(half - middle)), 1 / (1 + math.exp(-half - middle))
