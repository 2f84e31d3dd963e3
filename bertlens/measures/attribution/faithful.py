"""Is a ranking of tokens one of what the model uses: the answer without those ranked first, and with them alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ...base.dataframes import pd
from ...errors import InputError
from ...trace.trace import Trace
from ..metrics import Metric, Read
from .attribution import Attribution
from .removal import Gone, Without

BINS = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the tokens that can be removed
FEWEST_RANKINGS = 20  # random rankings
RANDOM, CEILING = "random", "greedy ceiling"
Ranking = Sequence[int]


def faithfulness(
    trace: Trace,
    values: Attribution | Any | Mapping[str, Attribution | Any],
    remove: str = "mask",
    *,
    metric: Metric | Read | None = None,
    rankings: int = FEWEST_RANKINGS,
    ceiling: bool = True,
    seed: int = 0,
    progress: bool = True,
    known: dict[Gone, float] | None = None,
) -> pd.DataFrame:
    """Rankings of this text's tokens by what the answer loses, beside random rankings and the best that greed finds.

    values: an attribution, (S,) numbers, or several of them by name; tokens are ranked from the largest, equal ones in
    the order of the text, NaN last. metric: the number asked; None is that of the attributions. remove: as of
    `occlusion`, which says which tokens always stay; n others can be removed.

    One row per ranking, then "random" (mean of `rankings`) and "greedy ceiling". comprehensiveness: F(x) − F(x without
    the k tokens ranked first); sufficiency: F(x) − F(x with only these), less is better; both the mean over k = 1, 5,
    10, 20, 50 % of n, rounded up, equal ones once (DeYoung et al. 2020, section 4). …_error: of random rankings, the
    standard error of their mean. …_beats: how many of the random rankings do worse. The ceiling takes token after token
    away (for sufficiency: adds) where it tells most; greed need not find the best, so a ranking may lie above it.
    attrs: metric, model (F(x)), remove, removable (n), bins (k), rankings, seed, notes. One text is an anecdote: report
    a set of them, with its size. Work: about n² / 2 runs of the text for the ceiling. known: as of `occlusion`.
    Raises InputError for values of another trace or length, fewer than 20 random rankings, and several metrics.
    """
    if isinstance(rankings, bool) or not isinstance(rankings, int) or rankings < FEWEST_RANKINGS:
        raise InputError(f"rankings must be at least {FEWEST_RANKINGS} random ones, not {rankings!r}")
    named = dict(values) if isinstance(values, Mapping) else {_name(values): values}
    without = Without(trace, _metric(named, metric), remove, known)
    bins = bins_of(len(without.tokens))
    candidates = {name: _ranked(trace, name, numbers, without.tokens) for name, numbers in named.items()}
    draws = _drawn(without.tokens, rankings, seed)
    scores = {
        "comprehensiveness": _Score(without, bins, progress),
        "sufficiency": _Score(without, bins, progress, alone=True),
    }
    table: dict[str, list[float]] = {}
    for name, score in scores.items():
        level = score(draws)
        candidate_scores = score(list(candidates.values()))
        better = (candidate_scores[:, None] < level) if score.alone else (candidate_scores[:, None] > level)
        table[name] = [*candidate_scores.tolist(), float(level.mean()), *([score.greedy()] if ceiling else [])]
        nothing = [math.nan] * ceiling
        table[f"{name}_error"] = [*[math.nan] * len(candidates), float(level.std()) / math.sqrt(rankings), *nothing]
        table[f"{name}_beats"] = [*better.sum(1).tolist(), math.nan, *nothing]
    frame = pd.DataFrame(table, index=[*candidates, RANDOM, *([CEILING] if ceiling else [])])
    quantity = without.metric
    frame.attrs = {
        "metric": str(quantity) if isinstance(quantity, Metric) else "a function of the output",
        "model": without.answer,
        "remove": remove,
        "removable": len(without.tokens),
        "bins": bins,
        "rankings": rankings,
        "seed": seed,
        "notes": list(without.notes),
    }
    return frame


def removed_for(trace: Trace, values: Any, without: Without) -> list[Gone]:
    """The sets of tokens that `faithfulness` of (S,) numbers runs the text without; its other arguments as they are."""
    bins = bins_of(len(without.tokens))
    rankings = [*_drawn(without.tokens, FEWEST_RANKINGS, 0), _ranked(trace, "values", values, without.tokens)]
    scores = [_Score(without, bins, False, alone) for alone in (False, True)]
    return list(dict.fromkeys(removal for score in scores for removal in score.sets(rankings)))


def _drawn(tokens: list[int], rankings: int, seed: int) -> list[Ranking]:
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return [
        [tokens[i] for i in torch.randperm(len(tokens), generator=generator, device="cpu").tolist()]
        for _ in range(rankings)
    ]


def bins_of(n: int) -> list[int]:
    """How many of n tokens are removed: the shares of BINS, rounded up, equal ones once."""
    return sorted({math.ceil(share * n - 1e-9) for share in BINS})


class _Score:
    """Mean over bins of what is lost; `alone`: with only the first tokens left."""

    def __init__(self, without: Without, bins: list[int], progress: bool, alone: bool = False):
        self.without, self.bins, self.progress, self.alone = without, bins, progress, alone
        self.every = frozenset(without.tokens)

    def _gone(self, first: Ranking) -> Gone:
        return self.every - set(first) if self.alone else frozenset(first)

    def sets(self, rankings: Sequence[Ranking]) -> list[Gone]:
        return [self._gone(ranking[:k]) for ranking in rankings for k in self.bins]

    def __call__(self, rankings: Sequence[Ranking]) -> torch.Tensor:
        """(n,) float64"""
        lost = self.without.answer - self.without(self.sets(rankings), self.progress)
        return lost.reshape(len(rankings), len(self.bins)).mean(1)

    def greedy(self) -> float:
        """The score of the ranking in which every next token is the one that tells most behind those before it."""
        ranking: list[int] = []
        pick: Callable[..., Any] = torch.argmax if self.alone else torch.argmin
        while len(ranking) < self.bins[-1]:
            candidates = [i for i in self.without.tokens if i not in ranking]
            scores = self.without([self._gone([*ranking, i]) for i in candidates], self.progress)
            ranking.append(candidates[int(pick(scores))])
        return float(self([ranking])[0])


def _name(values: Any) -> str:
    return values.method if isinstance(values, Attribution) else "values"


def _metric(named: Mapping[str, Any], metric: Metric | Read | None) -> Metric | Read:
    """The one that is asked for, or that of the attributions."""
    if not named:
        raise InputError("no values to rank tokens by: pass an attribution, or numbers")
    if metric is not None:
        return metric
    metrics = [candidate.metric for candidate in named.values() if isinstance(candidate, Attribution)]
    if not metrics:
        raise InputError("numbers say not what they are of: pass metric=, such as whatif.logit")
    names = {str(candidate) if isinstance(candidate, Metric) else candidate for candidate in metrics}
    if len(names) > 1:
        raise InputError("the attributions are of several numbers: pass the one to be asked as metric=")
    return metrics[0]


def _ranked(trace: Trace, name: str, values: Any, tokens: list[int]) -> Ranking:
    if isinstance(values, Attribution):
        if values.trace is not trace:
            raise InputError(f"{name} is of another trace")
        values = values.values
    numbers = torch.as_tensor(values, device="cpu").detach().double()
    if numbers.shape != (trace.n_tokens,):
        raise InputError(f"{name} has the shape {tuple(numbers.shape)}: one number for each of {trace.n_tokens} tokens")
    of_tokens = numbers[tokens].nan_to_num(nan=-math.inf)
    return [tokens[i] for i in of_tokens.argsort(descending=True, stable=True).tolist()]
