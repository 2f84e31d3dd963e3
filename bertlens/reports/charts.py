"""The small chart of a card, in units of its drawing: curves by layer, or bars side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 300, 132
LEFT, RIGHT, TOP, BOTTOM = 34, 8, 8, 22
MOST = 4  # series that can be told apart
TURNED = 6  # bars beyond which their labels are turned
LETTERS = 9  # of a label


def chart(series: Mapping[str, Sequence[float]], labels: Sequence[str] = ()) -> dict[str, Any] | None:
    """What `chart.jinja` draws, None for nothing to draw. labels: bars, not curves."""
    finite = {name: [v for v in values if math.isfinite(v)] for name, values in series.items()}
    strongest = sorted((name for name in finite if finite[name]), key=lambda name: -max(finite[name]))[:MOST]
    curves = {name: values for name, values in series.items() if name in strongest}
    n = max(map(len, curves.values()), default=0)
    if not n:
        return None
    numbers = [value for name in curves for value in finite[name]]
    low, high = min(0.0, *numbers), max([*numbers, 1e-9])
    high = 1.0 if 0.5 < high <= 1 and low == 0 else high

    def x(at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (at + 0.5) / n

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    def bar(at: int, value: float, number: int, n_bars: int) -> dict[str, float]:
        width = min(22.0, (WIDTH - LEFT - RIGHT) / n_bars * 0.8 / len(curves))
        top, foot = sorted((y(value), y(0.0)))
        left = x(at) + (number - len(curves) / 2) * width
        return {"x": left, "y": top, "width": width - 1, "height": foot - top}

    is_turned = bool(labels) and n > TURNED
    steps = range(0, n, 1 if labels else max(1, math.ceil(n / 8)))
    return {
        "width": WIDTH,
        "height": HEIGHT + (22 if is_turned else 0),
        "axis": {"left": LEFT, "right": WIDTH - RIGHT, "ticks": [(y(v), tick(v)) for v in dict.fromkeys((low, high))]},
        "labels": [(x(at), labels[at][:LETTERS] if labels else f"L{at}") for at in steps],
        "foot": HEIGHT - BOTTOM + 6 if is_turned else HEIGHT - 8,
        "is_turned": is_turned,
        "has_bars": bool(labels) or n == 1,
        "names": list(curves),
        "points": [[(x(at), y(v)) for at, v in enumerate(values) if math.isfinite(v)] for values in curves.values()],
        "bars": [
            [bar(at, v, number, len(values)) for at, v in enumerate(values) if math.isfinite(v)]
            for number, values in enumerate(curves.values())
        ],
        "spoken": "; ".join(f"{name}: {', '.join(map(tick, values))}" for name, values in curves.items()),
    }


def tick(value: float) -> str:
    """A number beside an axis: three digits at most."""
    if not math.isfinite(value):
        return "none"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
