"""Families that compute attention themselves: what needs an adapter is what their own modules give, in float64.

Beside the eager run of transformers, loops over vectors and autograd stand here; nothing of them goes through bertlens.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor
from torch.nn.functional import cosine_similarity, linear
from transformers.activations import ACT2FN
from transformers.models.deberta import modeling_deberta
from transformers.models.markuplm import modeling_markuplm
from transformers.models.splinter import modeling_splinter

from bertlens import Lens, ModelError, Trace, whatif
from bertlens.measures import attribution, block, flow, geometry, norms, sources, spectra
from bertlens.measures.offers import offers
from bertlens.model.families import ADAPTERS, adapter_of
from bertlens.model.plain_modules import affine
from unit import tiny, tiny_attention
from unit.measures.test_norms import check_layer
from unit.measures.test_sources import cell, share_of
from unit.model.test_families import plain_eager
from unit.naive import NaiveBlock
from unit.naive_sources import Graph
from unit.tiny_attention import FAMILIES, lens_of

EVERY = pytest.mark.parametrize("name", FAMILIES)
TEXT = "the cat sat, warm."
JOINT = [getattr(ADAPTERS["deberta"], f"{kind}_projection") for kind in ("query", "key", "value")]


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """LayerNorms and softmaxes that are float32 whatever the model's dtype are of its dtype."""

    def forward(self: Any, u: Tensor) -> Tensor:
        centred = u - u.mean(-1, keepdim=True)
        return (
            centred / (centred.pow(2).mean(-1, keepdim=True) + self.variance_epsilon).sqrt() * self.weight + self.bias
        )

    def attend(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float, **kwargs: Any) -> Any:
        return plain_eager(query, key, value, mask, scaling, None)

    for module in (modeling_splinter, modeling_markuplm):
        monkeypatch.setattr(module, "eager_attention_forward", attend)
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
                    close(made(number).norm(dim=-1), vectors.norm(dim=-1), 1e-6)  # the table of angles is float32
                    close(made(number)[:, 0], vectors[:, 0])
                else:
                    close(made(number), vectors)
            inner, outer = (affine(module) for module in adapter.mlp(layer))
            total = linear(act(linear(a if adapter.post_ln else mlp_norm(a), *inner)), *outer) + a
            close(y, mlp_norm(total) if adapter.post_ln else total)
            close(adapter.rest(layer, a[None], x[None])[0], y)


@pytest.mark.sampled(6)
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


