"""The numbers of claims that take a closer look at attention: Vig 2019, parts 1 and 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import ModelError
from ..lens import Lens
from ..measures.sources import map_shares, maps
from ..survey.corpus import Item, Numbered, traces_of
from .closer import Closer
from .gathered import Gathered
from .measuring import close_measure, heads_above, interval, strongest
from .rules import Measured

PATTERN = 0.25  # of the attention of the tokens that have such a partner
NEIGHBOURS = ("previous", "next")
SPLIT_TEXTS = 8
MOST_HEADS = 4


@close_measure("vig-other-sentence")
def other_sentence(g: Gathered, c: Closer) -> Measured:
    return heads_above([np.stack(c.other_sentence)], PATTERN, "no text has a word in both of two sentences")


@close_measure("vig-pieces")
def pieces(g: Gathered, c: Closer) -> Measured:
    return heads_above([np.stack(c.pieces)], PATTERN, "no word is in parts")


@close_measure("vig-few-neurons", "few")
def few_neurons(g: Gathered, c: Closer) -> Measured:
    values = np.stack(c.few)
    mean = np.nanmean(values, 0)
    return Measured(
        **interval(np.nanmean(values, (1, 2))),
        chance=1.0,
        series={"÷ random q and k": np.nanmean(mean, 1).tolist()},
        **strongest(mean, least=True),
    )


def position(lens: Lens, items: list[Item], g: Gathered, treebank: Path | None) -> Measured:
    """Of the heads that look at a neighbour: the share of what sets their keys apart that q and k have of positions."""
    means = np.stack([np.nanmean(g.of(name), 0) for name in NEIGHBOURS]).max(0)
    places = sorted(np.argwhere(means > 0.5).tolist(), key=lambda place: -means[tuple(place)])[:MOST_HEADS]
    if not places:
        return Measured(n=g.n, why="no head gives a neighbour more than half of its attention")
    found = []
    for number, item in enumerate(items[:SPLIT_TEXTS]):
        for trace in traces_of(lens, [Numbered(number, item)], True):
            try:
                shares = [map_shares(maps(trace, layer, head)) for layer, head in places]
            except ModelError as error:
                return Measured(why=str(error).split(": ")[0])
            found.append([share["position", "position"] for share in shares])
    values = np.array(found)
    best = int(values.mean(0).argmax())
    said = ", ".join(f"L{layer}·H{head} {100 * value:.0f} %" for (layer, head), value in
                     zip(places, values.mean(0), strict=True))  # fmt: skip
    return Measured(
        **interval(values.mean(1), share=True),
        series={"position with position": values.mean(0).tolist()},
        labels=[f"L{layer}·H{head}" for layer, head in places],
        head=(places[best][0], places[best][1]),
        head_value=float(values.mean(0)[best]),
        note=f"{said}.",
    )
