"""Figures of the geometry: cones of the stream and of attention, norms and spectra of a head, directionality."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..base import colors
from ..base.vocabulary import phrases
from ..errors import check_index
from ..lens import Lens
from ..measures import geometry
from ..measures.spectra import singular_values, weights_table
from ..trace.trace import Trace
from .figure import ACCENT, INK, MUTED, axes_or_new, centered, color_map, layers_on_axis, legend, pyplot, quiet

_KINDS = {name: colors.SERIES["light"][index] for name, index in colors.VECTORS.items() if name != "attention"}
# of the stream through a layer: name, marker, its colour and its edge's
_STAGES = (
    ("hidden state", "o", INK, INK),
    ("heads, mean", "D", ACCENT, ACCENT),
    ("concatenated", "s", "white", INK),
    ("after W_O and residual", "^", "white", INK),
)


def norm_histograms(
    trace: Trace, layer: int, head: int, bins: int = 20, include_special: bool = True, bounds: bool = False
) -> Any:
    """Norms of a head's queries, keys, values and outputs, in the same bins: Figure 2 of Bonino et al. 2025.

    `bounds` marks σ_max(W_h) · max ‖x‖ + ‖b_h‖, which is far to the right of most norms. Returns the matplotlib figure.
    Raises as `measures.geometry.norm_histograms`.
    """
    histograms = geometry.norm_histograms(trace, layer, head, bins, include_special)
    figure, panels = pyplot().subplots(1, 4, figsize=(11, 2.5), sharex=True, sharey=True, layout="constrained")
    for panel, (kind, color) in zip(panels, _KINDS.items(), strict=True):
        panel.stairs(histograms.counts[kind], histograms.edges, fill=True, color=color)
        sigma = histograms.sigma_max[kind]
        panel.set_title(kind if np.isnan(sigma) else f"{kind}, σ_max(W) = {sigma:.2f}", fontsize=9)
        panel.set_xlabel("norm")
        if bounds and np.isfinite(histograms.bounds[kind]):
            panel.axvline(histograms.bounds[kind], color=MUTED, linestyle=":")
        quiet(panel)
    panels[0].set_ylabel(f"tokens (special {histograms.special})")
    figure.suptitle(f"L{layer}·H{head}", fontsize=10)
    return figure


def spectra(trace: Trace, layer: int, head: int, axes: Any = None) -> Any:
    """Singular values ÷ the largest of a head's queries, keys, values, outputs and attention, on a logarithmic scale.

    A steep curve has few directions, a flat one many. Returns the matplotlib axes. Raises SelectionError for a head
    that does not exist, InputError where values are NaN or Inf.
    """
    check_index(head, trace.n_heads, "head")
    matrices = {
        "query": trace.query(layer)[head],
        "key": trace.key(layer)[head],
        "value": trace.value(layer)[head],
        "context": trace.head_context(layer)[head],
        "attention": trace.attention(layer)[head],
    }
    axes = axes_or_new(axes, 5.2, 3.2)
    for (name, matrix), marker in zip(matrices.items(), "os^Dv", strict=True):
        values = singular_values(matrix).cpu().numpy()
        look = {"color": _KINDS.get(name, ACCENT), "marker": marker, "markersize": 3, "linewidth": 1.2}
        axes.plot(np.arange(1, len(values) + 1), values / values[0], label=name, **look)
    axes.set(yscale="log", ylim=(1e-4, 1.3), xlabel=phrases.SINGULAR_VALUES, ylabel="σ / σ₁")
    axes.set_title(f"L{layer}·H{head}", fontsize=9)
    legend(axes, loc=None)
    quiet(axes)
    return axes


def cone(trace: Trace, include_special: bool = True, axes: Any = None) -> Any:
    """The cone index Ī through the stream: input, heads (bar: least to most), concatenation, attention block, output.

    Layers side by side, the chance line 1 / √n dashed. Returns the matplotlib axes. Raises as
    `measures.geometry.layer_table`.
    """
    table = geometry.layer_table(trace, include_special)
    stages = ("cone_input", "cone_heads", "cone_concatenation", "cone_attention")
    axes = axes_or_new(axes, max(6, 1.1 * len(table)), 3.4)
    positions = np.arange(len(table))
    values = table[list(stages)].to_numpy()
    path = np.append(values.flatten(), table["cone_output"].iloc[-1])
    x = np.append((positions[:, None] + np.arange(4) / 4).flatten(), len(table))
    for layer in positions[1::2]:
        axes.axvspan(layer, layer + 1, color=colors.INKS["light"]["soft"], zorder=0)
    axes.plot(x, path, color=INK, linewidth=1.2, zorder=2)
    low, high = table["cone_heads_min"], table["cone_heads_max"]
    axes.vlines(positions + 0.25, low, high, color=ACCENT, alpha=0.35, linewidth=3)
    for offset, (name, marker, face, edge) in enumerate(_STAGES):
        at = slice(offset, None, 4)
        axes.scatter(x[at], path[at], marker=marker, facecolor=face, edgecolor=edge, s=30, label=name, zorder=3)
    chance = table["chance"].iloc[0]
    axes.axhline(chance, color=MUTED, linestyle="--", linewidth=0.8, label=f"chance, 1/√{table['tokens'].iloc[0]}")
    axes.set(ylim=(0, 1.02), xlim=(-0.1, len(table) + 0.1), ylabel="cone index Ī = I / n")
    layers_on_axis(axes.xaxis, table["layer"], positions + 0.5)
    axes.tick_params(axis="x", length=0)
    legend(axes, ncols=5, loc="lower left", bbox_to_anchor=(0, 1))
    quiet(axes)
    return axes


def directionality(lens: Lens, axes: Any = None) -> Any:
    """`directionality` of every head's W_QK over layers and of the layers' own, with what chance gives.

    95 % of random weights of a head's size lie in the band, of a layer's size between the dashed lines. Returns the
    matplotlib axes. Raises as `measures.spectra.weights_table`.
    """
    table = weights_table(lens)
    joint = table["head"] == "all"
    axes = axes_or_new(axes, max(5, 0.6 * joint.sum() + 1), 3.2)
    for rows, name, marker, color in ((table[~joint], "heads", "o", ACCENT), (table[joint], "all heads", "D", INK)):
        chance = rows["directionality_chance"].iloc[0]
        if name == "heads":
            axes.axhspan(-chance, chance, color=MUTED, alpha=0.15, linewidth=0, zorder=0)
        else:
            axes.hlines([-chance, chance], -0.5, joint.sum() - 0.5, color=MUTED, linestyle="--", linewidth=0.8)
        inside = (rows["directionality"].abs() <= chance).mean()
        label = f"{name}: random ±{chance:.2f}, {inside:.0%} inside"
        axes.scatter(rows["layer"], rows["directionality"], marker=marker, color=color, s=18, label=label, zorder=2)
    axes.axhline(0, color=MUTED, linewidth=0.6, zorder=1)
    axes.set(ylim=(-1.02, 1.02), xlim=(-0.5, joint.sum() - 0.5), xlabel="layer", ylabel="directionality of W_QK")
    axes.set_xticks(sorted(set(table["layer"])))
    legend(axes, loc="lower left", bbox_to_anchor=(0, 1))
    quiet(axes)
    return axes


def softmax_cones(trace: Trace, include_special: bool = True, axes: Any = None) -> Any:
    """Ī of every head's attention matrix, layers down and heads across, from 0 to 1: 1 is a map with equal rows.

    Returns the matplotlib axes.
    """
    values = torch.stack([geometry.attention_cone(trace, layer, include_special) for layer in range(trace.n_layers)])
    axes = axes_or_new(axes, 0.5 * trace.n_heads + 0.8, 0.42 * trace.n_layers + 0.8)
    cones = values.cpu().numpy()
    axes.imshow(cones, cmap=color_map("weight"), vmin=0, vmax=1, aspect="auto")
    for (layer, head), value in np.ndenumerate(cones):
        centered(axes, head, layer, f"{value:.2f}".removeprefix("0"), "white" if value > 0.6 else INK)
    axes.set_xticks(range(trace.n_heads), [f"H{head}" for head in range(trace.n_heads)], fontsize=8)
    layers_on_axis(axes.yaxis, range(trace.n_layers), fontsize=8)
    axes.tick_params(length=0)
    return axes
