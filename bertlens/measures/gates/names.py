"""From neutral patterns to gate names: one table, and the labels and the evidence that follow from it.

Gate names after Bonino et al. 2025 (arXiv 2502.12033); which pattern speaks for which gate is bertlens' own reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ...base.generators import Steps, run_to_end
from ...base.vocabulary import GATE_LEAST_CONTENT as LEAST_CONTENT
from ...base.vocabulary import GATE_MARGIN as MARGIN
from ...base.vocabulary import GATE_THRESHOLD as THRESHOLD
from ...base.vocabulary import GATES as WORDS
from ...base.vocabulary import phrases
from ...base.vocabulary.constants import GATE_LEVEL, GATE_RISE
from ...errors import InputError
from .patterns import PatternScores, measure, measure_rows

# gate -> the patterns that speak for it; its score is the strongest of them
GATES: dict[str, tuple[str, ...]] = {name: word.patterns for name, word in WORDS.items() if word.patterns}


class Scores(dict[str, Tensor]):
    """by_gate: gate -> score (...) of maps of `n` content tokens, the number that labels depend on."""

    def __init__(self, by_gate: Mapping[str, Tensor], n: int):
        super().__init__(by_gate)
        self.n = n


def scores(attention: Tensor, special_mask: Tensor, segments: Tensor | None = None, *, view: str = "full") -> Scores:
    """How much a map is each kind of gate: name -> float64 (...) in [0, 1], chance-corrected, NaN if undefined.

    attention (..., S, S); arguments and errors as for `patterns`. A score is the largest of its gate's patterns, see
    `GATES`. Names after Bonino et al. 2025; scores are bertlens' own operationalisation. A single sharp map says
    "instance" even if it is random: `classify` over five traces or more tells the two apart. Scores depend on the
    length of the text.
    """
    return scores_of(measure(attention, special_mask, segments, view))


def scores_of_rows(
    blocks: Iterable[tuple[int, Tensor]], special_mask: Tensor, segments: Tensor | None = None, *, view: str = "full"
) -> Scores:
    """`scores` of maps that come as blocks of successive rows: nothing of S × S is made of a long text.

    blocks: the first key and the weights (..., R, C) of as many keys as come from there on; others get 0. Overwritten.
    """
    return run_to_end(score_rows(blocks, special_mask, segments, view))


def score_rows(
    blocks: Iterable[tuple[int, Tensor]], special_mask: Tensor, segments: Tensor | None, view: str = "full"
) -> Steps[Scores]:
    """`scores_of_rows` of blocks, which yields after each."""
    return scores_of((yield from measure_rows(blocks, special_mask, segments, view)))


def joined(groups: Sequence[Scores]) -> Scores:
    """The scores (H,) of groups of a layer's heads, or (L', H) of groups of layers, as those of all."""
    return Scores({gate: torch.cat([scores[gate] for scores in groups]) for gate in GATES}, groups[0].n)


def scores_of(patterns: PatternScores) -> Scores:
    """Of each gate the strongest of its patterns, (...) as they."""
    strongest = {gate: torch.stack([patterns.scores[name] for name in names]).amax(0) for gate, names in GATES.items()}
    return Scores(strongest, len(patterns.content))


def threshold_at(n: int, threshold: float = THRESHOLD) -> float:
    """What a score has to reach at n content tokens: `threshold` from 12 on, more below, infinite under 8.

    The fewer tokens there are, the further noise alone reaches. Between 8 and 11 the threshold is higher by
    6 · (1/n − 1/12), 0.25 at n = 8, so that of maps without structure, with up to four special tokens, 3 % at most get
    a name other than "mixed", "open" and "instance". By simulation: softmax of N(0, sd), sd 1 to 4, and Dirichlet rows
    of concentration .01 to .3, the worst of which would get one in 10 % at n = 8 under the plain threshold.
    """
    if n < LEAST_CONTENT:
        return float("inf")
    return threshold + GATE_RISE * max(0.0, 1 / n - 1 / GATE_LEVEL)


def label(scores: Mapping[str, Tensor], threshold: float = THRESHOLD, margin: float = MARGIN) -> np.ndarray:
    """The primary label of each map, array of str (...).

    The gate with the highest score if that is at least `threshold_at` its length and `margin` above the second; else
    "mixed", and "undefined" under 8 content tokens, and where scores are NaN. A plain mapping does not know its length:
    for it the threshold is `threshold`. A label is of a head at that length: with the same head "closed" falls and
    other labels rise as texts get longer.
    """
    names, values = _table(scores)
    floors = _least(scores, threshold)
    ranked = np.sort(values, -1)
    primary = np.where(
        (ranked[..., -1] >= floors) & (ranked[..., -1] - ranked[..., -2] >= margin),
        names[values.argmax(-1)],
        "mixed",
    )
    return np.where(np.isnan(values).any(-1) | np.isinf(floors), "undefined", primary)


def labels(scores: Mapping[str, Tensor], threshold: float = THRESHOLD) -> np.ndarray:
    """All gates whose score reaches the threshold, the highest first: array of tuples of str (...), some empty.

    scores: gate -> (...). Threshold and length as for `label`: all are empty under 8 content tokens.
    """
    names, values = _table(scores)
    floors = _least(scores, threshold)
    label_sets = np.empty(values.shape[:-1], dtype=object)
    for at in np.ndindex(label_sets.shape):
        order = np.argsort(-values[at], kind="stable")
        label_sets[at] = tuple(str(names[gate]) for gate in order if values[at][gate] >= floors)
    return label_sets


def _least(scores: Mapping[str, Tensor], threshold: float) -> float:
    return threshold_at(scores.n, threshold) if isinstance(scores, Scores) else threshold


def _table(scores: Mapping[str, Tensor]) -> tuple[np.ndarray, np.ndarray]:
    values = torch.stack([torch.as_tensor(value, device="cpu") for value in scores.values()], -1)
    return np.array(list(scores)), values.double().cpu().numpy()


@dataclass(frozen=True)
class Evidence:
    """What made a gate's score: the pattern that won, its cells, and how much of the attention lies on them."""

    gate: str
    pattern: str
    score: float
    cells: Tensor = field(repr=False)  # (S, S) bool [query, key]
    mass: float  # mean over the content rows of the attention on these cells, in [0, 1]
    # which tokens: "columns 3 and 9", "cut before token 12", "up to 2 tokens away"; '' where the name says it
    detail: str


