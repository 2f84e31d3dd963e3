"""How many heads of each layer have which gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..vocabulary import GATES
from .figure import INK, axes_or_new, quiet

if TYPE_CHECKING:
    import pandas as pd

# colour and hatch: with the letter told apart without colour
_STYLES = {
    "directional": ("#235fb2", ""),
    "open": ("#dbe6f5", ""),
    "closed": ("#52155c", ""),
    "forward contextual": ("#34989b", "///"),
    "backward contextual": ("#34989b", "\\\\\\"),
    "bidirectional": ("#34989b", "xxx"),
    "cluster": ("#b27c2e", ""),
    "instance": ("#804f5a", "..."),
    "self": ("#1c5405", ""),
    "mixed": ("#c9ced6", ""),
    "undefined": ("#ffffff", ""),
}


def gate_counts(table: pd.DataFrame, axes: Any = None) -> Any:
    """How many heads of each layer have which label: stacked bars with a letter in each, from `gates.classify`'s table.

    Labels are of one length, which the axis names. Returns the matplotlib axes. Raises InputError for a table of
    several groups of lengths.
    """
    lengths = table[["tokens_least", "tokens_most"]].drop_duplicates().to_numpy()
    if len(lengths) > 1:
        least = ", ".join(str(one) for one, _ in lengths)
        raise InputError(f"this table has labels at several lengths: choose the rows of one tokens_least of {least}")
    least, most = lengths[0]
    counts = table.groupby(["layer", "label"]).size().unstack(fill_value=0)
    axes = axes_or_new(axes, 7, 0.35 * len(counts) + 1.4)
    left = np.zeros(len(counts))
    for label in (name for name in _STYLES if name in counts):
        (color, hatch), letter = _STYLES[label], GATES[label].letter
        wide = counts[label].to_numpy()
        axes.barh(counts.index, wide, left=left, color=color, hatch=hatch, edgecolor="white", label=f"{letter} {label}")
        for layer, (start, width) in enumerate(zip(left, wide, strict=True)):
            if width:
                style = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
                axes.text(
                    start + width / 2,
                    counts.index[layer],
                    letter,
                    ha="center",
                    va="center",
                    fontsize=7,
                    color=INK,
                    bbox=style,
                )
        left = left + wide
    axes.invert_yaxis()
    at = f"{least}" if least == most else f"{least} to {most}"
    axes.set(
        xlabel=f"heads, labels at {at} tokens", yticks=counts.index, yticklabels=[f"L{layer}" for layer in counts.index]
    )
    axes.legend(fontsize=7, ncols=1, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    quiet(axes)
    return axes
