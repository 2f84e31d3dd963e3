"""Texts by their length, which nearly every statistic of a head follows: eight bins to a doubling of the tokens.

A text is compared with texts of its own number of segments, in the bins that lie wholly within a quarter of its length.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..trace.trace import Trace

STEPS = 8  # bins to a doubling: each is 9 % wide
SHORTEST, LONGEST = (3, 4), (5, 4)  # of a text's length: what counts as like it


class LengthBin(NamedTuple):
    """Texts of so many segments with ⌊8·log₂ tokens⌋ = step. Tokens are all that the model sees, special ones too."""

    segments: int
    step: int

    @property
    def tokens(self) -> range:
        """The lengths that lie in it; none in some bins under 12 tokens."""
        return range(_shortest(self.step), _shortest(self.step + 1))

    def __str__(self) -> str:
        return f"{self.segments}.{self.step}"


def bin_of(trace: Trace) -> LengthBin:
    """Where a text belongs."""
    return LengthBin(segments_of(trace), step_of(trace.n_tokens))


def segments_of(trace: Trace) -> int:
    """1 for a text, 2 for a pair of texts."""
    return int(trace.segments.max()) + 1


def step_of(tokens: int) -> int:
    """⌊8·log₂ tokens⌋, exact."""
    return int((tokens**STEPS).bit_length()) - 1


def near_steps(tokens: int) -> list[int]:
    """The steps whose lengths all lie within .75 to 1.25 of this one, whose own step is among them."""
    around = range(max(0, step_of(tokens) - STEPS), step_of(tokens) + STEPS)
    ranges = {step: LengthBin(1, step).tokens for step in around}
    return [step for step, lengths in ranges.items() if lengths and _is_near(lengths, tokens)]


def span(tokens: int) -> tuple[int, int]:
    """The shortest and the longest length in the bins that are `near_steps`."""
    steps = near_steps(tokens)
    return LengthBin(1, steps[0]).tokens[0], LengthBin(1, steps[-1]).tokens[-1]


def _is_near(lengths: range, tokens: int) -> bool:
    return lengths[0] * SHORTEST[1] >= tokens * SHORTEST[0] and lengths[-1] * LONGEST[1] <= tokens * LONGEST[0]


def _shortest(step: int) -> int:
    """The smallest length of this step or a later one."""
    n = max(1, math.floor(2 ** (step / STEPS)) - 1)
    while step_of(n) < step:
        n += 1
    return n