def evidence(
    attention: Tensor, special_mask: Tensor, gate: str, segments: Tensor | None = None, *, view: str = "full"
) -> Evidence:
    """The cells that made one map's score for one gate. attention (S, S); the rest as for `patterns`.

    "unstructured" has all cells of the content rows. A map that is undefined has no cells. Raises InputError for an
    unknown gate, and as `patterns`.
    """
    weights = attention.detach()
    return evidence_of_rows(lambda: [(0, 0, weights.clone())], special_mask, gate, segments, view=view)


def evidence_of_rows(
    blocks: Callable[[], Iterable[tuple[int, int, Tensor]]],
    special_mask: Tensor,
    gate: str,
    segments: Tensor | None = None,
    *,
    view: str = "full",
    patterns: PatternScores | None = None,
) -> Evidence:
    """`evidence` of a map that comes as blocks of successive rows: of a long text only the cells are S × S, as bools.

    blocks: called twice, gives first row, first key and the weights (R, C), as `scores_of_rows`. Overwritten.
    patterns: of this map and view, where they are known; blocks is called once then.
    Raises InputError for a gate that does not exist.
    """
    if gate not in GATES:
        raise InputError(f"unknown gate {gate!r}, it must be one of: {', '.join(GATES)}")
    if patterns is None:
        by_key = ((first_key, weights) for _, first_key, weights in blocks())
        patterns = run_to_end(measure_rows(by_key, special_mask, segments, view))
    pattern = max(GATES[gate], key=lambda name: float(patterns.scores[name].nan_to_num()))
    size, content = len(special_mask), patterns.content
    cells = torch.zeros(size, size, dtype=torch.bool, device=special_mask.device)
    on = []
    for start, first_key, weights in blocks():
        stop, keys = start + len(weights), slice(first_key, first_key + weights.shape[1])
        rows = slice(int((content < start).sum()), int((content < stop).sum()))  # of content tokens
        at = content[rows]
        if patterns.order is not None:
            cells[at] = _cells(patterns, pattern, rows, special_mask, view)
        weights = weights[at - start].float()
        if view == "content":
            weights[:, special_mask[keys]] = 0
        on.append((weights * cells[at][:, keys]).sum(-1) / weights.sum(-1).clamp_min(1e-12))
    mass = float(torch.cat(on).mean()) if len(content) else float("nan")
    detail = "" if patterns.order is None else _detail(patterns, pattern)
    return Evidence(gate, pattern, float(patterns.scores[pattern]), cells, mass, detail)


