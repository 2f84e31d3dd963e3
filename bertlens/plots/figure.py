"""What all figures share: matplotlib where it is installed, the colours, the names of heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.colors import NAN, table
from ..errors import ExportError
from ..vocabulary import INKS

MM = 25.4  # of an inch
INK, MUTED, ACCENT = (INKS["light"][name] for name in ("ink", "muted", "select"))


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


def weight_map() -> Any:
    """The Explorer's colours for weights, white at 0."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(table("weight", "light") / 255.0, name="bertlens weight")


def signed_map() -> Any:
    """The Explorer's colours for signed numbers: orange below 0, blue above, NaN grey."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(table("signed", "light") / 255.0, name="bertlens signed").with_extremes(bad=NAN)


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


def quiet(axes: Any) -> None:
    """No frame above and on the right."""
    axes.spines[["top", "right"]].set_visible(False)
