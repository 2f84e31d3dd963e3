"""Figures of two runs compared: how far every head is apart, and one head in both."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from ..base.ranking import scale_end
from ..comparison.runs import Comparison
from ..errors import InputError, check_index
from ..trace.trace import Trace
from .figure import INK, axes_or_new, plain, pyplot, signed_map, tokens_on_axes, weight_map

MOST = 5


def compared_heads(c: Comparison, axes: Any = None) -> Any:
    """Jensen-Shannon divergence of every head between two runs, layers down; the five largest carry their rank.

    Returns the matplotlib axes. Raises ModelError where heads are not matched by index.
    """
    heads = c.heads.numpy()
    axes = axes_or_new(axes, 1.6 + 0.32 * heads.shape[1], 1.5 + 0.32 * heads.shape[0])
    top = scale_end(float(heads.max()))
    image = axes.imshow(heads, cmap=weight_map(), vmin=0, vmax=top, interpolation="nearest")
    table = c.most(MOST)
    for rank, (layer, head, apart) in enumerate(
        zip(table["layer"], table["head"], table["divergence"], strict=True), 1
    ):
        if apart > 0:
            color = "white" if apart > top / 2 else INK
            axes.text(head, layer, str(rank), ha="center", va="center", fontsize=8, color=color)
    axes.set_xticks(range(heads.shape[1]), range(heads.shape[1]), fontsize=7)
    axes.set_yticks(range(heads.shape[0]), range(heads.shape[0]), fontsize=7)
    axes.tick_params(length=0)
    axes.set(xlabel="head", ylabel="layer")
    axes.set_title(textwrap.fill(plain(c.said), 16 + 6 * heads.shape[1]), fontsize=7)
    bar = axes.figure.colorbar(image, cax=axes.inset_axes([1.02, 0, 0.03, 1]))
    bar.set_label("nats apart, at most 0.69", fontsize=7)
    bar.ax.tick_params(labelsize=6)
    return axes


def compared_attention(c: Comparison, layer: int, head: int, axes: Any = None) -> Any:
    """One head's attention in a, in b, and b − a, over the tokens of both: gaps are grey.

    a and b are on one scale from 0, the difference on one that reaches as far to both sides. Returns an array of three
    matplotlib axes. Raises as `Comparison.heads`, SelectionError for a head that does not exist, InputError where
    `axes` are not three.
    """
    check_index(head, c.a.n_heads, "head")
    maps = [x[head].cpu().numpy() for x in c.both(Trace.attention, layer)]
    names = [a if a is not None else b for a, b in zip(c.tokens["a"], c.tokens["b"], strict=True)]
    if axes is None:
        size = 1.4 + 0.17 * min(len(names), 40)
        axes = pyplot().subplots(1, 3, figsize=(3 * size + 0.6, size + 0.5), layout="constrained")[1]
    axes = np.atleast_1d(axes).ravel()
    if len(axes) < 3:
        raise InputError(f"three axes are needed, not {len(axes)}")
    top = scale_end(max(float(np.nanmax(one)) for one in maps))
    weights = weight_map().with_extremes(bad=signed_map().get_bad())
    columns = [c.keys.a[i].name if i is not None else c.keys.b[j].name for i, j in c.keys.pairs]  # type: ignore[index]
    pictures = [
        ("a", maps[0], weights, 0.0),
        ("b", maps[1], weights, 0.0),
        ("b − a", maps[1] - maps[0], signed_map(), -top),
    ]
    for one, (name, picture, colors, low) in zip(axes, pictures, strict=False):
        image = one.imshow(np.ma.masked_invalid(picture), cmap=colors, vmin=low, vmax=top, interpolation="nearest")
        tokens_on_axes(one, names if one is axes[0] else [], columns)
        one.set_title(f"L{layer}·H{head} in {name}" if low == 0 else name, fontsize=9)
        if name != "a":
            one.figure.colorbar(image, ax=one, fraction=0.05, pad=0.02).ax.tick_params(labelsize=6)
    return axes
