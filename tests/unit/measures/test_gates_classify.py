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

COLUMNS = ["layer", "head", "tokens_least", "tokens_most", "label", "labels", *gates.GATES]
SHARED = "the old mill by the river was sold last year".split()
OTHERS = (
    "rain fell for days and nobody knew who had bought it while its wheel still turned so a couple moved in".split()
)
AROUND = [(2, 6), (5, 1), (0, 4), (4, 9), (7, 3)]  # words before the shared sentence, and after it


def texts(around: list[tuple[int, int]] = AROUND) -> list[list[str]]:
    """One sentence that stands at another place in every text."""
    made = []
    for n, (before, after) in enumerate(around):
        words = OTHERS[n:] + OTHERS[:n]
        made.append(["[CLS]", *words[:before], *SHARED, *words[before : before + after], "[SEP]"])
    return made


def beside_second_sentences() -> list[list[str]]:
    """The same sentence first in every text: all its tokens stand where they stood."""
    return [["[CLS]", *SHARED, "[SEP]", *OTHERS[n : n + length], "[SEP]"] for n, (_, length) in enumerate(AROUND)]


def trace_of(maps: np.ndarray, tokens: list[str]) -> Trace:
    """maps (L, H, S, S)."""
    return Trace.from_attentions(maps, tokens)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def random_traces(rng: np.random.Generator, heads: int, of: list[list[str]] | None = None) -> list[Trace]:
    """Every text has its own random sharp map."""
    return [trace_of(softmax(5 * rng.normal(size=(1, heads, len(t), len(t)))), t) for t in of or texts()]


def bound_traces(rng: np.random.Generator, heads: int, of: list[list[str]] | None = None) -> list[Trace]:
    """Where a token looks is a matter of the two tokens, the same in every text: each has a far partner in its text."""
    of = of or texts()
    known = sorted({token for t in of for token in t})
    table = {(a, b): rng.normal(size=heads) for a in known for b in known}
    traces = []
    for tokens in of:
        logits = np.array([[table[a, b] for b in tokens] for a in tokens]) * 5  # (S, S, heads)
        logits += rng.normal(size=logits.shape)  # and some of its own in every text
        traces.append(trace_of(softmax(np.moveaxis(logits, -1, 0))[None], tokens))
    return traces


PLACES = ("distance decay", "lopsided decay", "offset", "profile of distances", "fixed places", "places from the end")


def place_traces(
    kind: str, rng: np.random.Generator, heads: int, noise: float, of: list[list[str]] | None = None
) -> list[Trace]:
    """Where a head looks is a matter of places, whatever the tokens are."""
    table = 5 * rng.normal(size=(heads, 64, 64))
    profile = 4 * rng.normal(size=(heads, 128))
    rate = rng.uniform(0.1, 2, (heads, 1, 1))
    lopsided = rng.uniform(0.7, 1.5, (heads, 1, 1))
    offset = (rng.integers(2, 7, heads) * rng.choice([-1, 1], heads))[:, None, None]
    traces = []
    for tokens in of or texts():
        index = np.arange(len(tokens))
        away = index[None, :] - index[:, None]
        back = len(tokens) - 1 - index
        logits = {
            "distance decay": -rate * np.abs(away),
            "lopsided decay": -rate * np.abs(away) * np.where(away > 0, lopsided, 1),
            "offset": -rate * np.abs(away - offset),
            "profile of distances": profile[:, away + 64],
            "fixed places": table[:, : len(tokens), : len(tokens)],
            "places from the end": table[:, back][:, :, back],
        }[kind]
        traces.append(trace_of(softmax(logits + noise * rng.normal(size=logits.shape))[None], tokens))
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
    assert list(table.columns) == [*COLUMNS, "texts", "share", "runner_up"]
    assert (table[["tokens_least", "tokens_most", "texts"]] == [20, 20, 3]).all(axis=None)
    assert table["label"].tolist() == ["self"] * 2
    assert table["share"].tolist() == pytest.approx([2 / 3] * 2)
    assert table["runner_up"].tolist() == ["closed"] * 2
    each = [gates.classify(trace)["closed"][0] for trace in traces]
    assert table["closed"][0] == pytest.approx(np.mean(each))
    assert gates.classify(traces[:1])["runner_up"].tolist() == ["", ""]


