"""Attention functions of the user's own are what runs: maps and answers are those of `model(**inputs)`."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask

import bertlens as bl
from bertlens import ExportError, Lens, ModelError
from unit import tiny, tiny_encoders
from unit.attention_functions import KINDS, Function, Weights, plus_one, put, put_in, sharper, window

TEXT = "the cat sat on the mat, it was very warm"
PAIR = ("the cat sat", "it was on the mat")
LONG = "the cat sat on the mat and " * 5  # wider than a head


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    """Afterwards the interfaces are as they were: what is registered cannot be taken back in public."""
    tables = [AttentionInterface._global_mapping, AttentionMaskInterface._global_mapping]
    before = [dict(table) for table in tables]
    yield
    for table, names in zip(tables, before, strict=True):
        for name in set(table) - set(names):
            if not name.startswith("bertlens"):
                del table[name]
        table.update(names)


@torch.no_grad()
def truth(model: Any, function: Function, *text: str, **padding: Any) -> tuple[Any, dict[int, torch.Tensor]]:
    """The model's own output, and the weights of each layer (B, H, S, S)."""
    output = model(**tiny.wordpiece()(*text, return_tensors="pt", **padding), output_hidden_states=True)
    return output, dict(function.seen)


def assert_same(trace: Any, output: Any, seen: dict[int, torch.Tensor], row: int = 0) -> None:
    n = trace.n_tokens
    for layer, weights in seen.items():
        torch.testing.assert_close(trace.attention(layer), weights[row, :, :n, :n], rtol=0, atol=1e-6)
        mixed = trace.attention(layer) @ trace.value(layer)
        torch.testing.assert_close(trace.head_context(layer), mixed, rtol=0, atol=1e-5)
    torch.testing.assert_close(trace.output.logits[0], output.logits[row], rtol=0, atol=1e-5)
    torch.testing.assert_close(trace.hidden_states[-1], output.hidden_states[-1][row, :n], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("returns", "mask"), [(False, eager_mask), (True, sdpa_mask), (False, None)])
def test_maps_and_answers_are_the_models_own(kind: Weights, returns: bool, mask: Any) -> None:
    function = Function(kind, returns)
    model = put(function, mask)
    lens = Lens(model, tiny.wordpiece())
    for text in [(TEXT,), PAIR, (LONG,)]:
        output, seen = truth(model, function, *text)
        trace = lens.trace(*text)
        assert_same(trace, output, seen)
        assert "the attention function Function" in trace.why_no_neurons and trace.why_no_neurons.count(".") == 1
    assert model.config._attn_implementation == "mine"


@pytest.mark.parametrize("mask", [eager_mask, sdpa_mask, None])
@pytest.mark.parametrize("kind", [plus_one, window])
def test_texts_of_a_padded_batch(kind: Weights, mask: Any) -> None:
    """Without a mask a function reads padding too: then each text is alone."""
    function = Function(kind)
    lens = Lens(put(function, mask), tiny.wordpiece())
    texts = [TEXT, "the", "it was warm"]
    for text, trace in zip(texts, lens.trace_batch(texts), strict=True):
        assert_same(trace, *truth(lens.model, function, text))


def test_the_unit_matrix_goes_through_at_once_or_as_wide_as_a_function_takes_it() -> None:
    calls: list[int] = []

    class Narrow(Function):
        widest = 10**6

        def __call__(self, module: Any, query: Any, key: Any, value: Any, *arguments: Any, **options: Any) -> Any:
            calls.append(value.shape[-1])
            if value.shape[-1] > self.widest:
                raise ValueError("a shape of mine")
            return super().__call__(module, query, key, value, *arguments, **options)

    function = Narrow(plus_one)
    lens = Lens(put(function), tiny.wordpiece())
    n_tokens = lens.trace(LONG).n_tokens
    width = lens.model.config.hidden_size // lens.model.config.num_attention_heads
    assert n_tokens in calls and n_tokens > width
    function.widest = width
    calls.clear()
    trace = Lens(lens.model, tiny.wordpiece()).trace(LONG)
    assert_same(trace, *truth(lens.model, function, LONG))
    assert calls.count(width) >= n_tokens // width


def test_one_token_and_no_template() -> None:
    tokenizer = tiny.wordpiece()
    function = Function(plus_one)
    model = put(function)
    trace = Lens(model, tokenizer).trace("")
    assert_same(trace, *truth(model, function, ""))


@pytest.mark.parametrize("name", ["sdpa", "eager", "flash_attention_2"])
def test_a_function_in_the_place_of_the_librarys(name: str) -> None:
    function = Function(plus_one)
    model = tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT)))
    AttentionInterface.register(name, function)
    model.config._attn_implementation = name
    AttentionMaskInterface.register(name, sdpa_mask)
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert_same(trace, *truth(model, function, TEXT))
    assert model.config._attn_implementation == name


def test_a_local_table_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    function = Function(sharper)
    model = tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT)))
    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", function)
    assert_same(Lens(model, tiny.wordpiece()).trace(TEXT), *truth(model, function, TEXT))


