"""Verdicts at the borders of their rules, and the table of claims beside one written by hand."""

from __future__ import annotations

import math

import pytest

from bertlens.reports.claims import BY_NAME, CLAIMS, GROUPS, PAPERS
from bertlens.reports.rules import CANNOT, CENSUS, DIFFERS, FEWEST_TEXTS, HOLDS, Measured, Rule, said, turn, verdict

# name: (paper, place, what it found), by hand from the papers
BY_HAND = {
    "vig-next": ("Deconstructing BERT, part 1", "pattern 1", "no number"),
    "vig-previous": ("Deconstructing BERT, part 1", "pattern 2", "no number"),
    "vig-same-word": ("Deconstructing BERT, part 1", "patterns 3 and 4", "no number"),
    "vig-separator": ("Deconstructing BERT, part 1", "pattern 6", "no number"),
    "vig-other-sentence": ("Deconstructing BERT, part 1", "pattern 4", "no number"),
    "vig-pieces": ("Deconstructing BERT, part 1", "the example of pattern 5", "words that foretell a word"),
    "vig-few-neurons": ("Deconstructing BERT, part 2", "", "no number"),
    "vig-position": ("Deconstructing BERT, part 2", "", "no number"),
    "clark-neighbours": ("1906.04341", "3.1, figure 2", "4 heads previous and 5 next, above 50 %"),
    "clark-separator": ("1906.04341", "3.2, figure 2", "over 50 % in layers 6-10 of 12"),
    "clark-separator-to-separator": ("1906.04341", "3.2, figure 2", "over 90 %"),
    "clark-broad-first": ("1906.04341", "3.3, figure 4", "no number"),
    "clark-first-row": ("1906.04341", "3.3", "3.89 nats"),
    "clark-gradient": ("1906.04341", "3.2, figure 3", "no number"),
    "clark-punctuation-late": ("1906.04341", "3.2, figure 2", "no number"),
    "clark-first-early": ("1906.04341", "3.2, figure 2", "no number"),
    "clark-alike": ("1906.04341", "6, figure 6", "no number"),
    "clark-syntax": ("1906.04341", "4.2, table 1", "14 of 14 relations, such as dobj 86.8 % beside 40.0 %"),
    "clark-probe": ("1906.04341", "5, table 3", "61 % beside 26 %"),
    "clark-coreference": ("1906.04341", "4.3, table 2", "65 % beside 27 %"),
    "kobayashi-separator": ("2004.10102", "4", "no number"),
    "kobayashi-punctuation": ("2004.10102", "4", "no number"),
    "kobayashi-special": ("2004.10102", "4", "no number"),
    "kobayashi-frequency": ("2004.10102", "4", "0.75"),
    "kobayashi-patterns": ("2004.10102", "4", "no number"),
    "kobayashi-order": ("2109.07152", "4, and the authors' notebook", "96.4, 85.3, 48.2, 22.3, 18.8 %"),
    "kobayashi-mixing": ("2109.07152", "4, and the authors' notebook", "18.8 %"),
    "kobayashi-residual": ("2109.07152", "4, and the authors' notebook", "22.3 % beside 85.3 %"),
    "kobayashi-depth": ("2109.07152", "4, figure 3", "24 % in the first layer, 11 % in the last"),
    "kobayashi-layernorm": ("2109.07152", "4, and the authors' notebook", "18.8 % beside 22.3 %"),
    "bonino-gates": ("2502.12033", "gates: figures 3-5", "no number"),
    "bonino-cone-grows": ("2502.12033", "cone index", "no number"),
    "bonino-cone": ("2502.12033", "cone index", "no number"),
    "bonino-direction": ("2502.12033", "local analysis", "no number"),
    "bonino-subspaces": ("2502.12033", "local analysis", "no number"),
    "bonino-lengths": ("2502.12033", "figure 2", "no number"),
    "bonino-rank": ("2502.12033", "the authors' notebook", "24 of 30 texts with 1 singular value"),
    "sinks-resting": ("2309.17453", "3", "no number"),
    "sinks-null": ("2004.10102", "4", "no number"),
    "sinks-massive": ("2402.17762", "2", "1,000 times the median and above 100"),
    "sinks-broadcast": ("2606.08105", "abstract", "no number"),
    "sinks-off": ("2309.17453", "3", "no number"),
    "health-dead": ("no paper", "", "none expected"),
    "health-doubled": ("no paper", "", "none expected"),
    "health-collapsed": ("no paper", "", "none expected"),
    "health-rogue": ("no paper", "", "none expected"),
    "health-idle": ("no paper", "", "none expected"),
    "health-cut": ("no paper", "", "less than 1 in 20 expected"),
    "health-unknown": ("no paper", "", "less than 1 in 100 expected"),
}


