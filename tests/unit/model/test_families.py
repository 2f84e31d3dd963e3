"""Every family, on small random models: what a trace says is what the model's own eager run computes.

The eager run is watched from outside bertlens: a spy in place of the family's own `eager_attention_forward` sees the
final query, key, value, scaling and mask, and hooks on the projections see q, k, v before any rotation.
"""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import Any

import pytest
import torch
import transformers as tf

from bertlens.errors import ModelError
from bertlens.lens import Lens
from bertlens.measures import attention as attention_measures
from bertlens.model.families import adapter_of
from bertlens.model.plain_modules import affine
from bertlens.trace import Trace
from unit import tiny

TEXT, PAIR, SHORT = tiny.TEXTS
FLOAT64 = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
EVERY = pytest.mark.parametrize("name", tiny.FAMILIES)
OUTSIDE = pytest.mark.parametrize("name", tiny.OUTSIDE)


def lens_of(name: str, dtype: torch.dtype = torch.float32) -> Lens:
    family = (tiny.FAMILIES | tiny.OUTSIDE)[name]
    # MobileBERT's NoNorm lets values grow from layer to layer: smaller weights keep float32 meaningful
    scale = 0.19 if name == "mobilebert" else 0.25
    return Lens(tiny.shaken(family.model(), scale=scale).to(dtype), family.tokenizer())


def close(found: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype = torch.float32) -> None:
    """1e-5 in float32, 1e-10 in float64: of the largest number, whose rounding others share, and of each."""
    bound = 1e-10 if dtype == torch.float64 else 1e-5
    finite = expected[expected.isfinite()].abs()
    largest = max(1.0, float(finite.max())) if finite.numel() else 1.0
    torch.testing.assert_close(found, expected, atol=bound * largest, rtol=bound, check_dtype=False)


def inputs_of(trace: Trace) -> dict[str, torch.Tensor]:
    inputs = {"input_ids": trace.input_ids[None], "attention_mask": torch.ones(1, trace.n_tokens, dtype=torch.int64)}
    return inputs if trace.token_type_ids is None else inputs | {"token_type_ids": trace.token_type_ids[None]}


