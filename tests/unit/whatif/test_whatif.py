"""Runs with changes, against copies of the model that are changed by hand, runs with masks, and identities."""

from __future__ import annotations

import copy
import itertools
import threading
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import bertlens as bl
from bertlens import InputError, Lens, ModelError, SelectionError, Trace, whatif
from bertlens.measures import flow, norms
from bertlens.measures.gradients import gradients
from bertlens.measures.offers import offers
from bertlens.model.families import adapter_of
from bertlens.run import trust
from bertlens.run.changes import Change
from unit import tiny
from unit.run.test_capture import mixed_model, same, state

TEXT, PAIR, SHORT = tiny.TEXTS
EVERY = pytest.mark.parametrize("name", tiny.FAMILIES)
ADAPTED = pytest.mark.parametrize("name", [n for n in tiny.FAMILIES if n.split(",")[0] not in ("llama", "t5 encoder")])
ALONE = pytest.mark.parametrize("name", [n for n in tiny.FAMILIES if not n.startswith("albert")])  # no shared layers


def lens_of(name: str, dtype: torch.dtype = torch.float32) -> Lens:
    family = tiny.FAMILIES[name]
    return Lens(tiny.shaken(family.model(), scale=0.19).to(dtype), family.tokenizer())


def close(found: Tensor, expected: Tensor, bound: float = 1e-6) -> None:
    """Within `bound` of the largest value."""
    assert found.shape == expected.shape
    assert float((found - expected).abs().max()) <= bound * max(1.0, float(expected.abs().max()))


def layers_of(model: Any) -> list[Any]:
    adapter = adapter_of(model)
    if adapter:
        return list(adapter.layers(model))
    return list(model.layers if hasattr(model, "layers") else model.encoder.block)


# Where each family keeps W_O, from a layer, written down here anew
W_O = {
    "bert": "attention.output.dense",
    "distilbert": "attention.out_lin",
    "albert": "attention.dense",
    "nomic_bert": "self_attn.o_proj",
    "modernbert": "attn.Wo",
    "gpt2": "attn.c_proj",
    "llama": "self_attn.o_proj",
    "t5": "layer.0.SelfAttention.o",
}


def w_o(model: Any, layer: int) -> Any:
    return attrgetter(W_O.get(model.config.model_type, W_O["bert"]))(layers_of(model)[layer])


def same_run(found: Trace, expected: Trace, neurons: bool = True) -> None:
    """Bit by bit."""
    for layer in range(expected.n_layers):
        assert torch.equal(found.attention(layer), expected.attention(layer))
        if neurons:
            for name in ("query", "key", "value", "context", "scores"):
                assert torch.equal(getattr(found, name)(layer), getattr(expected, name)(layer))
    for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(found.output[0], expected.output[0])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [*tiny.FAMILIES, *tiny.OUTSIDE])
def test_without_changes_nothing_changes(name: str) -> None:
    """Bit-identical for a text traced alone, 1e-6 for one of a padded batch; families without neurons too."""
    family = (tiny.FAMILIES | tiny.OUTSIDE)[name]
    lens = Lens(tiny.shaken(family.model(), scale=0.19), family.tokenizer())
    trace = lens.trace(*PAIR)
    again = trace.rerun()
    assert again is not trace and again.changes == () and again.original is trace and trace.original is trace
    same_run(again, trace, trace.has_neurons)
    padded = lens.trace_batch([TEXT, PAIR])[0]
    close(padded.rerun().hidden_states[-1], padded.hidden_states[-1])


@pytest.mark.sampled(4)
@ALONE
def test_a_head_off_is_a_model_without_its_columns(name: str) -> None:
    """A copy of the model in which the columns of W_O that read the head are zero; b_O stays, b_V goes."""
    lens = lens_of(name)
    trace = lens.trace(*PAIR)
    for heads, change in (([2], whatif.off(1, 2)), (range(4), whatif.off(1))):
        model = copy.deepcopy(lens.model)
        dims = trace.context(1).shape[1] // trace.n_heads
        with torch.no_grad():
            projection = w_o(model, 1)
            weight = projection.weight.T if type(projection).__name__ == "Conv1D" else projection.weight
            for head in heads:
                weight[:, head * dims : (head + 1) * dims] = 0
        expected, found = Lens(model, lens.tokenizer).trace(*PAIR), trace.rerun(change)
        for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
            close(one, other)
        assert float((found.hidden_states[-1] - trace.hidden_states[-1]).abs().max()) > 1e-3
        # what the head computed stays; only what it passes on is gone
        assert torch.equal(found.attention(1), trace.attention(1)) and torch.equal(found.scores(1), trace.scores(1))
        assert torch.equal(found.value(1), trace.value(1))
        for head in range(4):
            context = found.head_context(1)[head]
            assert not context.any() if head in heads else torch.equal(context, trace.head_context(1)[head])
        assert torch.equal(found.context(0), trace.context(0)) and not torch.equal(found.context(2), trace.context(2))


