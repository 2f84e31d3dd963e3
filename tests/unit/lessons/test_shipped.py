"""The shipped lessons: every step can be done, and every number and every fact about the model in their texts is so."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import bertlens as bl
from bertlens.lessons import lesson as lesson_module
from bertlens.lessons.lesson import SHIPPED, one_of
from bertlens.whatif import off
from unit.lessons.told import Told, first, others, row, share, weight


@pytest.fixture(scope="module")
def language_model() -> bl.Lens:
    return bl.Lens.embedded(mlm=True)


def test_a_row_of_weights(embedded_lens):
    told = Told("row-of-weights")
    assert told.lesson.model == embedded_lens.model_name
    assert told.lesson.check(embedded_lens).query("not holds").empty
    trace = embedded_lens.trace(told.lesson.steps[0].state["text"])
    heads = [(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    told.says(1, f"{len(heads)} of them: {trace.n_layers} layers with {trace.n_heads} heads each")
    assert row(trace, 1, 8, "sat").sum().item() == pytest.approx(1)
    told.says(2, "add up to 1")
    assert (
        trace.tokens[row(trace, 1, 8, "sat").argmax()] == "on"
        and trace.tokens[row(trace, 1, 8, "it").argmax()] == "was"
    )
    assert share(trace, 1, 8, 1) > 0.5 and all(share(other, 1, 8, 1) > 0.4 for other in others(embedded_lens))
    assert weight(trace, 0, 2, "sat", "cat") > 0.9
    told.says(4, "a number from 0 to 1")
    for other in others(embedded_lens):
        assert share(other, 0, 2, -1) > 0.99 * (other.n_tokens - 1) / other.n_tokens  # the first has no token before it
        assert share(other, 0, 2, -1) > 0.5
    assert [at for at in heads if share(trace, *at, 1) > 0.4] == [(1, 8)]
    told.says(5, "above 0.4")
    cls = {at: float(trace.attention(at[0])[at[1]][:, 0].mean()) for at in heads}
    assert max(cls, key=lambda at: cls[at]) == (2, 7)
    told.says(6, f"{sum(value > 0.5 for value in cls.values())} of the {len(heads)} heads")
    entropy = {
        at: float(-(a * a.clamp_min(1e-30).log()).sum(-1).mean())
        for at in heads
        for a in [trace.attention(at[0])[at[1]]]
    }
    spread = [at for at in heads if entropy[at] > 2.2]
    assert spread and any(layer == 0 for layer, _ in spread) and entropy[0, 2] < 0.01
    told.says(7, "It is 0 when")
    told.says(7, f"For the {trace.n_tokens} tokens here it is at most {math.log(trace.n_tokens):.2f}")
    told.says(7, "above 2.2")
    told.says(9, f"“sat” to “on” is {weight(trace, 1, 8, 'sat', 'on'):.2f}")
    assert told.numbers_left() == []


def test_who_is_it(language_model):
    told, lens = Told("who-is-it"), language_model
    assert told.lesson.model == lens.model_name
    assert told.lesson.check(lens).query("not holds").empty
    steps = told.lesson.steps
    tired, sour, big, small = (lens.trace(steps[n - 1].state["text"]) for n in (2, 3, 5, 6))
    heads = [(layer, head) for layer in range(tired.n_layers) for head in range(tired.n_heads)]
    told.says(1, f"one of the {len(heads)} heads")
    for trace, n, most in ((tired, 2, "cat"), (sour, 3, "milk"), (big, 5, "suitcase"), (small, 6, "suitcase")):
        assert steps[n - 1].state["query"] == trace.tokens.index("it")
        assert trace.text in steps[0].text + steps[n - 1].text
        words = [j for j in range(trace.n_tokens) if not trace.special_mask[j]]
        assert trace.tokens[max(words, key=lambda j: row(trace, 3, 1, "it")[j])] == most
    was, now = (weight(trace, 3, 1, "it", "cat") for trace in (tired, sour))
    told.says(3, f"gives “cat” {was:.2f} in the first sentence and {now:.2f} in this one")
    told.says(5, f"the trophy gets {weight(big, 3, 1, 'it', 'trophy'):.2f}")
    cases = [weight(trace, 3, 1, "it", "suitcase") for trace in (big, small)]
    told.says(6, "has {:.2f} with “big” and {:.2f} with “small”".format(*cases))
    masked = {n: lens.trace(steps[n - 1].state["text"]) for n in (7, 8)}
    assert first(masked[7])[0] == "cat" and first(masked[8])[0] not in ("trophy", "suitcase")
    told.says(7, f"quite sure ({first(masked[7])[1]:.2f})")
    sure = first(lens.trace(masked[7].text.replace("tired", "sour")))
    told.says(7, f"says “{sure[0]}” ({sure[1]:.2f})")
    assert sure[0] == "milk" and masked[8].text in steps[7].text
    told.says(8, f"only {first(masked[8])[1]:.2f}")

    def lead(trace, at):
        return weight(trace, *at, "it", "trophy") - weight(trace, *at, "it", "suitcase")

    found = [at for at in heads if lead(big, at) > 0 and weight(big, *at, "it", "trophy") > 0.075]
    assert (1, 1) in found and min(lead(big, at) for at in found) > 0.005
    assert min(weight(big, *at, "it", "trophy") for at in found) > 0.085
    assert [at for at in heads if at[0] < 2 and at in found]
    told.says(9, f"{len(found)} of the {len(heads)} heads do")
    told.says(9, f"With {len(heads)} heads")
    told.says(9, "a weight above 0.08")
    assert not [at for at in found if lead(small, at) < 0]
    assert told.numbers_left() == []


def test_switch_heads_off(language_model):
    told = Told("heads-off")
    lens = language_model
    assert told.lesson.model == lens.model_name
    assert told.lesson.check(lens).query("not holds").empty
    steps = told.lesson.steps
    cup, mat, paris = (lens.trace(steps[n - 1].state["text"]) for n in (1, 2, 6))
    best = cup.predictions(2)
    words = [f"“{one.token}” ({one.probability:.2f})" for one in best.itertuples()]
    told.says(1, f"the first is {words[0]}. The second, {words[1]}, is nearly as likely")
    assert first(mat)[0] == "table" and mat.text in steps[1].text and paris.text in steps[5].text
    told.says(2, f"only {first(mat)[1]:.2f}")
    assert share(mat, 0, 2, -1) > 0.99 * (mat.n_tokens - 1) / mat.n_tokens and first(mat.rerun(off(0, 2)))[0] == "table"
    told.says(3, f"{mat.n_layers * mat.n_heads - 1} colleagues")
    changed = {
        (layer, head): word
        for layer in range(mat.n_layers)
        for head in range(mat.n_heads)
        if (word := first(mat.rerun(off(layer, head)))[0]) != "table"
    }
    named = [f"L{layer}·H{head}" for layer, head in changed]
    told.says(4, f"Only {len(changed)} of the {mat.n_layers * mat.n_heads} heads can do it alone here")
    told.says(4, f"{', '.join(named[:-1])} and {named[-1]}. Each time “sofa” overtakes “table”")
    assert set(changed.values()) == {"sofa"} and all(layer < 4 for layer, _ in changed)
    without = mat.rerun(off(4))
    assert first(without)[0] == "table"
    told.says(5, f"all {mat.n_heads} heads of layer 4")
    told.says(5, f"surer: {first(without)[1]:.2f} in place of {first(mat)[1]:.2f}")
    assert first(paris)[0] == "paris" and first(paris.rerun(off(5)))[0] == "europe"
    told.says(6, f"is sure of it ({first(paris)[1]:.2f})")
    for layer in range(paris.n_layers):
        for head in range(paris.n_heads):
            assert first(paris.rerun(off(layer, head)))[0] == "paris"
    assert told.numbers_left() == []


def test_each_step_has_one_idea():
    folder = Path(lesson_module.__file__).with_name("shipped")
    assert {path.name for path in folder.iterdir()} == {f"{name}.lesson.json" for name in SHIPPED}
    for name in SHIPPED:
        lesson = one_of(name)
        assert 8 <= len(lesson.steps) <= 10
        for step in lesson.steps:
            assert len(step.text) < 450 and len(step.after) < 260 and len(step.model) < 330, step.title
        acts = {step.act for step in lesson.steps}
        assert {"read", "predict", "write"} <= acts and acts & {"find", "change"}
    with pytest.raises(bl.InputError, match="cannot be read"):
        one_of("no-such-lesson")
