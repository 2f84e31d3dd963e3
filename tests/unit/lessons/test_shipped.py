"""The shipped lessons: every step can be done, and every number and every fact about the model in their texts is so."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest
from torch import Tensor

import bertlens as bl
from bertlens.lessons.lesson import Step, one_of
from bertlens.trace.trace import Trace
from bertlens.whatif import off

OTHERS = """Dogs chase cars in the street.|She gave him a book about birds and he read it twice.|Time flies.|
My brother works in a small town near the sea and likes it.|Water boils at one hundred degrees.|
The teacher asked whether anyone had seen the key.|Nobody came to the party last night.|He who laughs last laughs best.|
The red car stopped at the corner.|Many people drink tea in the morning.|Birds sing early.|
The book that I read was long and dull.|We will meet at noon.|Can you hear the music?|
The train was late, so we walked home.|A good idea needs time.|Her answer surprised us all.|
Rain fell on the roof all night.|The child drew a house with a blue door.|Old trees grow slowly."""


class Told:
    """What a lesson says, taken off it as it is found to be so."""

    def __init__(self, name: str) -> None:
        self.lesson = one_of(name)
        self.left = {n: list(self.parts(step)) for n, step in enumerate(self.lesson.steps, 1)}

    @staticmethod
    def parts(step: Step) -> Iterator[str]:
        yield from (step.text, step.after, step.model, *step.hints)

    def says(self, step: int, so: str) -> None:
        """A step says this; its numbers are then accounted for."""
        assert any(so in part for part in self.parts(self.lesson.steps[step - 1])), (step, so)
        self.left[step] = [part.replace(so, "") for part in self.left[step]]

    def numbers_left(self) -> list[tuple[int, str]]:
        """Numbers that nothing was said of; names of heads and layers are none."""
        named = re.compile(r"L\d(·H\d+)?\b|layers? \d|head \d")
        texts = [(n, named.sub("", part)) for n, parts in self.left.items() for part in parts]
        return [(n, number) for n, text in texts for number in re.findall(r"\d[\d.]*", text)]


def others(lens: bl.Lens) -> list[Trace]:
    texts = [text.strip() for text in OTHERS.split("|")]
    assert len(texts) == 20
    return [lens.trace(text) for text in texts]


def share(trace: Trace, layer: int, head: int, diagonal: int) -> float:
    """Of the attention of all tokens, what goes along a diagonal."""
    return float(trace.attention(layer)[head].diagonal(diagonal).sum()) / trace.n_tokens


def row(trace: Trace, layer: int, head: int, word: str) -> Tensor:
    return trace.attention(layer)[head][trace.tokens.index(word)]


def weight(trace: Trace, layer: int, head: int, query: str, key: str) -> float:
    return float(row(trace, layer, head, query)[trace.tokens.index(key)])


def first(trace: Trace) -> tuple[str, float]:
    best = trace.predictions(1).iloc[0]
    return str(best["token"]), float(best["probability"])


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


def test_who_is_it(embedded_lens):
    told = Told("who-is-it")
    assert told.lesson.check(embedded_lens).query("not holds").empty
    steps = told.lesson.steps
    tired, sour, big, small = (embedded_lens.trace(steps[n - 1].state["text"]) for n in (2, 3, 5, 6))
    dog = embedded_lens.trace(steps[7].state["text"])
    told.says(1, f"one of the {tired.n_layers * tired.n_heads} heads")
    for trace, n, most in ((tired, 2, "cat"), (sour, 3, "milk"), (big, 5, "trophy"), (small, 6, "trophy")):
        assert steps[n - 1].state["query"] == trace.tokens.index("it")
        assert trace.text in steps[0].text + steps[n - 1].text
        assert trace.tokens[row(trace, 3, 1, "it").argmax()] == most
    was, now = (weight(trace, 3, 1, "it", "cat") for trace in (tired, sour))
    told.says(3, f"gives “cat” {was:.2f} in the first sentence and {now:.2f} in this one")
    told.says(
        6, f"{weight(big, 3, 1, 'it', 'trophy'):.2f} with “big”, {weight(small, 3, 1, 'it', 'trophy'):.2f} with “small”"
    )
    for trace, right, wrong, named in ((small, "suitcase", "trophy", (5, 5)), (dog, "street", "dog", (5, 1))):
        heads = [(layer, head) for layer in range(6) for head in range(12)]
        found = [at for at in heads if weight(trace, *at, "it", right) > weight(trace, *at, "it", wrong) + 0.01]
        assert named in found and 1 < len(found) < len(heads)
    told.says(7, "with 72 heads")
    assert dog.text in steps[7].text
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


def test_each_step_has_one_idea_and_a_note_on_no_state_is_missing():
    for name in ("row-of-weights", "who-is-it", "heads-off"):
        lesson = one_of(name)
        assert 8 <= len(lesson.steps) <= 10
        for step in lesson.steps:
            assert len(step.text) < 450 and len(step.after) < 260 and len(step.model) < 330, step.title
        acts = {step.act for step in lesson.steps}
        assert {"read", "predict", "write"} <= acts and acts & {"find", "change"}
    with pytest.raises(bl.InputError, match="cannot be read"):
        one_of("no-such-lesson")