def plain(n: int) -> list[str]:
    """[CLS], n words, [SEP]."""
    return ["[CLS]", *(f"w{i}" for i in range(n)), "[SEP]"]


def test_texts_of_different_length_are_not_counted_together():
    """Short texts see only themselves, long ones the special tokens: neither is "the" gate of the head."""
    rng = np.random.default_rng(1)
    traces = []
    for words, kind in ((9, "self"), (12, "self"), (60, "closed"), (14, "self"), (40, "closed"), (60, "self")):
        special, segments = layout(rng, words + 2, pair=False)
        traces.append(trace_of(np.stack([pure(kind, rng, special, segments)] * 2)[None], plain(words)))
    table = gates.classify(traces)
    shown = table[["head", "tokens_least", "tokens_most", "texts", "label", "share", "runner_up"]].to_numpy().tolist()
    groups = [[11, 16, 3, "self", 1.0, ""], [42, 62, 3, "closed", pytest.approx(2 / 3), "self"]]
    assert shown == [[head, *group] for head in (0, 1) for group in groups]
    assert table["closed"][1] == pytest.approx(np.mean([gates.classify(traces[at])["closed"][0] for at in (2, 4, 5)]))


def test_groups_of_lengths():
    """Each from its shortest text to 5/3 of it; texts without labels apart."""
    tokens = [30, 9, 12, 50, 51, 8, 10, 200, 16]
    groups = gates.length_groups([(n - 2, n) for n in tokens])
    assert [[tokens[at] for at in group] for group in groups] == [[8, 9], [10, 12, 16], [30, 50], [51], [200]]
    assert gates.length_groups([(n, n) for n in (3, 4, 6, 7)]) == [[0, 1], [2, 3]]


def test_texts_too_short_for_a_label_are_grouped_apart():
    rng = np.random.default_rng(1)
    special, segments = layout(rng, 12, pair=False)
    long = trace_of(pure("self", rng, special, segments)[None, None], plain(10))
    short = trace_of(np.eye(9)[None, None], plain(7))
    table = gates.classify([long, short, long])
    assert table[["tokens_least", "label", "labels", "texts"]].to_numpy().tolist() == [
        [9, "undefined", (), 1],
        [12, "self", ("self",), 2],
    ]
    assert table["self"].tolist() == pytest.approx([1, gates.classify(long)["self"][0]])


def test_labels_of_several_short_texts_need_the_higher_threshold():
    """A score of .5 is a label at 20 words and none at 8 or 9: the mean over these is held against their thresholds."""

    def trace(n: int) -> Trace:
        weight = 0.5 + 0.5 / n  # so that the chance-corrected score is .5
        a = np.full((n + 2, n + 2), 0.0)
        a[1:-1, 1:-1] = np.where(np.eye(n) > 0, weight, (1 - weight) / (n - 1))
        a[[0, -1], 0] = 1
        return trace_of(a[None, None], plain(n))

    table = gates.classify([trace(8), trace(9), trace(20), trace(20)])
    assert table["self"].tolist() == pytest.approx([0.5, 0.5])
    assert table["label"].tolist() == ["mixed", "self"]
    assert table["labels"].tolist() == [(), ("self",)]


# --- instance over five texts ---


def instance_share(table) -> float:
    return float((table["label"] == "instance").mean())


def test_single_random_sharp_maps_pass_as_instance():
    trace = random_traces(np.random.default_rng(2), 100)[0]
    assert instance_share(gates.classify(trace)) > 0.5  # why several texts are needed


def test_random_maps_are_no_instance_over_five_texts():
    table = gates.classify(random_traces(np.random.default_rng(3), 200))
    assert instance_share(table) <= 0.05
    assert (table["instance"] > 0).mean() <= 0.03  # p ≤ 0.01


