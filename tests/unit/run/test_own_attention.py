"""Families that compute attention in a module of their own: what is read of them is what their own eager run computes.

The eager run is the model's own code, called from outside bertlens. Changes are compared with the same run whose
softmax, projections and contexts are changed by hand.
"""

from __future__ import annotations

import copy
import inspect
import math
import random
import signal
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import bertlens as bl
from bertlens import Lens, Trace, whatif
from bertlens.run import attention_call, forward
from bertlens.run.interventions import Run
from bertlens.run.score_bias import DistanceBias, ScoreBias
from unit import tiny, tiny_attention
from unit.interrupts import at_every_line, handling
from unit.tiny_attention import FAMILIES

LONG = {"max_position_embeddings": 512}
DIFFERENT: dict[str, Callable[[], Any]] = {
    "deberta-v2, content to position alone": lambda: tiny_attention.deberta_v2(pos_att_type=["c2p"]),
    "deberta-v2, position to content alone": lambda: tiny_attention.deberta_v2(pos_att_type=["p2c"]),
    "deberta-v2, without distances": lambda: tiny_attention.deberta_v2(relative_attention=False),
    "deberta-v2, a convolution": lambda: tiny_attention.deberta_v2(conv_kernel_size=3, share_att_key=False),
    "deberta, distances up to 3": lambda: tiny_attention.deberta(max_relative_positions=3),
    "roformer, turned values": lambda: tiny_attention.roformer(rotary_value=True),
    "roformer, causal": lambda: tiny_attention.roformer(is_decoder=True),
}
LONGER: dict[str, Callable[[], Any]] = {
    "mpnet": lambda: tiny_attention.mpnet(max_position_embeddings=514),
    "deberta-v2": lambda: tiny_attention.deberta_v2(**LONG, position_buckets=32, max_relative_positions=256),
    "deberta-v2, every distance": lambda: tiny_attention.deberta_v2(**LONG, position_buckets=-1),
    "deberta": lambda: tiny_attention.deberta(**LONG, max_relative_positions=100),
    "roformer": lambda: tiny_attention.roformer(**LONG),
}
ROBERTA_LIKE = ("mpnet", "luke", "lilt", "markuplm", "layoutlmv3")
TEXTS = ["the", "the cat sat on the mat, it was very warm", "unbelievable cats"]


def lens_of(name: str, dtype: torch.dtype = torch.float32) -> Lens:
    if name in FAMILIES:
        return tiny_attention.lens_of(name, dtype)
    return Lens(tiny.shaken(DIFFERENT[name]()).to(dtype), tiny.wordpiece())


def eager(model: Any, inputs: dict[str, Tensor]) -> Any:
    """The model's own eager run, with attention weights and hidden states."""
    model.config._attn_implementation = "eager"
    with torch.no_grad():
        return model(**forward.accepted(model, inputs), output_attentions=True, output_hidden_states=True)


def far(trace: Trace, output: Any, row: int = 0) -> float:
    """The largest difference of a weight or, beside its largest number, of a hidden state."""
    n = trace.n_tokens
    weights = [(trace.attention(i) - x[row, :, :n, :n]).abs().max() for i, x in enumerate(output.attentions)]
    states = [
        (x - y[row, :n]).abs().max() / y.abs().max().clamp_min(1)
        for x, y in zip(trace.hidden_states, output.hidden_states, strict=True)
    ]
    assert len(weights) == trace.n_layers
    return float(max(*weights, *states))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [*FAMILIES, *DIFFERENT])
def test_weights_and_states_are_those_of_the_eager_run(name: str) -> None:
    """3 to 18 tokens, alone and in a padded batch; queries, keys and values come with them."""
    lens = lens_of(name)
    for text, batched in zip(TEXTS, lens.trace_batch(TEXTS), strict=True):
        alone = lens.trace(text)
        assert alone.has_neurons and batched.has_neurons, alone.why_no_neurons
        output = eager(lens.model, alone.inputs())
        assert far(alone, output) <= 1e-5 and far(batched, output) <= 1e-5
        for layer in range(alone.n_layers):
            context = alone.attention(layer) @ alone.value(layer)
            torch.testing.assert_close(alone.head_context(layer), context, atol=1e-5, rtol=1e-5)


