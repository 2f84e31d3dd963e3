"""The numbers of claims about attention weights, neurons and positions: Vig 2019, Clark et al. 2019."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import ModelError
from ..lens import Lens
from ..measures.sources import map_shares, maps
from ..survey.corpus import Item, Numbered, traces_of
from .few_texts import FewTexts
from .registry import (
    NO_SEPARATOR,
    few_texts_measure,
    heads_above,
    interval,
    layer_count,
    layer_means,
    measure,
    middle,
    strongest,
)
from .rules import Measured
from .text_numbers import TextNumbers

PATTERN = 0.25  # of the attention of the tokens that have such a partner
NEIGHBOURS = ("previous", "next")
SPLIT_TEXTS = 8
MOST_HEADS = 4


# --- Vig 2019 ---


def _heads_claim(name: str, statistics: tuple[str, ...], bound: float, missing: str) -> None:
    measure(name)(lambda g: heads_above([*map(g.of, statistics)], bound, missing, max(map(g.even, statistics))))


NEVER = "no text has such tokens"
_heads_claim("vig-next", ("next",), 0.5, NEVER)
_heads_claim("vig-previous", ("previous",), 0.5, NEVER)
_heads_claim("vig-same-word", ("same_word",), 0.1, NEVER)
_heads_claim("vig-separator", ("separator",), 0.5, NO_SEPARATOR)
_heads_claim("clark-neighbours", ("previous", "next"), 0.5, NEVER)


@few_texts_measure("vig-other-sentence")
def other_sentence(g: TextNumbers, c: FewTexts) -> Measured:
    return heads_above([np.stack(c.other_sentence)], PATTERN, "no text has a word in both of two sentences")


@few_texts_measure("vig-pieces")
def pieces(g: TextNumbers, c: FewTexts) -> Measured:
    return heads_above([np.stack(c.pieces)], PATTERN, "no word is in parts")


@few_texts_measure("vig-few-neurons", "neurons")
def few_neurons(g: TextNumbers, c: FewTexts) -> Measured:
    values = np.stack(c.neurons)
    mean = np.nanmean(values, 0)
    return Measured(
        **interval(np.nanmean(values, (1, 2))),
        chance=1.0,
        series={"÷ random q and k": np.nanmean(mean, 1).tolist()},
        **strongest(mean, least=True),
    )


def position(lens: Lens, items: list[Item], g: TextNumbers, treebank: Path | None) -> Measured:
    """Of the heads that look at a neighbour: the share of what sets their keys apart that q and k have of positions."""
    means = np.stack([np.nanmean(g.of(name), 0) for name in NEIGHBOURS]).max(0)
    places = sorted(np.argwhere(means > 0.5).tolist(), key=lambda place: -means[tuple(place)])[:MOST_HEADS]
    if not places:
        return Measured(n=g.n, why="no head gives a neighbour more than half of its attention")
    shares_of_texts = []
    for number, item in enumerate(items[:SPLIT_TEXTS]):
        for trace in traces_of(lens, [Numbered(number, item)], True):
            try:
                shares = [map_shares(maps(trace, layer, head)) for layer, head in places]
            except ModelError as error:
                return Measured(why=str(error).split(": ")[0])
            shares_of_texts.append([share["position", "position"] for share in shares])
    values = np.array(shares_of_texts)
    best = int(values.mean(0).argmax())
    percentages = ", ".join(f"L{layer}·H{head} {100 * value:.0f} %" for (layer, head), value in
                     zip(places, values.mean(0), strict=True))  # fmt: skip
    return Measured(
        **interval(values.mean(1), share=True),
        series={"position with position": values.mean(0).tolist()},
        labels=[f"L{layer}·H{head}" for layer, head in places],
        head=(places[best][0], places[best][1]),
        head_value=float(values.mean(0)[best]),
        note=f"{percentages}.",
    )


# --- Clark et al. 2019 ---


@measure("clark-separator")
def separator(g: TextNumbers) -> Measured:
    first = g.of("first")
    m = _in_the_middle(g, "separator", {"first token": layer_means(first)})
    if m.why:
        return m
    share = float(np.nanmean(first[:, middle(g.shape[0])]))
    return replace(m, note=f"The first token gets {100 * share:.0f} % there.") if share > m.value else m


@measure("clark-separator-to-separator")
def separator_to_separator(g: TextNumbers) -> Measured:
    return _in_the_middle(g, "separator_to_separator", {"others to separator": layer_means(g.of("rest_to_separator"))})


def _in_the_middle(g: TextNumbers, name: str, beside: dict[str, list[float]]) -> Measured:
    """A share of attention to separators in the middle layers; by chance it is their share of the tokens."""
    values, layers = g.of(name), middle(g.shape[0])
    if not np.isfinite(values).any():
        return Measured(why=NO_SEPARATOR)
    return Measured(
        **interval(values[:, layers].mean((1, 2)), share=True),
        chance=g.even("separator"),
        series={name.replace("_", " "): layer_means(values), **beside},
        **strongest(np.nanmean(values[:, layers], 0), layers),
    )


@measure("clark-broad-first")
def broad_first(g: TextNumbers) -> Measured:
    values = g.of("entropy")
    early = layer_count(g.shape[0], 1 / 6)
    if early >= g.shape[0]:
        return Measured(why="the model has a single layer")
    ends = interval(values[:, :early].mean((1, 2)) - values[:, early:].mean((1, 2)))
    lengths = np.log([kinds.sum() for kinds in g.kinds])
    series = {"entropy": layer_means(values), "even": [float(lengths.mean())] * g.shape[0]}
    return Measured(**ends, chance=0.0, series=series, **strongest(np.nanmean(values[:, :early], 0)))


@measure("clark-first-row")
def first_row(g: TextNumbers) -> Measured:
    lengths = np.log([kinds.sum() for kinds in g.kinds])
    values = g.of("entropy_first") / np.maximum(lengths, 1e-9)[:, None, None]
    series = {"entropy of the first row ÷ ln n": layer_means(values)}
    head = strongest(np.nanmean(values[:, -1:], 0), [g.shape[0] - 1])
    return Measured(**interval(values[:, -1].mean(1)), chance=1.0, series=series, **head)


def by_depth(g: TextNumbers, name: str, late: bool, missing: str) -> Measured:
    """Attention to a kind of token in the last third of the layers ÷ in the first third; not `late`: upside down."""
    values = g.of(name)
    layers = g.shape[0]
    third = layer_count(layers, 1 / 3)
    if layers < 2:
        return Measured(why="the model has a single layer")
    thirds = [values[:, :third], values[:, -third:]]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = thirds[late].mean((1, 2)) / thirds[not late].mean((1, 2))
    if not np.isfinite(ratio).any():
        return Measured(why=missing)
    head = strongest(np.nanmean(thirds[late], 0), range(layers)[-third:] if late else None)
    series = {". and ," if late else "first token": layer_means(values)}
    return Measured(**interval(ratio), chance=1.0, series=series, **head)


NO_MARKS = "no text has a full stop or comma"
measure("clark-punctuation-late")(lambda g: by_depth(g, "punctuation", True, NO_MARKS))
measure("clark-first-early")(lambda g: by_depth(g, "first", False, "no head looks at the first token"))
