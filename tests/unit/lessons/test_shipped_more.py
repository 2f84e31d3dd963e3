"""The lessons on patterns, on weight against norm and on one sentence: every number and fact in them is so."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
import transformers as tf
from torch import Tensor

import bertlens as bl
from bertlens.lessons.lesson import SHIPPED, one_of
from bertlens.survey import mean_interval
from bertlens.text import excerpts
from bertlens.trace.trace import Trace
from unit.lessons.told import Told, others, share, weight
from unit.tiny import ROBERTA, roberta_like

HEADS = [(layer, head) for layer in range(6) for head in range(12)]


def largest(trace: Trace, at: tuple[int, int], query: str, key: str) -> float:
    """The largest weight from one word to another, of those that are there more than once."""
    places = [[n for n, token in enumerate(trace.tokens) if token == word] for word in (query, key)]
    return float(trace.attention(at[0])[at[1]][places[0]][:, places[1]].max())


def shares_of(trace: Trace, keys: Tensor) -> dict[tuple[int, int], float]:
    """Of each head, the share of all attention that goes to the keys of a mask, (S,) or (S, S)."""
    return {at: float((trace.attention(at[0])[at[1]] * keys).sum()) / trace.n_tokens for at in HEADS}


def best_of(shares: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    return sorted(shares, key=shares.__getitem__, reverse=True)


def is_separator(trace: Trace) -> Tensor:
    return torch.tensor([token == "[SEP]" for token in trace.tokens])


def lengths(lens: bl.Lens, text: str) -> Tensor:
    """(L, H, S) ‖f(x)‖, from the model's own modules: the value of each token through its head's part of the output."""
    model = lens.model
    with torch.no_grad():
        states = model(**lens.tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        found = []
        for state, layer in zip(states, model.encoder.layer, strict=False):
            values = layer.attention.self.value(state[0]).unflatten(-1, (12, -1))
            output = layer.attention.output.dense.weight.unflatten(-1, (12, -1))
            found.append(torch.einsum("shd,ohd->hso", values, output).norm(dim=-1))
    return torch.stack(found)


def test_patterns(embedded_lens):
    told = Told("patterns")
    assert told.lesson.model == embedded_lens.model_name
    assert told.lesson.check(embedded_lens).query("not holds").empty
    steps = told.lesson.steps
    trace = embedded_lens.trace(steps[0].state["text"], steps[0].state["text_pair"])
    assert trace.tokens.count("[SEP]") == 2
    before = {at: share(trace, *at, -1) for at in HEADS}
    first, second, *_ = best_of(before)
    assert first == (0, 2)
    told.says(2, f"the next best has {before[second]:.2f}")
    assert [at for at in HEADS if share(trace, *at, 1) > 0.39] == [(1, 8)]
    told.says(3, "above 0.4")
    for other in others(embedded_lens):
        assert share(other, 1, 8, 1) > 0.4 and best_of({at: share(other, *at, 1) for at in HEADS})[0] == (1, 8)
        assert share(other, 0, 2, -1) > 0.99 * (other.n_tokens - 1) / other.n_tokens
    row = trace.attention(2)[9]
    cats, ons = ([n for n, token in enumerate(trace.tokens) if token == word] for word in ("cat", "on"))
    assert steps[3].state["query"] == cats[1] and row[cats[1]].argmax() == cats[0] and row[ons[1]].argmax() == ons[0]
    told.says(4, f"({row[ons[1], ons[0]]:.2f})")
    on = [at for at in HEADS if largest(trace, at, "on", "on") > 0.39]
    assert on == [(1, 1), (2, 9)]
    for layer, head in on:  # it is the other one
        itself = trace.attention(layer)[head][ons, ons].max()
        assert largest(trace, (layer, head), "on", "on") > 2 * itself
    told.says(5, f"the {len(HEADS)} heads. It is weaker: {largest(trace, (1, 1), 'on', 'on'):.2f}")
    told.says(5, "above 0.4")
    related = [at for at in HEADS if weight(trace, *at, "mat", "rug") > 0.24]
    told.says(6, f"{len(related)} heads do so: L1·H1, L5·H5 and L5·H7")
    told.says(6, "above 0.25")
    assert related == [(1, 1), (5, 5), (5, 7)]
    of = torch.tensor([int(n > trace.tokens.index("[SEP]")) for n in range(trace.n_tokens)])
    inside = shares_of(trace, (of[:, None] == of[None]).float())
    told.says(7, f"For {sum(value > 0.5 for value in inside.values())} of the {len(HEADS)} heads it is above 0.5")
    told.says(7, "below 0.45")
    assert [at for at in HEADS if inside[at] < 0.455] == [(2, 9)]
    to_separator = shares_of(trace, is_separator(trace).float())
    assert best_of(to_separator)[0] == (0, 5) and to_separator[0, 5] < 0.5
    on_first = sum(float(trace.attention(layer)[head][:, 0].mean()) > 0.5 for layer, head in HEADS)
    told.says(8, f"{on_first} of the {len(HEADS)} heads give [CLS] more than half")
    told.says(9, "above 0.4")
    assert told.numbers_left() == []


def test_weight_and_norm(embedded_lens):
    told = Told("weight-and-norm")
    assert told.lesson.model == embedded_lens.model_name
    assert told.lesson.check(embedded_lens).query("not holds").empty
    steps = told.lesson.steps
    trace = embedded_lens.trace(steps[0].state["text"])
    norms = lengths(embedded_lens, trace.text)
    words = ~trace.special_mask

    def taken(at: tuple[int, int], query: str) -> Tensor:
        weighted = trace.attention(at[0])[at[1]][trace.tokens.index(query)] * norms[at]
        return weighted / weighted.sum()

    told.says(1, f"all its attention {trace.attention(2)[7][:, 0].mean():.2f} goes to [CLS]")
    for n in (2, 4):
        told.says(n, "a number from 0 to 1")
        assert trace.tokens[steps[n - 1].state["query"]] == "sat"
    given = weight(trace, 2, 7, "sat", "[CLS]")
    assert given > 0.9
    told.says(3, "2020")  # Kobayashi et al., Attention is Not Only a Weight
    told.says(4, f"“sat” gives [CLS] {given:.2f} of its weight")
    assert taken((2, 7), "sat")[0] < 0.2
    ratios = norms[..., 0] / norms[..., words].mean(-1)
    told.says(4, f"only {ratios[2, 7]:.2f} as long as at the average word")
    looking = [at for at in HEADS if weight(trace, *at, "it", "[CLS]") > 0.5 and taken(at, "it")[0] < 0.1]
    assert (2, 7) in looking and (3, 4) in looking and len(looking) > 4
    assert len([at for at in looking if at[0] == 3]) > 1
    told.says(5, "less than 0.1 from there")
    short = ratios < 0.5
    told.says(5, f"In {short.sum()} of the {len(HEADS)} heads what there is to take at [CLS] is less than half as long")
    for other in others(embedded_lens):
        found = lengths(embedded_lens, other.text)
        assert (found[..., 0] < found[..., ~other.special_mask].mean(-1) / 2)[short].all()
        weights = other.attention(2)[7]
        parts = weights * found[2, 7]
        assert ((weights[:, 0] > 0.5) & (parts[:, 0] / parts.sum(-1) < 0.2)).any()
    exceptions = [at for at in HEADS if taken(at, "sat")[0] > 0.49]
    assert exceptions == [(1, 11), (2, 9)]
    told.says(6, f"Only {len(exceptions)} of the {len(HEADS)} heads do")
    told.says(6, f"{ratios[1, 11]:.2f} and {ratios[2, 9]:.2f} of the average word")
    assert ratios[2, 7] < min(ratios[at] for at in exceptions)
    told.says(7, f"“sat” gives [CLS] {weight(trace, 4, 2, 'sat', '[CLS]'):.2f}")
    parts, mat = taken((4, 2), "sat"), trace.tokens.index("mat")
    told.says(7, f"only {weight(trace, 4, 2, 'sat', 'mat'):.2f} of the weight, but {parts[mat]:.2f} of what is taken")
    assert parts.argmax() == mat and steps[6].state["query"] == trace.tokens.index("sat")
    to_separator = shares_of(trace, is_separator(trace).float())
    assert best_of(to_separator)[0][0] == 0 and max(to_separator.values()) < 0.2
    told.says(9, "a weight above 0.5, and of which less than 0.2 is taken")
    assert parts[~words].sum() < 0.5 and taken((2, 7), "sat")[words].sum() > 0.5  # most comes from the words
    assert told.numbers_left() == []


@pytest.fixture(scope="module")
def surveyed(embedded_lens) -> list[Trace]:
    """The first 100 sentences of each of two novels that have 6 to 25 words."""
    books = excerpts.sentences().values()
    return [
        embedded_lens.trace(text) for book in books for text in [s for s in book if 6 <= len(s.split()) <= 25][:100]
    ]


def punctuation(trace: Trace) -> float:
    marks = torch.tensor([all(not c.isalnum() for c in token) for token in trace.tokens]) & ~trace.special_mask
    return float(trace.attention(3)[11][:, marks].sum()) / trace.n_tokens


def test_one_sentence(embedded_lens, surveyed):
    told = Told("one-sentence")
    assert told.lesson.model == embedded_lens.model_name
    assert told.lesson.check(embedded_lens).query("not holds").empty
    steps = told.lesson.steps
    bird, know = (embedded_lens.trace(steps[n].state["text"]) for n in (0, 1))
    told.says(1, f"{punctuation(bird):.2f} of all its attention goes to punctuation")
    stops = shares_of(bird, torch.tensor([float(token == ".") for token in bird.tokens]))
    first, second, *_ = best_of(stops)
    assert first == (3, 11)
    told.says(1, f"No other head of the {len(HEADS)} gives it more than {stops[second]:.2f}")
    told.says(2, "a number from 0 to 1")
    assert punctuation(know) < 0.1 and "." in know.tokens and know.text in steps[1].text
    assert len(surveyed) == 200
    of = {
        (0, 2): ("word before", [share(trace, 0, 2, -1) for trace in surveyed]),
        (1, 8): ("word after", [share(trace, 1, 8, 1) for trace in surveyed]),
        (3, 11): ("punctuation", [punctuation(trace) for trace in surveyed]),
    }
    for (layer, head), (name, values) in of.items():
        mean, low, high = mean_interval(np.array(values))
        line = f"L{layer}·H{head} | {name} | {mean:.2f} ({low:.2f}–{high:.2f}) | {min(values):.2f} | {max(values):.2f}"
        told.says(4, line)
    marks = of[3, 11][1]
    told.says(
        4, f"above 0.4 in {sum(v > 0.4 for v in marks)} of the 200, and below 0.2 in {sum(v < 0.2 for v in marks)}"
    )
    told.says(4, "how well 200 sentences fix the mean")
    told.says(4, "took 200 sentences of two old novels")
    told.says(4, "# 200 sentences")
    told.says(4, "a number from 0 to 1")
    assert steps[3].of == f"{np.mean(marks):.2f}"
    assert punctuation(know) < np.mean(marks) < punctuation(bird)
    told.says(5, "less than 0.15 to punctuation")
    for text in (steps[4].show["text"], "I tried to do it.", "I told him to wait."):
        assert punctuation(embedded_lens.trace(text)) < 0.145
    told.says(6, f"In the 200 sentences `next` was never below {min(of[1, 8][1]):.2f}")
    itself = [{at: share(trace, *at, 0) for at in HEADS} for trace in surveyed]
    best = Counter(best_of(values)[0] for values in itself)
    assert best_of({at: share(bird, *at, 0) for at in HEADS})[0] == (0, 8)
    told.says(7, "The best of 72")
    for at in ((1, 1), (2, 2), (0, 8)):
        mean = np.mean([values[at] for values in itself])
        told.says(8, f"L{at[0]}·H{at[1]} | {mean:.2f} | {best[at]} of 200")
    told.says(8, f"In {best[0, 8]} of the 200. Another head, L1·H1, is the best in {best[1, 1]}")
    told.says(8, "of the 200 sentences is L0·H8 again the best of the 72? Guess the share, from 0 to 1")
    assert float(steps[7].of) == best[0, 8] / 200 and best.most_common(1)[0][0] == (1, 1)
    told.says(9, "In 200 sentences of two novels")
    told.says(9, f"{np.mean(marks):.2f} of its attention on average, but from {min(marks):.2f} to {max(marks):.2f}")
    assert told.numbers_left() == []


@pytest.mark.parametrize("name", SHIPPED)
def test_on_another_model_each_step_that_cannot_be_done_says_so_in_one_sentence(roberta, name):
    table = one_of(name).check(roberta)
    assert len(table) == len(one_of(name).steps) and not table["holds"].all()
    for says in table.query("not holds")["says"]:
        assert 10 < len(says) < 130 and "\n" not in says and "Error" not in says, says
    text = " ".join(table["says"])
    assert "does not exist: choose one from 0 to 1" in text


@pytest.fixture(scope="module")
def roberta() -> bl.Lens:
    """A random one of 2 layers x 2 heads."""
    tokenizer = roberta_like()
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = tf.RobertaConfig(**{**ROBERTA, **sizes, "vocab_size": len(tokenizer), "max_position_embeddings": 140})
    torch.manual_seed(0)
    return bl.Lens(tf.RobertaForMaskedLM(config).eval(), tokenizer)
