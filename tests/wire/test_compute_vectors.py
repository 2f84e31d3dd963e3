"""The numbers that the page must reproduce (js/tests/compute.test.ts reads the same file) against the reference."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import make_compute_vectors as reference

VECTORS = json.loads(reference.PATH.read_text())
HEADS = pytest.mark.parametrize("head", VECTORS["heads"], ids=lambda head: head["name"])


def same(stored: object, computed: object, where: str = "") -> None:
    """Equal structure, floats within 1e-12: another machine may sum in another order."""
    if isinstance(stored, dict):
        assert stored.keys() == computed.keys(), where
        for name in stored:
            same(stored[name], computed[name], f"{where}.{name}")
    elif isinstance(stored, list):
        assert len(stored) == len(computed), where
        for n, (left, right) in enumerate(zip(stored, computed, strict=True)):
            same(left, right, f"{where}[{n}]")
    elif isinstance(stored, float):
        assert stored == pytest.approx(computed, rel=1e-12, abs=1e-12), where
    else:
        assert stored == computed, where


def array(stored: dict, dtype: str = "float64") -> np.ndarray:
    return np.array([float(value) for value in stored["values"]], dtype).reshape(stored["shape"])


def test_vectors_file_is_what_the_reference_computes():
    same(VECTORS, json.loads(json.dumps(reference.written(reference.vectors()))))


@HEADS
def test_reference_keeps_its_own_laws(head):
    """Attention sums to 1 where a key is visible; a contrast sums to the difference of scores."""
    visible, scores, attention = array(head["visible"]) == 1, array(head["scores"]), array(head["attention"])
    sees = visible.any(axis=1)
    np.testing.assert_allclose(attention[sees].sum(1), 1, rtol=1e-12)
    assert (attention[sees][~visible[sees]] == 0).all()
    assert np.isnan(attention[~sees]).all()
    if head["fields"]["mask"] == "bias" or "terms" in head["fields"]:
        return  # neither is a neuron's doing
    for pair in head["neurons"]:
        i, j = pair["query"], pair["key"]
        others = [key for key in range(head["K"]) if visible[i, key] and key != j]
        if visible[i, j] and others:
            assert pair["net"] == pytest.approx(scores[i, j] - scores[i, others].mean(), abs=1e-12)


def test_expected_jaccard_is_the_mean_over_all_sets():
    """By drawing every pair of sets once, d = 6."""
    from itertools import combinations

    own = {0, 1, 2}
    every = [len(own & {*other}) / len(own | {*other}) for other in combinations(range(6), 2)]
    assert reference.expected_jaccard(3, 2, 6) == pytest.approx(math.fsum(every) / len(every), abs=1e-15)


class Head:
    """One head's vectors as a trace of one layer and one head: what bertlens.measures.neurons asks of a trace."""

    n_heads = 1

    def __init__(self, head: dict):
        import torch

        self.n_tokens, self.masking = head["S"], head["fields"]["mask"]
        self.arrays = {name: torch.from_numpy(array(stored)) for name, stored in head["arrays"].items()}
        hidden = torch.from_numpy(array(head["visible"])) == 0
        self.bits = torch.zeros(hidden.shape, dtype=torch.float64).masked_fill(hidden, -torch.inf)
        self.factor, self.named = head["fields"]["scaling"], head["fields"].get("terms", [])

    def query(self, _layer: int):
        return self.arrays["q"][None]

    def key(self, _layer: int):
        return self.arrays["k"][None]

    def scaling(self, _layer: int) -> float:
        return self.factor

    def mask_rows(self, _layer: int, _head: int, queries: slice):
        """The mask, and what the kernel makes of the numbers that a page has of terms (run/score_bias.py)."""
        mask = self.arrays["bias"] if self.masking == "bias" else self.bits
        return (mask + sum(self.terms()))[queries]

    def terms(self):
        from bertlens.run.score_bias import DisentangledBias, DistanceBias, LayoutBias

        q, k = self.query(0), self.key(0)
        for n, term in enumerate(self.named):
            numbers, by = self.arrays[f"term{n}"].double(), self.arrays.get(f"term{n}.by")
            table = numbers[None]
            if term["of"] == "cells":
                yield numbers
            elif term["of"] == "distance":
                yield DistanceBias(table).part(q, k)[0]
            elif term["of"] == "pairs":
                yield LayoutBias(table, by[None], 1.0).part(q, k)[0]
            else:
                tables = (table, None) if term["of"] == "query" else (None, table)
                yield DisentangledBias(*tables, by.flip(0).long(), 1.0).part(q, k)[0]


@HEADS
def test_measures_give_the_numbers_that_the_page_must_give(head):
    from bertlens import SelectionError
    from bertlens.measures import neurons

    trace = Head(head)
    visible = array(head["visible"])
    for pair in head["neurons"]:
        i, j = pair["query"], pair["key"]
        if not visible[i, j]:
            with pytest.raises(SelectionError):
                neurons.contrast(trace, 0, 0, i, j)
            continue
        close = {"rtol": 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(neurons.products(trace, 0, 0, i)[j].numpy(), array(pair["products"]), **close)
        np.testing.assert_allclose(neurons.contrast(trace, 0, 0, i, j).numpy(), array(pair["contrast"]), **close)
        assert neurons.contrast_set(trace, 0, 0, i, j).tolist() == pair["set"]
        np.testing.assert_equal(float(neurons.n80(trace, 0, 0, i, j)), float(pair["n80"]))
        wanted = float(pair["jaccard"]), float(pair["chance"])
        # each overlap is a quotient of two counts, rounded to float32
        np.testing.assert_allclose(neurons.reuse(trace, 0, 0, i, j), wanted, rtol=1e-7)
        if pair["set"]:
            made = neurons.set_weights(trace, 0, 0, i, j)
            np.testing.assert_allclose(made[1:3], (pair["alone"], pair["rest"]), rtol=1e-12)
            assert abs(made.lot - pair["lot"]) <= 0.3 * pair["lot_sd"] + 1e-12  # four errors of 200 draws


def test_chance_of_n80_is_within_the_limits_that_hold_for_the_page():
    from bertlens.measures import neurons

    for case in VECTORS["n80_chance"]:
        found = neurons.n80_chance(case["d"], case["keys"], case["rank"])
        assert all(low <= x <= high for x, (low, high) in zip(found, case["limits"], strict=True))
