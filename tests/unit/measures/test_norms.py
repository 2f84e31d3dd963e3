"""The norm family against vectors built from the weights by loops, in every family; and its own laws."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from bertlens import Lens, ModelError, SelectionError, Trace
from bertlens.measures import norms
from unit import tiny
from unit.naive import ADAPTED, NaiveBlock

METHODS = ["attn-w", "attnres-w", "attn-n", "attnres-n", "attnresln-n"]
MAPS = {
    "attn-n": norms.summed_weighted_norm,
    "attnres-n": norms.attnres_norm,
    "attnresln-n": norms.attnresln_norm,
}
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
LONG = (
    "The geometry of attention is easier to see in a long text. A head may look at the token before, at the separator, "
    "or at nothing in particular; the vector that it then adds can be long or short. When it is short, the head rests, "
    "whatever its weights say, and a picture of the weights alone misleads whoever reads it."
)


def close(found: Tensor, expected: Tensor, dtype: torch.dtype = torch.float32) -> None:
    """1e-10 in float64; absolute 2e-5 + relative 2e-5 in float32."""
    bound = 1e-10 if dtype == torch.float64 else 2e-5
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected, atol=bound, rtol=bound, check_dtype=False)


def lens_of(name: str, dtype: torch.dtype = torch.float32) -> Lens:
    family = tiny.FAMILIES[name]
    scale = 0.19 if name == "mobilebert" else 0.25
    return Lens(tiny.shaken(family.model(), scale=scale).to(dtype), family.tokenizer())


def check_layer(trace: Trace, layer: int, naive: NaiveBlock, dtype: torch.dtype) -> None:
    lengths = naive.f.norm(dim=-1)
    close(norms.transformed_norm(trace, layer), lengths, dtype)
    close(norms.weighted_norm(trace, layer), naive.alpha * lengths[:, None], dtype)
    for kind, measure in MAPS.items():
        close(measure(trace, layer), naive.pairs(kind), dtype)
    for method in METHODS:
        close(norms.mixing_ratio(trace, layer, method), naive.mixing(method), dtype)


def check_whole(trace: Trace) -> None:
    """What is computed together is what is computed alone."""
    summary, ratios = norms.summary(trace), norms.mixing_ratios(trace)
    assert list(summary.mixing) == list(ratios) == METHODS
    for layer in range(trace.n_layers):
        one = norms.all_of(trace, layer)
        for found in (one.transformed, summary.transformed[layer]):
            torch.testing.assert_close(found, norms.transformed_norm(trace, layer))
        for name, measure in zip(("attn_n", "attnres_n", "attnresln_n"), MAPS.values(), strict=True):
            torch.testing.assert_close(getattr(one, name), measure(trace, layer))
            assert torch.equal(getattr(summary, name)[layer], getattr(one, name))
        for method in METHODS:
            for found in (one.mixing[method], summary.mixing[method][layer], ratios[method][layer]):
                torch.testing.assert_close(found, norms.mixing_ratio(trace, layer, method), atol=1e-6, rtol=1e-5)


@pytest.mark.sampled(8)
@DTYPES
@pytest.mark.parametrize("name", ADAPTED)
def test_equal_the_vectors_themselves(name: str, dtype: torch.dtype) -> None:
    lens = lens_of(name, dtype)
    double = Lens(copy.deepcopy(lens.model).double(), lens.tokenizer)
    for text in (("the cat sat on the mat, it was warm.",), ("the cat", "it was very warm")):
        trace, exact = lens.trace(*text), double.trace(*text)
        for layer in range(trace.n_layers):
            naive = NaiveBlock(double.model, layer, exact.attention(layer), exact.layer_input(layer))
            check_layer(trace, layer, naive, dtype)
            # the sum rule: all parts, b_O and the residual are the block's output as the model computed it
            bound = 1e-10 if dtype == torch.float64 else 1e-5
            most = bound * max(1.0, float(naive.output.abs().max()) / 10)  # rounding grows with what is added
            torch.testing.assert_close(
                trace.attention_output(layer), naive.output, atol=most, rtol=bound, check_dtype=False
            )
    check_whole(trace)


@DTYPES
@pytest.mark.parametrize("given", [("The cat sat on the mat.",), ("The cat sat.", "A dog, too."), (LONG,)])
def test_equal_the_vectors_in_the_embedded_model(
    embedded_lens: Lens, given: tuple[str, ...], dtype: torch.dtype
) -> None:
    """Weights from an eager run of transformers, the vectors from loops."""
    model: Any = copy.deepcopy(embedded_lens.model).to(dtype)
    trace = Lens(model, embedded_lens.tokenizer).trace(*given)
    assert given != (LONG,) or trace.n_tokens >= 64
    eager = copy.deepcopy(embedded_lens.model).double()
    eager.set_attn_implementation("eager")
    inputs = {"input_ids": trace.input_ids[None], "token_type_ids": trace.token_type_ids[None]}
    with torch.no_grad():
        output = eager(**inputs, output_attentions=True, output_hidden_states=True)
    for layer in range(trace.n_layers):
        naive = NaiveBlock(eager, layer, output.attentions[layer][0], output.hidden_states[layer][0])
        check_layer(trace, layer, naive, dtype)
    check_whole(trace)


def test_laws(embedded_lens: Lens) -> None:
    """norms.md 2.1: what must hold whatever the model."""
    trace = embedded_lens.trace("The cat sat on the mat because it was tired.", "The dog lay on the rug.")
    for layer in range(trace.n_layers):
        alpha, one = trace.attention(layer), norms.all_of(trace, layer)
        weighted = norms.weighted_norm(trace, layer)
        torch.testing.assert_close(weighted, alpha * one.transformed[:, None])
        assert (one.attn_n <= weighted.sum(0) * (1 + 1e-5)).all()  # triangle inequality
        apart = ~torch.eye(trace.n_tokens, dtype=torch.bool)
        assert torch.equal(one.attn_n[apart], one.attnres_n[apart])
        for ratio in one.mixing.values():
            assert ((ratio >= 0) & (ratio <= 1)).all()
        assert (one.mixing["attnres-w"] <= 0.5).all()


def test_one_head_has_nothing_to_sum() -> None:
    trace = Lens(tiny.bert(num_attention_heads=1), tiny.wordpiece()).trace("the cat sat on the mat")
    torch.testing.assert_close(norms.summed_weighted_norm(trace, 1), norms.weighted_norm(trace, 1)[0])


def test_gamma_scales_attnresln_alone() -> None:
    model = tiny.bert()
    before = norms.all_of(Lens(model, tiny.wordpiece()).trace("the cat sat"), 0)
    with torch.no_grad():
        model.encoder.layer[0].attention.output.LayerNorm.weight.mul_(3)
    after = norms.all_of(Lens(model, tiny.wordpiece()).trace("the cat sat"), 0)
    torch.testing.assert_close(after.attnresln_n, 3 * before.attnresln_n)
    torch.testing.assert_close(after.attnres_n, before.attnres_n)


def test_a_shift_of_the_value_bias_moves_f_and_not_the_mixture_of_others() -> None:
    """Rows of α sum to 1: the shift is in every f(x_j), and reaches u_i once per head."""
    model = tiny.bert().double()
    lens = Lens(model, tiny.wordpiece())
    before, output = norms.transformed_norm(lens.trace("the cat sat"), 0), lens.trace("the cat sat").context(0)
    with torch.no_grad():
        model.encoder.layer[0].attention.self.value.bias += 1
    trace = lens.trace("the cat sat")
    assert ((norms.transformed_norm(trace, 0) - before).abs() > 1e-3).all()
    torch.testing.assert_close(trace.context(0), output + 1)


def test_order_of_tokens_does_not_matter_without_positions() -> None:
    model = tiny.bert()
    with torch.no_grad():
        model.embeddings.position_embeddings.weight.zero_()
    lens = Lens(model, tiny.wordpiece())
    one, other = (norms.all_of(lens.trace(text), 2) for text in ("the cat sat", "sat the cat"))
    order = torch.tensor([0, 3, 1, 2, 4])  # where the tokens of the second stand in the first
    close(other.attn_n, one.attn_n[order][:, order])
    close(other.attnresln_n, one.attnresln_n[order][:, order])
    close(other.mixing["attnresln-n"], one.mixing["attnresln-n"][order])


@pytest.mark.parametrize("name", ["bert", "modernbert", "albert", "esm"])
def test_padding_changes_nothing(name: str) -> None:
    lens = lens_of(name)
    texts = ["warm", "the cat sat on the mat, it was very warm", ("the cat", "it sat")]
    for padded, text in zip(lens.trace_batch(texts), texts, strict=True):
        alone = norms.summary(lens.trace(*text) if isinstance(text, tuple) else lens.trace(text))
        together = norms.summary(padded)
        close(together.transformed, alone.transformed)
        close(together.attnresln_n, alone.attnresln_n)
        close(together.mixing["attnresln-n"], alone.mixing["attnresln-n"])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["bert", "esm", "mobilebert"])
def test_half_precision_is_cast_up(name: str, dtype: torch.dtype) -> None:
    """From what a half model captured, everything is computed in float32; in float64 when asked."""
    lens = lens_of(name, dtype)
    trace = lens.trace("the cat sat on the mat")
    wide = copy.deepcopy(lens.model).double()
    for layer in range(trace.n_layers):
        naive = NaiveBlock(wide, layer, trace.attention(layer, torch.float64), trace.layer_input(layer))
        weight = naive.module.attention.output.dense.weight.detach().unflatten(1, (trace.n_heads, -1))
        f = torch.einsum("dhk,hjk->hjd", weight, trace.value(layer).double())  # the values as captured, rounded to half
        close(norms.transformed_norm(trace, layer), f.norm(dim=-1))
        c = torch.einsum("hij,hjd->ijd", naive.alpha, f)
        close(norms.summed_weighted_norm(trace, layer), c.norm(dim=-1))
        exact = c.norm(dim=-1)
        close(norms.summed_weighted_norm(trace, layer, torch.float64), exact, torch.float64)
        own = c.diagonal().T + naive.residual
        close(norms.attnres_norm(trace, layer).diagonal(), own.norm(dim=-1))


@pytest.mark.parametrize("left", [1e-2, 1e-3, 1e-5])
def test_heads_that_cancel_keep_their_digits(left: float) -> None:
    """Head 1 undoes head 0 but for a small part: a quadratic form in float32 would be off by (1 / part)² · 1e-7."""
    model = tiny.bert(num_attention_heads=2)
    with torch.no_grad():
        for layer in model.encoder.layer:
            own = layer.attention.self
            for projection in (own.query, own.key, own.value):
                projection.weight[16:], projection.bias[16:] = projection.weight[:16], projection.bias[:16]
            out = layer.attention.output.dense.weight
            out[:, 16:] = -out[:, :16] + left * torch.randn(32, 16, generator=torch.Generator().manual_seed(0))
    trace = Lens(model, tiny.wordpiece()).trace("the cat sat on the mat")
    exact = Lens(copy.deepcopy(model).double(), tiny.wordpiece()).trace("the cat sat on the mat")
    for layer in range(3):
        naive = NaiveBlock(exact.lens.model, layer, exact.attention(layer), exact.layer_input(layer))
        for kind in ("attn-n", "attnresln-n"):
            found, expected = MAPS[kind](trace, layer).double(), naive.pairs(kind)
            whole = naive.f.norm(dim=-1).sum(0)  # what float32 rounding is relative to
            off = (found - expected).abs() - 2e-5 * expected - 2e-7 * whole
            assert (off[~torch.eye(len(off), dtype=torch.bool)] < 0).all()


def test_what_cannot_be_measured_is_said() -> None:
    given = Trace.from_attentions(torch.full((1, 2, 3, 4), 0.25), ["a", "b", "c"], ["d", "e", "f", "g"])
    with pytest.raises(ModelError, match="Only attention weights were given"):
        norms.summed_weighted_norm(given, 0)
    llama = tiny.FAMILIES["llama, grouped keys"]
    with pytest.raises(ModelError, match=r"no adapter.*BERT, RoBERTa"):
        norms.transformed_norm(Lens(llama.model(), llama.tokenizer()).trace("the cat"), 0)
    xlm = tiny.OUTSIDE["xlm"]
    with pytest.raises(ModelError, match="never declared to run with sdpa"):
        norms.summary(Lens(xlm.model(), xlm.tokenizer()).trace("the cat"))
    trace = Lens(tiny.bert(), tiny.wordpiece()).trace("the cat")
    with pytest.raises(SelectionError, match="mixing ratio 'attn' does not exist"):
        norms.mixing_ratio(trace, 0, "attn")
    with pytest.raises(SelectionError, match="layer 7 does not exist"):
        norms.attnres_norm(trace, 7)
