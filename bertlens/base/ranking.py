"""Numbers in an order as text, which are none, where their scale ends: as js/src/paint/ranked.ts, format.ts."""

from __future__ import annotations

from collections.abc import Sequence

FINEST = 6  # decimals; below is the rounding of float32


def is_nothing(value: float, beside: float = 1.0) -> bool:
    """Whether a number reads 0 to six decimals, or a difference of numbers as large as `beside` is so small a part of
    them: it is not said to be the most of anything. So is NaN."""
    return not abs(value) >= 0.5 * 10**-FINEST * max(1.0, abs(beside))


def ranked(values: Sequence[float], digits: int = 3) -> list[str]:
    """With as many decimals as tell neighbours apart and the first from 0; "less than" what reads 0 all the same."""

    def text(n: int, decimals: int) -> str:
        label = f"{values[n] if n >= 0 else 0.0:.{decimals}f}"
        return label.replace("-", "−" if float(label) else "")

    def zero(n: int) -> bool:
        return text(n, digits) == text(-1, digits)

    def alike(n: int, decimals: int) -> bool:
        return text(n, decimals) == text(n - 1, decimals)

    places = range(len(values))
    while any((n == 0 or not zero(n)) and alike(n, digits) and not alike(n, FINEST) for n in places):
        digits += 1
    floor = f"less than {10**-digits:.{digits}f}"
    return [floor if values[n] and zero(n) else text(n, digits) for n in places]


def signed(value: float, how: str) -> str:
    """A number in a sentence, by a format such as "+.3f": with a true minus sign, and with no sign where it reads 0."""
    text = f"{value:{how}}"
    return text.replace("-", "−") if float(text) else text.lstrip("+-")


def scale_end(most: float, digits: int = 3) -> float:
    """Where a scale ends: no lower than the least number that its digits can say."""
    return max(most, 10.0**-digits)
