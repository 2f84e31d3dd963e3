"""Figures of what an answer rests on: attributions beside each other, and how faithful their rankings are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base import colors
from ..base.dataframes import pd
from ..errors import InputError
from ..measures.attribution import CEILING, RANDOM, Attribution
from .figure import ACCENT, INK, MUTED, axes_or_new, axes_row, beside, color_map, plain, quiet, tokens_on_axes
from .letters import legible


@legible
def attributions(found: Attribution | Sequence[Attribution] | Mapping[str, Attribution], axes: Any = None) -> Any:
    """A row of coloured tokens for each attribution of one text: red raises the number, slate lowers it.

    Methods have units of their own, so each row has a scale of its own: its largest |value| is on the right. Brown:
    tokens that the method never removes. Returns the matplotlib axes. Raises InputError for none, for attributions of
    several traces or of several numbers, and for two by one method without names.
    """
    if not isinstance(found, Mapping):
        found = _named([found] if isinstance(found, Attribution) else found)
    if not found:
        raise InputError("no attribution to draw")
    lead = next(iter(found.values()))
    if any(row.trace is not lead.trace or row.name != lead.name for row in found.values()):
        raise InputError("one picture is of one text and one number: draw the others in axes of their own")
    values = np.stack([attribution.values.numpy() for attribution in found.values()])
    largest = np.nanmax(np.abs(values), axis=1)
    tokens = lead.trace.display_tokens
    axes = axes_or_new(axes, 2.6 + 0.42 * min(len(tokens), 30), 1.3 + 0.3 * len(found))
    scaled = values / np.where(largest > 0, largest, 1)[:, None]
    axes.imshow(scaled, cmap=color_map("signed"), vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    tokens_on_axes(axes, list(found), tokens)
    for row, size in enumerate(largest):
        beside(axes, (1, row), f"±{size:.3g}", (4, 0), xycoords=("axes fraction", "data"), va="center")
    axes.set_title(plain(f"{lead.name}: {lead.model:.3f}"), fontsize=9)
    axes.set_xlabel(
        f"{colors.POSITIVE} raises the number, {colors.NEGATIVE} lowers it; each row on a scale of its own (right);\n"
        f"{colors.MISSING}: not removed by this method",
        fontsize=7,
    )
    return axes


def faithfulness(table: pd.DataFrame, axes: Any = None) -> Any:
    """What `attribution.faithfulness` found: a dot for every ranking, comprehensiveness left, sufficiency right.

    The band is the mean of the random rankings ± 2 standard errors, the dashed line the greedy ceiling. Behind each
    dot: how many of the random rankings do worse. Returns two matplotlib axes. Raises InputError for another table,
    and where `axes` are not two.
    """
    if RANDOM not in table.index or "bins" not in table.attrs:
        raise InputError("this draws the table of attribution.faithfulness")
    about = table.attrs
    rankings = [name for name in table.index if name not in (RANDOM, CEILING)]
    axes = axes_row(axes, 2, 7.2, 1.5 + 0.28 * len(rankings), "two axes are needed", sharey=True)
    for panel, column, better in zip(axes, ("comprehensiveness", "sufficiency"), ("more", "less"), strict=False):
        mean, error = table.loc[RANDOM, column], table.loc[RANDOM, f"{column}_error"]
        panel.axvspan(mean - 2 * error, mean + 2 * error, color=MUTED, alpha=0.25, linewidth=0)
        panel.axvline(mean, color=MUTED, linewidth=0.8)
        if CEILING in table.index:
            panel.axvline(table.loc[CEILING, column], color=INK, linewidth=0.8, linestyle="--")
        panel.plot(table.loc[rankings, column], range(len(rankings)), "o", color=ACCENT, markersize=6)
        for y, name in enumerate(rankings):
            beats = f"{int(table.loc[name, f'{column}_beats'])}/{about['rankings']}"
            beside(panel, (table.loc[name, column], y), beats, (0, 6), ha="center", fontsize=6.5)
        panel.set_ylim(len(rankings) - 0.4, -0.8)
        panel.margins(x=0.12)
        panel.set_title(f"{column} ({better} is better)", fontsize=9)
        panel.set_yticks(range(len(rankings)), rankings, fontsize=8)
        panel.tick_params(axis="y", length=0)
        panel.tick_params(axis="x", labelsize=7)
        quiet(panel)
    removed, count = ", ".join(map(str, about["bins"])), about["rankings"]
    caption = (
        f"{about['metric']} lost, mean over {removed} of {about['removable']} tokens removed ({about['remove']}); "
        f"one text\nband: {count} random rankings, mean ± 2 SE; dashed: greedy ceiling; "
        f"k/{count}: random ones that do worse"
    )
    axes[0].figure.supxlabel(plain(caption), fontsize=7)
    return axes


def _named(found: Sequence[Attribution]) -> dict[str, Attribution]:
    """By method. Raises InputError where two have one."""
    named = {attribution.method: attribution for attribution in found}
    if len(named) < len(found):
        raise InputError("two attributions are by one method: pass them with names, as a mapping")
    return named
