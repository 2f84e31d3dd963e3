"""What the notebooks count, against loops over single cells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bertlens import InputError, survey
from bertlens.casestudies import finding, patterns, tour

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
    with pytest.raises(InputError):
        survey.mean_text([1.0])


def test_a_finding_shows_its_sentence_with_its_table_and_names_what_it_has():
    import pandas as pd

    found = finding.Finding("a < b\nand more", pd.DataFrame({"n": [7]}), least=3)
    assert found.least == 3
    assert found._repr_html_().startswith("<p>a &lt; b<br>and more</p>")  # what Jupyter shows
    assert "7" in found._repr_html_()
    assert repr(found).startswith("a < b")
    with pytest.raises(AttributeError, match="least"):
        _ = found.most


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


def test_scores_of_patterns(traces):
    scores = patterns.pattern_scores(traces)
    for name, layer, head in (("next", 1, 8), ("own", 0, 4), ("evenness", 0, 4), ("[SEP]", 0, 5)):
        found = []
        for trace in traces:
            row, side = trace.attention(layer)[head].double().numpy(), trace.segments.tolist()
            for i in words(trace):
                own = [row[i, j] for j in words(trace) if side[i] == side[j]]
                share = [x / sum(own) for x in own]
                found += {
                    "next": [row[i, j] for k, j in neighbours(trace, 1) if k == i],
                    "own": [sum(own)],
                    "evenness": [-sum(x * math.log(x) for x in share) / math.log(len(share))],
                    "[SEP]": [sum(row[i, j] for j in range(trace.n_tokens) if trace.tokens[j] == "[SEP]")],
                }[name]
        assert scores[name][layer, head] == pytest.approx(np.mean(found), abs=1e-5)
    bag = (scores["own"] - scores["other"]) * scores["evenness"]
    assert scores["bag of words"] == pytest.approx(bag)
    assert scores["next"][patterns.best_heads(scores["next"], 1)[0]] == scores["next"].max()


def test_a_model_that_is_not_told_of_positions_or_types_is_a_copy(embedded_lens):
    before = embedded_lens.model.embeddings.position_embeddings.weight.detach().clone()
    hidden = patterns.untold(embedded_lens, types=True, positions=True).model.embeddings
    assert (hidden.position_embeddings.weight[:32] == hidden.position_embeddings.weight[0]).all()
    assert (hidden.token_type_embeddings.weight[0] == hidden.token_type_embeddings.weight[1]).all()
    assert (embedded_lens.model.embeddings.position_embeddings.weight == before).all()


def test_values_of_cls(traces):
    found = patterns.value_lengths(traces)
    size = [trace.value(4)[5].double().norm(dim=-1).numpy() for trace in traces]
    cls = np.mean([one[0] for one in size])
    word = np.mean([one[at] for one, trace in zip(size, traces, strict=True) for at in words(trace)])
    assert found[4, 5] == pytest.approx(cls / word, abs=1e-5)
