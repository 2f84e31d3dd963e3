"""Trace: shapes, errors, and traces made of attention weights that the user brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

from bertlens.errors import InputError, ModelError, SelectionError
from bertlens.lens import Lens
from bertlens.measures import attention as measures
from bertlens.trace import Trace
from unit import tiny

TEXT, PAIR, SHORT = tiny.TEXTS
TOKENS = ["[CLS]", "the", "cat", "[SEP]", "it", "[SEP]"]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Lens(tiny.bert(), tiny.wordpiece()).trace(*PAIR)


def maps(layers: int = 2, heads: int = 3, queries: int = 6, keys: int = 6, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(layers, heads, queries, keys, generator=generator).mul(2).softmax(-1)


def test_shapes(trace: Trace) -> None:
    size = trace.n_tokens
    assert (trace.n_layers, trace.n_heads, trace.head_dim) == (3, 4, 8)
    for quantity in (trace.query, trace.key, trace.value):
        assert quantity(0).shape == (4, size, 8)
    assert trace.scores(0).shape == trace.attention(0).shape == (4, size, size)
    for quantity in (trace.context, trace.attention_output, trace.layer_input, trace.layer_output):
        assert quantity(2).shape == (size, 32)
    assert [state.shape for state in trace.hidden_states] == [(size, 32)] * 4
    assert trace.input_ids.shape == trace.token_type_ids.shape == trace.segments.shape == (size,)
    assert trace.special_mask.dtype == torch.bool and trace.segments.dtype == torch.int64
    assert trace.key_tokens == trace.tokens and trace.maps == {"self": trace}
    assert (trace.text, trace.text_pair) == PAIR
    assert trace.dtype == "float32" and trace.model_name == "BertModel"
    assert torch.equal(trace.segments, trace.token_type_ids)
    assert repr(trace) == f"Trace(BertModel, 3 layers x 4 heads, {size} tokens)"
    assert trace.scaling(1) == 8**-0.5


def test_context_is_the_weighted_sum_of_values(trace: Trace) -> None:
    for layer in range(3):
        context = torch.einsum("hqk,hkd->qhd", trace.attention(layer), trace.value(layer)).flatten(1)
        torch.testing.assert_close(trace.context(layer), context, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layer", [-1, 3, 1.0, "0", None, True])
def test_layers_that_do_not_exist(trace: Trace, layer: Any) -> None:
    for quantity in (trace.query, trace.scores, trace.attention, trace.mask, trace.scaling, trace.layer_output):
        with pytest.raises(SelectionError, match="from 0 to 2"):
            quantity(layer)


def test_numpy_integers_are_layers(trace: Trace) -> None:
    assert torch.equal(trace.attention(np.int64(1)), trace.attention(1))


def test_a_trace_does_not_change(trace: Trace) -> None:
    for name in ("encoding", "model_name", "anything"):
        with pytest.raises(AttributeError):
            setattr(trace, name, None)
    before = trace.attention(0)
    trace.attention(0).zero_()
    trace.query(0).zero_()
    trace.segments.zero_()
    assert torch.equal(trace.attention(0), before) and trace.segments.any()


GIVEN = {
    "one tensor": lambda a: a,
    "one array": lambda a: a.numpy(),
    "tuple of (1, H, S, S) as transformers returns": lambda a: tuple(layer[None] for layer in a),
    "list of (H, S, S) arrays": lambda a: [layer.numpy() for layer in a],
    "float16": lambda a: a.half(),
    "bfloat16": lambda a: a.bfloat16(),
    "float64 array": lambda a: a.double().numpy(),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_from_attentions(kind: str) -> None:
    weights = maps()
    made = Trace.from_attentions(GIVEN[kind](weights), TOKENS)
    assert (made.n_layers, made.n_heads, made.n_tokens, made.head_dim) == (2, 3, 6, None)
    bound = {"float16": 1e-3, "bfloat16": 1e-2}.get(kind, 1e-7)
    for layer in range(2):
        torch.testing.assert_close(made.attention(layer), weights[layer], atol=bound, rtol=0, check_dtype=False)
        assert made.attention(layer).dtype == (torch.float64 if kind == "float64 array" else torch.float32)
    assert not made.has_neurons and "queries and keys" in made.why_no_neurons
    assert made.lens is None and made.text is None and made.nan_layer is None
    for quantity in (made.query, made.scores, made.mask, made.context, made.layer_input):
        with pytest.raises(ModelError):
            quantity(0)
    for name in ("input_ids", "output", "hidden_states"):
        with pytest.raises(ModelError):
            getattr(made, name)


def test_given_weights_are_copied() -> None:
    weights = maps()
    made = Trace.from_attentions(weights, TOKENS)
    weights.zero_()
    assert made.attention(0).sum() > 0


def test_special_tokens_of_given_tokens() -> None:
    """Guessed from their names and said so, or as told."""
    made = Trace.from_attentions(maps(), TOKENS)
    assert made.special_mask.tolist() == [True, False, False, True, False, True]
    assert made.separator_mask.tolist() == [False, False, False, True, False, True]
    assert made.segments.tolist() == [0, 0, 0, 0, 1, 1]
    assert made.word_ids == [None, 0, 1, None, 2, None]
    assert any("guessed" in note for note in made.report.notes)
    told = Trace.from_attentions(maps(), TOKENS, special_mask=[False] * 6, segments=[0] * 6)
    assert not told.special_mask.any() and not told.segments.any() and not told.separator_mask.any()
    assert not any("guessed" in note for note in told.report.notes)
    roberta = ["<s>", "a", "</s>", "</s>", "b", "</s>"]
    assert Trace.from_attentions(maps(), roberta).segments.tolist() == [0, 0, 0, 0, 1, 1]
    single = ["[CLS]", "a", "b", "c", "d", "[SEP]"]
    assert Trace.from_attentions(maps(), single).segments.tolist() == [0] * 6
    for wrong in (5, [], [1, 2]):
        with pytest.raises(InputError, match="tokens must be a non-empty list of strings"):
            Trace.from_attentions(maps(), wrong)
    with pytest.raises(InputError, match="segments has 2 entries for 6 tokens"):
        Trace.from_attentions(maps(), TOKENS, segments=[0, 1])


def test_padding_is_no_piece_of_the_text() -> None:
    """By its name, or by the tokenizer's mask where one is given."""
    for pad in ("[PAD]", "<pad>"):
        made = Trace.from_attentions(maps(), ["[CLS]", "a", "b", "[SEP]", pad, pad])
        assert made.special_mask.tolist() == [True, False, False, True, True, True]
        assert made.report.n_pieces == 2 and made.segments.tolist() == [0] * 6
    tokens = ["[CLS]", "a", "b", "[SEP]", "!", "!"]  # "!" is what some tokenizers pad with
    made = Trace.from_attentions(maps(), tokens, attention_mask=torch.tensor([1, 1, 1, 1, 0, 0]))
    assert made.special_mask.tolist() == [True, False, False, True, True, True]
    assert made.word_ids == [None, 0, 1, None, None, None] and made.segments.tolist() == [0] * 6
    assert Trace.from_attentions(maps(), tokens).report.n_pieces == 4
    with pytest.raises(InputError, match="attention_mask has 1 entries for 6 tokens"):
        Trace.from_attentions(maps(), tokens, attention_mask=torch.ones(1, 6))