def test_every_claim_is_where_its_paper_has_it() -> None:
    assert {*BY_HAND} == {claim.name for claim in CLAIMS} and len(BY_NAME) == len(CLAIMS)
    for claim in CLAIMS:
        paper, place, found = BY_HAND[claim.name]
        assert paper in PAPERS[claim.paper] and claim.place == place and found in claim.found, claim.name
        assert bool(claim.on) == (claim.group != "health")
        assert claim.group in GROUPS and claim.name.startswith(claim.group)
    assert {claim.name for claim in CLAIMS if not claim.of_training} == {
        "clark-first-row",
        "kobayashi-mixing",
        "kobayashi-residual",
        "bonino-cone",
        "bonino-cone-grows",
        "bonino-rank",
    } | {name for name in BY_HAND if name.startswith("health-")}


# Whose bound is the paper's ("over half", "over 90 %", "above 50 %", "1,000 times the median and above 100"), or chance
THEIRS = {
    "clark-neighbours",
    "clark-separator",
    "clark-separator-to-separator",
    "clark-coreference",
    "kobayashi-mixing",
    "bonino-cone",
    "bonino-cone-grows",
    "sinks-massive",
    "sinks-off",
}


def test_bounds_that_are_no_papers_are_called_ours() -> None:
    assert {claim.name for claim in CLAIMS if not claim.rule.ours} == THEIRS


@pytest.mark.parametrize(
    ("rule", "measured", "expected"),
    [
        (Rule("above", 0.5, "share"), Measured(0.7, 0.65, 0.74, 20), "far: 75 %: differs"),
        (Rule("above", 0.5, "share"), Measured(0.9, 0.85, 0.95, 20), ""),
        (Rule("above", 0.5, "share", ours=False), Measured(0.7, 0.65, 0.74, 20), ""),
        (Rule("above", 0.5, "share"), Measured(0.5, 0.4, 0.6, 20), ""),
        # as far from chance, where there is one: 1.25 is 0.25 from 1
        (Rule("above", 1.25, "ratio"), Measured(1.3, 1.27, 1.35, 20, chance=1.0), "far: 1.38: differs"),
        (Rule("below", 0.9, "ratio"), Measured(0.92, 0.91, 0.93, 20, chance=1.0), "near: 0.93: holds"),
        (Rule("below", 0.5, "share"), Measured(0.6, 0.55, 0.65, 20), "far: 75 %: holds"),
        # of what is counted the bound is that of each head
        (
            Rule("above", 1, "heads"),
            Measured(2, 1, 2, 20, other_bounds=[(0.75, 0, 0), (0.33, 3, 4)]),
            "far: 0.75: differs",
        ),
        (Rule("above", 1, "heads"), Measured(2, 1, 2, 20, other_bounds=[(0.75, 1, 1), (0.33, 3, 4)]), ""),
        (
            Rule("below", 1, "heads"),
            Measured(0, 0, 0, 20, other_bounds=[(0.015, 1, 1), (0.0067, 0, 0)]),
            "far: 0.015: differs",
        ),
        (Rule("above", 4, "kinds"), Measured(5, 5, 5, 20), "far: 6 kinds: differs"),
    ],
)
def test_a_bound_of_ours_that_is_near_is_told(rule: Rule, measured: Measured, expected: str) -> None:
    how, bound, told = expected.split(": ") if expected else [""] * 3
    assert turn(rule, measured) == (expected and f"A bound 1.5 times as {how}, {bound}, would turn it: {told}.")