QUICK = ("mpnet", "deberta-v2")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in LONGER])
def test_512_tokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distances beyond the buckets; the rows of a bias are written out some at a time, with the same numbers."""
    tokenizer = tiny.roberta_like() if name in ROBERTA_LIKE else tiny.wordpiece()
    lens = Lens(tiny.shaken(LONGER[name](), scale=0.15), tokenizer)
    text = " ".join(random.Random(0).choices(tiny.WORDS[:9], k=600))
    trace = lens.trace(text, truncation=True)
    assert trace.n_tokens == 512
    assert far(trace, eager(lens.model, trace.inputs())) <= 1e-5
    for layer in trace.record.layers:  # nothing of heads x tokens x tokens
        parts = {**{name: getattr(layer, name) for name in layer.__slots__}, **(vars(layer.bias) if layer.bias else {})}
        assert all(x.numel() < 512 * 512 for x in parts.values() if isinstance(x, Tensor))
    monkeypatch.setattr(attention_call, "WRITTEN_OUT", 4 * 512 * 50)
    blocks = lens.trace(text, truncation=True)
    for state, same in zip(trace.hidden_states, blocks.hidden_states, strict=True):
        torch.testing.assert_close(state, same, atol=1e-5, rtol=1e-5)


def by_hand(module: Any, trace: Trace, layer: int, given: dict[str, Any]) -> dict[str, Tensor]:
    """The terms of a layer's scores (H, S, S) by the module's own pieces; given: what its forward was called with."""
    query, key, relative = trace.query(layer), trace.key(layer), given.get("relative_pos")
    if "position_bias" in given:
        return {"position": given["position_bias"][0]}
    if "layout_inputs" in given:
        x, ratio = given["layout_inputs"], module.channel_shrink_ratio
        q, k = (module.transpose_for_scores(map(x), ratio)[0] for map in (module.layout_query, module.layout_key))
        return {"layout": q @ k.mT / math.sqrt(module.attention_head_size // ratio)}
    kinds, terms = module.pos_att_type, {}
    for name, kind in (("content to position", "c2p"), ("position to content", "p2c")):
        module.pos_att_type = [kind]
        if hasattr(module, "disentangled_attention_bias"):
            term = module.disentangled_attention_bias(query, key, relative, given["rel_embeddings"], 3)
        else:  # which is given queries that are scaled already
            scaled = query[None] * trace.scaling(layer)
            term = module.disentangled_att_bias(scaled, key[None], relative, given["rel_embeddings"], 3)[0]
        terms[name] = term
    module.pos_att_type = kinds
    return terms


BIASED = ("mpnet", "deberta-v2", "deberta-v2, positions and types", "deberta", "lilt", "layoutlmv3")


@torch.no_grad()
@pytest.mark.parametrize("name", BIASED)
def test_terms_of_the_scores(name: str) -> None:
    """Each term is the module's own; their sum is the score; a block of a term is a block of it."""
    lens = lens_of(name, torch.float64)
    modules = [module for module in lens.model.modules() if type(module).__name__.endswith("SelfAttention")]
    calls: list[dict[str, Any]] = []

    def written_down(module: Any, args: Any, kwargs: Any) -> None:  # a user's hook, which sees the module called
        calls.append(inspect.signature(type(module).forward).bind(module, *args, **kwargs).arguments)

    lens.trace(TEXTS[0])  # the first of its class is tried without hooks
    handles = [module.register_forward_pre_hook(written_down, with_kwargs=True) for module in modules]
    lens.trace(TEXTS[1])  # with the hooks it is another model, whose first trace is held against its own run
    calls.clear()
    trace = lens.trace(TEXTS[1])
    for handle in handles:
        handle.remove()
    assert len(calls) == len(modules) == trace.n_layers
    for layer, (module, given) in enumerate(zip(modules, calls, strict=True)):
        expected = by_hand(module, trace, layer, given)
        bias = trace.record.layers[layer].bias
        assert isinstance(bias, ScoreBias) and bias.terms == tuple(expected)
        for head in range(trace.n_heads):
            terms = trace.score_terms(layer, head)
            assert list(terms) == ["content", *expected]
            content = trace.query(layer)[head] @ trace.key(layer)[head].T * trace.scaling(layer)
            torch.testing.assert_close(terms["content"], content, atol=1e-10, rtol=1e-10)
            for term, numbers in expected.items():
                torch.testing.assert_close(terms[term], numbers[head], atol=1e-9, rtol=1e-7)
                cells = slice(head, head + 1), slice(2, 5), slice(1, 7)
                block = bias.part(trace.query(layer), trace.key(layer), *cells, term)
                torch.testing.assert_close(block, numbers[cells], atol=1e-9, rtol=1e-7)
            torch.testing.assert_close(sum(terms.values()), trace.scores(layer)[head], atol=1e-10, rtol=1e-10)
            lse = trace.scores(layer)[head].logsumexp(-1)
            torch.testing.assert_close(trace.log_sum_exp(layer, head), lse, atol=1e-10, rtol=1e-10)