def test_token_bound_maps_are_instance_over_five_texts():
    table = gates.classify(bound_traces(np.random.default_rng(4), 100))
    assert instance_share(table) >= 0.95


@pytest.mark.sampled(5)
@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("kind", PLACES)
def test_heads_that_go_by_place_are_not_taken_for_bound_tokens(kind, noise):
    """Of every kind of place at least 95 % fail, with and without noise."""
    rng = np.random.default_rng(PLACES.index(kind))
    table = gates.target_agreement(place_traces(kind, rng, 60, noise))
    assert (table["p"] <= 0.01).mean() <= 0.05
    if kind in PLACES[:3] and noise == 0:
        assert (table["agreement"] > table["chance"] + 0.2).all()  # what shuffling alone took for a finding
    assert (table["agreement"] - table["chance_by_place"]).mean() <= 0.01


@pytest.mark.long
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("kind", PLACES)
def test_heads_that_go_by_place_fail_in_texts_of_all_kinds(kind, noise):
    rng = np.random.default_rng(80 + PLACES.index(kind))
    longer = [
        [*t[:-1], *("and", "so", "we", "left"), "[SEP]", *OTHERS[n : n + 6], "[SEP]"] for n, t in enumerate(texts())
    ]
    mixed = [["[CLS]", *rng.permutation(SHARED + OTHERS[:8]), "[SEP]"] for _ in range(5)]
    for of in (texts(), longer, mixed, beside_second_sentences()):
        assert (gates.target_agreement(place_traces(kind, rng, 400, noise, of))["p"] <= 0.01).mean() <= 0.05


def test_bound_tokens_are_found_although_the_head_also_goes_by_distance():
    rng = np.random.default_rng(9)
    traces = []
    for bound, decay in zip(bound_traces(rng, 60), place_traces("distance decay", rng, 60, 0), strict=True):
        logits = np.log(bound.attention(0).numpy()) + np.log(decay.attention(0).numpy())
        traces.append(trace_of(softmax(logits)[None], bound.tokens))
    assert (gates.target_agreement(traces)["p"] <= 0.01).mean() >= 0.95


def test_tokens_that_stand_at_the_same_places_prove_nothing():
    """Place and token cannot be told apart there: no p, and no instance."""
    for made in (bound_traces(np.random.default_rng(8), 5, beside_second_sentences()),):
        assert gates.target_agreement(made).isna()[["agreement", "chance", "chance_by_place", "p"]].all(axis=None)
        assert (gates.classify(made)["instance"] == 0).all()


@pytest.mark.parametrize("keeps", ["start of the input", "start of its text", "end of its text"])
def test_a_place_is_the_same_from_any_side(keeps):
    """Four words that stand as they stood, counted from one side only, are not compared."""
    shared, words = list("abcdef"), [f"w{i}" for i in range(20)]
    made = {
        "start of the input": [["[CLS]", *shared, *words[:n], "[SEP]"] for n in (1, 4)],
        "start of its text": [["[CLS]", *words[:n], "[SEP]", *shared, *words[9 : 9 + n], "[SEP]"] for n in (1, 4)],
        "end of its text": [["[CLS]", *words[:n], *shared, "[SEP]"] for n in (1, 4)],
    }[keeps]
    only = gates.target_agreement(random_traces(np.random.default_rng(0), 2, made))
    # the words beside them stand elsewhere or are in one text only
    assert only["p"].isna().all()
    moved = [["[CLS]", *words[:n], *shared, *words[9 : 15 - n], "[SEP]"] for n in (1, 4)]
    assert gates.target_agreement(random_traces(np.random.default_rng(0), 2, moved))["p"].notna().all()


@pytest.mark.long
def test_the_null_is_a_null():
    """Random maps: p below a level no more often than the level says, and agreement at its chance."""
    table = gates.target_agreement(random_traces(np.random.default_rng(5), 400))
    for level in (0.01, 0.05, 0.2, 0.5):
        slack = 3 * np.sqrt(level * (1 - level) / 400)
        assert (table["p"] <= level).mean() <= level + slack
    assert table["agreement"].mean() == pytest.approx(table["chance"].mean(), abs=0.01)
    assert table["chance_by_place"].mean() >= table["agreement"].mean()


