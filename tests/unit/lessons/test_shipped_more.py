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
from bertlens.measures.byhead import statistics
from bertlens.survey import mean_interval
from bertlens.text import excerpts
from bertlens.trace.trace import Trace
from unit.lessons.told import PERSONAL, REST, SHARED, Told, others, share, weight
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
    told.says(2, f"No other head comes near: the next best has {before[second]:.2f}")
    assert before[first] > 0.9  # a thin line
    told.says(2, "Its picture is one thin line just below the diagonal.")
    told.says(2, "It is in the first layer, L0.")
    told.only_says(1, "Jesse Vig looked at the heads of BERT", "Some look at the word before or after")  # Vig 2019
    places = [n for n, token in enumerate(trace.tokens) if token == "[SEP]"]
    assert [trace.tokens[place - 1] for place in places] == [".", "."] and places[-1] == trace.n_tokens - 1
    told.says(1, "Here are two sentences in one text. A token [SEP] stands after each.")
    assert [at for at in HEADS if share(trace, *at, 1) > 0.39] == [(1, 8)]
    told.says(3, "above 0.4")
    for other in others(embedded_lens):
        assert share(other, 1, 8, 1) > 0.4 and best_of({at: share(other, *at, 1) for at in HEADS})[0] == (1, 8)
        assert share(other, 0, 2, -1) > 0.99 * (other.n_tokens - 1) / other.n_tokens
    told.says(3, "L1·H8 is the only one.")
    told.says(3, "Like L0·H2 it goes by **place**: the line is there in other sentences, too, whatever the words are.")
    told.says(3, "The line is now just above the diagonal.")
    told.says(3, "It is in layer 1.")
    row = trace.attention(2)[9]
    cats, ons = ([n for n, token in enumerate(trace.tokens) if token == word] for word in ("cat", "on"))
    assert steps[3].state["query"] == cats[1] and row[cats[1]].argmax() == cats[0] and row[ons[1]].argmax() == ons[0]
    told.says(4, "This is L2·H9. The marked row is that of the second “cat”.")
    told.says(4, "It looks at the **other** “cat”, in the first sentence.")
    told.says(4, f"The second “on” looks at the first “on” in the same way ({row[ons[1], ons[0]]:.2f}).")
    for first_text, second_text, word in SHARED:  # wherever the word stands
        other = embedded_lens.trace(first_text, second_text)
        one, two = (n for n, token in enumerate(other.tokens) if token == word)
        words = [n for n, special in enumerate(other.special_mask) if not special]
        assert max(words, key=other.attention(2)[9][two].tolist().__getitem__) == one, word
    told.says(4, "This head goes by what a word is, not by where it stands.")
    on = [at for at in HEADS if largest(trace, at, "on", "on") > 0.39]
    assert on == [(1, 1), (2, 9)]
    for layer, head in on:  # it is the other one
        itself = trace.attention(layer)[head][ons, ons].max()
        assert largest(trace, (layer, head), "on", "on") > 2 * itself
    told.only_says(5, "`weight(on, on)` is the largest weight from one “on” to any “on”.")
    told.says(5, "It is one layer below.")
    weaker = largest(trace, (1, 1), "on", "on")
    told.says(5, f"L1·H1 is the only other one of the {len(HEADS)} heads. It is weaker: {weaker:.2f}")
    told.says(5, "above 0.4")
    related = [at for at in HEADS if weight(trace, *at, "mat", "rug") > 0.24]
    told.says(6, f"{len(related)} heads do so: L1·H1, L5·H5 and L5·H7")
    told.says(6, "above 0.25")
    assert related == [(1, 1), (5, 5), (5, 7)]
    told.only_says(6, "“mat” and “rug” are two words for nearly the same thing.")
    told.says(6, "Two of them are in the last layer; the heads that go by place were in the first two.")
    of = torch.tensor([int(n > trace.tokens.index("[SEP]")) for n in range(trace.n_tokens)])
    inside = shares_of(trace, (of[:, None] == of[None]).float())
    told.says(7, f"For {sum(value > 0.5 for value in inside.values())} of the {len(HEADS)} heads it is above 0.5")
    told.says(7, "below 0.45")
    assert [at for at in HEADS if inside[at] < 0.455] == [(2, 9)]
    table = statistics(trace)
    of_statistic = table.values[..., table.names.index("same_segment")]
    assert all(abs(float(of_statistic[at]) - inside[at]) < 1e-4 for at in HEADS)  # [CLS] is of the first
    told.says(7, "is the share of attention that stays in its own sentence ([CLS] counts to the first).")
    told.says(7, "You have met it: L2·H9. As it looks for the same word, it has to look into the other sentence.")
    to_separator = shares_of(trace, is_separator(trace).float())
    assert best_of(to_separator)[0] == (0, 5) and to_separator[0, 5] < 0.5
    on_first = sum(float(trace.attention(layer)[head][:, 0].mean()) > 0.5 for layer, head in HEADS)
    assert max(to_separator.values()) < 0.5 < max(shares_of(trace, torch.eye(trace.n_tokens)[0]).values())
    told.says(8, "Even this head gives [SEP] less than half. Here [CLS] takes the place of [SEP]:")
    told.says(8, f"{on_first} of the {len(HEADS)} heads give [CLS] more than half")
    told.only_says(8, "Vig found many heads in BERT that look at [SEP].", "Not every model has every pattern.")
    told.says(8, "[SEP] is in the middle and at the end: look for two columns.")
    columns = trace.attention(0)[5].mean(0)
    assert sorted(columns.topk(2).indices.tolist()) == places
    told.says(8, "It is in the first layer, L0.")
    told.says(9, "`next` above 0.4.")
    told.says(9, "A pattern of place holds whatever the words are. That is why it is still there in *your* sentence.")
    told.says(10, "“The word before” and “the word after” go by place: they stay.")
    told.says(10, "“The same word” and “a related word” go by what the words are")
    assert told.numbers_left() == [] and told.unsaid() == []


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

    columns = trace.attention(2)[7].mean(0)
    assert columns[1:].max() < 0.05
    told.says(1, f"The picture of L2·H7 is one column: {columns[0]:.2f} of all its attention goes to [CLS].")
    assert all(other.tokens[0] == "[CLS]" for other in others(embedded_lens))
    told.says(1, "[CLS] is no word; the model puts it in front of every text.")
    for n in (2, 4):
        told.says(n, "a number from 0 to 1")
        assert trace.tokens[steps[n - 1].state["query"]] == "sat"
    given = weight(trace, 2, 7, "sat", "[CLS]")
    assert given > 0.9
    told.says(2, "The marked row is that of “sat”.")
    told.says(2, "Nearly all of it. The words of the sentence share what is left.")
    told.says(2, "You have just read it.")
    assert steps[2].state["measure"] == "norm"
    told.says(3, "The picture shows it now.")
    told.only_says(3, "A head does two things.", "It decides how much to **look** at a token: that is the weight.")
    told.only_says(3, "And it **takes** something from there", "What is passed on is the weight times this length")
    told.only_says(3, "Kobayashi and others proposed to look at it, in 2020.")  # Attention is Not Only a Weight
    told.says(3, "2020")  # Kobayashi et al., Attention is Not Only a Weight
    told.says(4, f"“sat” gives [CLS] {given:.2f} of its weight")
    assert taken((2, 7), "sat")[0] < 0.2
    told.says(4, "It looks at [CLS] a lot and takes little from it.")
    sums = (trace.attention(2)[7] * norms[2, 7]).sum(0)
    assert sums.argmax() != 0 and trace.attention(2)[7].sum(0).argmax() == 0  # the column is the strongest no more
    ratios = norms[..., 0] / norms[..., words].mean(-1)
    told.says(4, f"What there is to take at [CLS] is only {ratios[2, 7]:.2f} as long as at the average word.")
    looking = [at for at in HEADS if weight(trace, *at, "it", "[CLS]") > 0.5 and taken(at, "it")[0] < 0.1]
    assert (2, 7) in looking and (3, 4) in looking and len(looking) > 4
    assert len([at for at in looking if at[0] == 3]) > 1
    told.says(5, "There are several.")
    told.says(5, "less than 0.1 from there")
    short = ratios < 0.5
    told.says(5, f"In {short.sum()} of the {len(HEADS)} heads what there is to take at [CLS] is less than half as long")
    for other in others(embedded_lens):
        found = lengths(embedded_lens, other.text)
        assert (found[..., 0] < found[..., ~other.special_mask].mean(-1) / 2)[short].all()
        weights = other.attention(2)[7]
        parts = weights * found[2, 7]
        assert ((weights[:, 0] > 0.5) & (parts[:, 0] / parts.sum(-1) < 0.2)).any()
    told.says(5, " as at the average word, here and in other sentences.")
    exceptions = [at for at in HEADS if taken(at, "sat")[0] > 0.49]
    assert exceptions == [(1, 11), (2, 9)]
    told.says(6, f"Only {len(exceptions)} of the {len(HEADS)} heads do: L1·H11 and L2·H9.")
    told.says(6, "What there is to take at [CLS] is short there, too, but less so:")
    told.says(6, f"{ratios[1, 11]:.2f} and {ratios[2, 9]:.2f} of the average word")
    assert ratios[2, 7] < min(ratios[at] for at in exceptions)
    told.says(7, f"“sat” gives [CLS] {weight(trace, 4, 2, 'sat', '[CLS]'):.2f}")
    parts, mat = taken((4, 2), "sat"), trace.tokens.index("mat")
    told.says(7, "Little is left for the words.")
    told.says(
        7, f"“mat” gets only {weight(trace, 4, 2, 'sat', 'mat'):.2f} of the weight, but {parts[mat]:.2f} of what is"
    )
    told.says(7, "“sat” looks at [CLS] and takes from “mat”.")
    told.only_says(7, "It is a noun.")
    assert parts.argmax() == mat and steps[6].state["query"] == trace.tokens.index("sat")
    to_separator = shares_of(trace, is_separator(trace).float())
    assert best_of(to_separator)[0][0] == 0 and max(to_separator.values()) < 0.2
    told.only_says(8, "In BERT many heads rest on [SEP] and take little from it.")  # Clark 2019, Kobayashi 2020
    told.says(8, "Even this head gives [SEP] little.")
    on_first = [shares_of(other, torch.eye(other.n_tokens)[0]) for other in (trace, *others(embedded_lens))]
    assert all(sum(value > 0.5 for value in shares.values()) > 15 for shares in on_first)
    told.says(8, "Models differ in where their heads rest: in this one it is [CLS].")
    assert trace.tokens[-1] == "[SEP]"
    told.says(8, "[SEP] is the last column.")
    told.says(8, "It is in the first layer, L0.")
    told.says(9, "Its weight has to be above 0.5, and less than 0.2 of what its row takes may come from there.")
    told.says(9, "The same in your sentence: a large weight, and little passed on.")
    told.says(9, "[CLS] is the first column.")
    for other in (trace, *others(embedded_lens)):  # of the whole head most comes from the words
        passed = other.attention(2)[7] * lengths(embedded_lens, other.text)[2, 7]
        from_words = (passed / passed.sum(-1, keepdim=True))[:, ~other.special_mask].sum(-1)
        assert from_words.mean() > 0.55
    told.says(10, "There is little to take at [CLS]: most of what the head passes on comes from the words.")
    told.only_says(10, "A friend says:", "“This head looks at [CLS] only.")
    told.only_says(10, "The weight says where the head looks, not what it takes.")
    assert told.numbers_left() == [] and told.unsaid() == []


