"""The neuron measures, against their definitions in plain loops and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

from bertlens.base.limits import LIMITS, Limit
from bertlens.errors import ModelError, SelectionError
from bertlens.lens import Lens
from bertlens.measures import neurons
from bertlens.run import attention_weights as run_attention
from bertlens.trace import Trace
from unit import tiny

PAIR = tiny.TEXTS[1]
KINDS = [k for k in ("bert", "gpt2", "modernbert", "t5 encoder", "llama, grouped keys") if k in tiny.FAMILIES]


def trace_of(name: str) -> Trace:
    family = tiny.FAMILIES[name]
    return Lens(tiny.shaken(family.model()), family.tokenizer()).trace(*PAIR)


class ByHand:
    """One head with the definitions written out, in float64."""

    def __init__(self, trace: Trace, layer: int, head: int):
        self.q = trace.query(layer)[head].double().numpy()
        self.k = trace.key(layer)[head].double().numpy()
        self.scaling = trace.scaling(layer)
        scores = trace.scores(layer, dtype=torch.float64)[head]
        self.visible = (scores != -torch.inf).numpy()
        self.scores = scores.numpy()

    def contrast(self, i: int, key: int) -> np.ndarray:
        others = [self.k[j] for j in range(len(self.k)) if self.visible[i, j] and j != key]
        if not others:
            return np.full(self.k.shape[1], np.nan)
        return self.scaling * self.q[i] * (self.k[key] - np.mean(others, 0))

    def set_of(self, i: int, key: int) -> set[int]:
        parts = self.contrast(i, key)
        net = parts.sum()
        if not net > 0:
            return set()
        chosen: set[int] = set()
        for n in sorted(range(len(parts)), key=lambda n: (-parts[n], n)):
            chosen.add(n)
            if sum(parts[m] for m in chosen) >= 0.8 * net:
                return chosen
        raise AssertionError("all neurons together reach the net")

    def cells(self) -> list[tuple[int, int]]:
        size = len(self.q)
        return [(i, j) for i in range(size) for j in range(size) if self.visible[i, j]]


@pytest.mark.parametrize("name", KINDS)
def test_products(name: str) -> None:
    trace = trace_of(name)
    scores = trace.scores(1)
    for query in (0, 3, trace.n_tokens - 1):
        made = neurons.products(trace, 1, 2, query)
        assert made.shape == (trace.n_tokens, trace.head_dim)
        for j in range(trace.n_tokens):
            expected = trace.query(1)[2, query] * trace.key(1)[2, j]
            assert torch.equal(made[j], expected)
        if trace.mask(1) is None:
            torch.testing.assert_close(made.sum(-1) * trace.scaling(1), scores[2, query], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_contrast_and_its_set(name: str) -> None:
    """Over every visible cell of a head: the contrast, its sum as a score difference, the set, its size."""
    trace = trace_of(name)
    hand = ByHand(trace, 1, 1)
    bias = name == "t5 encoder"  # its position bias is in the scores and in no neuron
    for i, key in hand.cells():
        parts = neurons.contrast(trace, 1, 1, i, key)
        np.testing.assert_allclose(parts.double().numpy(), hand.contrast(i, key), atol=1e-5, rtol=1e-5)
        others = [hand.scores[i, j] for j in range(len(hand.k)) if hand.visible[i, j] and j != key]
        if others and not bias:
            difference = hand.scores[i, key] - np.mean(others)
            assert float(parts.double().sum()) == pytest.approx(difference, abs=1e-4)
        expected = hand.set_of(i, key)
        found = neurons.contrast_set(trace, 1, 1, i, key)
        assert found.dtype == torch.int64 and found.tolist() == sorted(expected)
        size = neurons.n80(trace, 1, 1, i, key)
        assert size == len(expected) if expected else math.isnan(size)
        if expected:  # the least number: no smaller set reaches the share
            top = np.sort(hand.contrast(i, key))[::-1][: len(expected) - 1].sum()
            assert top < 0.8 * hand.contrast(i, key).sum()


@pytest.mark.parametrize("name", KINDS)
def test_reuse(name: str) -> None:
    trace = trace_of(name)
    hand = ByHand(trace, 2, 0)
    size = trace.n_tokens
    tried = 0
    for i, key in hand.cells()[:: max(1, len(hand.cells()) // 25)]:
        own = hand.set_of(i, key)
        found, chance = neurons.reuse(trace, 2, 0, i, key)
        if not own:
            assert math.isnan(found) and math.isnan(chance)
            continue
        shared, expected = [], []
        for other in range(size):
            if other == i:
                continue
            its = hand.set_of(other, int(hand.scores[other].argmax()))
            shared.append(len(own & its) / len(own | its))
            expected.append(random_jaccard(trace.head_dim, len(own), len(its)))
        assert found == pytest.approx(np.mean(shared), abs=1e-9)
        assert chance == pytest.approx(np.mean(expected), abs=1e-9)
        tried += 1
    assert tried > 5


def random_jaccard(d: int, a: int, b: int) -> float:
    """Mean over every placing of the second set, the first one fixed."""
    first = set(range(a))
    total, count = Fraction(0), 0
    for second in combinations(range(d), b):
        total += Fraction(len(first & set(second)), len(first | set(second)))
        count += 1
    return float(total / count)


@pytest.mark.parametrize(("d", "a", "b"), [(6, 1, 1), (6, 3, 2), (7, 5, 4), (8, 8, 3), (8, 3, 0), (5, 5, 5)])
def test_expected_jaccard(d: int, a: int, b: int) -> None:
    assert neurons.expected_jaccard(d, a, b) == pytest.approx(random_jaccard(d, a, b), abs=1e-12)


def test_expected_jaccard_of_wide_heads() -> None:
    """Also for 128 dimensions, against random draws."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(4000):
        a, b = set(rng.permutation(128)[:9].tolist()), set(rng.permutation(128)[:20].tolist())
        drawn.append(len(a & b) / len(a | b))
    assert neurons.expected_jaccard(128, 9, 20) == pytest.approx(np.mean(drawn), abs=3 * np.std(drawn) / 63)