def test_padding_that_sees_nothing_is_no_nan() -> None:
    """DeBERTa masks pairs: a padded query has no key. Its state is a number, in half precision too."""
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        lens = lens_of("deberta-v2", dtype)
        ids = torch.tensor([[2, 5, 6, 7, 8, 9, 3], [2, 5, 3, 0, 0, 0, 0]])
        inputs = {"input_ids": ids, "attention_mask": (ids > 0).long()}
        output = forward.output_of(lens.borrowed, inputs, Run([(), (whatif.hide(1),)]))
        assert output.last_hidden_state.isfinite().all()


def test_a_bias_of_minus_infinity_hides() -> None:
    """One bucket of distances that nobody looks at: α is 0 there, as in the eager run, and no key to a change."""
    lens = lens_of("mpnet")
    with torch.no_grad():
        lens.model.encoder.relative_attention_bias.weight[2] = -torch.inf  # two tokens back
    trace = lens.trace(TEXTS[1])
    assert far(trace, eager(lens.model, trace.inputs())) <= 1e-5
    hidden = torch.ones(trace.n_tokens, trace.n_tokens).tril(-2).triu(-2).bool()
    assert torch.equal(trace.mask_rows(1, 2, slice(None)) == -torch.inf, hidden)
    assert torch.equal(trace.scores(1)[2] == -torch.inf, hidden)
    even = trace.rerun(whatif.pattern(1, 2, "uniform")).attention(1)[2]
    assert not even[hidden].any() and torch.allclose(even.sum(-1), torch.ones(trace.n_tokens))


def test_a_position_bias_that_is_not_of_distances_is_kept_as_it_is() -> None:
    bias = torch.randn(1, 3, 5, 5)
    assert DistanceBias.of(bias) is None
    numbers = torch.randn(3, 9)
    places = torch.arange(5)
    by_distance = numbers[None, :, places - places[:, None] + 4].repeat(2, 1, 1, 1)
    bias = DistanceBias.of(by_distance)
    assert bias is not None and torch.equal(bias.numbers, numbers)
    by_distance[1, 0, 0, 0] += 1
    assert DistanceBias.of(by_distance) is None  # of one text alone


def state(model: Any) -> list[Any]:
    """What a run could leave on a model: attributes of its modules, hooks, mode; its weights bit by bit."""
    modules = [vars(module) for module in model.modules()]
    hooks = [[list(x.items()) for name, x in attributes.items() if "_hooks" in name] for attributes in modules]
    weights = [parameter.detach().clone() for parameter in model.parameters()]
    return [[sorted(x) for x in modules], hooks, [m.training for m in model.modules()], weights]


def same(one: list[Any], other: list[Any]) -> bool:
    return one[:3] == other[:3] and all(torch.equal(*pair) for pair in zip(one[3], other[3], strict=True))


@pytest.mark.long
@pytest.mark.parametrize("name", ["deberta-v2", "mpnet", "lilt"])
def test_the_model_comes_back_after_ctrl_c_at_any_line(name: str) -> None:
    lens = lens_of(name)
    del lens.model.encoder.layer[1:]
    lens.model.config.num_hidden_layers = 1
    lens.trace(TEXTS[0])
    before, lines = state(lens.model), 0
    files = "bertlens/run/attention_modules.py", "bertlens/run/attention_call.py"
    for line, (stopped, handler_is_back, after) in at_every_line(
        lambda: lens.trace(TEXTS[0]), files, lambda: state(lens.model)
    ):
        lines += 1
        assert stopped and handler_is_back and same(before, after), line
    assert lines > 40


@pytest.mark.parametrize(("name", "ctrl_c"), [("deberta", False), ("splinter", False), ("deberta", True)])
def test_the_model_comes_back_from_the_middle(name: str, ctrl_c: bool) -> None:
    """An error, and Ctrl-C, in a hook on a projection, which runs as the projection is called as a module."""
    lens = lens_of(name)
    expected = lens.trace(TEXTS[1])
    module = lens.model.encoder.layer[1].attention.self
    projection = module.in_proj if name == "deberta" else module.query

    def broken(module: Any, args: Any) -> None:
        if ctrl_c:
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("broken")

    hook = projection.register_forward_pre_hook(broken)
    before = state(lens.model)
    ended = pytest.raises(KeyboardInterrupt if ctrl_c else bl.ModelError)
    with handling(signal.SIGINT, signal.default_int_handler), ended:
        lens.trace(TEXTS[1])
    assert same(before, state(lens.model))
    hook.remove()
    again = lens.trace(TEXTS[1])
    assert all(torch.equal(again.attention(i), expected.attention(i)) for i in range(again.n_layers))


