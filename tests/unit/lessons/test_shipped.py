"""The shipped lessons: every step can be done, and every number and every fact about the model in their texts is so."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.lessons import lesson as lesson_module
from bertlens.lessons.lesson import SHIPPED, one_of
from bertlens.measures.byhead import statistics
from bertlens.whatif import off, sweep
from unit.lessons.told import GAPS, Told, best, first, others, row, share, weight
from unit.silenced import silenced


def test_a_row_of_weights(embedded_lens):
    told = Told("row-of-weights")
    assert told.lesson.model == embedded_lens.model_name
    assert told.lesson.check(embedded_lens).query("not holds").empty
    steps = told.lesson.steps
    trace = embedded_lens.trace(steps[0].state["text"])
    both = [trace, *others(embedded_lens)]
    heads = [(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    assert sum(token.isalpha() for token in trace.tokens) > trace.n_tokens - 4
    told.says(1, "cuts a sentence into **tokens**, mostly words")
    told.says(1, f"This model has {len(heads)} of them: {trace.n_layers} layers with {trace.n_heads} heads each")
    told.only_says(
        1, "A **head** decides how much each token looks at each of them.", "Each small picture is one head."
    )
    for one in both:
        assert one.tokens[0] == "[CLS]"
        for layer in range(one.n_layers):
            assert one.attention(layer).sum(-1).allclose(torch.ones(1), atol=1e-5)
    told.says(2, "The numbers of one row always add up to 1.")
    told.only_says(2, "Each **row** is a token that looks", "The stronger the colour, the more.")
    assert trace.tokens[steps[1].state["query"]] == "sat"
    told.says(2, "The row of “sat” is marked. It says how “sat” shares out its attention.")
    sat = trace.tokens.index("sat")
    assert row(trace, 1, 8, "sat").argmax() == sat + 1 and trace.tokens[sat + 1] == "on"
    told.says(3, "You have seen that “sat” looks at “on” in this head.")
    told.says(3, "In the row of “sat”, the strongest cell was one step to the right.")
    assert trace.tokens[steps[2].state["query"]] == "it"
    is_next = [
        max(words, key=weights[i].__getitem__) == i + 1
        for one in both
        for words in [[n for n, special in enumerate(one.special_mask) if not special]]
        for weights in [one.attention(1)[8].tolist()]
        for i in words[:-1]
    ]
    assert len(is_next) > 140 and is_next.count(False) < 3
    told.says(3, "Of all words this head looks most at the **next** one.")
    told.says(3, "It does so in nearly every row, here and in other sentences.")
    assert weight(trace, 0, 2, "sat", "cat") > 0.95
    told.says(4, "a number from 0 to 1")
    told.says(4, "All of it, or nearly so.")
    for one in both:
        assert share(one, 0, 2, -1) > 0.99 * (one.n_tokens - 1) / one.n_tokens  # the first has no token before it
        assert share(one, 0, 2, -1) > 0.5
    for so in ("L0·H2 looks one word **back**.", "In other sentences this head is as strict.", "is one thin line, and"):
        told.says(4, so)
    assert [at for at in heads if share(trace, *at, 1) > 0.395] == [(1, 8)]
    told_of = statistics(trace)
    assert float(told_of.values[1, 8, told_of.names.index("next")]) == pytest.approx(share(trace, 1, 8, 1), abs=1e-4)
    told.says(5, "`next` is the share of a head's attention that goes to the token after.")
    told.says(5, "above 0.4")
    told.says(5, "You have met it already: it is in layer 1.")
    told.only_says(5, "a line just **above** the diagonal looks ahead, one just **below** it looks back.")
    cls = {at: float(trace.attention(at[0])[at[1]][:, 0].mean()) for at in heads}
    assert max(cls, key=lambda at: cls[at]) == (2, 7)
    told.says(6, "[CLS] is no word. The model puts it in front of every text.")
    told.says(6, f"It is not alone: {sum(value > 0.5 for value in cls.values())} of the {len(heads)} heads")
    told.says(6, "give more than half of their attention to [CLS].")
    columns = trace.attention(2)[7].mean(0)
    assert columns[0] > 0.85 and columns[1:].max() < 0.05
    told.says(6, "Its picture is one strong column, the first, and nothing else.")
    told.says(6, "Each row adds up to 1. So when a head finds nothing to look for, its weight must still go somewhere.")
    entropy = {
        at: float(-(a * a.clamp_min(1e-30).log()).sum(-1).mean())
        for at in heads
        for a in [trace.attention(at[0])[at[1]]]
    }
    spread = [at for at in heads if entropy[at] > 2.2]
    assert spread and any(layer == 0 for layer, _ in spread) and entropy[0, 2] < 0.01
    told.only_says(7, "**Entropy** is a number for how spread out a row is.")
    told.says(7, "It is 0 when all attention goes to one token.")
    told.says(7, f"With {trace.n_tokens} tokens it is at most {math.log(trace.n_tokens):.2f}: then all get the same.")
    told.says(7, "more than 2.2 on average")
    for layer, head in spread:  # no line, no column: nothing gets even a third of a row on average
        assert trace.attention(layer)[head].mean(0).max() < 0.33
        assert all(share(trace, layer, head, n) < 0.33 for n in (-1, 0, 1))
    told.says(7, "Such a head looks a little at everything.")
    for one in both:
        assert best([(share(one, *at, -1), at) for at in heads]) == (0, 2)
    told.says(8, "For L0·H2 it does: it looks back whatever the words are.")
    told.only_says(8, "What holds for one sentence need not hold for the next.")
    told.says(9, f"“sat” to “on” is {weight(trace, 1, 8, 'sat', 'on'):.2f}")
    told.only_says(
        9, "A friend says:", "The weight says where the head **looks**.", "It does not say what the head takes"
    )
    told.only_says(9, "To know that, one must look at what is passed on, or switch the head off and see.")
    assert told.numbers_left() == [] and told.unsaid() == []


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
    told.only_says(1, "You know at once: the cat.", "You needed no grammar book for that.")
    told.only_says(2, "L3·H1 is a head in layer 3.", "That looks clever.")
    told.says(2, "Of all words “it” looks most at the one that it stands for.")
    assert row(tired, 3, 1, "it")[0] > 0.5 and tired.tokens[0] == "[CLS]"
    told.says(2, "(Most of its weight rests on [CLS], which is no word.)")
    assert [a for a, b in zip(tired.tokens, sour.tokens, strict=True) if a != b] == ["tired"]
    assert tired.tokens.index("tired") == tired.n_tokens - 3
    told.says(3, "Only the end is different.")
    told.only_says(3, "Now “it” is the milk.")
    told.says(3, "The weight moved from “cat” to “milk”:")
    assert weight(sour, 3, 1, "it", "milk") > 2 * weight(tired, 3, 1, "it", "milk")
    told.says(4, "Two sentences, two right answers.")
    assert 0.5**2 == 1 / 4
    told.says(4, "Who only guesses between two words is right both times in one of four cases.")
    told.only_says(4, "Two sentences are few.", "Test it where it could fail.")
    told.only_says(5, "Here “it” is the trophy.")
    told.says(5, "The head is wrong:")
    told.says(5, "This time it did not follow the meaning.")
    told.says(5, "The head has been right twice.")
    told.only_says(6, "Now “it” is the suitcase.")
    was, now = (weight(trace, 3, 1, "it", "cat") for trace in (tired, sour))
    told.says(3, f"gives “cat” {was:.2f} in the first sentence and {now:.2f} in this one")
    told.says(5, f"“trophy” gets only {weight(big, 3, 1, 'it', 'trophy'):.2f}")
    cases = [weight(trace, 3, 1, "it", "suitcase") for trace in (big, small)]
    told.says(6, "“suitcase” gets {:.2f} with “big” and {:.2f} with “small”: the head hardly moved.".format(*cases))
    assert abs(cases[0] - cases[1]) < 0.05
    told.says(7, "This model guesses the word behind [MASK].")
    told.only_says(7, "So we can ask it who was tired:")
    masked = {n: lens.trace(steps[n - 1].state["text"]) for n in (7, 8)}
    assert first(masked[7])[0] == "cat" and first(masked[8])[0] not in ("trophy", "suitcase")
    told.says(7, f"It is quite sure ({first(masked[7])[1]:.2f}).")
    sure = first(lens.trace(masked[7].text.replace("tired", "sour")))
    told.says(7, f"says “{sure[0]}” ({sure[1]:.2f})")
    assert sure[0] == "milk" and masked[8].text in steps[7].text
    told.says(7, "So the *model* tells them apart, in this sentence.")
    told.says(8, f"It does not know: this first guess has a probability of only {first(masked[8])[1]:.2f}.")
    told.says(8, "Perhaps it is neither of the two.")
    told.only_says(8, "What the whole model does not know, one head can hardly show.")

    def lead(trace, at):
        return weight(trace, *at, "it", "trophy") - weight(trace, *at, "it", "suitcase")

    found = [at for at in heads if lead(big, at) > 0 and weight(big, *at, "it", "trophy") > 0.075]
    assert (1, 1) in found and min(lead(big, at) for at in found) > 0.005
    assert min(weight(big, *at, "it", "trophy") for at in found) > 0.085
    assert [at for at in heads if at[0] < 2 and at in found]
    told.says(9, f"{len(found)} of the {len(heads)} heads do")
    told.says(9, "L1·H1 is one.")
    told.only_says(9, f"Among {len(heads)} heads some may look at the right word by chance")
    told.says(9, f"Among {len(heads)} heads")
    told.says(9, "a weight above 0.08")
    assert all(lead(small, at) > 0 for at in found)  # though most give “suitcase” more than with “big”
    told.says(9, "With “small” in place of “big” each of them still looks at “trophy” more than at “suitcase”.")
    told.says(10, "“it” looked at the right noun for the cat and the milk.")
    told.says(10, "For the trophy and the suitcase it looked at the suitcase both times.")
    told.only_says(10, "Whether it is right more often than chance, four sentences cannot tell.")
    assert told.numbers_left() == [] and told.unsaid() == []


def test_switch_heads_off(language_model):
    told = Told("heads-off")
    lens = language_model
    assert told.lesson.model == lens.model_name
    assert told.lesson.check(lens).query("not holds").empty
    steps = told.lesson.steps
    cup, mat, paris = (lens.trace(steps[n - 1].state["text"]) for n in (1, 2, 6))
    best = cup.predictions(2)
    words = [f"“{one.token}” ({one.probability:.2f})" for one in best.itertuples()]
    told.says(1, f"Here the first is {words[0]}.")
    told.says(1, f"The second, {words[1]}, is nearly as likely")
    assert best["probability"].iloc[1] > 0.9 * best["probability"].iloc[0]
    told.says(1, "This model guesses the word behind [MASK].")
    told.only_says(1, "Its first guess stands at the top.")  # tests/browser/frame/test_lessons.py
    told.says(1, "The number beside it is its probability, from 0 to 1.")
    assert first(mat)[0] == "table" and mat.text in steps[1].text and paris.text in steps[5].text
    told.says(2, f"The model is not sure: its first guess has a probability of only {first(mat)[1]:.2f}")
    told.only_says(2, "It is a thing in a house.")
    assert share(mat, 0, 2, -1) > 0.99 * (mat.n_tokens - 1) / mat.n_tokens and first(mat.rerun(off(0, 2)))[0] == "table"
    told.says(3, f"A head has {mat.n_layers * mat.n_heads - 1} colleagues")
    told.says(3, "L0·H2 looks one word back, and very strictly.")
    assert steps[2].state["changes"] == [["off", 0, 2]]
    told.says(3, "Now it is switched off.")
    told.says(3, "Nothing changed in the first guess.")
    told.says(3, "A striking picture does not make a head important for this answer.")
    _, off_alone = silenced(lens, mat.text)
    guesses = [lens.tokenizer.convert_ids_to_tokens(layer) for layer in off_alone.argmax(-1).tolist()]
    changed = {
        (layer, head): word for layer, row in enumerate(guesses) for head, word in enumerate(row) if word != "table"
    }
    named = [f"L{layer}·H{head}" for layer, head in changed]
    told.says(4, f"Only {len(changed)} of the {mat.n_layers * mat.n_heads} heads can do it alone here")
    told.says(4, f"{', '.join(named[:-1])} and {named[-1]}. Each time “sofa” overtakes “table”")
    assert set(changed.values()) == {"sofa"} and {layer for layer, _ in changed} == {1, 2, 3}
    told.says(4, "No head of the layers 0, 4 and 5 does it alone.")
    without = mat.rerun(off(4))
    assert first(without)[0] == "table"
    assert steps[4].state["changes"] == [["off", 4]]
    told.says(5, f"Now all {mat.n_heads} heads of layer 4 are off.")
    told.says(5, "Twelve heads less, and the same first guess.")
    told.says(5, "More heads need not mean more harm.")
    told.says(5, f"It even became surer: {first(without)[1]:.2f} in place of {first(mat)[1]:.2f}")
    assert first(paris)[0] == "paris" and first(paris.rerun(off(5)))[0] == "europe"
    told.says(6, f"is sure of it ({first(paris)[1]:.2f})")
    _, off_alone = silenced(lens, paris.text)
    assert (off_alone.argmax(-1) == lens.tokenizer.convert_tokens_to_ids("paris")).all()
    told.says(6, "The model says “paris”, which is wrong")
    told.says(6, "No single head changes that.")
    told.says(6, "Without the last layer's heads it says “europe”.")
    told.says(6, "The heads of that layer share the work: one can go, all twelve cannot.")
    told.only_says(6, "In the menu *What if* of “Does it matter?” a whole layer can go.")  # as for step 1
    assert cup.text == steps[6].state["text"]
    told.says(7, "A close race is decided by little.")
    told.says(7, "Sentences whose best two guesses are close change most easily.")
    told.only_says(7, "So “this head decides the answer” has to be shown with more than one sentence.")
    told.says(8, "A head has a striking picture. When it is switched off, the answer stays the same.")
    told.only_says(8, "Other heads may do the same work", "Or what the head passes on is not needed for *this* answer.")
    told.only_says(8, "Weights say where a head looks; only a change shows whether it matters.")
    assert told.numbers_left() == [] and told.unsaid() == []


@pytest.mark.long
def test_where_the_race_is_close_more_heads_change_the_answer(language_model):
    """Of 20 sentences with a gap: how near the first two guesses are, and how many single heads swap them."""
    gaps, swaps = [], []
    for text in GAPS:
        trace = language_model.trace(text)
        table = trace.predictions(2)
        gaps.append(math.log(table["probability"].iloc[0] / table["probability"].iloc[1]))
        mask = trace.tokens.index("[MASK]")
        changes = sweep(trace, lambda output, mask=mask: output.logits[0, mask].argmax().double(), progress=False)
        swaps.append(int((changes != 0).sum()))  # another word is first
    order = np.argsort(gaps)
    close, clear = (sum(swaps[n] for n in half) for half in (order[:10], order[10:]))
    assert len(GAPS) == 20 and close > 5 * clear
    assert swaps[order[0]] == max(swaps) and not any(swaps[n] for n in order[-6:])


def test_each_step_has_one_idea():
    folder, numbered = Path(lesson_module.__file__).with_name("shipped"), enumerate(SHIPPED, 1)
    assert sorted(path.name for path in folder.iterdir()) == [f"{n}-{name}.lesson.json" for n, name in numbered]
    for name in SHIPPED:
        lesson = one_of(name)
        assert 8 <= len(lesson.steps) <= 10
        for step in lesson.steps:
            assert len(step.text) < 450 and len(step.after) < 260 and len(step.model) < 330, step.title
        acts = {step.act for step in lesson.steps}
        assert {"read", "predict", "write"} <= acts and acts & {"find", "change"}
    with pytest.raises(bl.InputError, match="cannot be read"):
        one_of("no-such-lesson")
