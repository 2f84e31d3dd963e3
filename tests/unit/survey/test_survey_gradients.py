"""Gradients with respect to attention against finite differences, one weight at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from transformers import AttentionInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

from bertlens import InputError, Lens, ModelError
from bertlens.measures import categories
from bertlens.survey.loss_gradients import attention_gradients
from unit import tiny

TEXTS: list[Any] = ["the cat sat.", ("warm, warm", "mats"), "it was on the mat"]
STEP = 1e-5
nudge: dict[str, Any] = {}


def nudged(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **_: Any) -> Any:
    """Attention with STEP added to one weight, after the softmax."""
    alpha = (query @ key.transpose(2, 3) * scaling).softmax(-1)
    if module.layer_idx == nudge["layer"]:
        alpha = alpha.clone()
        alpha[0, nudge["head"], nudge["query"], nudge["key"]] += nudge["step"]
    return (alpha @ value).transpose(1, 2), None


AttentionInterface.register("nudged", nudged)
AttentionMaskInterface.register("nudged", ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])


@pytest.fixture(scope="module")
def masked_lm() -> Lens:
    model = tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 2, "num_attention_heads": 2}))
    return Lens(tiny.shaken(model).double(), tiny.wordpiece())


@pytest.fixture(scope="module")
def classifier() -> Lens:
    settings = tiny.BERT | {"num_hidden_layers": 2, "num_attention_heads": 2, "num_labels": 3}
    return Lens(tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**settings))).double(), tiny.wordpiece())


def differences(lens: Lens, encoding: Any, loss: Any, shape: tuple[int, int]) -> np.ndarray:
    """(L, H, S, S) |L(α + step) − L(α − step)| ÷ 2 step."""
    model: Any = lens.model
    inputs = {
        "input_ids": torch.tensor([encoding.input_ids]),
        "token_type_ids": torch.tensor([encoding.token_type_ids]),
    }
    n = len(encoding)
    found = np.zeros((*shape, n, n))
    before = model.config._attn_implementation
    model.set_attn_implementation("nudged")
    try:
        for at in np.ndindex(found.shape):
            values = []
            for step in (STEP, -STEP):
                nudge.update(zip(("layer", "head", "query", "key"), at, strict=True), step=step)
                with torch.no_grad():
                    values.append(float(loss(model(**inputs).logits[0])))
            found[at] = abs(values[0] - values[1]) / (2 * STEP)
    finally:
        model.set_attn_implementation(before)
    return found


def averaged(found: list[np.ndarray], kinds: list[torch.Tensor]) -> np.ndarray:
    """(L, H, 4) over all pairs of all texts with a key of that kind."""
    means = []
    for kind in range(4):
        columns = [values[..., (k == kind).numpy()] for values, k in zip(found, kinds, strict=True)]
        flat = np.concatenate([c.reshape(*c.shape[:2], -1) for c in columns], -1)
        means.append(flat.mean(-1) if flat.size else np.full(flat.shape[:2], math.nan))
    return np.stack(means, -1)


def test_masked_lm_equals_finite_differences(masked_lm: Lens) -> None:
    table = attention_gradients(masked_lm, TEXTS, masked=0.4, progress=False)
    found, kinds, losses = [], [], []
    for place, text in enumerate(TEXTS):
        trace = masked_lm.trace(*text) if isinstance(text, tuple) else masked_lm.trace(text)
        content = [i for i, special in enumerate(trace.special_mask.tolist()) if not special]
        chosen = np.random.default_rng([0, place]).choice(content, max(1, round(0.4 * len(content))), replace=False)
        chosen = sorted(int(i) for i in chosen)
        encoding = trace.encoding
        right = torch.tensor([encoding.input_ids[i] for i in chosen])
        masked_ids = [4 if i in chosen else id for i, id in enumerate(encoding.input_ids)]
        encoding = type(encoding)(**vars(encoding) | {"input_ids": masked_ids})

        def loss(logits: torch.Tensor, chosen: Any = chosen, right: Any = right) -> torch.Tensor:
            return -logits.log_softmax(-1)[chosen, right].mean()

        found.append(differences(masked_lm, encoding, loss, (2, 2)))
        kind = categories.categories(trace, (".", ","))
        kind[chosen] = 3
        kinds.append(kind)
        with torch.no_grad():
            types = torch.tensor([encoding.token_type_ids])
            losses.append(float(loss(masked_lm.model(torch.tensor([masked_ids]), token_type_ids=types).logits[0])))
    expected = averaged(found, kinds)
    values = table[list(categories.NAMES)].to_numpy().reshape(2, 2, 4)
    np.testing.assert_allclose(values, expected, rtol=1e-3, equal_nan=True)
    assert (values[~np.isnan(values)] > 0).all()
    assert table.attrs["objective"] == "masked-LM" and table.attrs["texts"] == 3
    assert table.attrs["loss"] == pytest.approx(np.mean(losses))
    expected_pairs = {n: sum(int((k == i).sum()) * len(k) for k in kinds) for i, n in enumerate(categories.NAMES)}
    assert table.attrs["pairs"] == expected_pairs


@pytest.mark.parametrize("labels", [None, [2, 0, 1]])
def test_classifier_equals_finite_differences(classifier: Lens, labels: list[int] | None) -> None:
    before = classifier.model.config.problem_type
    table = attention_gradients(classifier, TEXTS, labels=labels, progress=False)
    assert classifier.model.config.problem_type is before
    found, kinds = [], []
    for place, text in enumerate(TEXTS):
        trace = classifier.trace(*text) if isinstance(text, tuple) else classifier.trace(text)
        target = labels[place] if labels else int(trace.output.logits.argmax())

        def loss(logits: torch.Tensor, target: int = target) -> torch.Tensor:
            return -logits.log_softmax(-1)[target]

        found.append(differences(classifier, trace.encoding, loss, (2, 2)))
        kinds.append(categories.categories(trace, (".", ",")))
    values = table[list(categories.NAMES)].to_numpy().reshape(2, 2, 4)
    np.testing.assert_allclose(values, averaged(found, kinds), rtol=1e-3, equal_nan=True)


def test_batches_do_not_matter(masked_lm: Lens) -> None:
    one, all_of = (attention_gradients(masked_lm, TEXTS, batch_size=size, progress=False) for size in (1, 8))
    np.testing.assert_allclose(one.to_numpy(), all_of.to_numpy(), rtol=1e-9)
    other = attention_gradients(masked_lm, TEXTS, seed=1, progress=False)
    assert not np.allclose(one["other"], other["other"])


def test_a_loss_of_ones_own() -> None:
    lens = Lens(tiny.bert(), tiny.wordpiece())
    table = attention_gradients(lens, TEXTS, loss=lambda output: output.pooler_output[0, 0], progress=False)
    assert table.attrs["objective"] == "loss given" and (table["other"] > 0).all()
    assert all(parameter.grad is None for parameter in lens.model.parameters())


def test_bad_input(masked_lm: Lens, classifier: Lens) -> None:
    lens = Lens(tiny.bert(), tiny.wordpiece())
    with pytest.raises(ModelError, match="BertModel has no loss"):
        attention_gradients(lens, TEXTS)
    with pytest.raises(InputError, match="takes no labels"):
        attention_gradients(masked_lm, TEXTS, labels=[1, 2, 3])
    with pytest.raises(InputError, match="not both"):
        attention_gradients(classifier, TEXTS, labels=[1, 2, 0], loss=lambda output: output.logits.sum())
    with pytest.raises(InputError, match="more texts than"):
        attention_gradients(classifier, TEXTS, labels=[1], progress=False)
    with pytest.raises(InputError, match="no texts"):
        attention_gradients(masked_lm, [""], progress=False)
    with pytest.raises(InputError, match="item 1 of the corpus"):
        attention_gradients(masked_lm, ["cat", "cat " * 99], progress=False)
    with pytest.raises(InputError, match="another lens"):
        attention_gradients(masked_lm, [lens.trace("cat")], progress=False)
