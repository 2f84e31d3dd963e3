"""Layers and dimensions beside the whole model: one curve of the measure, with the interval of the difference."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..measures.significance import Sizes
from .figure import ACCENT, INK, MUTED, axes_or_new, legend, quiet


def sizes(found: Sizes, axes: Any = None) -> Any:
    """The measure after each layer, or with the first k dimensions: a curve, and as a band where the measure of the
    whole and the interval of the difference put it.

    found: what `Retrieval.layers`, `Retrieval.dimensions` or `Task.layers` gave. A thin curve is of centred vectors,
    of drawn dimensions, or of the untrained model; the dashed line is the whole. Returns the matplotlib axes. Raises
    ExportError where matplotlib is not installed.
    """
    table = found.table
    of_dimensions = "dimensions" in table
    by = "dimensions" if of_dimensions else "layer"
    raw = (table[~table["centred"]] if "centred" in table else table).sort_values(by)
    ends = [f"difference{end}" if of_dimensions else end.lstrip("_") for end in ("_low", "_high")]
    whole = float((raw["mean"] - raw["difference"]).iloc[0])
    axes = axes_or_new(axes, 4.6, 3.0)
    at = raw[by].to_numpy()
    low, high = (whole + np.where(np.isnan(raw[end]), raw["difference"], raw[end]) for end in ends)
    axes.fill_between(at, low, high, color=ACCENT, alpha=0.18, linewidth=0, label="interval beside the whole, Holm")
    label = "the first ones" if of_dimensions else "as it is"
    axes.plot(at, raw["mean"], color=ACCENT, linewidth=2, marker="o", markersize=3, label=label)
    axes.axhline(whole, color=INK, linewidth=0.8, linestyle="--", label="all" if of_dimensions else "the last layer")
    beside = {"drawn": "as many drawn", "untrained": "untrained"}
    for column, label in beside.items():
        if column in raw:
            axes.plot(at, raw[column], color=MUTED, linewidth=1, label=label)
    if "centred" in table:
        centred = table[table["centred"]]
        axes.plot(centred["layer"], centred["mean"], color=MUTED, linewidth=1, label="centred")
    if of_dimensions:
        axes.set_xscale("log", base=2)
    axes.set_xticks(at, [str(int(x)) for x in at], fontsize=7)
    axes.minorticks_off()
    axes.set(xlabel=by, ylabel=found.measure)
    legend(axes, labelcolor=MUTED)
    quiet(axes)
    return axes
