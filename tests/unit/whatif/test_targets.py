"""A label or a word that is chosen: its numbers against the softmax of runs of their own, its names, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf

from bertlens import InputError, ModelError, Trace, whatif
from bertlens.errors import BertLensError
from bertlens.whatif.effects import Effect, effects
from bertlens.whatif.swept_numbers import swept_number, swept_numbers
from bertlens.whatif.targets import named_by, target_of
from bertlens.widgets.answers import whatif as page
from bertlens.widgets.answers.matter import cell_matters
from unit import tiny
from unit.asking import question
from unit.whatif.test_effects import CHANGES, CLASSES, HEAD, KEY, LAYER, QUERY, lens_of, traced

MASKS = "the [MASK] sat on the [MASK]"


def probability(trace: Trace, number: int, position: int = -1) -> float:
    """Softmax of the model's own logits, written out."""
    logits = trace.output.logits[0].double()
    at = logits if position < 0 else logits[position]
    exp = (at - at.max()).exp()
    return float(exp[number] / exp.sum())


def word(trace: Trace, name: str) -> int:
    assert trace.model is not None
    return int(trace.model.tokenizer.convert_tokens_to_ids(name))


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize(
    ("kind", "target", "at"), [("words", "mat", None), ("words, two masks", "mat", 6), ("labels", "LABEL_1", None)]
)
def test_a_chosen_answers_rows_are_softmax_differences(kind: str, target: str, at: int | None, changed: bool) -> None:
    trace = traced(kind)
    trace = trace.rerun(whatif.off(0, 1)) if changed else trace
    number = int(target[-1]) if target.startswith("LABEL") else word(trace, target)
    place = -1 if kind == "labels" else trace.tokens.index("[MASK]") if at is None else at
    found = effects(trace, CHANGES, target, at)
    assert (found.kind, found.name, found.position) == (kind.split(",")[0], target, place)
    before = probability(trace, number, place)
    assert found.before == pytest.approx(before, abs=2e-7)
    for row, change in zip(found.changes, CHANGES, strict=True):
        run = trace.rerun(change)
        assert isinstance(row, Effect)
        assert row.after - found.before == pytest.approx(probability(run, number, place) - before, abs=2e-7)
    if changed:
        answers = whatif.answers(trace, 3, target, at)
        assert answers.rows[0].name == target and answers.rows[0].position == place
        assert answers.rows[0].before == pytest.approx(probability(trace.original, number, place), abs=2e-7)
        assert answers.rows[0].after == pytest.approx(before, abs=2e-7)
        own = [(row.position, row.name) for row in whatif.answers(trace, 3).rows]
        assert [(row.position, row.name) for row in answers.rows[1:]] == [one for one in own if one != (place, target)]


def test_what_comes_first_instead_is_told_of_the_first_alone() -> None:
    """With a class of 1, another of 0: the one that is no longer first says so; the other only rises."""
    for seed in range(30):
        trace = traced("labels", seed)
        run = trace.rerun(whatif.mlp(2))
        first, then = (int(one.output.logits[0].argmax()) for one in (trace, run))
        if first != then:
            break
    else:
        pytest.fail("no seed whose answer changes")
    [own] = effects(trace, [whatif.mlp(2)], first).changes
    [other] = effects(trace, [whatif.mlp(2)], then).changes
    assert isinstance(own, Effect) and isinstance(other, Effect)
    assert own.first == f"LABEL_{then}" and own.first_value == pytest.approx(probability(run, then), abs=1e-7)
    assert other.first == "" and other.after == pytest.approx(probability(run, then), abs=1e-7)


def test_a_tags_place_is_the_token_that_has_it_most_or_the_one_chosen() -> None:
    trace = traced("tags")
    logits = trace.output.logits[0].double().softmax(-1)
    inside = [at for at in range(trace.n_tokens) if not trace.special_mask[at]]
    most = max(inside, key=lambda at: float(logits[at, 2]))
    assert target_of(trace, "LABEL_2").position == most
    found = effects(trace, CHANGES, "LABEL_2", 3)
    assert found.position == 3 and found.before == pytest.approx(float(logits[3, 2]), abs=2e-7)
    assert set(swept_numbers(trace, "LABEL_2", 3)) == {"logit"}


@pytest.mark.parametrize(
    ("kind", "target", "at"), [("words", "mat", None), ("labels", "LABEL_2", None), ("tags", "LABEL_1", 2)]
)
def test_heads_are_swept_for_the_chosen_answer(kind: str, target: str, at: int | None) -> None:
    trace = traced(kind)
    place = trace.tokens.index("[MASK]") if kind == "words" else at
    number = word(trace, target) if kind == "words" else int(target[-1])

    def logit(run: Trace) -> float:
        logits = run.output.logits[0].double()
        return float(logits[number] if place is None else logits[place, number])

    values = page.matters_exact(trace, "logit", LAYER, target, -1 if at is None else at)[1]["values"]
    for head in range(trace.n_heads):
        assert values[head] == pytest.approx(logit(trace.rerun(whatif.off(LAYER, head))) - logit(trace), abs=2e-6)
    metric = whatif.logit(target) if kind == "words" else whatif.label(target, at)
    estimated = page.matters(trace, "logit", target, -1 if at is None else at)[1]["values"]
    torch.testing.assert_close(torch.from_numpy(estimated), whatif.estimate(trace, metric).float())
    assert not (estimated == page.matters(trace, "logit")[1]["values"]).all()  # kept apart


