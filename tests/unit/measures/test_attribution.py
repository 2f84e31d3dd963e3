"""Attributions against definitions: transformers' own runs, finite differences, autograd through eager weights."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from torch import Tensor

from bertlens import BertLensError, InputError, Lens, ModelError, SelectionError, Trace, whatif
from bertlens.measures import attribution, sources
from bertlens.measures.attribution import gradient_methods
from bertlens.run.backward import word_gradients
from unit import tiny
from unit.measures.test_sources import EVERY, PAIR, TEXT, lens_of
from unit.measures.test_sources_logits import EACH, TEXTS, TOKENS, cases, with_head
from unit.naive_sources import exact_rotation

MASKED = "the cat [MASK] on the warm mat"
CAT = tiny.VOCABULARY.index("cat")
MASK = tiny.VOCABULARY.index("[MASK]")
METHODS: list[Callable[..., attribution.Attribution]] = [
    attribution.occlusion,
    attribution.gradient_input,
    attribution.integrated_gradients,
    attribution.linearised,
    attribution.attention_gradient,
]


def words_lens(dtype: torch.dtype = torch.float64) -> Lens:
    return Lens(tiny.shaken(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT))).to(dtype), tiny.wordpiece())


def logit_of(lens: Lens, trace: Trace, **inputs: Tensor) -> Tensor:
    """The logit of “cat” at the mask, as the model itself gives it for other inputs; of several texts their sum."""
    at = trace.tokens.index("[MASK]")
    texts = len(next(iter(inputs.values())))
    types, mask = trace.token_type_ids.expand(texts, -1), torch.ones(texts, trace.n_tokens).long()
    logits: Tensor = lens.model(token_type_ids=types, attention_mask=mask, **inputs).logits
    return logits[:, at, CAT].sum()


@pytest.mark.parametrize("text", [(MASKED,), ("the cat [MASK]", "on the warm mat")], ids=["one", "pair"])
def test_occlusion_is_the_loss_without_the_token(text: tuple[str, ...]) -> None:
    """By definition: the model's own run of the ids without it, or the changed run."""
    lens = words_lens()
    trace = lens.trace(*text)
    at, ids, types = trace.tokens.index("[MASK]"), trace.input_ids, trace.token_type_ids
    assert types is not None
    whole = float(trace.output.logits[0, at, CAT])
    removed = [i for i, token in enumerate(trace.tokens) if token not in ("[CLS]", "[SEP]", "[MASK]")]
    found = {how: attribution.occlusion(trace, whatif.logit("cat"), how) for how in attribution.REMOVALS}
    for i in range(trace.n_tokens):
        if i not in removed:
            assert all(bool(one.values[i].isnan()) for one in found.values())
            continue
        others = [j for j in range(trace.n_tokens) if j != i]
        masked = torch.where(torch.arange(len(ids)) == i, MASK, ids)[None]
        shorter = lens.model(input_ids=ids[None, others], token_type_ids=types[None, others]).logits[0]
        hidden = trace.rerun(whatif.hide(i)).output.logits[0, at, CAT]
        expected: dict[str, Tensor] = {
            "mask": logit_of(lens, trace, input_ids=masked),
            "delete": shorter[at - (i < at), CAT],
            "hide": hidden,
        }
        for how, value in expected.items():
            assert float(found[how].values[i]) == pytest.approx(whole - float(value.detach()), abs=1e-10), (how, i)
    swept = whatif.sweep(trace, whatif.logit("cat"), "tokens", progress=False)
    torch.testing.assert_close(found["hide"].values[removed], -swept[removed], atol=1e-10, rtol=0)
    assert len({round(float(one.values[1]), 6) for one in found.values()}) == 3  # three different numbers
    assert found["mask"].model == pytest.approx(whole, abs=1e-12)
    assert found["mask"].notes == (
        f"removed tokens are replaced by [MASK], and their places stay; the template's tokens and token {at}, which is "
        "read, always stay.",
    )


