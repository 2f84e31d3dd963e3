"""The answer over how loud a head is: against runs one by one, and what of it pages are told and hold."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
import torch

from bertlens import Lens, whatif
from bertlens.base.vocabulary.constants import LOUDNESS
from bertlens.run.changes import base
from bertlens.whatif import before_after, single_changes, sweeps
from bertlens.whatif import loudness as whatif_loudness
from bertlens.whatif.before_after import answers
from bertlens.widgets.answers import first_answer
from bertlens.widgets.answers import loudness_curve as answer
from bertlens.widgets.answers.first_answer import saved_heads
from bertlens.widgets.messages.records import Selection
from unit.asking import question
from unit.whatif.test_effects import CLASSES, HEAD, KEY, LAYER, lens_of, numbers, traced

THERE: dict[str, Any] = {
    "nothing": (),
    "this head": (whatif.off(0, 1), whatif.off(LAYER, HEAD)),
    "another layer": (whatif.off(LAYER - 1), whatif.dim(KEY, 0.5)),
    "its loudness": (whatif.scale(LAYER, HEAD, 0.3), whatif.hide(KEY)),
    "more": (whatif.scale(LAYER, None, 0.5), whatif.mean(LAYER, HEAD), whatif.cut(LAYER, HEAD, 3, KEY)),
}
BARE = ("similarity", "embedding")  # answers without a name


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "there"),
    [
        *((name, "nothing") for name in CLASSES),
        *(("words", "more"), ("labels", "its loudness"), ("embedding", "this head")),
        *(("similarity", "this head"), ("words", "another layer")),
    ],
)
def test_the_nine_are_runs_of_their_own(name: str, there: str) -> None:
    trace = traced(name)
    run = trace.rerun(*THERE[there]) if THERE[there] else trace
    fields, arrays = answer.loudness(run, LAYER, HEAD)
    plain = trace.rerun(*base(run.changes, whatif.scale(LAYER, HEAD, 1)))
    record = answers(plain)
    assert (fields["kind"], fields["unit"], fields["why_not"]) == (record.kind, record.unit, "")
    assert fields["rows"] == [(row.position, row.name) for row in record.rows]
    assert fields["factors"] == list(LOUDNESS) and arrays["values"].dtype == torch.float32
    assert arrays["values"].shape == (len(LOUDNESS), len(record.rows))
    for factor in (0, 0.75, 2):
        row = arrays["values"][LOUDNESS.index(factor)]
        single = numbers(plain.rerun(whatif.scale(LAYER, HEAD, factor)), record.kind)
        places = [(at, "" if record.kind in BARE else word) for at, word in fields["rows"]]
        np.testing.assert_allclose(row, [single[place] for place in places], atol=3e-6)
    np.testing.assert_array_equal(arrays["values"][LOUDNESS.index(1)], np.float32([row.after for row in record.rows]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CLASSES)
def test_heads_together_are_runs_with_all_of_them_as_loud(name: str) -> None:
    """What the run does to one of them already is left out."""
    trace = traced(name)
    heads = [(LAYER, HEAD), (0, 1), (LAYER, HEAD - 1)]
    run = trace.rerun(whatif.off(0, 1), whatif.scale(LAYER, HEAD, 0.3))
    for of in (trace, run):
        fields, arrays = answer.loudness(of, *heads[0], partners=tuple(heads[1:]), patience=60)
        assert fields["why_not"] == "" and (fields["layer"], fields["head"]) == heads[0]
        for factor in LOUDNESS:
            single = numbers(trace.rerun(*(whatif.scale(*head, factor) for head in heads)), fields["kind"])
            places = [(at, "" if fields["kind"] in BARE else word) for at, word in fields["rows"]]
            row = arrays["values"][LOUDNESS.index(factor)]
            np.testing.assert_allclose(row, [single[place] for place in places], atol=3e-6)
    alone = answer.loudness(trace, *heads[0])[1]["values"]
    assert not np.allclose(
        alone, answer.loudness(trace, *heads[0], partners=((0, 1),), patience=60)[1]["values"], atol=1e-6
    )


def test_heads_together_have_turns_and_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = lens_of(CLASSES["words"][0]).trace(*CLASSES["words"][1])
    monkeypatch.setattr(sweeps, "TOKENS_AT_ONCE", trace.n_tokens)
    turns = [answer.loudness(trace, 0, 0, partners=((1, 1),), patience=0) for _ in range(8)]
    assert [fields.get("again", False) for fields, _ in turns] == [True] * 7 + [False]
    off = trace.rerun(whatif.off(1))
    assert "all heads of layer 1 are off" in answer.loudness(off, 0, 0, partners=((1, 1),))[0]["why_not"]
    view = traced("words").explore()
    for partners, told in (
        (7, "up to 6"),
        ([[0, 0]] * 6, "up to 6"),
        ([[0]], "up to 6"),
        ([[9, 0]], "layer 9 does not"),
    ):
        assert told in question(view, op="loudness", layer=0, head=0, partners=partners)[0]["error"]


def test_with_a_target_its_row_is_the_first() -> None:
    trace = traced("words")
    word = trace.predictions(k=9)["token"][8]
    fields, arrays = answer.loudness(trace, LAYER, HEAD, word)
    assert fields["rows"][0] == (3, word) and len(fields["rows"]) == 6
    off = trace.rerun(whatif.off(LAYER, HEAD)).predictions(k=1000).set_index("token")["probability"]
    assert arrays["values"][0, 0] == pytest.approx(off[word], abs=1e-6)


def test_layers_before_the_first_head_are_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a long text has its batches in turns."""
    trace = lens_of(CLASSES["words"][0]).trace(*CLASSES["words"][1])
    calls: list[int] = []
    for n, layer in enumerate(trace.model.base.encoder.layer):  # type: ignore[union-attr]
        layer.attention.self.register_forward_hook(lambda *_, n=n: calls.append(n))
    whole = answer.loudness(trace, 2, HEAD)[1]["values"]
    assert sorted(calls) == [0, 1, 2, 2]
    calls.clear()
    answer.loudness(trace, 2, HEAD, partners=((1, 0), (2, 0)))
    assert sorted(calls) == [0, 1, 1, 2, 2]
    monkeypatch.setattr(sweeps, "TOKENS_AT_ONCE", 3 * trace.n_tokens)
    other = lens_of(CLASSES["words"][0]).trace(*CLASSES["words"][1])
    turns = [answer.loudness(other, 2, HEAD, patience=0) for _ in range(3)]
    assert [fields.get("again", False) for fields, _ in turns] == [True, True, False]
    np.testing.assert_allclose(turns[-1][1]["values"], whole, atol=1e-6)


