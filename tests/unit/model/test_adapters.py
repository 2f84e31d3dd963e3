"""Families that compute attention themselves: what needs an adapter is what their own modules give, in float64.

Beside the eager run of transformers, loops over vectors and autograd stand here; nothing of them goes through bertlens.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, linear
from transformers.activations import ACT2FN
from transformers.models.deberta import modeling_deberta
from transformers.models.deberta_v2 import modeling_deberta_v2

from bertlens import Trace
from bertlens.measures import flow, sources
from bertlens.model.families import adapter_of
from bertlens.model.plain_modules import affine
from unit import tiny
from unit.measures.test_norms import check_layer
from unit.measures.test_sources import cell, share_of
from unit.naive import NaiveBlock
from unit.naive_sources import Graph
from unit.tiny_attention import FAMILIES, lens_of

EVERY = pytest.mark.parametrize("name", FAMILIES)
TEXT = "the cat sat, warm."


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """DeBERTa's LayerNorm computes in float32, whatever the model's dtype: here in its own."""

    def forward(self: Any, u: Tensor) -> Tensor:
        centred = u - u.mean(-1, keepdim=True)
        return (
            centred / (centred.pow(2).mean(-1, keepdim=True) + self.variance_epsilon).sqrt() * self.weight + self.bias
        )

    def scale(query: Tensor, factor: int) -> Tensor:
        return torch.tensor(query.shape[-1] * factor, dtype=query.dtype).sqrt()

    for module in (modeling_deberta, modeling_deberta_v2):
        monkeypatch.setattr(module, "scaled_size_sqrt", scale)
    monkeypatch.setattr(modeling_deberta.DebertaLayerNorm, "forward", forward)


def close(found: Tensor, expected: Tensor, bound: float = 1e-10) -> None:
    torch.testing.assert_close(found, expected, atol=bound, rtol=bound, check_dtype=False)


def eager(model: Any, trace: Trace, **options: Any) -> Any:
    model.set_attn_implementation("eager")
    ids = {"input_ids": trace.input_ids[None], "attention_mask": torch.ones(1, trace.n_tokens, dtype=torch.int64)}
    if trace.token_type_ids is not None and model.config.model_type not in ("mpnet", "layoutlmv3"):
        ids["token_type_ids"] = trace.token_type_ids[None]
    with torch.no_grad():
        return model(**ids, output_hidden_states=True, **options)


def heads(x: Tensor, n: int) -> Tensor:
    return x.unflatten(-1, (n, -1)).transpose(0, 1)


@EVERY
def test_the_block_is_put_together(name: str) -> None:
    """W_O, projections, LayerNorms and MLP that the adapter names rebuild the layer's own results; so does `rest`."""
    lens = lens_of(name)
    adapter: Any = adapter_of(lens.model)
    trace = lens.trace(*tiny.TEXTS[1])
    states = eager(lens.model, trace).hidden_states
    act = ACT2FN[lens.model.config.hidden_act]
    angles = trace.record.entry.rotations
    with torch.no_grad():
        for number, layer in enumerate(adapter.layers(lens.model)):
            x, a, y = trace.layer_input(number), trace.attention_output(number), trace.layer_output(number)
            close(x, states[number][0])
            norm, mlp_norm = adapter.attention_norm(layer), adapter.mlp_norm(layer)
            total = linear(trace.context(number), *affine(adapter.output_projection(layer))) + x
            close(a, norm(total) if adapter.post_ln else total)
            intake = x if adapter.post_ln else norm(x)
            for kind, made in (("query", trace.query), ("key", trace.key), ("value", trace.value)):
                vectors = heads(linear(intake, *affine(getattr(adapter, f"{kind}_projection")(layer))), trace.n_heads)
                if angles and kind != "value":  # a rotation keeps lengths, and position 0 is not rotated
                    close(made(number).norm(dim=-1), vectors.norm(dim=-1))
                    close(made(number)[:, 0], vectors[:, 0])
                else:
                    close(made(number), vectors)
            inner, outer = (affine(module) for module in adapter.mlp(layer))
            total = linear(act(linear(a if adapter.post_ln else mlp_norm(a), *inner)), *outer) + a
            close(y, mlp_norm(total) if adapter.post_ln else total)
            close(adapter.rest(layer, a[None], x[None])[0], y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@EVERY
def test_norms_equal_the_vectors_themselves(name: str, dtype: torch.dtype) -> None:
    """Kobayashi's norms against loops, with the weights of an eager run; ALTI likewise."""
    trace, double = lens_of(name, dtype).trace(TEXT), lens_of(name)
    run = eager(double.model, trace, output_attentions=True)
    layer = 1
    naive = NaiveBlock(double.model, layer, run.attentions[layer][0], run.hidden_states[layer][0])
    check_layer(trace, layer, naive, dtype)
    close(trace.attention_output(layer), naive.output, 1e-10 if dtype == torch.float64 else 1e-5)
    rows = []
    for i in range(trace.n_tokens):
        parts, y = naive.parts(i, "attnres-n" if naive.pre_ln else "attnresln-n"), naive.output[i]
        row = torch.stack([(y.abs().sum() - (y - part).abs().sum()).clamp_min(0) for part in parts])
        rows.append(row / row.sum())
    close(flow.alti(trace, layer, progress=False), torch.stack(rows), 1e-10 if dtype == torch.float64 else 2e-5)


@EVERY
def test_flow_through_the_rest_of_the_layer(name: str) -> None:
    """Value zeroing against whole runs with one token's values zero; GlobEnc against vectors and the true deviation."""
    lens, layer = lens_of(name), 1
    trace, adapter = lens.trace(TEXT), adapter_of(lens.model)
    assert adapter is not None
    module: Any = adapter.layers(lens.model)[layer]
    zeroed, norm_inputs = [], []
    joint = getattr(getattr(module.attention, "self", None), "in_proj", None)

    def zero(projection: Any, args: Any, output: Tensor) -> Tensor:
        output = output.clone()
        if joint is None:
            output[:, zeroed] = 0
        else:
            values = output.unflatten(-1, (trace.n_heads, 3, -1))[..., 2, :]
            values[:, zeroed] = -module.attention.self.v_bias.detach().unflatten(0, (trace.n_heads, -1))
        return output

    (adapter.value_projection(module) if joint is None else joint).register_forward_hook(zero)
    second: Any = adapter.mlp_norm(module)
    second.register_forward_pre_hook(lambda norm, args: norm_inputs.append(args[0][0]))
    outputs: list[Tensor] = []
    module.register_forward_hook(lambda m, args, out: outputs.append((out[0] if isinstance(out, tuple) else out)[0]))
    run = eager(lens.model, trace, output_attentions=True)
    before, deviated = outputs[-1], norm_inputs[-1]
    turned = torch.zeros(trace.n_tokens, trace.n_tokens, dtype=torch.float64)
    for token in range(trace.n_tokens):
        zeroed[:] = [token]
        eager(lens.model, trace)
        turned[:, token] = 1 - cosine_similarity(before, outputs[-1], dim=-1)
    zeroed.clear()
    close(flow.value_zeroing(trace, layer, progress=False), turned / turned.sum(-1, keepdim=True), 1e-8)

    naive = NaiveBlock(lens.model, layer, run.attentions[layer][0], run.hidden_states[layer][0])
    if naive.pre_ln:
        close(flow.globenc(trace, layer), naive.pairs("attnres-n"))
        return
    eps = getattr(second, "eps", None) or second.variance_epsilon
    rows = []
    for i in range(trace.n_tokens):
        parts = naive.parts(i, "attnresln-n")
        deviation = (deviated[i].var(unbiased=False) + eps).sqrt()
        rows.append((second.weight.detach() * (parts - parts.mean(-1, keepdim=True)) / deviation).norm(dim=-1))
    close(flow.globenc(trace, layer), torch.stack(rows))


@pytest.mark.parametrize("opened", [False, True], ids=["closed", "opened"])
@EVERY
def test_split_is_that_of_autograd(name: str, opened: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of q·k by its source, both sides, with deviations, gates and earlier contexts detached."""
    lens = lens_of(name)
    trace, layer = lens.trace(*tiny.TEXTS[1]), 2
    rows = {}
    for head, side in ((1, "query"), (2, "key")):
        query, _, key = cell(trace, layer, head)
        split = sources.score(trace, layer, head, query, key, side, through_mlps=opened)
        assert abs(split.gap) < 1e-10
        rows[head, side, query, key] = split
    graph = Graph(lens.model, trace, monkeypatch, opened=opened)
    for (head, side, query, key), split in rows.items():
        share = share_of(trace, layer, head, query, key, "others")
        number = graph.contrast(layer, head, query, key, share, trace.scaling(layer), side)
        expected = graph.parts(layer, number)
        found = {(kind, -1 if at is None else at, -1 if h is None else h): value for kind, at, h, value in split.rows}
        for part, value in expected.items():
            if part[0] != "mlp" or not opened:
                assert abs(found[part] - value) < 1e-10 + 1e-10 * abs(value), part
        assert sum(expected.values()) == pytest.approx(float(number.detach()), abs=1e-8) or opened
