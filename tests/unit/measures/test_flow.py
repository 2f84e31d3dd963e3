"""Rollout, flow, GlobEnc, ALTI, Value Zeroing and effective attention against their formulas written out."""

from __future__ import annotations

import copy
import warnings
from operator import attrgetter
from typing import Any

import pytest
import torch
from torch import Tensor

from bertlens import InputError, Lens, ModelError, SelectionError, Trace
from bertlens.measures import flow, norms
from unit.measures.test_norms import DTYPES, close, lens_of
from unit.naive import ADAPTED, PARTS, NaiveBlock

TEXT = "the cat sat on the mat, it was warm."
SECOND_NORM = {  # of the layer, in post-LN families
    "distilbert": "output_layer_norm",
    "albert": "full_layer_layer_norm",
    "nomic_bert": "post_mlp_layernorm",
}
EVERY = pytest.mark.parametrize("name", ADAPTED)


def rows(values: Tensor) -> Tensor:
    return values / values.sum(-1, keepdim=True)


def pair_of(name: str, dtype: torch.dtype) -> tuple[Trace, Lens, Trace]:
    """A trace, and the lens and trace of the same model in float64."""
    lens = lens_of(name, dtype)
    double = Lens(copy.deepcopy(lens.model).double(), lens.tokenizer)
    return lens.trace(TEXT), double, double.trace(TEXT)


def naive_of(double: Lens, exact: Trace, layer: int) -> NaiveBlock:
    return NaiveBlock(double.model, layer, exact.attention(layer), exact.layer_input(layer))


def run(model: Any, trace: Trace) -> Any:
    inputs = {"input_ids": trace.input_ids[None], "attention_mask": torch.ones(1, trace.n_tokens, dtype=torch.int64)}
    if trace.token_type_ids is not None and model.config.model_type not in ("distilbert", "esm", "modernbert"):
        inputs["token_type_ids"] = trace.token_type_ids[None]
    with torch.no_grad():
        return model(**inputs, output_hidden_states=True)


