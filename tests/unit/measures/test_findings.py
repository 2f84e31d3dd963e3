"""Tests that intervals are, and intervals that Holm's test is: against scipy, and each other."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from bertlens.measures.significance import count_interval, holm, holm_intervals, interval_test, mean_interval
from bertlens.measures.significance.findings import LEAST


def of_mean(values: np.ndarray, level: float) -> tuple[float, float]:
    _, low, high = mean_interval(values, level)
    return float(low), float(high)


def none(level: float) -> tuple[float, float]:
    return math.nan, math.nan


def test_the_test_of_students_interval_is_students_test() -> None:
    random = np.random.default_rng(0)
    for shift in (0.0, 0.3, -0.6, 1.0):
        values = random.normal(shift, 1, 30)
        assert interval_test(partial(of_mean, values)) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-4)
    assert interval_test(partial(of_mean, random.normal(50, 1, 30))) == LEAST
    assert interval_test(lambda level: (-1.0, 1.0)) == 1 and math.isnan(interval_test(none))
    shares = [count_interval(15, 20, level)[0] - 0.5 for level in (0.95, 0.99)]
    p = interval_test(lambda level: (count_interval(15, 20, level)[0] - 0.5, 1))
    assert p == pytest.approx(2 * stats.binom.sf(14, 20, 0.5), rel=1e-4)
    assert (shares[0] > 0) == (p <= 0.05) and (shares[1] > 0) == (p <= 0.01)


def test_an_interval_leaves_out_0_just_where_holm_passes() -> None:
    random = np.random.default_rng(1)
    kinds = set()
    for _ in range(40):
        samples = [random.normal(random.choice([0, 0.4, 0.6]), 1, 25) for _ in range(5)]
        rows = holm_intervals([*(partial(of_mean, values) for values in samples), none])
        p = holm(np.array([stats.ttest_1samp(values, 0).pvalue for values in samples]), 5)
        for values, adjusted, (low, high, told) in zip(samples, p, rows, strict=False):
            assert told == pytest.approx(adjusted, rel=1e-4) and low < values.mean() < high
            assert (low > 0 or high < 0) == (adjusted <= 0.05)
        assert all(map(math.isnan, rows[-1]))
        kinds.add(int((p <= 0.05).sum()))
    assert {0, 1, 2, 3} <= kinds


def test_one_alone_has_its_own_interval() -> None:
    values = np.random.default_rng(2).normal(0.2, 1, 25)
    assert holm_intervals([partial(of_mean, values)])[0][:2] == pytest.approx(of_mean(values, 0.95))