def test_the_steps_of_a_large_model_have_so_much_work_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced("words")
    whole = answer.loudness(trace, LAYER, HEAD)[1]["values"]
    assert [len(batch) for batch in sweeps.batches(trace, range(8))] == [8]
    assert [len(batch) for batch in sweeps.batches(trace, range(8), sweeps.work(trace, 3.5))] == [3, 3, 2]
    assert [len(batch) for batch in sweeps.batches(trace, range(8), 0)] == [1] * 8
    monkeypatch.setattr(whatif_loudness, "STEP_WORK", sweeps.work(trace, 2))
    other = lens_of(CLASSES["words"][0]).trace(*CLASSES["words"][1])
    turns = [answer.loudness(other, LAYER, HEAD, patience=0) for _ in range(4)]
    assert [fields.get("again", False) for fields, _ in turns] == [True, True, True, False]
    np.testing.assert_allclose(turns[-1][1]["values"], whole, atol=1e-6)


def test_of_a_vocabulary_only_what_is_shown_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, references, most = lens_of(CLASSES["words"][0]).trace(*CLASSES["words"][1]), [], []

    def counted(*args: Any) -> Any:
        unit, outputs = before_after.numbers_of(*args)
        references.extend(weakref.ref(row) for numbers in outputs for row in numbers.values())
        most.append(sum(reference() is not None for reference in references))
        return unit, outputs

    monkeypatch.setattr(whatif_loudness, "numbers_of", counted)
    assert answer.loudness(trace, LAYER, HEAD)[1]["values"].shape[0] == len(LOUDNESS) < len(most)
    assert max(most) <= 2


def test_no_answer_is_one_sentence() -> None:
    trace = lens_of(CLASSES["words"][0]).trace("the cat sat")
    fields, arrays = answer.loudness(trace, 0, 0)
    assert "[MASK]" in fields["why_not"] and fields["rows"] == [] and arrays["values"].shape == (9, 0)
    fields, _ = answer.loudness(traced("labels"), 0, 0, "NO SUCH LABEL")
    assert "no label" in fields["why_not"].lower()
    view = traced("words").explore()
    assert question(view, op="loudness", layer=9, head=0)[0]["error"].startswith("layer 9 does not exist")


def test_what_a_saved_page_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced("labels")
    selection = Selection(((LAYER, HEAD), (0, 1)), settings={"target": "LABEL_2"})
    shown = {"layer": LAYER, "head": HEAD}
    sent = list(answer.carried(trace, selection))
    for target in ({}, {"target": "LABEL_2"}):
        heads = [(layer, head) for layer, head, _ in saved_heads(trace, **target)[0]["heads"][:6]]
        strongest = [
            {"layer": layer, "head": head, **target} for layer, head in heads if (layer, head) != (LAYER, HEAD)
        ]
        own = [message for message in sent if message.get("target", "") == target.get("target", "")]
        assert own == [shown | target, *strongest] and len(own) in (6, 7)
    monkeypatch.setattr(single_changes, "ALONE_WORK", 0)
    assert single_changes.why_not(trace) and list(answer.carried(trace, selection)) == []


def test_a_saved_page_holds_the_sets_where_no_head_matters_alone(language_model: Lens) -> None:
    trace = language_model.trace("The cat did [MASK] drink the milk because it was sour.")
    heads = [[layer, head] for layer, head, _ in first_answer.saved_head_sets(trace)[0]["heads"]]
    sets = [{"layer": 1, "head": 9, "partners": heads[1:size]} for size in range(2, 7)]
    assert heads[0] == [1, 9] and [*answer.carried_sets(trace, [])] == sets
    milk = "The cat did not drink the milk because the [MASK] was sour."
    assert [*answer.carried_sets(language_model.trace(milk), [])] == []


def test_the_shares_of_an_encoders_runs() -> None:
    """At each factor those of its own run, which add up to 1; a pair has none."""
    trace = traced("embedding")
    shares = answer.loudness(trace, LAYER, HEAD)[1]["shares"]
    assert shares.shape == (len(LOUDNESS), trace.n_tokens)
    for factor, row in zip(LOUDNESS, shares, strict=True):
        states = trace.rerun(whatif.scale(LAYER, HEAD, factor)).output.last_hidden_state[0].double()
        vector = states.mean(0)
        own = states @ vector / trace.n_tokens / (vector @ vector)
        torch.testing.assert_close(row.double(), own, atol=1e-5, rtol=0)
        assert float(row.sum()) == pytest.approx(1, abs=1e-5)
    assert "shares" not in answer.loudness(traced("similarity"), LAYER, HEAD)[1]
