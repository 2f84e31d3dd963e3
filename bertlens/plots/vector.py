"""Pictures in a figure as paths, so that a file of it holds no pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_CELLS = 128 * 128  # of a picture that becomes paths; a file of more would be slow to open


def as_paths(figure: Any) -> None:
    """Draw the cells of a figure's maps, and its legends, as paths; maps of more than MOST_CELLS stay pictures."""
    for axes in figure.axes:
        for image in [*axes.images]:
            rows, cols = image.get_array().shape[:2]
            if rows * cols <= MOST_CELLS:
                _cells(axes, image, rows, cols)
        for artist in axes.collections:
            artist.set_rasterized(False)


def _cells(axes: Any, image: Any, rows: int, cols: int) -> None:
    limits = axes.get_xlim(), axes.get_ylim()
    edges = np.arange(cols + 1) - 0.5, np.arange(rows + 1) - 0.5
    colours = {"cmap": image.get_cmap(), "norm": image.norm}
    # edges in the cell's colour: viewers leave a hair of ground between two that touch
    axes.pcolormesh(*edges, image.get_array(), **colours, edgecolors="face", linewidth=0.1, zorder=image.get_zorder())
    image.set_visible(False)
    axes.set(xlim=limits[0], ylim=limits[1])
