"""The numbers of claims about attention weights and the stream: Vig 2019, Clark et al. 2019, Bonino et al. 2025."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..survey.intervals import LEVEL, count_interval
from ..survey.text_statistics import LABELS
from .gathered import Gathered
from .measuring import (
    NO_SEPARATOR,
    NO_STATES,
    heads_above,
    interval,
    layer_means,
    layers_in,
    measure,
    middle,
    strongest,
)
from .rules import FEWEST_TEXTS, Measured

PAPER_GATES = ("directional", "open", "closed", "forward contextual", "backward contextual", "cluster", "instance")


# --- heads that do something ---


def _heads_claim(name: str, statistics: tuple[str, ...], bound: float, missing: str) -> None:
    measure(name)(
        lambda g: heads_above([g.of(each) for each in statistics], bound, missing, max(map(g.even, statistics)))
    )


NEVER = "no text has such tokens"
_heads_claim("vig-next", ("next",), 0.5, NEVER)
_heads_claim("vig-previous", ("previous",), 0.5, NEVER)
_heads_claim("vig-same-word", ("same_word",), 0.1, NEVER)
_heads_claim("vig-separator", ("separator",), 0.5, NO_SEPARATOR)
_heads_claim("clark-neighbours", ("previous", "next"), 0.5, NEVER)


# --- Clark et al. 2019 ---


@measure("clark-separator")
def separator(g: Gathered) -> Measured:
    first = g.of("first")
    found = _in_the_middle(g, "separator", {"first token": layer_means(first)})
    if found.why:
        return found
    rest = float(np.nanmean(first[:, middle(g.shape[0])]))
    return replace(found, note=f"The first token gets {100 * rest:.0f} % there.") if rest > found.value else found


@measure("clark-separator-to-separator")
def separator_to_separator(g: Gathered) -> Measured:
    return _in_the_middle(g, "separator_to_separator", {"others to separator": layer_means(g.of("rest_to_separator"))})


def _in_the_middle(g: Gathered, name: str, beside: dict[str, list[float]]) -> Measured:
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
def broad_first(g: Gathered) -> Measured:
    values = g.of("entropy")
    early = layers_in(g.shape[0], 1 / 6)
    if early >= g.shape[0]:
        return Measured(why="the model has a single layer")
    ends = interval(values[:, :early].mean((1, 2)) - values[:, early:].mean((1, 2)))
    lengths = np.log([kinds.sum() for kinds in g.kinds])
    series = {"entropy": layer_means(values), "even": [float(lengths.mean())] * g.shape[0]}
    return Measured(**ends, chance=0.0, series=series, **strongest(np.nanmean(values[:, :early], 0)))


@measure("clark-first-row")
def first_row(g: Gathered) -> Measured:
    lengths = np.log([kinds.sum() for kinds in g.kinds])
    values = g.of("entropy_first") / np.maximum(lengths, 1e-9)[:, None, None]
    series = {"entropy of the first row ÷ ln n": layer_means(values)}
    head = strongest(np.nanmean(values[:, -1:], 0), [g.shape[0] - 1])
    return Measured(**interval(values[:, -1].mean(1)), chance=1.0, series=series, **head)


def by_depth(g: Gathered, name: str, late: bool, missing: str) -> Measured:
    """Attention to a kind of token in the last third of the layers ÷ in the first third; not `late`: upside down."""
    values = g.of(name)
    layers = g.shape[0]
    third = layers_in(layers, 1 / 3)
    if layers < 2:
        return Measured(why="the model has a single layer")
    parts = [values[:, :third], values[:, -third:]]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = parts[late].mean((1, 2)) / parts[not late].mean((1, 2))
    if not np.isfinite(ratio).any():
        return Measured(why=missing)
    head = strongest(np.nanmean(parts[late], 0), range(layers)[-third:] if late else None)
    series = {". and ," if late else "first token": layer_means(values)}
    return Measured(**interval(ratio), chance=1.0, series=series, **head)


NO_MARKS = "no text has a full stop or comma"
measure("clark-punctuation-late")(lambda g: by_depth(g, "punctuation", True, NO_MARKS))
measure("clark-first-early")(lambda g: by_depth(g, "first", False, "no head looks at the first token"))


# --- Bonino et al. 2025 ---


@measure("bonino-gates")
def gates(g: Gathered) -> Measured:
    layers, heads = g.shape
    labels = np.stack(g.gates)
    if g.n < FEWEST_TEXTS:
        return Measured(n=g.n)
    counts = (labels[..., None] == np.arange(len(LABELS))).sum(0)  # (L, H, labels)
    level = 1 - (1 - LEVEL) / (layers * heads)
    ends = {int(count): count_interval(float(count), g.n, level) for count in np.unique(counts)}
    found = [0, 0, 0]
    said = []
    for name in PAPER_GATES:
        most = int(counts[..., LABELS.index(name)].max())
        low, high = ends[most]
        for at, share in enumerate((most / g.n, low, high)):
            found[at] += share > 0.5
        if most / g.n > 0.5:
            said.append(name)
    mostly = counts.argmax(-1)
    series = {name: [float((row == LABELS.index(name)).mean()) for row in mostly] for name in PAPER_GATES}
    series = {name: shares for name, shares in series.items() if any(shares)}
    clear = counts[..., [LABELS.index(name) for name in PAPER_GATES]].max(-1)
    return Measured(
        *(float(found[0]), float(found[1]), float(found[2]), g.n),
        series=series,
        **strongest(clear / g.n),
        note=f"There are {', '.join(said)}." if said else "",
        ends="95 % for all heads together, by texts",
    )


@measure("bonino-cone", "cone", NO_STATES)
def cone(g: Gathered) -> Measured:
    values = np.stack(g.cone)[:, 1:]  # of the layers' outputs
    chance = 1 / np.sqrt([kinds.sum() for kinds in g.kinds])
    least = int(values.mean(0).argmin())
    ends = interval(values[:, least] - chance)
    series = {"cone index ÷ n": values.mean(0).tolist(), "chance": [float(chance.mean())] * values.shape[1]}
    return Measured(**ends, chance=0.0, series=series, note=f"The least is that of layer {least}.")


@measure("bonino-cone-grows", "cone", NO_STATES)
def cone_grows(g: Gathered) -> Measured:
    values = np.stack(g.cone)
    series = {"cone index ÷ n": values[:, 1:].mean(0).tolist()}
    return Measured(**interval(values[:, -1] - values[:, 0]), chance=0.0, series=series)
