"""Heads that a ranking needs: planted ones are found, others are not; estimates and effects beside naive runs."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bertlens as bl
from bertlens import whatif
from bertlens.base.progress import watched
from bertlens.errors import InputError, ModelError
from bertlens.search import ranking_heads
from bertlens.search.collection import Collection
from bertlens.search.contrast import contrast
from bertlens.search.head_runs import HeadRuns, head_runs
from bertlens.search.metrics import by_question
from bertlens.search.ranked_lists import RankedLists
from bertlens.search.ranking_heads import RankingHeads, heads
from bertlens.search.stages import ranked
from bertlens.whatif.head_study import HeadSite
from unit import tiny_encoders
from unit.tiny_encoders import words

DEPTH = 12
KINDS = ["bi", pytest.param("cross", marks=pytest.mark.long)]


@cache
def lens(kind: str = "bi") -> bl.Lens:
    return bl.Lens(tiny_encoders.crossed() if kind == "cross" else tiny_encoders.encoder(similarity_fn_name="cosine"))


def world(grades: dict[str, dict[str, int]], size: int = 60, n: int = 40) -> Collection:
    ids = tuple(f"p{at}" for at in range(size))
    queries = tuple(words(5, 1000 + at) for at in range(n))
    return Collection(
        tuple(f"q{at}" for at in range(n)),
        queries,
        ids,
        tuple(words(5 + at % 6, at) for at in range(size)),
        ids,
        grades,
    )


@cache
def lists(kind: str = "bi") -> RankedLists:
    return ranked(lens(kind), world({}), first_stage=lens() if kind == "cross" else None, progress=False).lists


@cache
def scores_without(kind: str = "bi") -> dict[HeadSite | None, np.ndarray]:
    """(Q, DEPTH) of the first passages of each list, of the model as it is (None) and without each head."""
    texts, runs = world({}), head_runs(lens(kind), "cats", "the mat", 8)
    rows = lists(kind).rows[:, :DEPTH]
    inputs = [
        x for q, query in enumerate(texts.queries) for x in runs.inputs(query, [texts.passages[r] for r in rows[q]])
    ]
    inputs = [*dict.fromkeys(inputs)]
    outputs = dict(zip(inputs, runs.outputs(inputs, runs.sites).swapaxes(0, 1), strict=True))
    scores = [
        runs.scores(query, [texts.passages[r] for r in rows[q]], outputs) for q, query in enumerate(texts.queries)
    ]
    return dict(zip([None, *runs.sites], np.array(scores).swapaxes(0, 1), strict=True))


def planted(site: HeadSite, kind: str = "bi", n: int = 40) -> Collection:
    """Relevant is what this head lifts: of the first passages those three that lose most without it."""
    loss = scores_without(kind)[None] - scores_without(kind)[site]
    rows = lists(kind).rows
    best = np.argsort(-loss, axis=1)[:, :3]
    return world({f"q{q}": {f"p{rows[q, place]}": 1 for place in best[q]} for q in range(n)})


def shuffled(seed: int) -> Collection:
    """Relevant are three of the first passages of each question, at random."""
    generator = np.random.default_rng(seed)
    rows = lists().rows[:, :DEPTH]
    return world(
        {f"q{q}": {f"p{row}": 1 for row in generator.choice(rows[q], 3, replace=False)} for q in range(len(rows))}
    )


def of(texts: Collection, kind: str = "bi", **options: Any) -> RankingHeads:
    return heads(lens(kind), texts, lists(kind), **{"depth": DEPTH, "n": 4, "progress": False} | options)


@pytest.mark.parametrize("kind", ["bi", "cross"])
def test_a_planted_head_is_found(kind: str) -> None:
    site = HeadSite(1, 2)
    found = of(planted(site, kind), kind)
    row = found.table.iloc[0]
    assert row["head"] == "L1·H2" and row["finding"] and row["ndcg_high"] < 0 and row["estimate"] < 0
    assert f"Without L1·H2 nDCG@10 falls by {-row['ndcg']:.3f} (" in found.said
    assert found.questions == 20 and found.is_whole and len(found.table) == len(scores_without(kind)) - 1


def test_an_empty_passage_makes_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = planted(HeadSite(1, 2), "cross")
    empty = dataclasses.replace(texts, passages=("", *texts.passages[1:]))
    inputs: list[Any] = []
    outputs = HeadRuns.outputs
    monkeypatch.setattr(HeadRuns, "outputs", lambda self, *given: inputs.extend(given[0]) or outputs(self, *given))
    assert heads(lens("cross"), empty, lists("cross"), n=1, depth=DEPTH, progress=False).questions == 20
    assert inputs and all(text.passage for text in inputs)


@cache
def memory() -> dict[Any, Any]:
    return {}


def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of the same texts without the same heads are made once."""
    outputs = HeadRuns.outputs

    def once(self: HeadRuns, texts: Any, sites: Any = ()) -> np.ndarray:
        sites_key = tuple(self.sites) if sites else ()
        missing = [text for text in texts if (text, sites_key) not in memory()]
        if missing:
            arrays = outputs(self, missing, sites_key).swapaxes(0, 1)
            memory().update(zip([(text, sites_key) for text in missing], arrays, strict=True))
        rows = [0, *(1 + self.sites.index(site) for site in sites)]
        return np.stack([memory()[text, sites_key][rows] for text in texts], 1)

    monkeypatch.setattr(HeadRuns, "outputs", once)


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(200), marks=pytest.mark.long)])
def test_judgements_at_random_name_no_head(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered(monkeypatch)
    alarms = sum(len(of(shuffled(seed), seed=seed).findings) > 0 for seed in seeds)
    assert alarms <= max(1, 0.08 * len(seeds))


@pytest.mark.parametrize("kind", KINDS)
def test_effects_are_those_of_runs_without_the_head(kind: str) -> None:
    """Gaps by the contrast's own rerun, nDCG by lists of scores without the head."""
    texts = planted(HeadSite(0, 1), kind, 22)
    found = of(texts, kind, n=2)
    table = found.table.dropna(subset="ndcg")
    assert len(table) == 2 and found.table["ndcg"].isna().sum() == len(found.table) - 2
    order = np.random.default_rng(0)
    cases = [*ranking_heads.cases_of(texts, lists(kind), texts.judged, order)]
    half = set(order.permutation(list(texts.judged)).tolist()[1::2])
    failures = [case for case in cases if case.fails and case.query in half]
    assert found.failures == len(failures) > 2
    for row in table.itertuples():
        site, changes = HeadSite(row.layer, row.number), []
        for case in failures:
            wrong, right, neighbour = (texts.passages[at] for at in case[1:4])
            pair = [contrast(lens(kind), texts.queries[case.query], wrong, x) for x in (right, neighbour)]
            changes.append([of_pair.rerun(whatif.off(*site)).loc["difference"] for of_pair in pair])
        gains = [[frame["after"] - frame["before"] for frame in pair] for pair in changes]
        assert [row.gap, row.beside] == pytest.approx(np.mean(gains, 0).tolist(), abs=2e-6)
        scores = scores_without(kind)
        ndcg = [by_question(RankedLists(*sorted_lists(lists(kind).rows[:, :DEPTH], scores[of_run])), texts)["nDCG@10"]
                for of_run in (None, site)]  # fmt: skip
        assert row.ndcg == pytest.approx((ndcg[1] - ndcg[0]).iloc[sorted(half)].mean())


def sorted_lists(rows: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_slopes_of_a_head_that_is_scaled(kind: str) -> None:
    """What a mean gains by each head off, to first order: by differences of runs with the head scaled a little."""
    texts = planted(HeadSite(0, 1), kind, 22)
    found = of(texts, kind, n=1).table.set_index(["layer", "number"])
    order = np.random.default_rng(0)
    cases = {case.query: case for case in ranking_heads.cases_of(texts, lists(kind), texts.judged, order)}
    choice = [cases[query] for query in order.permutation(list(texts.judged)).tolist()[::2] if query in cases]
    step = 1e-2
    for site in (HeadSite(0, 1),):
        leads, gaps = [], []
        for case in choice:
            wrong, right, neighbour = (texts.passages[at] for at in case[1:4])
            for pair, sums in (((right, neighbour), leads), ((wrong, right), gaps if case.fails else [])):
                of_pair = contrast(lens(kind), texts.queries[case.query], *pair)
                up, down = (
                    of_pair.rerun(whatif.scale(*site, 1 + sign * step)).loc["difference", "after"] for sign in (1, -1)
                )
                sums.append(-(up - down) / (2 * step))
        row = found.loc[site]
        assert row["estimate"] == pytest.approx(np.mean(leads), rel=0.02, abs=2e-5)
        assert row["gap_estimate"] == pytest.approx(np.mean(gaps), rel=0.02, abs=2e-5)


def test_an_interrupt_keeps_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = planted(HeadSite(1, 2))
    scores, calls = HeadRuns.outputs, []

    def interrupted(self: HeadRuns, *arguments: Any) -> np.ndarray:
        calls.append(len(arguments) > 1 and len(arguments[1]) > 0)
        if sum(calls) == limit:
            raise KeyboardInterrupt
        return scores(self, *arguments)

    monkeypatch.setattr(HeadRuns, "outputs", interrupted)
    limit = -1
    whole = of(texts)
    runs = sum(calls)
    calls.clear()
    limit = runs
    with pytest.warns(UserWarning, match=r"interrupted: heads over \d+ of 20 questions"):
        part = of(texts)
    assert not part.is_whole and 0 < part.questions < 20 and part.failures == whole.failures
    assert part.said.endswith("It was stopped: numbers are of the questions that were done.")
    calls.clear()
    limit = 1
    with pytest.warns(UserWarning, match=r"interrupted: heads over 0 of 20 questions"):
        estimated = of(texts)
    assert not estimated.tests and estimated.said.startswith("It was stopped before a head could be tested")
    pd.testing.assert_series_equal(
        *(found.table.set_index("head")["estimate"].sort_index() for found in (estimated, whole))
    )


@pytest.mark.parametrize("windows", [0, 1, 2])
def test_estimates_have_a_bar_and_an_interrupt_keeps_them(windows: int) -> None:
    """Of the cases of whole windows: the mean over those alone."""
    texts, told = planted(HeadSite(1, 2)), []

    def tell(doing: str, done: float, total: float) -> None:
        told.append((doing, done, total))
        if doing == "all heads, estimated" and done >= windows * ranking_heads.AHEAD:
            raise KeyboardInterrupt

    with watched(tell):
        if not windows:
            with pytest.raises(KeyboardInterrupt):
                of(texts)
            return
        found = of(texts)
    size = windows * ranking_heads.AHEAD
    assert told[-1] == ("all heads, estimated", size, 20)
    assert not found.is_whole and not found.tests and not len(found.findings) and found.table["ndcg"].isna().all()
    generator = np.random.default_rng(0)
    cases = {case.query: case for case in ranking_heads.cases_of(texts, lists(), texts.judged, generator)}
    choice = [cases[query] for query in generator.permutation(list(texts.judged)).tolist()[::2]][:size]
    runs = head_runs(lens(), "cats", "the mat", 8)
    expected = np.mean([ranking_heads.Study(texts, runs, False).estimates([case] * 8)[0] for case in choice], 0)
    table = found.table.set_index(["layer", "number"]).loc[[tuple(site) for site in runs.sites]]
    np.testing.assert_allclose(table["estimate"], expected, atol=1e-7)


def test_the_time_is_said_before(capsys: pytest.CaptureFixture[str]) -> None:
    of(planted(HeadSite(1, 2)), n=100, progress=True)
    said = capsys.readouterr().out
    n = len(scores_without()) - 1
    assert said.startswith(f"{n} of {n} heads, 20 questions, ") and "texts: about" in said
    assert said.endswith("Ctrl-C ends it, and what was done counts\n")


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (
            lambda: of(world({f"q{at}": {"p1": 1} for at in range(19)})),
            InputError,
            "19 questions with a right and a wrong",
        ),
        (lambda: of(shuffled(0), n=0), InputError, "n is how many heads to run, at least 1"),
        (lambda: of(shuffled(0), depth=9), InputError, "depth is how many passages to rank anew, at least 10"),
    ],
)
def test_what_cannot_be_is_said(ask: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask()


def test_of_late_interaction_and_a_changed_model_there_are_none() -> None:
    encoder = tiny_encoders.encoder()
    passages = {f"p{at}": words(6, at) for at in range(30)}
    queries = {f"q{at}": words(4, 100 + at) for at in range(24)}
    search = bl.retrieval(
        bl.Lens(encoder), queries, passages, {f"q{at}": [f"p{at}"] for at in range(24)}, progress=False
    )
    table = search.heads(2, depth=10, progress=False).table
    assert isinstance(table, pd.DataFrame) and table["ndcg"].notna().sum() == 2
    next(encoder.parameters()).data.add_(0.1)
    with pytest.raises(ModelError, match="the model has changed since"):
        search.heads(progress=False)


def test_prompts_and_tokens_that_are_not_pooled_are_read_as_the_model_reads_them() -> None:
    """Its own vectors, of questions and passages, with what their prompts leave out."""
    for model in (tiny_encoders.encoder(include_prompt=False, mode="weightedmean"), tiny_encoders.encoder(mode="cls")):
        runs = head_runs(bl.Lens(model), "cats", "the mat", 2)
        texts = [words(3 + at, at) for at in range(5)]
        inputs = runs.inputs(texts[0], texts)
        made = runs.outputs(inputs)[0]
        expected = np.concatenate([model.encode_query(texts[:1]), model.encode_document(texts)])
        np.testing.assert_allclose(made, expected, atol=1e-5)
