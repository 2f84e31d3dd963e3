"""What tells heads apart by weight and by norm, against loops over pairs in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from bertlens import whatif
from bertlens.errors import ModelError, SelectionError
from bertlens.lens import Lens
from bertlens.measures import byhead, norms
from bertlens.measures.distributions import total_variation
from bertlens.trace import Trace
from bertlens.widgets.answers import head_answers
from unit import tiny


@pytest.fixture(scope="module")
def trace() -> Trace:
    family = tiny.FAMILIES["bert"]
    return Lens(tiny.shaken(family.model()), family.tokenizer()).trace(*tiny.TEXTS[1])


def shares(trace: Trace, layer: int, head: int) -> np.ndarray:
    passed_on = norms.weighted_norm(trace, layer, torch.float64)[head].numpy()
    return np.array([[value / sum(row) for value in row] for row in passed_on])


def test_statistics_by_norm_are_of_the_shares(trace: Trace) -> None:
    found = byhead.statistics(trace, "norm")
    n = trace.n_tokens
    special = trace.special_mask.tolist()
    for layer in range(trace.n_layers):
        for head in range(trace.n_heads):
            rows, alpha = shares(trace, layer, head), trace.attention(layer, torch.float64)[head].numpy()
            value = dict(zip(found.names, found.values[layer, head].tolist(), strict=True))
            assert value["previous"] == pytest.approx(sum(rows[i, i - 1] for i in range(1, n)) / n, abs=1e-5)
            assert value["special"] == pytest.approx(
                sum(rows[:, j].sum() for j in range(n) if special[j]) / n, abs=1e-5
            )
            entropy = sum(-p * math.log(p) for row in rows for p in row if p > 0) / n
            assert value["entropy"] == pytest.approx(entropy, abs=1e-4)
            moved = sum(abs(alpha[i, j] - rows[i, j]) for i in range(n) for j in range(n)) / 2 / n
            assert value["variation"] == pytest.approx(moved, abs=1e-5)
            assert found.received[layer, head].tolist() == pytest.approx(rows.mean(0).tolist(), abs=1e-5)


def test_by_weight_there_is_no_variation(trace: Trace) -> None:
    found = byhead.statistics(trace)
    assert "variation" not in found.names
    alpha = trace.attention(1)
    torch.testing.assert_close(found.received[1], alpha.mean(1))


def test_variation_of_a_known_case() -> None:
    """Half of every row on [CLS], whose norm is nothing: that half moves, the rest grows."""
    alpha = torch.zeros(1, 3, 3)
    alpha[..., 0], alpha[..., 1] = 0.5, 0.5
    moved = byhead.norm_shares(alpha, torch.tensor([[0.0, 2.0, 7.0]]))
    assert moved[0, 0].tolist() == [0, 1, 0]
    assert total_variation(alpha, moved)[0].tolist() == [0.5] * 3
    assert byhead.norm_shares(alpha, torch.zeros(1, 3)).abs().sum() == 0  # nothing passed on is not NaN


@pytest.mark.parametrize(("start", "stop"), [(2, 3), (1, 4)])
def test_rows_of_one_query_or_the_mean_of_several(trace: Trace, start: int, stop: int) -> None:
    found = byhead.query_rows(trace, start, stop, True)
    for layer in range(trace.n_layers):
        alpha = trace.attention(layer, torch.float64)
        passed_on = norms.weighted_norm(trace, layer, torch.float64)
        share = np.stack([shares(trace, layer, head) for head in range(trace.n_heads)])
        assert found["weight"][layer].numpy() == pytest.approx(alpha[:, start:stop].mean(1).numpy(), abs=1e-6)
        assert found["norm"][layer].numpy() == pytest.approx(passed_on[:, start:stop].mean(1).numpy(), rel=1e-5)
        assert found["share"][layer].numpy() == pytest.approx(share[:, start:stop].mean(1), abs=1e-6)


@pytest.mark.parametrize("name", ["gpt2", "xlm", "roberta"])
def test_rows_are_those_of_the_whole_map(name: str) -> None:
    """Causal masks, rotary and plain ones."""
    family = (tiny.FAMILIES | tiny.OUTSIDE)[name]
    trace = Lens(tiny.shaken(family.model()), family.tokenizer()).trace("a few words here")
    for layer in range(trace.n_layers):
        torch.testing.assert_close(trace.attention_rows(layer, 1, 3), trace.attention(layer)[:, 1:3])


def test_rows_of_a_changed_run_are_what_it_used() -> None:
    """Weights that were given, or taken away after the softmax, in their rows too."""
    trace = Lens(tiny.bert(), tiny.wordpiece()).trace("a few words here")
    given = torch.rand(trace.n_tokens, trace.n_tokens, generator=torch.Generator().manual_seed(0)).softmax(-1)
    changed = trace.rerun(whatif.pattern(1, 2, given), whatif.cut(1, 0, query=2, renormalize=False))
    rows = changed.attention_rows(1, 1, 4)
    torch.testing.assert_close(rows, changed.attention(1)[:, 1:4])
    torch.testing.assert_close(rows[2], given[1:4])
    assert not rows[0, 1].any() and bool(rows[0, 0].any())


def test_rows_of_maps_that_were_given() -> None:
    weights = torch.randn(2, 3, 4, 6).softmax(-1)
    trace = Trace.from_attentions(weights, list("abcd"), list("uvwxyz"))
    _, arrays = head_answers.query_rows(trace, 2, 2)
    assert list(arrays) == ["weight"]
    torch.testing.assert_close(arrays["weight"], weights[:, :, 2])
    with pytest.raises(SelectionError, match="before the first"):
        head_answers.query_rows(trace, 2, 1)
    with pytest.raises(ModelError):
        head_answers.head_statistics(trace, "norm")