def test_a_class_that_has_moved_to_the_interface_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stub of a later transformers, with the declaration and without: its own call of the interface is taken."""
    lens = lens_of("roformer")
    expected = lens.trace(TEXTS[1])
    kind = type(lens.model.encoder.layer[0].attention.self)
    calls = []

    def moved(self: Any, hidden_states: Any, attention_mask: Any = None, sinusoidal_pos: Any = None, **_: Any) -> Any:
        calls.append(self)
        shape = (*hidden_states.shape[:2], self.num_attention_heads, -1)
        q, k, v = (p(hidden_states).view(shape).transpose(1, 2) for p in (self.query, self.key, self.value))
        q, k = self.apply_rotary_position_embeddings(sinusoidal_pos, q, k)
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(lens.model.config._attn_implementation, plainly)
        context, weights = attend(self, q, k, v, attention_mask, scaling=q.shape[-1] ** -0.5)
        return context.reshape(*hidden_states.shape), weights

    def plainly(module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Any, scaling: float) -> Any:
        weights = (q @ k.mT * scaling + (0 if mask is None else mask)).softmax(-1)
        return (weights @ v).transpose(1, 2), weights

    monkeypatch.setattr(kind, "forward", moved)
    for declared in (False, True):
        monkeypatch.setattr(type(lens.model), "_supports_sdpa", declared)
        lens.model.config.note = f"another config, {declared}"  # is tried anew
        calls.clear()
        trace = lens.trace(TEXTS[1])
        assert trace.has_neurons and len(calls) >= 2 * trace.n_layers  # through the interface and eagerly, once each
        for layer in range(trace.n_layers):
            torch.testing.assert_close(trace.attention(layer), expected.attention(layer), atol=1e-6, rtol=0)
            torch.testing.assert_close(trace.query(layer), expected.query(layer))


def test_a_forward_of_the_users_own_is_not_replaced() -> None:
    """In a subclass, or put on the module: what it computes is not known, and weights alone are shown."""

    class Own(type(lens_of("mpnet").model.encoder.layer[0].attention.attn)):  # type: ignore[misc]
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return super().forward(*args, **kwargs)

    for put in (False, True):
        lens = lens_of("mpnet")
        lens.model.config.note = f"another config, {put}"
        for layer in lens.model.encoder.layer:
            if put:
                layer.attention.attn.forward = layer.attention.attn.forward
            else:
                layer.attention.attn.__class__ = Own
        trace = lens.trace(TEXTS[1])
        assert not trace.has_neurons and "never declared" in trace.why_no_neurons


def test_what_cannot_be_read_runs_as_the_module_runs_it() -> None:
    """LUKE's entities have queries of their own: while a model is lent, such a call is the model's, to the bit."""
    lens = lens_of("luke")
    inputs = lens.trace(TEXTS[1]).inputs() | {
        "entity_ids": torch.tensor([[1, 2]]),
        "entity_attention_mask": torch.ones(1, 2, dtype=torch.long),
        "entity_position_ids": torch.tensor([[[1, 2, -1], [3, -1, -1]]]),
    }
    expected = eager(lens.model, inputs)
    with forward.borrowed(lens.borrowed, forward.IMPLEMENTATION), torch.no_grad():
        output = lens.model(**inputs)
    torch.testing.assert_close(output.last_hidden_state, expected.last_hidden_state, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(output.entity_last_hidden_state, expected.entity_last_hidden_state, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["bert", "mpnet", "deberta-v2", "deberta", "roformer", "lilt"])
def test_bfloat16_is_as_near_to_float32_as_the_eager_run(name: str) -> None:
    """Of weights rounded to bfloat16; BERT's own row is the first."""
    lens = Lens(tiny.bert().to(torch.bfloat16), tiny.wordpiece()) if name == "bert" else lens_of(name, torch.bfloat16)
    distances = torch.zeros(2)
    for text in TEXTS:
        trace = lens.trace(text)
        assert trace.has_neurons and trace.dtype == "bfloat16"
        rounded = eager(lens.model, trace.inputs()).attentions
        precise = eager(copy.deepcopy(lens.model).float(), trace.inputs()).attentions
        for layer, (x, y) in enumerate(zip(rounded, precise, strict=True)):
            apart = torch.stack([(trace.attention(layer) - y[0]).abs().max(), (x[0] - y[0]).abs().max()])
            distances = distances.maximum(apart)
    assert 0 < distances[0] <= 1.5 * distances[1] <= 0.05
