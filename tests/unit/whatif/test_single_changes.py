"""Each head off and each token hidden, as a saved page holds them: against runs of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import transformers as tf

from bertlens import Lens, ModelError, Trace, whatif
from bertlens.base import limits
from bertlens.base.vocabulary.phrases import NO_KEY
from bertlens.base.wire import pack
from bertlens.whatif import single_changes as module
from bertlens.whatif.effects import Effect
from bertlens.whatif.single_changes import single_changes, why_not
from bertlens.whatif.swept_numbers import swept_numbers
from bertlens.widgets.answers import matter
from bertlens.widgets.answers.whatif import matters_exact
from unit import tiny
from unit.whatif.test_effects import CLASSES, first_at, lens_of, numbers, traced


def changes_of(trace: Trace) -> list[Any]:
    heads = [whatif.off(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    return [*heads, *(whatif.hide(token) for token in range(trace.n_tokens))]


def without(trace: Trace, change: Any) -> Trace:
    """The run without a head's or a token's change, where it has that or one of the whole layer."""
    wider = whatif.off(change.layer) if hasattr(change, "layer") else change
    return trace.original.rerun(*(one for one in trace.changes if one not in (change, wider)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("name", CLASSES)
def test_every_number_is_that_of_a_run_of_its_own(name: str, changed: bool) -> None:
    trace = traced(name)
    if changed:
        trace = trace.rerun(whatif.off(0, 1), whatif.mlp(2), whatif.off(1), whatif.hide(2))
    found = single_changes(trace)
    kind = name.split(",")[0]
    assert found.kind == kind
    before = numbers(trace, kind)
    named = [(at, "" if kind in ("similarity", "embedding") else answer) for at, answer, _ in found.places]
    wanted = {"words": trace.tokens.count("[MASK]"), "tags": int((~trace.special_mask).sum())}
    assert len(set(named)) == len(named) == wanted.get(kind, 1)
    for place, (_, _, value) in zip(named, found.places, strict=True):
        assert value == pytest.approx(before[place], abs=2e-6)
        assert place[1] == first_at(before, kind, place[0])
    changes = changes_of(trace)
    rows = [*found.heads, *found.tokens]
    assert len(rows) == len(changes)
    moved = 0.0
    for row, change in zip(rows, changes, strict=True):
        rest = without(trace, change)
        before, after = numbers(rest, kind), numbers(rest.rerun(change), kind)
        assert isinstance(row, tuple)
        for (at, _), effect in zip(named, row, strict=True):
            place = at, first_at(before, kind, at)
            assert effect.before == pytest.approx(before[place], abs=2e-6)
            assert effect.after == pytest.approx(after[place], abs=2e-6)
            first = first_at(after, kind, at)
            assert effect.first == ("" if first == place[1] else first)
            moved = max(moved, abs(effect.after - effect.before))
    assert moved > 1e-4
    for metric in swept_numbers(trace):
        exact = np.concatenate([matters_exact(trace, metric, n)[1]["values"] for n in range(trace.n_layers)])
        assert found.swept[metric] == pytest.approx(exact, abs=2e-6)
    assert list(found.swept) == list(swept_numbers(trace))


@pytest.mark.parametrize("name", CLASSES)
def test_the_page_gets_them_packed(name: str) -> None:
    trace = traced(name)
    fields, arrays = matter.each_matters(trace)
    found = single_changes(trace)
    rows = [*found.heads, *found.tokens]
    assert fields["why_not"] == "" and (fields["kind"], fields["unit"]) == (found.kind, found.unit)
    is_lone = name == "labels, regression"  # one number, without a name
    places = [(at, "" if is_lone else label, number) for at, label, number in found.places]
    assert fields["places"] == places and fields["refused"] == []
    first = {(n, at): (word, value) for n, at, word, value in fields["first"]}
    for n, row in enumerate(rows):
        for at, effect in enumerate(row):
            assert isinstance(effect, Effect)
            assert fields["places"][at][2] + arrays["change"][n, at] == pytest.approx(effect.after, abs=1e-6)
            assert fields["cover"] == []
            assert first.get((n, at), ("", effect.first_value)) == (effect.first, effect.first_value)
    assert arrays["swept"] == pytest.approx(np.array(list(found.swept.values())), abs=1e-6)
    assert all(array.dtype == np.float32 for array in arrays.values())


def test_runs_share_batches_and_begin_at_their_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced("words")
    sizes: list[int] = []
    assert trace.lens is not None and isinstance(trace.lens, Lens)
    handle = trace.lens.model.register_forward_pre_hook(
        lambda part, args, kwargs: sizes.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    single_changes(trace)
    handle.remove()
    assert sizes == [1, *[trace.n_heads] * trace.n_layers, trace.n_tokens]


def test_a_token_that_cannot_be_hidden_says_why() -> None:
    lens = lens_of(tf.BertModel)
    trace = lens.trace("")  # [CLS] [SEP]
    assert all(isinstance(row, tuple) for row in single_changes(trace).tokens)
    one = Lens(tiny.shaken(tiny.FAMILIES["gpt2"].model()), tiny.gpt_like()).trace("the")
    found = single_changes(one)
    assert found.tokens[0] == NO_KEY and isinstance(found.heads[0], tuple)
    fields, arrays = matter.each_matters(one)
    row = one.n_layers * one.n_heads
    assert fields["refused"][0] == (row, NO_KEY) and np.isnan(arrays["change"][row]).all()


def test_what_is_not_held_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_trace: Trace) -> Any:
        raise AssertionError("the model is run")

    unmasked = lens_of(tf.BertForMaskedLM).trace("the cat")
    fields, arrays = matter.each_matters(unmasked)
    assert list(fields) == ["why_not"] and not arrays
    assert fields["why_not"].startswith("no token of this text is masked: write [MASK]")
    with pytest.raises(ModelError, match="masked"):
        single_changes(unmasked)
    monkeypatch.setattr(matter, "single_changes", never)
    trace = traced("words")
    monkeypatch.setitem(limits.LIMITS, "carried", replace(limits.LIMITS["carried"], tokens=trace.n_tokens - 1))
    assert matter.each_matters(trace)[0]["why_not"] == (
        f"This needs the model: a saved page holds it of texts of up to {trace.n_tokens - 1} tokens, "
        f"and this has {trace.n_tokens}. Open the notebook."
    )
    monkeypatch.undo()
    monkeypatch.setattr(matter, "single_changes", never)
    heads = trace.n_layers * trace.n_heads
    work = (heads / 2 + trace.n_tokens) * trace.n_tokens * trace.n_layers * 12 * tiny.BERT["hidden_size"] ** 2
    monkeypatch.setattr(module, "ALONE_WORK", work)
    assert why_not(trace) == ""
    monkeypatch.setattr(module, "ALONE_WORK", work - 1)
    assert matter.each_matters(trace)[0]["why_not"] == (
        f"This needs the model: to try each of {heads} heads and {trace.n_tokens} tokens of a model of this size takes "
        "too long whenever a page is saved. Open the notebook."
    )


def test_it_is_made_once_for_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced("embedding")
    first = matter.each_matters(trace)
    monkeypatch.setattr(matter, "single_changes", lambda _trace: pytest.fail("made again"))
    assert matter.each_matters(trace)[0] == first[0]


def test_how_much_a_page_may_wait_and_carry() -> None:
    """BERT-base to 24 tokens; a few kB."""
    model = tf.BertModel(tf.BertConfig(num_hidden_layers=12, hidden_size=12, num_attention_heads=12, vocab_size=300))
    trace = Lens(model, tiny.wordpiece()).trace("the cat sat")
    fields, arrays = matter.each_matters(trace)
    index, blob = pack(arrays)
    assert len(json.dumps(fields | {"arrays": index})) + len(blob) < 3000

    def base(tokens: int) -> Any:
        return SimpleNamespace(n_tokens=tokens, n_layers=12, n_heads=12, head_dim=64)

    assert [bool(why_not(base(tokens))) for tokens in (2, 24, 25)] == [False, False, True]
