"""Does the story hold? A text among the texts of its length: bins, intervals, flags and ranks, against brute force."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertlens import InputError, Lens, SelectionError, Trace
from bertlens.base.vocabulary import SETTINGS
from bertlens.measures.significance import FEWEST_TEXTS, prediction_width
from bertlens.measures.statistics import FLAGGED_NAMES, SURVEY_NAMES
from bertlens.survey import HeadStats, head_stats, story, sums
from bertlens.survey.corpus_panel import CorpusPanel
from bertlens.survey.similar_texts import SimilarTexts, similar_texts
from bertlens.survey.sums import edges
from bertlens.survey.text_statistics import LABELS, text_statistics
from bertlens.survey.textlength import LengthBin, near_steps, span, step_of
from bertlens.text import excerpts
from unit import survey_naive as naive
from unit import tiny


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())


def texts(n: int, seed: int = 0, least: int = 1, most: int = 30) -> list[Any]:
    """Texts, every fifth a pair, of least to most words."""
    draw = np.random.default_rng(seed)
    words = [" ".join(draw.choice(tiny.WORDS[:9], draw.integers(least, most + 1))) for _ in range(n)]
    return [(text, "it was warm") if number % 5 == 4 else text for number, text in enumerate(words)]


def survey(lens: Lens, corpus: list[Any]) -> HeadStats:
    return head_stats(lens, corpus, progress=False)


def trace_of(lens: Lens, item: Any) -> Trace:
    return lens.trace(*item) if isinstance(item, tuple) else lens.trace(item)


def values_of(trace: Trace, by: str = "weight") -> np.ndarray:
    """(K, L, H), by `test_survey_heads` those of plain loops."""
    text = text_statistics(trace)
    counted = text.denominators.numpy()[:, None, None]
    values: np.ndarray = np.where(counted > 0, text.numerators[by].numpy() / np.maximum(counted, 1), np.nan)
    return values


# Bins


def test_every_length_lies_in_the_bin_of_its_logarithm() -> None:
    """In whole numbers: 2^step ≤ n⁸ < 2^(step + 1)."""
    seen: list[int] = []
    for step in range(105):
        seen += LengthBin(1, step).tokens
        assert all(2**step <= n**8 < 2 ** (step + 1) and step_of(n) == step for n in LengthBin(1, step).tokens)
    assert seen == [*range(1, seen[-1] + 1)] and seen[-1] > 8000  # each in one bin, in order
    assert [step_of(2**power) for power in range(14)] == [8 * power for power in range(14)]


def test_what_is_near_lies_within_a_quarter() -> None:
    for n in [*range(1, 700), 1000, 4096, 8191]:
        lengths = sorted(length for step in near_steps(n) for length in LengthBin(1, step).tokens)
        assert n in lengths and 0.75 * n <= lengths[0] and lengths[-1] <= 1.25 * n
        assert lengths == [*range(lengths[0], lengths[-1] + 1)] and span(n) == (lengths[0], lengths[-1])
        for step in (near_steps(n)[0] - 1, near_steps(n)[-1] + 1):  # a bin more would hold a length outside, or none
            beyond = LengthBin(1, step).tokens
            assert not beyond or beyond[0] < 0.75 * n or beyond[-1] > 1.25 * n or n < 12


# Mean, interval, flag


def test_one_more_text_lies_within_a_t_table_s_width() -> None:
    table = {8: 2.3646, 9: 2.3060, 11: 2.2281, 21: 2.0860, 31: 2.0423, 61: 2.0003, 121: 1.9799}
    for n, value in table.items():
        assert prediction_width(n) == pytest.approx(value * np.sqrt(1 + 1 / n), abs=1e-4)
    assert np.isnan(prediction_width(7))


@pytest.mark.sampled(3, of="surveys of lengths")
@pytest.mark.parametrize("by", ["weight", "norm"])
def test_a_text_among_those_of_its_length_equals_brute_force(small: Lens, by: str) -> None:
    """Each text of the corpus is looked at alone, and kept or not by its own length."""
    quantile = pytest.importorskip("scipy.stats").t.ppf
    corpus = texts(120, most=16)
    stats, traces = survey(small, corpus), [trace_of(small, item) for item in corpus]
    for item in ("the cat sat on the mat", "warm " * 12, ("the cat sat on the mat, warm", "it was warm")):
        trace = trace_of(small, item)
        found = similar_texts(stats, trace, text_statistics(trace), by)
        low, high = found.shortest, found.longest
        assert 0.75 * trace.n_tokens <= low <= trace.n_tokens <= high <= 1.25 * trace.n_tokens
        others = [
            values_of(other, by)
            for other in traces
            if low <= other.n_tokens <= high and len(set(other.segments.tolist())) == len(set(trace.segments.tolist()))
        ]
        assert found.texts == len(others) >= FEWEST_TEXTS
        mine = values_of(trace, by)
        np.testing.assert_allclose(found.values, mine, rtol=1e-6)
        for k, name in enumerate(SURVEY_NAMES):
            kept = np.array([other[k] for other in others if not np.isnan(other[k]).any()]).reshape(-1, 2, 4)
            n = len(kept)
            assert found.counts[k] == n
            if n < FEWEST_TEXTS:
                assert np.isnan(found.reach[k]).all() and np.isnan(found.z[k]).all() and not found.unusual[k].any()
                continue
            mean, sd = kept.mean(0), kept.std(0, ddof=1)
            tolerance = 2e-4 if name.startswith("entropy") else 2e-5
            np.testing.assert_allclose(found.mean[k], mean, atol=tolerance)
            np.testing.assert_allclose(found.sd[k], sd, atol=tolerance)
            reach = quantile(0.975, n - 1) * sd * math.sqrt(1 + 1 / n)
            np.testing.assert_allclose(found.reach[k], reach, atol=4 * tolerance)
            clear = np.abs(np.abs(mine[k] - mean) - reach) > 20 * tolerance  # rounding does not decide
            assert (found.unusual[k] == (np.abs(mine[k] - mean) > reach))[clear].all()
            apart = sd > 0.01
            np.testing.assert_allclose(found.z[k][apart], (mine[k] - mean)[apart] / sd[apart], atol=0.05)


def test_under_eight_texts_nothing_is_said(small: Lens) -> None:
    corpus = [f"the cat sat {word}" for word in tiny.WORDS[:8]]
    trace = small.trace("it was warm, warm")
    seven, eight = survey(small, [*corpus[:7], *["cat " * 40] * 30]), survey(small, corpus)
    few, enough = (similar_texts(stats, trace, text_statistics(trace)) for stats in (seven, eight))
    assert (few.texts, enough.texts) == (7, 8)
    assert np.isnan(few.z).all() and np.isnan(few.mean).all() and not few.unusual.any()
    assert np.isfinite(enough.mean).any() and enough.unusual.any()
    attrs = story(seven, trace).attrs
    assert attrs["compared"] == attrs["most_of"] == 0 and math.isnan(attrs["chance"])
    fields, arrays = CorpusPanel(seven, None, None).answer(trace)
    assert fields["alike"]["texts"] == 7 and fields["alike"]["fewest"] == 8 and not arrays["unusual.weight"].any()
    assert np.isnan(arrays["z.weight"]).all() and not fields["gates_alike"]
    none = similar_texts(seven, small.trace("the cat", "sat"), text_statistics(small.trace("the cat", "sat")))
    assert none.texts == 0 and not none.unusual.any() and not none.counts.any() and not none.lower.any()


def test_a_text_of_the_corpus_many_times_over_is_not_unusual(small: Lens) -> None:
    """The same value in all texts, but for the rounding of a batch."""
    stats = survey(small, ["the cat sat on the mat, it was warm.", "warm"] * 12)
    trace = small.trace("the cat sat on the mat, it was warm.")
    found = similar_texts(stats, trace, text_statistics(trace))
    assert found.texts == 12 and not found.unusual.any() and np.isnan(found.z).all()


@pytest.mark.sampled(3, of="surveys of lengths")
def test_the_table_counts_the_entropies_once(small: Lens) -> None:
    stats = survey(small, texts(100, most=12))
    trace = small.trace("the unbelievable cats sat on the mat")
    table = story(stats, trace)
    assert len(table) == len(SURVEY_NAMES) * 8 and list(table["statistic"].unique()) == list(SURVEY_NAMES)
    assert {name for name in SURVEY_NAMES if name.startswith("entropy")} - {*FLAGGED_NAMES} == {
        "entropy_first",
        "entropy_smoothed",
        "entropy_first_smoothed",
    }
    known = [
        row for row in table.itertuples() if row.statistic in FLAGGED_NAMES and not math.isnan(row.value - row.mean)
    ]
    assert table.attrs["compared"] == len(known)
    assert table.attrs["unusual"] == sum(row.unusual for row in known)
    assert (table.attrs["tokens"], table.attrs["segments"]) == (trace.n_tokens, 1)
    at = table[(table["layer"] == 1) & (table["head"] == 2) & (table["statistic"] == "self")].iloc[0]
    assert at["value"] == pytest.approx(values_of(trace)[SURVEY_NAMES.index("self"), 1, 2])


def test_the_formula_of_the_page_is_that_of_the_average_that_it_shows(small: Lens) -> None:
    corpus = ["the cat", "the unbelievable cat sat on the mat", "it was warm"]
    maps = [small.trace(text).attention(1)[2] for text in corpus]
    of_texts = np.mean([float(alpha.diagonal(-1).sum()) / len(alpha) for alpha in maps])
    of_tokens = sum(float(alpha.diagonal(-1).sum()) for alpha in maps) / sum(map(len, maps))
    shown = survey(small, corpus).values("previous", average=SETTINGS["corpus"]["average"])[1, 2]
    assert shown == pytest.approx(of_texts, abs=1e-6) and abs(shown - of_tokens) > 1e-4
    page = (Path(__file__).parents[3] / "docs" / "views" / "corpus.md").read_text("utf-8")
    assert r"$$\bar s = \frac{1}{T} \sum_t \frac{1}{n_t} \sum_{(i, j) \in P_t} \alpha_{ij}$$" in page


def test_bad_input(small: Lens) -> None:
    stats, trace = survey(small, texts(10)), small.trace("cat")
    maps = Trace.from_attentions([trace.attention(layer) for layer in range(2)], trace.tokens)
    with pytest.raises(InputError, match="no statistics by norm"):
        story(stats, maps, "norm")
    with pytest.raises(SelectionError, match="'weight' or 'norm', not 'length'"):
        story(stats, trace, "length")
    with pytest.raises(InputError, match="another model"):
        story(stats, Lens(tiny.bert(), tiny.wordpiece()).trace("cat"))
    for tokens, segments in ((0, 1), (5, 0)):
        with pytest.raises(InputError, match="at least 1"):
            stats.of_length(tokens, segments)
    some = stats.of_length(trace_of(small, texts(10)[0]).n_tokens)
    with pytest.raises(InputError, match="before of_length"):
        some.frequency_correlation()
    assert "frequency" not in some.layers()
    with pytest.raises(InputError, match="different lengths"):
        _ = some + stats
    with pytest.raises(InputError, match="no texts"):
        _ = HeadStats({}).span


# Ranks


@pytest.fixture
def few_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "KEPT_TEXTS", 6)
    monkeypatch.setattr(sums, "SAMPLED_TEXTS", 4)


def lengths_of(stats: HeadStats) -> dict[LengthBin, int]:
    return {place: one.n_texts for place, one in stats.bins.items()}


def ranks(small: Lens, stats: HeadStats, corpus: list[Any], trace: Trace) -> tuple[SimilarTexts, np.ndarray, list[Any]]:
    """Found; how many lie lower by counting; and the lengths and values that were counted."""
    found = similar_texts(stats, trace, text_statistics(trace))
    near = [(n, value) for n, value in alone(small, corpus) if found.shortest <= n <= found.longest]
    mine = values_of(trace).astype(np.float32)
    return found, np.sum([value < mine for _, value in near], 0), near


def alone(small: Lens, corpus: list[Any]) -> list[tuple[int, np.ndarray]]:
    """Length and values of each single text."""
    traces = [trace_of(small, item) for item in corpus if not isinstance(item, tuple)]
    return [(trace.n_tokens, values_of(trace).astype(np.float32)) for trace in traces]


@pytest.mark.sampled(3, of="surveys of lengths")
def test_ranks_are_exact_while_values_are_kept(small: Lens) -> None:
    corpus = texts(60, seed=2, most=14)
    trace = small.trace("the unbelievable mat was warm")
    stats = head_stats(small, corpus, batch_size=1, progress=False)  # the same rounding as one by one
    found, lower, values = ranks(small, stats, corpus, trace)
    assert found.texts == len(values) > 8
    assert (found.lower[0] == found.lower[1]).all() and (found.lower[0] == lower).all()


@pytest.mark.sampled(3, of="surveys of lengths")
@pytest.mark.usefixtures("few_kept")
def test_ranks_of_many_are_intervals_that_hold(small: Lens) -> None:
    """As narrow as the bins allow, around the truth, and nothing within a bin is made up."""
    corpus = texts(80, seed=3, least=6, most=9)
    stats = head_stats(small, corpus, batch_size=1, progress=False)
    assert any(n > 6 for n in lengths_of(stats).values()) and any(n <= 6 for n in lengths_of(stats).values())
    for item in ("the unbelievable mat was warm, it was", corpus[0]):
        trace = trace_of(small, item)
        found, lower, values = ranks(small, stats, corpus, trace)
        low, high = found.lower
        assert ((low <= lower) & (lower <= high)).all() and (low < high).any() and (low == high).any()
        counted = [place for place in stats.of_length(found.tokens).bins if stats.bins[place].n_texts > 6]
        lengths = {length for place in counted for length in place.tokens}
        in_bins = np.stack([value for n, value in values if n in lengths])
        mine = values_of(trace).astype(np.float32)
        for k, name in enumerate(SURVEY_NAMES):
            inner = edges(name).astype(np.float32)[1:-1]
            own = np.digitize(mine[k], inner)
            there = (np.digitize(in_bins[:, k], inner) == own).sum(0)
            edge = np.isnan(mine[k]) | (mine[k] <= edges(name).astype(np.float32)[own])  # nothing in its bin is lower
            assert (high[k] - low[k] == np.where(edge, 0, there)).all(), name
        assert found.texts == len(values)


@pytest.mark.sampled(3, of="surveys of lengths")
@pytest.mark.usefixtures("few_kept")
def test_sums_in_any_order_across_the_limit_of_what_is_kept(small: Lens, tmp_path: Path) -> None:
    corpus = texts(60, seed=4, least=3, most=9)
    whole = head_stats(small, corpus, batch_size=1, progress=False)
    a, b, c = (
        head_stats(small, part, batch_size=1, progress=False) for part in (corpus[:20], corpus[20:25], corpus[25:])
    )
    for other in ((a + b) + c, a + (b + c), c + a + b):
        ours, theirs = naive.arrays(whole), naive.arrays(other)
        assert ours.keys() == theirs.keys()
        for name, values in ours.items():
            np.testing.assert_allclose(values, theirs[name], rtol=1e-9, atol=1e-12, err_msg=name)
    assert {part.n_texts <= 6 for part in whole.bins.values()} == {True, False}
    assert all(len(part.values["norm"]) == (n if (n := part.n_texts) <= 6 else 4) for part in whole.bins.values())
    for name in ("self", "entropy"):  # what is counted in bins is what numpy counts
        values = np.array([values_of(trace_of(small, item))[SURVEY_NAMES.index(name)] for item in corpus], np.float32)
        for head in np.ndindex(2, 4):
            expected, _ = np.histogram(values[:, head[0], head[1]], edges(name).astype(np.float32))
            assert whole.distribution(name)[1][head].tolist() == expected.tolist()
    whole.save(tmp_path / "a.npz")
    again = naive.arrays(HeadStats.load(tmp_path / "a.npz"))
    assert all(np.array_equal(values, again[name], equal_nan=True) for name, values in naive.arrays(whole).items())


# Gates


@pytest.mark.sampled(3, of="surveys of lengths")
def test_gates_are_counted_by_length(small: Lens) -> None:
    corpus = texts(50, seed=5)
    stats, traces = survey(small, corpus), [trace_of(small, item) for item in corpus]
    table = stats.gates(by_length=True)
    assert list(table)[:8] == ["segments", "from", "to", "texts", "layer", "head", "label", "share"]
    assert table.drop_duplicates(["segments", "from"])["texts"].sum() == 50 == stats.gates().attrs["texts"]
    for (segments, low, high), rows in table.groupby(["segments", "from", "to"]):
        some = [t for t in traces if low <= t.n_tokens <= high and int(t.segments.max()) + 1 == segments]
        labels = np.stack([text_statistics(t).gates.numpy().ravel() for t in some])
        assert len(some) == rows["texts"].iloc[0] and len(rows) == 8
        for g, name in enumerate(LABELS):
            np.testing.assert_allclose(rows[name], (labels == g).mean(0))
    trace = small.trace("warm " * 12)
    fields, _ = CorpusPanel(stats, None, None).answer(trace)
    some = stats.of_length(trace.n_tokens)
    assert fields["gates_alike"] == (some.n_texts >= 8)
    assert (fields["shares"].ravel() == (some if fields["gates_alike"] else stats).gates()["share"]).all()


# What the page gets


@pytest.mark.sampled(3, of="surveys of lengths")
def test_the_page_gets_the_texts_of_this_length(small: Lens) -> None:
    corpus = texts(120, seed=6, most=14)
    stats = survey(small, corpus)
    trace = small.trace("the unbelievable mat was warm")
    fields, arrays = CorpusPanel(stats, None, None).answer(trace)
    for by in ("weight", "norm"):
        found = similar_texts(stats, trace, text_statistics(trace), by)
        for name, values in {"mean": found.mean, "reach": found.reach, "z": found.z, "sentence": found.values}.items():
            np.testing.assert_allclose(arrays[f"{name}.{by}"], values.astype(np.float32))
        assert (arrays[f"unusual.{by}"] == found.unusual).all() and (arrays[f"lower.{by}"] == found.lower).all()
        assert fields["alike"]["counts"][by] == found.counts.tolist()
        assert (arrays[f"bins.{by}"].sum(-1) == found.counts[:, None, None]).all()  # the bars are these texts
    low, high = fields["alike"]["span"]
    assert fields["alike"]["texts"] == sum(
        low <= trace_of(small, item).n_tokens <= high for item in corpus if not isinstance(item, tuple)
    )
    assert fields["counted"] == list(FLAGGED_NAMES) and fields["alike"]["level"] == 0.05
    longest = max(trace_of(small, item).n_tokens for item in corpus)
    assert fields["span"][0] <= 3 and fields["span"][1] >= longest


# Is the share of flags what is said?


def simulated(tokens: int, draw: np.random.Generator) -> Trace:
    """A text of heads that look near, at the first token, or anywhere; what they do varies from text to text."""
    distance = torch.arange(tokens)[:, None] - torch.arange(tokens)
    noise = torch.from_numpy(draw.normal(size=(1, 4, tokens, tokens))).float()
    pull = torch.from_numpy(draw.normal(1, 0.15, 4)).float()[:, None, None]
    logits = torch.stack(
        [
            -0.3 * distance.abs(),
            5.0 * (distance == 1),
            4.0 * (torch.arange(tokens) == 0).expand(tokens, -1),
            0.0 * distance,
        ]
    )
    tokens_ = ["[CLS]", *draw.choice(["cat", "dog", "mat", ".", ","], tokens - 2), "[SEP]"]
    return Trace.from_attentions((noise + pull * logits).softmax(-1), [str(token) for token in tokens_])


def flags(stats: HeadStats, traces: list[Trace]) -> tuple[float, float]:
    """Share of unusual ones among all (head, statistic) of the texts; and against texts of all lengths, mean ± 2 sd."""
    counted = [name in FLAGGED_NAMES for name in SURVEY_NAMES]
    mean, sd = np.stack([stats.values(name) for name in SURVEY_NAMES]), stats.spreads()
    ours, plain, of = 0, 0, 0
    for trace in traces:
        found = similar_texts(stats, trace, text_statistics(trace))
        ours += found.unusual[counted].sum()
        of += (~np.isnan(found.values - found.mean))[counted].sum()
        plain += (np.abs(found.values - mean) > 2 * sd)[counted].sum()
    return ours / of, plain / of


def counted_in(traces: list[Trace]) -> HeadStats:
    stats = HeadStats({})
    for trace in traces:
        stats.add(trace, text_statistics(trace), trace)
    return stats


@pytest.mark.long
def test_the_share_of_flags_is_what_chance_gives_at_every_length() -> None:
    """5 % are meant: in each class of lengths, and where the corpus holds eight texts of it, 2 to 8 % are found.

    The same texts against the whole corpus, by two standard deviations, are flagged by their length.
    """
    draw = np.random.default_rng(1)
    most = [simulated(int(n), draw) for n in np.exp(draw.uniform(np.log(36), np.log(80), 160))]
    short = [simulated(int(n), draw) for n in draw.integers(9, 12, 40)]
    stats = counted_in(most + short)
    classes = {10: 50, 44: 40, 64: 40}
    for tokens, many in classes.items():
        share, plain = flags(stats, [simulated(tokens, draw) for _ in range(many)])
        assert 0.02 <= share <= 0.08, (tokens, share)
        assert plain > 0.15 or tokens != 10
    shares = []
    for _ in range(10):
        eight = counted_in([simulated(24, draw) for _ in range(8)])
        shares.append(flags(eight, [simulated(24, draw) for _ in range(4)])[0])
    assert 0.02 <= np.mean(shares) <= 0.08, shares


# How many flags the corpus's own texts have


def own_counts(texts_values: np.ndarray, others_values: np.ndarray) -> np.ndarray:
    """(texts, K, L, H) flags of each text among the others, one number at a time; its own row is among `others`."""
    quantile = pytest.importorskip("scipy.stats").t.ppf
    found = np.zeros(texts_values.shape, bool)
    for place in np.ndindex(*texts_values.shape):
        value, all_values = texts_values[place], others_values[(slice(None), *place[1:])]
        some = list(all_values[~np.isnan(all_values)])
        if np.isnan(value):
            continue
        some.remove(value)
        mean, sd, n = np.mean(some), np.std(some, ddof=1), len(some)
        reach = quantile(0.975, n - 1) * sd * math.sqrt(1 + 1 / n)
        found[place] = abs(value - mean) > reach + 1e-5 * max(1, abs(mean))
    return found


def nearest(lengths: list[int], tokens: int) -> np.ndarray:
    """(texts,) bool: those of the eighth of a doubling of `tokens`, and of as many around it as make eight texts."""
    away = np.array([abs(math.floor(8 * math.log2(n)) - math.floor(8 * math.log2(tokens))) for n in lengths])
    return away <= next(reach for reach in range(9) if (away <= reach).sum() >= 8)  # type: ignore[no-any-return]


def nine_of_ten(counts: list[int]) -> int:
    return next(k for k in range(max(counts) + 1) if sum(count <= k for count in counts) >= 0.9 * len(counts))


@pytest.mark.sampled(3, of="surveys of lengths")
@pytest.mark.parametrize("by", ["weight", pytest.param("norm", marks=pytest.mark.long)])
def test_how_many_flags_nine_of_ten_texts_have(small: Lens, by: str) -> None:
    corpus = texts(110, seed=8, most=14)
    stats = head_stats(small, corpus, batch_size=1, progress=False)
    for item in ("the unbelievable mat was warm", "the cat sat, it was warm, warm, on the mat"):
        trace = trace_of(small, item)
        found = similar_texts(stats, trace, text_statistics(trace), by)
        near = [trace_of(small, other) for other in corpus if not isinstance(other, tuple)]
        near = [t for t in near if found.shortest <= t.n_tokens <= found.longest]
        values = np.stack([values_of(t, by) for t in near])
        assert len(values) == found.texts
        own = nearest([t.n_tokens for t in near], trace.n_tokens)
        assert 8 <= own.sum() < len(near)
        lengths = [t.n_tokens for t, is_own in zip(near, own, strict=True) if is_own]
        assert found.expected.shortest <= min(lengths) <= max(lengths) <= found.expected.longest
        flags, values = own_counts(values[own], values), values[own]
        mine = ~np.isnan(found.values).any((1, 2))
        counted = np.array([name in FLAGGED_NAMES for name in SURVEY_NAMES]) & mine
        assert counted.sum() > 5
        for k in np.flatnonzero(mine):
            has = ~np.isnan(values[:, k]).any((1, 2))
            assert found.expected.texts[k] == has.sum()
            each = flags[has, k].sum((1, 2))
            assert found.expected.statistics[:, k].tolist() == pytest.approx([each.mean(), nine_of_ten(each.tolist())])
        for l, h in np.ndindex(2, 4):  # noqa: E741
            each = flags[:, counted, l, h].sum(1)
            assert found.expected.heads[:, l, h].tolist() == pytest.approx([each.mean(), nine_of_ten(each.tolist())])
        each = flags[:, counted].sum((1, 2, 3))
        attrs = story(stats, trace, by).attrs
        assert [attrs["chance"], attrs["most"]] == pytest.approx([each.mean(), nine_of_ten(each.tolist())])
        assert attrs["most_of"] == len(values) and attrs["most"] > attrs["chance"]  # in clumps
        assert (attrs["most_shortest"], attrs["most_longest"]) == (found.expected.shortest, found.expected.longest)
        fields, arrays = CorpusPanel(stats, None, None).answer(trace)
        assert fields["alike"]["own"][by] == found.expected.texts.tolist()
        assert fields["alike"]["own_span"][by] == (found.expected.shortest, found.expected.longest)
        np.testing.assert_allclose(arrays[f"own.statistics.{by}"], found.expected.statistics, rtol=1e-6)
        np.testing.assert_allclose(arrays[f"own.heads.{by}"], found.expected.heads, rtol=1e-6)


@pytest.mark.long
def test_texts_of_the_length_have_as_many_flags_as_is_said(embedded_lens: Lens) -> None:
    """Sentences of two books that are not in the corpus: 5 % of what is compared would be half as much again."""
    sentences = [one for some in excerpts.sentences().values() for one in some]
    np.random.default_rng(0).shuffle(sentences)
    stats = survey(embedded_lens, sentences[:400])
    others = [trace for trace in map(embedded_lens.trace, sentences[400:]) if 16 <= trace.n_tokens <= 40]
    attrs = [story(stats, trace).attrs for trace in others]
    columns = ("unusual", "chance", "most", "compared")
    found, said, most, compared = (np.array([one[name] for one in attrs]) for name in columns)
    error = found.std() / math.sqrt(len(found))
    assert len(found) > 80 and abs(found.mean() - said.mean()) < 2 * error < 0.05 * compared.mean() - found.mean()
    assert 0.8 < (found <= most).mean() < 0.97


@pytest.mark.sampled(3, of="surveys of lengths")
@pytest.mark.usefixtures("few_kept")
def test_flags_of_texts_that_stand_for_others(small: Lens) -> None:
    """Four texts of a bin with more than six stand for all of it; the interval is that of all."""
    corpus = texts(90, seed=9, least=5, most=9)
    stats = head_stats(small, corpus, batch_size=1, progress=False)
    trace = small.trace("the unbelievable mat was warm")
    found = similar_texts(stats, trace, text_statistics(trace))
    near = [trace_of(small, other) for other in corpus if not isinstance(other, tuple)]
    values = np.stack([values_of(t).astype(np.float32) for t in near if found.shortest <= t.n_tokens <= found.longest])
    k, counts, kept_texts, texts_there = SURVEY_NAMES.index("next"), [], 0, 0
    for place, part in stats.of_length(trace.n_tokens).bins.items():
        if not found.expected.shortest <= place.tokens[0] <= found.expected.longest:
            continue
        kept = part.values["weight"]
        flags = own_counts(kept[:, k : k + 1].astype(float), values[:, k : k + 1].astype(float)).sum((1, 2, 3))
        counts += flags.tolist() * (4 if part.n_texts <= 6 else part.n_texts)
        kept_texts, texts_there = kept_texts + len(kept), texts_there + part.n_texts
    assert len(counts) == 4 * texts_there > kept_texts * 4 >= 32 and kept_texts == found.expected.texts[k]
    assert found.expected.statistics[:, k].tolist() == pytest.approx([np.mean(counts), nine_of_ten(counts)])


@pytest.mark.data
@pytest.mark.long
def test_the_share_of_flags_in_prose(embedded_lens: Lens, data: Path) -> None:
    """Beginnings of encyclopaedia sections, 6 to 85 words, and others of four lengths, in a trained model."""
    draw = np.random.default_rng(0)
    with gzip.open(data / "text" / "wiki_segments.jsonl.gz", "rt") as file:
        sections = [" ".join((row["a"], row["b"])).split() for row in map(json.loads, file)]
    draw.shuffle(sections)
    lengths = np.exp(draw.uniform(np.log(6), np.log(85), 600)).astype(int)
    corpus = [" ".join(words[:n]) for words, n in zip(sections, lengths, strict=False)]
    stats = survey(embedded_lens, corpus)
    for number, length in enumerate((8, 16, 32, 64)):
        some = sections[600 + 60 * number :][:60]
        traces = [
            embedded_lens.trace(" ".join(words[: int(length * np.exp(draw.uniform(-0.15, 0.15)))])) for words in some
        ]
        assert 0.02 <= flags(stats, traces)[0] <= 0.08
    long = survey(embedded_lens, [" ".join(words[:85]) for words in sections[:60]])
    found = story(long, embedded_lens.trace("The cat sat on the warm mat."))
    assert found.attrs["texts"] == 0 and not found["unusual"].any()  # nothing to compare with, and no flag
