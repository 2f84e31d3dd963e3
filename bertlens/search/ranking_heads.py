"""Which heads a ranking needs, and which stand in its way: estimated for all, run for some, on other questions."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..base.amounts import amount, verb
from ..base.batch_work import partial_work
from ..base.dataframes import pd
from ..base.progress import bar, is_watched, say
from ..base.ranking import signed
from ..errors import InputError, check_batch, check_lens, check_number, check_seed
from ..lens import Lens
from ..measures.significance import FOUND, NONE, difference_interval, holm_intervals, mean_interval
from ..whatif.head_study import HeadSite, by_estimate, cost_said, passes_of_some, run_said
from . import metrics
from .collection import Collection
from .head_runs import HeadRuns, Input, head_runs
from .ranked_lists import RankedLists

MEASURE = "nDCG@10"
FEWEST = 20  # questions with a right passage in their list
FEWEST_TESTED = 8  # questions, for an interval
AHEAD = 8  # questions whose passages are run together: what an interrupt may lose
BACKWARD = 3  # forward passes that an estimate takes, about
TIMED = 16  # texts that a pass is timed on


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
    are Holm's over all tests that were made (`significance.holm_intervals`); finding: either p ≤ .05.
    """

    table: pd.DataFrame
    questions: int  # of the second half, whose passages were ranked anew
    failures: int  # of them, whose gap was measured
    tests: int
    depth: int  # passages of each question that were ranked anew
    is_whole: bool  # False where it was stopped: then of the questions that were done, perhaps estimates alone

    @property
    def findings(self) -> pd.DataFrame:
        """The rows of heads that can be told from chance."""
        return self.table[self.table["finding"]]

    @property
    def said(self) -> str:
        """What was measured and found, in a few sentences."""
        if not self.tests and not self.is_whole:
            return "It was stopped before a head could be tested: estimates are of the questions that were done."
        sentences = [
            *(f"Without {row.head} {clause}." for row in self.findings.itertuples() for clause in _clauses(row))
        ]
        texts = amount(self.questions, "question")
        parts = f"{int(self.table['ndcg'].notna().sum())} of {amount(len(self.table), 'head')}"
        return " ".join(
            [
                *(sentences or ["No head can be told from chance."]),
                f"{run_said(parts, 'switched off', texts)}, the first {self.depth} passages "
                f"of each ranked anew; {self.failures:,} of them {verb(self.failures, 'fails', 'fail')} (Holm, 5 %, "
                f"over {amount(self.tests, 'test')}).",
                *([] if self.is_whole else ["It was stopped: numbers are of the questions that were done."]),
            ]
        )

    def __repr__(self) -> str:
        return f"RankingHeads({self.said})"


def _clauses(row: Any) -> Iterator[str]:
    """What a finding is."""
    if row.ndcg_p <= FOUND:
        verb, low, high = ("rises", row.ndcg_low, row.ndcg_high)
        if row.ndcg < 0:
            verb, low, high = "falls", -high, -low
        yield f"{MEASURE} {verb} by {abs(row.ndcg):.3f} ({low:.3f} to {high:.3f})"
    if row.gap_p <= FOUND:
        gain, low, high = (signed(x, "+.3f") for x in (row.gap - row.beside, row.gap_low, row.gap_high))
        yield f"the gap of failures gains {gain} ({low} to {high}) over that to the right passage’s neighbour"


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
    if lens.sentences.crosses:  # an empty passage makes no pair
        is_empty = np.array([not text for text in collection.passages])
        lists = RankedLists(np.where(is_empty[lists.rows], -1, lists.rows), lists.scores)
    generator = np.random.default_rng(seed)
    judged = [query for query in collection.judged if len(lists.passages(query))]
    cases = {case.query: case for case in cases_of(collection, lists, judged, generator)}
    if len(cases) < FEWEST:
        are = verb(len(cases), "is", "are")
        raise InputError(
            f"{amount(len(cases), 'question')} with a right and a wrong passage in their lists {are} too few to tell "
            f"which heads matter: at least {FEWEST}"
        )
    order = generator.permutation(judged).tolist()
    choice = [cases[query] for query in order[::2] if query in cases]
    failures = [cases[query] for query in order[1::2] if query in cases and cases[query].fails]
    plan = Trials(
        {case.query: [case.wrong, case.right, case.neighbour] for case in failures},
        {query: lists.passages(query)[:depth].tolist() for query in order[1::2]},
    )
    query, passage = collection.queries[choice[0].query], collection.passages[choice[0].right]
    study = Study(collection, head_runs(lens, query, passage, batch_size), progress)
    if progress or is_watched():
        say(study.cost(choice, plan, n), progress)
    *estimates, is_whole = study.estimates(choice)
    sites = sorted(study.runs.sites[at] for at in by_estimate(estimates[0])[:n])
    is_whole = is_whole and study.run(plan, sites)
    ndcg = _ndcg(collection, plan.lists, study.of_lists)
    return _told(study.runs.sites, sites, estimates, study.of_gaps, ndcg, depth, is_whole)


