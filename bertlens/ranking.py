"""Numbers in an order as text, and where their scale ends: as the page has both (js/src/parts/format.ts)."""

from __future__ import annotations

from collections.abc import Sequence

FINEST = 6  # decimals; below is the rounding of float32


def ranked(values: Sequence[float], digits: int = 3) -> list[str]:
    """With as many decimals as tell neighbours apart and the first from 0; "less than" what reads 0 all the same."""

    def zero(n: int, decimals: int) -> bool:
        return float(f"{values[n]:.{decimals}f}") == 0

    def blurred(n: int) -> bool:
        if n == 0:
            return zero(0, digits) and values[0] != 0
        here, there = values[n], values[n - 1]
        alike = f"{here:.{digits}f}" == f"{there:.{digits}f}"
        return not zero(n, digits) and alike and f"{here:.{FINEST}f}" != f"{there:.{FINEST}f}"

    places = range(len(values))
    while digits < FINEST and any(blurred(n) for n in places):
        digits += 1
    least = f"less than {10**-digits:.{digits}f}"
    return [least if values[n] and zero(n, digits) else f"{values[n]:.{digits}f}".replace("-", "−") for n in places]


def scale_end(most: float, digits: int = 3) -> float:
    """Where a scale ends: no lower than the least number that its digits can say."""
    return max(most, 10.0**-digits)
