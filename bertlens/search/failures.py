"""Failures: the questions for which a wrong document is first, and what may stand behind each, beside chance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.amounts import amount, verb
from ..base.dataframes import pd
from ..base.ranking import ranked
from ..errors import InputError
from ..measures.significance import count_interval, with_findings
from .collection import Collection
from .failure_rules import (
    OTHERS,
    RULES,
    Cases,
    Judgements,
    RarerWords,
    ReadingLimit,
    length,
    near_duplicate,
    second_stage,
)
from .hubs import at_least, hubs
from .ranked_lists import LongerLists, RankedLists

NONE = "none"  # the kind of a failure for which no rule holds


def failure_table(
    collection: Collection, lists: RankedLists, first_lists: RankedLists | None, limit: ReadingLimit | None
) -> pd.DataFrame:
    """DataFrame(query, wrong, right, …), a row for each judged question whose first document is not relevant, in order.

    query, wrong, right: ids of the question, of the first passage, and of the best passage of a right document; where
    the list has none, of the right ones with the largest grade the first by id. rank_right: the rank of its document;
    score_wrong, score_right and gap, the first less the second; NaN where the list has no right one. kind: the first
    of RULES that holds, "none" where none does; and a bool column for each rule. `failure_kinds` counts them beside
    chance. first_lists: those of the first stage, without which no second stage has lost anything. limit: without it no
    passage is cut. Raises InputError where no question has a relevant passage.
    """
    judgements = Judgements.of(collection)
    if not (n := len(judgements.queries)):
        raise InputError("no question has a relevant passage, so none fails: give relevance")
    cases = Cases.of(collection, judgements, lists, first_lists, np.arange(0, n, -(-n // OTHERS)))
    fails = cases.fails[:, 0]
    failed = cases.only(fails)
    words = RarerWords(collection, cases.queries, limit)
    holds = {
        "near_duplicate": near_duplicate(collection, judgements, failed),
        **words.rules(np.flatnonzero(fails), failed.right),
        "length": length(collection, failed),
    }
    if first_lists is not None:
        holds["second_stage"] = second_stage(failed)
    answered = words.rules(np.flatnonzero(~fails), cases.right[~fails, :1])
    kinds = {name: _beside_chance(holds[name], failed) for name in RULES if name in holds}
    kinds |= {name: kinds[name] | {"answered": _share(rule)} for name, rule in answered.items()}
    table = hubs(collection, lists, draws=0)
    is_hub = np.isin([collection.passage_ids[row] for row in cases.wrong], table["passage"][table["hub"]])
    kinds["hub"] = _among_all(is_hub, fails)
    columns = {name: grid[:, 0] for name, grid in holds.items()} | {"hub": is_hub[fails]}
    failure = _rows(collection, lists, failed, columns)
    failure.attrs |= {
        "judged": len(cases.queries),
        "kinds": [{"kind": name} | kinds[name] for name in RULES if name in kinds],
    }
    return failure


def failure_kinds(table: pd.DataFrame) -> pd.DataFrame:
    """DataFrame(kind, n, share, low, high, chance, p, p_holm, finding, answered, rule) of a table of `failure_table`.

    n: failures for which the rule holds, of which more than one may; share: of all failures, low, high: its 95 %
    interval (Clopper and Pearson). chance: the share were the right passages those of another judged question, for
    which what stands first is wrong too: its mean over those, up to OTHERS. p: that n or more come so were each
    failure's right passages drawn of these and its own together (exact Poisson binomial). Of "hub", which asks nothing
    of the right passage, chance is the share of all judged questions that have a hub first, and p Fisher's exact test,
    one-sided; NaN where all of them fail. p_holm: adjusted for all rules; finding: p_holm ≤ .05. answered: of "cut" and
    "no_word", in which share of the questions with a right document first the rule holds for its passage, NaN without
    such: a right passage shares words with its question that one drawn at random does not, so what cutting costs is
    told by this one.
    Raises InputError for a table that `failures` did not give.
    """
    if "kinds" not in table.attrs:
        raise InputError("kinds are counted of the table that failures() gave, as it is")
    columns = ["kind", "n", "share", "low", "high", "chance", "p", "p_holm", "finding", "answered", "rule"]
    kinds = pd.DataFrame(table.attrs["kinds"], columns=["kind", "n", "share", "low", "high", "chance", "p", "answered"])
    with_findings(kinds, int(kinds["p"].notna().sum()))
    kinds["rule"] = kinds["kind"].map(RULES)
    return kinds[columns]


def failures_said(table: pd.DataFrame) -> str:
    """How many questions fail, and which kinds are more frequent than chance has them, in a few sentences."""
    kinds, n = failure_kinds(table), len(table)
    have = verb(n, "has", "have")
    total = f"{n:,} of {amount(table.attrs['judged'], 'judged question')} {have} a wrong document first."
    if not n:
        return total
    hits = kinds[kinds["finding"]]
    named = "; ".join(
        f"{row.kind.replace('_', ' ')} {row.n:,}, {ranked([row.chance * n], 1)[0]} by chance"
        for row in hits.itertuples()
    )
    second = f"More often than by chance: {named}" if named else "No kind is more frequent than chance has it"
    second += " (exact tests, Holm, 5 %)"
    if kinds.loc[kinds["kind"] != "hub", "p"].isna().all():
        second = "What chance brings is not known: it takes right passages of other questions"
    elif n == table.attrs["judged"] and table["hub"].any():
        second += "; of hubs it cannot be told where every question fails"
    without = int((table["kind"] == NONE).sum())
    return f"{total} {second}. For {without:,} no rule holds."


def _beside_chance(holds: np.ndarray, failed: Cases) -> dict[str, Any]:
    """The numbers of a rule, (F, 1 + C) bool, with the failures' own right passages and with those of others."""
    eligible = failed.fails[:, 1:] & (failed.groups[:, 1:] != failed.groups[:, :1])
    counts = eligible.sum(1)
    asked = counts > 0
    hits, own = (holds[:, 1:] & eligible).sum(1)[asked], holds[asked, 0]
    chances = hits / counts[asked]
    p = at_least(int(own.sum()), (hits + own) / (counts[asked] + 1)) if len(chances) else math.nan
    return _counts(holds[:, 0]) | {"chance": _share(chances), "p": p}


