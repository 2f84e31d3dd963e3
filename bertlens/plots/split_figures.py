"""Figures of why a head looks there: a score as a waterfall of its parts, and as a sum of maps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from torch import Tensor

from ..base.vocabulary import SOURCES
from ..errors import InputError
from ..measures import sources as splits
from ..trace.trace import Trace
from .figure import INK, MUTED, axes_or_new, axes_row, beside, color_map, plain, quiet
from .letters import legible

LARGEST_PARTS = 6
NAMES = {kind: SOURCES[kind].label for kind in ("head", "mlp")}


@legible
def sources(s: splits.Sources, axes: Any = None, *, largest: int = LARGEST_PARTS) -> Any:
    """One number by its sources: a waterfall of the kinds from 0 to the net, then the largest parts, the rest folded.

    Red raises the number, slate lowers it. Below: the sum, the model's number, their difference, and Σ|parts| / |net|
    (how much cancels; not where the net is below 0.1). Returns the matplotlib axes. Raises InputError for largest < 1.
    """
    if largest < 1:
        raise InputError(f"largest must be at least 1, not {largest}")
    kinds = s.by("kind")
    ordered = sorted(s.rows, key=lambda row: -abs(row[3]))
    tail = ordered[largest:]
    bars = [(NAMES.get(kind, kind), value) for kind, value in kinds.items()]
    top_sources = [(_name(row), row[3]) for row in ordered[:largest]]
    if tail:
        top_sources.append((f"{len(tail)} others", sum(row[3] for row in tail)))
    axes = axes_or_new(axes, 6.4, 0.24 * (len(bars) + len(top_sources) + 2) + 1.6)
    plus, minus = (color_map("signed")(x) for x in (0.92, 0.08))
    labels: dict[int, str] = {}

    def bar(y: int, name: str, value: float, left: float = 0.0, color: Any = None, hatch: str = "") -> None:
        axes.barh(y, value, left=left, height=0.7, color=color or (plus if value > 0 else minus), hatch=hatch)
        beside(axes, (max(left, left + value), y), f"{value:+.2f}", (3, 0), va="center")
        labels[y] = name

    net = 0.0
    for y, (name, value) in enumerate(bars):
        bar(y, name, value, left=net)
        net += value
        axes.plot([net] * 2, [y - 0.35, y + 1.35], color=MUTED, linewidth=0.6)
    bar(len(bars), "net", net, color=INK)
    for y, (name, value) in enumerate(top_sources, len(bars) + 2):
        bar(y, name, value, hatch="//" if name.endswith("others") else "")
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.set_yticks(list(labels), list(labels.values()), fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.tick_params(axis="y", length=0)
    axes.set_title(plain(s.what), fontsize=9, wrap=True)
    axes.set_xlabel(foot(s), fontsize=7)
    quiet(axes)
    return axes


def foot(s: splits.Sources) -> str:
    """What stands below every picture of sources."""
    lines = [f"in {s.unit}: sum {s.total:.4f}, model {s.model:.4f}, difference {s.gap:.0e}"]
    if (spread := s.spread) is not None:
        lines[0] += f"; Σ|parts| / |net| = {spread:.1f}"
    return "\n".join([*lines, *s.notes])


def score_maps(trace: Trace, layer: int, head: int, most: int = 5, axes: Any = None) -> Any:
    """One head's scores, centred over keys, and the maps that add up to them: the `most` largest shares, and the rest.

    All on one diverging scale, queries down and keys across; each title has the map's share of what tells keys apart
    (`measures.sources.map_shares`). Returns an array of matplotlib axes. Raises as `measures.sources.maps`, InputError
    where most < 1 or `axes` are not enough.
    """
    if most < 1:
        raise InputError(f"most must be at least 1, not {most}")
    maps = splits.maps(trace, layer, head, center=True)
    shares = splits.map_shares(maps)
    largest = sorted(maps, key=lambda pair: -abs(np.nan_to_num(shares[pair])))[:most]
    small = [pair for pair in maps if pair not in largest]
    groups = {"all": list(maps), **{" · ".join(pair): [pair] for pair in largest}}
    if small:
        groups[f"rest ({len(small)} maps)"] = small
    pictures = [
        (name, _sum(maps[pair] for pair in pairs), sum(shares[pair] for pair in pairs))
        for name, pairs in groups.items()
    ]
    count = len(pictures)
    axes = axes_row(axes, count, 1.7 * count, 2.3, f"{count} maps need as many axes")
    arrays = [picture.cpu().numpy() for _, picture, _ in pictures]
    bound = max(float(np.nanmax(np.abs(array))) for array in arrays) or 1.0
    for panel, (name, _, share), array in zip(axes, pictures, arrays, strict=False):
        image = panel.imshow(array, cmap=color_map("signed"), vmin=-bound, vmax=bound, interpolation="nearest")
        panel.set_title(f"{name}\n{100 * share:.0f} %", fontsize=7)
        panel.set(xticks=[], yticks=[])
    axes[0].set_ylabel(f"L{layer}·H{head}, query", fontsize=7)
    axes[0].set_xlabel("key", fontsize=7)
    bar = axes[0].figure.colorbar(image, ax=list(axes[:count]), fraction=0.02, pad=0.01)
    bar.set_label("score less the row's mean", fontsize=7)
    return axes


def _sum(maps: Iterable[Tensor]) -> Tensor:
    """(S, S) float64"""
    total: Any = 0
    for map_ in maps:
        total = total + map_.double()
    return total


def _name(row: splits.Row) -> str:
    kind, layer, head, _ = row
    if head is not None:
        return f"L{layer}·H{head}"
    return kind if layer is None else f"MLP of L{layer}"
