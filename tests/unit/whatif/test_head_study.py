"""What studies of heads share: their parts, in which order an estimate has them, how many runs and how long."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import bertlens as bl
from bertlens.measures.significance import FOUND, holm, with_findings
from bertlens.whatif import by_estimate, cost_said, duration, head_sites, passes, passes_of_some
from unit.tiny import bert, wordpiece


def test_sites_are_all_heads_and_take_them_out() -> None:
    trace = bl.Lens(bert(num_hidden_layers=2), wordpiece()).trace("the cat sat")
    sites = head_sites(trace)
    assert sites == [(layer, head) for layer in range(2) for head in range(trace.n_heads)]
    assert [str(site) for site in sites[:2]] == ["L0·H0", "L0·H1"]
    assert [site.off for site in sites] == [bl.whatif.off(*site) for site in sites]
    mlp = type(sites[0])(1, -1)
    assert str(mlp) == "MLP 1" and mlp.off == bl.whatif.mlp(1)


def test_the_largest_estimate_is_first_and_none_is_last() -> None:
    estimates = [0.2, -0.5, math.nan, 0.5, 0.0]
    ranked = sorted((n for n in range(5) if n != 2), key=lambda n: (-abs(estimates[n]), n))
    assert by_estimate(np.array(estimates)) == [*ranked, 2] == [1, 3, 0, 4, 2]


def test_runs_are_counted_layer_by_layer() -> None:
    """A part out of layer l is a run of the layers from l on."""
    trace = bl.Lens(bert(num_hidden_layers=2), wordpiece()).trace("the cat sat")
    sites, layers_run = head_sites(trace), 2
    for layer, _ in head_sites(trace):
        layers_run += 3 * sum(1 for later in range(2) if later >= layer)
    assert passes(sites, 2, draws=3) == pytest.approx(layers_run / 2)
    assert passes_of_some(sites, 2, len(sites), 3) == pytest.approx(passes(sites, 2, 3))
    assert passes_of_some(sites, 2, 2) == pytest.approx(1 + 2 * 0.75)


def test_a_duration_is_said_in_seconds_or_minutes() -> None:
    assert [duration(took) for took in (0.01, 59.6, 119.9, 120, 600, 3600)] == [
        "1 s",
        "60 s",
        "120 s",
        "2 minutes",
        "10 minutes",
        "60 minutes",
    ]
    assert cost_said("4 runs: about ", 30) == "4 runs: about 30 s; Ctrl-C ends it, and what was done counts"


def test_findings_are_those_that_holm_leaves() -> None:
    table = pd.DataFrame({"p": [0.001, 0.02, 0.04, math.nan]})
    with_findings(table, 4)
    assert table["p_holm"].tolist()[:3] == holm(np.array([0.001, 0.02, 0.04, math.nan]), 4).tolist()[:3]
    assert table["p_holm"].tolist()[:3] == pytest.approx([0.004, 0.06, 0.08]) and math.isnan(table["p_holm"][3])
    assert table["finding"].tolist() == [True, False, False, False] and FOUND == 0.05