def _among_all(is_hub: np.ndarray, fails: np.ndarray) -> dict[str, Any]:
    """The numbers of hubs: how many of the failures among all judged questions with one first, (Q,) bool each."""
    n, total, count, size = (int(x) for x in (is_hub[fails].sum(), len(fails), is_hub.sum(), fails.sum()))
    if size == total:  # all fail: their own share is no chance
        return _counts(is_hub[fails]) | {"chance": math.nan, "p": math.nan}
    return _counts(is_hub[fails]) | {"chance": _share(is_hub), "p": _drawn_together(n, count, size, total)}


def _drawn_together(n: int, count: int, size: int, total: int) -> float:
    """P(X ≥ n), X how many of `count` are among `size` that are drawn of `total`: Fisher's exact test, one-sided."""
    from scipy.special import gammaln

    def ways(of: int, k: np.ndarray | int) -> np.ndarray:
        return gammaln(of + 1) - gammaln(np.add(k, 1)) - gammaln(np.subtract(of + 1, k))

    k = np.arange(max(n, size - (total - count)), min(count, size) + 1)
    return min(1.0, float(np.exp(ways(count, k) + ways(total - count, size - k) - ways(total, size)).sum()))


def _counts(holds: np.ndarray) -> dict[str, Any]:
    n = int(holds.sum())
    low, high = count_interval(n, len(holds)) if len(holds) else (math.nan, math.nan)
    return {"n": n, "share": _share(holds), "low": low, "high": high}


def _share(holds: np.ndarray) -> float:
    return float(holds.mean()) if holds.size else math.nan


def _rows(collection: Collection, lists: RankedLists, failed: Cases, columns: dict[str, np.ndarray]) -> pd.DataFrame:
    """A row a failure; columns: of each rule that could be asked, (F,) bool."""
    right, lines = failed.right[:, 0], failed.queries
    score_wrong = lists.scores[lines, 0]
    score_right = np.array([_score(lists, *pair) for pair in zip(lines.tolist(), right.tolist(), strict=True)])
    rules = {name: columns.get(name, np.zeros(len(lines), dtype=bool)) for name in RULES}
    holds = np.column_stack([*rules.values(), np.ones(len(lines), dtype=bool)])
    kinds = np.array([*RULES, NONE], dtype=object)
    return pd.DataFrame(
        {
            "query": [collection.query_ids[query] for query in lines],
            "wrong": [collection.passage_ids[row] for row in failed.wrong],
            "right": [collection.passage_ids[row] for row in right],
            "rank_right": np.where(np.isnan(score_right), math.nan, failed.ranks[:, 0]),
            "score_wrong": score_wrong,
            "score_right": score_right,
            "gap": score_wrong - score_right,
            "kind": kinds[holds.argmax(1)],
            **rules,
        }
    )


def _score(lists: RankedLists, query: int, passage: int) -> float:
    """NaN where the list has it not."""
    longer = lists.searches.get(query) if isinstance(lists, LongerLists) else None
    scores = lists.scores[query] if longer is None else longer[1]
    hits = np.flatnonzero(lists.passages(query) == passage)
    return float(scores[hits[0]]) if len(hits) else math.nan
