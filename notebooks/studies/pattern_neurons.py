"""How many neurons make a head's choice, whether they are the same ones; and what this says of Vig's patterns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, product
from statistics import mean, median
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertlens.measures import neurons
from bertlens.survey import mean_text
from bertlens.trace.trace import Trace

from .finding import Finding, head_name, verdicts
from .patterns import NAMES, Patterns

FEW = 6  # texts, where all 72 heads are asked


def neuron_use(traces: Sequence[Trace], layer: int, head: int) -> dict[str, float]:
    """Over all words, toward the key with the largest weight: size of the 80 % set, its reuse, and chance."""
    sizes, reuse, chance = [], [], []
    for trace in traces:
        strongest = trace.attention(layer)[head].argmax(-1).tolist()
        for query in (~trace.special_mask).nonzero()[:, 0].tolist():
            size = neurons.n80(trace, layer, head, query, strongest[query])
            if math.isnan(size):  # no contrast in favour of the key: nothing to count
                continue
            same, at_random = neurons.reuse(trace, layer, head, query, strongest[query])
            sizes.append(size)
            reuse.append(same)
            chance.append(at_random)
    return {"neurons of 32": median(sizes), "overlap": mean(reuse), "at random": mean(chance)}


def random_vectors(size: int = 32, keys: int = 19, times: int = 400) -> float:
    """Median size of the 80 % set if q and all k are drawn at random, toward the key with the highest score."""
    generator = torch.Generator().manual_seed(0)
    sizes = []
    for _ in range(times):
        q, k = torch.randn(size, generator=generator), torch.randn(keys, size, generator=generator)
        parts = k * q
        key = int(parts.sum(1).argmax())
        contrast = parts[key] - (parts.sum(0) - parts[key]) / (keys - 1)
        reached = contrast.sort(descending=True).values.cumsum(0) >= 0.8 * contrast.sum()
        sizes.append(int(reached.nonzero()[0, 0]) + 1)
    return median(sizes)


def use(study: Patterns) -> Finding:
    """Neurons per word and their reuse: `everywhere` all heads, `of_patterns` the chosen ones, `random_size`."""
    some = study.traces[:FEW]
    every = product(range(some[0].n_layers), range(some[0].n_heads))
    everywhere = pd.DataFrame({head_name(head): neuron_use(some, *head) for head in every}).T
    everywhere["above chance"] = everywhere["overlap"] - everywhere["at random"]
    table = pd.DataFrame({study.named(name): everywhere.loc[head_name(study.best[name])] for name in NAMES}).T
    for title, share in (("median", 0.5), ("lowest 5%", 0.05), ("highest 5%", 0.95)):
        table.loc[f"all heads, {title}"] = everywhere.quantile(share)
    asked, random_size = sum(int((~trace.special_mask).sum()) for trace in some), random_vectors()
    said = f"{len(some)} texts, {asked} words. Vectors drawn at random take {random_size:g} of 32 neurons."
    return Finding(said, table.round(2), everywhere=everywhere, of_patterns=table, random_size=random_size)


def _overlap(study: Patterns, name: str, target: Callable[[Trace, int, int, int], int]) -> np.ndarray:
    """(texts,) mean overlap of the sets of two words toward `target`, over all pairs of words."""
    layer, head = study.best[name]
    found = []
    for trace in study.traces:
        asked = (~trace.special_mask).nonzero()[:, 0].tolist()
        sets = [set(neurons.contrast_set(trace, layer, head, i, target(trace, layer, head, i)).tolist()) for i in asked]
        sets = [chosen for chosen in sets if chosen]  # no set where nothing speaks for the key
        found.append(mean(len(a & b) / len(a | b) for a, b in combinations(sets, 2)))
    return np.array(found)


def toward_one_key(study: Patterns, of_neurons: Finding) -> Finding:
    """Overlap of words' sets (Jaccard), toward their own strongest key and all toward `[CLS]`: name -> (texts,)
    `to_strongest`, `to_cls`."""
    to_strongest = {
        name: _overlap(study, name, lambda trace, layer, head, i: int(trace.attention(layer)[head, i].argmax()))
        for name in NAMES
    }
    to_cls = {name: _overlap(study, name, lambda *_: 0) for name in NAMES}
    chance = of_neurons.everywhere.loc[[head_name(study.best[name]) for name in NAMES], "at random"]
    table = pd.DataFrame(
        {
            "toward each word's strongest key": [mean_text(to_strongest[name]) for name in NAMES],
            "all toward [CLS]": [mean_text(to_cls[name]) for name in NAMES],
            "at random, toward the strongest": chance.round(2).to_list(),
            "weight on [CLS]": [round(float(study.tested["[CLS]"][study.best[name]]), 2) for name in NAMES],
        },
        index=[study.named(name) for name in NAMES],
    )
    return Finding(f"Over {len(study.traces)} texts.", table, to_strongest=to_strongest, to_cls=to_cls)


def _word_products(traces: Sequence[Trace], layer: int, head: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Products of all pairs of words: (pairs within a sentence, 32), (pairs across, 32)."""
    within, across = [], []
    for trace in traces:
        word = ~trace.special_mask
        pair = word[:, None] & word[None, :]
        same = trace.segments[:, None] == trace.segments[None, :]
        products = trace.query(layer)[head][:, None] * trace.key(layer)[head][None]
        within.append(products[pair & same])
        across.append(products[pair & ~same])
    return torch.cat(within), torch.cat(across)


