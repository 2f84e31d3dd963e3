"""Of the claims of training next to none holds of random weights: a few models always, twenty in the long run."""

from __future__ import annotations

from collections import Counter

import pytest

from bertlens.reports.rules import HOLDS
from unit.reports.untrained import MODELS, reports


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(MODELS), marks=pytest.mark.long)])
@pytest.mark.filterwarnings("ignore")
def test_random_weights_hold_next_to_nothing(seeds: range) -> None:
    told: Counter[str] = Counter()
    for report in reports(seeds):
        for card in report.cards:
            if card.claim.of_training:
                told[card.claim.name] += card.verdict == HOLDS
    assert len(told) == 33
    assert sum(told.values()) <= 0.05 * len(told) * len(seeds)
    assert max(told.values()) <= 4