def test_every_interval_says_what_it_is_of() -> None:
    assert Measured(n=12, units="relations").interval == "95 %, by relations"
    assert Measured(n=12, ends="those in each of 12 texts, those in one or more").interval.startswith("those in each")
    exact = Measured(0.04, 0.04, 0.04, 3, ends=CENSUS)
    assert verdict(Rule("below", 0.05, "share"), exact) == (HOLDS, "")
    assert verdict(Rule("below", 0.04, "share"), exact) == (DIFFERS, "")  # not below


@pytest.mark.parametrize(
    ("rule", "low", "high", "expected"),
    [
        (Rule("above", 0.5, "share"), 0.5001, 0.6, HOLDS),
        (Rule("above", 0.5, "share"), 0.5, 0.6, CANNOT),
        (Rule("above", 0.5, "share"), 0.4, 0.5, CANNOT),
        (Rule("above", 0.5, "share"), 0.4, 0.4999, DIFFERS),
        (Rule("below", 0.5, "ratio"), 0.4, 0.4999, HOLDS),
        (Rule("below", 0.5, "ratio"), 0.4, 0.5, CANNOT),
        (Rule("below", 0.5, "ratio"), 0.5, 0.6, CANNOT),
        (Rule("below", 0.5, "ratio"), 0.5001, 0.6, DIFFERS),
        (Rule("above", 2, "heads"), 2, 3, HOLDS),
        (Rule("above", 2, "heads"), 1, 2, CANNOT),
        (Rule("above", 2, "heads"), 0, 1, DIFFERS),
        (Rule("below", 1, "heads"), 0, 0, HOLDS),
        (Rule("below", 1, "layers"), 0, 1, CANNOT),
        (Rule("below", 1, "heads"), 1, 1, DIFFERS),
        (Rule("above", 0.5, "share"), math.nan, 0.6, CANNOT),
        (Rule("above", 0.5, "share"), 0.6, math.inf, CANNOT),
    ],
)
def test_verdicts_at_their_borders(rule: Rule, low: float, high: float, expected: str) -> None:
    found, why = verdict(rule, Measured(0.5, low, high, FEWEST_TEXTS))
    assert found == expected and bool(why) == (expected == CANNOT)


def test_what_cannot_be_told_says_why() -> None:
    sure = Rule("above", 0.5, "share")
    assert verdict(sure, Measured(0.9, 0.8, 1, 100, why="the tokenizer has no separator")) == (
        CANNOT,
        "the tokenizer has no separator",
    )
    assert verdict(sure, Measured(0.9, 0.8, 1, FEWEST_TEXTS - 1)) == (CANNOT, "7 texts are too few: at least 8")
    assert verdict(sure, Measured(0.9, 0.8, 1, 4, units="documents"))[0] == HOLDS  # its interval is by documents
    assert verdict(sure, Measured(0.5, 0.4, 0.6, 20))[1] == "20 texts are too few to say (40 % to 60 %)"
    widening = Measured(0.5, 0.4, 0.6, 20, ends="those in each of 20 texts, those in one or more")
    assert verdict(sure, widening) == (CANNOT, "the bound lies inside (40 % to 60 %)")


def test_rules_and_numbers_as_they_are_read() -> None:
    assert str(Rule("below", 0.5, "ratio")) == "holds if the whole interval lies below 0.50, differs if it lies above"
    assert str(Rule("above", 1, "heads")).startswith("holds if the interval's lower end is 1 head or more")
    assert str(Rule("below", 1, "layers")).startswith("holds if the interval's upper end is fewer than 1 layer")
    assert [said(-0.0004, "share"), said(-0.0006, "share"), said(-0.004, "nats"), said(-0.006, "ratio")] == [
        "0.0 %",
        "-0.1 %",
        "0.00 nats",
        "-0.01",
    ]
    assert [said(0.0413, "share"), said(0.413, "share"), said(3.888, "nats"), said(2, "heads")] == [
        "4.1 %",
        "41 %",
        "3.89 nats",
        "2 heads",
    ]
    assert said(math.nan, "share") == said(None, "share") == "–" and said(1234.5, "ratio") == "1,234"
