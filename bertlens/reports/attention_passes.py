"""The numbers of claims that need a pass of their own: gradients, distances of heads, syntax, coreference."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..base.amounts import shortage, verb
from ..errors import InputError, ModelError
from ..lens import Lens
from ..measures.significance import count_interval, mean_interval
from ..survey.coreference import resolve
from ..survey.corpus import Item
from ..survey.distances import head_distances
from ..survey.loss_gradients import attention_gradients
from ..survey.mentions import NO_ENTITIES
from ..survey.probe import attention_probe
from ..survey.syntax import decide
from .registry import NO_SEPARATOR, interval, middle
from .rules import FEWEST_TEXTS, Measured, said
from .text_numbers import TextNumbers

DISTANCE_TEXTS = 12
PROBE_SENTENCES = 300
# Of the paper's table 1, as Universal Dependencies name them; prep, pobj and prt have other trees or too few words
RELATIONS = (
    "case",
    "det",
    "compound",
    "nsubj",
    "amod",
    "obj",
    "advmod",
    "aux",
    "nmod:poss",
    "aux:pass",
    "ccomp",
    "mark",
)
FEWEST_WORDS = 50
FEWEST_RELATIONS = 4
NO_TREEBANK = "the corpus is no treebank (.conllu)"


def gradient_texts(n: int) -> int:
    """Of how many of n texts gradients are taken: each takes as long as six texts of the first pass."""
    return min(n, 32, max(FEWEST_TEXTS, n // 4))


def gradient(lens: Lens, texts: list[Item], g: TextNumbers, treebank: Path | None) -> Measured:
    """Text by text: mean |dL/dα| of separators ÷ of other words, in the middle layers."""
    layers: list[int] = []
    ratios, tables = [], []
    for text in texts[: gradient_texts(len(texts))]:
        try:
            table = attention_gradients(lens, [text], truncation=True, batch_size=1, progress=False)
        except ModelError as error:
            return Measured(why=f"there is no loss: {str(error).split(': ')[0]}")
        tables.append(table)
        n_layers = int(table["layer"].max()) + 1
        layers = middle(n_layers)
        means = table[table["layer"].isin(layers)][["separator", "other"]].mean()
        ratios.append(float(means["separator"] / means["other"]) if means["other"] else math.nan)
    if not np.isfinite(ratios).any():
        return Measured(why=NO_SEPARATOR)
    ends = interval(np.array(ratios))
    by_layer = [table.groupby("layer")[["separator", "other"]].mean() for table in tables]
    series = {name: np.mean([table[name] for table in by_layer], 0).tolist() for name in ("separator", "other")}
    per_head = np.nanmean([table["separator"] / table["other"] for table in tables], 0)
    per_head[~tables[0]["layer"].isin(layers)] = math.inf
    row = tables[0].iloc[int(np.nanargmin(per_head))]
    head = (int(row["layer"]), int(row["head"]))
    note = f"Loss: {tables[0].attrs['objective']}."
    return Measured(**ends, chance=1.0, series=series, head=head, head_value=float(np.nanmin(per_head)), note=note)


def alike(lens: Lens, texts: list[Item], g: TextNumbers, treebank: Path | None) -> Measured:
    """Text by text: mean distance of two heads of one layer ÷ of two heads of different layers."""
    distances = [
        head_distances(lens, [text], truncation=True, batch_size=1, progress=False) for text in texts[:DISTANCE_TEXTS]
    ]
    layer = np.arange(len(distances[0])) // g.shape[1]
    same_layer = layer[:, None] == layer
    two_heads = ~np.eye(len(layer), dtype=bool)
    if not (same_layer & two_heads).any() or same_layer.all():
        return Measured(why="the model has a single head a layer, or a single layer")
    ends = interval(np.array([d[same_layer & two_heads].mean() / d[~same_layer].mean() for d in distances]))
    mean = np.mean(distances, 0)
    within = [float(mean[(layer[:, None] == k) & two_heads & (layer == k)].mean()) for k in range(layer.max() + 1)]
    return Measured(
        **ends,
        chance=1.0,
        series={"within the layer": within, "between": [float(mean[~same_layer].mean())] * len(within)},
    )


def syntax(lens: Lens, texts: list[Item], g: TextNumbers, treebank: Path | None) -> Measured:
    """The share of relations whose held-out head is above the best fixed offset, with its whole interval."""
    if treebank is None:
        return Measured(why=NO_TREEBANK)
    table = decide(lens, treebank, limit=len(texts), progress=False).best_heads(least=FEWEST_WORDS)
    table = table[table["relation"].isin(RELATIONS)]
    if len(table) < FEWEST_RELATIONS:
        return Measured(
            n=len(table),
            units="relations",
            why=f"{len(table)} of the relations {verb(len(table), 'has', 'have')} {FEWEST_WORDS} words: too few",
        )
    hits = int((table["low"] > table["offset_accuracy"]).sum())
    ends = count_interval(hits, len(table))
    gain = (table["accuracy"] - table["offset_accuracy"]).to_numpy()
    best = table.iloc[int(gain.argmax())]
    accuracy, low, high, offset = (said(best[name], "share") for name in ("accuracy", "low", "high", "offset_accuracy"))
    note = f"{best['relation']} {accuracy} [{low}, {high}] beside {offset}, {int(best['n'])} words."
    series = {
        "head": table["accuracy"].astype(float).tolist(),
        "best offset": table["offset_accuracy"].astype(float).tolist(),
    }
    return Measured(
        *(hits / len(table), *ends, len(table), "relations"),
        series=series,
        labels=table["relation"].tolist(),
        head=(int(best["layer"]), int(best["head"])),
        head_value=float(best["accuracy"]),
        note=note,
    )


def coreference(lens: Lens, texts: list[Item], g: TextNumbers, treebank: Path | None) -> Measured:
    """The held-out accuracy of the best head less the nearest mention's, by documents."""
    if treebank is None:
        return Measured(why=NO_TREEBANK)
    try:
        table = resolve(lens, treebank, progress=False).best_heads()
    except InputError as error:
        if NO_ENTITIES in str(error) or "no mention" in str(error):
            return Measured(why="the treebank has no coreference (Entity=)")
        raise
    if table.empty:
        return Measured(why="one half of the documents has no mention to be found again")
    row = table.iloc[0]  # earlier, among words, all
    nearest, kinds = float(row["nearest"]), table[(table["measure"] == "earlier") & (table["among"] == "words")]
    n = int(row["documents"])
    accuracy, baseline, same_word = (said(row[name], "share") for name in ("accuracy", "nearest", "same_word"))
    note = f"{accuracy} beside {baseline}, {int(row['n'])} mentions; the same word finds {same_word}."
    why = f"{shortage(n, 'document')}" if n < FEWEST_TEXTS // 2 else ""
    return Measured(
        *(float(row["accuracy"]) - nearest, float(row["gain_low"]), float(row["gain_high"]), n, "documents"),
        chance=0.0,
        series={"head": kinds["accuracy"].tolist(), "nearest": kinds["nearest"].tolist()},
        labels=kinds["type"].tolist(),
        head=(int(row["layer"]), int(row["head"])),
        head_value=float(row["accuracy"]),
        note=note,
        why=why,
    )


