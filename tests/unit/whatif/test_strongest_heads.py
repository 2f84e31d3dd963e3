"""The heads that matter most to the first number of an answer: against runs one by one, and silenced rows."""

from __future__ import annotations

import gc
import math
import weakref
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import Lens, whatif
from bertlens.base.limits import LIMITS
from bertlens.measures.gradients import gradients
from bertlens.run.forward import output_of
from bertlens.sentences.unrelated import TEXTS
from bertlens.whatif import reruns, sweeps, swept_numbers
from bertlens.whatif import strongest_heads as strongest
from bertlens.whatif.strongest_heads import strongest_heads
from bertlens.widgets.answers import first_answer
from bertlens.widgets.answers.first_answer import heads_that_matter, shares
from bertlens.widgets.first_head import opening
from bertlens.widgets.messages.records import Selection
from bertlens.widgets.questions import QUESTIONS
from unit import tiny

PAIR = ("the cat sat on the mat", "it was very warm")
MASKED = "the cat [MASK] on the mat"
TIRED = "The cat did not drink the milk because the [MASK] was tired."
KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "words": (tf.BertForMaskedLM, (MASKED,)),
    "labels": (tf.BertForSequenceClassification, ("the cat sat on the mat",)),
    "tags": (tf.BertForTokenClassification, ("the cat sat on the mat",)),
    "span": (tf.BertForQuestionAnswering, PAIR),
    "similarity": (tf.BertModel, PAIR),
    "embedding": (tf.BertModel, ("the cat sat on the mat",)),
}


@cache
def lens_of(kind: str, **settings: Any) -> Lens:
    config = tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 3} | settings)
    return Lens(tiny.shaken(KINDS[kind][0](config), 0), tiny.wordpiece())


def drawn(run: Any, name: str, position: int) -> float:
    """The number of a bar of a run as the page draws it."""
    rows = whatif.answers(run, 1000).rows
    return next(row.after for row in rows if row.name == name and row.position == position)


def as_bar(kind: str, number: float) -> float:
    return 1 - number if kind == "embedding" else number


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changed", [False, True])
def test_each_change_is_a_run_without_the_head(kind: str, changed: bool) -> None:
    trace = lens_of(kind).trace(*KINDS[kind][1])
    earlier = [whatif.off(1, 2)] if changed else []
    run = trace.rerun(*earlier) if changed else trace
    first = whatif.answers(run).rows[0]
    outcome = strongest_heads(run)
    assert outcome.number.before == pytest.approx(as_bar(kind, first.after), abs=1e-6)
    assert len(outcome.heads) == 8 and len({head[:2] for head in outcome.heads}) == 8
    for layer, head, change in outcome.heads:
        before = trace if changed and (layer, head) == (1, 2) else run
        after = before.rerun(whatif.off(layer, head))
        numbers = [as_bar(kind, drawn(one, first.name, first.position)) for one in (before, after)]
        assert change == pytest.approx(numbers[1] - numbers[0], abs=2e-6), (layer, head)
    assert [abs(one[2]) for one in outcome.heads] == sorted((abs(one[2]) for one in outcome.heads), reverse=True)
    if changed:
        assert (1, 2) in {one[:2] for one in outcome.heads}


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_is_the_largest_by_brute_force(kind: str) -> None:
    """Every head off in a run of its own, whole."""
    trace = lens_of(kind).trace(*KINDS[kind][1])
    first = whatif.answers(trace).rows[0]
    outcome = strongest_heads(trace)
    assert outcome.tried == trace.n_layers * trace.n_heads
    before = as_bar(kind, drawn(trace, first.name, first.position))
    every = {
        (layer, head): as_bar(kind, drawn(trace.rerun(whatif.off(layer, head)), first.name, first.position)) - before
        for layer in range(trace.n_layers)
        for head in range(trace.n_heads)
    }
    for head, change in every.items():
        assert float(outcome.changes[head]) == pytest.approx(change, abs=2e-6), head
    sizes = {head: abs(change) for head, change in every.items()}
    assert sizes[outcome.heads[0][:2]] >= max(sizes.values()) - 3e-6
    few = strongest_heads(lens_of(kind).trace(*KINDS[kind][1]), most=3)
    assert few.tried == (outcome.tried if kind == "embedding" else 3)
    assert all(float(outcome.changes[layer, head]) == pytest.approx(one, abs=2e-6) for layer, head, one in few.heads)