def accepted(model: Any, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    if type(model).__name__ in ("DistilBertModel", "EsmModel", "ModernBertModel", "T5EncoderModel"):
        inputs.pop("token_type_ids", None)
    return inputs


class Eager:
    """One eager run of the model on a trace's ids, with every attention call written down."""

    def __init__(self, model: Any, trace: Trace, monkeypatch: pytest.MonkeyPatch):
        self.calls: list[dict[str, Any]] = []
        module = sys.modules[type(model).__module__]
        true_eager = module.eager_attention_forward

        def spy(module: Any, query: Any, key: Any, value: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
            if query.dtype == torch.float64:  # the eager runs of Llama and ModernBERT take their softmax in float32
                context, weights = plain_eager(query, key, value, mask, kwargs["scaling"], kwargs.get("position_bias"))
            else:
                context, weights = true_eager(module, query, key, value, mask, *args, **kwargs)
            seen = {"query": query, "key": key, "value": value, "mask": mask, "bias": kwargs.get("position_bias")}
            seen |= {"context": context, "scaling": kwargs["scaling"]}
            self.calls.append({k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in seen.items()})
            return context, weights

        monkeypatch.setattr(module, "eager_attention_forward", spy)
        model.config._attn_implementation = "eager"
        with torch.no_grad():
            self.output = model(**accepted(model, inputs_of(trace)), output_attentions=True, output_hidden_states=True)

    def scores(self, layer: int) -> torch.Tensor:
        call = self.calls[layer]
        return plain_scores(call["query"], call["key"], call["scaling"], call["mask"], call["bias"])[0]


def plain_scores(query: Any, key: Any, scaling: float, *added: Any) -> torch.Tensor:
    """Attention scores as every textbook has them, shared key heads repeated."""
    scores = query @ key.repeat_interleave(query.shape[1] // key.shape[1], 1).transpose(2, 3) * scaling
    return scores + sum(x for x in added if x is not None)


def plain_eager(query: Any, key: Any, value: Any, mask: Any, scaling: float, bias: Any) -> Any:
    weights = plain_scores(query, key, scaling, mask, bias).softmax(-1)
    context = weights @ value.repeat_interleave(query.shape[1] // value.shape[1], 1)
    return context.transpose(1, 2).contiguous(), weights


@pytest.mark.sampled(10)
@FLOAT64
@EVERY
def test_equals_the_eager_run(name: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q, k, v, scores, attention, context and the stream, single text and pair."""
    lens = lens_of(name, dtype)
    for given in ((TEXT,), PAIR):
        trace = lens.trace(*given)
        with monkeypatch.context() as patch:
            eager = Eager(lens.model, trace, patch)
        assert trace.has_neurons
        assert trace.n_layers == len(eager.calls) == len(eager.output.attentions)
        for layer, call in enumerate(eager.calls):
            groups = trace.n_heads // call["key"].shape[1]
            close(trace.query(layer), call["query"][0], dtype)
            close(trace.key(layer), call["key"][0].repeat_interleave(groups, 0), dtype)
            close(trace.value(layer), call["value"][0].repeat_interleave(groups, 0), dtype)
            close(trace.context(layer), call["context"][0].flatten(1), dtype)
            assert trace.scaling(layer) == call["scaling"]
            scores, expected = trace.scores(layer), eager.scores(layer)
            hidden = expected < -1e30  # eager writes the least number of the dtype
            assert torch.equal(scores == -torch.inf, hidden)
            close(scores.masked_fill(hidden, 0), expected.masked_fill(hidden, 0), dtype)
            close(trace.attention(layer), eager.output.attentions[layer][0], dtype)
        assert len(trace.hidden_states) == len(eager.output.hidden_states)
        for found, expected in zip(trace.hidden_states, eager.output.hidden_states, strict=True):
            close(found, expected[0], dtype)
        close(trace.output.last_hidden_state, eager.output.last_hidden_state, dtype)


@pytest.mark.parametrize("name", [name for name, family in tiny.FAMILIES.items() if family.projections])
def test_projections_seen_by_hooks(name: str) -> None:
    """q, k, v equal the outputs of the model's own projections (where no rotation comes between), v in every family."""
    family, lens = tiny.FAMILIES[name], lens_of(name)
    base = lens.model
    adapter = adapter_of(base)
    layers = adapter.layers(base) if adapter else base.layers
    seen: list[torch.Tensor] = []
    for layer in dict.fromkeys(layers):
        for path in family.projections:
            attrgetter(path)(layer).register_forward_hook(lambda m, args, out: seen.append(out.detach().clone()))
    trace = lens.trace(*PAIR)
    parts = len(family.projections)
    for number in range(trace.n_layers):
        made = seen[number * parts : (number + 1) * parts]
        query, key, value = made if parts == 3 else made[0].chunk(3, -1)
        dims = trace.head_dim

        def heads(x: torch.Tensor, dims: int = dims) -> torch.Tensor:
            split = x[0].unflatten(-1, (-1, dims)).transpose(0, 1)
            return split.repeat_interleave(trace.n_heads // split.shape[0], 0)

        if name.startswith("esm"):
            query = query * dims**-0.5  # ESM scales q itself
        close(trace.value(number), heads(value))
        if family.rotary:
            # a rotation keeps lengths, and position 0 is not rotated
            close(trace.query(number).norm(dim=-1), heads(query).norm(dim=-1))
            close(trace.key(number)[:, 0], heads(key)[:, 0])
        else:
            close(trace.query(number), heads(query))
            close(trace.key(number), heads(key))
    assert len(seen) == 2 * trace.n_layers * parts  # in the trace, and in the model's own run


@pytest.mark.parametrize("name", [n for n in tiny.FAMILIES if n.split(",")[0] not in ("llama", "t5 encoder")])
def test_adapter_puts_the_block_together(name: str) -> None:
    """W_O, the value projection, the LayerNorms and the MLP that the adapter names rebuild the block's own results."""
    lens = lens_of(name, torch.float64)
    adapter = adapter_of(lens.model)
    assert adapter is not None
    trace = lens.trace(*PAIR)
    activation = lens.model.config
    act = tf.activations.ACT2FN[
        getattr(activation, "hidden_act", None) or getattr(activation, "activation", None) or "gelu"
    ]
    if name == "gpt2":
        act = tf.activations.ACT2FN[lens.model.config.activation_function]
    if name == "modernbert":
        act = tf.activations.ACT2FN[lens.model.config.hidden_activation]

    def project(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        return torch.nn.functional.linear(x, weight, bias)

    with torch.no_grad():
        for number, layer in enumerate(adapter.layers(lens.model)):
            x, a, y = trace.layer_input(number), trace.attention_output(number), trace.layer_output(number)
            norm, mlp_norm = adapter.attention_norm(layer), adapter.mlp_norm(layer)
            out = project(trace.context(number), *affine(adapter.output_projection(layer)))
            residual = layer.bottleneck.input(x) if name == "mobilebert" else x
            close(a, norm(out + residual) if adapter.post_ln else out + residual, torch.float64)
            value_of = x if adapter.post_ln else norm(x)
            value = project(value_of, *affine(adapter.value_projection(layer), adapter.value_part))
            close(trace.value(number), value.unflatten(-1, (trace.n_heads, -1)).transpose(0, 1), torch.float64)
            if name == "mobilebert":  # more feed-forward blocks and a bottleneck stand between
                continue
            *inner, outer = (affine(module) for module in adapter.mlp(layer))
            taken = a if adapter.post_ln else mlp_norm(a)
            if name == "modernbert":
                left, gate = project(taken, *inner[0]).chunk(2, -1)
                hidden = act(left) * gate
            elif len(inner) == 2:
                hidden = act(project(taken, *inner[0])) * project(taken, *inner[1])
            else:
                hidden = act(project(taken, *inner[0]))
            made = project(hidden, *outer) + a
            close(y, mlp_norm(made) if adapter.post_ln else made, torch.float64)
            if number + 1 < trace.n_layers:
                assert torch.equal(y, trace.layer_input(number + 1))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", [*tiny.FAMILIES, *tiny.OUTSIDE])
@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_is_invisible(name: str, side: str) -> None:
    """Padded batches give what one text at a time gives, also where the tokenizer pads on the left."""
    lens = lens_of(name)
    lens.tokenizer.padding_side = side
    together = lens.trace_batch(tiny.TEXTS)
    for given, trace in zip(tiny.TEXTS, together, strict=True):
        alone = lens.trace(*((given,) if isinstance(given, str) else given))
        assert trace.tokens == alone.tokens
        assert torch.equal(trace.special_mask, alone.special_mask)
        for layer in range(trace.n_layers):
            close(trace.attention(layer), alone.attention(layer))
            close(trace.attention(layer).sum(-1), torch.ones(trace.n_heads, trace.n_tokens))
            if trace.has_neurons:
                close(trace.query(layer), alone.query(layer))
                close(trace.key(layer), alone.key(layer))
                close(trace.value(layer), alone.value(layer))
                close(trace.context(layer), alone.context(layer))
                assert isinstance(trace.mask(layer), torch.Tensor) == isinstance(alone.mask(layer), torch.Tensor)
                if not isinstance(trace.mask(layer), torch.Tensor):
                    assert trace.mask(layer) == alone.mask(layer)
            if adapter_of(lens.model):
                close(trace.attention_output(layer), alone.attention_output(layer))
                close(trace.layer_output(layer), alone.layer_output(layer))
        for found, expected in zip(trace.hidden_states, alone.hidden_states, strict=True):
            close(found, expected)
        close(trace.output.last_hidden_state, alone.output.last_hidden_state)


@pytest.mark.parametrize("name", ["bert", "gpt2", "modernbert"])
def test_padded_batch_as_transformers_computes_it(name: str) -> None:
    """The same numbers as a batch that the tokenizer itself padded, read by its attention mask."""
    lens = lens_of(name)
    tokenizer = lens.tokenizer
    if tokenizer.pad_token is None:
        tokenizer.pad_token = "<|endoftext|>"
    texts = [TEXT, SHORT]
    batch = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt")
    lens.model.config._attn_implementation = "eager"
    with torch.no_grad():
        output = lens.model(**accepted(lens.model, dict(batch)), output_attentions=True)
    for row, trace in enumerate(lens.trace_batch(texts)):
        real = batch["attention_mask"][row].bool()
        for layer in range(trace.n_layers):
            close(trace.attention(layer), output.attentions[layer][row][:, real][:, :, real])


def test_masks_arrive() -> None:
    """GPT-2 and Llama see nothing ahead, ModernBERT's local layers only their window, BERT everything."""
    assert lens_of("bert").trace(TEXT).mask(0) is None
    for name in ("gpt2", "llama, grouped keys"):
        trace = lens_of(name).trace(TEXT)
        assert trace.mask(1) == "causal"
        above = torch.ones(trace.n_tokens, trace.n_tokens).triu(1).bool()
        assert (trace.attention(1)[:, above] == 0).all()
        assert (trace.scores(1)[:, above] == -torch.inf).all()
    trace = lens_of("modernbert").trace(*PAIR)
    assert trace.mask(0) is None and trace.mask(3) is None
    n = torch.arange(trace.n_tokens)
    far = (n[:, None] - n[None, :]).abs() > 3  # local_attention 6: three to each side
    assert torch.equal(trace.mask(1) == -torch.inf, far)
    assert (trace.attention(1)[:, far] == 0).all() and (trace.attention(1)[:, ~far] > 0).all()


def test_grouped_key_heads() -> None:
    trace = lens_of("llama, grouped keys").trace(TEXT)
    key = trace.key(0)
    assert key.shape == trace.query(0).shape == (4, trace.n_tokens, 6)
    assert torch.equal(key[0], key[1]) and torch.equal(key[2], key[3]) and not torch.equal(key[1], key[2])


def test_families_without_adapter() -> None:
    """Neurons, attention and hidden states are there; what needs an adapter says which families have one."""
    trace = lens_of("llama, grouped keys").trace(TEXT)
    assert trace.has_neurons and len(trace.hidden_states) == 4
    for quantity in (trace.attention_output, trace.layer_input, trace.layer_output):
        with pytest.raises(ModelError, match=r"BERT, RoBERTa.*GPT-2"):
            quantity(0)


@OUTSIDE
def test_outside_the_interface(name: str) -> None:
    """Families whose attention cannot be read: an eager run's attention, and one sentence why there are no neurons."""
    lens = lens_of(name)
    trace = lens.trace(*PAIR)
    with torch.no_grad():
        output = lens.model(**inputs_of(trace), output_attentions=True, output_hidden_states=True)
    for layer in range(trace.n_layers):
        close(trace.attention(layer), output.attentions[layer][0])
    for found, expected in zip(trace.hidden_states, output.hidden_states, strict=True):
        close(found, expected[0])
    assert not trace.has_neurons and trace.head_dim is None
    assert type(lens.model).__name__ in trace.why_no_neurons and trace.why_no_neurons.count(".") == 1
    for quantity in (trace.query, trace.key, trace.value, trace.scores, trace.context, trace.scaling, trace.mask):
        with pytest.raises(ModelError, match="attention weights can be shown"):
            quantity(0)
    assert attention_measures.summary(trace)["entropy"].isfinite().all()


def test_scores_that_q_and_k_cannot_express() -> None:
    """Gemma 2 caps its scores: shown by an eager run, never as a wrong softmax of q·k."""
    config = tf.Gemma2Config(
        **tiny.SIZE, vocab_size=300, num_key_value_heads=2, head_dim=8, attn_logit_softcapping=2.0, sliding_window=8
    )
    config._attn_implementation = "eager"  # of transformers 5.20 sdpa is the default, which does not cap
    lens = Lens(tiny.shaken(tf.Gemma2Model(config)), tiny.gpt_like())
    trace = lens.trace(TEXT)
    assert not trace.has_neurons
    with torch.no_grad():
        output = lens.model(trace.input_ids[None], output_attentions=True)
    close(trace.attention(2), output.attentions[2][0])


def test_what_cannot_be_read_says_what_can() -> None:
    """No attention, no text, no transformers model, encoder-decoders."""
    tokenizer = tiny.wordpiece()
    fnet = tf.FNetModel(tf.FNetConfig(**{k: v for k, v in tiny.BERT.items() if k != "num_attention_heads"}))
    with pytest.raises(ModelError, match=r"FNetModel returns no attention.*BERT, RoBERTa.*from_attentions"):
        Lens(fnet, tokenizer).trace(TEXT)
    vit = tf.ViTModel(tf.ViTConfig(**tiny.SIZE, image_size=8, patch_size=4))
    with pytest.raises(ModelError, match=r"does not read text.*BERT, RoBERTa"):
        Lens(vit, tokenizer)
    with pytest.raises(ModelError, match=r"Linear is not a transformers model.*BERT, RoBERTa"):
        Lens(torch.nn.Linear(2, 2), tokenizer)
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4}
    sizes |= {"decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "vocab_size": 300}
    bart = tf.BartModel(tf.BartConfig(**sizes, max_position_embeddings=64))
    with pytest.raises(ModelError, match=r"get_encoder.*from_encoder_decoder"):
        Lens(bart, tiny.roberta_like())
    trace = Lens(tiny.shaken(bart.get_encoder()), tiny.roberta_like()).trace(TEXT)
    assert trace.has_neurons and trace.n_layers == 2
    funnel = tf.FunnelModel(
        tf.FunnelConfig(vocab_size=67, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=48)
    )
    with pytest.raises(ModelError, match="its own tokens"):
        Lens(funnel, tokenizer).trace(TEXT)
    with pytest.raises(ModelError, match="loaded model"):
        Lens("bert-base-uncased", tokenizer)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="tokenizer"):
        Lens(tiny.bert(), tiny.bert())


HEADS = {
    "ForMaskedLM": ("BertForMaskedLM", "RobertaForMaskedLM", "EsmForMaskedLM", "ModernBertForMaskedLM"),
    "ForSequenceClassification": ("BertForSequenceClassification", "DistilBertForSequenceClassification"),
    "ForTokenClassification": ("BertForTokenClassification", "ElectraForTokenClassification"),
    "ForQuestionAnswering": ("BertForQuestionAnswering", "AlbertForQuestionAnswering"),
    "LMHeadModel": ("GPT2LMHeadModel",),
}


@pytest.mark.parametrize("name", [name for names in HEADS.values() for name in names])
def test_inside_task_heads(name: str) -> None:
    """The encoder is found inside, its attention is the head model's own, its output the head's."""
    kind = next(
        k for k in tiny.FAMILIES if k.replace("_", "") == name.split("For")[0].removesuffix("LMHeadModel").lower()
    )
    family = tiny.FAMILIES[kind]
    model = tiny.shaken(getattr(tf, name)(family.model().config))
    lens = Lens(model, family.tokenizer())
    trace = lens.trace(*PAIR)
    assert trace.has_neurons and trace.n_layers == len(trace.hidden_states) - 1
    model.config._attn_implementation = "eager"
    with torch.no_grad():
        output = model(**accepted(model.base_model, inputs_of(trace)), output_attentions=True)
    for layer in range(trace.n_layers):
        close(trace.attention(layer), output.attentions[layer][0])
    assert type(trace.output) is type(output)
    for key in ("logits", "start_logits", "end_logits"):
        if key in output:
            close(trace.output[key], output[key])
    for given, row in zip(tiny.TEXTS, lens.trace_batch(tiny.TEXTS), strict=True):
        alone = lens.trace(*((given,) if isinstance(given, str) else given))
        for key in ("logits", "start_logits", "end_logits"):
            if key in output:
                close(row.output[key], alone.output[key])