def test_occlusion_of_what_is_read_off_the_whole_text() -> None:
    """A similarity of the shorter text; a class of each token, whose own token stays; changes of the trace stay."""
    lens = Lens(tiny.bert().double(), tiny.wordpiece())
    trace, other = lens.trace("the cat sat on it"), lens.trace("it was warm")
    found = attribution.occlusion(trace, whatif.similarity(other), "delete")
    far = other.layer_output(2).mean(0)
    for i, word in enumerate(["the", "cat", "sat", "on", "it"], start=1):
        rest = [w for w in ["the", "cat", "sat", "on", "it"] if w != word]
        one = lens.trace(" ".join(rest)).layer_output(2).mean(0)
        value = found.model - float(torch.cosine_similarity(one, far, 0))
        assert float(found.values[i]) == pytest.approx(value, abs=1e-10)

    tags = Lens(tiny.shaken(tf.BertForTokenClassification(tf.BertConfig(**tiny.BERT))).double(), tiny.wordpiece())
    trace = tags.trace("the cat sat on it")
    found = attribution.occlusion(trace, whatif.label(1, position=4), "delete")
    assert found.values.isnan().nonzero()[:, 0].tolist() == [0, 4, 6]
    shorter = tags.trace("cat sat on it").output.logits[0, 3, 1]
    assert float(found.values[1]) == pytest.approx(found.model - float(shorter), abs=1e-10)

    off = whatif.off(1, 2)
    changed = attribution.occlusion(trace.rerun(off), whatif.label(1, position=4), "mask")
    value = tags.trace("the [MASK] sat on it").rerun(off).output.logits[0, 4, 1]
    assert float(changed.values[2]) == pytest.approx(changed.model - float(value), abs=1e-10)


HEADS = {
    "bert": tf.BertForMaskedLM,
    "distilbert": tf.DistilBertForMaskedLM,
    "electra": tf.ElectraForMaskedLM,
    "modernbert": tf.ModernBertForMaskedLM,
    "roberta": tf.RobertaForMaskedLM,
    "gpt2": tf.GPT2LMHeadModel,
}