def test_sizes_that_are_alike_stand_in_the_order_of_layers() -> None:
    sizes = {(1, 0): 0.3, (0, 3): 0.3 - 9e-7, (0, 1): 0.1, (2, 2): 0.3 - 5e-6, (1, 1): -math.inf}
    assert strongest.in_order(sizes) == [(0, 3), (1, 0), (2, 2), (0, 1), (1, 1)]


def test_the_eight_are_the_largest_estimates_and_all_are_run_where_there_is_no_slope(language_model: Lens) -> None:
    trace = language_model.trace(TIRED)
    size = whatif.estimate(trace, whatif.probability("cat")).abs()
    largest = {divmod(n, trace.n_heads) for n in size.flatten().topk(8).indices.tolist()}
    outcome = strongest_heads(trace, most=8)
    assert {head[:2] for head in outcome.heads} == largest
    assert outcome.heads[0][:2] == (5, 7) and outcome.number.name == "cat"
    exact = {head[:2]: head[2] for head in outcome.heads}
    slopes = whatif.estimate(trace, whatif.probability("cat"))
    for (layer, head), change in np.ndenumerate(outcome.changes.numpy()):
        assert change == pytest.approx(exact.get((layer, head), float(slopes[layer, head])), abs=1e-5)  # float32
    one = lens_of("embedding").trace(*KINDS["embedding"][1])
    every = -whatif.sweep(one, whatif.similarity(), progress=False)
    best = every.flatten().topk(8)
    assert [a * one.n_heads + b for a, b, _ in strongest_heads(one).heads] == best.indices.tolist()
    fields, _ = heads_that_matter(trace, patience=60)
    assert (fields["tried"], fields["limit_of_all"], fields["runs"]) == (8, "", 0)
    fields, _ = heads_that_matter(trace, most=20, patience=60)
    assert fields["tried"] == 20
    assert torch.equal(strongest_heads(one).changes, every.double())
    assert heads_that_matter(one, patience=60)[0]["tried"] == every.numel() > 8


