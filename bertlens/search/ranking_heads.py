"""Which heads a ranking needs, and which stand in its way: estimated for all, run for some, on other questions."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.progress import bar, is_watched, say
from ..errors import InputError, check_batch, check_lens, check_number, check_seed
from ..lens import Lens
from ..survey.findings import holm_intervals
from ..survey.intervals import NONE, difference_interval, mean_interval
from . import metrics
from .collection import Collection
from .head_runs import HeadRuns, HeadSite, Input, head_runs
from .ranked_lists import RankedLists

if TYPE_CHECKING:
    import pandas as pd

MEASURE = "nDCG@10"
FEWEST = 20  # questions with a right passage in their list
FEWEST_FAILURES = 8  # of the second half, for an interval of the gap
AHEAD = 8  # questions whose passages are run together: what an interrupt may lose
BACKWARD = 3  # forward passes that an estimate takes, about
HEAD, MIDDLE = "head", 64  # texts that one pass is timed on


class Case(NamedTuple):
    """A judged question by place, and passages of its list: the first wrong one, the best right one, and its neighbour,
    a wrong one that stands next to that, above or below."""

    query: int
    wrong: int
    right: int
    neighbour: int
    fails: bool  # whether the wrong one stands above the right one


@dataclass(frozen=True, eq=False, repr=False)
class RankingHeads:
    """What `Retrieval.heads` gives.

    table: DataFrame(head, layer, number, estimate, gap_estimate, gap, beside, gap_low, gap_high, gap_p, ndcg, ndcg_low,
    ndcg_high, ndcg_p, finding), a row a head, those first without which the ranking loses most. estimate: what the lead
    of right passages over their neighbours in the list would gain without the head, to first order, mean of the first
    half of the questions: by its size heads are chosen. gap_estimate: the same of the gap of its failures, the score of
    the first passage less that of the best right one. On the second half, NaN of a head that was not run: gap, what the
    gap of failures gains without the head, a mean; beside: the same with the right passage's neighbour in place of it,
    which is what standing first comes from by chance; gap_low, gap_high, gap_p: of gap − beside, Student's t. ndcg,
    ndcg_low, ndcg_high, ndcg_p: what nDCG@10 gains, the first passages of each question ranked anew. Intervals and p
    are Holm's over all tests that were made (`survey.findings.holm_intervals`); finding: either p ≤ .05.
    """

    table: pd.DataFrame
    questions: int  # of the second half, whose passages were ranked anew
    failures: int  # of them, whose gap was measured
    tests: int
    depth: int
    is_whole: bool  # False where it was stopped: then of the questions that were done

    @property
    def findings(self) -> pd.DataFrame:
        """The rows of heads that can be told from chance."""
        return self.table[self.table["finding"]]

    @property
    def said(self) -> str:
        """What was measured and found, in a few sentences."""
        sentences = []
        for row in self.findings.itertuples():
            if row.ndcg_low > 0 or row.ndcg_high < 0:
                verb, low, high = (
                    ("falls", -row.ndcg_high, -row.ndcg_low) if row.ndcg < 0 else ("rises", row.ndcg_low, row.ndcg_high)
                )
                sentences.append(
                    f"Without {row.head} {MEASURE} {verb} by {abs(row.ndcg):.3f} ({low:.3f} to {high:.3f})."
                )
            if row.gap_low > 0 or row.gap_high < 0:
                verb = "grows" if row.gap_low > 0 else "shrinks"
                sentences.append(f"Without {row.head} the gap of failures {verb} more than chance has it.")
        run = int(self.table["ndcg"].notna().sum())
        stop = "" if self.is_whole else " It was stopped: numbers are of the questions that were done."
        return (
            f"{' '.join(sentences) or 'No head can be told from chance.'} {run} of {len(self.table)} heads, each switched "
            f"off, on {self.questions:,} questions that had no part in the choice, the first {self.depth} passages of each "
            f"ranked anew; {self.failures:,} of them fail (Holm, 5 %, over {self.tests} tests).{stop}"
        )

    def __repr__(self) -> str:
        return f"RankingHeads({self.said})"


def heads(
    lens: Lens,
    collection: Collection,
    lists: RankedLists,
    *,
    n: int = 10,
    depth: int = 50,
    seed: int = 0,
    batch_size: int = 32,
    progress: bool = True,
) -> RankingHeads:
    """See `Retrieval.heads`."""
    check_lens(lens)
    n, seed = check_number(n, "n is how many heads to run,", 1), check_seed(seed)
    depth, batch_size = check_number(depth, "depth is how many passages to rank anew,", 10), check_batch(batch_size)
    generator = np.random.default_rng(seed)
    judged = [query for query in collection.judged if len(lists.passages(query))]
    cases = {case.query: case for case in _cases(collection, lists, judged, generator)}
    if len(cases) < FEWEST:
        raise InputError(
            f"{len(cases)} questions with a right and a wrong passage in their lists are too few to tell which heads "
            f"matter: at least {FEWEST}"
        )
    order = generator.permutation(judged).tolist()
    first, second = ([cases.get(query) for query in half] for half in (order[::2], order[1::2]))
    first = [case for case in first if case is not None]
    failures = [case for case in second if case is not None and case.fails]
    anew = {query: lists.passages(query)[:depth].tolist() for query in order[1::2]}
    sample = cases[min(cases)]
    runs = head_runs(lens, collection.queries[sample.query], collection.passages[sample.right], batch_size)
    study = _Study(runs, collection, progress)
    if progress or is_watched():
        say(study.cost(first, failures, anew, min(n, len(runs.sites))), progress)
    estimate, gap_estimate = study.estimates(first)
    chosen = np.argsort(-np.abs(estimate), kind="stable")[:n]
    sites = [runs.sites[at] for at in sorted(chosen.tolist())]
    gaps = {case.query: [case.wrong, case.right, case.neighbour] for case in failures}
    of_gaps, of_lists, is_whole = study.scored(gaps, anew, sites)
    return _told(
        runs, sites, estimate, gap_estimate, of_gaps, _ndcg(collection, lists, of_lists, anew), depth, is_whole
    )
