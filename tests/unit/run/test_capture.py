"""One forward pass: what it keeps, what it costs, and that the model comes back exactly as it went in."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

from bertlens.base import locks
from bertlens.errors import CaptureError, ModelError
from bertlens.lens import Lens
from unit import tiny

TEXT, PAIR, SHORT = tiny.TEXTS


def state(model: torch.nn.Module) -> list[Any]:
    """Everything about a model that a run could change, in comparable form."""
    modules = list(model.modules())
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_forward_hooks_with_kwargs", "_backward_hooks")
    configs = {id(m.config): m.config for m in modules if isinstance(getattr(m, "config", None), tf.PretrainedConfig)}
    return [
        [module.training for module in modules],
        [[list(getattr(module, name).items()) for name in hooks] for module in modules],
        [sorted(set(module.__dict__) - {"_parameters"}) for module in modules],
        [config._attn_implementation for config in configs.values()],
        [config.to_dict() for config in configs.values()],
        [(name, p.requires_grad, p.dtype, p.device, p.data_ptr()) for name, p in model.named_parameters()],
        [p.grad is None for p in model.parameters()],
        {name: tensor.clone() for name, tensor in model.state_dict().items()},
        (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype()),
    ]


def same(before: list[Any], after: list[Any]) -> None:
    *left, left_weights, left_flags = before
    *right, right_weights, right_flags = after
    assert left == right
    assert left_flags == right_flags
    assert all(torch.equal(left_weights[name], right_weights[name]) for name in left_weights)


def mixed_model() -> Any:
    """A model in a state of its own: one part training, one frozen, eager attention, hooks of the user."""
    model = tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT)))
    model.train()
    model.bert.encoder.layer[1].eval()
    model.bert.embeddings.requires_grad_(False)
    model.set_attn_implementation("eager")
    return model


@pytest.mark.parametrize("implementation", ["eager", "sdpa", "flex_attention"])
def test_model_comes_back(implementation: str) -> None:
    """Whatever the attention implementation was, the trace is the same, and the model as before."""
    model = mixed_model()
    model.config._attn_implementation_internal = implementation  # also one that this machine could not run
    before = state(model)
    trace = Lens(model, tiny.wordpiece()).trace(*PAIR)
    same(before, state(model))
    model.config._attn_implementation_internal = "eager"
    model.eval()
    with torch.no_grad():
        output = model(trace.input_ids[None], token_type_ids=trace.token_type_ids[None], output_attentions=True)
    for layer in range(trace.n_layers):
        torch.testing.assert_close(trace.attention(layer), output.attentions[layer][0], atol=1e-6, rtol=1e-5)


def test_eval_during_the_run() -> None:
    """A model in train mode is traced without dropout, rows sum to 1, and it goes on training."""
    model = mixed_model()
    modes: list[bool] = []
    model.bert.encoder.layer[0].register_forward_hook(lambda module, args, out: modes.append(module.training))
    lens = Lens(model, tiny.wordpiece())
    first, second = lens.trace(TEXT), lens.trace(TEXT)
    assert modes == [False] * 3 and model.training and not model.bert.encoder.layer[1].training
    for layer in range(first.n_layers):
        alpha = first.attention(layer)
        assert torch.equal(alpha, second.attention(layer))
        torch.testing.assert_close(alpha.sum(-1), torch.ones(4, first.n_tokens))
        assert alpha.min() >= 0 and alpha.max() <= 1
    loss = model(first.input_ids[None], labels=torch.tensor([1])).loss
    loss.backward()  # gradients still flow
    assert model.classifier.weight.grad is not None


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["layer", "attention", "output"])
def test_model_comes_back_after_a_break(kind: type[BaseException], where: str) -> None:
    """An exception or an interrupt in the middle of a forward; the next call is right."""
    model = mixed_model()
    lens = Lens(model, tiny.wordpiece())
    right = lens.trace(TEXT)
    place = {
        "layer": model.bert.encoder.layer[1],
        "attention": model.bert.encoder.layer[2].attention.self.value,
        "output": model.classifier,
    }[where]

    def broken(module: Any, args: Any) -> None:
        raise kind("stop")

    handle = place.register_forward_pre_hook(broken)
    before = state(model)
    for _ in range(2):
        with pytest.raises(ModelError if issubclass(kind, Exception) else kind, match="stop"):
            lens.trace(TEXT)
        same(before, state(model))
    handle.remove()
    again = lens.trace(TEXT)
    assert torch.equal(again.attention(2), right.attention(2)) and torch.equal(again.query(1), right.query(1))


def test_model_comes_back_after_the_fallback() -> None:
    """Also where the eager run was needed, and where it failed."""
    for family in tiny.OUTSIDE.values():
        model = tiny.shaken(family.model()).train()
        lens = Lens(model, family.tokenizer())
        before = state(model)
        lens.trace(TEXT)
        lens.trace(TEXT)
        same(before, state(model))


def test_users_hooks_stay() -> None:
    """They run, in their order, and what they change is what the trace shows."""
    model = tiny.bert()
    calls: list[str] = []
    layer = model.encoder.layer[0]
    layer.register_forward_hook(lambda module, args, out: calls.append("first"))
    layer.register_forward_hook(lambda module, args, out: (calls.append("second"), out * 2)[1])
    layer.attention.self.query.register_forward_hook(lambda module, args, out: out + 1)
    before = state(model)
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    same(before, state(model))
    assert calls == ["first", "second"] * 2  # in the trace, and in the model's own run
    assert torch.equal(trace.layer_output(0), trace.layer_input(1))
    layer.attention.self.query._forward_hooks.clear()
    plain = Lens(model, tiny.wordpiece()).trace(TEXT)
    torch.testing.assert_close(trace.query(0), plain.query(0) + 1)


def test_what_a_module_keeps_of_a_pass_can_be_trained_with() -> None:
    """As rotary tables are kept by some families: made while tracing, used in the user's next training step."""
    model = tiny.bert()
    kept: list[torch.Tensor] = []
    module = model.embeddings.LayerNorm
    module.register_forward_hook(lambda _module, _inputs, output: kept.append(output))
    Lens(model, tiny.wordpiece()).trace(*PAIR)
    (kept[0] * module.weight).sum().backward()
    assert module.weight.grad is not None