class Trials(NamedTuple):
    """Question -> the places of passages that it is scored with: of failures (wrong, right, neighbour); of all, those
    that are ranked anew."""

    gaps: dict[int, list[int]]
    lists: dict[int, list[int]]

    def steps(self) -> Iterator[tuple[bool, int, list[int]]]:
        """(whether it is a gap, question, passages), in the order in which they are run."""
        for is_gap, rows in ((True, self.gaps), (False, self.lists)):
            yield from ((is_gap, query, passages) for query, passages in rows.items())


class Study:
    """Estimates, and scores of a plan, of one model."""

    def __init__(self, collection: Collection, runs: HeadRuns, progress: bool):
        self.runs, self._collection, self._progress = runs, collection, progress
        self.of_gaps: dict[int, np.ndarray] = {}  # question -> (1 + n, 3) scores of the gap's passages
        self.of_lists: dict[int, np.ndarray] = {}  # question -> (1 + n, K) scores of those that are ranked anew

    def _texts(self, query: int, passages: Sequence[int]) -> tuple[str, list[str]]:
        return self._collection.queries[query], [self._collection.passages[row] for row in passages]

    def _inputs(self, query: int, passages: Sequence[int]) -> list[Input]:
        return self.runs.inputs(*self._texts(query, passages))

    def cost(self, choice: Sequence[Case], plan: Trials, n: int) -> str:
        """What the study will take, in one line, from a pass over some of its inputs."""
        estimated = sum(len(self._inputs_of(choice[start : start + AHEAD])) for start in range(0, len(choice), AHEAD))
        run = [*dict.fromkeys(x for _, query, passages in plan.steps() for x in self._inputs(query, passages))]
        sample = run[:: -(-len(run) // TIMED)]
        began = time.perf_counter()
        self.runs.outputs(sample)
        seconds = (time.perf_counter() - began) / len(sample)
        sites = self.runs.sites
        n = min(n, len(sites))
        passes = passes_of_some(sites, self.runs.n_layers, n)
        took = seconds * ((1 + 2 * BACKWARD) * estimated + passes * len(run))
        runs = f"{n} of {len(sites)} heads, {len(plan.lists):,} questions, {len(run):,} texts: about "
        return cost_said(runs, took)

    def _inputs_of(self, cases: Sequence[Case]) -> list[Input]:
        """What is read for the passages of cases, each once."""
        return [*dict.fromkeys(x for case in cases for x in self._inputs(case.query, case[1:4]))]

    def estimates(self, choice: Sequence[Case]) -> tuple[np.ndarray, np.ndarray, bool]:
        """(L · H,) each, what a mean gains to first order by each head off: of the leads of right passages over their
        neighbours, and of the gaps of failures; NaN where there is none. False where an interrupt ended it: then of
        the cases that were done. It raises where too little was."""
        sums, counts = np.zeros((2, len(self.runs.sites))), np.zeros(2)
        is_whole = False

        def told() -> str:
            return f"estimates over {counts[0]:.0f} of {len(choice)} questions" if counts[0] >= FEWEST_TESTED else ""

        with bar(len(choice), "question", "all heads, estimated", self._progress) as progress_bar, partial_work(told):
            for start in range(0, len(choice), AHEAD):
                cases = choice[start : start + AHEAD]
                gains, sizes = self._slopes(cases)
                sums, counts = sums + gains, counts + sizes  # a window counts whole or not at all
                progress_bar.update(len(cases))
            is_whole = True
        leads, gaps = (total / n if n else np.full(len(total), math.nan) for total, n in zip(sums, counts, strict=True))
        return leads, gaps, is_whole

    def _slopes(self, cases: Sequence[Case]) -> tuple[np.ndarray, list[int]]:
        """(2, L · H) the sums over cases of what `estimates` means, and of how many leads and gaps."""
        inputs = self._inputs_of(cases)
        outputs = dict(zip(inputs, self.runs.outputs(inputs).swapaxes(0, 1), strict=True))
        leads = [(case.query, [case.right, case.neighbour]) for case in cases]
        gaps = [(case.query, [case.wrong, case.right]) for case in cases if case.fails]
        gains = np.zeros((2, len(self.runs.sites)))
        for row, pairs in enumerate((leads, gaps)):
            weights: dict[Input, np.ndarray] = {}
            for query, passages in pairs:
                slopes = self.runs.slopes_of(*self._texts(query, passages), (1.0, -1.0), outputs)
                for source, slope in slopes.items():
                    weights[source] = weights.get(source, 0) + slope
            gains[row] = self.runs.slopes(weights).ravel()
        return gains, [len(leads), len(gaps)]

    def run(self, plan: Trials, sites: Sequence[HeadSite]) -> bool:
        """Fill `of_gaps` and `of_lists`; False where an interrupt ended it."""
        steps = [*plan.steps()]
        uses = Counter(x for _, query, passages in steps for x in self._inputs(query, passages))
        outputs: dict[Input, np.ndarray] = {}
        interrupt = partial_work(lambda: f"heads over {len(self.of_lists)} of {len(plan.lists)} questions")
        with bar(len(steps), "question", "heads", self._progress) as progress_bar, interrupt:
            for start in range(0, len(steps), AHEAD):
                window = steps[start : start + AHEAD]
                needed = dict.fromkeys(x for _, query, passages in window for x in self._inputs(query, passages))
                missing = [x for x in needed if x not in outputs]
                if missing:
                    outputs |= zip(missing, self.runs.outputs(missing, sites).swapaxes(0, 1), strict=True)
                for is_gap, query, passages in window:
                    scores = self.runs.scores(*self._texts(query, passages), outputs)
                    (self.of_gaps if is_gap else self.of_lists)[query] = scores
                    uses.subtract(self._inputs(query, passages))
                outputs = {x: output for x, output in outputs.items() if uses[x] > 0}
                progress_bar.update(len(window))
            return True
        return False


def cases_of(
    collection: Collection, lists: RankedLists, judged: Sequence[int], generator: np.random.Generator
) -> Iterator[Case]:
    """Of the questions whose lists have a right and a wrong passage; the neighbour stands above or below at random."""
    for query in judged:
        rows, relevant = lists.passages(query), collection.relevant(query)
        is_right = np.array([collection.documents[row] in relevant for row in rows])
        if is_right.all() or not is_right.any():
            continue
        right, wrong = int(is_right.argmax()), np.flatnonzero(~is_right)
        below, above = wrong[wrong > right][:1], wrong[wrong < right][-1:]
        neighbours = [*below, *above]
        neighbour = neighbours[int(generator.integers(len(neighbours)))]
        yield Case(query, int(rows[wrong[0]]), int(rows[right]), int(rows[neighbour]), bool(wrong[0] < right))


def _ndcg(collection: Collection, lists: dict[int, list[int]], scores: dict[int, np.ndarray]) -> np.ndarray:
    """(m, 1 + n) of questions, the passages of each in the order of each of its rows of scores."""
    measure, _ = metrics.MEASURES[MEASURE]
    table = []
    for query, of_runs in scores.items():
        rows, grades = np.array(lists[query]), collection.relevant(query)
        ideal = np.array([*grades.values()], dtype=float)
        order = [np.lexsort((collection.passage_order[rows], -row)) for row in of_runs]
        documents = [dict.fromkeys(collection.documents[row] for row in rows[places]) for places in order]
        table.append(
            [measure(np.array([grades.get(name, 0) for name in names], dtype=float), ideal) for names in documents]
        )
    return np.array(table)


def _told(
    all_sites: Sequence[HeadSite],
    sites: Sequence[HeadSite],
    estimates: Sequence[np.ndarray],
    of_gaps: dict[int, np.ndarray],
    ndcg: np.ndarray,
    depth: int,
    is_whole: bool,
) -> RankingHeads:
    """Means, intervals and tests of what was run."""
    scores = np.array([*of_gaps.values()]).reshape(len(of_gaps), 1 + len(sites), 3)
    gained = scores[:, 1:] - scores[:, :1]  # (failures, n, 3) by each of the three passages
    gap, beside = gained[..., 0] - gained[..., 1], gained[..., 0] - gained[..., 2]
    change = ndcg[:, 1:] - ndcg[:, :1] if len(ndcg) else np.empty((0, len(sites)))
    intervals = [
        *(partial(_mean_ends, column) for column in (gap - beside).T),
        *(partial(_share_ends, column) for column in change.T),
    ]
    ends = holm_intervals(intervals)
    lines = dict(zip(sites, range(len(sites)), strict=True))
    rows = []
    for at, site in enumerate(all_sites):
        row = {"head": str(site), "layer": site.layer, "number": site.head}
        row |= {"estimate": estimates[0][at], "gap_estimate": estimates[1][at]}
        if (line := lines.get(site)) is not None:
            if len(gap):
                row |= {"gap": gap[:, line].mean(), "beside": beside[:, line].mean()}
            row |= zip(("gap_low", "gap_high", "gap_p"), ends[line], strict=True)
            if len(change):
                row["ndcg"] = change[:, line].mean()
            row |= zip(("ndcg_low", "ndcg_high", "ndcg_p"), ends[len(sites) + line], strict=True)
        rows.append(row)
    columns = ["head", "layer", "number", "estimate", "gap_estimate", "gap", "beside", "gap_low", "gap_high", "gap_p"]
    table = pd.DataFrame(rows, columns=[*columns, "ndcg", "ndcg_low", "ndcg_high", "ndcg_p"])
    table["finding"] = (table["gap_p"] <= FOUND) | (table["ndcg_p"] <= FOUND)
    order = np.lexsort((-table["estimate"].abs(), table["ndcg"].fillna(math.inf)))
    table = table.iloc[order].reset_index(drop=True)
    tests = sum(not math.isnan(p) for _, _, p in ends)
    return RankingHeads(table, len(change), len(gap), tests, depth, is_whole)


def _mean_ends(gains: np.ndarray, level: float) -> tuple[float, float]:
    if len(gains) < FEWEST_TESTED:
        return NONE
    _, low, high = mean_interval(gains, level)
    return float(low), float(high)


def _share_ends(gains: np.ndarray, level: float) -> tuple[float, float]:
    return difference_interval(gains, level=level) if len(gains) >= FEWEST_TESTED else NONE
