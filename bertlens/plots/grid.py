"""What the Explorer's head view shows: a map of pieces, words or spans, filtered. See js/src/state/headgrid.ts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ..base.vocabulary import LAYER_MAPS, MEASURES, PAIR_FILTERS, UNITS
from ..errors import SelectionError, check_index, check_name
from ..measures import norms
from ..measures.layer_maps import layer_map as map_of_layer
from ..measures.words import annotation, grouped
from ..text.display import word_of
from ..trace.trace import Trace

_SEGMENTS = {"all": (None, None), "AA": (0, 0), "AB": (0, 1), "BA": (1, 0), "BB": (1, 1)}


@dataclass(frozen=True)
class GridUnit:
    """A row or a column: a piece, or the pieces of a word or span (positions, ascending)."""

    label: str
    pieces: tuple[int, ...]
    segment: int
    special: bool


@dataclass(frozen=True)
class Grid:
    """values (R, C) float32 [query, key]; `name` and `symbol` are those of the view, `signed` its colours."""

    values: np.ndarray
    rows: list[GridUnit]
    cols: list[GridUnit]
    spans: list[tuple[str, int, int]]
    name: str
    symbol: str
    signed: bool

    @property
    def title(self) -> str:
        return f"{self.name}, {'attention' if self.symbol == 'α' else self.symbol}"

    def edges(self, units: Sequence[GridUnit]) -> list[int]:
        """The units that the second sentence and the named spans begin with, but for the first unit."""
        starts = {
            next((n for n, unit in enumerate(units) if start <= unit.pieces[0] < end), 0)
            for _, start, end in self.spans
        }
        segments = [unit.segment for unit in units]
        starts |= {n for n in range(1, len(units)) if (segments[n - 1], segments[n]) == (0, 1)}
        return sorted(starts - {0})


def shown_grid(
    trace: Trace,
    layer: int,
    head: int | None,
    measure: str = "weight",
    layer_map: str = "",
    units: str = "pieces",
    pair_filter: str = "all",
    hide_special: bool = False,
    renormalize: bool = False,
) -> Grid:
    """What the view shows under these names and values of its own selection.

    A word's columns are summed, its rows averaged. The pair filter leaves rows and columns of one sentence each;
    `renormalize` scales rows of weights whose special tokens are hidden to 1. layer_map: instead of a head.
    Raises SelectionError for what does not exist and where no token is left, ModelError for what the trace does not
    offer.
    """
    for name, value, names in (("measure", measure, MEASURES), ("units", units, UNITS)):
        check_name(value, names, name)
    check_name(pair_filter, PAIR_FILTERS, "pair_filter")
    check_index(layer, trace.n_layers, "layer")
    if layer_map:
        values, measure = map_of_layer(trace, layer, layer_map).cpu().numpy(), "weight"
        name, symbol = f"L{layer} {LAYER_MAPS[layer_map].label}", LAYER_MAPS[layer_map].symbol
    else:
        if head is None:
            raise SelectionError("give a head, or a layer_map")
        check_index(head, trace.n_heads, "head")
        values = _values(trace, layer, head, measure)
        name, symbol = f"L{layer}·H{head}", MEASURES[measure].symbol
    labels, spans = annotation(trace)
    square = trace.key_encoding is None
    special, segments, words = trace.special_mask.tolist(), trace.segments.tolist(), trace.word_ids
    rows = _units(labels, words, segments, special, units, spans, trace.encoding.continuation)
    if trace.key_encoding is None:
        cols = rows
    else:
        sides = (trace.key_word_ids, trace.key_segments.tolist(), trace.key_special_mask.tolist())
        cols = _units(trace.display_key_tokens, *sides, units, spans, trace.key_encoding.continuation)
    sides_of_pairs = _SEGMENTS[pair_filter] if square and 1 in segments else (None, None)
    rows, cols = (
        [u for u in side if not (hide_special and u.special) and segment in (None, u.segment)]
        for side, segment in zip((rows, cols), sides_of_pairs, strict=True)
    )
    if not rows or not cols:
        raise SelectionError("no tokens are left: show special tokens, or all pairs")
    merged = _merged(values, rows, cols)
    if renormalize and hide_special and measure == "weight" and not layer_map:
        total = merged.sum(1, keepdims=True, dtype=np.float64)
        merged = (merged / np.where(total == 0, 1, total)).astype(np.float32)
    return Grid(merged, rows, cols, spans, name, symbol, not layer_map and MEASURES[measure].signed)


def _values(trace: Trace, layer: int, head: int, measure: str) -> np.ndarray:
    """(S, K) what the view shows of a head."""
    alpha = trace.attention(layer)[head].float()
    if measure == "weight":
        return alpha.cpu().numpy()
    passed = norms.weighted_norm(trace, layer)[head].float()
    share = passed / passed.sum(-1, keepdim=True).clamp_min(1e-30)
    return (passed if measure == "norm" else alpha - share).cpu().numpy()


def _units(
    labels: list[str],
    words: Sequence[int | None],
    segments: Sequence[int],
    special: Sequence[bool],
    kind: str,
    spans: Sequence[tuple[str, int, int]],
    continuation: str,
) -> list[GridUnit]:
    """The units of one side; tokens that are in no span stay single."""
    groups = [[n] for n in range(len(labels))]
    names: dict[int, str] = {}
    if kind == "words":
        # a word is cut where another segment begins
        groups = [[*run] for word in grouped(words) for _, run in groupby(word, key=segments.__getitem__)]
    elif kind == "spans" and spans:
        names = {start: name for name, start, _ in spans}
        inside = {n for _, start, end in spans for n in range(start, end)}
        groups = sorted([[n] for n in range(len(labels)) if n not in inside] + [[*range(a, b)] for _, a, b in spans])
    return [
        GridUnit(
            names.get(group[0], word_of((labels[n] for n in group), continuation)),
            tuple(group),
            segments[group[0]],
            bool(special[group[0]]),
        )
        for group in groups
    ]


def _merged(values: np.ndarray, rows: list[GridUnit], cols: list[GridUnit]) -> np.ndarray:
    """(R, C) float32: columns of a unit summed, its rows averaged."""
    if len(rows) == values.shape[0] and len(cols) == values.shape[1]:
        return values
    exact = np.stack([values[:, list(col.pieces)].sum(1, dtype=np.float64) for col in cols], 1)
    return np.stack([exact[list(row.pieces)].mean(0) for row in rows]).astype(np.float32)
