"""What a text's vector rests on: against loops, the object's own `encode`, and models that are linear."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.errors import ModelError
from bertlens.measures.vector_shares import vector_shares
from unit.tiny_encoders import TEXTS, encoder, parts

TEXT = "The keys to the cabinet are on the table."


def naive(states: torch.Tensor, weights: list[float]) -> list[float]:
    """v_i · v / ‖v‖² by loops over numbers."""
    rows = [[float(x) * w for x in row] for row, w in zip(states.double(), weights, strict=True)]
    vector = [sum(row[d] for row in rows) for d in range(len(rows[0]))]
    square = sum(x * x for x in vector)
    return [sum(row[d] * vector[d] for d in range(len(vector))) / square for row in rows]


def test_mean_of_tokens_against_a_loop(embedded_lens):
    trace = embedded_lens.trace(TEXT)
    shares = vector_shares(trace)
    n = trace.n_tokens
    expected = naive(trace.record.output.last_hidden_state[0], [1 / n] * n)
    assert shares.how == "pooling" and "add up to 1" in shares.said
    np.testing.assert_allclose(shares.values, expected, atol=1e-12)
    assert float(shares.values.sum()) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("mode", ["mean", "mean_sqrt_len_tokens", "weightedmean", ("cls", "mean")])
@pytest.mark.parametrize("tail", ["", "normalize"])
def test_parts_are_of_what_encode_gives(mode, tail):
    """Without a token's part, the vector that `encode` gives is shorter along itself by the token's share."""
    module = encoder(*([parts.Normalize()] if tail else []), mode=mode)
    trace = bl.Lens(module).trace(TEXTS[0])
    shares = vector_shares(trace)
    vector = torch.as_tensor(module.encode(TEXTS[0])).double()
    states = trace.record.output.last_hidden_state[0].double()
    names = (mode,) if isinstance(mode, str) else mode
    n = len(states)
    weights = {
        "cls": [1.0] + [0.0] * (n - 1),
        "mean": [1 / n] * n,
        "mean_sqrt_len_tokens": [n**-0.5] * n,
        "weightedmean": [(i + 1) * 2 / n / (n + 1) for i in range(n)],
    }
    rows = torch.cat([torch.tensor(weights[name]).double()[:, None] * states for name in names], 1)
    scale = vector.norm() / rows.sum(0).norm()
    expected = (scale * rows) @ vector / vector.dot(vector)
    assert shares.how == "pooling"
    np.testing.assert_allclose(shares.values, expected, atol=2e-6)
    assert float(shares.values.sum()) == pytest.approx(1, abs=2e-6)


def test_biases_behind_the_pooling_belong_to_no_token():
    module = encoder(parts.Dense(32, 8, activation_function=torch.nn.Identity()))
    trace = bl.Lens(module).trace(TEXTS[0])
    shares = vector_shares(trace)
    linear = module[2].linear
    vector = torch.as_tensor(module.encode(TEXTS[0])).double()
    bias = float(linear.bias.detach().double() @ vector / (vector @ vector))
    assert shares.biases == pytest.approx(bias, abs=1e-6) and f"{bias:.3f}" in shares.said
    assert float(shares.values.sum()) + bias == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("mode", "why"), [("cls", "one token"), ("lasttoken", "one token"), ("max", "max pooling")])
def test_pooling_of_single_tokens_takes_a_gradient_and_says_so(mode, why):
    """Central differences of the length along the vector, over each word embedding as a whole."""
    module = encoder(mode=mode)
    trace = bl.Lens(module).trace(TEXTS[0])
    shares = vector_shares(trace)
    assert shares.how == "gradient" and why in shares.said and "need not add up" in shares.said
    vector = torch.as_tensor(module.encode(TEXTS[0])).double()
    embeddings = module[0].model.embeddings.word_embeddings
    expected = []
    for at in range(trace.n_tokens):
        lengths = []
        for step in (1e-2, -1e-2):

            def nudged(_module, _args, output, at=at, step=step):
                output = output.clone()
                output[:, at] *= 1 + step
                return output

            hook = embeddings.register_forward_hook(nudged)
            lengths.append(float(torch.as_tensor(module.encode(TEXTS[0])).double() @ vector / (vector @ vector)))
            hook.remove()
        expected.append((lengths[0] - lengths[1]) / 2e-2)
    np.testing.assert_allclose(shares.values, expected, atol=2e-3)


def test_of_a_changed_run_they_are_its_own(embedded_lens):
    trace = embedded_lens.trace(TEXT)
    changed = trace.rerun(bl.whatif.off(5, 11))
    expected = naive(changed.record.output.last_hidden_state[0], [1 / trace.n_tokens] * trace.n_tokens)
    np.testing.assert_allclose(vector_shares(changed).values, expected, atol=1e-12)


def test_models_without_vectors_say_so(language_model):
    with pytest.raises(ModelError, match="no vector of the text"):
        vector_shares(language_model.trace("The [MASK] sat on the mat."))
