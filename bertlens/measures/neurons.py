"""Which neurons of a query and a key make a head look there: q·k split into its terms, and contrasted with other keys.

What a family adds to q·k for where tokens stand (MPNet, DeBERTa) is no neuron's: it is in scores and weights as it is.

After Vig, "Deconstructing BERT, part 2" (2019): the neuron view's q × k. The contrast, the 80 % set, its weight and its
reuse are bertlens' own. The size of the set says little: random q and k need nearly as few neurons (`n80_chance`). What
holds of a set is the weight that it makes alone (`set_weights`).
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, nan
from typing import NamedTuple

import torch
from torch import Tensor

from ..base.vocabulary.constants import NEURON_DRAWS, NEURON_SHARE
from ..errors import SelectionError, check_index
from ..trace.trace import Trace

LOTS = 200  # sets picked at random
DRAWS = 20_000  # random heads: a median of whole neurons needs many
KEYS_AT_ONCE = 2**20  # keys of random heads that are held together
MOST_KEYS = 2**23  # drawn in all: of long texts fewer heads


def products(trace: Trace, layer: int, head: int, query: int) -> Tensor:
    """(S, d) q_i ∘ k_j for every key j, unscaled; a row sums to q·k.

    Raises SelectionError for an index that does not exist, ModelError for a trace without queries.
    """
    check_index(head, trace.n_heads, "head")
    check_index(query, trace.n_tokens, "query")
    return trace.query(layer)[head, query] * trace.key(layer)[head]


def contrast(trace: Trace, layer: int, head: int, query: int, key: int) -> Tensor:
    """(d,) scaling · q_i ∘ (k_key − mean of the other visible keys).

    Sums to score(query, key) − mean score(query, the other visible keys), of scores as q·k alone makes them. NaN where
    the query sees no other key.
    Raises SelectionError for an index that does not exist or a key hidden from the query, ModelError without queries.
    """
    head_of = _Head(trace, layer, head)
    head_of.check(query, key)
    row = head_of.contrasts(*torch.tensor([[key], [query]], device="cpu"))[0]
    return row.to(trace.query(layer).dtype)


def contrast_set(trace: Trace, layer: int, head: int, query: int, key: int) -> Tensor:
    """(N,) sorted int64 indices of the least set of neurons, largest first, that reaches 80 % of the net contrast.

    Equal contributions: the lower index first. Empty where the net contrast is not above 0. Raises like `contrast`.
    """
    head_of = _Head(trace, layer, head)
    head_of.check(query, key)
    return _sets(head_of.contrasts(*torch.tensor([[key], [query]], device="cpu")))[0].nonzero()[:, 0]


def n80(trace: Trace, layer: int, head: int, query: int, key: int) -> int | float:
    """Size of `contrast_set`: the least number of neurons whose sum reaches 80 % of the net contrast, in 1..d.

    NaN where the net contrast is not above 0: then no set carries it. Chance: `n80_chance`. Raises like `contrast`.
    """
    return len(contrast_set(trace, layer, head, query, key)) or float("nan")


def n80_of_strongest(trace: Trace, layer: int, head: int) -> Tensor:
    """(S,) int64: `n80` of every query toward its highest score, the first of equal ones; 0 where no set carries it.

    Raises SelectionError for an index that does not exist, ModelError for a trace without queries.
    """
    head_of = _Head(trace, layer, head)
    return _sets(head_of.contrasts(head_of.scores.argmax(-1))).sum(-1)


class Draws(NamedTuple):
    """What random vectors give: 90 % of the draws lie from `low` to `high`."""

    low: float
    median: float  # of the draws
    high: float


@lru_cache(maxsize=256)
def n80_chance(d: int, keys: int, rank: int = 0, draws: int = DRAWS, seed: int = 0) -> Draws:
    """The `n80` of random queries and keys: 5 %, 50 % and 95 % of draws, sizes in 1..d.

    Entries of q and of `keys` visible keys are independent standard normals; asked is the key that has the rank-th
    highest score, 0 the strongest. The more keys there are, the further the strongest stands out and the more neurons
    it takes: of 32, a median of 3 with 5 keys, 4 with 14 and 5 with 100. Only draws with a contrast above 0 count; NaN
    where fewer than 20 have one. draws: of more than 419 keys fewer, 2²³ keys in all, and 1,000 at
    least. Raises SelectionError for a rank that the keys do not have.
    """
    check_index(rank, keys, "rank")
    if keys < 2:
        return Draws(nan, nan, nan)
    generator = torch.Generator("cpu").manual_seed(seed)
    total, size = min(draws, max(1000, MOST_KEYS // keys)), max(1, KEYS_AT_ONCE // keys)
    batches = [_random_sizes(d, keys, rank, min(size, total - start), generator) for start in range(0, total, size)]
    sizes = torch.cat(batches)
    sizes = sizes[sizes > 0]
    if len(sizes) < NEURON_DRAWS:
        return Draws(nan, nan, nan)
    quantiles = torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64, device="cpu")
    return Draws(*sizes.quantile(quantiles, interpolation="lower").tolist())


def _random_sizes(d: int, keys: int, rank: int, draws: int, generator: torch.Generator) -> Tensor:
    """(draws,) float64: the n80 of one cell of each of so many random heads, 0 where its contrast is not above 0."""
    query, key = torch.randn(2, draws, d, generator=generator, dtype=torch.float64, device="cpu")
    along = torch.randn(draws, keys, generator=generator, dtype=torch.float64, device="cpu")
    score = along.kthvalue(keys - rank).values
    # along q the scores decide; across it the key less the mean of the others is normal again
    contrast = score - (along.sum(-1) - score) / (keys - 1)
    unit = torch.nn.functional.normalize(query, dim=-1)
    key = key * (1 + 1 / (keys - 1)) ** 0.5
    key = key + (contrast - (key * unit).sum(-1))[:, None] * unit
    return _sets(query * key).sum(-1).double()


class SetWeights(NamedTuple):
    """The weight of one cell, each in [0, 1], as different neurons make it."""

    whole: float  # all neurons: the model's weight
    alone: float  # the neurons of the `contrast_set` alone
    rest: float  # the others alone
    lot: float  # as many as the set has, picked at random: mean over the draws


def set_weights(trace: Trace, layer: int, head: int, query: int, key: int, seed: int = 0) -> SetWeights:
    """The weight of (query, key) with all neurons, with its `contrast_set` alone, with the rest alone, and at random.

    A weight of a set M is softmax_j(scaling · Σ_{n ∈ M} q_n k_jn + mask_j) at the key; what a family adds to q·k stays,
    as a mask does. What a set does is seen from
    alone ≈ whole and rest ≈ 0; `lot`, the mean over 200 random sets of its size, is the chance level. All NaN where
    there is no set. Raises like `contrast`.
    """
    head_of = _Head(trace, layer, head)
    head_of.check(query, key)
    members = _sets(head_of.contrasts(*torch.tensor([[key], [query]], device="cpu")))[0]
    if not members.any():
        return SetWeights(nan, nan, nan, nan)
    generator = torch.Generator("cpu").manual_seed(seed)
    lots = torch.rand(LOTS, len(members), generator=generator, device="cpu").argsort(-1) < int(members.sum())
    sets = torch.cat([torch.stack([torch.ones_like(members), members, ~members]), lots.to(members.device)])
    scores = (sets * head_of.query[query]) @ head_of.key.T * head_of.scaling + head_of.mask[query]
    weights = scores.softmax(-1)[:, key]
    total, alone, remainder = weights[:3].tolist()
    return SetWeights(total, alone, remainder, float(weights[3:].mean()))


def reuse(trace: Trace, layer: int, head: int, query: int, key: int) -> tuple[float, float]:
    """How much of this cell's `contrast_set` the head's other queries use again: (mean Jaccard, its chance level).

    Compared with every other query's set toward its own most attended key; a query without a set shares nothing.
    Chance is the exact mean Jaccard of random sets of the same sizes out of d (hypergeometric). Both in [0, 1];
    (NaN, NaN) where there is no set here or no other query. Raises like `contrast`.
    """
    head_of = _Head(trace, layer, head)
    head_of.check(query, key)
    keys = head_of.scores.argmax(-1)
    keys[query] = key
    sets = _sets(head_of.contrasts(keys))
    selected, peers = sets[query], torch.cat([sets[:query], sets[query + 1 :]])
    if not selected.any() or len(peers) == 0:
        return float("nan"), float("nan")
    jaccard = (selected & peers).sum(-1).double() / (selected | peers).sum(-1)
    size = int(selected.sum())
    chance = [expected_jaccard(sets.shape[1], size, int(peer)) for peer in peers.sum(-1)]
    return float(jaccard.mean()), sum(chance) / len(chance)


@lru_cache(maxsize=4096)
def expected_jaccard(d: int, a: int, b: int) -> float:
    """Mean of |A ∩ B| / |A ∪ B| over random sets of sizes a, b out of d: Σ_x P(x) x / (a + b − x), x hypergeometric."""
    overlaps = range(max(0, a + b - d), min(a, b) + 1)
    return sum(comb(a, x) * comb(d - a, b - x) * (x / (a + b - x)) for x in overlaps) / comb(d, b)


class _Head:
    """Queries, keys and visibility of one head, in float64."""

    def __init__(self, trace: Trace, layer: int, head: int):
        check_index(head, trace.n_heads, "head")
        self.query = trace.query(layer)[head].double()
        self.key = trace.key(layer)[head].double()
        self.scaling = trace.scaling(layer)
        self.mask = trace.mask_rows(layer, head, slice(0, trace.n_tokens))
        self.visible = self.mask != -torch.inf

    @property
    def scores(self) -> Tensor:
        return self.query @ self.key.T * self.scaling + self.mask

    def check(self, query: int, key: int) -> None:
        check_index(query, len(self.query), "query")
        check_index(key, len(self.key), "key")
        if not self.visible[query, key]:
            raise SelectionError(f"key {key} is hidden from query {query} by the model's mask")

    def contrasts(self, keys: Tensor, queries: Tensor | None = None) -> Tensor:
        """(len(queries), d): each query's contrast toward its key; all queries by default."""
        rows = torch.arange(len(self.query), device="cpu") if queries is None else queries
        visible = self.visible[rows].double()
        targets = self.key[keys]
        means = (visible @ self.key - targets) / (visible.sum(-1, keepdim=True) - 1)
        return self.scaling * self.query[rows] * (targets - means)


def _sets(contrasts: Tensor) -> Tensor:
    """(n, d) bool: the neurons, largest first, whose sum reaches 80 % of the row's; none where that is not above 0."""
    ordered, order = contrasts.sort(dim=-1, descending=True, stable=True)
    net = contrasts.sum(-1, keepdim=True)
    # a neuron belongs if the ones before it have not reached the share yet
    sums = torch.nn.functional.pad(ordered.cumsum(-1)[:, :-1], (1, 0))
    members = (sums < NEURON_SHARE * net) & (net > 0)
    return torch.zeros_like(members).scatter(-1, order, members)
