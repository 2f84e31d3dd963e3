"""Metrics, sweeps and estimates against one changed run after the other, and finite differences of a head's gate."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor

from bertlens import BertLensError, InputError, Lens, ModelError, SelectionError, Trace, whatif
from bertlens.whatif import sweeps
from unit import tiny
from unit.run.test_capture import same, state

MASKED = "the cat [MASK] on the mat"


def words_lens(dtype: torch.dtype = torch.float32, seed: int = 0) -> Lens:
    model = tiny.shaken(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT)), seed)
    return Lens(model.to(dtype), tiny.wordpiece())


def some_number(output: Any) -> Tensor:
    last = output[0] if "last_hidden_state" not in output else output.last_hidden_state
    return (last[0, 0] * torch.linspace(-1, 1, last.shape[-1], dtype=last.dtype)).sum() + last[0, 2].square().mean()


def one_by_one(trace: Trace, metric: Any, changes: dict[Any, Any], shape: tuple[int, ...]) -> Tensor:
    """The same table from whole runs; NaN where a run is refused."""

    def value(run: Trace) -> float:
        return metric(run) if isinstance(metric, whatif.Metric) else float(metric(run.output))

    table = torch.full(shape, torch.nan, dtype=torch.float64)
    for index, change in changes.items():
        with suppress(SelectionError):  # no key left
            table[index] = value(trace.rerun(change)) - value(trace)
    return table


def close(found: Tensor, expected: Tensor, bound: float = 1e-5) -> None:
    torch.testing.assert_close(
        found, expected, atol=bound * float(expected.nan_to_num().abs().max()) + 1e-9, rtol=0, equal_nan=True
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name",
    [
        "bert",
        "distilbert",
        "albert, two groups of two",
        "modernbert",
        "esm",
        "gpt2",
        "llama, grouped keys",
        "mobilebert",
    ],
)
def test_sweeps_are_the_runs_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads, layers, tokens and cells; batched, and from the changed layer on, in float64."""
    family = tiny.FAMILIES[name]
    lens = Lens(tiny.shaken(family.model(), scale=0.19).double(), family.tokenizer())
    trace = lens.trace("the cat sat on the mat")
    monkeypatch.setattr(sweeps, "TOKENS_AT_ONCE", 3 * trace.n_tokens)  # batches that do not fill
    layers, heads, tokens = trace.n_layers, trace.n_heads, trace.n_tokens
    every = {(n, h): whatif.off(n, h) for n in range(layers) for h in range(heads)}
    found = whatif.sweep(trace, some_number, progress=False)
    close(found, one_by_one(trace, some_number, every, (layers, heads)))
    assert float(found.abs().min()) > 0
    expected = one_by_one(trace, some_number, {(n,): whatif.off(n) for n in range(layers)}, (layers,))
    close(whatif.sweep(trace, some_number, "layers", progress=False), expected)
    expected = one_by_one(trace, some_number, {(t,): whatif.hide(t) for t in range(tokens)}, (tokens,))
    found = whatif.sweep(trace, some_number, "tokens", progress=False)
    close(found, expected)
    assert bool(found.isnan().any()) == (name in ("gpt2", "llama, grouped keys"))
    if name in ("bert", "gpt2"):
        cells = {(i, j): whatif.cut(1, 2, i, j) for i in range(tokens) for j in range(tokens)}
        found = whatif.sweep(trace, some_number, "cells", layer=1, head=2, progress=False)
        expected = one_by_one(trace, some_number, cells, (tokens, tokens))
        if name == "gpt2":
            hidden = torch.ones(tokens, tokens).triu(1).bool()
            assert not found[hidden].any() and bool(found[0, 0].isnan())
            expected[0] = found[0]  # its only key: every cut of that row is refused
        close(found, expected)


def test_a_sweep_on_a_changed_trace() -> None:
    """Its changes stay, and what its metric is compared with is the changed run."""
    trace = words_lens(torch.float64).trace(MASKED).rerun(whatif.off(0, 1), whatif.mlp(1, 3))
    metric = whatif.logit("mat")
    every = {(n, h): whatif.off(n, h) for n in range(3) for h in range(4)}
    found = whatif.sweep(trace, metric, progress=False)
    rest = one_by_one(trace, metric, every, (3, 4))
    with_head = trace.original.rerun(whatif.mlp(1, 3))  # it is off already: the run without that
    rest[0, 1] = one_by_one(with_head, metric, every, (3, 4))[0, 1]
    close(found, rest)
    assert abs(float(found[0, 1])) > 1e-4
    estimated = whatif.estimate(trace, metric)
    assert estimated.isnan().nonzero().tolist() == [[0, 1]]