def test_a_word_is_asked_over_the_best_of_the_others() -> None:
    trace = traced("words")
    best = trace.predictions(k=2)["token"].tolist()
    assert swept_numbers(trace)["difference"].label == f"“{best[0]}” over “{best[1]}”"
    assert swept_numbers(trace, best[1])["difference"].label == f"“{best[1]}” over “{best[0]}”"
    assert swept_number(trace, "probability", "mat").label == "probability of “mat”"


def test_typed_text_is_a_name_or_says_what_is_near() -> None:
    words, labels = traced("words"), traced("labels")
    assert named_by(words, " Mat ") == "mat"  # as the tokenizer lowers it
    with pytest.raises(InputError, match=r"“matt” cannot be asked about: .* Near it: .*mat"):
        named_by(words, "matt")
    with pytest.raises(InputError, match="it is no token"):
        named_by(words, "")
    assert named_by(labels, "label_1") == "LABEL_1"
    with pytest.raises(InputError, match=r"“LABEL_9” is no label of this model. Near it: .*LABEL_0"):
        named_by(labels, "LABEL_9")
    for kind in ("span", "similarity", "embedding"):
        with pytest.raises(ModelError, match="answers with no label and no word"):
            named_by(traced(kind), "mat")


@pytest.mark.parametrize(
    ("kind", "target", "at", "why"),
    [
        ("words", "qqq", None, "is no single token"),
        ("words", "mat", 1, "token 1 is not masked"),
        ("words", 10_000, None, "token 10000 does not exist"),
        ("labels", "NO", None, "no label 'NO': there are LABEL_0"),
        ("labels", "LABEL_0", 1, "give no position"),
        ("tags", "LABEL_0", 99, "position 99 does not exist"),
        ("similarity", "mat", None, "answers with no label and no word"),
        ("span", "mat", None, "answers with no label and no word"),
    ],
)
def test_refused_everywhere_in_the_same_words(kind: str, target: Any, at: int | None, why: str) -> None:
    trace = traced(kind)
    for ask in (
        lambda: effects(trace, CHANGES, target, at),
        lambda: whatif.answers(trace, 5, target, at),
        lambda: swept_numbers(trace, target, at),
    ):
        with pytest.raises(BertLensError, match=why):
            ask()


def test_what_the_page_is_told(monkeypatch: Any) -> None:
    masks = traced("words, two masks")
    fields = page.answers(masks)[0]
    assert fields["places"] == [at for at, token in enumerate(masks.tokens) if token == "[MASK]"]
    first = masks.predictions(k=20)
    assert fields["choices"] == first[first["position"] == fields["places"][0]]["token"].tolist()
    assert page.answers(traced("words"))[0]["places"] == []
    assert page.answers(traced("labels"))[0]["choices"] == ["LABEL_0", "LABEL_1", "LABEL_2"]
    assert page.answers(traced("similarity"))[0]["choices"] == []
    found = cell_matters(masks, LAYER, HEAD, QUERY, KEY, "mat", 6)[0]
    assert (found["target"], found["target_at"], found["name"], found["position"]) == ("mat", 6, "mat", 6)

    view = traced("words").explore(layer=0, head=0)
    assert question(view, op="find_target", text="MAT")[0]["name"] == "mat"
    assert "Near it" in question(view, op="find_target", text="matt")[0]["error"]
    assert "is no single token" in question(view, op="answers", target="qqq")[0]["error"]
    assert question(view, op="answers", target="mat")[0]["rows"][0][1] == "mat"
    assert "does not exist" in question(view, op="answers", target="mat", target_at=99)[0]["error"]
    view.close()


def test_a_saved_page_carries_the_answer_that_its_view_asks_about() -> None:
    trace = traced("words")
    for target, carried in (("mat", True), ("qqq", False), ("", False)):
        view = trace.explore(layer=0, head=0, settings={"target": target} if target else {})
        saved = view.to_html()
        assert ('["op","answers"],["target","mat"]' in saved.replace("&quot;", '"')) == carried
        view.close()


def test_the_settings_are_checked() -> None:
    with pytest.raises(Exception, match="the setting target is like ''"):
        traced("words").explore(layer=0, head=0, settings={"target": 3})


def test_an_encoder_has_one_number() -> None:
    assert CLASSES["similarity"][0] is tf.BertModel and tiny.BERT
    with pytest.raises(ModelError, match="answers with no label"):
        target_of(lens_of(tf.BertModel).trace("the cat"), "cat")
