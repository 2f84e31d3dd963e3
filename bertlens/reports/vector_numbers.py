"""The numbers of claims about vectors: Kobayashi et al. 2020 and 2021, Bonino et al. 2025."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..errors import ModelError
from ..lens import Lens
from ..measures.norms import METHODS
from ..measures.ranks import spearman
from ..measures.significance import LEVEL, count_interval, mean_interval
from ..measures.spectra import weights_table
from ..survey.corpus import Item
from ..survey.text_statistics import LABELS
from .few_texts import FewTexts
from .registry import NO_SEPARATOR, NO_STATES, few_texts_measure, interval, layer_count, layer_means, measure, strongest
from .rules import FEWEST_TEXTS, Measured
from .text_numbers import TextNumbers

PAPER_GATES = ("directional", "open", "closed", "forward contextual", "backward contextual", "cluster", "instance")
ENOUGH_FOR_FREQUENCIES = 100_000  # for frequencies to mean anything


# --- Kobayashi et al. 2020, 2021 ---


def cancelled(g: TextNumbers, name: str, missing: str) -> Measured:
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
def special(g: TextNumbers) -> Measured:
    weight, norm = (sum(np.nan_to_num(g.of(name, by)) for name in ("first", "separator")) for by in ("weight", "norm"))
    weight, norm = np.asarray(weight), np.asarray(norm)
    return _by_both(norm.mean((1, 2)) / weight.mean((1, 2)), weight, norm)


@measure("kobayashi-frequency", "token_lengths")
def frequency(g: TextNumbers) -> Measured:
    ids = np.concatenate(g.ids)
    _, index, counts = np.unique(ids, return_inverse=True, return_counts=True)
    types_above = len(counts) - np.searchsorted(np.sort(counts), counts, side="right")  # types that are more frequent
    rank, lengths = (types_above + 1)[index], np.concatenate(g.token_lengths)
    value = spearman(rank, lengths)
    if len(ids) < ENOUGH_FOR_FREQUENCIES:
        enough = math.ceil(ENOUGH_FOR_FREQUENCIES / len(ids) * g.n)
        too_few = (
            f"the texts have {len(ids):,} tokens, and frequencies need {ENOUGH_FOR_FREQUENCIES:,}: take {enough:,} "
            "texts of this length (texts=, --texts)"
        )
        return Measured(value, n=g.n, chance=0.0, why=too_few)
    text = np.repeat(np.arange(g.n), [len(tokens) for tokens in g.ids])
    random, correlations = np.random.default_rng(0), []
    for _ in range(100):  # whole texts, drawn again
        weight = np.bincount(random.integers(0, g.n, g.n), minlength=g.n)[text]
        at = np.repeat(np.arange(len(ids)), weight)
        correlations.append(spearman(rank[at], lengths[at]))
    low, high = np.quantile(correlations, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Measured(value, float(low), float(high), n=g.n, chance=0.0)


def _mixing(g: TextNumbers, method: str) -> np.ndarray:
    """(N, L)."""
    return np.stack(g.mixing)[:, METHODS.index(method)]


def _all_mixing(g: TextNumbers) -> dict[str, list[float]]:
    names = {"attn-w": "weight", "attn-n": "norm", "attnres-n": "+ residual", "attnresln-n": "+ LayerNorm"}
    return {label: _mixing(g, method).mean(0).tolist() for method, label in names.items()}


@measure("kobayashi-mixing", "mixing")
def mixing(g: TextNumbers) -> Measured:
    ends = interval(_mixing(g, "attnresln-n").mean(1), share=True)
    by_weight = float(_mixing(g, "attn-w").mean())
    return Measured(
        **ends, chance=None, series=_all_mixing(g), note=f"By weight alone it would be {100 * by_weight:.0f} %."
    )


def _less(g: TextNumbers, method: str, than: str) -> Measured:
    """The mixing ratio by one method ÷ by another, each the mean of a text's tokens and layers."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = interval(_mixing(g, method).mean(1) / _mixing(g, than).mean(1))
    return Measured(**ends, chance=1.0, series=_all_mixing(g))


measure("kobayashi-layernorm", "mixing")(lambda g: _less(g, "attnresln-n", "attnres-n"))
measure("kobayashi-residual", "mixing")(lambda g: _less(g, "attnres-n", "attn-n"))


@measure("kobayashi-depth", "mixing")
def depth(g: TextNumbers) -> Measured:
    if g.shape[0] < 2:
        return Measured(why="the model has a single layer")
    values, third = _mixing(g, "attnresln-n"), layer_count(g.shape[0], 1 / 3)
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = interval(values[:, -third:].mean(1) / values[:, :third].mean(1))
    return Measured(**ends, chance=1.0, series={"+ LayerNorm": values.mean(0).tolist()})


STEPS = ("attn-w", "attn-n", "attnres-w", "attnres-n", "attnresln-n")


