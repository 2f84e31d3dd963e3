"""A number beside those of unrelated texts: against sentence-transformers and numpy."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.errors import InputError
from bertlens.sentences.unrelated import TEXTS as UNRELATED
from unit.tiny_encoders import TEXTS, encoder, words

OTHERS = [words(5 + n, n) for n in range(12)]


@pytest.mark.parametrize("function", ["cosine", "euclidean"])
@pytest.mark.parametrize("tasks", [(None, None), ("query", "document")])
def test_quantiles_and_share_of_all_pairs(function: str, tasks: Any) -> None:
    model = encoder(similarity_fn_name=function)
    found = bl.similarity(bl.Lens(model), *TEXTS[:2], tasks=tasks)
    calls = {None: model.encode, "query": model.encode_query, "document": model.encode_document}
    one, other = (calls[task](OTHERS) for task in tasks)
    pairs = (combinations if tasks[0] == tasks[1] else permutations)(range(12), 2)
    numbers = [float(model.similarity(one[i], other[j])) for i, j in pairs]
    base = found.against([*OTHERS, OTHERS[0]])  # a text that is there twice is no pair of two
    assert (base.n, base.pairs, base.value) == (12, len(numbers), found.value)
    np.testing.assert_allclose((base.low, base.median, base.high), np.quantile(numbers, [0.05, 0.5, 0.95]), atol=1e-5)
    assert base.above == pytest.approx(np.mean(np.array(numbers) >= found.value), abs=1e-9)
    assert f"of {base.pairs} pairs of 12 unrelated texts 5 % are below {base.low:.3f}" in str(base)


def test_it_is_computed_once_for_a_lens_and_again_for_other_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    model = encoder()
    lens, calls = bl.Lens(model), []
    monkeypatch.setattr(lens, "encode", lambda *args, **kwargs: calls.append(1) or bl.Lens.encode(lens, *args))
    first = bl.similarity(lens, *TEXTS[:2]).baseline
    again = bl.similarity(lens, *TEXTS[1:3]).baseline
    assert (first.n, first.pairs) == (48, 48 * 47 / 2) and len(calls) == 1
    assert (first.low, first.median, first.high) == (again.low, again.median, again.high)
    assert bl.similarity(lens, *TEXTS[:2], tasks=("query", None)).baseline.pairs == 48 * 47 and len(calls) == 3
    with torch.no_grad():
        model[0].model.embeddings.word_embeddings.weight.mul_(2)
    assert bl.similarity(lens, *TEXTS[:2]).baseline.median != first.median


def test_the_shipped_texts_are_different_and_too_few_are_refused() -> None:
    assert len(set(UNRELATED)) == 48 and all(5 <= len(text.split()) <= 14 for text in UNRELATED)
    with pytest.raises(InputError, match="at least 8 different texts, not 2"):
        bl.similarity(bl.Lens(encoder()), *TEXTS[:2]).against(["cats", "cats", "a cat"])


def test_unrelated_texts_are_unlike_to_the_embedded_model(embedded_lens: Any) -> None:
    """What the texts are for: nearly all of their pairs are far below a pair that says the same."""
    base = bl.similarity(embedded_lens, "A man is eating food.", "A man eats something.").baseline
    assert base.high < 0.3 and base.above == 0 and abs(base.median) < 0.1