@pytest.mark.parametrize("name", HEADS)
def test_gradient_input_is_the_slope_along_the_embedding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finite differences in float64: the model itself on word embeddings of which one is (1 ± h) times as long."""
    lens = with_head(name, HEADS[name], monkeypatch)
    trace, step = lens.trace(TEXT), 1e-5
    found = attribution.gradient_input(trace, lambda output: output.logits[0, 3, 7]).values
    words = lens.model.get_input_embeddings()(trace.input_ids)[None].detach()
    roberta = {"position_ids": torch.arange(trace.n_tokens)[None] + 2} if name == "roberta" else {}

    def value(i: int, factor: float) -> float:
        longer = words.clone()
        longer[0, i] *= factor
        with torch.no_grad():
            return float(lens.model(inputs_embeds=longer, **roberta).logits[0, 3, 7])

    slope = [(value(i, 1 + step) - value(i, 1 - step)) / (2 * step) for i in range(trace.n_tokens)]
    assert found.tolist() == pytest.approx(slope, rel=1e-6, abs=1e-9)
    assert float(found.abs().max()) > 1e-4


def test_integrated_gradients_are_the_integral_and_complete() -> None:
    """Against midpoints of a fine path by autograd on inputs_embeds; the gap is within what is printed, and shrinks."""
    lens = words_lens()
    trace = lens.trace(MASKED)
    words = lens.model.get_input_embeddings()(trace.input_ids).detach()
    keeps = torch.tensor([token in ("[CLS]", "[SEP]", "[MASK]") for token in trace.tokens])[:, None]
    for name in attribution.BASELINES:
        number = {"mask": MASK, "pad": 0}.get(name)
        other = torch.zeros_like(words) if number is None else lens.model.get_input_embeddings().weight[number].detach()
        start = torch.where(keeps, words, other)
        along = (torch.arange(400)[:, None, None] + 0.5) / 400
        points = (start + along * (words - start)).requires_grad_()
        logit_of(lens, trace, inputs_embeds=points).backward()
        assert points.grad is not None
        expected = (points.grad.mean(0) * (words - start)).sum(-1)
        found = attribution.integrated_gradients(trace, whatif.logit("cat"), name, steps=128, progress=False)
        torch.testing.assert_close(found.values, expected, atol=3e-4, rtol=0)
        assert found.values[keeps[:, 0]].tolist() == [0, 0, 0]
        assert found.baseline == pytest.approx(
            float(logit_of(lens, trace, inputs_embeds=start[None]).detach()), abs=1e-10
        )
        gaps = [
            abs(attribution.integrated_gradients(trace, whatif.logit("cat"), name, steps=n).gap or 0)
            for n in (1, 2, 4, 8)
        ]
        assert all(more > 2 * less for more, less in itertools.pairwise(gaps)) and gaps[3] < 1e-3 * gaps[0]
        assert found.total == pytest.approx(found.model - (found.baseline or 0) + (found.gap or 0), abs=1e-12)


def test_three_methods_are_captum_s() -> None:
    """The field's library on transformers' own model, given the same word embeddings, baseline, rule and steps."""
    from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients

    lens = words_lens()
    trace, metric = lens.trace(MASKED), whatif.logit("cat")
    words = lens.model.get_input_embeddings()(trace.input_ids)[None].detach()
    keeps = torch.tensor([token in ("[CLS]", "[SEP]", "[MASK]") for token in trace.tokens])
    start = torch.where(keeps[None, :, None], words, lens.model.get_input_embeddings().weight[MASK].detach())

    def of_words(given: Tensor) -> Tensor:
        return torch.stack([logit_of(lens, trace, inputs_embeds=one[None]) for one in given])

    path = IntegratedGradients(of_words).attribute(words, start, n_steps=16, method="gausslegendre")
    found = attribution.integrated_gradients(trace, metric, steps=16, progress=False)
    torch.testing.assert_close(found.values, path[0].sum(-1), atol=1e-10, rtol=0)
    slope = InputXGradient(of_words).attribute(words)
    found = attribution.gradient_input(trace, metric)
    torch.testing.assert_close(found.values, slope[0].sum(-1).detach(), atol=1e-10, rtol=0)

    def of_ids(given: Tensor) -> Tensor:
        return torch.stack([logit_of(lens, trace, input_ids=one[None]) for one in given]).detach()

    ids = trace.input_ids[None]
    removed = FeatureAblation(of_ids).attribute(ids, torch.where(keeps, ids, MASK))
    found = attribution.occlusion(trace, metric, progress=False)
    torch.testing.assert_close(found.values[~keeps], removed[0, ~keeps].double(), atol=1e-6, rtol=0)


def test_steps_are_doubled_until_the_gap_is_small_or_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = words_lens().trace(MASKED)
    monkeypatch.setattr(gradient_methods, "FEWEST_STEPS", 1)
    found = attribution.integrated_gradients(trace, whatif.logit("cat"))
    assert found.gap is not None and found.expected is not None and found.steps is not None
    assert abs(found.gap) <= 0.05 * abs(found.expected) and len(found.notes) == 1
    assert found.steps > 1 and found.steps & (found.steps - 1) == 0
    fewer = attribution.integrated_gradients(trace, whatif.logit("cat"), steps=found.steps // 2)
    assert fewer.gap is not None and abs(fewer.gap) > 0.05 * abs(found.expected)
    monkeypatch.setattr(gradient_methods, "MOST_STEPS", found.steps // 2)
    far = attribution.integrated_gradients(trace, whatif.logit("cat"))
    assert far.steps == found.steps // 2 and far.notes[-1].startswith("Its gap is more than 5%")


def test_batches_of_a_path_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = words_lens().trace(MASKED)
    whole = attribution.integrated_gradients(trace, whatif.logit("cat"), steps=7).values
    monkeypatch.setattr(gradient_methods, "TOKENS", 3 * trace.n_tokens)  # batches that do not fill
    torch.testing.assert_close(
        attribution.integrated_gradients(trace, whatif.logit("cat"), steps=7).values, whole, atol=1e-12, rtol=0
    )


def test_what_is_said_is_so() -> None:
    """The line of every result has its own numbers, and the gap's share is that of the difference."""
    trace = words_lens(torch.float32).trace(MASKED)
    metric = whatif.logit("cat")
    for method in METHODS:
        found = method(trace, metric)
        assert f"{found.method} of logit of cat (logits): sum {found.total:.4f}" in repr(found)
        assert found.total == pytest.approx(float(np.nansum(found.table["value"])) + (found.bias or 0), abs=1e-9)
        if found.gap is None:
            assert f"the number is {metric(trace):.4f}" in repr(found)
        else:
            assert found.expected is not None
            printed = re.search(r"gap (\S+) \((\S+)%\)", repr(found))
            assert printed is not None
            assert float(printed[1]) == pytest.approx(found.gap, rel=0.5, abs=1e-9)
            assert float(printed[2]) == pytest.approx(100 * abs(found.gap / found.expected), abs=0.051)
    pieces = words_lens().trace("the unbelievable cats [MASK]")
    found = attribution.gradient_input(pieces, metric)
    words = found.words
    assert words["word"].tolist() == ["[CLS]", "the", "un ##believ ##able", "cat ##s", "[MASK]", "[SEP]"]
    assert words["value"][2] == pytest.approx(float(found.values[2:5].sum()))
    without = attribution.occlusion(pieces, metric)  # NaN at the template's tokens and at the mask, and nowhere else
    assert without.words["value"].isna().tolist() == [True, False, False, False, True, True]
    assert without.words["value"][2] == pytest.approx(float(without.values[2:5].sum()))


