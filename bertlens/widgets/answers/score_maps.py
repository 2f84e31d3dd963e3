"""What the page is told about one head's scores as a sum of pictures: the largest of them, and the rest.

Some rows at a time: shares first, then the pictures of the largest. Nothing of S × S is made, nor of all 36 pairs.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from typing_extensions import TypedDict

from ...base.limits import within
from ...base.wire import Float32
from ...measures import sources
from ...measures.rows import Here
from ...measures.sources import GROUPS, SIDES, Pair
from ...trace.trace import Trace
from ..messages.records import Selection
from ..messages.turns import PATIENCE, ask_again, in_steps

MOST_PAIRS = 5  # of sources, the others are one picture
MOST_CELLS = 128  # along a side
AT_ONCE = 2**21  # scores that are looked at together: 8 MB
TOKENS = 1024  # whose queries or keys are split together


class ScoreMapFields(TypedDict):
    layer: int
    head: int
    pairs: list[
        tuple[str, str]
    ]  # source of the query, of the key: the MOST_PAIRS largest by |share|; [term, term] of a term
    share: list[
        float | None
    ]  # of each, `sources.map_shares`: with rest 1; None where all scores of every query are equal
    rest: float | None  # of all others
    gap: float  # the largest difference between the sum of all maps and the model's own scores
    block: int  # tokens that a cell is of along either side
    notes: list[str]


class ScoreMapArrays(TypedDict):
    """The scores, a map for each pair, the rest; hidden cells are NaN, a cell of several tokens holds the largest."""

    values: Float32  # (2 + pairs, S / block, S / block)


ScoreMaps = tuple[ScoreMapFields, ScoreMapArrays]


def score_maps(trace: Trace, layer: int, head: int, patience: float = math.inf) -> ScoreMaps:
    """One head's scores, less each row's mean, as a sum of maps by pairs of sources. Raises as `measures.sources.maps`.

    Where it takes longer than `patience` (s): "again", see turns.
    """
    answer = in_steps(trace, ("score maps", layer, head), lambda here: _steps(here, layer, head), patience)
    return ask_again() if answer is None else answer


def score_maps_in_turn(trace: Trace, layer: int, head: int) -> ScoreMaps:
    """`score_maps` for a page, which has other questions too."""
    return score_maps(trace, layer, head, math.inf if within("at_once", trace.n_tokens) else PATIENCE)


@dataclass(frozen=True)
class _Split:
    """One head's queries and keys as sums: group -> (S, d), queries scaled, in the dtype of the model's products."""

    layer: int
    head: int
    queries: dict[str, Tensor]
    keys: dict[str, Tensor]


def _hidden(hidden: Tensor) -> Tensor | None:
    """The mask (R, S); None where it hides nothing: a mask takes as long as a product."""
    return hidden if hidden.any() else None


def _centred(values: Tensor, hidden: Tensor | None) -> Tensor:
    """Less each row's mean over what is not hidden, in place; 0 where hidden."""
    if hidden is None:
        return values.sub_(values.mean(-1, keepdim=True, dtype=torch.float64).to(values.dtype))
    values.masked_fill_(hidden, 0)
    mean = values.sum(-1, keepdim=True, dtype=torch.float64) / (~hidden).sum(-1, keepdim=True).clamp_min(1)
    return values.sub_(mean.to(values.dtype)).masked_fill_(hidden, 0)


