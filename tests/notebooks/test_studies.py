"""What the notebooks count, against loops over single cells."""

from __future__ import annotations

import random
import re
from time import sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import InputError, survey
from studies import (
    alike,
    alike_books,
    differences,
    finding,
    gate_counts,
    genes,
    grammar,
    lifts,
    masked_sentences,
    patterns,
    rankings,
    texts,
    tour,
)

PAIRS = [("The cat sat on the mat.", "It was tired."), ("She opened the window.", "Cold air filled the small room.")]


@pytest.fixture(scope="module")
def traces(embedded_lens: Any) -> list[Any]:
    return embedded_lens.trace_batch(PAIRS)


def words(trace: Any) -> list[int]:
    return [at for at in range(trace.n_tokens) if not trace.special_mask[at]]


def neighbours(trace: Any, step: int) -> list[tuple[int, int]]:
    side, inside = trace.segments.tolist(), set(words(trace))
    return [(i, i + step) for i in words(trace) if i + step in inside and side[i] == side[i + step]]


def test_an_interval_reads_as_text():
    mean, low, high = survey.mean_interval([0.25, 0.5, 1.0])
    assert survey.mean_text([0.25, 0.5, 1.0], 3) == f"{mean:.3f} [{low:.3f}, {high:.3f}]"
    assert high > 1 and survey.mean_text([0.25, 0.5, 1.0], most=1) == f"{mean:.2f} [{low:.2f}, 1.00]"
    assert survey.mean_text([-0.001, -0.002]) == "0.00 [-0.01, 0.00]"
    with pytest.raises(InputError):
        survey.mean_text([1.0])


def test_a_finding_shows_its_sentence_with_its_table_and_names_what_it_has():
    import pandas as pd

    found = finding.Finding("a < b\nand more", pd.DataFrame({"n": [7]}), least=3)
    assert found.least == 3
    assert found._repr_html_().startswith("<p>a &lt; b<br>and more</p>")  # what Jupyter shows
    long = finding.Finding("", pd.DataFrame({"heads": ["L3·H1 -0.83, " * 9 + "the last"]}))
    assert "7" in found._repr_html_() and "the last" in long._repr_html_()
    assert repr(found).startswith("a < b")
    with pytest.raises(AttributeError, match="least"):
        _ = found.most


def test_a_count_says_for_how_long_it_lasts_and_so_does_none_within_it(monkeypatch):
    shown: list[str] = []
    monkeypatch.setattr(finding, "line", lambda: shown.append)

    class Numbers:
        n = 0

        @finding.Count
        def inner(self):
            self.n += 1
            sleep(2.2)
            return self.n

        @finding.Count
        def outer(self):
            return self.inner + 1

    numbers = Numbers()
    assert (numbers.outer, numbers.inner) == (2, 1)
    assert shown == ["counting … 2 s", ""]
    assert (numbers.outer, numbers.n) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        finding.counted(lambda: 1 / 0)()
    assert finding.counted(len)("abc") == 3 and len(shown) == 2


def test_the_tour_counts_neighbours_and_what_cls_gives(traces):
    each = tour.neighbours(traces).each
    for row, trace in zip(each.itertuples(index=False), traces, strict=True):
        after = [float(trace.attention(1)[8, i, j]) for i, j in neighbours(trace, 1)]
        before = [float(trace.attention(0)[2, i, j]) for i, j in neighbours(trace, -1)]
        by_weight = [float(trace.attention(1)[8, i, 0]) for i in words(trace)]
        assert row[:3] == pytest.approx([np.mean(after), np.mean(before), np.mean(by_weight)], abs=1e-5)
        value = trace.value(1)[8].double().numpy()  # f(x) = v W_O of the head
        out = trace.lens.model.encoder.layer[1].attention.output.dense.weight.detach().double().numpy()
        size = np.linalg.norm(value @ out[:, 8 * 32 : 9 * 32].T, axis=1)
        sent = trace.attention(1)[8].double().numpy() * size
        assert row[3] == pytest.approx(np.mean([sent[i, 0] / sent[i].sum() for i in words(trace)]), abs=1e-4)


