"""Gradients of attention and heads against autograd through an eager run, and against finite differences."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor

from bertlens import InputError, Lens, ModelError, SelectionError, Trace
from bertlens.measures.gradients import gradients
from unit import tiny
from unit.measures.test_norms import lens_of

TEXT = ("the cat sat on the mat", "it was warm")


def some_loss(output: Any) -> Tensor:
    state = output.last_hidden_state
    return (state[0, 0] * torch.linspace(-1, 1, state.shape[-1], dtype=state.dtype)).sum() + state[0, 2].square().sum()


def inputs_of(trace: Trace, model: Any) -> dict[str, Tensor]:
    inputs = {"input_ids": trace.input_ids[None], "attention_mask": torch.ones(1, trace.n_tokens, dtype=torch.int64)}
    if trace.token_type_ids is not None and model.config.model_type not in ("distilbert", "esm", "modernbert"):
        inputs["token_type_ids"] = trace.token_type_ids[None]
    return inputs


@pytest.mark.parametrize(
    "name", ["bert", "roberta", "distilbert", "electra", "albert", "mobilebert", "esm", "nomic_bert"]
)
def test_attention_gradients_equal_autograd_on_eager_weights(name: str) -> None:
    """Clark: dL/dα. Michel: dL/dξ = Σ α dL/dα, the same from both sides."""
    lens = lens_of(name, torch.float64)
    trace = lens.trace(*TEXT)
    found = gradients(trace, loss=some_loss)
    eager = copy.deepcopy(lens.model)
    eager.set_attn_implementation("eager")
    output = eager(**inputs_of(trace, eager), output_attentions=True)
    for weights in output.attentions:
        weights.retain_grad()
    loss = some_loss(output)
    loss.backward()
    assert found.loss == pytest.approx(float(loss.detach()), rel=1e-10)
    importance = found.head_importance()
    for layer, weights in enumerate(output.attentions):
        assert weights.grad is not None and weights.grad.abs().max() > 1e-6
        torch.testing.assert_close(found.attention(layer), weights.grad[0], atol=1e-10, rtol=1e-9)
        expected = (weights.detach()[0] * weights.grad[0]).sum((1, 2)).abs()
        torch.testing.assert_close(importance[layer], expected, atol=1e-10, rtol=1e-9)
        # the released code: a token's terms summed, then the sizes of the tokens' sums
        of_tokens = [
            [float((weights.detach()[0, h, i] * weights.grad[0, h, i]).sum()) for i in range(trace.n_tokens)]
            for h in range(len(expected))
        ]
        per_token = torch.tensor([sum(map(abs, token)) for token in of_tokens], dtype=torch.float64)
        torch.testing.assert_close(found.head_importance(per="token")[layer], per_token, atol=1e-10, rtol=1e-9)
        assert (per_token >= importance[layer] - 1e-12).all() and (per_token > 1.01 * importance[layer]).any()
    normalized = found.head_importance(normalize=True)
    torch.testing.assert_close(normalized.norm(dim=1), torch.ones(trace.n_layers, dtype=torch.float64))
    torch.testing.assert_close(normalized * importance.norm(dim=1, keepdim=True), importance)
    per_token = found.head_importance(per="token")
    torch.testing.assert_close(
        found.head_importance(per="token", normalize=True), per_token / per_token.norm(dim=1, keepdim=True)
    )
    with pytest.raises(SelectionError, match="no importance per 'word'"):
        found.head_importance(per="word")


def test_head_importance_is_what_scaling_a_head_changes() -> None:
    """Finite differences: W_O's columns of one head times 1 ± ε."""
    lens = lens_of("bert", torch.float64)
    trace = lens.trace(*TEXT)
    importance = gradients(trace, loss=some_loss).head_importance()
    inputs = inputs_of(trace, lens.model)
    for layer in range(trace.n_layers):
        for head in range(trace.n_heads):
            values = []
            for factor in (1 + 1e-5, 1 - 1e-5):
                model = copy.deepcopy(lens.model)
                with torch.no_grad():
                    model.encoder.layer[layer].attention.output.dense.weight[:, head * 8 : head * 8 + 8] *= factor
                    values.append(float(some_loss(model(**inputs))))
            slope = abs(values[0] - values[1]) / 2e-5
            assert float(importance[layer, head]) == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_the_models_own_loss() -> None:
    torch.manual_seed(0)
    model = tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT, num_labels=3)))
    trace = Lens(model, tiny.wordpiece()).trace(*TEXT)
    expected = float(model(**inputs_of(trace, model), labels=torch.tensor([2])).loss.detach())
    for labels in (2, [2], torch.tensor([2])):
        assert gradients(trace, labels).loss == pytest.approx(expected, rel=1e-5)
    tagger = tiny.shaken(tf.BertForTokenClassification(tf.BertConfig(**tiny.BERT, num_labels=3)))
    trace = Lens(tagger, tiny.wordpiece()).trace("the cat sat")
    labels = [-100, 0, 1, 2, -100]
    expected = float(tagger(**inputs_of(trace, tagger), labels=torch.tensor([labels])).loss.detach())
    assert gradients(trace, labels).loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["bert", "esm", "modernbert", "nomic_bert", "gpt2"])
def test_the_model_is_left_alone(name: str) -> None:
    lens = lens_of(name)
    model: Any = lens.model
    model.train()
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    frozen = next(model.parameters())
    frozen.requires_grad_(False)
    before, implementation = copy.deepcopy(model.state_dict()), model.config._attn_implementation
    trace = lens.trace("the cat sat")
    gradients(trace, loss=some_loss)
    assert model.training and not frozen.requires_grad
    assert model.config._attn_implementation == implementation
    assert all(torch.equal(parameter.grad, torch.ones_like(parameter)) for parameter in model.parameters())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    with torch.inference_mode():  # the caller's mode does not matter
        again = gradients(trace, loss=some_loss)
    model.requires_grad_(False)  # nor does freezing
    frozen_all = gradients(trace, loss=some_loss)
    torch.testing.assert_close(frozen_all.attention(1), again.attention(1))


def test_half_precision_gives_float32() -> None:
    trace = lens_of("bert", torch.bfloat16).trace("the cat sat")
    found = gradients(trace, loss=lambda output: output.last_hidden_state.float().square().mean())
    assert found.attention(0).dtype == found.head_importance().dtype == torch.float32
    assert found.attention(0).isfinite().all()


def test_a_layer_that_the_loss_does_not_see_has_none() -> None:
    trace = lens_of("bert").trace("the cat sat")
    found = gradients(trace, loss=lambda output: output.last_hidden_state[0, 0, 0] * 1.0)
    assert found.head_importance()[-1].sum() > 0
    model = lens_of("bert").model
    blind = gradients(
        Lens(model, tiny.wordpiece()).trace("the cat sat"), loss=lambda output: output.pooler_output.sum() * 0
    )
    assert blind.head_importance().abs().max() == 0


def test_bad_calls_are_said() -> None:
    trace = lens_of("bert").trace("the cat sat")
    for arguments in ({}, {"labels": 1, "loss": some_loss}):
        with pytest.raises(InputError, match="give labels"):
            gradients(trace, **arguments)
    with pytest.raises(ModelError, match="gives no loss"):
        gradients(trace, 1)
    for loss in (lambda output: 3.0, lambda output: output.last_hidden_state, lambda output: torch.tensor(1.0)):
        with pytest.raises(InputError, match="one number"):
            gradients(trace, loss=loss)
    given = Trace.from_attentions(torch.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(ModelError, match="Only attention weights"):
        gradients(given, loss=some_loss)
