"""Sentences at odd values: 0, 1, 2, all, none, ties, NaN, negative, one word. What a reader would hold of each.

The page's own are in js/tests/oddcases.test.ts.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bertlens.base.amounts import amount, shortage
from bertlens.base.ranking import ranked
from bertlens.reports.rules import Measured, Rule, verdict
from bertlens.search import edit_probe, failures, hubs, long_passages, metrics, paired, ranking_heads, slices, word_runs
from bertlens.search.score_difference import Contrast
from bertlens.search.text_words import TextWords, signed
from bertlens.search.view.all_failures import sentence as turned_said
from bertlens.search.view.search_engine import Digits
from bertlens.tasks.importance import Heads
from bertlens.tasks.mistakes import Errors, _named
from bertlens.tasks.model_comparison import Against
from bertlens.tasks.subgroups import slices_said

COUNTS = (0, 1, 2, 16)
NUMBER = r"([−+]?\d[\d,]*(?:\.\d+)?)"


def value(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def faults(text: str) -> list[str]:
    """What is wrong with a sentence as it is read."""
    found = []
    if re.search(r"\b(?:nan|NaN|None(?! of)|inf)\b", text):
        found.append("no number")
    if re.search(r"[−+-]0\.0+(?!\d)", text) or "+less" in text:
        found.append("a sign that says nothing")
    if re.search(r"(?<![\d.,·])1 (?!is\b|has\b|does\b|fails\b|was\b|as\b|begins\b|loses\b)[a-z]+s\b", text):
        found.append("1 of several")
    if re.search(r"(?<![\d.,])1 of (?:the )?\d[\d,]* (?:(?!that)[a-z-]+ )*(?:have|are|do|fail)\b", text):
        found.append("one and many")
    for n, m in re.findall(rf"(?<![\d.,]){NUMBER} of (?=(?:the )?(?:first )?{NUMBER}(?![\d.]*\d))", text):
        if value(n) > value(m):
            found.append("n of m")
    for verb, before, after in re.findall(rf"(falls?|rises?|fell|rose) from {NUMBER} to {NUMBER}", text):
        if (value(after) >= value(before)) if verb[0] == "f" else (value(after) <= value(before)):
            found.append("no such move")
    if match := re.search(rf"the order (turns|stays) \({NUMBER} → {NUMBER}\)", text):
        product = value(match[2]) * value(match[3])
        if product >= 0 if match[1] == "turns" else product <= 0:
            found.append("no such order")
    if re.search(r"(?:^|, )[^\w“#]+ \(", text):
        found.append("no word")
    return found


WRONG = [
    ("without a random word in nan of them", "no number"),
    ("turns in 3 of 3 of 2 failures", "n of m"),
    ("12 of the first 10 are not among them", "n of m"),
    ("1 questions", "1 of several"),
    ("cat (+less than 0.01)", "a sign that says nothing"),
    ("(−0.000 to +0.100)", "a sign that says nothing"),
    ("falls from 0.01 to 0.01", "no such move"),
    ("the order stays (+0.100 → 0.000)", "no such order"),
    ("the order turns (+0.100 → +0.050)", "no such order"),
    ("1 of 5 judged questions have a wrong one", "one and many"),
    ("cat (+0.50), , (+0.20)", "no word"),
]


@pytest.mark.parametrize(("text", "fault"), WRONG)
def test_what_is_looked_for_is_seen(text: str, fault: str) -> None:
    assert faults(text) == [fault]


def held(texts: Iterator[str], fewest: int) -> None:
    """Each of the sentences is without a fault, and made without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = [*texts]
    assert len(made) >= fewest
    assert {text: faults(text) for text in made if faults(text)} == {}


# --- search ---


def of_failures() -> Iterator[str]:
    for n, judged, hub, p in itertools.product(COUNTS, COUNTS, (False, True), (math.nan, 0.001, 0.9)):
        if not 0 < judged >= n:
            continue
        table = pd.DataFrame({"kind": ["hub" if hub else "none"] * n, "hub": [hub] * n})
        share = {"share": 0.5, "low": 0.1, "high": 0.9, "answered": math.nan}
        kinds = [{"kind": "hub", "n": n * hub, "chance": math.nan if n == judged else 0.1,
                  "p": math.nan if n == judged else p} | share,
                 {"kind": "length", "n": n, "chance": 0.0, "p": p} | share]  # fmt: skip
        table.attrs = {"judged": judged, "kinds": kinds}
        said = failures.failures_said(table)
        if n == judged and hub and not math.isnan(p):
            assert "of hubs it cannot be told" in said
        yield said


