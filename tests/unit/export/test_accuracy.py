"""What a live page says of how far it is from the model: its arithmetic in Python beside node's, and the sentence
beside what node is off by."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from transformers import BertConfig, BertForSequenceClassification, BertModel
from transformers.activations import ACT2FN

import bertlens as bl
from bertlens.errors import ExportError
from bertlens.export import live, page_arithmetic, page_weights
from unit import tiny
from unit.export import engine
from unit.export.passes import generated
from unit.export.test_families import FAMILIES, lens_of

COMPUTED = {"gelu": "gelu", "gelu_python": "gelu", "relu": "relu", "silu": "silu", "swish": "silu", "tanh": "tanh"}
COMPUTED |= {f"gelu_{name}": "gelu_tanh" for name in ("accurate", "fast", "new", "pytorch_tanh", "python_tanh")}


def layers(lens: bl.Lens, traces: list[bl.Trace], small: bool = False) -> list[list[page_arithmetic.LayerPass]]:
    model = lens.borrowed
    inputs = [(one.encoding.input_ids, one.encoding.token_type_ids or [0] * one.n_tokens) for one in traces]
    return list(page_arithmetic.layers(page_weights.shape(model), page_weights.parts(model, small), inputs))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_arithmetic_is_that_of_node(family: str, tmp_path: Path):
    model, tokenizer = FAMILIES[family]
    lens = lens_of(model(), tokenizer())
    engine.write(lens.borrowed, tmp_path)
    padded = "the cat <pad> sat on the mat" if family == "RoBERTa" else "the cats sat."
    traces = [lens.trace(padded), lens.trace(*tiny.TEXTS[1])]
    found, _ = engine.passes(lens.borrowed, tmp_path, [(trace, []) for trace in traces], product="unfused")
    for layer, done in enumerate(layers(lens, traces)):
        for arrays, trace, one in zip(found, traces, done, strict=True):
            for name, own in (("q", one.query), ("k", one.key)):
                np.testing.assert_allclose(own.ravel(), arrays[f"{layer}.{name}"], rtol=0, atol=1e-6, err_msg=name)
            np.testing.assert_allclose(one.stream.ravel(), arrays[f"stream.{layer + 1}"], rtol=0, atol=1e-6)
            there = engine.attention(arrays, layer, trace).numpy()
            np.testing.assert_allclose(one.weights(slice(None), slice(None)), there, rtol=0, atol=1e-6)


def test_it_is_bit_for_bit_nodes_on_the_embedded_model(embedded_lens: Any, tmp_path: Path):
    traces = [embedded_lens.trace(*text) for text in generated(embedded_lens, 6)[:3]]
    for small in (False, True):
        engine.write(embedded_lens.borrowed, tmp_path, small=small)
        found, _ = engine.passes(embedded_lens.borrowed, tmp_path, [(one, []) for one in traces], product="unfused")
        for layer, done in enumerate(layers(embedded_lens, traces, small)):
            for arrays, one in zip(found, done, strict=True):
                assert (one.stream.ravel() == arrays[f"stream.{layer + 1}"]).all()
    others, _ = engine.passes(embedded_lens.borrowed, tmp_path, [(one, []) for one in traces], product="plain")
    apart = [np.abs(a["stream.6"] - b["stream.6"]).max() for a, b in zip(found, others, strict=True)]
    assert max(apart) > 0  # another order of sums would have been seen


@pytest.mark.parametrize("name", sorted(set(ACT2FN) - {"xielu", "prelu"}))
def test_an_activation_is_known_by_its_class_and_its_values(name: str):
    function = ACT2FN[name]
    if name not in COMPUTED:
        with pytest.raises(ExportError, match=f"does not compute the activation {type(function).__name__}"):
            page_weights.activation(function)
        return
    assert page_weights.activation(function) == COMPUTED[name]
    near = torch.linspace(-12, 12, 4001)
    x = torch.cat([near, 1e3 * near])
    own = page_arithmetic.ACTIVATIONS[COMPUTED[name]](x.numpy())
    np.testing.assert_allclose(own, function(x.double()).numpy(), rtol=1e-6, atol=2e-6)


def test_functions_that_only_look_like_one_are_refused():
    for function, name in ((functional.gelu, "gelu"), (torch.relu, "relu"), (torch.tanh, "tanh"), (nn.GELU(), "gelu")):
        assert page_weights.activation(function) == name
    assert page_weights.activation(nn.SiLU(inplace=True)) == "silu"

    class Cut(nn.ReLU):
        def forward(self, x: Any) -> Any:
            return torch.relu(x).clamp(max=2e4)

    odd = nn.GELU()
    odd.forward = lambda x: functional.gelu(x).clamp(max=100)  # type: ignore[method-assign]
    for function in (Cut(), odd, lambda x: functional.gelu(x), functional.relu6):
        with pytest.raises(ExportError, match="does not compute the activation"):
            page_weights.activation(function)


def test_a_model_with_relu6_is_refused_before_anything_is_written(tmp_path: Path):
    lens = lens_of(BertModel(BertConfig(**tiny.BERT, hidden_act="relu6")), tiny.wordpiece())
    with pytest.raises(ExportError, match="does not compute the activation ReLU6: save it without live"):
        lens.trace("the cat").explore().to_html(tmp_path / "a.html", live=True, progress=False)
    assert not list(tmp_path.iterdir())


class ScaledForSequenceClassification(BertForSequenceClassification):
    def forward(self, *given: Any, **named: Any) -> Any:
        output = super().forward(*given, **named)
        output.logits = output.logits * 1.005
        return output


def test_a_head_that_makes_nearly_the_same_numbers_is_not_taken():
    config = BertConfig(**tiny.BERT, num_labels=3)
    for kind, found in ((BertForSequenceClassification, "labels"), (ScaledForSequenceClassification, "")):
        assert live.page_heads.head(lens_of(kind(config), tiny.wordpiece()).trace("the cat")).about["kind"] == found


def far(lens: bl.Lens, texts: list[tuple[str, str | None]], folder: Path) -> list[float]:
    """How far the attention that node computes is from the model's, at most."""
    traces = [lens.trace(*text) for text in texts]
    engine.write(lens.borrowed, folder)
    found, _ = engine.passes(lens.borrowed, folder, [(trace, []) for trace in traces])
    return [
        max(
            float((engine.attention(arrays, n, trace) - trace.attention(n).double()).abs().max())
            for n in range(trace.n_layers)
        )
        for arrays, trace in zip(found, traces, strict=True)
    ]


