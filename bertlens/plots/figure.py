"""What all figures share: matplotlib where it is installed, the colours, the names of heads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..base import colors
from ..errors import ExportError, InputError

MM = 25.4  # of an inch
INK, MUTED, ACCENT = (colors.INKS["light"][name] for name in ("ink", "muted", "select"))


def pyplot() -> Any:
    """matplotlib.pyplot. Raises ExportError where matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ExportError("figures need matplotlib: pip install matplotlib") from None
    return plt


def axes_or_new(axes: Any, width: float, height: float) -> Any:
    """The axes given, or those of a new figure of that size in inches."""
    return pyplot().subplots(figsize=(width, height), layout="constrained")[1] if axes is None else axes


def axes_row(axes: Any, count: int, width: float, height: float, what: str, **options: Any) -> np.ndarray:
    """The axes given, at least `count`, or those of a new figure of that size in inches, side by side.

    Raises InputError where fewer are given: "what" are needed.
    """
    if axes is None:
        figure = pyplot().figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(1, count, **options)
    row: np.ndarray = np.atleast_1d(axes).ravel()
    if len(row) < count:
        raise InputError(f"{what}, not {len(row)}")
    return row


def color_map(scale: str, theme: str = "light") -> Any:
    """The Explorer's colours, NaN brown: of weights, from the ground at 0; "signed": slate below 0, red above."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(colors.table(scale, theme) / 255.0, name=f"bertlens {scale}").with_extremes(bad=colors.NAN)


def plain(text: str) -> str:
    """Text as it is: "$" would begin a formula."""
    return text.replace("$", r"\$")


def tokens_on_axes(axes: Any, rows: list[str], columns: list[str], most: int = 60) -> None:
    """Tokens beside a matrix, left out where there are more than can be read."""
    for axis, tokens, turn in ((axes.yaxis, rows, 0), (axes.xaxis, columns, 90)):
        if len(tokens) <= most:
            axis.set_ticks(np.arange(len(tokens)), [plain(token) for token in tokens], rotation=turn, fontsize=7)
        else:
            axis.set_ticks([])
    axes.tick_params(length=0)


def layers_on_axis(
    axis: Any, layers: Iterable[int], places: Sequence[float] | np.ndarray | None = None, **options: Any
) -> None:
    """L0, L1, ... along an axis, at their numbers or at `places`."""
    numbers = list(layers)
    axis.set_ticks(numbers if places is None else places, [f"L{layer}" for layer in numbers], **options)


def centered(axes: Any, x: float, y: float, text: str, color: str = INK, **options: Any) -> None:
    """Small text around a point."""
    axes.text(x, y, text, ha="center", va="center", color=color, **{"fontsize": 7, **options})


def beside(axes: Any, point: tuple[float, float], text: str, offset: tuple[float, float], **options: Any) -> None:
    """Small text at a distance from a point, in points."""
    axes.annotate(text, point, offset, textcoords="offset points", color=INK, **{"fontsize": 7, **options})


def legend(axes: Any, **options: Any) -> Any:
    """A legend on the right of the axes, or where `options` put it."""
    place = {} if "loc" in options else {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    return axes.legend(fontsize=7, frameon=False, **place, **options)


def quiet(axes: Any) -> None:
    """No frame above and on the right."""
    axes.spines[["top", "right"]].set_visible(False)