def test_hooks_that_transformers_left_stay() -> None:
    """A model that was asked for hidden states before carries transformers' own hooks: they are the user's now."""
    model = tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT)).eval()
    ids = torch.tensor([[2, 5, 6, 3]])
    model(ids, output_hidden_states=True)
    before = state(model)
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert len(trace.hidden_states) == 4
    same(before, state(model))
    assert len(model(ids, output_hidden_states=True).hidden_states) == 4


def test_what_is_kept() -> None:
    """At most 6 (L + 1) S D floats beside the model's own output, and nothing of size heads x tokens x tokens."""
    config = tf.BertConfig(**tiny.BERT | {"max_position_embeddings": 512})
    lens = Lens(tiny.shaken(tf.BertModel(config)), tiny.wordpiece(model_max_length=512))
    trace = lens.trace("the cat sat on the mat " * 70)
    size, layers, dims = trace.n_tokens, trace.n_layers, 32
    assert size > 400
    own = {x.untyped_storage().data_ptr() for x in (*trace.output.hidden_states, trace.output.pooler_output)}
    kept: dict[int, int] = {}
    for layer in trace.record.layers:  # what it holds, not what it gives: that may be computed
        for name in layer.__slots__:
            if isinstance(x := getattr(layer, name), torch.Tensor):
                kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
    floats = sum(size for pointer, size in kept.items() if pointer not in own) / 4
    assert 5 * layers * size * dims <= floats <= 6 * (layers + 1) * size * dims
    trace.attention(0)
    assert sum(kept.values()) < 4 * layers * 4 * size * size  # the maps alone would be more


@dataclass
class Scored(tf.utils.ModelOutput):  # type: ignore[name-defined]
    hidden_states: Any = None
    pooler_output: Any = None
    scores: Any = None