def test_a_model_that_is_not_told_of_positions_or_types_is_a_copy(embedded_lens):
    before = embedded_lens.model.embeddings.position_embeddings.weight.detach().clone()
    hidden = patterns.untold(embedded_lens, types=True, positions=True).model.embeddings
    assert (hidden.position_embeddings.weight[:32] == hidden.position_embeddings.weight[0]).all()
    assert (hidden.token_type_embeddings.weight[0] == hidden.token_type_embeddings.weight[1]).all()
    assert (embedded_lens.model.embeddings.position_embeddings.weight == before).all()


def test_a_lift_is_the_mean_score_of_wanted_keys_less_that_of_the_others(traces):
    for name, (layer, head) in lifts.HEADS.items():
        found = []
        for i in words(trace := traces[1]):
            row, side = trace.scores(layer)[head, i].double().tolist(), trace.segments.tolist()
            among = words(trace) if name == "bag of words" else range(trace.n_tokens)
            keys = {
                "[CLS]": [0],
                "[SEP]": [j for j in range(trace.n_tokens) if trace.tokens[j] == "[SEP]"],
                "bag of words": [j for j in words(trace) if side[j] == side[i]],
                "next": [j for k, j in neighbours(trace, 1) if k == i],
                "previous": [j for k, j in neighbours(trace, -1) if k == i],
            }[name]
            if keys:
                found.append(np.mean([row[j] for j in keys]) - np.mean([row[j] for j in among if j not in keys]))
        assert lifts.lifts([trace], name) == pytest.approx([np.mean(found)], abs=1e-4)
    maps = lifts.sources.maps(trace, *lifts.HEADS["next"]).values()  # the parts sum to the whole
    assert sum(lifts.lift(part, trace, "next") for part in maps) == pytest.approx(
        lifts.lifts([trace], "next")[0], abs=1e-3
    )


def test_majority_is_the_most_frequent_label():
    found = np.array([[["open", "closed"]], [["open", "mixed"]], [["closed", "mixed"]]])
    assert gate_counts.majority(found).tolist() == ["open", "mixed"]


def test_what_cls_gives_in_closed_heads_and_in_others(traces):
    [labels], trace = gate_counts.labels(traces[:1]), traces[0]
    closed, others = [], []
    for layer, head in np.ndindex(labels.shape):
        out = trace.lens.model.encoder.layer[layer].attention.output.dense.weight.detach().double().numpy()
        sent = trace.value(layer)[head].double().numpy() @ out[:, head * 32 : (head + 1) * 32].T
        size = np.linalg.norm(sent, axis=1)
        (closed if labels[layer, head] == "closed" else others).append(size[0] / np.mean(size[words(trace)]))
    assert gate_counts.given_at_cls(trace, labels) == pytest.approx([np.median(closed), np.median(others)], abs=1e-4)


def test_texts_of_frames_and_words_exchanged(embedded_lens):
    assert differences.exchanged("one two three four five") == "one three two four five"
    assert (
        alike_books.with_two("The cat saw the dog and the bird.", "bird", "cat") == "The bird saw the dog and the cat."
    )
    pairs = alike.filled(["otter", "chisel"], 1)
    assert len(pairs) == 2 * len(alike.TWO)
    assert pairs[0] == ("The old woman found a otter behind the church.", "We heard about a chisel on the radio.")
    [found] = alike.cosines(embedded_lens, [("A cat.", "My old dog sleeps.")])
    a, b = (
        trace.output.last_hidden_state[0].mean(0).double().numpy()
        for trace in map(embedded_lens.trace, ("A cat.", "My old dog sleeps."))
    )
    assert found == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-5)


