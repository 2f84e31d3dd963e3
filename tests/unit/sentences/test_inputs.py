"""A similarity by the tokens that went in, by layers, heads and kinds, against a loop in float64 over BERT's steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import bertlens as bl
from bertlens.errors import ModelError, SelectionError
from unit.tiny_encoders import base, dense, encoder, of_family, words

A, B = "the unbelievable cats sat on the mat.", "it was very warm, the cat"


class Frozen:
    """A tiny BERT with its attention weights, deviations and gates kept: what each source puts into each last state."""

    def __init__(self, model: Any, text: str):
        self.bert = model[0].model
        self.ids = model.tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            self.sources = self._run()

    def _run(self) -> torch.Tensor:
        """(S + 1, S, D)"""
        bert, size = self.bert, self.ids.shape[1]
        tables = bert.embeddings
        x = tables.word_embeddings.weight[self.ids[0]] + tables.position_embeddings.weight[:size]
        x = x + tables.token_type_embeddings.weight[0]
        parts = torch.zeros(size + 1, *x.shape, dtype=x.dtype)
        for i in range(size):
            parts[i, i] = x[i]
        parts = self._norm(parts, tables.LayerNorm)
        for layer in bert.encoder.layer:
            own, out = layer.attention.self, layer.attention.output
            whole, width = parts.sum(0), own.attention_head_size
            made = []
            for head in range(own.num_attention_heads):
                at = slice(head * width, (head + 1) * width)
                q, k = ((whole @ m.weight.T + m.bias)[:, at] for m in (own.query, own.key))
                alpha = (q @ k.T / width**0.5).softmax(-1)
                v = self._affine(parts, own.value)[..., at]
                made.append(torch.stack([alpha @ one for one in v]))
            parts = self._norm(parts + self._affine(torch.cat(made, -1), out.dense), out.LayerNorm)
            inner = self._affine(parts, layer.intermediate.dense)
            z = inner.sum(0)
            gated = inner * (nn.functional.gelu(z) / z)
            parts = self._norm(parts + self._affine(gated, layer.output.dense), layer.output.LayerNorm)
        return parts

    @staticmethod
    def _affine(parts: torch.Tensor, linear: Any) -> torch.Tensor:
        made = parts @ linear.weight.T
        made[-1] += linear.bias
        return made

    @staticmethod
    def _norm(parts: torch.Tensor, norm: Any) -> torch.Tensor:
        deviation = (parts.sum(0).var(-1, correction=0) + norm.eps).sqrt()
        made = (parts - parts.mean(-1, keepdim=True)) / deviation[:, None] * norm.weight
        made[-1] += norm.bias
        return made


def pooled(parts: torch.Tensor, mode: str) -> np.ndarray:
    """(S + 1, D)"""
    size = parts.shape[1]
    weights = {
        "cls": torch.eye(size)[0],
        "lasttoken": torch.eye(size)[-1],
        "mean": torch.full((size,), 1 / size),
        "weightedmean": torch.arange(1.0, size + 1) / (size * (size + 1) / 2),
    }[mode].double()
    return torch.einsum("s,psd->pd", weights, parts).numpy()


@pytest.mark.parametrize("mode", ["cls", "lasttoken", "mean", "weightedmean"])
def test_the_cells_are_those_of_a_frozen_run(mode: str) -> None:
    model = encoder(mode=mode).double()
    found = bl.similarity(bl.Lens(model), A, B)
    a, b = (pooled(Frozen(model, text).sources, mode) for text in (A, B))
    norms = np.linalg.norm(a.sum(0)) * np.linalg.norm(b.sum(0))
    table = found.pairs("input")
    np.testing.assert_allclose(table.to_numpy(), a @ b.T / norms, atol=1e-9)
    tokens = model.tokenizer.convert_ids_to_tokens(model.tokenizer(A)["input_ids"])
    assert list(table.index) == [*tokens, "bias"] and table.attrs["of"] == "input"
    assert any("attention weights" in note and "as the run had them" in note for note in table.attrs["notes"])
    assert found.of == ("input" if mode in ("cls", "lasttoken") else "output")
    np.testing.assert_array_equal(found.pairs().to_numpy(), found.pairs(found.of).to_numpy())
    by_word = found.pairs("input", words=True)
    assert list(by_word.index)[:4] == ["[CLS]", "the", "unbelievable", "cats"] and by_word.index[-1] == "bias"
    np.testing.assert_allclose(found.tokens("b", "input"), (a @ b.T / norms).sum(0), atol=1e-9)
    np.testing.assert_allclose(found.tokens("a", "input"), (a @ b.T / norms).sum(1), atol=1e-9)
    own = found.tokens("b", "input", words=True, own=True)
    assert " ".join(own.index) == "it was very warm , the cat"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("mode", ["cls", ("mean", "cls"), "mean_sqrt_len_tokens"])
def test_parts_add_up_behind_other_modules_too(function: str, mode: Any) -> None:
    width = 64 if isinstance(mode, tuple) else 32
    model = encoder(dense(nn.Tanh(), width), base.Normalize(), mode=mode, similarity_fn_name=function, truncate_dim=11)
    lens = bl.Lens(model)
    found = bl.similarity(lens, A, B, ("query", "document"))
    number = float(model.similarity(model.encode_query(A), model.encode_document(B)))
    model_number = -(number**2) if function == "euclidean" else number
    tables = {"input": found.pairs("input")}
    for name in ("layer", "head", "kind"):
        tables[name] = found.by(name)
    for name, table in tables.items():
        values = table.to_numpy()
        size = 1e-5 * max(1.0, float(np.abs(values).sum()))
        others = found.terms.iloc[1:].sum()
        for total in [values.sum()] if name == "input" else values.sum(0):
            assert total + others == pytest.approx(model_number, abs=size), name
    assert abs(tables["input"].attrs["gap"]) <= 1e-5 * max(1.0, float(tables["input"].abs().to_numpy().sum()))
    swapped = bl.similarity(lens, B, A, ("document", "query")).pairs("input").to_numpy()
    np.testing.assert_allclose(tables["input"].to_numpy(), swapped.T, atol=1e-6)
    same = bl.similarity(lens, A, A).pairs("input").to_numpy()
    np.testing.assert_allclose(same, same.T, atol=1e-6)


def test_sums_by_input_of_random_texts_of_any_length() -> None:
    """1 to 512 tokens, the longest cut."""
    lens = bl.Lens(encoder(long=True, mode="cls"))
    sizes = np.random.default_rng(5).integers(1, 120, (198, 2)).tolist()
    for number, (m, n) in enumerate([[0, 520], [1, 1], *sizes]):
        found = bl.similarity(lens, words(m, number), words(n, 1000 + number))
        table = found.pairs("input", progress=False)
        assert table.shape == (min(m + 2, 512) + 1, min(n + 2, 512) + 1)
        size = 1e-5 * max(1.0, float(table.abs().to_numpy().sum()))
        assert table.to_numpy().sum() == pytest.approx(found.value, abs=size)
        assert abs(table.attrs["gap"]) <= size


def test_layers_heads_and_kinds_are_what_they_wrote() -> None:
    """The last layer's heads and MLP through its two norms, by hand; the rest follows from the sums."""
    model = encoder(mode="cls").double()
    found = bl.similarity(bl.Lens(model), A, B)
    a, b = (torch.from_numpy(pooled(Frozen(model, text).sources, "cls").sum(0)) for text in (A, B))
    read = b / a.norm() / b.norm()
    bert, ids = model[0].model, model.tokenizer(A, return_tensors="pt")
    caught: dict[str, torch.Tensor] = {}
    last = bert.encoder.layer[-1]
    size = last.attention.self.attention_head_size
    handles = [
        last.attention.output.dense.register_forward_hook(lambda m, x, y: caught.update(context=x[0])),
        last.attention.output.LayerNorm.register_forward_hook(lambda m, x, y: caught.update(first=x[0])),
        last.output.dense.register_forward_hook(lambda m, x, y: caught.update(mlp=y - m.bias)),
        last.output.LayerNorm.register_forward_hook(lambda m, x, y: caught.update(second=x[0])),
    ]
    with torch.no_grad():
        bert(**ids)
    for handle in handles:
        handle.remove()

    def through(x: torch.Tensor, norm: Any, before: torch.Tensor) -> torch.Tensor:
        return (x - x.mean()) / (before.var(correction=0) + norm.eps).sqrt() * norm.weight

    norms = last.attention.output.LayerNorm, last.output.LayerNorm
    by_head, by_layer, by_kind = (found.by(name)["a"] for name in ("head", "layer", "kind"))
    layer, wrote = len(bert.encoder.layer) - 1, 0.0
    with torch.no_grad():
        for head in range(last.attention.self.num_attention_heads):
            at = slice(head * size, (head + 1) * size)
            x = caught["context"][0, 0, at] @ last.attention.output.dense.weight[:, at].T
            x = through(through(x, norms[0], caught["first"][0, 0]), norms[1], caught["second"][0, 0])
            assert by_head[f"L{layer}·H{head}"] == pytest.approx(float(x @ read), abs=1e-9)
            wrote += float(x @ read)
        x = through(caught["mlp"][0, 0], norms[1], caught["second"][0, 0])
    assert by_head[f"L{layer}·MLP"] == pytest.approx(float(x @ read), abs=1e-9)
    assert by_layer[f"L{layer}"] == pytest.approx(float(x @ read) + wrote, abs=1e-9)
    assert by_kind["head"] == pytest.approx(by_head[by_head.index.str.contains("·H")].sum(), abs=1e-12)
    assert by_kind["mlp"] == pytest.approx(by_head[by_head.index.str.contains("·MLP")].sum(), abs=1e-12)
    assert list(by_kind.index) == ["word", "position", "type", "head", "mlp", "bias"]