def test_norms_write_no_bias_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of heads x tokens x tokens nothing is made: what is added to the scores is asked for some queries at a time."""
    trace = lens_of("deberta-v2").trace(TEXT)
    expected = norms.attnresln_norm(trace, 1)
    monkeypatch.setattr(Trace, "dense_mask", lambda *arguments: pytest.fail("the whole bias was asked for"))
    monkeypatch.setattr(block, "QUERIES", 3)
    close(norms.attnresln_norm(trace, 1), expected)


@pytest.mark.sampled(4)
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
            output[:, zeroed] = 0.0
        else:
            values = output.unflatten(-1, (trace.n_heads, 3, -1))[..., 2, :]
            for token in zeroed:
                values[:, token] = -module.attention.self.v_bias.detach().unflatten(0, (trace.n_heads, -1))
        return output

    zeroing = (adapter.value_projection(module) if joint is None else joint).register_forward_hook(zero)
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
    zeroing.remove()  # with it the model is another
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


@pytest.mark.sampled(8)
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
    with monkeypatch.context() as patch:
        graph = Graph(lens.model, trace, patch, opened=opened)
    for (head, side, query, key), split in rows.items():
        share = share_of(trace, layer, head, query, key, "others")
        number = graph.contrast(layer, head, query, key, share, trace.scaling(layer), side)
        expected = graph.parts(layer, number)
        found = {(kind, -1 if at is None else at, -1 if h is None else h): value for kind, at, h, value in split.rows}
        for part, value in expected.items():
            if part[0] != "mlp" or not opened:
                assert abs(found[part] - value) < 1e-10 + 1e-10 * abs(value), part
        assert sum(expected.values()) == pytest.approx(float(number.detach()), abs=1e-8) or opened


def linear_run(model: Any, trace: Trace, patch: pytest.MonkeyPatch) -> tuple[Tensor, list[Tensor]]:
    """The last hidden states of a run with α, gates and deviations constant, and the leaves of its embeddings."""
    alphas = eager(model, trace, output_attentions=True).attentions
    adapter: Any = adapter_of(model)
    leaves: list[Tensor] = []
    names = ("word_embeddings", "position_embeddings", "token_type_embeddings")

    def leaf(module: Any, args: Any, out: Tensor) -> Tensor:
        leaves.append(out.detach().clone().requires_grad_())
        return leaves[-1]

    def norm(self: Any, u: Tensor) -> Tensor:
        centred = u - u.mean(-1, keepdim=True)
        eps = self.variance_epsilon if hasattr(self, "variance_epsilon") else self.eps
        return centred / (centred.pow(2).mean(-1, keepdim=True) + eps).sqrt().detach() * self.weight + self.bias

    for kind in {type(module) for module in model.modules() if type(module).__name__.endswith("LayerNorm")}:
        patch.setattr(kind, "forward", norm)
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in names:
            module.register_forward_hook(leaf)
    for number, layer in enumerate(adapter.layers(model)):
        module = layer.attention.attn if hasattr(layer.attention, "attn") else layer.attention.self
        values: list[Tensor] = []

        def value(projection: Any, args: Any, out: Tensor, module: Any = module, values: Any = values) -> None:
            if hasattr(module, "in_proj"):
                out = out.unflatten(-1, (trace.n_heads, 3, -1))[..., 2, :].flatten(-2) + module.v_bias
            values[:] = [out[0].unflatten(-1, (trace.n_heads, -1)).transpose(0, 1)]

        def mix(projection: Any, args: Any, number: int = number, values: Any = values) -> Any:
            return ((alphas[number][0] @ values[0]).transpose(0, 1).flatten(1)[None], *args[1:])

        projection = getattr(module, "in_proj", None) or adapter.value_projection(layer)
        projection.register_forward_hook(value)
        adapter.output_projection(layer).register_forward_pre_hook(mix)
        layer.intermediate.intermediate_act_fn.register_forward_hook(
            lambda act, args, out: args[0] * (out / args[0]).detach()
        )
    ids = {"input_ids": trace.input_ids[None], "attention_mask": torch.ones(1, trace.n_tokens, dtype=torch.int64)}
    if trace.token_type_ids is not None and model.config.model_type not in ("mpnet", "layoutlmv3"):
        ids["token_type_ids"] = trace.token_type_ids[None]
    return model(**ids).last_hidden_state[0], leaves


@EVERY
def test_attribution(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradient x input by finite differences of the model itself, the linearised model and the cosine by autograd."""
    lens, at = lens_of(name), 3
    trace, other = lens.trace(*tiny.TEXTS[1]), lens.trace(TEXT)
    metric = whatif.similarity(other)
    table: Any = lens.model.get_input_embeddings()
    slopes = attribution.gradient_input(trace, lambda output: output.last_hidden_state[0, at, 7]).values
    factors = torch.ones(trace.n_tokens, 1, dtype=torch.float64)
    hook = table.register_forward_hook(lambda module, args, out: out * factors)
    step, token = 1e-5, 5
    ends = []
    for factor in (1 + step, 1 - step):
        factors[token] = factor
        ends.append(float(eager(lens.model, trace).last_hidden_state[0, at, 7]))
    hook.remove()
    assert float(slopes[token]) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-8)

    found = attribution.linearised(trace, metric)
    assert float(found.values.sum()) + found.bias == pytest.approx(found.model, abs=1e-10)
    cosines = sources.similarity(trace, other)
    assert cosines.to_numpy().sum() == pytest.approx(cosines.attrs["cosine"], abs=1e-10)
    states, leaves = linear_run(lens.model, trace, monkeypatch)
    close(states.detach(), trace.layer_output(2) if name != "megatron-bert" else states.detach())
    far = other.hidden_states[-1].mean(0)
    mean = states.mean(0)
    number = mean @ far / (mean.norm().detach() * far.norm())
    gradients = torch.autograd.grad(number, leaves, allow_unused=True)
    expected = sum((g * x.detach()).sum(-1)[0] for g, x in zip(gradients, leaves, strict=True) if g is not None)
    close(found.values, expected.expand(trace.n_tokens))
    close(torch.tensor(cosines.to_numpy()[:-1].sum(1)), expected.expand(trace.n_tokens))


@EVERY
def test_spectra_geometry_and_bounds(name: str) -> None:
    """W_Q and W_K make what the run multiplied, no norm passes its bound, and the table of layers has every number."""
    lens = lens_of(name)
    trace, adapter = lens.trace(TEXT), adapter_of(lens.model)
    assert adapter is not None
    layer: Any = adapter.layers(lens.model)[1]
    x = trace.layer_input(1) if adapter.post_ln else adapter.attention_norm(layer)(trace.layer_input(1))
    for weights, made in zip(spectra.projections(lens.borrowed, 1), (trace.query(1), trace.key(1)), strict=True):
        remainder = made - torch.einsum("hdx,sx->hsd", weights, x)
        if not trace.record.entry.rotations:
            close(remainder, remainder[:, :1].expand_as(remainder))  # the bias, the same for all tokens
    for head in range(trace.n_heads):
        histograms = geometry.norm_histograms(trace, 1, head)
        for kind, lengths in histograms.norms.items():
            assert 0.02 * histograms.bounds[kind] < lengths.max() <= histograms.bounds[kind] * (1 + 1e-6), (kind, head)
    assert not geometry.layer_table(trace).select_dtypes("number").isna().any(axis=None)