@measure("kobayashi-order", "mixing")
def order(g: TextNumbers) -> Measured:
    """The smallest of the steps from each mixing ratio to the next lower one."""
    values = np.stack([_mixing(g, method).mean(1) for method in STEPS])  # (5, N)
    steps = values[:-1] - values[1:]
    smallest = int(steps.mean(1).argmin())
    means = ", ".join(f"{100 * value:.1f}" for value in values.mean(1))
    return Measured(
        **interval(steps[smallest]),
        chance=0.0,
        series={"mixing ratio": values.mean(1).tolist()},
        labels=["Attn-W", "Attn-N", "Res-W", "Res-N", "ResLn-N"],
        note=f"They are {means} %.",
    )


@measure("kobayashi-patterns", "norms")
def patterns(g: TextNumbers) -> Measured:
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


# --- Bonino et al. 2025 ---


@measure("bonino-gates")
def gates(g: TextNumbers) -> Measured:
    layers, heads = g.shape
    labels = np.stack(g.gates)
    if g.n < FEWEST_TEXTS:
        return Measured(n=g.n)
    counts = (labels[..., None] == np.arange(len(LABELS))).sum(0)  # (L, H, labels)
    level = 1 - (1 - LEVEL) / (layers * heads)
    ends = {int(count): count_interval(float(count), g.n, level) for count in np.unique(counts)}
    kinds_above = [0, 0, 0]
    names = []
    for name in PAPER_GATES:
        peak = int(counts[..., LABELS.index(name)].max())
        low, high = ends[peak]
        for at, share in enumerate((peak / g.n, low, high)):
            kinds_above[at] += share > 0.5
        if peak / g.n > 0.5:
            names.append(name)
    mostly = counts.argmax(-1)
    series = {name: [float((row == LABELS.index(name)).mean()) for row in mostly] for name in PAPER_GATES}
    series = {name: shares for name, shares in series.items() if any(shares)}
    clear = counts[..., [LABELS.index(name) for name in PAPER_GATES]].max(-1)
    return Measured(
        *(float(kinds_above[0]), float(kinds_above[1]), float(kinds_above[2]), g.n),
        series=series,
        **strongest(clear / g.n),
        note=f"There are {', '.join(names)}." if names else "",
        ends="95 % for all heads together, by texts",
    )


@measure("bonino-cone", "cone", NO_STATES)
def cone(g: TextNumbers) -> Measured:
    values = np.stack(g.cone)[:, 1:]  # of the layers' outputs
    chance = 1 / np.sqrt([kinds.sum() for kinds in g.kinds])
    layer = int(values.mean(0).argmin())
    ends = interval(values[:, layer] - chance)
    series = {"cone index ÷ n": values.mean(0).tolist(), "chance": [float(chance.mean())] * values.shape[1]}
    return Measured(**ends, chance=0.0, series=series, note=f"The least is that of layer {layer}.")


@measure("bonino-cone-grows", "cone", NO_STATES)
def cone_grows(g: TextNumbers) -> Measured:
    values = np.stack(g.cone)
    series = {"cone index ÷ n": values[:, 1:].mean(0).tolist()}
    return Measured(**interval(values[:, -1] - values[:, 0]), chance=0.0, series=series)


def direction(lens: Lens, items: list[Item], g: TextNumbers, treebank: Path | None) -> Measured:
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


def subspaces(lens: Lens, items: list[Item], g: TextNumbers, treebank: Path | None) -> Measured:
    """How much the queries and keys of a head read the same, beside random subspaces; by heads."""
    try:
        table = weights_table(lens)
    except ModelError as error:
        return Measured(why=str(error).split(": ")[0])
    table = table[table["head"] != "all"]
    ratio = (table["overlap"] / table["chance"]).to_numpy(float).reshape(g.shape)
    other_keys = (table["overlap_others"] / table["chance"]).to_numpy(float).reshape(g.shape)
    if ratio.size < 2:
        return Measured(why="the model has a single head")
    if (table["chance"] >= 1).any():
        return Measured(why="one head of the layer reads everything")
    value, low, high = (float(end) for end in mean_interval(ratio.ravel()))
    finite = other_keys[np.isfinite(other_keys)]
    return Measured(
        *(value, low, high, ratio.size, "heads"),
        chance=1.0,
        series={"its own keys": ratio.mean(1).tolist()}
        | ({"other heads' keys": other_keys.mean(1).tolist()} if len(finite) else {}),
        **strongest(ratio),
        note=f"With the keys of its layer's other heads it is {finite.mean():.2f}." if len(finite) else "",
    )


@few_texts_measure("bonino-lengths", "lengths")
def lengths(g: TextNumbers, c: FewTexts) -> Measured:
    values = np.stack(c.lengths)  # (N, 3, L, H)
    ratio = values.max(1) / np.maximum(values.min(1), 1e-12)
    by_layer = values.mean((0, 3))
    return Measured(
        **interval(ratio.mean((1, 2))),
        chance=1.0,
        series={name: by_layer[at].tolist() for at, name in enumerate(("query", "key", "value"))},
        **strongest(ratio.mean(0)),
    )


@few_texts_measure("bonino-rank", "rank")
def rank(g: TextNumbers, c: FewTexts) -> Measured:
    values = np.stack(c.rank)
    mean = values.mean(0)
    return Measured(
        **interval(values.mean((1, 2))),
        chance=1.0,
        series={"effective rank ÷ the most": mean.mean(1).tolist()},
        **strongest(mean, least=True),
    )