def of_hubs() -> Iterator[str]:
    for rows, hits, questions, times, judged in itertools.product(COUNTS, COUNTS, (1, 200), COUNTS, (False, True)):
        if hits > rows:
            continue
        columns = {
            "passage": [f"p{k}" for k in range(rows)],
            "times": times,
            "chance": 0.04,
            "hub": np.arange(rows) < hits,
        }
        table = pd.DataFrame(columns)
        table.attrs = {"questions": questions, "judged": judged}
        yield hubs.hubs_said(table)


def of_orders() -> Iterator[str]:
    pairs = [(0.0, 0.0), (0.4, 0.3), (0.3, 0.4), (0.4, 0.4), (0.4, 0.4 + 1e-9), (-0.2, 0.5), (12.0, -3.0)]
    for (before, after), draws in itertools.product(itertools.product(pairs, pairs), (0, 1, 8)):
        words = [("none", "", *before), ("named", "cat", *after), *[("random", "mat", *after)] * draws]
        table = pd.DataFrame(words, columns=["draw", "word", "wrong", "right"])
        table["difference"] = table["wrong"] - table["right"]
        table["turned"] = False
        yield word_runs.sentence(table, "wrong", "hidden")


def of_turns() -> Iterator[str]:
    for n, missing, turned, random in itertools.product((1, 2, 5), (0, 2), (False, True), (math.nan, 0.0, 1.0)):
        rows = [{"turned": turned, "random": random, "frequent": math.nan}] * n
        yield turned_said(rows, n + missing)


def of_metrics() -> Iterator[str]:
    for n, share in itertools.product((1, 2, 20), (0.0, 0.05, 0.431, 1.0)):
        table = pd.DataFrame({"nDCG@10": [share] * n, f"MRR@{metrics.DEPTH}": [share] * n})
        for other in (None, table, table * 0.5, 1 - table):
            yield metrics.sentence(metrics.table(table, other))
    for n, measures in itertools.product((2, 30), (1, 2)):
        before = pd.DataFrame(
            np.linspace(0, 1, n * measures).reshape(n, measures), columns=["nDCG@10", "recall@10"][:measures]
        )
        for now in (before, before * 0.2, before * 0):
            yield paired.sentence(paired.against(before, now))
    for n, hits in itertools.product((0, 1, 2), (0, 1)):
        table = pd.DataFrame(
            {"kind": "question", "slice": "1 word", "mean": 0.5, "outside": 0.5, "finding": np.arange(n) < hits},
            index=range(n),
        )
        table.attrs["measure"] = "nDCG@10"
        yield slices.sentence(table)


def of_passages() -> Iterator[str]:
    for rows, cut, total in itertools.product(COUNTS, COUNTS, (1, 2, 16)):
        if cut <= rows <= total:
            table = pd.DataFrame({"cut": (np.arange(rows) < cut).astype(float)})
            table.attrs["passages"] = total
            yield long_passages.sentence(table)
    for questions, missing, passages, largest in itertools.product(
        (1, 2, 16), (0, 1, 10), (10, 1000), (0.0, 1e-7, 0.2)
    ):
        yield Digits(questions, passages, largest, missing).said


