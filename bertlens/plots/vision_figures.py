"""What a token looks at among the patches of an image, drawn as that image: as the Explorer's head view has it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ..base import colors
from ..base.quotes import isolate
from ..base.ranking import scale_end
from ..base.vocabulary import THEMES
from ..errors import ModelError, SelectionError, check_index
from ..trace.provenance import visible
from ..trace.trace import Trace
from .figure import axes_or_new, plain
from .letters import legible


@legible
def patches(
    trace: Trace, layer: int, head: int, query: int, axes: Any = None, *, picture: bool = True, theme: str = "light"
) -> Any:
    """One row of a head's attention as an image of a pixel a patch, the query's own patch outlined.

    query: a position among the tokens, for example trace.tokens.index("r6 c4"). Colours go from 0 to the largest weight
    of a patch, on a scale of this row's own; the title has the sum over all patches and the weight of the other tokens,
    up to three of them one by one. picture: what the trace has as its image shows through where the weight is small.
    theme: "light" or "dark". Returns the matplotlib axes.
    Raises ModelError for a trace without a grid (see `Trace.from_attentions`), SelectionError for a layer, head, query
    or theme that does not exist.
    """
    grid = trace.patches
    if grid is None:
        raise ModelError("this trace has no patches: make it by Trace.from_attentions(..., grid=(h, w))")
    if theme not in THEMES[1:]:
        raise SelectionError(f"theme is one of {', '.join(THEMES[1:])}")
    check_index(head, trace.n_heads, "head")
    check_index(query, trace.n_tokens, "query")
    row = trace.attention_rows(layer, query, query + 1)[head, 0].double().cpu().numpy()
    values = row[list(grid.tokens)]
    top = scale_end(float(np.nanmax(values, initial=0)))
    if axes is None:
        axes = axes_or_new(None, 4, 4 * grid.rows / grid.cols + 0.6)
        axes.figure.set_facecolor(colors.INKS[theme]["panel"])
    box = (-0.5, grid.cols - 0.5, grid.rows - 0.5, -0.5)
    has_picture = picture and grid.picture is not None
    if has_picture:
        axes.imshow(_pixels(grid.picture or b""), extent=box, interpolation="nearest")
    cells = _coloured(values.reshape(grid.rows, grid.cols) / top, theme, has_picture)
    axes.imshow(cells, extent=box, interpolation="nearest")
    if query in grid.tokens:
        _outline(axes, divmod(grid.tokens.index(query), grid.cols), colors.INKS[theme]["select"])
    axes.set_xticks([])
    axes.set_yticks([])
    ink = colors.INKS[theme]["ink"]
    axes.set_title(plain(_title(trace, layer, head, query, row)), fontsize=8, color=ink)
    axes.set_xlabel(f"α of a patch, 0 to {top:.3f}", fontsize=7, color=ink)
    return axes


def _pixels(png: bytes) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)))


def _coloured(shares: np.ndarray, theme: str, has_picture: bool) -> np.ndarray:
    """(h, w, 4) uint8: entries of the page's colour table; as on the page, what has little lets the picture through."""
    fractions = np.nan_to_num(shares)
    colours = colors.table("weight", theme)[np.floor(255 * fractions + 0.5).astype(int)]
    alpha = (50 + 205 * fractions) if has_picture else np.full(fractions.shape, 255.0)
    return np.concatenate([colours, np.rint(alpha)[..., None].astype(np.uint8)], -1)


def _outline(axes: Any, cell: tuple[int, int], colour: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((cell[1] - 0.5, cell[0] - 0.5), 1, 1, fill=False, edgecolor=colour, linewidth=2))


def _title(trace: Trace, layer: int, head: int, query: int, row: np.ndarray) -> str:
    assert trace.patches is not None
    tokens, patches = trace.display_tokens, set(trace.patches.tokens)
    text_tokens = [at for at in range(trace.n_tokens) if at not in patches]
    total = row[list(patches)].sum()
    named = [f"{isolate(visible(tokens[at]))} {row[at]:.3f}" for at in text_tokens]
    ending = named if len(text_tokens) <= 3 else [f"{len(text_tokens)} other tokens {row[text_tokens].sum():.3f}"]
    second = ", ".join([f"{len(patches)} patches: {total:.3f}", *ending])
    return f"L{layer}·H{head}: {isolate(visible(tokens[query]))} looks at\n{second}"