@pytest.mark.parametrize("name", ["albert", "albert, two groups of two"])
def test_layers_that_share_their_weights(name: str) -> None:
    """The head of one layer is off, the same head of the layer that shares its weights is not."""
    trace = lens_of(name).trace(*PAIR)
    for layer in range(trace.n_layers):
        found = trace.rerun(whatif.off(layer, 1))
        off = [bool((found.head_context(n)[1] == 0).all()) for n in range(trace.n_layers)]
        assert off == [n == layer for n in range(trace.n_layers)]
        without = trace.rerun(whatif.mlp(layer))
        for n in range(layer + 1):
            assert torch.equal(without.attention_output(n), trace.attention_output(n))
        if layer + 1 < trace.n_layers:
            assert not torch.equal(without.layer_input(layer + 1), trace.layer_input(layer + 1))


@pytest.mark.sampled(4)
@EVERY
def test_a_cut_is_a_run_with_a_mask(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eager run in which the one score is lowered beyond all others; a row without keys is refused."""
    lens = lens_of(name)
    trace = lens.trace(*PAIR)
    query, key = 5, 4
    for head, change in ((2, whatif.cut(1, 2, query, key)), (None, whatif.cut(1, None, query, key))):
        found = trace.rerun(change)
        heads = range(4) if head is None else [head]
        states = eager_states(lens.model, trace, 1, heads, query, key, monkeypatch)
        for one, other in zip(found.hidden_states, states, strict=True):
            close(one, other, 2e-6)
        for h in range(4):
            expected = trace.scores(1)[h].clone()
            if h in heads:
                expected[query, key] = -torch.inf
            close(found.attention(1)[h], expected.softmax(-1))
            assert torch.equal(found.scores(1)[h], expected)
    with pytest.raises(SelectionError, match=r"token 3 would have no key left in head 2 of layer 1: cut fewer"):
        trace.rerun(whatif.cut(1, 2, 3))


def eager_states(
    model: Any, trace: Trace, layer: int, heads: Any, query: int, key: int, monkeypatch: pytest.MonkeyPatch
) -> list[Tensor]:
    """Hidden states of an eager run with its own attention function, a 4-D mask added in one layer."""
    import sys

    module = sys.modules[type(model).__module__]
    model = copy.deepcopy(model)
    eager, calls = module.eager_attention_forward, []

    def masked(part: Any, q: Any, k: Any, v: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        if len(calls) == layer:
            size = q.shape[2]
            added = torch.zeros(1, q.shape[1], size, size)
            added[0, list(heads), query, key] = torch.finfo(torch.float32).min
            mask = added if mask is None else mask + added
        calls.append(1)
        return eager(part, q, k, v, mask, *args, **kwargs)

    monkeypatch.setattr(module, "eager_attention_forward", masked)
    model.config._attn_implementation = "eager"
    from unit.model.test_families import accepted, inputs_of

    with torch.no_grad():
        output = model(**accepted(model, inputs_of(trace)), output_hidden_states=True)
    monkeypatch.undo()
    return [states[0] for states in output.hidden_states]


@pytest.mark.parametrize("name", ["bert", "distilbert", "modernbert", "gpt2", "esm"])
def test_not_renormalised_over_all_heads_is_value_zeroing(name: str) -> None:
    """1 − cos of the layer's outputs, over all tokens j, is the existing measure."""
    lens = lens_of(name, torch.float64)
    trace = lens.trace(TEXT)
    layer = 1
    turned = torch.zeros(trace.n_tokens, trace.n_tokens, dtype=torch.float64)
    for token in range(trace.n_tokens):
        found = trace.rerun(whatif.cut(layer, key=token, renormalize=False))
        alpha = trace.attention(layer)
        alpha[:, :, token] = 0
        close(found.attention(layer), alpha, 1e-12)
        close(found.sink(layer), 1 - alpha.sum(-1), 1e-12)
        assert torch.equal(found.scores(layer), trace.scores(layer))
        turned[:, token] = 1 - torch.cosine_similarity(found.layer_output(layer), trace.layer_output(layer), dim=-1)
    close(turned / turned.sum(-1, keepdim=True), flow.value_zeroing(trace, layer, progress=False))


@pytest.mark.sampled(4)
@EVERY
def test_mean_resample_and_patterns(name: str) -> None:
    """Contexts from their definitions; into itself nothing changes; evenly over what a query can see."""
    lens = lens_of(name)
    trace, other = lens.trace("the cat sat on the mat"), lens.trace("the mat sat on the cat")
    assert trace.n_tokens == other.n_tokens
    found = trace.rerun(whatif.mean(1, 2))
    close(found.head_context(1)[2], trace.head_context(1)[2].mean(0).expand(trace.n_tokens, -1))
    assert torch.equal(found.attention(1), trace.attention(1))
    close(found.rerun(whatif.mean(1, 2)).hidden_states[-1], found.hidden_states[-1])  # its context is constant now

    found = trace.rerun(whatif.resample(1, 2, other))
    assert torch.equal(found.head_context(1)[2], other.head_context(1)[2])
    assert torch.equal(found.attention(1), trace.attention(1))
    same_run(trace.rerun(whatif.resample(1, 2, trace)), trace)
    every = trace.rerun(*(whatif.resample(2, head, other) for head in range(4)))
    assert torch.equal(every.context(2), other.context(2))

    found = trace.rerun(whatif.pattern(1, 2, "uniform"))
    seen = (trace.attention(1)[2] > 0).float()
    close(found.attention(1)[2], seen / seen.sum(-1, keepdim=True))
    close(found.head_context(1)[2], found.attention(1)[2] @ trace.value(1)[2])
    given = torch.eye(trace.n_tokens)
    found = trace.rerun(whatif.pattern(1, 2, given.numpy()))
    assert torch.equal(found.attention(1)[2], given) and torch.equal(found.head_context(1)[2], trace.value(1)[2])
    assert torch.equal(found.attention(1)[1], trace.attention(1)[1])
    with pytest.raises(ModelError, match=r"head 2 were given.*trace\.original"):
        found.scores(1)
    own = trace.rerun(whatif.pattern(1, 2, trace.attention(1)[2]))
    close(own.hidden_states[-1], trace.hidden_states[-1], 2e-6)


@EVERY
def test_a_hidden_token_and_a_silent_neuron(name: str) -> None:
    """Weights of the hidden token are 0 everywhere, its own included; a neuron leaves every score."""
    lens = lens_of(name)
    trace = lens.trace(*PAIR)
    token = 4
    found = trace.rerun(whatif.hide(token))
    for layer in range(trace.n_layers):
        assert not found.attention(layer)[:, :, token].any()
        assert (found.scores(layer)[:, :, token] == -torch.inf).all()
        close(found.attention(layer).sum(-1), torch.ones(4, trace.n_tokens))
    before = trace.attention(0).clone()
    before[:, :, token] = 0
    close(found.attention(0), before / before.sum(-1, keepdim=True), 2e-6)

    found = trace.rerun(whatif.neuron(1, 2, 3))
    assert not found.query(1)[2, :, 3].any() and not found.key(1)[2, :, 3].any()
    lost = trace.scaling(1) * trace.query(1)[2, :, 3, None] * trace.key(1)[2, None, :, 3]
    expected, shown = trace.scores(1)[2] - lost, trace.scores(1)[2] > -torch.inf
    close(found.scores(1)[2][shown], expected[shown], 2e-6)
    for head in (0, 1, 3):  # also the one that shares the key
        assert torch.equal(found.scores(1)[head], trace.scores(1)[head])


@pytest.mark.sampled(4)
@ADAPTED
def test_the_mlp_off(name: str) -> None:
    """A copy whose outer projection is zero, bias and all; one neuron: its column is zero."""
    if name.startswith("albert"):
        pytest.skip("its layers share one MLP: see test_layers_that_share_their_weights")
    lens = lens_of(name)
    trace = lens.trace(*PAIR)
    if name == "mobilebert":
        with pytest.raises(InputError, match="has several"):
            trace.rerun(whatif.mlp(1))
        return
    for neuron in (None, 5):
        model = copy.deepcopy(lens.model)
        adapter = adapter_of(model)
        assert adapter is not None
        outer = adapter.mlp(layers_of(model)[1])[-1]
        with torch.no_grad():
            if neuron is None:
                outer.weight.zero_()
                if outer.bias is not None:
                    outer.bias.zero_()
            else:
                (outer.weight.T if type(outer).__name__ == "Conv1D" else outer.weight)[:, neuron] = 0
        expected = Lens(model, lens.tokenizer).trace(*PAIR)
        found = trace.rerun(whatif.mlp(1, neuron))
        for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
            close(one, other)
        assert float((found.hidden_states[-1] - trace.hidden_states[-1]).abs().max()) > 1e-3
        with pytest.raises(ModelError, match=r"layer 1 was changed.*trace\.original"):
            flow.value_zeroing(found, 1, progress=False)
    with pytest.raises(SelectionError, match="neuron 4800 does not exist: choose one from 0 to"):
        trace.rerun(whatif.mlp(1, 4800))


@pytest.mark.sampled(4)
@ADAPTED
def test_patches(name: str) -> None:
    """Into itself: bit by bit the same. All tokens of a layer: from there on the other run. One token: only its own."""
    lens = lens_of(name)
    trace, other = lens.trace("the cat sat on the mat"), lens.trace("the mat sat on the cat")
    parts = ("layer", "attention") if name == "mobilebert" else ("layer", "attention", "mlp")
    for what in parts:
        same_run(trace.rerun(whatif.patch(1, 3, trace, what=what)), trace)
    every = range(trace.n_tokens)
    found = trace.rerun(*(whatif.patch(1, i, other, other_token=i) for i in every))
    assert torch.equal(found.layer_output(1), other.layer_output(1))
    assert torch.equal(found.layer_input(2), other.layer_input(2)) and torch.equal(
        found.layer_input(1), trace.layer_input(1)
    )
    close(found.output[0], other.output[0])
    found = trace.rerun(whatif.patch(1, 3, other, other_token=2))
    expected = trace.layer_output(1)
    expected[3] = other.layer_output(1)[2]
    assert torch.equal(found.layer_output(1), expected)
    # attention and MLP: what they add; together, and with the same residual, they make the layer's output
    found = trace.rerun(whatif.patch(1, 3, other, 2, what="attention"))
    context = trace.context(1)
    context[3] = other.context(1)[2]
    assert torch.equal(found.context(1), context)
    if name == "mobilebert":
        return
    both = [whatif.patch(0, i, other, i, what=what) for i in every for what in ("attention", "mlp")]
    start = trace.rerun(*(whatif.patch(0, i, other, i) for i in every))
    residual = other.rerun(*(whatif.patch(1, i, trace, i, what=w) for i in every for w in ("attention", "mlp")))
    assert both and torch.equal(start.layer_output(0), other.layer_output(0))
    # the same two parts on another residual: back from there they are the first run's
    back = residual.rerun(*(whatif.patch(1, i, other, i, what=w) for i in every for w in ("attention", "mlp")))
    close(back.layer_output(1), other.layer_output(1), 2e-6)
    assert float((residual.layer_output(1) - other.layer_output(1)).abs().max()) > 1e-3


def test_an_mlp_patch_is_what_the_mlp_made() -> None:
    """Post-LN, in float64: LN(MLP of the other token + this run's attention output)."""
    lens = lens_of("bert", torch.float64)
    trace, other = lens.trace("the cat sat"), lens.trace("it was very warm")
    found = trace.rerun(whatif.patch(1, 2, other, 4, what="mlp"))
    layer = lens.model.encoder.layer[1]
    with torch.no_grad():
        made = layer.output.dense(layer.intermediate(other.attention_output(1)[4]))
        expected = layer.output.LayerNorm(made + trace.attention_output(1)[2])
    close(found.layer_output(1)[2], expected, 1e-12)
    assert torch.equal(found.layer_output(1)[[0, 1, 3]], trace.layer_output(1)[[0, 1, 3]])


def test_changes_add_up() -> None:
    """On one trace or one after the other; the order of context changes counts; weights and cuts compose."""
    trace = lens_of("bert").trace(*PAIR)
    changes = (whatif.off(0, 1), whatif.cut(1, 2, 5, 4), whatif.hide(6), whatif.neuron(2, 0, 1), whatif.mlp(1, 7))
    together, one_by_one = trace.rerun(*changes), trace
    for change in changes:
        one_by_one = one_by_one.rerun(change)
    same_run(one_by_one, together)
    assert one_by_one.changes == changes and one_by_one.original is trace
    assert not trace.rerun(whatif.mean(1, 2), whatif.off(1, 2)).head_context(1)[2].any()
    other = trace.rerun(whatif.off(1, 2), whatif.resample(1, 2, trace))
    assert torch.equal(other.head_context(1)[2], trace.head_context(1)[2])
    given = torch.full((trace.n_tokens, trace.n_tokens), 1 / trace.n_tokens)
    found = trace.rerun(whatif.pattern(1, 2, given), whatif.cut(1, 2, 3, 4), whatif.cut(1, 2, 5, 6, renormalize=False))
    expected = given.clone()
    expected[3] *= trace.n_tokens / (trace.n_tokens - 1)
    expected[3, 4] = expected[5, 6] = 0
    close(found.attention(1)[2], expected)
    again = found.rerun()
    same_run(again, found, neurons=False)
    assert again.changes == found.changes


def test_measures_of_a_changed_run() -> None:
    """Norms of a head that is off are 0 and the parts still add up; a replaced context has none; gradients agree."""
    lens = lens_of("bert", torch.float64)
    trace = lens.trace(*PAIR)
    off = trace.rerun(whatif.off(1, 2))
    assert not norms.transformed_norm(off, 1)[2].any() and norms.transformed_norm(off, 1)[1].all()
    f = torch.einsum(
        "hjk,dhk->hjd", off.value(1), lens.model.encoder.layer[1].attention.output.dense.weight.view(32, 4, 8)
    )
    f[2] = 0
    expected = torch.einsum("hij,hjd->ijd", off.attention(1), f.detach()).norm(dim=-1)
    close(norms.summed_weighted_norm(off, 1), expected, 1e-10)
    loose = trace.rerun(whatif.cut(1, key=3, renormalize=False), whatif.pattern(1, 0, "uniform"))
    f = torch.einsum(
        "hjk,dhk->hjd", loose.value(1), lens.model.encoder.layer[1].attention.output.dense.weight.view(32, 4, 8)
    )
    expected = torch.einsum("hij,hjd->ijd", loose.attention(1), f.detach()).norm(dim=-1)
    close(norms.summed_weighted_norm(loose, 1), expected, 1e-10)
    mean = trace.rerun(whatif.mean(1, 2))
    with pytest.raises(ModelError, match=r"head 1\.2 was replaced.*trace\.original"):
        norms.transformed_norm(mean, 1)
    assert "head 1.2" in offers(mean)["norms"] and not offers(off)["norms"]

    def loss(output: Any) -> Tensor:
        return output.last_hidden_state[0, 0].square().sum() + output.last_hidden_state[0, 3, :5].sum()

    changes = (whatif.off(0, 1), whatif.hide(3), whatif.pattern(1, 1, "uniform"), whatif.mlp(1))
    found = gradients(trace.rerun(*changes), loss=loss)
    assert found.loss == pytest.approx(float(loss(trace.rerun(*changes).output)), abs=1e-12)
    assert found.loss != pytest.approx(float(loss(trace.output)), abs=1e-3)


def test_the_model_comes_back() -> None:
    """Hooks, implementation and mode as before, after every kind of change."""
    model = mixed_model()
    lens = Lens(model, tiny.wordpiece())
    trace = lens.trace(*PAIR)
    before = state(model)
    trace.rerun(
        whatif.off(0, 1), whatif.mlp(1), whatif.mlp(0, 2), whatif.patch(1, 2, trace, what="mlp"), whatif.hide(3)
    )
    same(before, state(model))


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_the_model_comes_back_after_a_break(kind: type[BaseException]) -> None:
    """An exception or an interrupt in the middle of a changed pass; the next trace has no change."""
    model = mixed_model()
    lens = Lens(model, tiny.wordpiece())
    trace = lens.trace(*PAIR)

    def broken(module: Any, args: Any) -> None:
        raise kind("stop")

    handle = model.bert.encoder.layer[2].register_forward_pre_hook(broken)
    before = state(model)
    with pytest.raises(ModelError if issubclass(kind, Exception) else kind, match="stop"):
        trace.rerun(whatif.off(0, 1), whatif.mlp(1), whatif.patch(0, 2, trace))
    same(before, state(model))
    with pytest.raises(SelectionError, match="no key left"):
        trace.rerun(whatif.cut(1, 2, 3), whatif.mlp(0))
    same(before, state(model))
    handle.remove()
    same_run(lens.trace(*PAIR), trace)


def test_users_hooks_see_the_changed_run() -> None:
    """Hidden states and layer outputs that hooks registered before keep are those of the changed run."""
    model = tiny.bert()
    seen: list[Tensor] = []
    model.encoder.layer[1].register_forward_hook(
        lambda module, args, out: seen.append(out[0] if isinstance(out, tuple) else out)
    )
    lens = Lens(model, tiny.wordpiece())
    trace = lens.trace("the cat sat")
    with torch.no_grad():
        model(trace.input_ids[None], output_hidden_states=True)  # transformers leaves its own hooks on the model
    found = trace.rerun(whatif.patch(1, 2, lens.trace("it was warm"), 1))
    assert torch.equal(seen[-1][0], found.layer_output(1)) and torch.equal(
        found.hidden_states[2], found.layer_output(1)
    )


def test_two_threads_with_different_changes() -> None:
    """Neither sees the other's, and a third that only traces sees none."""
    lens = lens_of("bert")
    trace = lens.trace(*PAIR)
    works: list[tuple[Change, ...]] = [(), (whatif.off(0, 1), whatif.mlp(1)), (whatif.hide(3), whatif.mlp(2, 4))]
    right = [trace.rerun(*changes) for changes in works]
    wrong: list[str] = []

    def work(number: int) -> None:
        for _ in range(12):
            found = trace.rerun(*works[number]) if number else lens.trace(*PAIR)
            if not torch.equal(found.hidden_states[-1], right[number].hidden_states[-1]):
                wrong.append(str(works[number]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("what", ["rerun", "sweep"])
def test_your_own_thread_sees_no_change(what: str) -> None:
    """The model called directly while a changed run of it stands still in the middle: what it always gives."""
    model = tiny.bert()
    trace = Lens(model, tiny.wordpiece()).trace(*PAIR)
    given = {"input_ids": trace.input_ids[None], "token_type_ids": trace.token_type_ids[None]}
    with torch.no_grad():
        plain = model(**given).last_hidden_state
    changes = (whatif.off(0, 1), whatif.mlp(1), whatif.mlp(2, 3), whatif.hide(3), whatif.patch(2, 2, trace, 5))
    works: dict[str, Any] = {
        "rerun": lambda: trace.rerun(*changes).hidden_states[-1],
        "sweep": lambda: whatif.sweep(trace, whatif.similarity(), progress=False),
    }
    undisturbed, found = works[what](), []
    changer = threading.Thread(target=lambda: found.append(works[what]()))
    inside, go_on = threading.Event(), threading.Event()

    def wait(module: Any, args: Any) -> None:
        if threading.current_thread() is not changer:
            return
        if what == "rerun" or ("forward" in module.__dict__ and next(skipping) == 1):  # two layers are skipped
            inside.set()
            go_on.wait(30)

    skipping = itertools.count()
    model.encoder.layer[0].register_forward_pre_hook(wait)
    changer.start()
    try:
        assert inside.wait(30)
        with torch.no_grad():
            close(model(**given).last_hidden_state, plain)
    finally:
        go_on.set()
        changer.join()
    assert torch.equal(found[0], undisturbed)  # nor does it disturb the changed run


def test_wrong_use_is_one_sentence() -> None:
    lens = lens_of("bert")
    trace, other = lens.trace("the cat sat"), lens.trace("the mat was warm")
    wide = Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece()).trace("the cat sat")
    given = Trace.from_attentions(torch.full((2, 4, 3, 3), 1 / 3), ["a", "b", "c"])
    cases: list[tuple[Trace, Any, type[Exception], str]] = [
        (trace, 3, InputError, "rerun takes changes of bertlens.whatif"),
        (trace, whatif.off(3), SelectionError, "layer 3 does not exist: choose one from 0 to 2"),
        (trace, whatif.off(0, 4), SelectionError, "head 4 does not exist"),
        (trace, whatif.off("0"), SelectionError, "layer 0 does not exist"),
        (trace, whatif.hide(5), SelectionError, "token 5 does not exist"),
        (trace, whatif.cut(0, 0, 9), SelectionError, "query 9 does not exist"),
        (trace, whatif.neuron(0, 0, 8), SelectionError, "neuron 8 does not exist: choose one from 0 to 7"),
        (trace, whatif.cut(0), SelectionError, "token 0 would have no key left in any head of layer 0"),
        (trace, whatif.pattern(0, 0, "even"), InputError, "pattern takes weights (5, 5) or 'uniform', not 'even'"),
        (
            trace,
            whatif.pattern(0, 0, torch.eye(4)),
            InputError,
            "pattern takes weights (5, 5) or 'uniform', not (4, 4)",
        ),
        (trace, whatif.pattern(0, 0, None), InputError, "not NoneType"),
        (trace, whatif.pattern(0, 0, torch.ones(5, 5)), InputError, "rows must sum to 1"),
        (trace, whatif.resample(0, 0, other), InputError, "resample needs texts of one length, not 5 and 6 tokens"),
        (trace, whatif.resample(0, 0, given), ModelError, "Only attention weights were given"),
        (trace, whatif.resample(0, 0, wide), InputError, "a model of the same shape"),
        (trace, whatif.resample(0, 0, "text"), InputError, "trace the other text first"),  # type: ignore[arg-type]
        (
            trace,
            whatif.patch(0, 2, other),
            InputError,
            "token 2 is 'cat' here and 'mat' in the other text: pass other_token=",
        ),
        (other, whatif.patch(0, 5, trace), InputError, "'[SEP]' here and no such token in the other text"),
        (trace, whatif.patch(0, 2, other, 6), SelectionError, "other_token 6 does not exist"),
        (trace, whatif.patch(0, 0, other, what="residual"), SelectionError, "there are layer, attention, mlp"),
        (given, whatif.off(0, 0), ModelError, "trace a text with a Lens"),
        (given, whatif.mlp(0), ModelError, "trace a text with a Lens"),
    ]
    for on, change, kind, words in cases:
        with pytest.raises(kind) as caught:
            on.rerun(change)
        assert words in str(caught.value) and "\n" not in str(caught.value)
    for name, family in tiny.OUTSIDE.items():
        outside = Lens(tiny.shaken(family.model()), family.tokenizer()).trace(TEXT)
        with pytest.raises(ModelError, match=r"attention weights can be shown.*cannot be changed"):
            outside.rerun(whatif.off(0, 0))
        assert name
    with pytest.raises(SelectionError, match="token 0 would have no key left in any head of layer 0"):
        lens_of("gpt2").trace(TEXT).rerun(whatif.hide(0))
    with torch.no_grad():
        lens.model.encoder.layer[1].output.dense.weight.add_(1)
    with pytest.raises(ModelError, match=r"the model has changed since this trace \(weights of .*\): trace again"):
        trace.rerun(whatif.off(0, 0))


def test_a_model_that_is_run_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its heads cannot be changed; its MLPs and streams can, with the result that the attention interface gives."""
    lens = lens_of("bert")
    texts = ("the cat sat on the mat", "the mat sat on the cat")
    right, other = map(lens.trace, texts)
    # no model of transformers has MLPs that can be changed and has to be run eagerly: this one is said to be such
    monkeypatch.setitem(trust._eagerly, trust._key(lens.borrowed), "for this test")
    trace, there = map(lens.trace, texts)
    assert not trace.has_neurons
    for change, expected in (
        (whatif.mlp(1), whatif.mlp(1)),
        (whatif.mlp(0, 3), whatif.mlp(0, 3)),
        (whatif.patch(1, 2, there, 2), whatif.patch(1, 2, other, 2)),
    ):
        found = trace.rerun(change)
        assert not found.has_neurons and found.changes == (change,)
        close(found.hidden_states[-1], right.rerun(expected).hidden_states[-1])
        close(found.attention(2), right.rerun(expected).attention(2))
    for refused in (whatif.off(0, 1), whatif.patch(1, 2, there, 2, what="attention")):
        with pytest.raises(ModelError, match="cannot be changed: change the text"):
            trace.rerun(refused)
    with pytest.raises(ModelError, match="attention weights can be shown"):
        trace.rerun(whatif.patch(1, 2, there, 2, what="mlp"))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype) -> None:
    """Every change in the model's own dtype, near what float32 gives."""
    exact = lens_of("bert").trace("the cat sat")
    trace = lens_of("bert", dtype).trace("the cat sat")
    for change, expected in (
        (whatif.off(1, 2), whatif.off(1, 2)),
        (whatif.mean(1, 2), whatif.mean(1, 2)),
        (whatif.pattern(1, 2, "uniform"), whatif.pattern(1, 2, "uniform")),
        (whatif.cut(1, 2, 0, 1), whatif.cut(1, 2, 0, 1)),
        (whatif.cut(1, 2, 0, 1, renormalize=False), whatif.cut(1, 2, 0, 1, renormalize=False)),
        (whatif.mlp(1), whatif.mlp(1)),
        (whatif.patch(1, 2, trace, 1, what="mlp"), whatif.patch(1, 2, exact, 1, what="mlp")),
        (whatif.resample(1, 2, trace), whatif.resample(1, 2, exact)),
    ):
        found = trace.rerun(change)
        assert found.dtype == str(dtype).removeprefix("torch.")
        close(found.hidden_states[-1], exact.rerun(expected).hidden_states[-1], 0.1)


def test_changes_are_values_in_words() -> None:
    """Equal where they are the same, and said as chips say them."""
    trace = lens_of("bert").trace("the cat sat")
    assert whatif.off(1, 2) == whatif.off(1, 2) != whatif.off(1)
    with pytest.raises(AttributeError):
        whatif.off(1, 2).layer = 3  # type: ignore[attr-defined]
    said = {
        whatif.off(3, 5): "head 3.5 off",
        whatif.off(3): "all heads of layer 3 off",
        whatif.cut(5, 0, 8, 2): "head 5.0: token 8 looks at token 2 cut",
        whatif.cut(5, key=2, renormalize=False): (
            "all heads of layer 5: every token looks at token 2 cut, the rest as it was"
        ),
        whatif.hide(2): "token 2 hidden",
        whatif.mean(1, 2): "head 1.2 at its mean over the tokens",
        whatif.pattern(1, 2, "uniform"): "head 1.2 looks evenly",
        whatif.neuron(1, 2, 3): "neuron 3 of head 1.2 off",
        whatif.mlp(1): "MLP of layer 1 off",
        whatif.mlp(1, 3): "neuron 3 of the MLP of layer 1 off",
        whatif.resample(1, 2, trace): "head 1.2 as in “the cat sat”",
        whatif.patch(1, 2, trace): "output of layer 1 at token 2 from token 2 of “the cat sat”",
    }
    for change, words in said.items():
        assert str(change) == words
    assert repr(trace.rerun(whatif.off(1, 2))).endswith("head 1.2 off)")
    assert bl.whatif is whatif


def test_views_of_a_changed_run(tmp_path: Path) -> None:
    """A head whose weights were set travels as weights, the others as q and k; no neurons are offered; it is said."""
    from bertlens.export.arrays import save_csv
    from bertlens.trace.provenance import provenance
    from bertlens.widgets.answers import head_answers

    trace = lens_of("bert").trace("the cat sat")
    found = trace.rerun(whatif.cut(1, 2, 0, 1, renormalize=False), whatif.cut(0, 1, 2, 3))
    _, arrays = head_answers.head(found, 1, 2)
    assert set(arrays) == {"attention"} and torch.equal(arrays["attention"], found.attention(1)[2])
    assert set(head_answers.head(found, 1, 1)[1]) == {"q", "k", "lse"}
    fields, arrays = head_answers.head(found, 0, 1)  # a cut is a mask
    assert fields["mask"] == "bits" and set(arrays) == {"q", "k", "lse", "bits"}
    assert "head 1.2" in offers(found)["neurons"] and not offers(trace)["neurons"]
    assert provenance(found)["changes"] == list(map(str, found.changes)) and provenance(trace)["changes"] == []
    view = found.explore(layer=1, head=2)
    assert [chip["about"] for chip in view.overview["header"]["changes"]] == list(map(str, found.changes))
    view.close()
    view = trace.rerun(whatif.off(1, 2)).explore()
    assert view.overview["header"]["changes"][0]["label"] == "L1·H2 off"
    view.close()
    view = trace.explore()
    assert view.overview["header"]["changes"] == []
    view.close()
    save_csv(found, 1, 2, tmp_path / "head.csv")
    lines = (tmp_path / "head.csv").read_text().splitlines()
    assert any("head 1.2: token 0 looks at token 1 cut" in line for line in lines[:12])
    first = next(line for line in lines if line.startswith("0,"))
    assert first.split(",")[4] == "" and float(first.split(",")[5]) == pytest.approx(float(found.attention(1)[2, 0, 0]))