def moved_pair(first: dict[int, list[int]], second: dict[int, list[int]]) -> list[Trace]:
    """[CLS] a b c d x [SEP] and [CLS] y z a b c d [SEP]; rows of a b c d give the weights of all of their text."""
    made = []
    for tokens, start, rows in ((["[CLS]", *"abcdx", "[SEP]"], 1, first), (["[CLS]", *"yzabcd", "[SEP]"], 3, second)):
        a = np.full((len(tokens), len(tokens)), 0.01)
        for at, weights in rows.items():
            a[start + at] = weights
        made.append(trace_of((a / a.sum(1, keepdims=True))[None, None], tokens))
    return made


def test_agreement_by_hand():
    """Four shared tokens; targets are the largest weights among shared tokens two places away."""
    #     [CLS] a b c d x [SEP]        a b c d are at 1 to 4
    first = {0: [0, 0, 9, 1, 0, 5, 0], 1: [0, 9, 0, 3, 1, 0, 0], 2: [0, 1, 9, 0, 0, 0, 0], 3: [0, 1, 0, 9, 0, 0, 0]}
    #     [CLS] y z a b c d [SEP]      a b c d are at 3 to 6
    second = {
        0: [0, 5, 0, 0, 0, 0, 1, 0],  # a looks at c there, at d here
        1: [0, 0, 0, 3, 0, 3, 1, 0],  # b at d in both
        2: [0, 9, 0, 1, 0, 0, 0, 0],  # c at a in both
        3: [0, 0, 0, 0, 1, 9, 0, 0],  # d at a, then at b
    }
    table = gates.target_agreement(moved_pair(first, second))
    assert table["agreement"].tolist() == [0.5]
    # all ways to give the targets d d a b of the second text to its words a b c d so that each stays far
    allowed = [
        order for order in set(permutations([4, 4, 1, 2])) if all(abs(i + 1 - j) > 1 for i, j in enumerate(order))
    ]
    expected = np.mean([sum(x == y for x, y in zip(order, [3, 4, 1, 1], strict=True)) / 4 for order in allowed])
    assert table["chance"][0] == pytest.approx(expected, abs=0.02)


def test_chance_by_place_by_hand():
    """Every place of the second text from which the target can be seen, the token's own included, counts alike."""
    rng = np.random.default_rng(3)
    of = [["[CLS]", *"xy", *SHARED, *"uvw", "[SEP]"], ["[CLS]", *"klmno", *SHARED, "p", "[SEP]"]]
    traces = random_traces(rng, 30, of)
    table = gates.target_agreement(traces, permutations=999)
    start = [3, 6]  # of the shared sentence
    found = []
    for head in range(30):
        one, two = (trace.attention(0)[head].numpy() for trace in traces)
        chances = []
        size = len(of[1])
        for t in range(len(SHARED)):
            far = [u for u in range(len(SHARED)) if abs(u - t) > 1]
            target = max(far, key=lambda u: one[start[0] + t, start[0] + u])
            looks = []
            for x in range(1, size - 1):
                there = [u for u in far if 1 <= x + u - t <= size - 2]
                if target in there:
                    looks.append(target == max(there, key=lambda u: two[x, x + u - t]))
            chances.append(np.mean(looks))
        found.append(np.mean(chances))
    assert table["chance_by_place"].to_numpy() == pytest.approx(np.array(found), abs=0.02)  # 4 sd of 999 draws


def test_near_in_one_text_is_near():
    """a and b are neighbours in the second text: b is no target of a, though both texts agree on it."""
    texts_here = (["[CLS]", "y", "y", "y", *"axbcdef", "[SEP]"], ["[CLS]", "z", *"abcdef", "z", "z", "[SEP]"])
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
                row = table.loc[head]
                # the rabbits have 8 content tokens, where a label needs .6
                assert row[list(gates.GATES)].astype(float).idxmax() == gate, (name, head, row)
                assert trace.n_tokens == 11 or gate in row["labels"], (name, head, row)
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