@pytest.fixture(scope="module")
def surveyed(embedded_lens) -> list[Trace]:
    """The first 100 sentences of each of two novels that have 6 to 25 words."""
    books = excerpts.sentences().values()
    return embedded_lens.trace_batch(
        [text for book in books for text in [s for s in book if 6 <= len(s.split()) <= 25][:100]]
    )


def punctuation(trace: Trace) -> float:
    marks = torch.tensor([all(not c.isalnum() for c in token) for token in trace.tokens]) & ~trace.special_mask
    return float(trace.attention(3)[11][:, marks].sum()) / trace.n_tokens


def on_themselves(trace: Trace) -> dict[tuple[int, int], float]:
    """Of each head, the share of all attention that tokens give to themselves."""
    layers = [trace.attention(layer).diagonal(0, -2, -1).sum(-1).tolist() for layer in range(trace.n_layers)]
    return {(layer, head): layers[layer][head] / trace.n_tokens for layer, head in HEADS}


def test_one_sentence(embedded_lens, surveyed):
    told = Told("one-sentence")
    assert told.lesson.model == embedded_lens.model_name
    assert told.lesson.check(embedded_lens).query("not holds").empty
    steps = told.lesson.steps
    bird, know = (embedded_lens.trace(steps[n].state["text"]) for n in (0, 1))
    column = bird.attention(3)[11].mean(0)
    assert column.argmax() == bird.tokens.index(".") and column.max() > 3 * column.sort().values[-2]
    told.says(1, "L3·H11 has one strong column: that of the full stop.")
    told.says(1, f"{punctuation(bird):.2f} of all its attention goes to punctuation")
    told.only_says(1, "A friend says:", "It looks convincing.")
    stops = shares_of(bird, torch.tensor([float(token == ".") for token in bird.tokens]))
    first, second, *_ = best_of(stops)
    assert first == (3, 11)
    told.says(1, f"No other head of the {len(HEADS)} gives it more than {stops[second]:.2f}")
    told.says(2, "a number from 0 to 1")
    told.says(2, "Very little, though this sentence has a full stop, too.")
    told.says(3, "One sentence is for the claim, one is against it.")
    told.only_says(3, "Count how often the claim holds, and say how far the single sentences are apart.")
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
    told.says(4, "The range in brackets says how well 200 sentences fix the mean; lowest and highest say how much")
    told.says(4, "We took 200 sentences of two old novels.")
    told.says(4, "You know two sentences: it is between them.")
    told.says(4, "# 200 sentences")
    told.says(4, "a number from 0 to 1")
    assert steps[3].of == f"{np.mean(marks):.2f}"
    assert punctuation(know) < np.mean(marks) < punctuation(bird)
    told.says(5, "less than 0.15 to punctuation")
    assert punctuation(embedded_lens.trace(steps[4].show["text"])) < 0.145
    told.only_says(5, "*He laughed.*")
    told.says(5, "One sentence is enough to show that “always” is wrong.")
    personal, rest = (
        [punctuation(embedded_lens.trace(text)) < 0.145 for text in texts.split("|")] for texts in (PERSONAL, REST)
    )
    assert len(personal) == len(rest) == 20 and sum(personal) >= 15 and sum(rest) <= 10
    told.says(5, "Short sentences that begin with “I” or “he” often do it.")
    told.says(6, f"In the 200 sentences `next` was never below {min(of[1, 8][1]):.2f}")
    told.only_says(6, "Here it is enough to see one", "A claim is as strong as the attempts to break it")
    itself = [on_themselves(trace) for trace in surveyed]
    best = Counter(best_of(values)[0] for values in itself)
    assert best_of({at: share(bird, *at, 0) for at in HEADS})[0] == (0, 8)
    told.says(7, "The best of 72")
    told.says(7, "We chose it because of this sentence.")
    told.says(7, "It is in the first layer, L0.")
    winner, runner = (share(bird, *at, 0) for at in best_of({at: share(bird, *at, 0) for at in HEADS})[:2])
    assert winner - runner < 0.02
    told.says(8, "It was the best by a hair.")
    told.only_says(8, "Who is chosen because of one sentence has had luck in it")
    for at in ((1, 1), (2, 2), (0, 8)):
        mean = np.mean([values[at] for values in itself])
        told.says(8, f"L{at[0]}·H{at[1]} | {mean:.2f} | {best[at]} of 200")
    told.says(8, f"In {best[0, 8]} of the 200. Another head, L1·H1, is the best in {best[1, 1]}")
    told.says(8, "of the 200 sentences is L0·H8 again the best of the 72? Guess the share, from 0 to 1")
    assert float(steps[7].of) == best[0, 8] / 200 and best.most_common(1)[0][0] == (1, 1)
    told.says(9, "In 200 sentences of two novels")
    told.says(9, f"{np.mean(marks):.2f} of its attention on average, but from {min(marks):.2f} to {max(marks):.2f}")
    told.says(9, "One sentence can show that “always” is wrong. It cannot show that “usually” is right.")
    assert told.numbers_left() == [] and told.unsaid() == []


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
