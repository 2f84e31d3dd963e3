"""The numbers of claims about norms and resting places: Kobayashi et al. 2020 and 2021, sinks."""

from __future__ import annotations

import numpy as np
import torch

from ..measures.norms import METHODS
from ..measures.ranks import spearman
from ..survey.intervals import LEVEL, mean_interval
from ..survey.statistics import CATEGORIES
from .gathered import Gathered
from .measuring import NO_NORMS, NO_SEPARATOR, interval, layer_means, measure, part, strongest
from .rules import Measured

RESTS = 0.3  # of a head's attention, on one kind of token: Gu et al. 2025 (arXiv 2410.10781) take the same
ENOUGH_FOR_FREQUENCIES = 100_000  # for frequencies to mean anything


# --- Kobayashi et al. 2020 and 2021 ---


def cancelled(g: Gathered, name: str, missing: str) -> Measured:
    """The share of a kind of token by norm ÷ by weight, each summed over all heads of a text."""
    if not g.values["norm"]:
        return Measured(why=NO_NORMS)
    weight, norm = g.of(name), g.of(name, "norm")
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = norm.mean((1, 2)) / weight.mean((1, 2))
    if not np.isfinite(ratio).any():
        return Measured(why=missing)
    ends = interval(ratio)
    head, most = strongest(weight)
    series = {"by weight": layer_means(weight), "by norm": layer_means(norm)}
    return Measured(*ends, chance=1.0, series=series, head=head, head_value=most)


measure("kobayashi-separator")(lambda g: cancelled(g, "separator", NO_SEPARATOR))
measure("kobayashi-punctuation")(lambda g: cancelled(g, "punctuation", "no text has a full stop or comma"))


@measure("kobayashi-special")
def special(g: Gathered) -> Measured:
    if not g.values["norm"]:
        return Measured(why=NO_NORMS)
    weight, norm = (sum(np.nan_to_num(g.of(name, by)) for name in ("first", "separator")) for by in ("weight", "norm"))
    weight, norm = np.asarray(weight), np.asarray(norm)
    head, most = strongest(weight)
    series = {"by weight": layer_means(weight), "by norm": layer_means(norm)}
    ratio = norm.mean((1, 2)) / weight.mean((1, 2))
    return Measured(*interval(ratio), chance=1.0, series=series, head=head, head_value=most)


@measure("kobayashi-frequency")
def frequency(g: Gathered) -> Measured:
    if not g.token_lengths:
        return Measured(why=NO_NORMS)
    ids = np.concatenate(g.ids)
    _, index, counts = np.unique(ids, return_inverse=True, return_counts=True)
    more = len(counts) - np.searchsorted(np.sort(counts), counts, side="right")  # types that are more frequent
    rank, lengths = (more + 1)[index], np.concatenate(g.token_lengths)
    value = spearman(torch.from_numpy(rank), torch.from_numpy(lengths))
    if len(ids) < ENOUGH_FOR_FREQUENCIES:
        too_few = f"the texts have {len(ids):,} tokens, and frequencies need {ENOUGH_FOR_FREQUENCIES:,}"
        return Measured(value, n=g.n, chance=0.0, why=too_few)
    text = np.repeat(np.arange(g.n), [len(part) for part in g.ids])
    random, drawn = np.random.default_rng(0), []
    for _ in range(100):  # whole texts, drawn again
        weight = np.bincount(random.integers(0, g.n, g.n), minlength=g.n)[text]
        at = np.repeat(np.arange(len(ids)), weight)
        drawn.append(spearman(torch.from_numpy(rank[at]), torch.from_numpy(lengths[at])))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Measured(value, float(low), float(high), n=g.n, chance=0.0)


def _mixing(g: Gathered, method: str) -> np.ndarray:
    """(N, L)."""
    return np.stack(g.mixing)[:, METHODS.index(method)]


def _all_mixing(g: Gathered) -> dict[str, list[float]]:
    names = {"attn-w": "weight", "attn-n": "norm", "attnres-n": "+ residual", "attnresln-n": "+ LayerNorm"}
    return {said: [float(value) for value in _mixing(g, method).mean(0)] for method, said in names.items()}


@measure("kobayashi-mixing")
def mixing(g: Gathered) -> Measured:
    if not g.mixing:
        return Measured(why=NO_NORMS)
    ends = interval(_mixing(g, "attnresln-n").mean(1))
    by_weight = float(_mixing(g, "attn-w").mean())
    return Measured(
        *ends, chance=None, series=_all_mixing(g), note=f"By weight alone it would be {100 * by_weight:.0f} %."
    )


def _less(g: Gathered, method: str, than: str) -> Measured:
    """The mixing ratio by one method ÷ by another, each the mean of a text's tokens and layers."""
    if not g.mixing:
        return Measured(why=NO_NORMS)
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = interval(_mixing(g, method).mean(1) / _mixing(g, than).mean(1))
    return Measured(*ends, chance=1.0, series=_all_mixing(g))


