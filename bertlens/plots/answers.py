"""Figures of what an answer rests on: attributions beside each other, and how faithful their rankings are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..measures.attribution import CEILING, RANDOM, Attribution
from .figure import ACCENT, INK, MUTED, axes_or_new, plain, pyplot, quiet, signed_map, tokens_on_axes

if TYPE_CHECKING:
    from pandas import DataFrame


def attributions(found: Attribution | Sequence[Attribution] | Mapping[str, Attribution], axes: Any = None) -> Any:
    """A row of coloured tokens for each attribution of one text: blue raises the number, orange lowers it.

    Methods have units of their own, so each row has a scale of its own: its largest |value| is on the right. Grey:
    tokens that the method never removes. Returns the matplotlib axes. Raises InputError for none, for attributions of
    several traces or of several numbers, and for two by one method without names.
    """
    if not isinstance(found, Mapping):
        found = _named([found] if isinstance(found, Attribution) else found)
    if not found:
        raise InputError("no attribution to draw")
    first = next(iter(found.values()))
    if any(one.trace is not first.trace or one.name != first.name for one in found.values()):
        raise InputError("one picture is of one text and one number: draw the others in axes of their own")
    values = np.stack([one.values.numpy() for one in found.values()])
    largest = np.nanmax(np.abs(values), axis=1)
    tokens = first.trace.display_tokens
    axes = axes_or_new(axes, 2.6 + 0.42 * min(len(tokens), 30), 1.3 + 0.3 * len(found))
    shown = values / np.where(largest > 0, largest, 1)[:, None]
    axes.imshow(shown, cmap=signed_map(), vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    tokens_on_axes(axes, list(found), tokens)
    for row, size in enumerate(largest):
        axes.annotate(f"±{size:.3g}", (1, row), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                      va="center", fontsize=7, color=INK)  # fmt: skip
    axes.set_title(plain(f"{first.name}: {first.model:.3f}"), fontsize=9)
    axes.set_xlabel(
        "blue raises the number, orange lowers it; each row on a scale of its own (right);\n"
        "grey: not removed by this method",
        fontsize=7,
    )
    return axes


def faithfulness(table: DataFrame, axes: Any = None) -> Any:
    """What `attribution.faithfulness` found: a dot for every ranking, comprehensiveness left, sufficiency right.

    The band is the mean of the random rankings ± 2 standard errors, the dashed line the greedy ceiling. Behind each
    dot: how many of the random rankings do worse. Returns two matplotlib axes. Raises InputError for another table,
    and where `axes` are not two.
    """
    if RANDOM not in table.index or "bins" not in table.attrs:
        raise InputError("this draws the table of attribution.faithfulness")
    about = table.attrs
    rankings = [name for name in table.index if name not in (RANDOM, CEILING)]
    if axes is None:
        size = (7.2, 1.5 + 0.28 * len(rankings))
        axes = pyplot().subplots(1, 2, figsize=size, sharey=True, layout="constrained")[1]
    axes = np.atleast_1d(axes).ravel()
    if len(axes) < 2:
        raise InputError(f"two axes are needed, not {len(axes)}")
    for one, column, better in zip(axes, ("comprehensiveness", "sufficiency"), ("more", "less"), strict=False):
        mean, error = table.loc[RANDOM, column], table.loc[RANDOM, f"{column}_error"]
        one.axvspan(mean - 2 * error, mean + 2 * error, color=MUTED, alpha=0.25, linewidth=0)
        one.axvline(mean, color=MUTED, linewidth=0.8)
        if CEILING in table.index:
            one.axvline(table.loc[CEILING, column], color=INK, linewidth=0.8, linestyle="--")
        one.plot(table.loc[rankings, column], range(len(rankings)), "o", color=ACCENT, markersize=6)
        for y, name in enumerate(rankings):
            beats = f"{int(table.loc[name, f'{column}_beats'])}/{about['rankings']}"
            one.annotate(beats, (table.loc[name, column], y), (0, 6), textcoords="offset points", ha="center",
                         fontsize=6.5, color=INK)  # fmt: skip
        one.set_ylim(len(rankings) - 0.4, -0.8)
        one.margins(x=0.12)
        one.set_title(f"{column} ({better} is better)", fontsize=9)
        one.set_yticks(range(len(rankings)), rankings, fontsize=8)
        one.tick_params(axis="y", length=0)
        one.tick_params(axis="x", labelsize=7)
        quiet(one)
    removed = ", ".join(map(str, about["bins"]))
    count = about["rankings"]
    said = (
        f"{about['metric']} lost, mean over {removed} of {about['removable']} tokens removed ({about['remove']}); "
        f"one text\nband: {count} random rankings, mean ± 2 SE; dashed: greedy ceiling; "
        f"k/{count}: random ones that do worse"
    )
    axes[0].figure.supxlabel(plain(said), fontsize=7)
    return axes


def _named(found: Sequence[Attribution]) -> dict[str, Attribution]:
    """By method. Raises InputError where two have one."""
    named = {one.method: one for one in found}
    if len(named) < len(found):
        raise InputError("two attributions are by one method: pass them with names, as a mapping")
    return named
