"""Figures of two runs compared: how far every head is apart, and one head in both."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from ..base.ranking import scale_end
from ..comparison.runs import Comparison
from ..errors import check_index
from .figure import INK, axes_or_new, axes_row, centered, color_map, plain, tokens_on_axes
from .letters import legible

RANKED = 5  # heads that carry their rank


@legible
def compared_heads(c: Comparison, axes: Any = None) -> Any:
    """Jensen-Shannon divergence of every head between two runs, layers down; the five largest carry their rank.

    Returns the matplotlib axes. Raises ModelError where heads are not matched by index.
    """
    heads = c.heads.numpy()
    axes = axes_or_new(axes, 1.6 + 0.32 * heads.shape[1], 1.5 + 0.32 * heads.shape[0])
    top = scale_end(float(heads.max()))
    image = axes.imshow(heads, cmap=color_map("weight"), vmin=0, vmax=top, interpolation="nearest")
    for rank, row in enumerate(c.most(RANKED).itertuples(), 1):
        color = "white" if row.divergence > top / 2 else INK
        centered(axes, row.head, row.layer, str(rank), color, fontsize=8)
    axes.set_xticks(range(heads.shape[1]), range(heads.shape[1]), fontsize=7)
    axes.set_yticks(range(heads.shape[0]), range(heads.shape[0]), fontsize=7)
    axes.tick_params(length=0)
    axes.set(xlabel="head", ylabel="layer")
    axes.set_title(textwrap.fill(plain(c.said), 16 + 6 * heads.shape[1]), fontsize=7)
    bar = axes.figure.colorbar(image, cax=axes.inset_axes([1.02, 0, 0.03, 1]))
    bar.set_label("nats apart, at most 0.69", fontsize=7)
    bar.ax.tick_params(labelsize=6)
    return axes


@legible
def compared_attention(c: Comparison, layer: int, head: int, axes: Any = None) -> Any:
    """One head's attention in a, in b, and b − a, over the tokens of both: gaps are brown.

    a and b are on one scale from 0, the difference on one that reaches as far to both sides. Returns an array of three
    matplotlib axes. Raises as `Comparison.heads`, SelectionError for a head that does not exist, InputError where
    `axes` are not three.
    """
    check_index(head, c.a.n_heads, "head")
    maps = [x[head].cpu().numpy() for x in c.weights(layer)]
    names = [a if a is not None else b for a, b in zip(c.tokens["a"], c.tokens["b"], strict=True)]
    size = 1.4 + 0.17 * min(len(names), 40)
    axes = axes_row(axes, 3, 3 * size + 0.6, size + 0.5, "three axes are needed")
    top = scale_end(max(float(np.nanmax(weights)) for weights in maps))
    columns = [c.keys.a[i].name if i is not None else c.keys.b[j].name for i, j in c.keys.pairs]  # type: ignore[index]
    pictures = {"a": maps[0], "b": maps[1], "b − a": maps[1] - maps[0]}
    for panel, (name, picture) in zip(axes, pictures.items(), strict=False):
        is_difference = name == "b − a"
        colors, low = color_map("signed" if is_difference else "weight"), -top if is_difference else 0.0
        image = panel.imshow(np.ma.masked_invalid(picture), cmap=colors, vmin=low, vmax=top, interpolation="nearest")
        tokens_on_axes(panel, names if name == "a" else [], columns)
        panel.set_title(name if is_difference else f"L{layer}·H{head} in {name}", fontsize=9)
        if name != "a":
            panel.figure.colorbar(image, ax=panel, fraction=0.05, pad=0.02).ax.tick_params(labelsize=6)
    return axes
