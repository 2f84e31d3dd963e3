"""How many heads of each layer have which gate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import colors
from ..base.dataframes import pd
from ..base.vocabulary import GATES
from ..errors import InputError
from .figure import axes_or_new, centered, layers_on_axis, legend, quiet

# colour and hatch: with the letter told apart without colour
_HATCHES = {
    "forward contextual": "///",
    "backward contextual": "\\\\\\",
    "bidirectional": "xxx",
    "instance": "...",
}
_STYLES = {name: (color, _HATCHES.get(name, "")) for name, color in colors.GATES.items()}
_LETTER_BOX = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}


def gate_counts(table: pd.DataFrame, axes: Any = None) -> Any:
    """How many heads of each layer have which label: stacked bars with a letter in each, from `gates.classify`'s table.

    Labels are of one length, which the axis names. Returns the matplotlib axes. Raises InputError for a table of
    several groups of lengths.
    """
    lengths = table[["tokens_least", "tokens_most"]].drop_duplicates().to_numpy()
    if len(lengths) > 1:
        groups = ", ".join(str(shortest) for shortest, _ in lengths)
        raise InputError(f"this table has labels at several lengths: choose the rows of one tokens_least of {groups}")
    shortest, longest = lengths[0]
    counts = table.groupby(["layer", "label"]).size().unstack(fill_value=0)
    axes = axes_or_new(axes, 7, 0.35 * len(counts) + 1.4)
    starts = np.zeros(len(counts))
    for label in (name for name in _STYLES if name in counts):
        (color, hatch), letter = _STYLES[label], GATES[label].letter
        widths = counts[label].to_numpy()
        look = {"color": color, "hatch": hatch, "edgecolor": "white"}
        axes.barh(counts.index, widths, left=starts, label=f"{letter} {label}", **look)
        for layer, start, width in zip(counts.index, starts, widths, strict=True):
            if width:
                centered(axes, start + width / 2, layer, letter, bbox=_LETTER_BOX)
        starts = starts + widths
    axes.invert_yaxis()
    at = f"{shortest}" if shortest == longest else f"{shortest} to {longest}"
    axes.set(xlabel=f"heads, labels of texts of {at} tokens")
    layers_on_axis(axes.yaxis, counts.index)
    legend(axes)
    quiet(axes)
    return axes