def signs(study: Patterns) -> Finding:
    """Do query and key of the bag-of-words head agree in sign within a sentence? `same` (texts, within and across).

    In the two neurons that tell the sentences apart best on the first half of the pairs.
    """
    bag = study.best["bag of words"]
    within, across = _word_products(study.choose_traces, *bag)
    two = (within.mean(0) - across.mean(0)).topk(2).indices
    same = np.array(
        [
            [float((products[:, two] > 0).float().mean()) for products in _word_products([trace], *bag)]
            for trace in study.traces
        ]
    )
    said = (
        f"{head_name(bag)}, neurons {two.tolist()}: the signs of query and key agree in {mean_text(same[:, 0])} of "
        f"the pairs of words within a sentence,\nand in {mean_text(same[:, 1])} of the pairs across; chance is 0.50."
    )
    return Finding(said, same=same)


def conclusions(study: Patterns, of_neurons: Finding, one_key: Finding, of_signs: Finding) -> Any:
    """A table: what is said of BERT, what holds on this model, by which numbers."""
    altered, sizes = study.causes.altered, of_neurons.of_patterns

    def of_runs(measure: str, *runs: str) -> str:
        return ", ".join(f"{run} {mean_text(altered[run][measure])}" for run in ("as it is", *runs))

    def overlaps(found: dict[str, np.ndarray]) -> str:
        return ", ".join(f"{name} {found[name].mean():.2g}" for name in ("[CLS]", "next"))

    in_use = ", ".join(f"{name} {sizes.loc[study.named(name), 'neurons of 32']:.2g}" for name in NAMES)
    same = of_signs.same
    rows = [
        (
            "Heads rest on the delimiter [SEP]",
            "they rest, but on [CLS]",
            f"weight on [CLS] {mean_text(study.rest.on_cls)}, on [SEP] {mean_text(study.rest.on_sep)}; "
            f"value of [CLS] {mean_text(study.values.resting)} of a word's",
        ),
        ("Next word: a matter of position", "holds", of_runs("next", "words shuffled", "same position")),
        ("Previous word: likewise", "holds", of_runs("previous", "words shuffled", "same position")),
        (
            "Bag of words: evenly over the own sentence",
            "faint",
            f"own {study.blocks.own}, other {study.blocks.other}, evenness {study.blocks.evenness:.2f}",
        ),
        (
            "… made by the token types",
            "does not hold, it is mostly nearness",
            "own share: " + of_runs("own share", "same type", "same position"),
        ),
        (
            "… by neurons with matching signs",
            "a tendency",
            f"same sign {mean_text(same[:, 0])} within, {mean_text(same[:, 1])} across",
        ),
        (
            "Few neurons for delimiter and bag of words, many for neighbours",
            "says nothing: random vectors have as few",
            f"neurons: random {of_neurons.random_size:g}, {in_use}",
        ),
        (
            "Steady neurons for delimiters, changing ones for neighbours",
            "holds for resting on [CLS], in whichever head",
            f"overlap toward the strongest key: {overlaps(one_key.to_strongest)}; "
            f"toward [CLS]: {overlaps(one_key.to_cls)}",
        ),
        ("Scores are divided by √64 = 8", "√32 here", f"{1 / study.traces[0].scaling(0):.2f}"),
    ]
    return verdicts(rows, ("what is said of BERT", "on this model", "numbers"))