def test_layers_before_the_change_are_not_computed_again() -> None:
    """And every batch comes with its places, so that a page can show what is there."""
    model = tiny.bert()
    trace = Lens(model, tiny.wordpiece()).trace("the cat sat")
    runs = [0, 0, 0]
    for number, layer in enumerate(model.encoder.layer):

        def count(module: Any, args: Any, number: int = number) -> None:
            runs[number] += 1

        layer.attention.self.query.register_forward_pre_hook(count)
    batches = list(whatif.steps(trace, whatif.similarity()))
    assert runs == [2, 3, 4]  # the run without changes, then one batch of heads for each layer
    assert [index for batch in batches for index, _ in batch] == [(n, h) for n in range(3) for h in range(4)]


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_the_model_comes_back_from_a_broken_sweep(kind: type[BaseException]) -> None:
    model = tiny.bert()
    trace = Lens(model, tiny.wordpiece()).trace("the cat sat")
    left = iter(range(3))

    def broken(module: Any, args: Any) -> None:
        if next(left, None) is None:
            raise kind("stop")

    handle = model.encoder.layer[2].register_forward_pre_hook(broken)
    before = state(model)
    with pytest.raises(ModelError if issubclass(kind, Exception) else kind, match="stop"):
        whatif.sweep(trace, whatif.similarity(), progress=False)
    same(before, state(model))
    handle.remove()
    assert torch.equal(trace.rerun().hidden_states[-1], trace.hidden_states[-1])


@pytest.mark.parametrize("name", ["bert", "distilbert", "electra", "gpt2"])  # rotary families round to float32
def test_the_estimate_is_the_slope_of_a_heads_gate(name: str) -> None:
    """−d metric / dξ at ξ = 1 by finite differences: the head's columns of W_O times 1 ± h, in float64."""
    from unit.whatif.test_whatif import w_o

    family = tiny.FAMILIES[name]
    lens = Lens(tiny.shaken(family.model(), scale=0.19).double(), family.tokenizer())
    trace = lens.trace("the cat sat on the mat")
    found = whatif.estimate(trace, some_number)
    assert found.shape == (trace.n_layers, 4) and found.dtype == torch.float64
    step, dims = 1e-4, 8
    for layer in range(trace.n_layers):
        for head in range(4):
            values = []
            for gate in (1 + step, 1 - step):
                model = copy.deepcopy(lens.model)
                with torch.no_grad():
                    projection = w_o(model, layer)
                    weight = projection.weight.T if type(projection).__name__ == "Conv1D" else projection.weight
                    weight[:, head * dims : (head + 1) * dims] *= gate
                values.append(float(some_number(Lens(model, lens.tokenizer).trace("the cat sat on the mat").output)))
            slope = (values[0] - values[1]) / (2 * step)
            assert float(found[layer, head]) == pytest.approx(-slope, rel=1e-6, abs=1e-8)


def test_metrics_are_what_they_say() -> None:
    """Each from the model's own logits, changed and not."""
    lens = words_lens()
    trace = lens.trace(MASKED)
    changed = trace.rerun(whatif.off(1, 2), whatif.hide(5))
    cat, mat = tiny.VOCABULARY.index("cat"), tiny.VOCABULARY.index("mat")

    def log_p(run: Trace) -> Tensor:
        return run.output.logits[0, 3].double().log_softmax(-1)

    for run in (trace, changed):
        logits = run.output.logits[0, 3]
        assert whatif.logit("cat")(run) == pytest.approx(float(logits[cat]), abs=1e-6)
        assert whatif.logit(cat, position=3)(run) == whatif.logit("cat")(run)
        assert whatif.probability("cat")(run) == pytest.approx(float(log_p(run)[cat].exp()), abs=1e-6)
        ratio = log_p(run)[cat] - log_p(run)[mat]
        assert whatif.difference("cat", "mat")(run) == pytest.approx(float(ratio), abs=1e-5)
    before, after = log_p(trace), log_p(changed)
    expected = sum(float(before[i].exp() * (before[i] - after[i])) for i in range(len(before)))
    assert whatif.divergence()(changed) == pytest.approx(expected, abs=1e-6) and expected > 0.01
    assert whatif.divergence()(trace) == 0
    assert whatif.divergence().unit == "nats" and str(whatif.logit("cat")) == "logit of cat (logits)"

    classes = Lens(tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT))), tiny.wordpiece())
    run = classes.trace("it was warm").rerun(whatif.off(0))
    assert whatif.label("LABEL_1")(run) == whatif.label(1)(run) == float(run.output.logits[0, 1])
    assert whatif.divergence()(run) > 0
    tags = Lens(tiny.shaken(tf.BertForTokenClassification(tf.BertConfig(**tiny.BERT))), tiny.wordpiece())
    run = tags.trace("it was warm").rerun(whatif.off(0))
    assert whatif.label(1, position=2)(run) == float(run.output.logits[0, 2, 1])
    assert whatif.divergence(position=2)(run) > 0

    plain = Lens(tiny.bert(), tiny.wordpiece())
    trace, other = plain.trace("the cat sat"), plain.trace("it was warm")
    run = trace.rerun(whatif.off(1))
    one, own, far = (t.layer_output(2).mean(0) for t in (run, trace, other))
    assert whatif.similarity()(run) == pytest.approx(float(torch.cosine_similarity(one, own, 0)), abs=1e-6)
    assert whatif.similarity(other)(run) == pytest.approx(float(torch.cosine_similarity(one, far, 0)), abs=1e-6)
    assert whatif.similarity()(trace) == pytest.approx(1, abs=1e-6)


