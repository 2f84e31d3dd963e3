"""The numbers of claims about norms: Kobayashi et al. 2020 and 2021."""

from __future__ import annotations

import math

import numpy as np

from ..measures.norms import METHODS
from ..measures.ranks import spearman
from ..survey.intervals import LEVEL
from .gathered import Gathered
from .measuring import NO_SEPARATOR, interval, layer_means, layers_in, measure, strongest
from .rules import Measured

ENOUGH_FOR_FREQUENCIES = 100_000  # for frequencies to mean anything


def cancelled(g: Gathered, name: str, missing: str) -> Measured:
    """The share of a kind of token by norm ÷ by weight, each summed over all heads of a text."""
    weight, norm = g.of(name), g.of(name, "norm")
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = norm.mean((1, 2)) / weight.mean((1, 2))
    if not np.isfinite(ratio).any():
        return Measured(why=missing)
    return _by_both(ratio, weight, norm)


def _by_both(ratio: np.ndarray, weight: np.ndarray, norm: np.ndarray) -> Measured:
    """ratio: (N,) of each text. Of weight and norm, (N, L, H), the layers' means, and the head with most weight."""
    series = {"by weight": layer_means(weight), "by norm": layer_means(norm)}
    return Measured(**interval(ratio), chance=1.0, series=series, **strongest(np.nanmean(weight, 0)))


measure("kobayashi-separator", "norms")(lambda g: cancelled(g, "separator", NO_SEPARATOR))
measure("kobayashi-punctuation", "norms")(lambda g: cancelled(g, "punctuation", "no text has a full stop or comma"))


@measure("kobayashi-special", "norms")
def special(g: Gathered) -> Measured:
    weight, norm = (sum(np.nan_to_num(g.of(name, by)) for name in ("first", "separator")) for by in ("weight", "norm"))
    weight, norm = np.asarray(weight), np.asarray(norm)
    return _by_both(norm.mean((1, 2)) / weight.mean((1, 2)), weight, norm)


@measure("kobayashi-frequency", "token_lengths")
def frequency(g: Gathered) -> Measured:
    ids = np.concatenate(g.ids)
    _, index, counts = np.unique(ids, return_inverse=True, return_counts=True)
    more = len(counts) - np.searchsorted(np.sort(counts), counts, side="right")  # types that are more frequent
    rank, lengths = (more + 1)[index], np.concatenate(g.token_lengths)
    value = spearman(rank, lengths)
    if len(ids) < ENOUGH_FOR_FREQUENCIES:
        enough = math.ceil(ENOUGH_FOR_FREQUENCIES / len(ids) * g.n)
        too_few = (
            f"the texts have {len(ids):,} tokens, and frequencies need {ENOUGH_FOR_FREQUENCIES:,}: take {enough:,} "
            "texts of this length (texts=, --texts)"
        )
        return Measured(value, n=g.n, chance=0.0, why=too_few)
    text = np.repeat(np.arange(g.n), [len(part) for part in g.ids])
    random, drawn = np.random.default_rng(0), []
    for _ in range(100):  # whole texts, drawn again
        weight = np.bincount(random.integers(0, g.n, g.n), minlength=g.n)[text]
        at = np.repeat(np.arange(len(ids)), weight)
        drawn.append(spearman(rank[at], lengths[at]))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Measured(value, float(low), float(high), n=g.n, chance=0.0)


def _mixing(g: Gathered, method: str) -> np.ndarray:
    """(N, L)."""
    return np.stack(g.mixing)[:, METHODS.index(method)]


def _all_mixing(g: Gathered) -> dict[str, list[float]]:
    names = {"attn-w": "weight", "attn-n": "norm", "attnres-n": "+ residual", "attnresln-n": "+ LayerNorm"}
    return {label: _mixing(g, method).mean(0).tolist() for method, label in names.items()}


@measure("kobayashi-mixing", "mixing")
def mixing(g: Gathered) -> Measured:
    ends = interval(_mixing(g, "attnresln-n").mean(1), share=True)
    by_weight = float(_mixing(g, "attn-w").mean())
    return Measured(
        **ends, chance=None, series=_all_mixing(g), note=f"By weight alone it would be {100 * by_weight:.0f} %."
    )


def _less(g: Gathered, method: str, than: str) -> Measured:
    """The mixing ratio by one method ÷ by another, each the mean of a text's tokens and layers."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = interval(_mixing(g, method).mean(1) / _mixing(g, than).mean(1))
    return Measured(**ends, chance=1.0, series=_all_mixing(g))


measure("kobayashi-layernorm", "mixing")(lambda g: _less(g, "attnresln-n", "attnres-n"))
measure("kobayashi-residual", "mixing")(lambda g: _less(g, "attnres-n", "attn-n"))


@measure("kobayashi-depth", "mixing")
def depth(g: Gathered) -> Measured:
    if g.shape[0] < 2:
        return Measured(why="the model has a single layer")
    values, third = _mixing(g, "attnresln-n"), layers_in(g.shape[0], 1 / 3)
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = interval(values[:, -third:].mean(1) / values[:, :third].mean(1))
    return Measured(**ends, chance=1.0, series={"+ LayerNorm": values.mean(0).tolist()})


STEPS = ("attn-w", "attn-n", "attnres-w", "attnres-n", "attnresln-n")


@measure("kobayashi-order", "mixing")
def order(g: Gathered) -> Measured:
    """The smallest of the steps from each mixing ratio to the next lower one."""
    values = np.stack([_mixing(g, method).mean(1) for method in STEPS])  # (5, N)
    steps = values[:-1] - values[1:]
    least = int(steps.mean(1).argmin())
    means = ", ".join(f"{100 * value:.1f}" for value in values.mean(1))
    return Measured(
        **interval(steps[least]),
        chance=0.0,
        series={"mixing ratio": values.mean(1).tolist()},
        labels=["Attn-W", "Attn-N", "Res-W", "Res-N", "ResLn-N"],
        note=f"They are {means} %.",
    )


@measure("kobayashi-patterns", "norms")
def patterns(g: Gathered) -> Measured:
    """Of the heads that give special tokens and marks most of their weight, text by text: the share with less than
    half there by norm."""
    kinds = ("first", "separator", "punctuation")
    weight, norm = (sum(np.nan_to_num(g.of(name, by)) for name in kinds) for by in ("weight", "norm"))
    rests, turns = np.asarray(weight) > 0.5, np.asarray(norm) < 0.5
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (rests & turns).sum((1, 2)) / rests.sum((1, 2))
    if not np.isfinite(share).any():
        return Measured(n=g.n, why="no head gives special tokens and . and , most of its weight")
    often = np.where(rests & turns, 1.0, 0.0).mean(0)
    by_layer = {
        "most by weight": rests.mean((0, 2)).tolist(),
        "not by norm": (rests & turns).mean((0, 2)).tolist(),
    }
    head = strongest(often) if often.any() else {"head_value": 0.0}
    return Measured(**interval(share, share=True), chance=0.0, series=by_layer, **head)