def test_a_probability_near_to_1_is_told_by_its_log_odds(language_model: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = language_model.trace("Paris is the capital of [MASK].")
    number = strongest_heads(trace).number
    heads = [(0, 0, -0.01), (0, 1, 0.009), (0, 2, -0.002)]
    steps = SimpleNamespace(slopes=None, exact=lambda run, _bases: [[(h[:2], h[2]) for h in heads if h[:2] in run]])
    for before, order in ((0.5, [0, 1, 2]), (0.985, [1, 0, 2])):
        strongest.effects_of_runs(trace).clear()
        of = replace(number, unit="probability", before=before, swept=steps)
        monkeypatch.setattr(strongest, "first_number", lambda *_, of=of: of)
        outcome = strongest_heads(trace)
        assert outcome.heads == tuple(heads[n] for n in order)  # the changes stay those of the probability


def silenced(trace: Any, layer: int, head: int, word: int) -> torch.Tensor:
    """(S,) the probability of a word at the mask where one row of a head passes nothing on, by a hook on the model."""
    attention = trace.model.base.encoder.layer[layer].attention.self
    size, rows = trace.head_dim, range(trace.n_tokens)

    def silence(_module: Any, _args: Any, output: Any) -> Any:
        context = output[0].clone()
        for row in rows:
            context[row, row, head * size : (head + 1) * size] = 0
        return (context, *output[1:])

    hook = attention.register_forward_hook(silence)
    try:
        with torch.no_grad():
            logits = trace.model.runner(**trace.inputs(trace.n_tokens)).logits
    finally:
        hook.remove()
    return logits[:, trace.tokens.index("[MASK]")].double().softmax(-1)[:, word]


@pytest.mark.parametrize("text", [TIRED, TIRED.replace("tired", "sour")])
def test_the_row_is_the_one_whose_silence_moves_the_answer_most(language_model: Lens, text: str) -> None:
    trace = language_model.trace(text)
    outcome = strongest_heads(trace)
    word = trace.model.tokenizer.convert_tokens_to_ids(outcome.number.name)
    for (layer, head, _), row in list(zip(outcome.heads, outcome.rows, strict=True))[:4]:
        moves = (silenced(trace, layer, head, word) - outcome.number.before).abs()
        assert row == int(moves.argmax()), (layer, head)


def test_a_target_is_asked_about_in_its_own_number(language_model: Lens) -> None:
    trace = language_model.trace(TIRED)
    fields, _ = heads_that_matter(trace, "dog", patience=60)
    assert fields["name"] == "dog" and fields["before"] == pytest.approx(0.0321, abs=1e-3)
    layer, head, change = fields["heads"][0]
    after = drawn(trace.rerun(whatif.off(layer, head)), "dog", trace.tokens.index("[MASK]"))
    assert change == pytest.approx(after - fields["before"], abs=1e-6)


def test_turns_end_in_the_same_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, other = (lens_of("words").trace(*KINDS["words"][1]) for _ in range(2))
    monkeypatch.setattr(sweeps, "TOKENS_AT_ONCE", 3 * trace.n_tokens)
    shares_done: list[float] = []
    while (fields := heads_that_matter(trace, patience=0)[0]).get("again"):
        shares_done.append(fields["done"])
    assert len(shares_done) >= 3 and shares_done == sorted(shares_done) and shares_done[0] > 0 and shares_done[-1] == 1
    assert fields == heads_that_matter(other, patience=60)[0]


@pytest.mark.parametrize(("kind", "texts"), [("words", 1), ("similarity", 2)])
def test_no_step_grows_with_the_changes_of_a_run(kind: str, texts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A head that is off is compared with a run of its own."""
    heads = [(layer, head) for layer in range(2) for head in range(2)]
    trace = lens_of(kind).trace(*KINDS[kind][1]).rerun(*(whatif.off(*head) for head in heads))
    passes, most, steps = list[Any](), 0, 0
    monkeypatch.setattr(sweeps, "output_of", lambda *args: passes.append(args) or output_of(*args))
    while heads_that_matter(trace, patience=0)[0].get("again"):
        steps, most = steps + 1, max(most, len(passes))
        passes.clear()
    assert steps >= 2 + len(heads)
    assert 0 < most <= texts * (1 + trace.n_layers)


def test_two_texts_are_run_with_the_changes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = lens_of("similarity").trace(*PAIR).rerun(whatif.off(0, 1))
    before = whatif.answers(trace)
    monkeypatch.setattr(reruns, "run", None)
    assert whatif.answers(trace) == before
    assert strongest_heads(trace).number.before == before.rows[0].after


@pytest.mark.parametrize("kind", ["words", "similarity"])
@pytest.mark.parametrize("patience", [0, 60])
def test_a_trace_whose_heads_were_ranked_is_freed_at_once(kind: str, patience: float) -> None:
    """Also where the work was only begun, and of a changed run."""
    trace = lens_of(kind).trace(*KINDS[kind][1]).rerun(whatif.off(0, 1))
    assert heads_that_matter(trace, patience=patience)[0].get("again", False) == (patience == 0)
    freed = weakref.ref(trace)
    gc.collect()
    gc.disable()
    try:
        del trace
        assert freed() is None
    finally:
        gc.enable()


def test_the_opening_and_the_ranking_share_one_backward_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, calls = lens_of("words").trace(*KINDS["words"][1]), []
    monkeypatch.setattr(sweeps, "gradients", lambda *args, **kw: calls.append(args) or gradients(*args, **kw))
    opening(trace)
    strongest_heads(trace)
    assert len(calls) == 1


def test_slopes_of_tokens_that_the_pair_has_not_are_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    text = KINDS["similarity"][1]
    lens = lens_of("similarity")
    plain = lens.trace(*text)
    estimated = swept_numbers.swept_number(plain, "similarity").estimated
    assert estimated is not None and min(strongest_heads(plain).rows) >= 0
    monkeypatch.setattr(swept_numbers, "pair_positions", lambda *args: {})  # as where a text alone is cut elsewhere
    trace = lens.trace(*text)
    number = swept_numbers.swept_number(trace, "similarity").estimated
    assert number is not None
    torch.testing.assert_close(number(), estimated())
    assert set(strongest_heads(trace).rows) == {-1}
    cell = opening(trace)
    assert (cell["layer"], cell["head"]) == divmod(int(estimated().abs().argmax()), trace.n_heads)
    assert (cell["query"], cell["key"]) == (None, None)


def test_a_change_that_changes_nothing_leaves_no_slope() -> None:
    trace = lens_of("embedding").trace(*KINDS["embedding"][1])
    for change in (whatif.scale(0, 1, 1), whatif.dim(2, 1)):
        assert strongest.first_number(trace.rerun(change)).swept.slopes is None
    assert strongest.first_number(trace.rerun(whatif.off(0, 1))).swept.slopes is not None


def test_long_texts_many_heads_and_models_without_an_answer_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = lens_of("words").trace(MASKED)
    monkeypatch.setitem(LIMITS, "effects", LIMITS["effects"].__class__(4, "", ""))
    fields, _ = heads_that_matter(trace)
    assert fields["heads"] == [] and "8 tokens" in fields["limit"] and fields["limit"].endswith("on request.")
    assert fields["runs"] == 3 + 8 / 2
    outcome = heads_that_matter(trace, long=True, patience=60)[0]
    assert outcome["heads"] and outcome["runs"] == 0
    monkeypatch.undo()
    monkeypatch.setattr(first_answer, "HEADS_WORK", 1)
    fields, _ = heads_that_matter(trace, patience=60)
    assert fields["tried"] == 8 and "12 heads" in fields["limit_of_all"] and fields["runs"] == 3 + 12 / 2
    monkeypatch.setitem(LIMITS, "all_heads", LIMITS["all_heads"].__class__(4, "", ""))
    assert "8 tokens" in heads_that_matter(trace, patience=60)[0]["limit_of_all"]
    assert heads_that_matter(trace, most=12, patience=60)[0]["tried"] == 12
    fields, _ = heads_that_matter(lens_of("embedding").trace("the cat sat"))
    assert fields["heads"] == [] and "12 heads" in fields["limit"] and fields["runs"] == 12 / 2
    unmasked, _ = heads_that_matter(lens_of("words").trace("the cat"))
    assert "masked" in unmasked["why_not"] and unmasked["heads"] == []
    given = bl.Trace.from_attentions(trace.attention(0)[None].numpy(), trace.tokens)
    for fields, _ in (heads_that_matter(given), shares(given)):
        assert fields["why_not"].count(".") <= 1 and len(fields["why_not"]) < 200 and fields["why_not"]


def test_a_saved_page_holds_them_of_a_short_text_with_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = lens_of("words").trace(MASKED)
    for longest, count in ((64, 1), (4, 0)):
        monkeypatch.setitem(LIMITS, "carried", LIMITS["carried"].__class__(longest, "", ""))
        question = QUESTIONS["heads_that_matter"]
        assert len([*question.carried(trace, [])]) == count
        chosen = Selection(((0, 0),), settings={"target": "sat"})
        assert [*question.carried_shown(trace, chosen)] == [{"target": "sat"}] * count
        assert question.saved is not None and (count == 0 or len(question.saved(trace)[0]["heads"]) == 8)


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "span"])
def test_a_saved_page_has_the_heads_of_a_kernel_and_runs_them_once(
    kind: str, changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> Any:
        trace = lens_of(kind).trace(*KINDS[kind][1])
        return trace.rerun(whatif.off(1, 2)) if changed else trace

    kernel, arrays = heads_that_matter(run(), most=12, patience=60)
    trace = run()
    if not changed:
        first_answer.changes_alone(trace, "", -1)
        monkeypatch.setattr(sweeps, "output_of", None)
    fields, ours = first_answer.saved_heads(trace)
    assert (fields["tried"], fields["name"], fields["position"]) == (12, kernel["name"], kernel["position"])
    torch.testing.assert_close(torch.as_tensor(ours["changes"]), torch.as_tensor(arrays["changes"]), atol=2e-6, rtol=0)
    assert abs(fields["heads"][0][2]) == pytest.approx(abs(kernel["heads"][0][2]), abs=2e-6)


def test_unrelated_texts_are_read_as_the_two_that_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    lens = lens_of("similarity", num_hidden_layers=2)
    run = lens.trace(*PAIR).rerun(whatif.off(0))
    question = QUESTIONS["unrelated"]
    assert [*question.carried(run.original, [])] == []
    monkeypatch.setattr(first_answer, "BAND_WORK", 1)
    assert first_answer.unrelated(run)[0]["why_not"].startswith("reading 48 unrelated texts takes a while")
    monkeypatch.undo()
    fields, _ = first_answer.unrelated(run)
    states = [lens.trace(text).output.last_hidden_state[0].double().mean(0) for text in TEXTS]
    vectors = torch.nn.functional.normalize(torch.stack(states), dim=1)
    pairs = [float(vectors[i] @ vectors[j]) for i in range(len(TEXTS)) for j in range(i)]
    assert (fields["n"], fields["pairs"], fields["why_not"]) == (48, len(pairs), "")
    wanted = torch.tensor(pairs, dtype=torch.float64).quantile(torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64))
    assert [fields[name] for name in ("low", "median", "high")] == pytest.approx(wanted.tolist(), abs=1e-5)
    assert [*question.carried(run.original, [])] == [{}]
    assert "two" in first_answer.unrelated(lens.trace(PAIR[0]))[0]["why_not"]
