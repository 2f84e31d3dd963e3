"""Vectors after each layer beside a loop over hidden states, in every family that has an adapter here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.errors import ModelError
from bertlens.sentences.layer_vectors import LayerVectors
from conftest import state
from unit import tiny, tiny_encoders

TEXTS = ["the cat sat on the mat.", "it was unbelievable, very warm", "cats", "on the mat it was cat after cat"]
NORMS = {"esm": "encoder.emb_layer_norm_after", "modernbert": "final_norm", "gpt2": "ln_f", "megatron": "encoder.ln"}
RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
MORE = {
    "mpnet": lambda: tf.MPNetModel(tf.MPNetConfig(**tiny.BERT)),
    "deberta": lambda: tf.DebertaModel(tf.DebertaConfig(**tiny.BERT | RELATIVE)),
    "deberta-v2": lambda: tf.DebertaV2Model(tf.DebertaV2Config(**tiny.BERT | RELATIVE, conv_kernel_size=3)),
    "megatron": lambda: tf.MegatronBertModel(tf.MegatronBertConfig(**tiny.BERT)),
}
FAMILIES = ["bert", "roberta", "distilbert", "electra", "albert", "albert, two groups of two", "mobilebert", "esm"]
FAMILIES += ["nomic_bert", "modernbert", "gpt2", *MORE]


def lens_of(name: str) -> bl.Lens:
    if name in MORE:
        return bl.Lens(tiny.shaken(MORE[name]()), tiny.wordpiece())
    family = tiny.FAMILIES[name]
    return bl.Lens(tiny.shaken(family.model()), family.tokenizer())


def looped(lens: bl.Lens, name: str, text: str) -> np.ndarray:
    """(L + 1, D) float64, by the model's own run of one text."""
    model: Any = lens.model
    inputs = dict(lens.tokenizer(text, return_tensors="pt"))
    if name in ("distilbert", "gpt2", "roberta"):
        inputs.pop("token_type_ids", None)
    with torch.no_grad():
        states = list(model(**inputs, output_hidden_states=True).hidden_states)
        if name in NORMS:
            norm = model.get_submodule(NORMS[name])
            states[:-1] = [norm(each) for each in states[:-1]]
    return np.stack([each[0].double().mean(0).numpy() for each in states])


@pytest.mark.parametrize("name", FAMILIES)
def test_a_loop_over_hidden_states(name: str) -> None:
    lens = lens_of(name)
    before = state(lens.model)
    reader = LayerVectors(lens)
    vectors = reader.encode(TEXTS, None, 2)
    expected = np.stack([looped(lens, name, text) for text in TEXTS])
    assert vectors.shape == expected.shape and vectors.dtype == np.float32
    assert np.abs(vectors - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max())
    assert np.ptp(expected, axis=1).min() > 0  # layers differ
    assert bool(reader.note) == (name in NORMS)
    assert state(lens.model) == before


@pytest.mark.parametrize("include_prompt", [True, False])
def test_a_pooling_and_what_stands_behind_it(include_prompt: bool) -> None:
    dense = tiny_encoders.dense(torch.nn.Tanh())
    module = tiny_encoders.encoder(dense, include_prompt=include_prompt, truncate_dim=10)
    lens = bl.Lens(module)
    before = state(module)
    vectors = LayerVectors(lens).encode(TEXTS, "query", 2)
    prompt = tiny_encoders.PROMPTS["query"]
    skipped = 0 if include_prompt else len(module.tokenizer(prompt)["input_ids"]) - 1
    for row, text in enumerate(TEXTS):
        inputs = module.tokenizer(prompt + text, return_tensors="pt")
        with torch.no_grad():
            states = module[0].model(**inputs, output_hidden_states=True).hidden_states
            pooled = torch.stack([each[0, skipped:].double().mean(0) for each in states])
            expected = torch.tanh(pooled @ dense.linear.weight.double().T + dense.linear.bias.double())[:, :10]
        assert np.abs(vectors[row] - expected.numpy()).max() <= 1e-6
    assert np.array_equal(vectors[:, -1], lens.encode(TEXTS, "query", batch_size=2).numpy())
    assert state(module) == before and module.truncate_dim == 10


@pytest.mark.parametrize("made", [tiny_encoders.crossed, tiny_encoders.late, tiny_encoders.sparse])
def test_models_without_single_vectors_are_refused(made: Any) -> None:
    with pytest.raises(ModelError, match=r"has no vectors|makes no single vector"):
        LayerVectors(bl.Lens(made()))


def test_a_family_without_an_adapter_is_refused_by_name() -> None:
    family = tiny.FAMILIES["llama, grouped keys"]
    with pytest.raises(ModelError, match="LlamaModel has no adapter"):
        LayerVectors(bl.Lens(tiny.shaken(family.model()), family.tokenizer()))


def test_what_is_not_known_behind_the_last_layer_is_refused() -> None:
    model = tiny.bert()
    model.encoder.register_forward_hook(
        lambda _, __, output: output.__class__(last_hidden_state=2 * output.last_hidden_state)
    )
    model.config.architectures = None
    with pytest.raises(ModelError, match=r"behind its last layer|hidden states"):
        LayerVectors(bl.Lens(model, tiny.wordpiece()))
