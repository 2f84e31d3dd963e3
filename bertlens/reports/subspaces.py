"""The numbers of claims about what a head reads and puts out: Bonino et al. 2025."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import ModelError
from ..lens import Lens
from ..measures.spectra import weights_table
from ..survey.corpus import Item
from ..survey.intervals import count_interval, mean_interval
from .closer import Closer
from .gathered import Gathered
from .measuring import close_measure, interval, strongest
from .rules import Measured


def direction(lens: Lens, items: list[Item], g: Gathered, treebank: Path | None) -> Measured:
    """The share of heads whose directionality is outside what random weights have."""
    try:
        table = weights_table(lens)
    except ModelError as error:
        return Measured(why=str(error).split(": ")[0])
    table = table[table["head"] != "all"]
    value = table["directionality"].to_numpy(float).reshape(g.shape)
    outside = np.abs(value) > table["directionality_chance"].to_numpy(float).reshape(g.shape)
    layer, head = np.unravel_index(int(np.abs(value).argmax()), g.shape)
    low, high = count_interval(float(outside.sum()), outside.size)
    keys = int((outside & (value > 0)).sum())
    return Measured(
        *(float(outside.mean()), low, high, outside.size, "heads"),
        chance=0.05,
        series={"outside": outside.mean(1).tolist()},
        head=(int(layer), int(head)),
        head_value=float(value[layer, head]),
        note=f"Of {int(outside.sum())} heads outside, {keys} have keys that stand out.",
    )


def subspaces(lens: Lens, items: list[Item], g: Gathered, treebank: Path | None) -> Measured:
    """How much the queries and keys of a head read the same, beside random subspaces; by heads."""
    try:
        table = weights_table(lens)
    except ModelError as error:
        return Measured(why=str(error).split(": ")[0])
    table = table[table["head"] != "all"]
    ratio = (table["overlap"] / table["chance"]).to_numpy(float).reshape(g.shape)
    others = (table["overlap_others"] / table["chance"]).to_numpy(float).reshape(g.shape)
    if ratio.size < 2:
        return Measured(why="the model has a single head")
    if (table["chance"] >= 1).any():
        return Measured(why="one head of the layer reads everything")
    value, low, high = (float(end) for end in mean_interval(ratio.ravel()))
    beside = others[np.isfinite(others)]
    return Measured(
        *(value, low, high, ratio.size, "heads"),
        chance=1.0,
        series={"its own keys": ratio.mean(1).tolist()}
        | ({"other heads' keys": others.mean(1).tolist()} if len(beside) else {}),
        **strongest(ratio),
        note=f"With the keys of its layer's other heads it is {beside.mean():.2f}." if len(beside) else "",
    )


@close_measure("bonino-lengths", "lengths")
def lengths(g: Gathered, c: Closer) -> Measured:
    values = np.stack(c.lengths)  # (N, 3, L, H)
    ratio = values.max(1) / np.maximum(values.min(1), 1e-12)
    by_layer = values.mean((0, 3))
    return Measured(
        **interval(ratio.mean((1, 2))),
        chance=1.0,
        series={name: by_layer[at].tolist() for at, name in enumerate(("query", "key", "value"))},
        **strongest(ratio.mean(0)),
    )


@close_measure("bonino-rank", "rank")
def rank(g: Gathered, c: Closer) -> Measured:
    values = np.stack(c.rank)
    mean = values.mean(0)
    return Measured(
        **interval(values.mean((1, 2))),
        chance=1.0,
        series={"effective rank ÷ the most": mean.mean(1).tolist()},
        **strongest(mean, least=True),
    )