def test_code_decides_whose_a_function_is() -> None:
    """Not its name, nor the module that it says it is of."""

    @functools.wraps(sdpa_attention_forward)
    def halved(module: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        return sdpa_attention_forward(module, query / 2, *args, **kwargs)

    model = put(halved, sdpa_mask)
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    plain = Lens(put(sdpa_attention_forward, sdpa_mask, "plain"), tiny.wordpiece()).trace(TEXT)
    assert not trace.has_neurons and plain.has_neurons
    scores = plain.scores(0)
    torch.testing.assert_close(trace.attention(0), (scores / 2).softmax(-1), rtol=0, atol=1e-6)
    with torch.no_grad():
        logits = model(**tiny.wordpiece()(TEXT, return_tensors="pt")).logits
    torch.testing.assert_close(trace.output.logits, logits, rtol=0, atol=1e-5)
    scaled = functools.partial(sdpa_attention_forward, dropout=0.0)
    assert not Lens(put(scaled, sdpa_mask), tiny.wordpiece()).trace(TEXT).has_neurons


def test_a_mask_function_of_the_users() -> None:
    def neighbours(*args: Any, **kwargs: Any) -> Any:
        size = kwargs["q_length"]
        return torch.ones(size, size, dtype=torch.bool).triu(-1).tril(1).expand(kwargs["batch_size"], 1, -1, -1)

    model = put(sdpa_attention_forward, neighbours)
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert bool((trace.attention(1).triu(2) == 0).all()) and bool((trace.attention(1).tril(-2) == 0).all())
    with torch.no_grad():
        logits = model(**tiny.wordpiece()(TEXT, return_tensors="pt")).logits
    torch.testing.assert_close(trace.output.logits, logits, rtol=0, atol=1e-5)


def test_what_is_returned_beside_the_context_need_not_be_weights() -> None:
    function = Function(plus_one)

    def with_scores(module: Any, query: Any, key: Any, *args: Any, **kwargs: Any) -> Any:
        return function(module, query, key, *args, **kwargs)[0], query @ key.transpose(2, 3)

    model = put(with_scores)
    assert_same(Lens(model, tiny.wordpiece()).trace(TEXT), *truth(model, function, TEXT))


def squared(module: Any, query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    return sdpa_attention_forward(module, query, key, value * value.abs(), *args, **kwargs)


def doubled(module: Any, query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    return sdpa_attention_forward(module, query, key, 2 * value, *args, **kwargs)


@pytest.mark.parametrize(("function", "why"), [(squared, "no weighted sum"), (doubled, "rows must sum to 1")])
def test_without_weights_there_is_no_map_and_tasks_go_on(function: Any, why: str) -> None:
    model = put(function, sdpa_mask)
    lens = Lens(model, tiny.wordpiece())
    with pytest.raises(
        ModelError, match=f"the attention function {function.__name__} gives no attention weights: .*{why}"
    ):
        lens.trace(TEXT)
    assert_same_losses(lens)


def assert_same_losses(lens: Lens) -> None:
    examples = [(TEXT, 0), ("the cat", 2), ("it was warm.", 1), (LONG, 1)]
    texts, labels = [text for text, _ in examples], [label for _, label in examples]
    task = bl.task(lens, examples, progress=False)
    with torch.no_grad():
        logits = [lens.model(**tiny.wordpiece()(text, return_tensors="pt")).logits[0].double() for text in texts]
    own = [-float(x.log_softmax(-1)[label]) for x, label in zip(logits, labels, strict=True)]
    np.testing.assert_allclose(task.losses, own, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_losses_of_a_task(kind: Weights) -> None:
    assert_same_losses(Lens(put(Function(kind)), tiny.wordpiece()))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_types(dtype: torch.dtype) -> None:
    function = Function(plus_one)
    model = put(function).to(dtype)
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    output, seen = truth(model, function, TEXT)
    for layer, weights in seen.items():
        torch.testing.assert_close(trace.attention(layer), weights[0].to(trace.attention(layer)), rtol=0, atol=1e-6)
    assert trace.dtype == str(dtype).removeprefix("torch.") and (trace.output.logits == output.logits).all()


def test_encoders_of_sentences() -> None:
    encoder = tiny_encoders.encoder()
    text, other = "the cat sat on the mat", "it was very warm"
    plain = float(encoder.similarity(encoder.encode([text]), encoder.encode([other])))
    put_in(encoder[0].auto_model, Function(plus_one))
    lens = bl.Lens(encoder)
    vectors = encoder.encode([text, other])
    expected = float(encoder.similarity(vectors[:1], vectors[1:]))
    pair = bl.similarity(lens, text, other)
    assert abs(expected - plain) > 1e-3 and pair.value == pytest.approx(expected, abs=1e-6)
    search = bl.retrieval(lens, {"q": text}, {"a": other, "b": "cats"}, progress=False)
    passages = encoder.encode_document([other, "cats"])
    scores = encoder.similarity(encoder.encode_query([text]), passages)[0].numpy()
    np.testing.assert_allclose(sorted(search.ranking("q")["score"]), sorted(scores), atol=1e-6)


def test_a_page_does_not_compute_it() -> None:
    view = Lens(put(Function(plus_one)), tiny.wordpiece()).trace(TEXT).explore()
    with pytest.raises(ExportError, match="softmax of q·k"):
        view.to_html(live=True)
