"""Intervals: against scipy's distributions, and how often they hold what they are for, in draws and summed exactly."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from bertlens.errors import InputError
from bertlens.measures.significance import (
    count_interval,
    design_effect,
    difference_interval,
    f1_interval,
    freedom,
    group_interval,
    macro_f1_interval,
    paired,
    positive_mean_interval,
    share_interval,
)
from bertlens.survey import mean_interval, mean_text

RATES = (0.001, 0.01, 0.1)


# --- counts ---


def test_an_interval_of_a_count_is_scipys_exact_one() -> None:
    for right, n in ((0, 8), (1, 8), (3, 50), (25, 60), (50, 50)):
        for level in (0.8, 0.95):
            expected = stats.binomtest(right, n).proportion_ci(level, method="exact")
            assert count_interval(right, n, level) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert count_interval(0, 0) == (0, 1)


@pytest.mark.parametrize("n", [8, 13, 20, 50, 108, 179, 200])
def test_the_interval_of_a_count_covers_at_rare_rates(n: int) -> None:
    """Summed over the binomial, nothing drawn. Wilson's covers .84 of .001 at n = 179, Jeffreys' .90 at 107."""
    low, high = np.array([count_interval(k, n) for k in range(n + 1)]).T
    for p in (*RATES, 0.3, 0.5, 0.9, 0.99, 0.999):
        assert stats.binom.pmf(np.arange(n + 1), n, p)[(low <= p) & (p <= high)].sum() >= 0.95


# --- shares that come by text ---


def test_the_design_effect() -> None:
    """1 of single words, 4 where four stand and fall together, never below 1 of counts; all right: a text is one."""
    random = np.random.default_rng(0)
    right = (random.random(4000) < 0.7).astype(float)
    assert design_effect(right, np.ones(4000)) == pytest.approx(1)
    assert design_effect(4 * right, np.full(4000, 4.0)) == pytest.approx(4, rel=0.001)
    free = random.binomial(4, 0.7, 4000).astype(float)
    assert design_effect(free, np.full(4000, 4.0)) == pytest.approx(1, abs=0.1)
    assert design_effect(np.full(10, 2.0), np.full(10, 4.0)) == 1  # spread more evenly than by chance
    words = np.array([1.0, 2, 3])
    for all_or_none in (words, np.zeros(3)):
        assert design_effect(all_or_none, words) == pytest.approx(14 / 6)
    shares = random.beta(30, 20, 4000)  # of values that are no counts it may be below 1
    assert design_effect(shares, np.ones(4000)) == pytest.approx(1 / 51, rel=0.1)


def test_single_words_have_the_interval_of_a_count() -> None:
    for right in ([1, 0, 1, 1, 0, 1], [0] * 9, [1] * 9):
        assert share_interval(right, [1] * len(right)) == pytest.approx(count_interval(sum(right), len(right)))
    assert share_interval([0, 0, 0], [4, 4, 4]) == pytest.approx(count_interval(0, 3))  # a text counts as one
    assert share_interval([2, 3, 0], [2, 4, 0]) == share_interval([2, 3], [2, 4])
    assert np.isnan(share_interval([2], [3])).all() and np.isnan(share_interval([0, 0], [0, 0])).all()


Sizes = Callable[[np.random.Generator, int], np.ndarray]
SIZES: dict[str, Sizes] = {
    "1 word": lambda random, m: np.ones(m, dtype=int),
    "1 to 4": lambda random, m: random.integers(1, 5, m),
    "10 to 40": lambda random, m: random.integers(10, 41, m),
    "uneven": lambda random, m: np.ceil(random.lognormal(2.5, 1, m)).astype(int),
}


def covered(random: np.random.Generator, draws: int, m: int, sizes: str, alike: float, p: float) -> float:
    """The share of draws of m texts whose interval holds p; alike: the correlation of two words of one text."""
    held = 0
    for _ in range(draws):
        words = SIZES[sizes](random, m)
        rates = np.full(m, p)
        if alike == 1:
            rates = (random.random(m) < p).astype(float)
        elif alike:
            rates = random.beta(p * (1 / alike - 1), (1 - p) * (1 / alike - 1), m)
        low, high = share_interval(random.binomial(words, rates), words)
        held += low <= p <= high
        assert 0 <= low <= high <= 1
    return held / draws


@pytest.mark.parametrize("p", [*RATES, 0.7])
@pytest.mark.parametrize("alike", [0.0, 0.3, 1.0])
def test_coverage_of_words_that_fall_together(p: float, alike: float) -> None:
    found = [covered(np.random.default_rng(7), 150, m, size, alike, p) for m in (8, 50) for size in SIZES]
    assert min(found) >= 0.9 and np.mean(found) >= 0.94


@pytest.mark.long
@pytest.mark.parametrize("m", [8, 12, 20, 50, 100, 200])
def test_coverage_of_words_that_fall_together_everywhere(m: int) -> None:
    found = [
        covered(np.random.default_rng(m), 1000, m, size, alike, p)
        for size in SIZES
        for alike in (0, 0.03, 0.1, 0.3, 1)
        for p in (*RATES, 0.3, 0.7, 0.9)
    ]
    assert min(found) >= 0.9 and np.mean(found) >= 0.94


SHARES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "of attention": lambda random, size: random.beta(30, 20, size),
    "near 1": lambda random, size: random.beta(60, 2, size),
    "small and skewed": lambda random, size: random.beta(0.5, 20, size),
    "most are 0": lambda random, size: random.beta(0.5, 5, size) * (random.random(size) < 0.3),
    "nearly all are 0": lambda random, size: random.beta(1, 5, size) * (random.random(size) < 0.03),
    "reciprocal ranks": lambda random, size: 1 / random.geometric(0.6, size),
}


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("m", [8, 50])
def test_coverage_of_the_mean_of_shares(name: str, m: int, smooth: bool) -> None:
    """Mean ± t·s/√m covers .20 of the rarest, .85 of the skewed ones at m = 8, and leaves [0, 1]."""
    random = np.random.default_rng(1)
    truth = SHARES[name](random, (1_000_000,)).mean()
    ends = np.array([share_interval(values, np.ones(m), smooth=smooth) for values in SHARES[name](random, (600, m))])
    assert ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean() >= 0.91
    assert (ends >= 0).all() and (ends <= 1).all()


def drawn_of(*values: float, rates: tuple[float, ...]) -> Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]:
    return lambda random, size: random.choice(values, p=rates, size=size)


# what most questions have alike, beside what few have
MIXTURES = {
    "half, rarely all": drawn_of(0.5, 1, rates=(0.97, 0.03)),
    ".63, rarely 0": drawn_of(0.63, 0, rates=(0.95, 0.05)),
    "two places, rarely 0": drawn_of(0.63, 0.61, 0, rates=(0.48, 0.47, 0.05)),
    "half, rarely 0 or 1": drawn_of(0.5, 1, 0, rates=(0.94, 0.03, 0.03)),
    "thirds": drawn_of(1 / 3, 2 / 3, 1, rates=(0.9, 0.05, 0.05)),
    "about .63, rarely 0": lambda random, size: random.normal(0.63, 0.01, size) * (random.random(size) < 0.95),
    "many values, rarely 0": lambda random, size: random.beta(20, 5, size) * (random.random(size) < 0.95),
    "four documents": lambda random, size: random.binomial(4, 0.5, size) / 4,
    "reciprocal ranks": lambda random, size: 1 / random.geometric(0.3, size),
}
CHANGES = {
    "a little more, rarely much less": drawn_of(0.1, -0.6, rates=(0.92, 0.08)),
    "a little either way, rarely lost": drawn_of(0.02, -0.02, -1, rates=(0.6, 0.37, 0.03)),
    "half move, rarely far": drawn_of(0, 0.1, -0.6, rates=(0.45, 0.5, 0.05)),
    "most stay": drawn_of(0, 0.05, -0.5, rates=(0.6, 0.37, 0.03)),
    "few move": drawn_of(0, 0.3, -0.2, rates=(0.9, 0.06, 0.04)),
    "reciprocal ranks": lambda random, size: 1 / random.geometric(0.6, size) - 1 / random.geometric(0.5, size),
}


def coverage(
    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray],
    interval: Callable[[np.ndarray], tuple[float, float]],
    n: int,
    draws: int,
) -> float:
    """How often the interval of n drawn values holds their mean; each has ends, finite ones with the mean between."""
    random = np.random.default_rng(n)
    truth, sets = draw(random, (1_000_000,)).mean(), draw(random, (draws, n))
    ends = np.array([interval(values) for values in sets])
    means = sets.mean(1)
    assert np.isfinite(ends).all() and (ends[:, 0] < means + 1e-9).all() and (means - 1e-9 < ends[:, 1]).all()
    assert (ends[:, 1] - ends[:, 0] > 1e-3).all()
    return float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())


DRAWS = pytest.mark.parametrize("draws", [250, pytest.param(3000, marks=pytest.mark.long)])


@DRAWS
@pytest.mark.parametrize("name", MIXTURES)
def test_coverage_where_most_questions_have_one_fraction(name: str, draws: int) -> None:
    """The spread alone covers .47 of the first at n = 20: the next question may be 0 or 1."""
    held = [coverage(MIXTURES[name], lambda x: share_interval(x, np.ones(len(x))), n, draws) for n in (8, 20, 50, 225)]
    assert min(held) >= 0.92 and np.mean(held) >= 0.95


@DRAWS
@pytest.mark.parametrize("name", CHANGES)
def test_coverage_where_most_questions_change_by_one_fraction(name: str, draws: int) -> None:
    held = [coverage(CHANGES[name], difference_interval, n, draws) for n in (8, 20, 50, 225)]
    assert min(held) >= 0.92 and np.mean(held) >= 0.95


@pytest.mark.parametrize("n", [2, 20, 400])
@pytest.mark.parametrize("share", [0.1, 0.431, 0.5, 1 / 3])
def test_one_fraction_has_the_interval_of_one_more_that_is_0_or_1(share: float, n: int) -> None:
    """Exactly: what no question of n has shown may be as frequent as `count_interval` of 0 of n has it."""
    rare = count_interval(0, n)[1]
    expected = share * (1 - rare), share + (1 - share) * rare
    for smooth in (False, True):
        assert share_interval([share] * n, np.ones(n), smooth=smooth) == pytest.approx(expected)
    low, high = difference_interval([share] * n)
    assert (low, high) == pytest.approx((share - (1 + share) * rare, share + (1 - share) * rare))
    low, high = group_interval([share] * n, [share] * n)
    assert low == pytest.approx(-high) and high > rare * max(share, 1 - share)


def test_one_more_text_is_as_large_as_these() -> None:
    assert share_interval([0.5, 1, 0.25] * 5, np.ones(15)) == pytest.approx(
        share_interval([1.5, 3, 0.75] * 5, np.full(15, 3))
    )
    low, high = share_interval([0.5, 5.0], [1, 10])  # nearly one text
    assert low < 0.05 and high > 0.95


def test_an_interval_grows_with_its_level() -> None:
    for values in ([0.5] * 9, [0.3, 0.3, 0.7, 1.0, 0.0, 0.5], [0.01, 0.02, 0.03, 1.0]):
        ends = [
            share_interval(values, np.ones(len(values)), level) for level in (1e-6, 0.5, 0.9, 0.95, 0.999, 1 - 1e-9)
        ]
        for (low, high), (lower, higher) in pairwise(ends):
            assert 0 <= lower <= low <= np.mean(values) <= high <= higher <= 1


def test_smooth_shares_far_from_0_and_1_have_about_the_interval_of_a_mean() -> None:
    values = np.random.default_rng(0).beta(30, 20, 60)
    _, low, high = mean_interval(values)
    assert share_interval(values, np.ones(60), smooth=True) == pytest.approx((low, high), abs=0.003)


# --- differences ---


@pytest.mark.parametrize(("more", "fewer"), [(0.001, 0.001), (0.01, 0), (0.1, 0.01), (0.3, 0.2)])
@pytest.mark.parametrize("n", [10, 50])
def test_the_interval_of_a_difference_covers(n: int, more: float, fewer: float) -> None:
    """Of right and wrong before and after, summed over all tables. Mean ± t·s/√n covers .10 where little changes."""
    held = total = 0.0
    for up in range(n + 1):
        for down in range(n - up + 1):
            chance = stats.multinomial.pmf([up, down, n - up - down], n, [more, fewer, 1 - more - fewer])
            if chance > 1e-5:
                low, high = difference_interval(np.repeat([1, -1, 0], [up, down, n - up - down]))
                held += chance * (low <= more - fewer <= high)
                total += chance
    assert held / total >= 0.94


def test_a_difference_has_the_interval_of_its_range() -> None:
    differences = np.array([1, 0, 0, -1, 1, 0, 0.5, 0, 1, 1])
    low, high = difference_interval(differences)
    assert low < differences.mean() < high and difference_interval(-differences) == pytest.approx((-high, -low))
    assert difference_interval(2 * differences, 2) == pytest.approx((2 * low, 2 * high))
    assert difference_interval(np.ones(5))[1] == 1
    low, high = difference_interval(np.zeros(50))
    assert low == -high < -0.05
    values = np.random.default_rng(0).normal(0.02, 0.1, 40)  # of texts that all differ about that of a mean
    assert difference_interval(values, smooth=True) == pytest.approx(
        [float(end) for end in mean_interval(values)[1:]], abs=0.004
    )


@pytest.mark.parametrize(("n", "m"), [(12, 12), (15, 200), (60, 60)])
def test_the_interval_of_two_groups_covers(n: int, m: int) -> None:
    """Of shares like reciprocal ranks: many 1, some 0; and the ends stay in their range."""
    random = np.random.default_rng(n)
    difference, covered = (0.5 + 0.5 * 0.25) - (0.9 + 0.1 * 0.25), 0
    for _ in range(300):
        inside, outside = (
            np.where(random.random(size) < most, 1.0, random.choice([0, 0.25, 0.5], size))
            for size, most in ((n, 0.5), (m, 0.9))
        )
        low, high = group_interval(inside, outside)
        assert -1 <= low <= inside.mean() - outside.mean() <= high <= 1
        covered += low <= difference <= high
    assert covered >= 0.92 * 300
    assert np.isnan(group_interval([1.0], [0.5, 0.2])).all()
    assert group_interval([0.0] * 20, [1.0] * 20)[1] > -1


# --- means ---


def test_mean_interval_equals_scipy_and_covers() -> None:
    random = np.random.default_rng(0)
    for n in (2, 3, 5, 24, 200):
        values = random.normal(3, 2, (n, 2, 4))
        mean, low, high = mean_interval(values)
        expected = stats.t.interval(0.95, n - 1, loc=values.mean(0), scale=stats.sem(values, axis=0))
        np.testing.assert_allclose([low, high], expected, rtol=1e-9)
        np.testing.assert_allclose(mean, values.mean(0))
    _, low, high = mean_interval(random.normal(0, 1, (5, 20000)))
    assert ((low <= 0) & (high >= 0)).mean() == pytest.approx(0.95, abs=0.006)  # four standard errors


def test_mean_interval_refuses_what_has_no_mean() -> None:
    for values in ([], [1.0], [1.0, np.nan], 3.0):
        with pytest.raises(InputError, match="leave out texts"):
            mean_interval(np.array(values))


def test_equal_values_and_one_text_have_no_interval() -> None:
    """No width of 0, which would say that the mean is known."""
    for equal in ([0.7] * 5, [0.1 + 0.2, 0.3, 0.3], [0, 0], [-3e5] * 9):
        mean, low, high = mean_interval(equal)
        assert mean == pytest.approx(equal[0]) and np.isnan([low, high]).all()
        assert np.isnan(positive_mean_interval(np.abs(equal))[1:]).all()
    low, high = mean_interval([[1, 2], [1, 4], [1, 3]])[1:]
    assert np.isnan([low[0], high[0]]).all() and low[1] < 3 < high[1]
    assert mean_text([0.5, 0.5]) == "0.50 (all equal: no interval)" and mean_text([1, 1.001]).startswith("1.00 [")
    for one in ([0], [0.0], [0.4], [-1]):
        assert np.isnan(difference_interval(one)).all() and np.isnan(group_interval(one, [0, 1])).all()
    low, high = difference_interval([0, 0])
    assert low < 0 < high
    assert np.isnan(paired(np.full(9, 0.5), False)[1:]).all() and paired(np.zeros(9), False)[3] == 1


def test_an_interval_of_what_is_above_0_is_the_mean_s_on_the_logarithm() -> None:
    values = np.random.default_rng(0).exponential(size=(40, 3))
    values[:, 1] = 0
    mean, low, high = positive_mean_interval(values)
    np.testing.assert_allclose(mean, values.mean(0))
    for at in (0, 2):
        each = values[:, at]
        away = each - each.mean()
        degrees = 2 / ((away**4).sum() / (away**2).sum() ** 2 - 1 / 40)
        half = stats.t.ppf(0.975, degrees) * stats.sem(each) / mean[at]
        assert (low[at], high[at]) == pytest.approx((mean[at] * np.exp(-half), mean[at] * np.exp(half)))
    assert np.isnan([low[1], high[1]]).all()


def test_degrees_of_freedom_are_those_of_normal_numbers_and_fewer_with_heavy_tails() -> None:
    random = np.random.default_rng(3)
    assert np.median(freedom(random.normal(size=(2000, 50)))) == pytest.approx(1999, rel=0.05)
    assert freedom(random.exponential(size=2000)) < 700 and freedom(np.array([1.0, 2.0])) == 1


# --- F1 ---


def test_the_interval_of_f1_is_that_of_its_share() -> None:
    low, high = count_interval(30, 50)
    assert f1_interval(30, 50) == (2 * low / (1 + low), 2 * high / (1 + high))


def uneven(rates: list[float], right: list[float]) -> np.ndarray:
    """(C, C) chances of [label, guess]: what is wrong goes to the frequent classes."""
    shares = np.array(rates) / np.sum(rates)
    away = np.tile(shares, (len(shares), 1))
    np.fill_diagonal(away, 0)
    cells = away / away.sum(1, keepdims=True) * (1 - np.array(right))[:, None]
    np.fill_diagonal(cells, right)
    return shares[:, None] * cells


EIGHT = [0.4, 0.2, 0.12, 0.1, 0.08, 0.05, 0.03, 0.02]
CONFUSIONS = {
    "two": (200, uneven([0.5, 0.5], [0.8, 0.8])),
    "one is rare": (200, uneven([0.5, 0.45, 0.05], [0.95, 0.9, 0.7])),
    "eight, at 200": (200, uneven(EIGHT, [0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4])),
    "eight, at 500": (500, uneven(EIGHT, [0.9] * 8)),
    "eight, alike": (200, uneven([1.0] * 8, [0.97] * 8)),
}


@pytest.mark.parametrize("name", CONFUSIONS)
@pytest.mark.parametrize("draws", [400, pytest.param(4000, marks=pytest.mark.long)])
def test_the_interval_of_macro_f1_covers_where_there_is_one(name: str, draws: int) -> None:
    """The delta method covers .84 of the eight classes at 200."""
    n, cells = CONFUSIONS[name]
    labels, guesses = (index.ravel() for index in np.indices(cells.shape))
    truth = metrics.f1_score(labels, guesses, average="macro", sample_weight=cells.ravel())
    counts = np.random.default_rng(0).multinomial(n, cells.ravel(), draws).reshape(-1, *cells.shape)
    ends = np.array([macro_f1_interval(one) for one in counts])
    given = np.isfinite(ends[:, 0])
    assert (given == (counts.sum(2).min(1) >= 5)).all() and given.mean() > 0.15
    assert (ends[given] >= 0).all() and (ends[given] <= 1).all()
    assert ((ends[:, 0] <= truth) & (truth <= ends[:, 1]))[given].mean() >= 0.92


def test_macro_f1_of_a_model_without_an_error_has_a_lower_end_below_1() -> None:
    low, high = macro_f1_interval(np.diag([40, 20, 6]))
    assert 0.7 < low < 1 and high == 1