HEADS = {
    "mpnet": ("MPNetForMaskedLM", "MPNetForSequenceClassification", "MPNetForTokenClassification"),
    "deberta-v2": ("DebertaV2ForMaskedLM", "DebertaV2ForSequenceClassification", "DebertaV2ForTokenClassification"),
    "deberta": ("DebertaForMaskedLM", "DebertaForSequenceClassification", "DebertaForTokenClassification"),
    "roformer": ("RoFormerForMaskedLM", "RoFormerForSequenceClassification", "RoFormerForTokenClassification"),
    "rembert": ("RemBertForMaskedLM", "RemBertForSequenceClassification", "RemBertForTokenClassification"),
    "megatron-bert": ("MegatronBertForMaskedLM", "MegatronBertForSequenceClassification"),
    "luke": ("LukeForMaskedLM", "LukeForSequenceClassification", "LukeForTokenClassification"),
    "lilt": ("LiltForSequenceClassification", "LiltForTokenClassification"),
    "visual_bert": ("VisualBertForPreTraining",),
    "markuplm": ("MarkupLMForSequenceClassification", "MarkupLMForTokenClassification"),
    "layoutlmv3": ("LayoutLMv3ForSequenceClassification", "LayoutLMv3ForTokenClassification"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "head"), [(name, head) for name, heads in HEADS.items() for head in heads])
def test_predictions_are_split(name: str, head: str) -> None:
    """The parts of a logit sum to what the model with its head computes."""
    encoder, tokenizer = FAMILIES[name]
    config = encoder().config
    config.num_labels = 3
    lens = Lens(tiny_attention.shaken(getattr(tf, head)(config)).double(), tokenizer())
    trace = lens.trace(TEXT)
    logits = eager(lens.model, trace)[0 if "PreTraining" not in head else "prediction_logits"][0]
    if head.endswith(("MaskedLM", "PreTraining")):
        split, expected = sources.logit(trace, 2, 7, 9), logits[2, 7] - logits[2, 9]
    elif head.endswith("TokenClassification"):
        split, expected = sources.label(trace, 1, 0, position=2), logits[2, 1] - logits[2, 0]
    else:
        split, expected = sources.label(trace, 1, 0), logits[1] - logits[0]
    assert split.model == pytest.approx(float(expected), abs=1e-8)
    assert abs(split.gap) < 1e-10


def test_a_convolution_between_layers_is_said() -> None:
    """DeBERTa-v2 xlarge: norms of both layers hold, a split through the convolution is refused in one sentence."""
    model = tiny_attention.shaken(tiny_attention.deberta_v2(conv_kernel_size=3)).double()
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    run = eager(model, trace, output_attentions=True)
    for layer in (0, 1):
        check_layer(
            trace, layer, NaiveBlock(model, layer, run.attentions[layer][0], run.hidden_states[layer][0]), torch.float64
        )
    assert not torch.allclose(trace.layer_output(0), trace.layer_input(1))
    said = "DeBERTa-v2's stream cannot be split by source: a convolution over neighbouring tokens stands behind layer 0"
    with pytest.raises(ModelError, match=f"this {said}"):
        sources.score(trace, 2, 0, 1, 2)
    with pytest.raises(ModelError, match=f"this {said}"):
        attribution.linearised(trace, whatif.similarity(trace))
    assert said in offers(trace)["sources"]


def test_values_that_are_turned_are_said() -> None:
    trace = Lens(tiny_attention.shaken(tiny_attention.roformer(rotary_value=True)).double(), tiny.wordpiece()).trace(
        TEXT
    )
    with pytest.raises(ModelError, match="this RoFormer's stream cannot be split by source: it turns values by their"):
        sources.score(trace, 1, 0, 1, 2)


def test_a_layout_that_differs_is_said() -> None:
    lens = lens_of("layoutlmv3")
    lens.model.embeddings.register_forward_hook(lambda module, args, out: out + torch.randn(out.shape).double())
    with pytest.raises(ModelError, match="was given a layout, of which a split by source has no part"):
        sources.score(lens.trace(TEXT), 1, 0, 1, 2)


def test_joint_projections_wrapped() -> None:
    """LoRA on DeBERTa's joint projection is part of its values; what is no plain projection is named."""
    peft = pytest.importorskip("peft")
    lens = lens_of("deberta")
    config = peft.LoraConfig(target_modules=["in_proj"], r=2, init_lora_weights=False)
    wrapped = Lens(peft.get_peft_model(lens.model, config), lens.tokenizer)
    trace, layer = wrapped.trace(TEXT), lens.model.encoder.layer[1]
    for find, made in zip(JOINT, (trace.query(1), trace.key(1), trace.value(1)), strict=True):
        weight, bias = affine(find(layer))
        close(made, heads(linear(trace.layer_input(1), weight, bias), trace.n_heads))
    joint = lens.model.encoder.layer[2].attention.self
    joint.in_proj = torch.nn.Sequential(joint.in_proj)
    with pytest.raises(ModelError, match=r"encoder\.layer\.2\.attention\.self\.in_proj is a Sequential, not a plain"):
        spectra.weights_of(lens.borrowed, 2)
