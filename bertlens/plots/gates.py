"""Figures of gates: one head's map with the cells that made its score, and how many heads of a layer are what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, check_index
from ..measures import gates
from ..trace import Trace
from ..vocabulary import GATES
from .figure import ACCENT, INK, axes_or_new, quiet, tokens_on_axes, weight_map

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


def attention_map(
    trace: Trace, layer: int, head: int, gate: str | None = None, view: str = "full", axes: Any = None
) -> Any:
    """One head's weights, query by key, titled with its gate at this length; `gate` (default: the strongest) outlined.

    view as in `gates.classify`. Returns the matplotlib axes. Raises SelectionError for a layer or head that does not
    exist, InputError for an unknown gate or view.
    """
    check_index(head, trace.n_heads, "head")
    attention = trace.attention(layer)[head]
    scores = gates.scores(attention, trace.special_mask, trace.segments, view=view)
    label = str(gates.label(scores))
    shown = gate or max(scores, key=lambda name: float(scores[name].nan_to_num(-1)))
    evidence = gates.evidence(attention, trace.special_mask, shown, trace.segments, view=view)
    axes = axes_or_new(axes, 4.2, 4.2)
    weights = attention.float().cpu().numpy()
    axes.imshow(weights, cmap=weight_map(), vmin=0, vmax=max(float(np.quantile(weights, 0.995)), 1e-6))
    _outline(axes, evidence.cells.cpu().numpy())
    tokens_on_axes(axes, trace.display_tokens, trace.display_key_tokens)
    where = f" ({evidence.detail})" if evidence.detail else ""
    found = f"{shown} {evidence.score:.2f}, {evidence.mass:.0%} of the attention{where}"
    axes.set_title(f"L{layer}·H{head}: {label} at {trace.n_tokens} tokens\n{found}", fontsize=9)
    axes.set(xlabel="key", ylabel="query")
    return axes


def _outline(axes: Any, cells: np.ndarray) -> None:
    """The border around the cells, as line segments between each cell and a neighbour that is none."""
    from matplotlib.collections import LineCollection

    padded = np.pad(cells, 1)
    upright = np.argwhere(padded[:, 1:] != padded[:, :-1])  # between column j - 1 and j of the padded map
    level = np.argwhere(padded[1:] != padded[:-1])
    lines = [[(j - 0.5, i - 1.5), (j - 0.5, i - 0.5)] for i, j in upright]
    lines += [[(j - 1.5, i - 0.5), (j - 0.5, i - 0.5)] for i, j in level]
    axes.add_collection(LineCollection(lines, colors=ACCENT, linewidths=0.8))


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
