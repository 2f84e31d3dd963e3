"""Hubs: passages that come up for questions that they do not answer, more often than chance would bring them up."""

from __future__ import annotations

import numpy as np

from ..base.amounts import amount, verb
from ..base.dataframes import pd
from ..base.quotes import isolate
from ..errors import InputError, check_number, check_seed
from ..measures.significance import with_findings
from .collection import Collection
from .ranked_lists import RankedLists

TEN = 10  # passages of a question that are looked at
NEAREST = 100  # of which they could have been any
RULE = (
    f"A hub is among the {TEN} best passages, for questions that it is not relevant to, more often than it would be if "
    f"each question drew {TEN} of its {NEAREST} nearest passages at random (exact binomial test, Holm, 5 %)."
)


def at_least(count: int, chances: np.ndarray) -> float:
    """P(X ≥ count), X how many of independent events happen, each with its own chance (m,): a Poisson binomial."""
    from scipy.special import gammaln, xlog1py, xlogy

    if count <= 0:
        return 1.0
    distribution = np.ones(1)
    for chance, m in zip(*np.unique(chances, return_counts=True), strict=True):
        k = np.arange(m + 1)
        ways = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
        distribution = np.convolve(distribution, np.exp(ways + xlogy(k, chance) + xlog1py(m - k, -chance)))
    return min(1.0, float(distribution[count:].sum()))


def hubs(collection: Collection, lists: RankedLists, *, draws: int = 1000, seed: int = 0) -> pd.DataFrame:
    """DataFrame(passage, times, questions, chance, p, p_drawn, p_holm, hub), the smallest p first.

    A row for each passage among the NEAREST of a question that it is not relevant to. questions: how many such there
    are; times: for how many of them it is among the first TEN; chance: the mean of `times` were each question to draw
    its TEN from its NEAREST. p: that `times` or more come so. Draws of two questions are independent, so it is exact, a
    binomial (a Poisson binomial where lists are shorter than NEAREST): `draws` alone could not reach the level of
    Holm's correction for a thousand passages. p_drawn: the same from so many draws, (1 + as many or more) / (1 +
    draws), as a check; NaN without draws. p_holm: adjusted for all rows. hub: p_holm ≤ .05.
    Of a collection with judgements, questions that have some; of one without, all, and every passage counts.
    Questions that are alike bring up the same passages; the test takes them as if each were drawn by itself. On hubs
    Radovanović et al. 2010.
    Raises InputError for draws below 0 and for a seed that is none.
    """
    draws, seed = check_number(draws, "draws is a whole number,", 0), check_seed(seed)
    queries = np.array(collection.judged if collection.grades else range(len(collection.queries)), dtype=np.int64)
    if not len(queries):
        raise InputError("no question has a relevant document: leave relevance out, and all questions count")
    nearest = lists.rows[queries, :NEAREST]
    lengths = (nearest >= 0).sum(1)
    eligible = (nearest >= 0) & ~_relevance(collection, queries, nearest)
    chances = np.minimum(TEN, lengths) / np.maximum(1, lengths)
    # (n,) of every place that counts: passage, question
    at, _ = np.nonzero(eligible)
    passages, place = np.unique(nearest[eligible], return_inverse=True)
    times = np.bincount(place, weights=np.nonzero(eligible)[1] < TEN, minlength=len(passages)).astype(np.int64)
    totals = np.bincount(place, minlength=len(passages))
    p = _tails(times, totals, place, chances[at])
    table = pd.DataFrame(
        {
            "passage": [collection.passage_ids[row] for row in passages],
            "times": times,
            "questions": totals,
            "chance": np.bincount(place, weights=chances[at], minlength=len(passages)),
            "p": p,
            "p_drawn": _drawn(times, eligible, place, lengths, draws, seed),
        }
    )
    with_findings(table, len(p), "hub")
    order = np.lexsort((collection.passage_order[passages], -times, p))
    table = table.iloc[order].reset_index(drop=True)
    table.attrs |= {"questions": len(queries), "judged": bool(collection.grades)}
    return table


def hubs_said(table: pd.DataFrame, names: int = 3) -> str:
    """How many hubs there are and the first of them, in a sentence or two."""
    it, they = (f" that {name} not relevant to" if table.attrs["judged"] else "" for name in ("it is", "they are"))
    total = amount(table.attrs["questions"], "question")
    place = f"among the {NEAREST} nearest of a question"
    if not len(table):
        return f"No passage is {place}{it} ({total})."
    family = f"the {len(table):,} passages that are {place}{they} ({total})"
    hits = table[table["hub"]]
    if not len(hits):
        return f"None of {family} is a hub." if len(table) > 1 else f"The one passage {place}{it} ({total}) is no hub."
    named = "; ".join(
        f"{isolate(row.passage)} is among the first {TEN} for {amount(row.times, 'question')}{it}, {row.chance:.1f} by "
        "chance"
        for row in hits.head(names).itertuples()
    )
    if len(table) == 1:
        return f"The one passage {place}{it} ({total}) is a hub: {named}."
    return f"{len(hits):,} of {family} {verb(len(hits), 'is a hub', 'are hubs')}: {named}."


def _relevance(collection: Collection, queries: np.ndarray, nearest: np.ndarray) -> np.ndarray:
    """(Q, K) bool whether the passage at each place is of a document that is relevant to the question."""
    relevance = np.zeros(nearest.shape, dtype=bool)
    for line, (query, rows) in enumerate(zip(queries.tolist(), nearest.tolist(), strict=True)):
        if documents := collection.relevant(query):
            relevance[line] = [row >= 0 and collection.documents[row] in documents for row in rows]
    return relevance


def _tails(times: np.ndarray, totals: np.ndarray, place: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """(n,) `at_least` of each passage; chances: of every place, `place` the passage there."""
    from scipy.special import bdtrc

    if len(chances) == 0 or (chances == chances[0]).all():
        chance = chances[0] if len(chances) else 1.0
        return np.where(times > 0, bdtrc(np.maximum(times, 1) - 1.0, totals, chance), 1.0)
    order = np.argsort(place, kind="stable")
    groups = np.split(chances[order], np.cumsum(totals)[:-1])
    return np.array([at_least(int(count), group) for count, group in zip(times, groups, strict=True)])


def _drawn(
    times: np.ndarray, eligible: np.ndarray, place: np.ndarray, lengths: np.ndarray, draws: int, seed: int
) -> np.ndarray:
    """(n,) how often `times` or more came in draws of TEN of each question's own nearest."""
    if not draws:
        return np.full(len(times), np.nan)
    generator = np.random.default_rng(seed)
    passages = np.full(eligible.shape, -1, dtype=np.int64)
    passages[eligible] = place
    ended = np.arange(eligible.shape[1]) >= lengths[:, None]
    reached = np.zeros(len(times), dtype=np.int64)
    end = min(TEN, eligible.shape[1])
    for _ in range(draws):
        keys = generator.random(eligible.shape, dtype=np.float32)
        keys[ended] = 2.0
        places = np.argpartition(keys, end - 1, axis=1)[:, :end]
        sample = np.take_along_axis(passages, places, axis=1)
        reached += np.bincount(sample[sample >= 0], minlength=len(times)) >= times
    return (1 + reached) / (1 + draws)