class Scoring(tf.BertModel):
    """A number for each token, beside a vector of the text."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        output = super().forward(*args, **kwargs)
        return Scored(output.hidden_states, output.pooler_output, output.last_hidden_state[..., 0])


@pytest.mark.parametrize("words", [5, 30])  # 30: as many tokens as a vector has entries
def test_numbers_of_tokens_lose_their_padding(words: int) -> None:
    long = " ".join(["cat"] * words)
    for model, name in (
        (tf.ElectraForPreTraining(tf.ElectraConfig(**tiny.BERT, embedding_size=16)), "logits"),
        (tf.BertForQuestionAnswering(tf.BertConfig(**tiny.BERT)), "end_logits"),
        *([(Scoring(tf.BertConfig(**tiny.BERT)), "scores")] if words == 5 else []),
    ):
        lens = Lens(tiny.shaken(model), tiny.wordpiece())
        for text, trace in zip((SHORT, long), lens.trace_batch([SHORT, long]), strict=True):
            alone = lens.trace(text)
            assert trace.output[name].shape == (1, trace.n_tokens), (name, text)
            torch.testing.assert_close(trace.output[name], alone.output[name], atol=1e-5, rtol=1e-5)
    lens = Lens(tiny.shaken(Scoring(tf.BertConfig(**tiny.BERT))), tiny.wordpiece())
    for text, trace in zip((SHORT, long), lens.trace_batch([SHORT, long]), strict=True):
        torch.testing.assert_close(trace.output.pooler_output, lens.trace(text).output.pooler_output)


def test_a_layer_that_is_not_called_as_a_module() -> None:
    """Its hooks do not run, so that what was seen is of other layers than there are."""

    class Direct(type(tiny.bert().encoder.layer[0])):  # type: ignore[misc]
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self.forward(*args, **kwargs)

    model = tiny.bert()
    model.encoder.layer[1].__class__ = Direct
    with pytest.raises(CaptureError, match=r"^of 3 layers 2 were seen to run") as caught:
        Lens(model, tiny.wordpiece()).trace(TEXT)
    assert "\n" not in str(caught.value)


def test_xlnet_keeps_no_memory_of_a_text() -> None:
    """Its memory (S, B, D) is no state of a text: of a batch it was cut along the tokens."""
    config = tf.XLNetConfig(vocab_size=len(tiny.VOCABULARY), d_model=32, n_layer=2, n_head=4, d_inner=48)
    lens = Lens(tiny.shaken(tf.XLNetModel(config)), tiny.wordpiece())
    texts = [SHORT, TEXT]
    for text, trace in zip(texts, lens.trace_batch(texts), strict=True):
        alone = lens.trace(text)
        assert "mems" not in trace.output and "mems" not in alone.output
        torch.testing.assert_close(trace.output.last_hidden_state, alone.output.last_hidden_state, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(trace.attention(1), alone.attention(1), atol=1e-5, rtol=1e-5)


def test_one_text_does_not_keep_its_batch() -> None:
    lens = Lens(tiny.bert(), tiny.wordpiece())
    kept = lens.trace_batch(tiny.TEXTS)[2]
    for layer in kept.record.layers:  # as it holds them: what it gives away is a copy
        assert layer.query.untyped_storage().nbytes() == layer.query.numel() * 4


def test_given_tensors_are_the_users_own() -> None:
    """What a trace gives away can be changed and differentiated without changing the trace."""
    trace = Lens(tiny.bert(), tiny.wordpiece()).trace(TEXT)
    for give in (trace.query, trace.value, trace.attention, trace.layer_output, trace.context, trace.scores):
        first = give(1)
        first.mul_(0)
        assert give(1).abs().sum() > 0
    weights = torch.ones(32, requires_grad=True)
    (trace.layer_output(0) * weights).sum().backward()
    assert weights.grad is not None
    with pytest.raises(AttributeError):
        trace.model_name = "other"


def test_half_precision_comes_up_to_float32() -> None:
    """Computed in the model's dtype, shown after upcast; the eager weights within its precision."""
    for dtype, bound in ((torch.bfloat16, 2e-2), (torch.float16, 2e-3)):
        model = tiny.bert().to(dtype)
        trace = Lens(model, tiny.wordpiece()).trace(TEXT)
        assert trace.dtype == str(dtype).removeprefix("torch.")
        assert trace.query(0).dtype == trace.attention(0).dtype == trace.hidden_states[0].dtype == torch.float32
        torch.testing.assert_close(trace.attention(2).sum(-1), torch.ones(4, trace.n_tokens))
        model.set_attn_implementation("eager")
        with torch.no_grad():
            output = model(trace.input_ids[None], token_type_ids=trace.token_type_ids[None], output_attentions=True)
        assert (trace.attention(0) - output.attentions[0][0].float()).abs().max() < bound
    assert trace.attention(0, dtype=torch.float64).dtype == torch.float64
    assert Lens(tiny.bert().double(), tiny.wordpiece()).trace(TEXT).query(0).dtype == torch.float64


