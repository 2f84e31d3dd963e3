"""The small chart of a card, as SVG: curves by layer, or bars side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TypeAlias

WIDTH, HEIGHT = 300, 132
LEFT, RIGHT, TOP, BOTTOM = 34, 8, 8, 22
MOST = 4  # series that can be told apart
Place: TypeAlias = Callable[[float], float]


def chart(series: Mapping[str, Sequence[float]], labels: Sequence[str] = ()) -> str:
    """SVG with its legend and a text that reads its numbers; "" for nothing to draw. labels: bars, not curves."""
    drawn = {name: values for name, values in series.items() if any(map(math.isfinite, values))}
    strongest = sorted(drawn, key=lambda name: -max(v for v in drawn[name] if math.isfinite(v)))[:MOST]
    drawn = {name: values for name, values in drawn.items() if name in strongest}
    n = max((len(values) for values in drawn.values()), default=0)
    if not n:
        return ""
    every = [value for values in drawn.values() for value in values if math.isfinite(value)]
    low, high = min(0.0, *every), max([*every, 1e-9])
    high = 1.0 if 0.5 < high <= 1 and low == 0 else high

    def x(at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (at + 0.5) / n

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
             f'<text x="{LEFT - 4}" y="{y(value) + 3:.1f}" text-anchor="end">{tick(value)}</text>'
             for value in dict.fromkeys((low, high))]  # fmt: skip
    every_th = max(1, math.ceil(n / 8))
    for at in range(0, n, 1 if labels else every_th):
        named = escape(labels[at][:9]) if labels else f"L{at}"
        if labels and n > 6:
            place = f'transform="translate({x(at) + 3:.1f} {HEIGHT - BOTTOM + 6}) rotate(28)"'
            parts.append(f"<text {place}>{named}</text>")
        else:
            parts.append(f'<text x="{x(at):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{named}</text>')
    for number, values in enumerate(drawn.values()):
        parts.append(_bars(values, number, len(drawn), x, y) if labels or n == 1 else _curve(values, number, x, y))
    legend = "".join(
        f'<li class="s{number}">{escape(name)}</li>' for number, name in enumerate(drawn)
    )  # fmt: skip
    told = "; ".join(f"{name}: {', '.join(tick(value) for value in values)}" for name, values in drawn.items())
    height = HEIGHT + (22 if labels and n > 6 else 0)
    return (
        f'<figure><ul class="legend">{legend}</ul><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(told)}">{"".join(parts)}</svg></figure>'
    )


def tick(value: float) -> str:
    """A number beside an axis: three digits at most."""
    if not math.isfinite(value):
        return "none"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _curve(values: Sequence[float], number: int, x: Place, y: Place) -> str:
    points = [(at, value) for at, value in enumerate(values) if math.isfinite(value)]
    places = [(x(at), y(value)) for at, value in points]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    dots = "".join(f'<circle class="s{number}" cx="{a:.1f}" cy="{b:.1f}" r="2.2"/>' for a, b in places)
    return f'<polyline class="s{number}" points="{line}"/>{dots}'


def _bars(values: Sequence[float], number: int, of: int, x: Place, y: Place) -> str:
    width = min(22.0, (WIDTH - LEFT - RIGHT) / len(values) * 0.8 / of)
    bars = []
    for at, value in enumerate(values):
        if math.isfinite(value):
            left = x(at) + (number - of / 2) * width
            top, foot = sorted((y(value), y(0.0)))
            size = f'width="{width - 1:.1f}" height="{foot - top:.1f}"'
            bars.append(f'<rect class="s{number}" x="{left:.1f}" y="{top:.1f}" {size}/>')
    return "".join(bars)
