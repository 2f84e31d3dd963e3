"""Kinds of examples, by length, class and pieces, in which more is wrong than chance would make it; and twins."""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..base.amounts import amount
from ..base.dataframes import pd
from ..base.quotes import isolate
from ..measures.significance import count_interval, with_findings
from ..text.piece_counts import Fertility, fertility, finely_cut
from ..text.plain_words import words_of
from .task_answers import Answered

FEWEST = 10  # examples in a slice, and outside of it
ALIKE = 0.8  # shared words of near-duplicates, of all their words
FOLLOWED = 1000  # texts that one word leads to
MOST_PAIRS = 1000
TEXTS = "texts"  # the kind of slices by how finely a tokenizer cuts them


def slices(task: Answered) -> pd.DataFrame:
    """See Task.slices."""
    members = list(_slices(task))
    table = slice_table(members, task.wrong)
    order = np.argsort(-task.losses, kind="stable")
    wrong = {(kind, name): order[(inside & task.wrong)[order]].tolist() for kind, name, inside in members}
    table.attrs["wrong"] = [wrong[of] for of in zip(table["kind"], table["slice"], strict=True)]  # rows, worst first
    table.attrs["wrong_is"] = task.kind.wrong_is
    table.attrs["by_pieces"] = _by_pieces(table, task.wrong, task.kind.wrong_is)
    return table


def slices_said(table: pd.DataFrame, names: int = 0) -> str:
    """In how many slices more is wrong than chance would make it, in a sentence; names: so many are named."""
    if not len(table):
        return f"No slice has {FEWEST} examples inside and {FEWEST} outside."
    hits = table[table["finding"]]
    worse = ", ".join(f"{kind} {isolate(name)}" for kind, name in hits[["kind", "slice"]].to_numpy()[:names])
    of = amount(len(table), "slice")
    clause = f"In {len(hits)} of {of} more is" if len(hits) else f"In none of {of} is more"
    than = f"than chance would make it{worse and ': '}{worse}"
    sentence = f"{clause} {table.attrs.get('wrong_is', 'wrong')} {than} (Fisher’s exact test, Holm, 5 %)."
    return " ".join([sentence, *table.attrs.get("by_pieces", ())])


def _by_pieces(table: pd.DataFrame, wrong: np.ndarray, wrong_is: str) -> list[str]:
    """A sentence for each slice of texts by how finely they are cut, whether it is a finding or not."""
    sentences = []
    for row in table[table["kind"] == TEXTS].itertuples():
        wrong_outside, n_outside = int(wrong.sum()) - row.wrong, len(wrong) - row.n
        p = f"{row.p_holm:.3f}" if row.p_holm >= 0.001 else "below .001"
        chance = "" if row.finding else ": may be chance"
        sentences.append(
            f"Texts {row.slice}: {row.wrong} of {row.n} {wrong_is}, others {wrong_outside} of {n_outside} "
            f"(p {p.removeprefix('0')} by Holm{chance})."
        )
    return sentences


def slice_table(members: Sequence[tuple[str, str, np.ndarray]], wrong: np.ndarray) -> pd.DataFrame:
    """members: (kind, name, (n,) bool) of each slice; wrong: (n,) bool."""
    rows = []
    for kind, name, inside in members:
        n, hits = int(inside.sum()), int(wrong[inside].sum())
        outside = float(wrong[~inside].mean())
        p = more_than_chance(hits, n, int(wrong.sum()), len(wrong))
        rows.append((kind, name, n, hits, hits / n, *count_interval(hits, n), outside, p))
    columns = ["kind", "slice", "n", "wrong", "rate", "low", "high", "rate_outside", "p"]
    table = pd.DataFrame(rows, columns=columns)
    with_findings(table, len(table))
    return table.sort_values(["p", "rate"], ascending=[True, False], kind="stable", ignore_index=True)


def more_than_chance(hits: int, n: int, of: int, total: int) -> float:
    """P(X ≥ hits) where n of `total` are drawn, of which `of` are wrong: Fisher's exact test, one-sided."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(hits - 1, total, of, n))


def _slices(task: Answered) -> Iterator[tuple[str, str, np.ndarray]]:
    """Those with at least FEWEST examples inside and outside."""
    texts = task.examples.shown()
    n = len(texts)
    lengths = np.array([sum(len(words_of(passage)) for passage in text) for text in texts])
    third, two = (int(x) for x in np.quantile(lengths, [1 / 3, 2 / 3]))
    members: list[tuple[str, str, np.ndarray]] = [
        ("length", f"at most {third} words", lengths <= third),
        ("length", f"more than {two} words", lengths > two),
    ]
    members += [(TEXTS, name, inside) for name, inside in _finely_cut(task.lens.tokenizer, texts)]
    members += task.kind.slices(task.labels)
    return (member for member in members if FEWEST <= int(member[2].sum()) <= n - FEWEST)


def _finely_cut(tokenizer: Any, texts: Sequence[tuple[str, ...]]) -> list[tuple[str, np.ndarray]]:
    """(name, (n,) bool) of examples in many pieces a word, and of those in pieces of few characters."""
    singles = iter(fertility(tokenizer, [passage for text in texts for passage in text]))
    examples = [reduce(Fertility.__add__, (next(singles) for _ in text)) for text in texts]
    return finely_cut(examples)


def near_duplicates(
    texts: Sequence[tuple[str, ...]], labels: np.ndarray, differ: Callable[[Any, Any], bool] = operator.ne
) -> list[tuple[int, int, float]]:
    """(row, row, shared words / all words ≥ .8) of texts with different labels, the most alike first.

    Words as sets, without case and punctuation. Candidates share one of their rarest words: a pair that is as much
    alike shares one of the rarest ⌊.2 |words|⌋ + 1. Of a word, 1,000 texts are followed; 1,000 pairs are given.
    """
    sets = [frozenset((at, word) for at, side in enumerate(text) for word in words_of(side)) for text in texts]
    counts = Counter(word for bag in sets for word in bag)
    index: dict[tuple[int, str], list[int]] = defaultdict(list)
    pairs: dict[tuple[int, int], float] = {}
    for row, bag in enumerate(sets):
        rarest = sorted(bag, key=lambda word: (counts[word], word))[: len(bag) - math.ceil(ALIKE * len(bag) - 1e-9) + 1]
        peers = {peer for word in rarest for peer in index[word] if differ(labels[peer], labels[row])}
        for peer in peers:
            share = len(bag & sets[peer]) / len(bag | sets[peer])
            if share >= ALIKE:
                pairs[peer, row] = share
        for word in rarest:
            if len(index[word]) < FOLLOWED:
                index[word].append(row)
    return [(a, b, share) for (a, b), share in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))][:MOST_PAIRS]
