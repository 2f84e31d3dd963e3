"""Figures of why two texts are similar: the matrix that sums to the number, with the sums of its words."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.quotes import isolate
from ..sentences.late_interaction import LateSimilarity
from .figure import INK, axes_or_new, color_map, plain, tokens_on_axes
from .letters import legible

if TYPE_CHECKING:
    from ..sentences.text_similarity import Similarity

CELL, MARGIN, MOST = 0.24, 1.5, 8.0  # inches: of a token, of names and colour bar, of a side
LINE = 72  # characters below the picture
SAID = {"output": "by tokens of the last layer", "input": "by tokens that went in, linearised at the run"}


@legible
def similarity(s: Similarity | LateSimilarity, axes: Any = None, *, of: str | None = None, words: bool = True) -> Any:
    """What each pair of words puts into the similarity of two texts, a down and b across; beside each name its sum.

    Red raises the number, slate lowers it. Below: the sum of the cells and the model's number, and what the split is
    of. Of a late-interaction encoder the maxima are ringed. of, words: as in `Similarity.pairs`. Returns the matplotlib
    axes. Raises as `pairs`.
    """
    late = isinstance(s, LateSimilarity)
    table = s.pairs(words=words) if isinstance(s, LateSimilarity) else s.pairs(of, words=words)
    cells = table.to_numpy()
    width, height = (min(MOST, CELL * size) + MARGIN for size in (cells.shape[1], cells.shape[0]))
    axes = axes_or_new(axes, max(width, 4.0), height + 0.5)
    bound = float(np.abs(cells).max()) or 1.0
    image = axes.imshow(cells, cmap=color_map("signed"), vmin=-bound, vmax=bound, interpolation="nearest")
    names = [
        [f"{isolate(name)} {x:+.3f}" for name, x in zip(side, cells.sum(axis), strict=True)]
        for side, axis in ((table.index, 1), (table.columns, 0))
    ]
    tokens_on_axes(axes, names[0], names[1])
    if late:
        rows, columns = np.nonzero(cells)
        axes.scatter(columns, rows, s=60, facecolors="none", edgecolors=INK, linewidths=0.8)
    lines = [row for line in _foot(s, table, late) for row in wrap(line, LINE)]
    axes.set_xlabel(plain("\n".join(lines)), fontsize=7)
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bar.set_label("part of the number", fontsize=7)
    bar.ax.tick_params(labelsize=7)
    return axes


def _foot(s: Any, table: Any, late: bool) -> list[str]:
    total = float(table.to_numpy().sum())
    if late:
        sums = f"cells sum to {total:.4f}; {s.function} {s.value:.4f}"
        return [sums, "for each token of a its best one of b", *s.notes]
    terms = [f"{name} {value:.4f}" for name, value in s.terms.iloc[1:].items()]
    number = f"−d² {-(s.value**2):.4f}" if terms else f"{s.function} {s.value:.4f}"
    sums = f"cells sum to {total:.4f}{''.join(f', {term}' for term in terms)}; {number}"
    return [sums, SAID[table.attrs["of"]], *table.attrs["notes"]]
