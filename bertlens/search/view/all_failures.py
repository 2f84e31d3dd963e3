"""Does the word that the split names matter? Over all failures the order without it, beside other words."""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import TypedDict

from ...base.amounts import amount
from ...base.dataframes import pd
from ...base.jobs import Stopped
from ...base.progress import bar
from ...errors import BertLensError
from ...measures.significance import count_interval
from ..retrieval_run import Retrieval
from ..word_runs import FREQUENT, RANDOM

DRAWS = 8  # words at random, and as frequent, of the same passage


class TurnsRow(TypedDict):
    query: str
    word: str  # that is named
    turned: bool  # the order, without it
    random: float  # share of DRAWS random words without which it turns
    frequent: float  # of as many that are as frequent


class TurnsFields(TypedDict):
    rows: list[TurnsRow]
    said: str


def turns(retrieval: Retrieval, failures: pd.DataFrame) -> TurnsFields:
    """A row a failure. said: a sentence, with an interval of 95 % over failures.

    Failures whose scores are no sums are left out. Ctrl-C ends it: what was tried is told. Raises Stopped where nothing
    was, BertLensError where no failure could be tried.
    """
    rows: list[TurnsRow] = []
    refusal: BertLensError | None = None
    try:
        with bar(len(failures), "failure", "all failures", shown=False) as progress:
            for row in failures.itertuples():
                try:
                    contrast = retrieval.contrast(row.query, row.wrong, row.right)
                    table = contrast.without(n_random=DRAWS, frequencies=retrieval.frequencies)
                    shares = {draw: table["turned"][table["draw"] == draw].mean() for draw in (RANDOM, FREQUENT)}
                    rows.append(
                        {
                            "query": row.query,
                            "word": table["word"].iloc[1],
                            "turned": bool(table["turned"].iloc[1]),
                            "random": float(shares[RANDOM]),
                            "frequent": float(shares[FREQUENT]),
                        }
                    )
                except BertLensError as error:
                    refusal = error
                progress.update()
    except KeyboardInterrupt:
        if not rows:
            raise Stopped from None
    if not rows:
        raise refusal or Stopped
    return {"rows": rows, "said": sentence(rows, len(failures))}


def sentence(rows: list[TurnsRow], failures: int) -> str:
    """How often the order turns without the named word, and without others."""
    n, count = len(rows), sum(row["turned"] for row in rows)
    low, high = count_interval(count, n)
    tried = amount(n, "failure") if n == failures else f"the {amount(n, 'failure')} of {failures:,} that could be tried"
    draws = {
        "a random word of the same passage": [row["random"] for row in rows],
        "one nearest in frequency": [row["frequent"] for row in rows],
    }
    beside = [
        f"without {name} in {np.mean(shares):.2f} of them"
        for name, shares_of in draws.items()
        if (shares := [share for share in shares_of if not math.isnan(share)])  # none of passages of one word
    ]
    return (
        f"Without the word that the split names the order turns in {count:,} of {tried} ({count / n:.2f}, "
        f"{low:.2f} to {high:.2f}){', ' if beside else ''}{', '.join(beside)}."
    )
