"""Shares and cancelling by kind of token, frequency and words, against sums written out and against scipy."""

from __future__ import annotations

from collections import Counter
from math import isnan
from typing import Any

import pytest
import torch

from bertlens import InputError, Lens, Trace
from bertlens.measures import categories, norms, ranks, words
from unit import tiny

stats: Any = pytest.importorskip("scipy.stats")
PAIR = ("the cat sat on the mat, it was warm.", "unbelievable, the cats")


@pytest.fixture(scope="module")
def lens() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture(scope="module")
def trace(lens: Lens) -> Trace:
    return lens.trace(*PAIR)


@pytest.mark.parametrize("values", [[3, 1, 2], [1, 1, 2, 5, 5, 5], [0.5, -0.5, 0.5, 7]])
def test_spearman_is_scipys(values: list[float]) -> None:
    x = torch.tensor(values, dtype=torch.float32)
    y = torch.linspace(-1, 3, len(values)) ** 2
    assert ranks.ranks(x).tolist() == stats.rankdata(x.numpy()).tolist()
    assert ranks.spearman(x, y) == pytest.approx(stats.spearmanr(x.numpy(), y.numpy()).statistic, abs=1e-12)
    assert ranks.spearman(values, y.numpy()) == ranks.spearman(x, y)  # lists and arrays too
    assert isnan(ranks.spearman(x, torch.ones(len(values))))
    assert isnan(ranks.spearman(x[:2], y[:2])) and isnan(
        ranks.spearman([], [])
    )  # of two it is 1 or -1 whatever they are


def names(trace: Trace, **settings: Any) -> list[str]:
    return [categories.NAMES[kind] for kind in categories.categories(trace, **settings)]


def test_kinds_go_by_position_in_the_template(lens: Lens, trace: Trace) -> None:
    expected = []
    for position, token in enumerate(trace.tokens):
        kind = {"[CLS]": "first", "[SEP]": "separator", ".": "punctuation", ",": "punctuation"}.get(token, "other")
        expected.append(kind)
        assert (kind in ("first", "separator")) == bool(trace.special_mask[position])
    assert names(trace) == expected
    assert names(trace, punctuation=(".",)) == [
        "other" if token == "," else kind for token, kind in zip(trace.tokens, expected, strict=True)
    ]
    typed = lens.trace("the [SEP] cat")
    assert names(typed)[typed.tokens.index("[SEP]")] == "other"
    roberta = tiny.FAMILIES["roberta"]
    pair = Lens(tiny.shaken(roberta.model()), roberta.tokenizer()).trace("the cat", "it sat")
    assert [n for n, s in zip(names(pair), pair.special_mask, strict=True) if s] == ["first"] + ["separator"] * 3


def test_shares_are_the_sums(lens: Lens, trace: Trace) -> None:
    other = lens.trace("warm")
    both = categories.shares([trace, other])
    for layer in range(trace.n_layers):
        attention, norm, length, count = (Counter[str]() for _ in range(4))
        for one in (trace, other):
            alpha, f = one.attention(layer).double(), norms.transformed_norm(one, layer).double()
            for j, kind in enumerate(names(one)):
                for h in range(one.n_heads):
                    for i in range(one.n_tokens):
                        attention[kind] += float(alpha[h, i, j])
                        norm[kind] += float(alpha[h, i, j] * f[h, j])
                    length[kind] += float(f[h, j])
                    count[kind] += 1
        for k, kind in enumerate(categories.NAMES):
            assert float(both.attention[layer, k]) == pytest.approx(attention[kind] / attention.total(), abs=1e-6)
            assert float(both.norm[layer, k]) == pytest.approx(norm[kind] / norm.total(), abs=1e-6)
            assert float(both.length[layer, k]) == pytest.approx(length[kind] / count[kind], rel=1e-6)
    assert both.tokens.tolist() == [2, 3, 3, trace.n_tokens + 3 - 8]
    alone = categories.shares(other)
    assert alone.tokens.tolist() == [1, 1, 0, 1]
    assert alone.attention[:, 2].eq(0).all() and alone.length[:, 2].isnan().all()


