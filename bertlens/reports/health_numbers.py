"""Is the model sound, and do the texts fit it? Heads, layers and dimensions that should not be, rates of the corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..lens import Lens
from ..survey.corpus import Item
from ..survey.distances import head_distances
from .attention_passes import DISTANCE_TEXTS
from .few_texts import FewTexts
from .registry import NO_STATES, count_beyond, few_texts_measure, interval, measure, strongest
from .rules import CENSUS, FACTOR, Measured
from .text_numbers import TextNumbers

DEAD = 0.01  # of the mean length of its layer's heads
DOUBLED = 0.001  # nats
COLLAPSED = 0.01  # nats
IDLE = 0.05  # of a vector's length


@few_texts_measure("health-dead", "norms")
def dead(g: TextNumbers, c: FewTexts) -> Measured:
    values = np.stack(c.norms)
    values = values / np.maximum(values.mean(-1, keepdims=True), 1e-12)
    shortest = strongest(values.mean(0), least=True)
    return Measured(
        **count_beyond([values], DEAD, "below"),
        series={"shortest ÷ mean": values.mean(0).min(1).tolist()},
        **shortest,
        note=f"The shortest has {100 * shortest['head_value']:.0f} % of its layer's mean.",
    )


@few_texts_measure("health-collapsed")
def collapsed(g: TextNumbers, c: FewTexts) -> Measured:
    values = np.stack(c.spread)
    lowest = strongest(values.mean(0), least=True)
    return Measured(
        **count_beyond([values], COLLAPSED, "below"),
        series={"least of any head, nats": values.mean(0).min(1).tolist()},
        **lowest,
        note=f"The least is {lowest['head_value']:.3f} nats.",
    )


def doubled(lens: Lens, items: list[Item], g: TextNumbers, treebank: Path | None) -> Measured:
    """Heads that equal another one: by the mean of some texts, in every one of them, in some of them."""
    distances = np.stack(
        [head_distances(lens, [text], truncation=True, batch_size=1, progress=False) for text in items[:DISTANCE_TEXTS]]
    )
    if distances.shape[1] < 2:
        return Measured(why="the model has a single head")
    distances = distances + np.where(np.eye(distances.shape[1], dtype=bool), np.inf, 0)
    value, low, high = (
        [float((d.min(0) < bound).sum()) for bound in (DOUBLED, DOUBLED * FACTOR, DOUBLED / FACTOR)]
        for d in (distances.mean(0), distances.max(0), distances.min(0))
    )
    nearest = distances.mean(0).min(0)
    at = int(nearest.argmin())
    twin = int(distances.mean(0)[at].argmin())
    heads = g.shape[1]
    return Measured(
        *(value[0], low[0], high[0], len(distances)),
        series={"nearest, nats": nearest.reshape(g.shape).min(1).tolist()},
        head=(at // heads, at % heads),
        head_value=float(nearest.min()),
        note=f"The nearest two, L{at // heads}·H{at % heads} and L{twin // heads}·H{twin % heads}, "
        f"are {nearest.min():.3f} nats apart.",
        ends=f"those in each of {len(distances)} texts, those in one or more",
        other_bounds=[(DOUBLED * FACTOR, low[1], high[1]), (DOUBLED / FACTOR, low[2], high[2])],
    )


@few_texts_measure("health-rogue", "rogue", NO_STATES)
def rogue(g: TextNumbers, c: FewTexts) -> Measured:
    values = np.stack(c.rogue)
    if not np.isfinite(values).any():
        return Measured(n=0, why="no text has two tokens")
    layer = int(np.nanmean(values, 0).argmax())
    return Measured(
        **interval(values[:, layer], share=True),
        series={"largest dimension": np.nanmean(values, 0).tolist()},
        note=f"The worst is layer {layer}.",
    )


@few_texts_measure("health-idle", "layer_changes", NO_STATES)
def idle(g: TextNumbers, c: FewTexts) -> Measured:
    values = np.stack(c.layer_changes)
    return Measured(
        **count_beyond([values], IDLE, "below", "layers"),
        series={"change ÷ length": values.mean(0).tolist()},
        note=f"The least change is {100 * values.mean(0).min():.0f} % of a vector's length.",
    )


@measure("health-cut")
def cut(g: TextNumbers) -> Measured:
    return census(g.truncated, g.n, "texts")


@measure("health-unknown")
def unknown(g: TextNumbers) -> Measured:
    return census(sum(g.unknown), g.tokens, "tokens")


def census(some: int, of: int, units: str) -> Measured:
    """A share of the texts at hand, which is no estimate."""
    share = some / of
    return Measured(share, share, share, of, units, ends=CENSUS)