def test_float64_when_asked() -> None:
    trace = Lens(tiny.bert(), tiny.wordpiece()).trace(TEXT)
    exact = trace.scores(1, dtype=torch.float64)
    by_hand = torch.einsum("hqd,hkd->hqk", trace.query(1).double(), trace.key(1).double()) / 8**0.5
    torch.testing.assert_close(exact, by_hand, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(trace.attention(1, dtype=torch.float64), exact.softmax(-1), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("wrap", ["torch.compile", "model.compile()", "a compiled layer"])
def test_compiled_models(wrap: str) -> None:
    """Compiled models are traced by an eager run of the same weights, and stay compiled."""
    model = tiny.bert()
    expected = Lens(copy.deepcopy(model), tiny.wordpiece()).trace(TEXT)
    given: Any = model
    if wrap == "torch.compile":
        given = torch.compile(model, backend="eager")
    elif wrap == "model.compile()":
        model.compile(backend="eager")
    else:
        model.encoder.layer[1] = torch.compile(model.encoder.layer[1], backend="eager")
    before = state(model)
    trace = Lens(given, tiny.wordpiece()).trace(TEXT)
    same(before, state(model))
    assert trace.model_name == "BertModel"
    for layer in range(3):
        torch.testing.assert_close(trace.attention(layer), expected.attention(layer))
        torch.testing.assert_close(trace.layer_output(layer), expected.layer_output(layer))


class Peft(torch.nn.Module):
    """What a PEFT wrapper is to us: it runs the base model with additions, and knows it."""

    def __init__(self, base: Any):
        super().__init__()
        self.base_model = torch.nn.ModuleDict({"model": base})

    def get_base_model(self) -> Any:
        return self.base_model["model"]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.get_base_model()(*args, **kwargs)


class LowRank(torch.nn.Module):
    """A LoRA-like addition to one projection."""

    def __init__(self, inner: torch.nn.Linear):
        super().__init__()
        self.inner, self.down, self.up = inner, torch.nn.Linear(32, 2, bias=False), torch.nn.Linear(2, 32, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + self.up(self.down(x))


def test_wrappers() -> None:
    """PEFT-like wrappers with their additions, and modules that merely contain an encoder."""
    classifier = tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT)))
    attention = classifier.bert.encoder.layer[0].attention.self
    attention.query = LowRank(attention.query)
    wrapped = Peft(classifier).train()
    before = state(wrapped)
    trace = Lens(wrapped, tiny.wordpiece()).trace(TEXT)
    same(before, state(wrapped))
    made = attention.query(trace.layer_input(0)).detach()
    torch.testing.assert_close(trace.query(0), made.unflatten(-1, (4, 8)).transpose(0, 1))
    assert trace.output.logits.shape == (1, 2)
    assert trace.model_name == "BertForSequenceClassification"

    class Own(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dropout, self.encoder_model = torch.nn.Dropout(0.5), tiny.bert()

        def forward(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
            return self.encoder_model(**features).pooler_output

    assert Lens(Own(), tiny.wordpiece()).trace(TEXT).has_neurons


def test_a_family_name_that_does_not_fit() -> None:
    """Code that calls itself "bert" and is built otherwise gets no adapter, and keeps its neurons."""
    model = tiny.shaken(tf.NomicBertModel(tf.NomicBertConfig(**tiny.BERT)))
    model.config.model_type = "bert"
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert trace.has_neurons
    with pytest.raises(ModelError, match="adapter"):
        trace.layer_output(0)


def test_a_wrapper_that_adds_tokens_is_refused() -> None:
    class Prompted(Peft):
        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **kwargs: Any) -> Any:
            more = torch.cat([input_ids[:, :2], input_ids], 1)
            return super().forward(more, **{k: v for k, v in kwargs.items() if k != "token_type_ids"})

    with pytest.raises(CaptureError, match="without them"):
        Lens(Prompted(tiny.bert()), tiny.wordpiece()).trace(TEXT)


def test_threads_take_turns() -> None:
    """Two threads on one model never mix, and a lock is shared by every lens on it."""
    model = tiny.bert()
    lenses = [Lens(model, tiny.wordpiece()), Lens(Peft(model), tiny.wordpiece())]
    texts = ["the cat", "it was very warm , the mat was warm"]
    expected = [lens.trace(text) for lens, text in zip(lenses, texts, strict=True)]
    inside, most = 0, 0
    model.encoder.layer[1].register_forward_pre_hook(lambda module, args: time.sleep(0.002))

    def count(delta: int) -> None:
        nonlocal inside, most
        inside += delta
        most = max(most, inside)

    model.register_forward_pre_hook(lambda module, args: count(1))
    model.register_forward_hook(lambda module, args, out: count(-1))
    wrong: list[str] = []

    def work(lens: Lens, text: str, right: Any) -> None:
        for _ in range(10):
            trace = lens.trace(text)
            if trace.tokens != right.tokens or not torch.equal(trace.attention(2), right.attention(2)):
                wrong.append(text)

    jobs = zip(lenses, texts, expected, strict=True)
    threads = [threading.Thread(target=work, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and most == 1


def test_lenses_that_share_a_tokenizer_take_turns_with_it() -> None:
    """One lock per tokenizer, whatever the model: another lens's text waits, and an unrelated one does not."""
    shared = tiny.wordpiece()
    first, second, other = Lens(tiny.bert(), shared), Lens(tiny.bert(), shared), Lens(tiny.bert(), tiny.wordpiece())

    def encodes(lens: Lens) -> bool:
        done = threading.Event()
        thread = threading.Thread(target=lambda: (lens.encoding(TEXT), done.set()), daemon=True)
        thread.start()
        return done.wait(0.3)

    with locks.locked([first.tokenizer]):
        assert not encodes(second)
        assert encodes(other)
    assert encodes(second)


def test_another_thread_may_use_the_model_meanwhile() -> None:
    """The user's own forward on another thread gets right results, and nothing of it enters the trace."""
    model, ids = tiny.bert(), torch.tensor([[2, 5, 6, 7, 8, 3]])
    lens = Lens(model, tiny.wordpiece())
    with torch.no_grad():
        right = model(ids).last_hidden_state
    expected = lens.trace(TEXT)
    others: list[torch.Tensor] = []

    def other() -> None:
        with torch.no_grad():
            others.append(model(ids).last_hidden_state)

    def meanwhile(module: Any, args: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    handle = model.encoder.layer[1].attention.register_forward_pre_hook(meanwhile)
    trace = lens.trace(TEXT)
    handle.remove()
    torch.testing.assert_close(others[0], right)
    assert trace.n_layers == 3 and torch.equal(trace.attention(2), expected.attention(2))


def test_a_lens_lets_go_of_its_model() -> None:
    """Locks are of the config and of the tokenizer, and keep neither."""
    lens = Lens(tiny.bert(), tiny.wordpiece())
    lens.trace(TEXT)
    kept = [weakref.ref(one) for one in (lens.model, lens.model.config, lens.tokenizer)]
    del lens
    gc.collect()
    assert [one() for one in kept] == [None] * 3


def test_nan_is_named_by_layer() -> None:
    """The first layer in which a number is not finite."""
    for number in range(3):
        model = tiny.bert()
        with torch.no_grad():
            model.encoder.layer[number].attention.self.key.weight[0, 0] = torch.nan
        assert Lens(model, tiny.wordpiece()).trace(TEXT).nan_layer == number
    model = tiny.bert()
    with torch.no_grad():
        model.encoder.layer[1].output.dense.weight[0, 0] = torch.inf
    assert Lens(model, tiny.wordpiece()).trace(TEXT).nan_layer == 1
    assert Lens(tiny.bert(), tiny.wordpiece()).trace(TEXT).nan_layer is None
    # in pre-LN families an Inf is handed on as it is, and becomes NaN one layer later only
    family = tiny.FAMILIES["gpt2"]
    gpt2 = tiny.shaken(family.model())
    with torch.no_grad():
        gpt2.h[1].mlp.c_proj.weight[0, 0] = torch.inf
    trace = Lens(gpt2, family.tokenizer()).trace(TEXT)
    assert trace.layer_output(1).isinf().any() and not trace.layer_output(1).isnan().any()
    assert trace.nan_layer == 1


READ = """
import pickle, sys
lens, expected = pickle.load(open(sys.argv[1], "rb"))
trace = lens.trace("the cat sat")
assert trace.n_layers == 3 and (trace.hidden_states[2] == expected).all()
"""


@pytest.mark.sampled(5, of="processes")
def test_a_lens_that_was_pickled(tmp_path: Path) -> None:
    """In a new process, where no model of its class was made before."""
    lens = Lens(tiny.bert(), tiny.wordpiece())
    expected = lens.trace("the cat sat").hidden_states[2]
    (tmp_path / "lens").write_bytes(pickle.dumps((lens, expected)))
    subprocess.run([sys.executable, "-c", READ, str(tmp_path / "lens")], check=True, timeout=120)


@pytest.mark.parametrize("apart", [True, False])
def test_texts_of_a_batch_hold_copies_unless_they_go_together(apart: bool) -> None:
    lens = Lens(tiny.bert(), tiny.wordpiece())
    encodings = [lens.encoding(TEXT), lens.encoding(SHORT)]
    first, second = lens.run(encodings, apart)
    keys = [trace.record.layers[0].key for trace in (first, second)]
    assert keys[0] is not None and keys[1] is not None
    shared = keys[0].untyped_storage().data_ptr() == keys[1].untyped_storage().data_ptr()
    assert shared is not apart
    for together, text in zip(lens.run_batches(encodings, 2, apart), (TEXT, SHORT), strict=True):
        alone = lens.trace(text)
        assert together.tokens == alone.tokens
        torch.testing.assert_close(together.attention(1), alone.attention(1))
        torch.testing.assert_close(together.hidden_states[-1], alone.hidden_states[-1])
