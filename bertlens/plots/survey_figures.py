"""Figures of a survey: statistics by layer, the map of heads, relations, gradients, and one sentence's parse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import colors
from ..base.amounts import amount
from ..base.dataframes import pd
from ..base.quotes import is_right_to_left
from ..base.vocabulary import phrases
from ..errors import InputError, check_index, check_name
from ..measures.categories import NAMES as CATEGORIES
from ..trace.trace import Trace
from .figure import ACCENT, INK, MUTED, axes_or_new, beside, layers_on_axis, legend, plain, quiet
from .letters import legible

if TYPE_CHECKING:
    from ..survey import HeadStats, Sentence

_MARKERS = "os^Dv*PX"


def layer_profiles(
    stats: HeadStats,
    names: Sequence[str] = ("previous", "next", "first", "separator", "punctuation"),
    average: str = "text",
    axes: Any = None,
) -> Any:
    """Statistics by layer, mean over heads: full lines by weight α, dashed ones by norm ‖αf(x)‖ where there are norms.

    names, average as in HeadStats.table. Clark et al. 2019, figure 2. Returns the matplotlib axes. Raises as
    HeadStats.values; InputError for more than 8 names.
    """
    if len(names) > len(colors.GROUPS):
        raise InputError(f"at most {len(colors.GROUPS)} statistics can be told apart in one figure, not {len(names)}")
    axes = axes_or_new(axes, 6.4, 3.6)
    with_norms = stats.has_norms
    for color, marker, name in zip(colors.GROUPS, _MARKERS, names, strict=False):
        look = {"color": color, "marker": marker, "markersize": 4, "linewidth": 1.4}
        axes.plot(stats.values(name, "weight", average).mean(1), label=name, **look)
        if with_norms:
            axes.plot(stats.values(name, "norm", average).mean(1), linestyle="--", **look | {"alpha": 0.7})
    layers_on_axis(axes.xaxis, range(stats.shape[0]), fontsize=8)
    axes.set(ylabel="mean over heads", ylim=(0, None))
    axes.set_title(f"{amount(stats.n_texts, 'text')}; full: weight{', dashed: norm' if with_norms else ''}", fontsize=9)
    legend(axes)
    quiet(axes)
    return axes


def heads_by_layer(
    stats: HeadStats,
    name: str,
    by: str = "weight",
    average: str = "text",
    reference: float | None = None,
    axes: Any = None,
) -> Any:
    """One statistic by its name, a point for every head over its layer, a line through the layers' means.

    reference: a dashed line to compare with, say the mean ln n for entropies (Clark et al. 2019, figure 4). by,
    average and errors as HeadStats.values. Returns the matplotlib axes.
    """
    values = stats.values(name, by, average)
    axes = axes_or_new(axes, 5.2, 3.4)
    layers, heads = values.shape
    axes.scatter(np.repeat(np.arange(layers), heads), values.ravel(), s=14, color=MUTED, alpha=0.6, linewidths=0)
    axes.plot(values.mean(1), color=ACCENT, linewidth=1.4)
    if reference is not None:
        axes.axhline(reference, color=MUTED, linestyle="--", linewidth=1)
    layers_on_axis(axes.xaxis, range(layers), fontsize=8)
    axes.set(ylabel=f"{name} ({by})", ylim=(0, None))
    quiet(axes)
    return axes


def head_map(table: pd.DataFrame, color: Sequence[float] | str = "layer", axes: Any = None) -> Any:
    """Heads as points, near where their attention is alike, from `survey.head_map`; its stress in the title.

    color: "layer", a colour and a marker for each layer; another column of the table, or a value for every head (say a
    statistic), by colour. Heads are named "3·7". Clark et al. 2019, figure 6. Returns the matplotlib axes. Raises
    InputError for another number of values.
    """
    values = table[color].to_numpy() if isinstance(color, str) else np.asarray(color, dtype=float).ravel()
    if len(values) != len(table):
        raise InputError(f"{len(values)} values for {len(table)} heads: give one for each")
    axes = axes_or_new(axes, 5.6, 4.4)
    look = {"s": 70, "edgecolors": "white", "linewidths": 0.6}
    if isinstance(color, str) and color == "layer":
        for layer, heads in table.groupby("layer"):
            hue, marker = colors.GROUPS[layer % 8], _MARKERS[(layer + layer // 8) % 8]
            axes.scatter(heads["x"], heads["y"], color=hue, marker=marker, label=f"L{layer}", **look)
        legend(axes)
    else:
        points = axes.scatter(table["x"], table["y"], c=values, cmap="viridis", **look)
        axes.figure.colorbar(points, ax=axes, fraction=0.03, pad=0.02, label=color if isinstance(color, str) else None)
    for row in table.itertuples():
        beside(axes, (row.x, row.y), f"{row.layer}·{row.head}", (5, 2), fontsize=5.5)
    axes.set(xticks=[], yticks=[], aspect="equal")
    if "stress" in table.attrs:
        stress, even = table.attrs["stress"], table.attrs["even_stress"]
        off = phrases.DISTANCES.format(share=f"{stress:.0%}")
        stress_line = f"stress {stress:.2f}: {off} (all equal: {even:.0%})"
        nearest = f"true nearest head is nearest here for {table.attrs['nearest_kept']} of {len(table)}"
        axes.set_title(f"{stress_line}\n{nearest}", fontsize=8)
    return axes


def relation_bars(best: pd.DataFrame, most: int = 25, axes: Any = None) -> Any:
    """Each relation's best head, its held-out accuracy with its 95 % interval, beside the best fixed offset (circle).

    best: the table of `survey.best_heads`; at most so many rows of it. In brackets the number of words. Clark et al.
    2019, table 1. Returns the matplotlib axes.
    """
    table = best.head(most).iloc[::-1].reset_index(drop=True)
    axes = axes_or_new(axes, 6.4, 0.26 * len(table) + 1)
    axes.barh(table.index, table["accuracy"], color=MUTED, alpha=0.75, height=0.62)
    for row in table.itertuples():
        axes.plot([row.low, row.high], [row.Index] * 2, color=INK, linewidth=1)
        arrow = "→" if row.direction == "dep->head" else "←"
        axes.text(1.02, row.Index, f"{row.layer}·{row.head} {arrow}", fontsize=7, va="center")
    axes.plot(table["offset_accuracy"], table.index, "o", markerfacecolor="white", markeredgecolor=ACCENT, markersize=5)
    axes.set_yticks(table.index, [f"{row.relation} ({row.n})" for row in table.itertuples()], fontsize=7)
    axes.set(xlim=(0, 1), ylim=(-0.6, len(table) - 0.4), xlabel="held-out accuracy")
    axes.set_title("best head (layer·head; → word to its head, ← head to the word); ○ best offset", fontsize=8)
    quiet(axes)
    return axes


def gradients_by_layer(table: pd.DataFrame, axes: Any = None) -> Any:
    """Mean |dL/dα| by layer and kind of the key; table: of `survey.attention_gradients`. Clark et al. 2019, figure 3.

    Returns the matplotlib axes.
    """
    axes = axes_or_new(axes, 5.2, 3.4)
    means = table.groupby("layer")[list(CATEGORIES)].mean()
    for color, marker, name in zip(colors.GROUPS, _MARKERS, CATEGORIES, strict=False):
        if means[name].notna().any():
            axes.plot(means[name], label=name, color=color, marker=marker, markersize=4, linewidth=1.4)
    layers_on_axis(axes.xaxis, range(len(means)), fontsize=8)
    axes.set(ylabel="mean |dL/dα|", yscale="log")
    axes.set_title(f"{table.attrs.get('objective')}, {table.attrs.get('texts')} texts", fontsize=9)
    legend(axes, loc=None)
    quiet(axes)
    return axes


@legible
def parse(
    trace: Trace,
    sentence: Sentence,
    layer: int,
    head: int,
    direction: str = "dep->head",
    rows: str = "mean",
    axes: Any = None,
) -> Any:
    """A sentence: its gold arcs above, below the arcs that a head predicts, full where right and dashed where wrong.

    trace: of lens.trace_words(sentence.words). direction, rows as in `survey.relation_scores`. Returns the matplotlib
    axes. Raises SelectionError for a head or direction that does not exist, InputError where words are missing.
    """
    from ..survey.syntax import DIRECTIONS, NONE, predicted_words, word_attention

    check_index(head, trace.n_heads, "head")
    check_name(direction, DIRECTIONS, "direction")
    every_head = predicted_words(word_attention(trace, layer, len(sentence), rows))
    predicted = every_head[DIRECTIONS.index(direction), head].tolist()
    axes = axes_or_new(axes, max(4, 0.55 * len(sentence)), 3.2)
    right = 0
    for d, (gold, guess) in enumerate(zip(sentence.heads, predicted, strict=True)):
        if gold >= 0:
            arc(axes, d, gold, 1, INK, "-")
            axes.text(d, 0.62, sentence.relations[d], ha="center", fontsize=5.5, color=MUTED)
        if guess != NONE:
            right += guess == gold
            arc(axes, d, guess, -1, INK if guess == gold else ACCENT, "-" if guess == gold else "--")
    for d, word in enumerate(sentence.words):
        axes.text(d, 0, plain(word), ha="center", va="center", fontsize=8)
    above, below = (
        max(2.0, max(arc_height(d, h) for d, h in enumerate(heads)) + 1) for heads in (sentence.heads, predicted)
    )
    axes.set(xlim=(-0.7, len(sentence) - 0.3), ylim=(-below - 0.3, above + 0.3))
    head_said = f"L{layer}·H{head} {direction}, {right} of {len(sentence)} right"
    if is_right_to_left("".join(sentence.words)):
        axes.invert_xaxis()
    axes.set_title(phrases.PARSES.format(guess=head_said), fontsize=9)
    axes.axis("off")
    return axes


def arc_height(a: int, b: int) -> float:
    return 0.0 if b < 0 else 0.75 * abs(a - b) ** 0.8


def arc(axes: Any, word: int, other: int, side: int, color: str, style: str) -> None:
    """From a word to what is (or is taken for) its head, which has the arrow."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    base, top = side * 0.9, side * (0.9 + arc_height(word, other) * 4 / 3)
    curve = Path([(word, base), (word, top), (other, top), (other, base)], [Path.MOVETO, *[Path.CURVE4] * 3])
    axes.add_patch(PathPatch(curve, fill=False, edgecolor=color, linestyle=style, linewidth=1))
    axes.plot(other, base, marker="v" if side > 0 else "^", color=color, markersize=3.5)
