"""Intervals of shares: against scipy's Beta distribution, exact coverage, and words that fall together."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bertlens.errors import InputError
from bertlens.survey import mean_interval
from bertlens.survey.intervals import (
    beta_quantile,
    beta_share,
    design_effect,
    jeffreys,
    positive_mean_interval,
    share_interval,
)

stats = pytest.importorskip("scipy.stats")


def test_beta_distribution_equals_scipy() -> None:
    for a in (0.5, 1.5, 3, 20.5, 300, 5e4, 1e6):
        for b in (0.5, 1.5, 7.25, 300, 5e4):
            for share in (0.001, 0.025, 0.5, 0.975):
                x = stats.beta.ppf(share, a, b)
                assert beta_quantile(share, a, b) == pytest.approx(x, abs=1e-11)
                assert beta_share(x, a, b) == pytest.approx(share, abs=1e-9)
    assert beta_share(0, 2, 3) == 0 and beta_share(1, 2, 3) == 1


@cache
def intervals(n: int) -> list[tuple[float, float]]:
    return [jeffreys(k, n) for k in range(n + 1)]


def coverage(p: float, n: int) -> float:
    """Summed over the binomial, nothing drawn."""
    covered = [low <= p <= high for low, high in intervals(n)]
    return float((stats.binom.pmf(np.arange(n + 1), n, p) * covered).sum())


def test_jeffreys_coverage_is_exact() -> None:
    """Near 1, where a bootstrap of 5 words covers .23 of p = .95, and on average over p; a single p may have less."""
    for n in (5, 10, 20):
        assert coverage(0.95, n) >= 0.93
    for n in (20, 50):
        every = [coverage(p, n) for p in np.linspace(0.02, 0.98, 97)]
        assert np.mean(every) == pytest.approx(0.95, abs=0.01) and min(every) >= 0.88
    assert jeffreys(5, 5)[0] == pytest.approx(stats.beta.ppf(0.025, 5.5, 0.5)) and jeffreys(5, 5)[1] == 1
    assert jeffreys(0, 5)[0] == 0 and jeffreys(0, 5)[1] == pytest.approx(1 - jeffreys(5, 5)[0])
    low, high = jeffreys(30, 100, 0.8)
    assert (low, high) == pytest.approx(tuple(stats.beta.ppf([0.1, 0.9], 30.5, 70.5)))


def test_design_effect() -> None:
    """1 of single words, 4 where four stand and fall together, never below 1, all right: a sentence is one word."""
    random = np.random.default_rng(0)
    right = (random.random(4000) < 0.7).astype(float)
    assert design_effect(right, np.ones(4000)) == pytest.approx(1, abs=0.001)
    assert design_effect(4 * right, np.full(4000, 4.0)) == pytest.approx(4, rel=0.001)
    free = random.binomial(4, 0.7, 4000).astype(float)
    assert design_effect(free, np.full(4000, 4.0)) == pytest.approx(1, abs=0.1)
    assert design_effect(np.full(10, 2.0), np.full(10, 4.0)) == 1  # spread more evenly than by chance
    words = np.array([1.0, 2, 3])
    for all_or_none in (words, np.zeros(3)):
        assert design_effect(all_or_none, words) == pytest.approx(14 / 6)
    assert design_effect(np.array([1.0]), np.array([3.0])) == 3


@pytest.mark.parametrize("p", [0.7, 0.95])
@pytest.mark.parametrize("alike", [0.0, 0.3, 1.0])
def test_coverage_of_words_that_fall_together(p: float, alike: float) -> None:
    """20 sentences of 1 to 4 words, of which the share `alike` follows the sentence: 92 % and more of 500 draws."""
    random = np.random.default_rng(7)
    covered = []
    for _ in range(500):
        words = random.integers(1, 5, 20)
        whole = random.random(20) < p
        right = np.array(
            [
                (np.where(random.random(n) < alike, own, random.random(n) < p)).sum()
                for n, own in zip(words, whole, strict=True)
            ]
        )
        low, high = share_interval(right.astype(float), words.astype(float))
        covered.append(low <= p <= high)
    assert np.mean(covered) >= 0.92


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


def test_an_interval_of_what_is_above_0_is_the_mean_s_on_the_logarithm() -> None:
    values = np.random.default_rng(0).exponential(size=(40, 3))
    values[:, 1] = 0
    mean, low, high = positive_mean_interval(values)
    np.testing.assert_allclose(mean, values.mean(0))
    half = stats.t.ppf(0.975, 39) * stats.sem(values[:, [0, 2]])
    relative = half / mean[[0, 2]]
    np.testing.assert_allclose(low[[0, 2]], mean[[0, 2]] * np.exp(-relative))
    np.testing.assert_allclose(high[[0, 2]], mean[[0, 2]] * np.exp(relative))
    assert low[1] == high[1] == 0