@pytest.mark.filterwarnings("ignore:An input array is constant")
@pytest.mark.parametrize("per", ["cell", "key"])
def test_cancelling_is_scipys_rank_correlation(lens: Lens, trace: Trace, per: str) -> None:
    other = lens.trace("the mat, it sat. very warm")
    found = categories.cancelling([trace, other], per=per)
    for k, kind in enumerate(categories.NAMES):
        pooled: tuple[list[float], list[float]] = ([], [])
        for layer in range(trace.n_layers):
            for head in range(trace.n_heads):
                x, y = [], []
                for one in (trace, other):
                    alpha, f = one.attention(layer)[head], norms.transformed_norm(one, layer)[head]
                    rows = alpha.mean(0, keepdim=True) if per == "key" else alpha
                    for j in (j for j, name in enumerate(names(one)) if name == kind):
                        x += rows[:, j].tolist()
                        y += [float(f[j])] * len(rows)
                pooled[0].extend(x)
                pooled[1].extend(y)
                if len(x) >= 3:
                    expected = stats.spearmanr(x, y).statistic
                    assert float(found.within[layer, head, k]) == pytest.approx(expected, abs=1e-5, nan_ok=True)
                else:
                    assert found.within[layer, head, k].isnan()
        assert float(found.pooled[k]) == pytest.approx(stats.spearmanr(*pooled).statistic, abs=1e-5)


def test_table_says_the_same(trace: Trace) -> None:
    table = categories.table(trace)
    share, rho = categories.shares(trace), categories.cancelling(trace).within
    assert list(table.columns) == [
        "layer", "category", "tokens", "attention", "norm", "length", "rho", "rho_heads",
    ]  # fmt: skip
    assert len(table) == trace.n_layers * 4
    row = table[(table.layer == 1) & (table.category == "other")].iloc[0]
    assert row.attention == pytest.approx(float(share.attention[1, 3]))
    assert row.norm == pytest.approx(float(share.norm[1, 3]))
    assert row.rho == pytest.approx(float(rho[1, :, 3].mean()))
    assert table[table.category == "first"].rho.isna().all()  # one [CLS]: ‖f(x)‖ is constant
    assert (table[table.category == "first"].rho_heads == 0).all()


def test_frequency_correlation(lens: Lens) -> None:
    texts = ["the cat sat on the mat, it was warm.", "the cat was very warm", ("it", "the mats, the unbelievable cats")]
    traces = lens.trace_batch(texts)
    counts = Counter(number for trace in traces for number in trace.input_ids.tolist())
    own = {number: 1 + sum(count > counts[number] for count in counts.values()) for number in counts}
    given = {number: rank for rank, number in enumerate([3, 2, 5, 6], start=1)}
    for table, used in ((None, own), (given, given)):
        found = norms.frequency_correlation(iter(traces), table)
        rank = [used.get(number, 5) for trace in traces for number in trace.input_ids.tolist()]
        lengths = torch.cat(
            [torch.stack([norms.transformed_norm(t, layer).double().mean(0) for layer in range(3)]) for t in traces], 1
        )
        text = torch.cat([~trace.special_mask for trace in traces])
        assert found.rho == pytest.approx(stats.spearmanr(rank, lengths.mean(0)).statistic, abs=1e-9)
        without = stats.spearmanr(torch.tensor(rank)[text], lengths.mean(0)[text]).statistic
        assert found.rho_without_special == pytest.approx(without, abs=1e-9)
        for layer in range(3):
            expected = stats.spearmanr(rank, lengths[layer]).statistic
            assert float(found.per_layer[layer]) == pytest.approx(expected, abs=1e-6)
        assert found.n == len(rank) and found.counted == (table is None)


def test_words_merge_as_in_the_head_view(trace: Trace) -> None:
    """Columns summed, rows averaged; norms as the sum of norms."""
    assert "##believ" in trace.tokens
    groups = words.units(trace)
    assert [len(group) for group in groups if len(group) > 1] == [3, 2]  # un ##believ ##able, cat ##s
    assert sorted(position for group in groups for position in group) == list(range(trace.n_tokens))
    for values in (trace.attention(0), norms.weighted_norm(trace, 0), norms.summed_weighted_norm(trace, 0)[None]):
        merged = words.merge_map(trace, values)
        assert merged.shape == (len(values), len(groups), len(groups))
        for a, rows in enumerate(groups):
            for b, columns in enumerate(groups):
                expected = sum(values[:, i, j] for i in rows for j in columns) / len(rows)
                torch.testing.assert_close(merged[:, a, b], expected)
    lengths = norms.transformed_norm(trace, 0)
    expected = torch.stack([lengths[:, group].sum(1) for group in groups], 1)
    torch.testing.assert_close(words.merge_keys(trace, lengths), expected)


def test_nothing_given_is_said(trace: Trace) -> None:
    for measure in (categories.shares, categories.cancelling, norms.frequency_correlation):
        with pytest.raises(InputError, match="no trace given"):
            measure([])
    with pytest.raises(InputError, match="per must be 'cell' or 'key'"):
        categories.cancelling(trace, per="token")