def test_rectangular() -> None:
    """Cross-attention: queries and keys have tokens of their own."""
    weights = maps(2, 3, 4, 6)
    made = Trace.from_attentions(weights, ["<s>", "Ġle", "Ġchat", "</s>"], TOKENS)
    assert made.tokens != made.key_tokens and made.key_tokens == TOKENS
    assert made.display_tokens == ["<s>", "le", "chat", "</s>"]
    assert made.n_tokens == 4 and made.attention(1).shape == (3, 4, 6)
    assert made.key_special_mask.tolist() == [True, False, False, True, False, True]
    assert made.key_segments.tolist() == [0, 0, 0, 0, 1, 1]
    assert repr(made).endswith("4 to 6 tokens)")


def bad(change: Any, at: int = 1) -> Any:
    layers = [layer.clone() for layer in maps()]
    layers[at] = change(layers[at])
    return layers


@pytest.mark.parametrize(
    ("attentions", "message"),
    [
        (bad(lambda a: a * 1.1), r"layer 1: rows must sum to 1 \(a row is off by 0\.1\)"),
        (bad(lambda a: a.log()), "layer 1: rows must sum to 1"),
        (bad(lambda a: a.transpose(1, 2), 0), "layer 0: rows must sum to 1"),
        (bad(lambda a: a[:2]), "layer 1 has 2 heads, layer 0 has 3"),
        (bad(lambda a: a[:, :5, :5]), "layer 1: 5 x 5 weights for 6 tokens and 6 key tokens"),
        (bad(lambda a: a[None].repeat(2, 1, 1, 1)), r"layer 1 holds a batch of 2 texts.*a\[0:1\]"),
        (bad(lambda a: a[0]), r"layer 1: .*\(heads, queries, keys\), not float32 \(6, 6\)"),
        (bad(lambda a: (a * 100).int()), "must be floats"),
        (bad(lambda a: "no"), "layer 1: not a tensor"),
        (bad(lambda a: None), "the model gave no attention weights"),
        ([], "no attention weights"),
        (maps()[0], "must be floats .heads"),
    ],
)
def test_given_weights_that_cannot_be(attentions: Any, message: str) -> None:
    """A batch, scores, wrong order and wrong tokens that users hand over."""
    with pytest.raises(InputError, match=message):
        Trace.from_attentions(attentions, TOKENS)