def probe(lens: Lens, texts: list[Item], g: TextNumbers, treebank: Path | None) -> Measured:
    """Sentence by sentence: words whose head the probe finds, less those that the better neighbour finds."""
    if treebank is None:
        return Measured(why=NO_TREEBANK)
    try:
        table = attention_probe(lens, treebank, limit=min(len(texts), PROBE_SENTENCES))
    except InputError as error:
        return Measured(units="sentences", why=str(error))
    words = int(table["words"].sum())
    neighbour = max(("next", "previous"), key=lambda name: int(table[name].sum()))
    accuracy, offset = (float(table[name].sum()) / words for name in ("probe", neighbour))
    gain = (table["probe"] - table[neighbour]).to_numpy(float)
    # of a ratio over sentences: its error is that of the mean of (gain − value · words) ÷ words a sentence
    value = float(gain.sum()) / words
    residuals = (gain - value * table["words"].to_numpy(float)) / (words / len(table))
    _, low, high = (float(end) for end in mean_interval(residuals))
    why = f"{shortage(len(table), 'sentence')}" if len(table) < FEWEST_TEXTS else ""
    return Measured(
        *(value, value + low, value + high, len(table), "sentences"),
        chance=0.0,
        series={"words": [accuracy, offset]},
        labels=["probe", neighbour],
        note=f"{100 * accuracy:.0f} % beside {100 * offset:.0f} % of the {neighbour} word, {words:,} words.",
        why=why,
    )


PASSES: dict[str, Callable[[Lens, list[Item], TextNumbers, Path | None], Measured]] = {
    "clark-gradient": gradient,
    "clark-alike": alike,
    "clark-syntax": syntax,
    "clark-coreference": coreference,
    "clark-probe": probe,
}
