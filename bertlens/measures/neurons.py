"""Which neurons of a query and a key make a head look there: q·k split into its terms, and contrasted with other keys.

After Vig, "Deconstructing BERT, part 2" (2019): the neuron view's q × k. The contrast, the 80 % set and its reuse are
bertlens' own.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import torch
from torch import Tensor

from ..errors import SelectionError, check_index
from ..trace import Trace

SHARE = 0.8


def products(trace: Trace, layer: int, head: int, query: int) -> Tensor:
    """(S, d) q_i ∘ k_j for every key j, unscaled; a row sums to q·k.

    Raises SelectionError for an index that does not exist, ModelError for a trace without queries.
    """
    check_index(head, trace.n_heads, "head")
    check_index(query, trace.n_tokens, "query")
    return trace.query(layer)[head, query] * trace.key(layer)[head]


def contrast(trace: Trace, layer: int, head: int, query: int, key: int) -> Tensor:
    """(d,) scaling · q_i ∘ (k_key − mean of the other visible keys).

    Sums to score(query, key) − mean score(query, the other visible keys). NaN where the query sees no other key.
    Raises SelectionError for an index that does not exist or a key hidden from the query, ModelError without queries.
    """
    head_of = _Head(trace, layer, head)
    head_of.check(query, key)
    row = head_of.contrasts(*torch.tensor([[key], [query]], device="cpu"))[0]
    return row.to(trace.query(layer).dtype)


def contrast_set(trace: Trace, layer: int, head: int, query: int, key: int) -> Tensor:
    """Sorted int64 indices of the least set of neurons, largest first, that reaches 80 % of the net contrast.

    Equal contributions: the lower index first. Empty where the net contrast is not above 0. Raises like `contrast`.
    """
    head_of = _Head(trace, layer, head)
    head_of.check(query, key)
    return _sets(head_of.contrasts(*torch.tensor([[key], [query]], device="cpu")))[0].nonzero()[:, 0]


def n80(trace: Trace, layer: int, head: int, query: int, key: int) -> int | float:
    """Size of `contrast_set`: the least number of neurons whose sum reaches 80 % of the net contrast, in 1..d.

    NaN where the net contrast is not above 0: then no set carries it. Raises like `contrast`.
    """
    return len(contrast_set(trace, layer, head, query, key)) or float("nan")


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
    selected, others = sets[query], torch.cat([sets[:query], sets[query + 1 :]])
    if not selected.any() or len(others) == 0:
        return float("nan"), float("nan")
    jaccard = (selected & others).sum(-1).double() / (selected | others).sum(-1)
    size = int(selected.sum())
    chance = [expected_jaccard(sets.shape[1], size, int(other)) for other in others.sum(-1)]
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
        mask = trace.dense_mask(layer)
        if mask is None:
            mask = self.query.new_zeros(len(self.query), len(self.key))
        self.mask = mask[head] if mask.ndim == 3 else mask
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
        chosen = self.key[keys]
        others = (visible @ self.key - chosen) / (visible.sum(-1, keepdim=True) - 1)
        return self.scaling * self.query[rows] * (chosen - others)


def _sets(contrasts: Tensor) -> Tensor:
    """(n, d) bool: the neurons, largest first, whose sum reaches 80 % of the row's; none where that is not above 0."""
    ordered, order = contrasts.sort(dim=-1, descending=True, stable=True)
    net = contrasts.sum(-1, keepdim=True)
    # a neuron belongs if the ones before it have not reached the share yet
    before = torch.nn.functional.pad(ordered.cumsum(-1)[:, :-1], (1, 0))
    chosen = (before < SHARE * net) & (net > 0)
    return torch.zeros_like(chosen).scatter(-1, order, chosen)