def test_ties_go_to_the_lower_index() -> None:
    rows = torch.tensor([[1.0, 1.0, 1.0, 1.0, 1.0], [0.5, 2.0, 0.5, 2.0, 0.0], [0, 0, 0, 0, 0], [-1, 0.5, 0, 0, 0]])
    sets = neurons._sets(  # no model makes equal numbers on demand
        rows.double()
    )
    assert sets.long().tolist() == [[1, 1, 1, 1, 0], [0, 1, 0, 1, 0], [0] * 5, [0] * 5]


def test_alone_in_view() -> None:
    """The first token of a causal model sees itself only: nothing to contrast, nothing marked."""
    trace = trace_of("gpt2")
    assert neurons.contrast(trace, 0, 0, 0, 0).isnan().all()
    assert math.isnan(neurons.n80(trace, 0, 0, 0, 0)) and len(neurons.contrast_set(trace, 0, 0, 0, 0)) == 0
    assert all(math.isnan(x) for x in neurons.reuse(trace, 0, 0, 0, 0))


@pytest.mark.parametrize(
    "measure", [neurons.contrast, neurons.contrast_set, neurons.n80, neurons.reuse, neurons.set_weights]
)
def test_what_cannot_be_selected(measure: Any) -> None:
    """Indices from a page are checked."""
    trace = trace_of("gpt2")
    for index in (-1, 99, 1.0, "1", None, True):
        for place, name in enumerate(("layer", "head", "query", "key")):
            with pytest.raises(SelectionError, match=name):
                measure(trace, *(index if p == place else 0 for p in range(4)))
            if name in ("head", "query"):
                with pytest.raises(SelectionError, match=name):
                    neurons.products(trace, *(index if p == place else 0 for p in range(3)))
    with pytest.raises(SelectionError, match="key 2 is hidden from query 1"):
        measure(trace, 0, 0, 1, 2)
    given = Trace.from_attentions(torch.full((1, 1, 2, 2), 0.5), ["a", "b"])
    with pytest.raises(ModelError, match="queries and keys"):
        measure(given, 0, 0, 0, 0)


@pytest.mark.parametrize(("d", "keys", "rank"), [(32, 20, 0), (32, 100, 0), (64, 20, 0), (16, 6, 1), (8, 2, 0)])
def test_chance_of_n80_is_that_of_random_queries_and_keys(d: int, keys: int, rank: int) -> None:
    """Whole random heads, the key with that rank, counted in numpy."""
    random = np.random.default_rng(3)
    sizes = []
    for _ in range(3000):
        q, k = random.standard_normal(d), random.standard_normal((keys, d))
        key = np.argsort(-(k @ q))[rank]
        parts = q * (k[key] - np.delete(k, key, 0).mean(0))
        if parts.sum() > 0:
            sizes.append(int((np.sort(parts)[::-1].cumsum() < 0.8 * parts.sum()).sum()) + 1)
    low, median, high = neurons.n80_chance(d, keys, rank)
    for found, share in ((low, 0.05), (median, 0.5), (high, 0.95)):
        assert np.quantile(sizes, share - 0.03) <= found <= np.quantile(sizes, share + 0.03)