def _steps(here: Here, layer: int, head: int) -> Generator[None, None, ScoreMaps]:
    size, notes = here().n_tokens, sources.Stream(here()).notes
    sides = []
    for side in SIDES:
        groups = []
        for start in range(0, size, TOKENS):
            groups.append(_groups(here(), layer, head, side, slice(start, min(start + TOKENS, size))))
            yield
        sides.append({name: torch.cat([group[name] for group in groups]) for name in groups[0]})
    split = _Split(layer, head, *sides)
    block = math.ceil(size / MOST_CELLS)
    step = max(1, AT_ONCE // (size * block)) * block  # whole cells
    blocks = [slice(start, min(start + step, size)) for start in range(0, size, step)]

    sums: dict[Pair, float] = {}
    for rows in blocks:
        for pair, covariance in _covariances(here(), split, rows).items():
            sums[pair] = sums.get(pair, 0.0) + covariance
        yield
    whole = sum(sums.values()) or math.nan
    shares = {pair: covariance / whole for pair, covariance in sums.items()}
    ordered = sorted((pair for pair, share in shares.items() if share != 0), key=lambda pair: -abs(shares[pair]))
    pairs = ordered[:MOST_PAIRS]
    folded = _rest(split, pairs)

    pictures, gap = [], 0.0
    for rows in blocks:
        pooled, largest = _pictures(here(), split, rows, pairs, folded, block)
        pictures.append(pooled)
        gap = max(gap, largest)
        yield
    pair_shares = [None if math.isnan(shares[pair]) else shares[pair] for pair in pairs]
    fields: ScoreMapFields = {
        "layer": layer,
        "head": head,
        "pairs": pairs,
        "share": pair_shares,
        "rest": None if None in pair_shares else sum(share for pair, share in shares.items() if pair not in pairs),
        "gap": gap,
        "block": block,
        "notes": list(notes),
    }
    return fields, {"values": torch.cat(pictures, 1)}


@torch.no_grad()
def _groups(trace: Trace, layer: int, head: int, side: str, tokens: slice) -> dict[str, Tensor]:
    factor = trace.scaling(layer) if side == "query" else 1.0
    dtype = torch.float64 if trace.dtype == "float64" else torch.float32
    return {name: (factor * x).to(dtype) for name, x in sources.groups(trace, layer, head, side, tokens).items()}


@torch.no_grad()
def _covariances(trace: Trace, split: _Split, rows: slice) -> dict[Pair, float]:
    """Σ_ij (part, less its row's mean)_ij · whole_ij / keys seen, of pairs in the order of GROUPS, then of terms.

    The rows of the whole sum to 0, so that Σ_j (q·k_j - mean) whole_j = q · Σ_j whole_j k_j: no part is made.
    """
    visible = sources.visible_keys(trace, split.layer, split.head, rows)
    queries, keys = ([*side.values()] for side in (split.queries, split.keys))
    products = torch.stack([x[rows] for x in queries]).sum(0) @ torch.stack(keys).sum(0).T
    terms = sources.score_terms(trace, split.layer, split.head, rows)
    scores = _centred(sum(terms.values(), products).to(products.dtype), _hidden(~visible))
    scores /= visible.sum(-1, keepdim=True).clamp_min(1)
    weighted_keys = (scores @ torch.cat(keys, 1)).unflatten(1, (len(keys), -1))  # (R, groups, d)
    sums = torch.einsum("grd,rhd->gh", torch.stack([x[rows] for x in queries]).double(), weighted_keys.double())
    of_pairs = dict(zip(product(split.queries, split.keys), sums.flatten().tolist(), strict=True))
    of_terms = {(term, term): float((part * scores).sum()) for term, part in terms.items()}
    return {pair: of_pairs[pair] for pair in product(GROUPS, GROUPS) if pair in of_pairs} | of_terms


def _rest(split: _Split, pairs: list[Pair]) -> Tensor:
    """(S, groups · d) for every group of queries the keys of all pairs with it that are not shown."""
    none = torch.zeros_like(next(iter(split.keys.values())))
    return torch.cat(
        [sum((keys for to, keys in split.keys.items() if (of, to) not in pairs), none) for of in split.queries], 1
    )


@torch.no_grad()
def _pictures(
    trace: Trace, split: _Split, rows: slice, pairs: list[Pair], folded: Tensor, block: int
) -> tuple[Tensor, float]:
    """Some rows of all pictures (2 + pairs, R / block, S / block), and the largest difference to the model's scores."""
    scores = trace.scores_part(split.layer, slice(split.head, split.head + 1), rows)[0]
    hidden = _hidden(scores == -torch.inf)
    terms = sources.score_terms(trace, split.layer, split.head, rows)
    remainder = torch.cat([x[rows] for x in split.queries.values()], 1) @ folded.T
    for term, part in terms.items():
        if (term, term) not in pairs:
            remainder += part.to(remainder.dtype)
    maps = (
        terms[of].to(remainder.dtype) if of in terms else split.queries[of][rows] @ split.keys[to].T for of, to in pairs
    )
    difference = _centred(scores, hidden).double()
    pooled = [_pooled(scores, block)]
    for picture in (*maps, remainder):
        difference -= _centred(picture, hidden)
        pooled.append(_pooled(picture, block))
    pictures = torch.stack(pooled)
    if hidden is not None:
        pictures[:, _blocks(hidden.float(), block, 1).amin(-1).amin(1) == 1] = torch.nan
    return pictures, float(difference.abs().max())


def _blocks(x: Tensor, block: int, filled: float) -> Tensor:
    """(R / block, block, S / block, block), with what the last blocks lack."""
    room = [-size % block for size in x.shape]
    return pad(x, (0, room[1], 0, room[0]), value=filled).unflatten(1, (-1, block)).unflatten(0, (-1, block))


def _pooled(values: Tensor, block: int) -> Tensor:
    """float32, the value of the largest size in every block; a 0, as hidden cells have, never stands for another."""
    if block == 1:
        return values.float()
    low, high = _blocks(values, block, 0).aminmax(dim=-1)
    low, high = low.amin(1), high.amax(1)
    return torch.where(high >= -low, high, low).float()


def carried_maps(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """What a page without a kernel holds: the heads shown, of a short text."""
    if within("carried", trace.n_tokens):
        yield from ({"layer": layer, "head": head} for layer, head in selection.heads)