def of_edits() -> Iterator[str]:
    for kind, n, finding in itertools.product(("not", "number", "name", "roles", "paraphrase"), COUNTS, (False, True)):
        share = math.nan if n < edit_probe.FEWEST else 0.5
        row = {"kind": kind, "n": n, "less": n // 2, "share": share, "low": 0.1, "high": 0.9, "finding": finding}
        pairs = pd.DataFrame({"kind": kind, "text": ["We met Kutta."] * n, "edit": ["We met Prandtl."] * n})
        for table in (row, row | {"n": 30, "less": 1, "share": 1 / 30}):
            yield edit_probe.EditProbe(pd.DataFrame([table]), pairs).said


def of_ranking_heads() -> Iterator[str]:
    for n, failing, tests, ndcg, is_whole in itertools.product(
        (1, 2), COUNTS, (1, 20), (math.nan, 0.0, -0.02), (True, False)
    ):
        p = 0.01 if ndcg < 0 else 1.0
        row = {"head": "L1·H2", "ndcg": ndcg, "ndcg_low": -0.03, "ndcg_high": -0.01, "ndcg_p": p, "finding": p < 1}
        row |= {"gap": 0.0, "beside": 0.0, "gap_low": 0.0, "gap_high": 0.0, "gap_p": p}
        yield ranking_heads.RankingHeads(pd.DataFrame([row] * n), n, failing, tests, 50, is_whole).said


class Split(Contrast):
    """A contrast of which only the parts are known."""

    why_not = ""  # type: ignore[assignment]
    gap = norms = _question_parts = _passage_parts = None  # type: ignore[assignment]
    by = scores_without = scores_of = scores_changed = rewritten = None  # type: ignore[assignment]

    def __init__(self, question: Any, answers: Any, scores: tuple[float, float], pairs: bool):
        parts = {"scores": scores, "texts": ("q", "w", "r"), "lens": SimpleNamespace(), "_answer_parts": answers}
        for name, part in (parts | {"_parts": question, "_pairs": pairs}).items():
            object.__setattr__(self, name, part)

    def words(self, text: str) -> TextWords:
        names = {"query": "what where", "wrong": "and cat mat", "right": "cat mat dog"}[text].split()
        return TextWords.of(names, [(k,) for k in range(len(names))], [True] * len(names), False)

    @property
    def _question(self) -> Any:
        return self.words("query"), *self._parts  # type: ignore[attr-defined]

    @property
    def _passages(self) -> Any:
        return self._answer_parts  # type: ignore[attr-defined]

    def _answers(self, keys: Any) -> Any:
        return self._answer_parts if self._pairs else None  # type: ignore[attr-defined]


def of_contrasts() -> Iterator[str]:
    random = np.random.default_rng(0)
    for scale, pairs in itertools.product((1.0, 1e-3, 0.0, -1.0), (False, True)):
        for _ in range(12):
            question = random.normal(0, abs(scale), (2, 2))
            wrong, right = random.normal(scale, 0.5, (2, 3)).round(3)
            said = Split(question, (wrong, right), (float(wrong.sum()), float(right.sum())), pairs).said
            if match := re.search("“(\\w+)” (?:answers (?:it|them)|puts in) most", said):
                best = max(wrong)
                assert best > 0 and wrong[["and", "cat", "mat"].index(match[1])] == best, said
            yield said


OF_SEARCH = [
    of_failures,
    of_hubs,
    of_orders,
    of_turns,
    of_metrics,
    of_passages,
    of_edits,
    of_ranking_heads,
    of_contrasts,
]


@pytest.mark.parametrize("sentences", OF_SEARCH, ids=lambda of: of.__name__)
def test_sentences_of_a_search_hold_at_odd_values(sentences: Any) -> None:
    held(sentences(), 12)


# --- examples, cards, numbers ---


def of_examples() -> Iterator[str]:
    for n, wrong, hits, twins in itertools.product((1, 2, 200), COUNTS, (0, 1, 2), (0, 1, 2)):
        if wrong > n:
            continue
        table = pd.DataFrame({"kind": "length", "slice": "short", "finding": np.arange(2) < hits})
        table.attrs["wrong_is"] = "far off"
        yield Errors(pd.DataFrame(), pd.DataFrame(index=range(twins)), table, wrong, n).said
        yield slices_said(table.iloc[:hits], 5)
    values = [0.5, 0.2, 0.004, 1e-9, 0.0, -0.3, math.nan]
    for size in range(1, 4):
        for row in itertools.product(values, repeat=size):
            yield _named(pd.DataFrame({"word": [",", "cat", "##s"][:size], "value": row}))


def of_heads() -> Iterator[str]:
    for n, halves in itertools.product((1, 2, 50), (math.nan, 0.0, -0.5)):
        table = pd.DataFrame({"part": ["L0·H1"], "effect": [math.nan], "finding": [False]})
        facts = {"measure": "loss", "family": 12, "second": range(n), "ablation": "zero"}
        made = SimpleNamespace(table=table, findings=table[:0], agreement={"halves": halves}, **facts)
        yield Heads.said.fget(made)  # type: ignore[attr-defined]
        accuracy = (0.0, -0.0004, 0.0, 1.0)
        heads = pd.DataFrame({"part": ["L0·H1"] * n, "distance": [0.0 if halves else 1.0] * n})
        changes = SimpleNamespace(accuracy=accuracy, counts={"the same": n}, heads=heads, texts=n, table=range(n))
        yield Against.said.fget(changes)  # type: ignore[attr-defined]


def of_numbers() -> Iterator[str]:
    for n, noun in itertools.product((0, 1, 2, 1398), ("text", "patch", "judged question")):
        yield amount(n, noun)
        yield shortage(n, noun)
    numbers = [0.0, 1e-9, -1e-9, 4e-7, 0.0004, -0.0004, 0.5, -0.5, 12.0]
    for number in numbers:
        yield from signed([number])
        yield from ranked([0.4, number])
    for n in (0, 1, 7):
        rule = Rule(bound=0.5, side="above", unit="share")
        yield verdict(rule, Measured(value=0.5, low=0.2, high=0.8, n=n))[1]


@pytest.mark.parametrize("sentences", [of_examples, of_heads, of_numbers], ids=lambda of: of.__name__)
def test_other_sentences_hold_at_odd_values(sentences: Any) -> None:
    held(sentences(), 12)