measure("kobayashi-layernorm")(lambda g: _less(g, "attnresln-n", "attnres-n"))
measure("kobayashi-residual")(lambda g: _less(g, "attnres-n", "attn-n"))


@measure("kobayashi-depth")
def depth(g: Gathered) -> Measured:
    if not g.mixing:
        return Measured(why=NO_NORMS)
    if g.shape[0] < 2:
        return Measured(why="the model has a single layer")
    values, third = _mixing(g, "attnresln-n"), part(g.shape[0], 1 / 3)
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = interval(values[:, -third:].mean(1) / values[:, :third].mean(1))
    return Measured(*ends, chance=1.0, series={"+ LayerNorm": [float(value) for value in values.mean(0)]})


# --- sinks ---


def _resting(g: Gathered) -> tuple[list[str], np.ndarray, list[list[np.ndarray]]]:
    """Kinds of resting place that the texts have; (kinds, L, H) mean attention to each; the ends of its intervals."""
    names, means, ends = [], [], []
    level = 1 - (1 - LEVEL) / (2 * g.shape[0] * g.shape[1])
    for name in ("first", "separator"):
        values = g.of(name)
        values = values[np.isfinite(values).all((1, 2))]
        special = np.stack(g.kinds)[:, CATEGORIES.index(name)].any()
        if len(values) >= 2 and (special or name == "first"):
            mean, low, high = mean_interval(values, level)
            names.append(name)
            means.append(mean)
            ends.append([low, high])
    return names, np.stack(means) if means else np.zeros((0, *g.shape)), ends


@measure("sinks-resting")
def resting(g: Gathered) -> Measured:
    names, means, ends = _resting(g)
    if not names:
        return Measured(n=g.n)
    bounds = (means, np.stack([low for low, _ in ends]), np.stack([high for _, high in ends]))
    value, low, high = (float((some > RESTS).any(0).mean()) for some in bounds)
    chosen = (means > RESTS).sum((1, 2))
    said = ", ".join(f"{int(count)} on the {'first token' if name == 'first' else 'separators'}"
                     for name, count in zip(names, chosen, strict=True))  # fmt: skip
    layer, head = np.unravel_index(int(means.max(0).argmax()), g.shape)
    series = {name: [float(v) for v in mean.mean(1)] for name, mean in zip(names, means, strict=True)}
    return Measured(
        *(value, low, high, g.n),
        chance=0.0,
        series=series,
        head=(int(layer), int(head)),
        head_value=float(means.max()),
        note=f"Of {means[0].size} heads {said}.",
    )


@measure("sinks-null")
def null(g: Gathered) -> Measured:
    if not g.lengths:
        return Measured(why=NO_NORMS)
    names, means, _ = _resting(g)
    lengths = np.stack(g.lengths)  # (N, L, H, kinds)
    rests = [(name, *place) for name, mean in zip(names, means, strict=True) for place in np.argwhere(mean > RESTS)]
    rests = [rest for rest in rests if np.isfinite(lengths[..., CATEGORIES.index(rest[0])]).any()]
    if not rests:
        return Measured(
            n=g.n, why=f"no head gives the first token or separators more than {100 * RESTS:.0f} % of its attention"
        )
    other = lengths[..., CATEGORIES.index("other")]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.stack([lengths[:, at, h, CATEGORIES.index(name)] / other[:, at, h] for name, at, h in rests], 1)
    ends = interval(ratios.mean(1))
    least = int(np.nanmean(ratios, 0).argmin())
    small = int((np.nanmean(ratios, 0) < 0.5).sum())
    series = {
        kind: [float(v) for v in np.nanmean(lengths[..., CATEGORIES.index(kind)], (0, 2))]
        for kind in ("first", "separator", "other")
        if np.isfinite(lengths[..., CATEGORIES.index(kind)]).all((0, 2)).all()
    }
    return Measured(
        *ends,
        chance=1.0,
        series=series,
        head=(int(rests[least][1]), int(rests[least][2])),
        head_value=float(np.nanmean(ratios, 0)[least]),
        note=f"{small} of {len(rests)} resting heads send less than half as much (null), {len(rests) - small} do not.",
    )


@measure("sinks-massive")
def massive(g: Gathered) -> Measured:
    values = np.stack(g.largest)  # (N, L + 1)
    layer = int(values.mean(0).argmax())
    ends = interval(values[:, layer])
    dimensions, counts = np.unique(np.stack(g.dimension)[:, layer], return_counts=True)
    most = int(counts.argmax())
    where = "the embeddings" if layer == 0 else f"layer {layer - 1}"
    note = f"It is in the output of {where}, dimension {dimensions[most]} in {counts[most]} of {ends[3]} texts."
    return Measured(*ends, chance=None, series={"largest ÷ median": [float(v) for v in values.mean(0)]}, note=note)