def _cells(patterns: PatternScores, pattern: str, rows: slice, special_mask: Tensor, view: str) -> Tensor:
    """(r, S) those of some content rows."""
    if pattern == "special columns":
        return (special_mask & (view == "full")).expand(len(patterns.content[rows]), -1)
    if pattern == "unstructured":
        return (~special_mask | (view == "full")).expand(len(patterns.content[rows]), -1)
    among = _content_cells(patterns, pattern, rows)
    cells = torch.zeros(len(among), len(special_mask), dtype=torch.bool, device=among.device)
    cells[:, patterns.content] = among
    return cells


def _content_cells(patterns: PatternScores, pattern: str, rows: slice) -> Tensor:
    """(r, n) cells of some content rows among content tokens."""
    positions = patterns.content
    index = torch.arange(len(positions), device=positions.device)
    offset = index - index[rows, None]
    if pattern in ("next", "previous"):
        adjacent = (positions - positions[rows, None]).abs() == 1
        return adjacent & (offset == (1 if pattern == "next" else -1))
    if pattern in ("self", "after", "before"):
        return {"self": offset == 0, "after": offset > 0, "before": offset < 0}[pattern]
    if pattern == "both neighbours":
        return (offset != 0) & (offset.abs() <= int(patterns.width))  # type: ignore[arg-type]
    cells = torch.zeros_like(offset, dtype=torch.bool)
    if pattern == "content columns":
        cells[:, _columns(patterns)] = True
        return cells
    if pattern == "far peaks":
        cells[torch.arange(len(cells), device=cells.device), patterns.targets[rows]] = True  # type: ignore[index]
        return cells & (offset.abs() > 1)
    for block in patterns.blocks.bool():  # type: ignore[union-attr]
        cells |= block[rows, None] & block
    return cells


def _columns(patterns: PatternScores) -> Tensor:
    return patterns.order[: int(patterns.n_columns)].sort().values  # type: ignore[index,arg-type]


def _detail(patterns: PatternScores, pattern: str) -> str:
    """Where the cells are, in words."""
    positions = patterns.content
    if pattern == "both neighbours":
        width = int(patterns.width)  # type: ignore[arg-type]
        return phrases.BAND.format(width=width, s="s" * (width > 1))
    if pattern == "content columns":
        columns = positions[_columns(patterns)].tolist()
        return phrases.COLUMNS.format(s="s" * (len(columns) > 1), places=", ".join(map(str, columns)))
    if pattern == "block":
        starts = sorted(int(positions[block.nonzero()[0, 0]]) for block in patterns.blocks.bool())  # type: ignore[union-attr]
        return phrases.CUT_BEFORE.format(places=" and ".join(map(str, starts[1:])))
    return ""