@pytest.mark.parametrize(("keys", "median"), [(10, 3), (12, 3), (14, 4), (16, 4)])
def test_the_median_of_n80_by_chance_is_that_of_12_000_whole_heads(keys: int, median: int) -> None:
    """Scores, order and contrast of every key of every head, in numpy."""
    random = np.random.default_rng(26)
    q, k = random.standard_normal((12_000, 32)), random.standard_normal((12_000, keys, 32))
    best = np.einsum("nd,nkd->nk", q, k).argmax(1)
    chosen = k[np.arange(12_000), best]
    parts = q * (chosen - (k.sum(1) - chosen) / (keys - 1))
    sizes = (np.sort(parts)[:, ::-1].cumsum(1) < 0.8 * parts.sum(1, keepdims=True)).sum(1) + 1
    assert (parts.sum(1) > 0).all() and np.median(sizes) == median == neurons.n80_chance(32, keys).median


def test_chance_of_n80_is_the_one_documented() -> None:
    assert [neurons.n80_chance(32, keys).median for keys in (5, 14, 100)] == [3, 4, 5]
    assert neurons.n80_chance(8, 5_000).median > 1  # of many keys a thousand heads, some at a time
    assert all(math.isnan(x) for x in neurons.n80_chance(32, 1))
    assert all(math.isnan(x) for x in neurons.n80_chance(32, 20, 19))  # the weakest key never stands out
    with pytest.raises(SelectionError, match=r"rank 4 .* 0 to 3"):
        neurons.n80_chance(8, 4, 4)


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


@pytest.mark.parametrize("name", KINDS)
def test_weights_with_the_set_and_with_the_rest(name: str) -> None:
    trace = trace_of(name)
    hand = ByHand(trace, 1, 1)
    bias = np.where(hand.visible, hand.scores - hand.scaling * hand.q @ hand.k.T, -np.inf)
    cells = [(i, j) for i, j in hand.cells() if hand.set_of(i, j)][::7]
    assert cells
    for i, j in cells:
        chosen = sorted(hand.set_of(i, j))
        rest = [n for n in range(hand.q.shape[1]) if n not in chosen]
        found = neurons.set_weights(trace, 1, 1, i, j)
        assert found.whole == pytest.approx(float(trace.attention(1)[1, i, j]), abs=2e-5)
        for value, part in ((found.alone, chosen), (found.rest, rest)):
            scores = hand.scaling * hand.k[:, part] @ hand.q[i, part] + bias[i]
            assert value == pytest.approx(softmax(scores)[j], abs=1e-5)
        random = np.random.default_rng(1)
        lots = [random.permutation(hand.q.shape[1])[: len(chosen)] for _ in range(400)]
        drawn = [softmax(hand.scaling * hand.k[:, lot] @ hand.q[i, lot] + bias[i])[j] for lot in lots]
        assert found.lot == pytest.approx(np.mean(drawn), abs=5 * np.std(drawn) / 200**0.5 + 1e-6)


def test_weights_without_a_set() -> None:
    trace = trace_of("gpt2")
    assert all(math.isnan(x) for x in neurons.set_weights(trace, 0, 0, 0, 0))


def test_the_set_alone_makes_the_weight_in_the_embedded_model(embedded_lens: Lens) -> None:
    """What holds of sets: alone they leave the weight, the rest leaves next to none; their size is near chance."""
    trace = embedded_lens.trace("The cat sat on the mat because it was tired.", "The dog lay on the rug.")
    found, sizes = [], []
    for layer in range(6):
        for head in range(0, 12, 3):
            for query, key in enumerate(trace.attention(layer)[head].argmax(-1).tolist()):
                if neurons.n80(trace, layer, head, query, key) > 0:
                    sizes.append(neurons.n80(trace, layer, head, query, key))
                    found.append(neurons.set_weights(trace, layer, head, query, key))
    whole, alone, rest, lot = np.median(found, 0)
    assert 0.9 < alone / whole < 1.1 and rest / whole < 0.2 and lot / whole < 0.3
    chance = neurons.n80_chance(32, trace.n_tokens)
    assert chance.median == 4 < np.median(sizes) <= chance.high


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_log_sum_exp(name: str, long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums in plain float64, with masks, biases and shared keys; in groups of three rows."""
    monkeypatch.setattr(run_attention, "ROWS", 3)
    monkeypatch.setitem(LIMITS, "doubled", Limit(0 if long else 1024, "", ""))
    trace = trace_of(name)
    for layer in range(trace.n_layers):
        for head in range(trace.n_heads):
            wanted = np.log(np.exp(ByHand(trace, layer, head).scores).sum(1))
            found = trace.log_sum_exp(layer, head)
            assert found.dtype == torch.float64
            assert found.numpy() == pytest.approx(wanted, abs=1e-5 if long else 1e-11)
    with pytest.raises(SelectionError, match="head"):
        trace.log_sum_exp(0, trace.n_heads)