def test_the_work_can_be_left_off_and_goes_on() -> None:
    found = bl.similarity(bl.Lens(encoder(mode="cls")), A, B)
    steps = found.steps()
    shares = [next(steps) for _ in range(4)]
    assert shares == sorted(shares) and 0 < shares[0] < shares[-1] < 1
    steps.close()  # cancelled
    rest = list(found.steps())
    assert rest[-1] == 1 and rest == sorted(rest) and rest[0] > 0.5 - 1e-9  # the first text was done
    assert list(found.steps()) == [1.0]
    assert found.pairs().to_numpy().sum() == pytest.approx(found.value, abs=1e-5)


@pytest.mark.parametrize("settings", [{"mode": "max"}, {"similarity_fn_name": "manhattan"}, {"tail": nn.Sigmoid()}])
def test_what_has_no_sum_has_none_by_input_either(settings: dict[str, Any]) -> None:
    tail = [dense(settings.pop("tail"))] if "tail" in settings else []
    found = bl.similarity(bl.Lens(encoder(*tail, **settings)), A, B)
    for call in (lambda: found.pairs("input"), lambda: list(found.steps()), lambda: found.by("layer")):
        with pytest.raises(ModelError, match="cannot be split by"):
            call()


def test_other_names_and_families_are_one_sentence(tmp_path: Any) -> None:
    found = bl.similarity(bl.Lens(encoder()), A, B)
    with pytest.raises(SelectionError, match="there are layer, head, kind"):
        found.by("word")
    with pytest.raises(SelectionError, match="there are 'output', 'input'"):
        found.pairs("middle")
    with pytest.raises(ModelError) as caught:
        bl.similarity(bl.Lens(of_family("ibert", tmp_path)), A, B).pairs("input")
    assert "\n" not in str(caught.value)
    model = encoder()
    found = bl.similarity(bl.Lens(model), A, B)
    with torch.no_grad():
        model[0].model.embeddings.word_embeddings.weight.mul_(2)
    for call in (lambda: found.pairs("input"), lambda: found.by("kind"), lambda: found.tokens("a", "input")):
        with pytest.raises(ModelError, match="has changed"):
            call()
