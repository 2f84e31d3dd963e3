"""One head as a figure for a paper: as the Explorer exports it, with the cells of its gate outlined where wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..base import colors
from ..base.paths import as_path
from ..base.ranking import scale_end
from ..base.vocabulary import MEASURES, THEMES
from ..base.vocabulary.constants import MANY_ROWS
from ..errors import ExportError, InputError, SelectionError
from ..measures import gates
from ..trace.provenance import provenance, visible
from ..trace.trace import Trace
from .figure import ACCENT, MM, color_map, plain, pyplot, tokens_on_axes
from .grid import shown_grid
from .letters import legible, quiet


@legible
def attention_map(
    trace: Trace,
    layer: int,
    head: int | None = None,
    gate: str | None = None,
    view: str = "full",
    axes: Any = None,
    *,
    measure: str = "weight",
    width: float | None = None,
    size: float = 7,
    theme: str = "light",
    **shown: Any,
) -> Any:
    """One head's map, query by key, with axis titles and a line where the second sentence or a named span begins.

    `gate` (default: the strongest) is outlined, and the title names it and the head's gate at this length; `gate=""`
    outlines none. Then cells, tokens, line and legend are those of the Explorer's own export.
    view as in `gates.classify`. measure: "weight", "norm" or "difference" (vocabulary.MEASURES). Without `axes` a new
    figure, with a legend: `width` in mm (a paper's column is about 85, two are 180), letters of `size` points, theme
    "light" or "dark". `save` writes it. Returns the matplotlib axes.
    shown: the view's own selection, as `grid.shown_grid` has it: layer_map (a map of the layer, instead of a head),
    units ("pieces", "words", "spans"), pair_filter ("all", "AA", "AB", "BA", "BB"), hide_special, renormalize. With any
    of them there is no gate to outline: gates are of a head's pieces.
    Raises SelectionError for a layer, head, measure, theme or selection that does not exist, InputError for an unknown
    gate or view and for a gate of a selection, ModelError where the family offers no norms.
    """
    if measure not in MEASURES or theme not in THEMES[1:]:
        raise SelectionError(f"measure is one of {', '.join(MEASURES)}, theme one of {', '.join(THEMES[1:])}")
    grid = shown_grid(trace, layer, head, measure, **shown)
    is_whole = head is not None and not shown
    if gate and not is_whole:
        raise InputError("a gate is outlined in all pieces of a head: leave the gate, or the selection")
    ink, muted = colors.INKS[theme]["ink"], colors.INKS[theme]["muted"]
    is_new = axes is None
    if is_new:
        inches = (width or 107) / MM
        axes = pyplot().subplots(figsize=(inches, inches), layout="constrained")[1]
        axes.figure.set_facecolor(colors.INKS[theme]["panel"])
    image = _cells(axes, grid.values, grid.signed, theme)
    tokens_on_axes(axes, [visible(unit.label) for unit in grid.rows], [visible(unit.label) for unit in grid.cols])
    for side in (axes.xaxis, axes.yaxis):
        side.set_tick_params(labelsize=size, labelcolor=ink)
    for border in axes.spines.values():
        border.set_color(colors.INKS[theme]["border"])
    for units, line in ((grid.rows, axes.axhline), (grid.cols, axes.axvline)):
        for at in grid.edges(units):
            line(at - 0.5, color=muted, linewidth=0.8)
    axes.set_xlabel("key", fontsize=size, color=ink)
    axes.set_ylabel("query", fontsize=size, color=ink)
    gated = is_whole and gate != ""
    title = _gated(trace, layer, int(head or 0), gate, view, axes) if gated else grid.title
    axes.set_title(plain(title), fontsize=size + 1, color=ink)
    if is_new:
        _legend(axes, image, grid.symbol + _beyond(grid.values), grid.signed, size, ink)
    return axes


def save(axes: Any, path: str | Path, trace: Trace | None = None) -> Path:
    """Write the figure of these axes to a file, its kind by its name (.pdf, .svg, .png at 600 dpi): the path.

    Letters stay letters, in embedded fonts that journals take (TrueType). Model, text and versions of `trace` go into
    the file's metadata. Raises InputError for no path, ExportError where the file cannot be written.
    """
    target = as_path(path)
    about = {} if trace is None else {k: v for k, v in provenance(trace).items() if v}
    description = visible("; ".join(f"{name}: {value}" for name, value in about.items()))
    field = {".pdf": "Subject", ".svg": "Description", ".png": "Description"}.get(target.suffix)
    rules = {"pdf.fonttype": 42, "svg.fonttype": "none", "savefig.dpi": 600}
    figure = axes.figure
    try:
        with pyplot().rc_context(rules), quiet():
            figure.savefig(
                target,
                facecolor=figure.get_facecolor(),
                metadata={field: description} if field and description else None,
            )
    except (OSError, ValueError) as error:
        raise ExportError(f"{target} cannot be written: {error}") from None
    return target


def _top(values: np.ndarray) -> float:
    """Where the colours end: see `extremes` in js/src/compute/grid.ts."""
    largest = np.sort(np.nan_to_num(np.abs(values)).max(1))
    top = float(largest[-1])
    return (min(top, 2 * float(largest[len(largest) >> 1])) or top) if len(largest) > MANY_ROWS else top


def _beyond(values: np.ndarray) -> str:
    """What the legend says where values lie beyond the end of the colours."""
    largest = float(np.nan_to_num(np.abs(values)).max())
    return f", larger ones alike (up to {largest:.3f})" if _top(values) < largest else ""


def _cells(axes: Any, values: np.ndarray, signed: bool, theme: str) -> Any:
    """The cells, each with the entry of the colour table that the page gives it."""
    colours = color_map("signed" if signed else "weight", theme)
    high = scale_end(_top(values))
    low = -high if signed else 0.0
    half = (high - low) / 510  # entries are round(255 x): matplotlib cuts the range into 256 equal parts
    return axes.imshow(values, cmap=colours, vmin=low - half, vmax=high + half, interpolation="nearest")


def _legend(axes: Any, image: Any, symbol: str, signed: bool, size: float, ink: str) -> None:
    """The colours from end to end."""
    low, high = image.get_clim()
    half = (high - low) / 512
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bottom, top = low + half, high - half
    bar.set_ticks([bottom, top], labels=[f"−{-bottom:.3f}" if signed else "0", f"{'+' if signed else ''}{top:.3f}"])
    bar.ax.tick_params(length=0, labelsize=size, labelcolor=ink)
    bar.set_label(symbol, fontsize=size, color=ink)
    bar.outline.set_visible(False)


def _gated(trace: Trace, layer: int, head: int, gate: str | None, view: str, axes: Any) -> str:
    """Outline the cells of a gate; what the title says of it."""
    attention = trace.attention(layer)[head]
    scores = gates.scores(attention, trace.special_mask, trace.segments, view=view)
    label = str(gates.label(scores))
    outlined = gate or max(scores, key=lambda name: float(scores[name].nan_to_num(-1)))
    evidence = gates.evidence(attention, trace.special_mask, outlined, trace.segments, view=view)
    _outline(axes, evidence.cells.cpu().numpy())
    where = f" ({evidence.detail})" if evidence.detail else ""
    second = f"{outlined} {evidence.score:.2f}, {evidence.mass:.0%} of the attention{where}"
    return f"L{layer}·H{head}: {label} at {trace.n_tokens} tokens\n{second}"


def _outline(axes: Any, cells: np.ndarray) -> None:
    """The border around the cells, as line segments between each cell and a neighbour that is none."""
    from matplotlib.collections import LineCollection

    padded = np.pad(cells, 1)
    upright = np.argwhere(padded[:, 1:] != padded[:, :-1])  # between column j - 1 and j of the padded map
    level = np.argwhere(padded[1:] != padded[:-1])
    lines = [[(j - 0.5, i - 1.5), (j - 0.5, i - 0.5)] for i, j in upright]
    lines += [[(j - 1.5, i - 0.5), (j - 0.5, i - 0.5)] for i, j in level]
    axes.add_collection(LineCollection(lines, colors=ACCENT, linewidths=0.8))