def test_wrong_use_is_one_sentence() -> None:
    words, plain = words_lens().trace(MASKED), Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat")
    idle = plain.rerun(whatif.scale(0, 1, 1))
    two = words_lens().trace("the [MASK] sat on the [MASK]")
    given = Trace.from_attentions(torch.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    outside = tiny.OUTSIDE["xlm"]
    eager = Lens(tiny.shaken(outside.model()), outside.tokenizer()).trace("the cat sat")
    cases: list[tuple[Any, type[BertLensError], str]] = [
        (lambda: whatif.sweep(plain, whatif.logit("cat")), ModelError, "predicts no words: use whatif.similarity"),
        (lambda: whatif.sweep(plain, whatif.label(0)), ModelError, "has no classes: use whatif.similarity"),
        (lambda: whatif.sweep(plain, whatif.divergence()), ModelError, "no one distribution to compare"),
        (lambda: whatif.sweep(words, whatif.similarity()), ModelError, "use whatif.logit, probability"),
        (lambda: whatif.sweep(words, whatif.logit("cats")), InputError, "'cats' is no single token"),
        (lambda: whatif.sweep(words, whatif.logit(9999)), SelectionError, "token 9999 does not exist"),
        (
            lambda: whatif.sweep(two, whatif.logit("cat")),
            InputError,
            "2 tokens are masked: pass position=, one of [2, 6]",
        ),
        (lambda: whatif.sweep(plain, "logit"), InputError, "metric is one of whatif.logit"),  # type: ignore[arg-type]
        (lambda: whatif.sweep(plain, lambda output: output[0]), InputError, "the metric gives 160 numbers, not one"),
        (lambda: whatif.sweep(plain, some_number, "pairs"), SelectionError, "there are heads, layers, tokens, cells"),
        (lambda: whatif.sweep(plain, some_number, "cells"), SelectionError, "pass layer= and head="),
        (lambda: whatif.sweep(plain, some_number, layer=1), SelectionError, "are for cells"),
        (lambda: whatif.sweep(given, some_number), ModelError, "trace a text with a Lens"),
        (lambda: whatif.estimate(given, some_number), ModelError, "trace a text with a Lens"),
        (lambda: whatif.sweep(eager, some_number), ModelError, "cannot be changed"),
        (lambda: whatif.estimate(plain, whatif.similarity()), InputError, "begins at its extreme"),
        (lambda: whatif.estimate(words, whatif.divergence()), InputError, "begins at its extreme"),
        (lambda: whatif.estimate(idle, whatif.similarity()), InputError, "begins at its extreme"),
        (lambda: whatif.sweep(plain, whatif.similarity(given)), ModelError, "made from attention weights"),
        (lambda: whatif.similarity()(given), ModelError, "made from attention weights"),
        (lambda: whatif.sweep(plain, whatif.similarity(words)), ModelError, "gives no hidden states as its answer"),
        (lambda: whatif.sweep(plain, lambda output: None), InputError, "the metric gives NoneType, not a number"),
        (lambda: whatif.sweep(plain, lambda output: "one"), InputError, "the metric gives str, not a number"),
        (lambda: whatif.sweep(plain, lambda output: 1j), InputError, "gives a complex number"),
        (lambda: whatif.estimate(plain, lambda output: output[0].sum() * 1j), InputError, "gives a complex number"),
        (
            lambda: plain.rerun(whatif.pattern(0, 0, torch.full((5, 5), torch.nan))),
            InputError,
            "NaN or Inf among these",
        ),
        (lambda: whatif.similarity("text"), InputError, "trace the other text"),  # type: ignore[arg-type]
    ]
    for number, (call, kind, said) in enumerate(cases):
        with pytest.raises(kind) as caught:
            call()
        assert said in str(caught.value) and "\n" not in str(caught.value), (number, caught.value)
