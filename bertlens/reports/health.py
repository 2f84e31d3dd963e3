"""Is the model sound, and do the texts fit it? Heads, layers and dimensions that should not be, rates of the corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..lens import Lens
from ..survey.corpus import Item
from ..survey.distances import head_distances
from .closer import Closer
from .gathered import Gathered
from .measuring import NO_STATES, close_measure, count_beyond, interval, measure, strongest
from .passes import DISTANCE_TEXTS
from .rules import CENSUS, FACTOR, Measured

DEAD = 0.01  # of the mean length of its layer's heads
DOUBLED = 0.001  # nats
COLLAPSED = 0.01  # nats
IDLE = 0.05  # of a vector's length


@close_measure("health-dead", "written")
def dead(g: Gathered, c: Closer) -> Measured:
    values = np.stack(c.written)
    values = values / np.maximum(values.mean(-1, keepdims=True), 1e-12)
    shortest = strongest(values.mean(0), least=True)
    return Measured(
        **count_beyond([values], DEAD, "below"),
        series={"shortest ÷ mean": values.mean(0).min(1).tolist()},
        **shortest,
        note=f"The shortest has {100 * shortest['head_value']:.0f} % of its layer's mean.",
    )


@close_measure("health-collapsed")
def collapsed(g: Gathered, c: Closer) -> Measured:
    values = np.stack(c.spread)
    lowest = strongest(values.mean(0), least=True)
    return Measured(
        **count_beyond([values], COLLAPSED, "below"),
        series={"least of any head, nats": values.mean(0).min(1).tolist()},
        **lowest,
        note=f"The least is {lowest['head_value']:.3f} nats.",
    )


def doubled(lens: Lens, items: list[Item], g: Gathered, treebank: Path | None) -> Measured:
    """Heads that equal another one: by the mean of some texts, in every one of them, in some of them."""
    every = np.stack(
        [head_distances(lens, [text], truncation=True, batch_size=1, progress=False) for text in items[:DISTANCE_TEXTS]]
    )
    if every.shape[1] < 2:
        return Measured(why="the model has a single head")
    every = every + np.where(np.eye(every.shape[1], dtype=bool), np.inf, 0)
    value, low, high = (
        [float((d.min(0) < bound).sum()) for bound in (DOUBLED, DOUBLED * FACTOR, DOUBLED / FACTOR)]
        for d in (every.mean(0), every.max(0), every.min(0))
    )
    nearest = every.mean(0).min(0)
    at = int(nearest.argmin())
    other = int(every.mean(0)[at].argmin())
    heads = g.shape[1]
    return Measured(
        *(value[0], low[0], high[0], len(every)),
        series={"nearest, nats": nearest.reshape(g.shape).min(1).tolist()},
        head=(at // heads, at % heads),
        head_value=float(nearest.min()),
        note=f"The nearest two, L{at // heads}·H{at % heads} and L{other // heads}·H{other % heads}, "
        f"are {nearest.min():.3f} nats apart.",
        ends=f"those in each of {len(every)} texts, those in one or more",
        other_bounds=[(DOUBLED * FACTOR, low[1], high[1]), (DOUBLED / FACTOR, low[2], high[2])],
    )


@close_measure("health-rogue", "rogue", NO_STATES)
def rogue(g: Gathered, c: Closer) -> Measured:
    values = np.stack(c.rogue)
    if not np.isfinite(values).any():
        return Measured(n=0, why="no text has two tokens")
    layer = int(np.nanmean(values, 0).argmax())
    return Measured(
        **interval(values[:, layer], share=True),
        series={"largest dimension": np.nanmean(values, 0).tolist()},
        note=f"The worst is layer {layer}.",
    )


@close_measure("health-idle", "changed", NO_STATES)
def idle(g: Gathered, c: Closer) -> Measured:
    values = np.stack(c.changed)
    return Measured(
        **count_beyond([values], IDLE, "below", "layers"),
        series={"change ÷ length": values.mean(0).tolist()},
        note=f"The least change is {100 * values.mean(0).min():.0f} % of a vector's length.",
    )


@measure("health-cut")
def cut(g: Gathered) -> Measured:
    return census(g.truncated, g.n, "texts")


@measure("health-unknown")
def unknown(g: Gathered) -> Measured:
    return census(sum(g.unknown), g.tokens, "tokens")


def census(some: int, of: int, units: str) -> Measured:
    """A share of the texts at hand, which is no estimate."""
    share = some / of
    return Measured(share, share, share, of, units, ends=CENSUS)
