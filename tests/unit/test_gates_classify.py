"""Gates of whole traces: the table, views, several traces, and the test of instance gates over texts."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch

from bertlens.errors import InputError
from bertlens.measures import gates
from bertlens.measures.gates.instance import _shuffled
from bertlens.trace import Trace
from unit import tiny
from unit.gate_maps import layout, pure

COLUMNS = ["layer", "head", "label", "labels", *gates.GATES]
FIRST = "the old mill by the river was sold last year".split()
SECONDS = [
    "nobody knew who had bought it".split(),
    "a young couple moved in soon".split(),
    "its wheel still turns".split(),
    "we never learned why they left so early".split(),
    "rain fell for days and days".split(),
]


def texts() -> list[list[str]]:
    return [["[CLS]", *FIRST, "[SEP]", *second, "[SEP]"] for second in SECONDS]


def trace_of(maps: np.ndarray, tokens: list[str]) -> Trace:
    """maps (L, H, S, S)."""
    return Trace.from_attentions(maps, tokens)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def random_traces(rng: np.random.Generator, heads: int) -> list[Trace]:
    """Every text has its own random sharp map."""
    return [trace_of(softmax(5 * rng.normal(size=(1, heads, len(t), len(t)))), t) for t in texts()]


def bound_traces(rng: np.random.Generator, heads: int) -> list[Trace]:
    """Where a token looks is a matter of the two tokens, the same in every text: each has a far partner in its text."""
    known = sorted({token for t in texts() for token in t})
    table = {(a, b): rng.normal(size=heads) for a in known for b in known}
    traces = []
    for tokens in texts():
        logits = np.array([[table[a, b] for b in tokens] for a in tokens]) * 5  # (S, S, heads)
        logits += rng.normal(size=logits.shape)  # and some of its own in every text
        traces.append(trace_of(softmax(np.moveaxis(logits, -1, 0))[None], tokens))
    return traces


def test_table_of_one_trace():
    lens = bl_lens()
    trace = lens.trace("the cat sat on the mat.", "it was very warm.")
    table = gates.classify(trace)
    assert list(table.columns) == COLUMNS
    assert len(table) == trace.n_layers * trace.n_heads
    alone = gates.scores(trace.attention(1), trace.special_mask, trace.segments)
    rows = table[table["layer"] == 1]
    assert rows["label"].tolist() == gates.label(alone).tolist()
    for gate in gates.GATES:
        assert np.allclose(rows[gate], alone[gate].numpy())
    content = gates.classify(trace, "content")
    assert (content["closed"] == 0).all()
    assert not np.allclose(content["self"], table["self"])


def bl_lens():
    from bertlens.lens import Lens

    return Lens(tiny.bert(), tiny.wordpiece())


def test_padding_makes_no_difference():
    lens = bl_lens()
    short = "the cat sat on the mat."
    padded = lens.trace_batch([short, "the cat sat on the mat, it was very warm. the cats sat on the mats."])[0]
    alone, batched = gates.classify(lens.trace(short)), gates.classify(padded)
    assert alone["label"].tolist() == batched["label"].tolist()
    for gate in gates.GATES:
        assert np.allclose(alone[gate], batched[gate], atol=1e-5)


def test_thresholds_are_arguments():
    trace = bl_lens().trace("the cat sat on the mat.", "it was very warm.")
    assert set(gates.classify(trace, threshold=1.1)["label"]) == {"mixed"}
    assert "mixed" not in set(gates.classify(trace, threshold=0, margin=0)["label"])


def test_several_traces_add_share_and_runner_up():
    rng = np.random.default_rng(0)
    special, segments = layout(rng, 20, pair=False)
    tokens = ["[CLS]", *[f"w{i}" for i in range(18)], "[SEP]"]
    kinds = ["self", "self", "closed"]
    traces = [trace_of(np.stack([pure(kind, rng, special, segments)] * 2)[None], tokens) for kind in kinds]
    table = gates.classify(traces)
    assert list(table.columns) == [*COLUMNS, "share", "runner_up"]
    assert table["label"].tolist() == ["self"] * 2
    assert table["share"].tolist() == pytest.approx([2 / 3] * 2)
    assert table["runner_up"].tolist() == ["closed"] * 2
    each = [gates.classify(trace)["closed"][0] for trace in traces]
    assert table["closed"][0] == pytest.approx(np.mean(each))
    assert gates.classify(traces[:1])["runner_up"].tolist() == ["", ""]


def test_one_text_too_short_leaves_the_others_mean():
    rng = np.random.default_rng(1)
    special, segments = layout(rng, 12, pair=False)
    long = trace_of(pure("self", rng, special, segments)[None, None], ["[CLS]", *"abcdefghij", "[SEP]"])
    short = trace_of(np.eye(3)[None, None], ["[CLS]", "a", "[SEP]"])
    table = gates.classify([long, long, short])
    assert table["label"][0] == "self"
    assert table["runner_up"][0] == "undefined"
    assert table["self"][0] == pytest.approx(gates.classify(long)["self"][0])


# --- instance over five texts ---


def instance_share(table) -> float:
    return float((table["label"] == "instance").mean())


def test_single_random_sharp_maps_pass_as_instance():
    trace = random_traces(np.random.default_rng(2), 100)[0]
    assert instance_share(gates.classify(trace)) > 0.5  # why several texts are needed


def test_random_maps_are_no_instance_over_five_texts():
    table = gates.classify(random_traces(np.random.default_rng(3), 400))
    assert instance_share(table) <= 0.05
    assert (table["instance"] > 0).mean() <= 0.03  # p ≤ 0.01


def test_token_bound_maps_are_instance_over_five_texts():
    table = gates.classify(bound_traces(np.random.default_rng(4), 200))
    assert instance_share(table) >= 0.95


def test_the_null_is_a_null():
    """Random maps: p below a level about as often as the level says, and agreement at its chance."""
    table = gates.target_agreement(random_traces(np.random.default_rng(5), 400))
    for level in (0.01, 0.05, 0.2, 0.5):
        slack = 3 * np.sqrt(level * (1 - level) / 400)
        assert level - slack - 0.1 * level <= (table["p"] <= level).mean() <= level + slack
    assert table["agreement"].mean() == pytest.approx(table["chance"].mean(), abs=0.01)


def test_agreement_by_hand():
    """Two texts, four shared tokens; targets are the largest weights among shared tokens two places away."""
    one, two = ["[CLS]", *"abcdx", "[SEP]"], ["[CLS]", *"abcdyz", "[SEP]"]
    first, second = np.full((7, 7), 0.01), np.full((8, 8), 0.01)
    for i, (j, k) in {1: (3, 4), 2: (4, 4), 3: (1, 1), 4: (1, 2)}.items():  # a: c/d, b: d/d, c: a/a, d: a/b
        first[i, j] = second[i, k] = 1
    first[1, 5] = 5  # x is not shared
    first[2, 3] = second[2, 1] = 3  # near, so neither counts, nor would b agree
    first[3, 2] = second[3, 2] = 9
    traces = [trace_of((a / a.sum(1, keepdims=True))[None, None], t) for a, t in ((first, one), (second, two))]
    table = gates.target_agreement(traces)
    assert table["agreement"].tolist() == [0.5]
    # all ways to give the targets d d a b of the second text to its words a b c d so that each stays far
    allowed = [
        order for order in set(permutations([4, 4, 1, 2])) if all(abs(i + 1 - j) > 1 for i, j in enumerate(order))
    ]
    expected = np.mean([sum(x == y for x, y in zip(order, [3, 4, 1, 1], strict=True)) / 4 for order in allowed])
    assert table["chance"][0] == pytest.approx(expected, abs=0.02)


def test_near_in_one_text_is_near():
    """a and b are neighbours in the second text: b is no target of a, though both texts agree on it."""
    texts_here = (["[CLS]", *"axbcdef", "[SEP]"], ["[CLS]", *"abcdef", "[SEP]"])
    traces = []
    for tokens, other in zip(texts_here, "de", strict=True):
        a = np.full((len(tokens), len(tokens)), 0.01)
        a[tokens.index("a"), tokens.index("b")] = 9
        a[tokens.index("a"), tokens.index(other)] = 3
        for token in "bcdef":
            a[tokens.index(token), tokens.index("f" if token in "bc" else "a")] = 9
        traces.append(trace_of((a / a.sum(1, keepdims=True))[None, None], tokens))
    assert gates.target_agreement(traces)["agreement"].tolist() == pytest.approx([5 / 6])


def test_shuffles_reach_every_allowed_place_alike():
    r = 11
    index = torch.arange(r)
    anywhere = torch.ones(r, r, dtype=torch.bool)
    found = _shuffled(index[None, None], anywhere, 4000, torch.Generator().manual_seed(0))[0, 0]
    share = torch.stack([(found == j).double().mean(0) for j in range(r)])
    assert (share - 1 / r).abs().max() < 0.03
    far = (index[:, None] - index[None, :]).abs() > 1
    found = _shuffled((index + 4)[None, None] % r, far, 500, torch.Generator().manual_seed(0))[0, 0]
    assert far[index, found].all()
    assert (found.sort(-1).values == index).all()


def test_stripes_are_not_taken_for_bound_tokens():
    """All rows look at the same column in every text: full agreement, and just as much by chance."""
    traces = []
    for tokens in texts():
        stripe = np.full((len(tokens), len(tokens)), 1e-4)
        stripe[:, tokens.index("mill")] = 1
        traces.append(trace_of((stripe / stripe.sum(1, keepdims=True))[None, None], tokens))
    table = gates.target_agreement(traces)
    assert table["p"][0] > 0.05
    assert gates.classify(traces)["label"].tolist() == ["directional"]


def test_the_same_text_five_times_proves_nothing():
    traces = bound_traces(np.random.default_rng(6), 20)[:1] * 5
    assert gates.target_agreement(traces).isna()[["agreement", "chance", "p"]].all(axis=None)
    assert instance_share(gates.classify(traces)) == 0


def test_the_null_is_repeatable():
    traces = random_traces(np.random.default_rng(7), 3)
    assert gates.target_agreement(traces).equals(gates.target_agreement(traces))


# --- bad input ---


def test_bad_input():
    square = trace_of(np.full((1, 1, 4, 4), 0.25), list("abcd"))
    with pytest.raises(InputError, match="trace"):
        gates.classify([])
    with pytest.raises(InputError, match="trace"):
        gates.classify(["text"])
    with pytest.raises(InputError, match="different models"):
        gates.classify([square, trace_of(np.full((2, 1, 4, 4), 0.25), list("abcd"))])
    with pytest.raises(InputError, match="cross-attention"):
        gates.classify(Trace.from_attentions(np.full((1, 1, 4, 5), 0.2), list("abcd"), list("abcde")))


def test_nan_weights_are_named_with_their_layer():
    lens = bl_lens()
    with torch.no_grad():
        lens.model.encoder.layer[1].attention.self.query.weight[0, 0] = torch.nan
    with pytest.raises(InputError, match="from layer 1"):
        gates.classify(lens.trace("the cat sat on the mat"))


# --- trained models ---


def test_embedded_model_has_a_backward_gate(embedded_lens):
    table = gates.classify(
        embedded_lens.trace("The cat sat on the mat because it was tired.", "The dog lay on the rug.")
    ).set_index(["layer", "head"])
    assert table.loc[(0, 2), "label"] == "backward contextual"
    assert table.loc[(0, 2), "backward contextual"] > 0.93
    assert table.loc[(1, 8), "label"] == "forward contextual"


def test_embedded_model_over_several_texts(embedded_lens):
    pairs = [("He asked whether the train was late.", second) for second in ("Nobody knew.", "It was.", "We left.")]
    traces = embedded_lens.trace_batch(pairs)
    for view in ("full", "content"):
        table = gates.classify(traces, view).set_index(["layer", "head"])
        assert table.loc[(0, 2), ["label", "share", "runner_up"]].tolist() == ["backward contextual", 1.0, ""]


@pytest.mark.data
def test_bert_base_heads_that_are_known(data):
    """bert-base-uncased: previous-token heads 4-6, 7-12, 8-5, next-token heads 1-11, 2-2, 3-1, 3-10, 6-10 (from 1)."""
    folder = data / "attention" / "bertviz_pretrained"
    backward = [(3, 5), (6, 11), (7, 4)]
    forward = [(0, 10), (1, 1), (2, 0), (2, 9), (5, 9)]
    for name in ("bert_base_uncased_cat_pair.npz", "bert_base_uncased_rabbit_pair.npz"):
        file = np.load(folder / name)
        trace = Trace.from_attentions(file["attentions"], [str(token) for token in file["tokens"]])
        table = gates.classify(trace, "content").set_index(["layer", "head"])
        for heads, gate in ((backward, "backward contextual"), (forward, "forward contextual")):
            for head in heads:
                assert gate in table.loc[head, "labels"], (name, head, table.loc[head])
        full = gates.classify(trace)
        late = full[full["layer"].between(5, 10)]
        assert (late["closed"] >= 0.35).mean() > 0.6  # [SEP] takes over 60 % in layers 5 to 12


@pytest.mark.data
def test_bert_base_heads_over_film_reviews(data):
    import json

    folder = data / "attention" / "dodrio_bert_base_sst2"
    file = np.load(folder / "attention_u16.npz")
    traces = []
    for item in json.loads((folder / "tokens.json").read_text())[::10]:
        maps = file[f"attn_{item['id']}"] / 10000
        traces.append(Trace.from_attentions(maps / maps.sum(-1, keepdims=True), item["tokens"]))
    table = gates.classify(traces).set_index(["layer", "head"])
    for head in ((1, 4), (3, 5)):
        assert table.loc[head, ["label", "share"]].tolist() == ["backward contextual", 1.0]
    for head in ((1, 1), (2, 0), (2, 9), (5, 9), (0, 10)):
        assert table.loc[head, ["label", "share"]].tolist() == ["forward contextual", 1.0]