def larger_queries(model: Any) -> None:
    model.encoder.layer[2].attention.self.query.weight[:32] *= 10


def one_large_state(model: Any) -> None:
    model.embeddings.LayerNorm.weight[7] = 40


@pytest.mark.sampled(1)
@pytest.mark.parametrize("change", [None, larger_queries, one_large_state])
def test_a_page_says_how_far_it_is_on_its_own_text_and_on_typed_ones(change: Any, tmp_path: Path):
    lens = bl.Lens.embedded()
    with torch.no_grad():
        if change is not None:
            change(lens.model)
    own = ("The cat sat on the mat.", None)
    digits = live.live(lens.trace(*own)).digits
    said = re.fullmatch(
        r"On the text that was saved, weights of 16 bits move attention by at most ([\d.e-]+); on 5 texts of up to 256 "
        r"tokens drawn from the vocabulary, attention by at most ([\d.e-]+)\.",
        digits,
    )
    assert said, digits
    saved, drawn = map(float, said.groups())
    here, *typed = far(lens, [own, *generated(lens, 12)[4:10]], tmp_path)
    assert here <= saved < 2 * here
    assert saved < max(typed) <= drawn < 5 * max(typed)  # the saved text's number would not do for a typed one


def test_a_page_says_how_far_its_answer_is(tmp_path: Path):
    from unit.export.test_families import CLASSES, MASKED, WORDS

    for model, text in ((WORDS["BERT"], MASKED), (CLASSES["BERT"], "the cat"), (CLASSES["BERT, tokens"], "the cat")):
        lens = lens_of(model(), tiny.wordpiece())
        trace = lens.trace(text)
        for small in (False, True):
            said = re.findall(r"the model’s answer by at most ([\d.e-]*\d)", live.live(trace, small).digits)
            same = bl.Lens(engine.rounded(lens.borrowed, small), lens.tokenizer).trace(text)
            own, other = (
                one.predictions(len(tiny.VOCABULARY)).set_index(["position", one.predictions().columns[3]]).probability
                for one in (trace, same)
            )
            apart = (own - other).abs().max()
            assert len(said) == 2 and apart <= float(said[0]) < 2 * apart
