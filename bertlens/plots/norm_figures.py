"""Figures of the norm family: weight against norm, shares by kind of token, mixing ratios."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import torch

from ..base import colors
from ..base.quotes import isolate
from ..base.vocabulary import CATEGORIES
from ..errors import check_index
from ..measures import categories, norms
from ..measures.ranks import spearman
from ..trace.trace import Trace
from .figure import INK, MUTED, axes_or_new, centered, color_map, layers_on_axis, legend, plain, quiet
from .letters import legible

# colour and marker: told apart without colour
_STYLES = dict(zip(CATEGORIES, zip(colors.SERIES["light"], "os^.", strict=False), strict=True))


@legible
def weight_against_norm(trace: Trace, layer: int, head: int | None = None, axes: Any = None) -> Any:
    """α over ‖f(x)‖, a point for every query and key of one head, or of all heads of a layer; by kind of token.

    Dashed: curves of equal ‖αf(x)‖. The legend has Spearman's ρ: of the head, or the mean within heads and the pooled
    one of the layer, which differ. Returns the matplotlib axes. Raises as `measures.norms.transformed_norm`.
    """
    alpha, lengths = trace.attention(layer), norms.transformed_norm(trace, layer)
    if head is not None:
        check_index(head, trace.n_heads, "head")
        alpha, lengths = alpha[head : head + 1], lengths[head : head + 1]
    kinds = categories.categories(trace)
    axes = axes_or_new(axes, 6.4, 4)
    top = float(alpha.max())
    axes.set(ylim=(-0.03 * top, 1.06 * top), xlim=(0, 1.06 * float(lengths.max())))
    _equal_products(axes, float((alpha * lengths[:, None]).max()))
    for k, (color, marker) in enumerate(_STYLES.values()):
        of_kind = kinds == k
        if not of_kind.any():
            continue
        y = alpha[:, :, of_kind]
        x = lengths[:, None, of_kind].expand_as(y)
        label = f"{_label(trace, kinds, k)}: {_rho(x, y)}"
        look = {"s": 16, "color": color, "marker": marker, "alpha": 0.5, "linewidths": 0}
        axes.scatter(x.flatten().cpu(), y.flatten().cpu(), label=label, **look)
    where = f"L{layer}" if head is None else f"L{layer}·H{head}"
    axes.set(xlabel="‖f(x)‖", ylabel="α")
    axes.set_title(f"{where}: weight against norm", fontsize=9)
    legend(axes).set_title("Spearman's ρ", {"size": 7})
    quiet(axes)
    return axes


@legible
def category_shares(
    traces: Trace | Iterable[Trace], axes: Any = None, *, punctuation: Collection[str] | None = None
) -> Any:
    """Per layer two bars, stacked by kind of token: share of attention α (pale), share of norm ‖αf(x)‖ (full).

    Over one or several traces of a model; punctuation as in `measures.categories.categories`. Returns the matplotlib
    axes. Raises as `measures.categories.shares`.
    """
    shares = categories.shares(traces, punctuation)
    layers = np.arange(len(shares.attention))
    axes = axes_or_new(axes, max(4, 0.9 * len(layers) + 1.6), 3.4)
    for values, offset, alpha in ((shares.attention, -0.2, 0.45), (shares.norm, 0.2, 1.0)):
        below = np.zeros(len(layers))
        for k, (name, (color, _)) in enumerate(_STYLES.items()):
            share = values[:, k].numpy()
            if not shares.tokens[k]:
                continue
            label = name if offset > 0 else None
            axes.bar(layers + offset, share, 0.36, bottom=below, color=color, alpha=alpha, label=label)
            for layer, height in enumerate(share):
                if height >= 0.08:
                    ink = "white" if alpha == 1 else INK
                    centered(axes, layer + offset, below[layer] + height / 2, f"{100 * height:.0f}", ink)
            below += share
    axes.set(ylim=(0, 1), ylabel="share")
    axes.set_title("left α, right ‖αf(x)‖, in per cent", fontsize=9)
    layers_on_axis(axes.xaxis, layers)
    axes.tick_params(axis="x", length=0)
    legend(axes, reverse=True)
    quiet(axes)
    return axes


@legible
def mixing_ratios(trace: Trace, method: str = "attnresln-n", axes: Any = None) -> Any:
    """The mixing ratio of every layer (down) and token (across), from 0 (keeps itself) to 1 (all from others).

    method as in `measures.norms.mixing_ratio`. Returns the matplotlib axes.
    """
    ratios = torch.stack([norms.mixing_ratio(trace, layer, method) for layer in range(trace.n_layers)]).cpu().numpy()
    axes = axes_or_new(axes, max(4, 0.22 * trace.n_tokens + 1.6), 0.3 * trace.n_layers + 1.6)
    top = max(float(ratios.max()), 1e-6)
    image = axes.imshow(ratios, cmap=color_map("weight"), vmin=0, vmax=top, aspect="auto")
    tokens = [plain(token) for token in trace.display_tokens]
    axes.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=7)
    layers_on_axis(axes.yaxis, range(trace.n_layers), fontsize=8)
    axes.tick_params(length=0)
    axes.set_title(f"mixing ratio ({method})", fontsize=9)
    axes.figure.colorbar(image, ax=axes, fraction=0.025, pad=0.02)
    return axes


def _equal_products(axes: Any, most: float) -> None:
    """Curves on which α ‖f(x)‖ is a quarter, half and three quarters of its largest value."""
    right = axes.get_xlim()[1]
    x = np.linspace(right / 400, right, 400)
    for fraction in (0.25, 0.5, 0.75):
        axes.plot(x, fraction * most / x, color=MUTED, linestyle="--", linewidth=0.7, alpha=0.6, zorder=0)


def _label(trace: Trace, kinds: torch.Tensor, k: int) -> str:
    """The kind's name, with its token where all are the same: 'first ([CLS])'."""
    tokens = {trace.display_tokens[i] for i in (kinds == k).nonzero()[:, 0].tolist()}
    name = categories.NAMES[k]
    return plain(f"{name} ({isolate(tokens.pop())})") if len(tokens) == 1 else name


def _rho(x: torch.Tensor, y: torch.Tensor) -> str:
    """ρ of one head's points, or the mean within heads and the pooled one: (H, S, n) each."""
    within = torch.tensor([spearman(a.flatten(), b.flatten()) for a, b in zip(x, y, strict=True)], device="cpu")
    mean = float(within.nanmean())
    text = "undefined" if np.isnan(mean) else f"{mean:.2f}"
    return text if len(x) == 1 else f"{text} within, {spearman(x.flatten(), y.flatten()):.2f} pooled"