def test_sentences_for_a_mask_need_each_word_in_turn():
    for make in masked_sentences.MAKERS.values():
        rows = [make(random.Random(seed), bool(seed % 2)) for seed in range(6)]
        assert all(text.count("[MASK]") == 1 and noun in text for text, _, _, noun in rows)
        assert [row[1:3] for row in rows[::2]] == [row[2:0:-1] for row in rows[1::2]]
    agreement = masked_sentences.agreement(random.Random(3), True)
    assert agreement[1] == "were"
    assert agreement[3].endswith("s")
    assert all(
        text.count("[MASK]") == 1 and {right, wrong} in ({"was", "were"}, {"he", "she"})
        for rows in masked_sentences.NATURAL.values()
        for text, right, wrong in rows
    )


def test_marked_sentences_have_their_words():
    assert [len(sentence) for sentence in map(grammar.marked, grammar.MARKED.strip().splitlines())][:3] == [9, 8, 9]


def test_long_texts_are_the_words_of_pairs_in_a_row():
    pairs = [(f"a{n}", f"b{n}") for n in range(7)]
    assert texts.joined(pairs, 3) == [("a0 b0 a1 b1 a2 b2", ""), ("a3 b3 a4 b4 a5 b5", "")]
    assert texts.joined(pairs, 5) == [("a0 b0 a1 b1 a2 b2", "a3 b3 a4 b4")]
    every = [texts.CORPUS_PAIRS, texts.SHORT_PAIRS, texts.OTHER_PAIRS, texts.ALIKE_PAIRS, texts.MIDDLE_PAIRS]
    once = [pair for pairs in [*every, texts.LINKED_PAIRS, texts.STORY_PAIRS[:12]] for pair in pairs]
    assert len(set(once)) == len(once)


def test_the_windows_that_cls_attends_to_most(traces):
    tokens, weights = genes.most_attended(traces[0], 3)
    trace = traces[0]
    mean = np.mean([[trace.attention(n)[h, 0].numpy() for h in range(12)] for n in range(6)], axis=(0, 1))
    inner = mean[1:-1]
    assert tokens == (inner.argsort()[::-1][:3] + 1).tolist()
    assert weights.numpy() == pytest.approx(np.sort(inner)[::-1][:3], abs=1e-6)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_shares_of_domains_can_be_read_on_their_ground():
    """Any share between the least and the largest of a row: WCAG's contrast of text, 4.5."""
    count = 400
    marks = [SimpleNamespace(domain=f"d{n}") for n in range(count)]
    spike = SimpleNamespace(spans=[(mark.domain, 0, 0) for mark in marks], marks=marks)
    weights = torch.linspace(0, 1, count).expand(1, count, count)
    trace = SimpleNamespace(n_tokens=count, n_layers=1, n_heads=1, attention=lambda layer: weights)
    shown = genes.by_domain(trace, spike)
    assert shown.data.loc["H0"].to_numpy() == pytest.approx(np.linspace(0, 1, count))
    colours = re.findall(r"background-color: (#\w{6});\s*color: (#\w{6})", shown.to_html())
    assert len(colours) > 100
    for pair in colours:
        dark, light = sorted(map(luminance, pair))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_variance_between_groups():
    import torch

    vectors = torch.tensor([[0.0], [2.0], [10.0], [12.0]]).double()
    assert genes.between_groups(vectors, ["a", "a", "b", "b"]) == pytest.approx(1 - 4 / 104)
    places, share = genes.plane(torch.tensor([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]]).double())
    assert share == pytest.approx(1.0)
    assert np.abs(places[:, 0].numpy()) == pytest.approx([2, 0, 2])


def test_rankings_are_tested_under_a_bar(monkeypatch):
    """It takes a minute and more, of which something is to be seen."""
    seen = []

    def bar(sentences, **about):
        for n, text in enumerate(sentences):
            yield text
            seen.append((about["desc"], n + 1, len(sentences)))

    monkeypatch.setattr(rankings, "METHODS", [rankings.attribution.gradient_input])
    monkeypatch.setattr(rankings, "tqdm", bar)
    found = rankings.faithful(bl.Lens.embedded(mlm=True), ["The cat sat there.", "She is here."])
    assert found.beaten.shape == (2, 3, 2)
    assert seen == [("rankings tested", 1, 2), ("rankings tested", 2, 2)]