def layer_runs(model: Any, layer: int) -> tuple[Any, int]:
    """The module that is layer `layer`, and which of its calls in a forward pass that is."""
    family = model.config.model_type
    if family == "albert":
        per_group = model.config.num_hidden_layers // model.config.num_hidden_groups
        return model.encoder.albert_layer_groups[layer // per_group].albert_layers[0], layer % per_group
    return attrgetter(PARTS[family]["layers"])(model)[layer], 0


@pytest.mark.sampled(8)
@DTYPES
@EVERY
def test_alti(name: str, dtype: torch.dtype) -> None:
    trace, double, exact = pair_of(name, dtype)
    for layer in range(trace.n_layers):
        naive = naive_of(double, exact, layer)
        contribution = torch.zeros(trace.n_tokens, trace.n_tokens, dtype=torch.float64)
        for i in range(trace.n_tokens):
            parts = naive.parts(i, "attnres-n" if naive.pre_ln else "attnresln-n")
            y = naive.output[i]
            for j in range(trace.n_tokens):
                contribution[i, j] = max(0.0, float(y.abs().sum() - (y - parts[j]).abs().sum()))
        close(flow.alti(trace, layer), rows(contribution), dtype)


@pytest.mark.sampled(8)
@DTYPES
@EVERY
def test_globenc(name: str, dtype: torch.dtype) -> None:
    trace, double, exact = pair_of(name, dtype)
    family = double.model.config.model_type
    if family == "mobilebert":
        with pytest.raises(ModelError, match="GlobEnc is not defined"):
            flow.globenc(trace, 0)
        return
    for layer in range(trace.n_layers):
        naive = naive_of(double, exact, layer)
        if naive.pre_ln:
            close(flow.globenc(trace, layer), naive.pairs("attnres-n"), dtype)
            continue
        module, call = layer_runs(double.model, layer)
        second = attrgetter(SECOND_NORM.get(family, "output.LayerNorm"))(module)
        seen: list[Tensor] = []
        hook = second.register_forward_pre_hook(lambda module, args, seen=seen: seen.append(args[0][0]))
        run(double.model, exact)  # the true vector in front of the second LayerNorm
        hook.remove()
        expected = torch.zeros(trace.n_tokens, trace.n_tokens, dtype=torch.float64)
        for i in range(trace.n_tokens):
            deviation = (seen[call][i].var(unbiased=False) + second.eps).sqrt()
            parts = naive.parts(i, "attnresln-n")
            parts = second.weight.detach() * (parts - parts.mean(-1, keepdim=True)) / deviation
            expected[i] = parts.norm(dim=-1)
        close(flow.globenc(trace, layer), expected, dtype)


@pytest.mark.sampled(8)
@DTYPES
@EVERY
def test_value_zeroing(name: str, dtype: torch.dtype) -> None:
    """Against whole forward passes in which the value projection's output is zero at one token."""
    trace, double, exact = pair_of(name, dtype)
    model, family = double.model, double.model.config.model_type
    layers = range(trace.n_layers) if name in ("bert", "albert") else (1,)
    for layer in layers:
        module, call = layer_runs(model, layer)
        calls = [0]
        zeroed: list[int] = []
        outputs: list[Tensor] = []

        def zero(
            module: Any, args: Any, output: Tensor, calls: Any = calls, call: int = call, zeroed: Any = zeroed
        ) -> Tensor:
            calls[0] += 1
            if calls[0] - 1 != call:
                return output
            output = output.clone()
            third = output.shape[-1] // 3 * 2 if family in ("modernbert", "gpt2") else 0
            output[:, zeroed, third:] = 0
            return output

        def keep(module: Any, args: Any, output: Any, outputs: Any = outputs) -> None:
            outputs.append((output[0] if isinstance(output, tuple) else output)[0])

        hooks = [attrgetter(PARTS[family]["value"])(module).register_forward_hook(zero)]
        hooks.append(module.register_forward_hook(keep))
        run(model, exact)
        whole, turned = outputs[call], torch.zeros(trace.n_tokens, trace.n_tokens, dtype=torch.float64)
        for token in range(trace.n_tokens):
            calls[0] = 0
            outputs.clear()
            zeroed[:] = [token]
            run(model, exact)
            turned[:, token] = 1 - torch.cosine_similarity(whole, outputs[call], dim=-1)
        for hook in hooks:
            hook.remove()
        close(flow.value_zeroing(trace, layer, progress=False), rows(turned), dtype)


@pytest.mark.parametrize("name", ["bert", "gpt2", "modernbert"])
def test_effective_attention(name: str) -> None:
    """A minus its projection on the left null space of T, by a full decomposition; A_eff T = A T; rank at most d."""
    trace, double, exact = pair_of(name, torch.float64)
    assert trace.n_tokens > 8
    for layer in range(trace.n_layers):
        found, alpha = flow.effective_attention(trace, layer), exact.attention(layer)
        t = naive_of(double, exact, layer).f  # (H, S, D)
        for h in range(trace.n_heads):
            left, spread, _ = torch.linalg.svd(t[h], full_matrices=True)
            null = left[:, int((spread > spread[0] * 1e-12).sum()) :]
            assert null.shape[1] >= trace.n_tokens - 8
            torch.testing.assert_close(found[h], alpha[h] - alpha[h] @ null @ null.T, atol=1e-10, rtol=1e-10)
            torch.testing.assert_close(found[h] @ t[h], alpha[h] @ t[h], atol=1e-10, rtol=1e-10)
            assert torch.linalg.matrix_rank(found[h]) <= 8
    assert not torch.allclose(found, alpha, atol=1e-3)


def test_effective_attention_of_a_short_text_is_attention(embedded_lens: Lens) -> None:
    trace = embedded_lens.trace("The cat sat on the mat.")
    for layer in range(trace.n_layers):
        torch.testing.assert_close(flow.effective_attention(trace, layer), trace.attention(layer), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", flow.KINDS)
def test_rollout(kind: str) -> None:
    trace = lens_of("bert", torch.float64).trace(TEXT)
    makes = {
        "attn-w": lambda layer: trace.attention(layer).mean(0),
        "attnres-w": lambda layer: 0.5 * trace.attention(layer).mean(0) + 0.5 * torch.eye(trace.n_tokens),
        "attn-n": lambda layer: rows(norms.summed_weighted_norm(trace, layer)),
        "attnres-n": lambda layer: rows(norms.attnres_norm(trace, layer)),
        "attnresln-n": lambda layer: rows(norms.attnresln_norm(trace, layer)),
        "globenc": lambda layer: rows(flow.globenc(trace, layer)),
        "alti": lambda layer: flow.alti(trace, layer),
        "value-zeroing": lambda layer: flow.value_zeroing(trace, layer),
    }
    found = flow.rollout(trace, kind)
    expected = torch.eye(trace.n_tokens, dtype=torch.float64)
    for layer in range(trace.n_layers):
        torch.testing.assert_close(flow.layer_map(trace, layer, kind), makes[kind](layer), atol=1e-12, rtol=1e-12)
        expected = makes[kind](layer) @ expected
        torch.testing.assert_close(found[layer], expected, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(found.sum(-1), torch.ones_like(found[:, 0]), atol=1e-12, rtol=0)


def test_rollout_says_what_it_needs_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = lens_of("bert", torch.float64).trace(TEXT)
    bytes_needed = flow.rollout(trace, "attn-w").nbytes
    maps = f"{trace.n_layers} maps of {trace.n_tokens} × {trace.n_tokens}: 0.0 GB"
    monkeypatch.setattr(flow, "layer_map", None)  # not reached before it is said
    for most, said in ((bytes_needed - 1, [f"rollout of attn-w keeps {maps}"]), (bytes_needed, [])):
        monkeypatch.setattr(flow, "SAID", most)
        with warnings.catch_warnings(record=True) as heard, pytest.raises(TypeError):
            flow.rollout(trace, "attn-w")
        assert [str(one.message) for one in heard] == said


@pytest.mark.parametrize("kind", flow.KINDS)
def test_rollout_of_lengths_as_they_are(kind: str) -> None:
    """GlobEnc's authors multiply the maps without dividing rows by their sums; kinds that are shares stay the same."""
    trace = lens_of("bert", torch.float64).trace(TEXT)
    lengths: dict[str, Any] = {
        "attn-n": norms.summed_weighted_norm,
        "attnres-n": norms.attnres_norm,
        "attnresln-n": norms.attnresln_norm,
        "globenc": flow.globenc,
    }
    found = flow.rollout(trace, kind, normalize=False)
    if kind not in lengths:
        assert torch.equal(found, flow.rollout(trace, kind))
        return
    expected = torch.eye(trace.n_tokens, dtype=torch.float64)
    for layer in range(trace.n_layers):
        one = lengths[kind](trace, layer)
        torch.testing.assert_close(flow.layer_map(trace, layer, kind, normalize=False), one, atol=1e-12, rtol=1e-12)
        expected = one @ expected
        torch.testing.assert_close(found[layer], expected, atol=1e-12, rtol=1e-12)
    assert not torch.allclose(rows(found[-1]), flow.rollout(trace, kind)[-1], atol=1e-3)


def test_the_two_rollouts_of_globenc_are_not_the_same_story(embedded_lens: Lens) -> None:
    """What `normalize` is for: on a trained model the token that counts most is another one in many rows."""
    trace = embedded_lens.trace("The cat sat on the mat because it was tired.", "The dog lay on the rug.")
    tops = [flow.rollout(trace, "globenc", normalize=one)[-1].argmax(-1) for one in (True, False)]
    assert 0.2 < float((tops[0] == tops[1]).double().mean()) < 0.9


def test_attention_flow_is_the_maximum_flow() -> None:
    """Against networkx on the same graph, with exact fractions of its own."""
    networkx: Any = pytest.importorskip("networkx")
    pytest.importorskip("scipy")
    trace = lens_of("bert", torch.float64).trace("the cat sat, warm")
    graph = networkx.DiGraph()
    for layer in range(trace.n_layers):
        mean = trace.attention(layer).mean(0)
        for i in range(trace.n_tokens):
            for j in range(trace.n_tokens):
                capacity = 0.5 * float(mean[i, j]) + 0.5 * (i == j)
                graph.add_edge((layer + 1, i), (layer, j), capacity=capacity)
    found = flow.attention_flow(trace)
    for i in range(trace.n_tokens):
        for j in range(trace.n_tokens):
            expected = networkx.maximum_flow_value(graph, (trace.n_layers, i), (0, j))
            assert float(found[i, j]) == pytest.approx(expected, abs=1e-7)
    assert torch.equal(flow.attention_flow(trace, queries=[2, 0]), found[[2, 0]])
    assert (found.sum(-1) > 1.05).all()  # each input token has the pipes for itself
    of_one = flow.attention_flow(trace, queries=[2], normalize=True)[0].tolist()
    total = sum(found[2].tolist())
    assert of_one == pytest.approx([float(flown) / total for flown in found[2]])


def test_maps_of_given_weights_roll_out_too() -> None:
    trace = Trace.from_attentions(torch.full((2, 3, 4, 4), 0.25), list("abcd"))
    torch.testing.assert_close(flow.rollout(trace, "attn-w"), torch.full((2, 4, 4), 0.25))
    with pytest.raises(ModelError, match="Only attention weights were given"):
        flow.rollout(trace)


def test_padding_and_half_precision() -> None:
    lens = lens_of("bert")
    padded = lens.trace_batch(["warm", TEXT])[0]
    alone = lens.trace("warm")
    half = Lens(copy.deepcopy(lens.model).to(torch.bfloat16), lens.tokenizer).trace(TEXT)
    for kind in flow.KINDS:
        close(flow.rollout(padded, kind), flow.rollout(alone, kind))
        assert flow.rollout(half, kind).dtype == torch.float32
    # α and values as captured, then float32: the sum rule holds for the value zeroing's starting point
    close(flow.alti(half, 0).sum(-1), torch.ones(half.n_tokens))


def test_what_cannot_be_had_is_said() -> None:
    trace = lens_of("bert").trace(TEXT)
    with pytest.raises(SelectionError, match="map 'attn' does not exist"):
        flow.rollout(trace, "attn")
    with pytest.raises(InputError, match="at most 4"):
        flow.attention_flow(trace, max_tokens=4)
    with pytest.raises(SelectionError, match="query 99 does not exist"):
        flow.attention_flow(trace, queries=[99])
    cross = Trace.from_attentions(torch.full((1, 2, 3, 4), 0.25), ["a", "b", "c"], ["d", "e", "f", "g"])
    with pytest.raises(ModelError, match="cross-attention"):
        flow.rollout(cross, "attn-w")