@pytest.mark.parametrize("tokens", [[], ["a", 3, "c", "d", "e", "f"], ["a"] * 5])
def test_given_tokens_that_cannot_be(tokens: Any) -> None:
    with pytest.raises(InputError, match="tokens"):
        Trace.from_attentions(maps(), tokens)


def test_not_a_number_is_named() -> None:
    """Let in, and named by its layer."""
    made = Trace.from_attentions(bad(lambda a: a.index_fill(2, torch.tensor(3), torch.nan)), TOKENS)
    assert made.nan_layer == 1


def test_encoder_decoder() -> None:
    """The three maps of a real encoder-decoder, as transformers returns them."""
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "vocab_size": 300}
    sizes |= {"decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64}
    model = tiny.shaken(tf.BartModel(tf.BartConfig(**sizes)))
    model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(
            torch.tensor([[0, 5, 6, 7, 2]]), decoder_input_ids=torch.tensor([[2, 8, 9]]), output_attentions=True
        )
    source, target = ["<s>", "a", "b", "c", "</s>"], ["</s>", "x", "y"]
    made = Trace.from_encoder_decoder(
        encoder=output.encoder_attentions,
        decoder=output.decoder_attentions,
        cross=output.cross_attentions,
        encoder_tokens=source,
        decoder_tokens=target,
        model_name="tiny BART",
    )
    assert list(made.maps) == ["encoder", "decoder", "cross"]
    assert (made.tokens, made.key_tokens) == (source, source) and made.model_name == "tiny BART"
    cross = made.maps["cross"]
    assert (cross.tokens, cross.key_tokens) == (target, source)
    assert cross.attention(1).shape == (4, 3, 5) and torch.equal(cross.attention(1), output.cross_attentions[1][0])
    assert torch.equal(made.attention(1), output.encoder_attentions[1][0])
    assert (made.maps["decoder"].attention(0).triu(1) == 0).all()
    only = Trace.from_encoder_decoder(cross=output.cross_attentions, encoder_tokens=source, decoder_tokens=target)
    assert list(only.maps) == ["cross"] and (only.tokens, only.key_tokens) == (target, source)
    with pytest.raises(InputError, match="no attention given"):
        Trace.from_encoder_decoder(encoder_tokens=source)
    with pytest.raises(InputError, match="cross attention needs its tokens"):
        Trace.from_encoder_decoder(cross=output.cross_attentions, decoder_tokens=target)
    with pytest.raises(InputError, match="encoder attention needs its tokens"):
        Trace.from_encoder_decoder(encoder=output.encoder_attentions)


@pytest.mark.data
def test_maps_of_pretrained_models(data: Path) -> None:
    """Stored maps of BERT, RoBERTa and others open as they are, and their famous heads are there."""
    files = sorted((data / "attention" / "bertviz_pretrained").glob("*.npz"))
    assert files
    for file in files:
        stored = np.load(file)
        made = Trace.from_attentions(stored["attentions"], stored["tokens"].tolist())
        assert made.n_heads == 12 and made.n_layers == (6 if "distil" in file.name else 12)
        summary = measures.summary(made)
        assert made.special_mask[0] and made.separator_mask[-1], file.name
        if file.name.startswith("bert_base"):
            assert bool(made.segments.any()) == ("pair" in file.name)
            # layer 2 head 0 is Vig's next-word head, layer 6 head 3 rests on the separators
            assert summary["next"][2, 0] > 0.6 and summary["separator"][6, 3] > 0.75
            assert summary["previous"][2, 0] < 0.1
