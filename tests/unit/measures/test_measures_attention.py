"""The attention measures, against loops that follow their definitions pair by pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from bertlens.lens import Lens
from bertlens.measures import attention, statistics
from bertlens.trace import Trace
from unit import tiny

NAMES = ["previous", "next", "self", "first", "separator", "special", "punctuation_all", "same_segment"]
NAMES += ["entropy", "k90", "max"]
PAIR = tiny.TEXTS[1]


def by_hand(alpha: np.ndarray, special: list[bool], separators: list[bool], segments: list[int]) -> dict[str, float]:
    """One head, one number at a time (queries i, keys j)."""
    n = len(alpha)

    def share(*pairs: tuple[int, int]) -> float:
        return sum(float(alpha[i, j]) for i, j in pairs) / n

    every = [(i, j) for i in range(n) for j in range(n)]
    counts = []
    for row in alpha:
        held, count = 0.0, 0
        for weight in sorted(row.tolist(), reverse=True):
            held, count = held + weight, count + 1
            if held >= 0.9 - 1e-6:
                break
        counts.append(count)
    return {
        "previous": share(*((i, i - 1) for i in range(1, n))),
        "next": share(*((i, i + 1) for i in range(n - 1))),
        "self": share(*((i, i) for i in range(n))),
        "first": share(*((i, 0) for i in range(n))),
        "separator": share(*(p for p in every if separators[p[1]])) if any(separators) else math.nan,
        "special": share(*(p for p in every if special[p[1]])),
        "same_segment": share(*(p for p in every if segments[p[0]] == segments[p[1]])) if any(segments) else math.nan,
        "entropy": sum(-w * math.log(w) for row in alpha.tolist() for w in row if w > 0) / n,
        "k90": sum(counts) / n,
        "max": float(alpha.max()),
    }


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "xlm"])
@pytest.mark.parametrize("given", [PAIR, (PAIR[1],)], ids=["pair", "single"])
def test_summary(name: str, given: tuple[str, ...]) -> None:
    family = (tiny.FAMILIES | tiny.OUTSIDE)[name]
    trace = Lens(tiny.shaken(family.model()), family.tokenizer()).trace(*given)
    found = attention.summary(trace)
    assert list(found) == NAMES == list(statistics.ATLAS_NAMES)
    special, segments = trace.special_mask.tolist(), trace.segments.tolist()
    separator = {"bert": "[SEP]", "roberta": "</s>", "xlm": "[SEP]", "gpt2": "none"}[name]
    separators = [s and t == separator for s, t in zip(special, trace.tokens, strict=True)]
    for layer in range(trace.n_layers):
        for head in range(trace.n_heads):
            alpha = trace.attention(layer)[head].double().numpy()
            expected = by_hand(alpha, special, separators, segments)
            marks = [not s and t in ".,!?" for s, t in zip(special, trace.display_tokens, strict=True)]
            expected["punctuation_all"] = float(alpha[:, marks].sum()) / len(alpha)
            for key in NAMES:
                assert float(found[key][layer, head]) == pytest.approx(expected[key], abs=2e-5, nan_ok=True), key
    assert all(values.shape == (trace.n_layers, trace.n_heads) for values in found.values())
    assert all(values.dtype == torch.float32 for values in found.values())
    assert bool(found["separator"].isnan().all()) == (name == "gpt2")
    assert bool(found["same_segment"].isnan().all()) == (len(given) == 1)


def shifted(offset: int, size: int = 8) -> torch.Tensor:
    """Every query looks at the token `offset` away; where there is none, at itself."""
    alpha = torch.zeros(size, size)
    for i in range(size):
        alpha[i, i + offset if 0 <= i + offset < size else i] = 1
    return alpha


def test_names_of_directions() -> None:
    """On shifted matrices, previous is the token before and next the token after."""
    heads = torch.stack([shifted(-1), shifted(1), shifted(0)])
    found = attention.summary(Trace.from_attentions(heads[None], list("abcdefgh")))
    assert found["previous"][0].tolist() == [7 / 8, 0, 0]
    assert found["next"][0].tolist() == [0, 7 / 8, 0]
    assert found["self"][0].tolist() == [1 / 8, 1 / 8, 1]
    assert found["first"][0].tolist() == [2 / 8, 0, 1 / 8]
    assert found["entropy"].abs().max() == 0 and (found["k90"] == 1).all() and (found["max"] == 1).all()


def test_uniform_attention() -> None:
    tenth = torch.tensor(0.1 - 2e-8)  # a few float32 steps short of it, as a softmax may end
    found = attention.summary(Trace.from_attentions(tenth.repeat(1, 1, 10, 10), list("abcdefghij")))
    assert float(found["entropy"]) == pytest.approx(math.log(10), abs=1e-6)
    assert float(found["k90"]) == 9  # nine tenths exactly, whatever float32 makes of it
    assert float(found["self"]) == pytest.approx(0.1)


def test_cross_attention() -> None:
    weights = torch.randn(2, 3, 4, 6).softmax(-1)
    trace = Trace.from_attentions(weights, ["<s>", "a", "b", "</s>"], ["[CLS]", "x", "[SEP]", "y", "z", "[SEP]"])
    found = attention.summary(trace)
    for name in ("previous", "next", "self", "same_segment"):
        assert found[name].isnan().all()
    torch.testing.assert_close(found["separator"], weights[..., [2, 5]].sum((2, 3)) / 4)
    torch.testing.assert_close(found["special"], weights[..., [0, 2, 5]].sum((2, 3)) / 4)


def test_not_a_number_stays_in_its_head() -> None:
    weights = torch.randn(1, 2, 6, 6).softmax(-1)
    weights[0, 0, 3] = torch.nan
    trace = Trace.from_attentions(weights, list("abcdef"))
    found = attention.summary(trace)
    assert all(found[name][0].isnan().tolist() == [True, False] for name in ("entropy", "k90", "max", "first"))