@cases({name: kinds for name, kinds in TOKENS.items() if name != "gpt2"})  # which predicts no masked words
def test_linearised_parts_sum_to_the_logit(name: str, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lens = with_head(name, kind, monkeypatch)
    trace = lens.trace(*PAIR)
    for metric in (whatif.logit(7, position=3), whatif.difference(7, 9, position=3)):
        found = attribution.linearised(trace, metric)
        assert found.expected == found.model == metric(trace)
        assert abs(found.gap or 0) < 1e-10 * max(1, float(found.values.abs().sum()) + abs(found.bias or 0))
        assert found.values.abs().max() > 0.01
    single = Lens(lens.model.float(), lens.tokenizer).trace(*PAIR)
    found = attribution.linearised(single, whatif.logit(7, position=3))
    assert abs(found.gap or 0) < 1e-5 * max(1, float(found.values.abs().sum()) + abs(found.bias or 0))


@cases({name: kinds[:1] for name, kinds in TEXTS.items()} | EACH)
def test_linearised_parts_sum_to_the_class(name: str, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = with_head(name, kind, monkeypatch, num_labels=2).trace(TEXT)
    position = 4 if kind in EACH.get(name, ()) else None
    found = attribution.linearised(trace, whatif.label(1, position=position))
    assert abs(found.gap or 0) < 1e-10 * max(1, float(found.values.abs().sum()) + abs(found.bias or 0))


@EVERY
def test_linearised_similarity_is_the_table_of_pairs_summed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulled back at once, against pushed forward token by token."""
    lens = lens_of(name)
    exact_rotation(lens.model, monkeypatch)
    a, b = lens.trace(TEXT), lens.trace(*PAIR)
    found = attribution.linearised(a, whatif.similarity(b))
    rows = torch.from_numpy(sources.similarity(a, b).sum(axis=1).to_numpy().copy())
    torch.testing.assert_close(found.values, rows[:-1], atol=1e-11, rtol=1e-9)
    assert found.bias == pytest.approx(float(rows[-1]), abs=1e-11)


def test_linearised_is_the_gradient_with_everything_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Autograd through BERT's own modules, weights, deviations and gates detached, times the sum of embeddings."""
    lens = words_lens()
    trace = lens.trace(*PAIR)
    model, at = lens.model, 3
    found = attribution.linearised(trace, whatif.difference("cat", "mat", position=at))

    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, **kwargs: Any) -> Any:
        weights = (query @ key.transpose(2, 3) * kwargs["scaling"]).softmax(-1).detach()
        return (weights @ value).transpose(1, 2).contiguous(), weights

    def norm(self: torch.nn.LayerNorm, u: Tensor) -> Tensor:
        deviation = (u.var(-1, correction=0, keepdim=True) + self.eps).sqrt().detach()
        return (u - u.mean(-1, keepdim=True)) / deviation * self.weight + self.bias

    monkeypatch.setattr(tf.models.bert.modeling_bert, "eager_attention_forward", attend)
    monkeypatch.setattr(torch.nn.LayerNorm, "forward", norm)
    model.config._attn_implementation = "eager"
    for block in [
        *(layer.intermediate.intermediate_act_fn for layer in model.bert.encoder.layer),
        model.cls.predictions.transform.transform_act_fn,
    ]:
        block.register_forward_hook(lambda m, args, out: args[0] * (out / args[0]).detach())
    summed: list[Tensor] = []

    def leaf(module: Any, args: Any) -> Any:
        summed.append(args[0].detach().requires_grad_())
        return (summed[0],)

    model.bert.embeddings.LayerNorm.register_forward_pre_hook(leaf)
    logits = model(input_ids=trace.input_ids[None], token_type_ids=trace.token_type_ids[None]).logits[0, at]
    (logits[CAT] - logits[tiny.VOCABULARY.index("mat")]).backward()
    assert summed[0].grad is not None
    expected = (summed[0].grad * summed[0].detach())[0].sum(-1)
    torch.testing.assert_close(found.values, expected, atol=1e-10, rtol=1e-9)


@pytest.mark.parametrize("reads", ["a word", "the mean"])
def test_attention_gradient_is_the_rollout_of_chefer(reads: str) -> None:
    """By autograd on eager weights, cell by cell."""
    if reads == "a word":
        lens, metric = words_lens(), whatif.logit("cat")
        trace = lens.trace(MASKED)
    else:
        lens = Lens(tiny.bert().double(), tiny.wordpiece())
        trace, metric = lens.trace(TEXT), whatif.similarity(lens.trace("it was warm"))
    found = attribution.attention_gradient(trace, metric)
    lens.model.set_attn_implementation("eager")
    output = lens.model(input_ids=trace.input_ids[None], output_attentions=True)
    for weights in output.attentions:
        weights.retain_grad()
    metric.bind(trace)(output).backward()
    size = trace.n_tokens
    relevance = torch.eye(size, dtype=torch.float64)
    for weights in output.attentions:
        product = weights.detach()[0] * weights.grad[0]
        mean = torch.zeros(size, size, dtype=torch.float64)
        for head in product:
            mean += head.clamp(min=0) / len(product)
        relevance = relevance + mean @ relevance
    at = trace.tokens.index("[MASK]") if reads == "a word" else slice(None)
    relevance = relevance - torch.eye(size, dtype=torch.float64)
    expected = relevance[at] if reads == "a word" else relevance.mean(0)
    torch.testing.assert_close(found.values, expected, atol=1e-12, rtol=1e-9)
    assert f"{1 if reads == 'a word' else size} token" in found.notes[0]


def test_changed_runs_are_attributed_with_their_changes() -> None:
    """A head that is off lets nothing through; the slope is that of the changed run."""
    lens = words_lens()
    changed = lens.trace(MASKED).rerun(*(whatif.off(layer) for layer in range(3)))
    metric = whatif.logit("cat")
    at = changed.tokens.index("[MASK]")
    found = attribution.attention_gradient(changed, metric)
    assert not found.values.any()
    slope = attribution.gradient_input(changed, metric).values
    assert [i for i, value in enumerate(slope.tolist()) if value] == [at]
    gradient = attribution.integrated_gradients(changed, metric)
    assert gradient.model == pytest.approx(metric(changed)) and gradient.baseline == pytest.approx(metric(changed))
    with pytest.raises(ModelError, match=r"trace\.original"):
        attribution.linearised(changed, metric)


def test_the_model_is_left_as_it_was() -> None:
    lens = words_lens()
    trace = lens.trace(MASKED)
    embedding = lens.model.get_input_embeddings()
    for method in METHODS:
        method(trace, whatif.logit("cat"))
    assert not embedding._forward_hooks and not embedding._forward_pre_hooks
    assert all(parameter.grad is None for parameter in lens.model.parameters())
    with pytest.raises(InputError):
        attribution.gradient_input(trace, lambda output: 1.0)  # type: ignore[arg-type, return-value]
    assert not embedding._forward_hooks
    assert torch.equal(trace.rerun().hidden_states[-1], trace.hidden_states[-1])


def test_what_cannot_be_had_is_one_sentence() -> None:
    words, plain = words_lens().trace(MASKED), Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat")
    idle = plain.rerun(whatif.scale(0, 1, 1))
    gpt = Lens(tiny.FAMILIES["gpt2"].model(), tiny.gpt_like()).trace("the cat sat")
    inside = "t5 encoder" in tiny.FAMILIES  # which came to the attention interface with a later transformers 5
    t5 = Lens((tiny.FAMILIES | tiny.OUTSIDE)["t5 encoder"].model(), tiny.wordpiece()).trace("the cat sat")
    given = Trace.from_attentions(torch.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    outside = tiny.OUTSIDE["xlm"]
    eager = Lens(tiny.shaken(outside.model()), outside.tokenizer()).trace("the cat sat")
    number: Any = lambda output: output.last_hidden_state[0, 0, 0]  # noqa: E731
    cut = whatif.cut(0, 0, query=2, key=3)
    logit, similarity = whatif.logit("cat"), whatif.similarity()
    cases: list[tuple[Any, type[BertLensError], str]] = [
        (lambda: attribution.occlusion(words, logit, "drop"), SelectionError, "there are mask, delete, hide"),
        (lambda: attribution.occlusion(gpt, number), ModelError, "use remove='delete' or remove='hide'"),
        (
            lambda: attribution.occlusion(gpt, number, "hide"),
            SelectionError,
            "no key left in any head of layer 0: use rem",
        ),
        (lambda: attribution.gradient_input(t5, number), ModelError, "looks words up elsewhere" if inside else "T5"),
        (lambda: attribution.occlusion(words.rerun(cut), logit, "delete"), ModelError, "use remove='mask'"),
        (lambda: attribution.occlusion(words_lens().trace("[MASK]"), logit), InputError, "no token of this text can"),
        (lambda: attribution.gradient_input(plain, similarity), InputError, "use occlusion, or another metric"),
        (lambda: attribution.attention_gradient(plain, similarity), InputError, "begins at its extreme"),
        (lambda: attribution.gradient_input(idle, similarity), InputError, "begins at its extreme"),
        (lambda: attribution.integrated_gradients(words, logit, "noise"), SelectionError, "there are mask, pad, zero"),
        (lambda: attribution.integrated_gradients(gpt, number), ModelError, "use baseline='zero'"),
        (lambda: attribution.integrated_gradients(words, logit, steps=0), InputError, "steps must be a whole number"),
        (lambda: attribution.linearised(words, whatif.probability("cat")), InputError, "use whatif.logit, difference"),
        (lambda: attribution.linearised(plain, number), InputError, "a function of the output is no sum of parts"),
        *((lambda m=m: m(given, number), ModelError, "attention weights") for m in METHODS),
        *((lambda m=m: m(eager, number), ModelError, "XLM") for m in METHODS),
        *((lambda m=m: m(plain, logit), ModelError, "predicts no words") for m in METHODS),
        *((lambda m=m: m(plain, "logit"), InputError, "metric is one of whatif.logit") for m in METHODS),
    ]
    for at, (call, kind, said) in enumerate(cases):
        with pytest.raises(kind) as caught:
            call()
        assert said in str(caught.value) and "\n" not in str(caught.value), (at, caught.value)


@pytest.mark.skipif(not tf.CTRLModel._supports_sdpa, reason="CTRL has no attention interface in this transformers")
def test_a_model_that_scales_its_embeddings_in_place() -> None:
    """CTRL: the gradient at the words themselves, against differences of runs with one entry a little larger."""
    config = tf.CTRLConfig(vocab_size=300, n_positions=64, n_embd=32, n_layer=2, n_head=4, dff=48)
    lens = Lens(tiny.shaken(tf.CTRLModel(config)).double(), tiny.gpt_like())
    trace = lens.trace("the cat")
    inputs = trace.inputs()

    def metric(output: Any) -> torch.Tensor:
        return output[0].pow(3).sum((1, 2))

    _, words, gradient = word_gradients(lens.borrowed, inputs, metric)
    for token, entry in ((0, 0), (1, 7), (1, 31)):
        step = torch.zeros_like(words)
        step[0, token, entry] = 1e-5
        up, down = (float(word_gradients(lens.borrowed, inputs, metric, words=words + s)[0]) for s in (step, -step))
        assert float(gradient[0, token, entry]) == pytest.approx((up - down) / 2e-5, rel=1e-5)
