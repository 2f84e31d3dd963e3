"""What a view knows of two runs: aligned tokens, how far apart heads are, and one head in both, a window at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict

from ...base.limits import within
from ...base.vocabulary import MEASURES
from ...base.vocabulary.constants import COMPARED_HEADS, COMPARED_UNITS
from ...base.wire import Float32
from ...comparison.alignment import Alignment
from ...comparison.runs import Comparison
from ...errors import check_index
from ...export.still_picture import compared_png
from ...measures.offers import offers
from ...trace.provenance import visible
from ...trace.trace import Trace
from ...whatif import chips
from ..messages.records import Answer, Nothing, Selection
from ..messages.turns import PATIENCE, advanced, ask_again
from .panel import Panel

STEP = COMPARED_UNITS // 2
ONE_RUN = "this view shows one run: bl.compare(a, b).explore() compares two"
Unit: TypeAlias = tuple[
    str | None, str | None, int
]  # name in a, in b, position; None is a gap, the position in a, where a has it
Nearest: TypeAlias = tuple[int, int, int, int, float]  # layer and head of a, of b, nats


class ComparedRun(TypedDict):
    model: str
    text: str
    changes: list[str]


class Apart(TypedDict):
    layer: int
    head: int
    words: str
    cell: tuple[int, int]  # query, key


class HeadsApart(TypedDict, total=False):
    apart: list[float]  # nats, (L·H)
    most: list[Apart]
    nearest: list[Nearest]  # where heads are not matched by index, alone


class WindowPlace(TypedDict):
    layer: int
    head: int
    measure: str
    row: int  # the first units of the window
    col: int
    aligned: NotRequired[Literal[True]]
    other: tuple[int, int]  # the head of b


class WindowMaps(TypedDict):
    a: Float32  # (rows, columns) NaN at gaps
    b: Float32


class Compared(TypedDict):
    sides: tuple[ComparedRun, ComparedRun]
    by: str  # "tokens" or "words"
    queries: list[Unit]
    keys: list[Unit] | None  # None: the same
    said: tuple[str, str]  # of all, of aligned ones alone
    only: bool  # what Python compared are the aligned words alone: pins count those
    matched: bool  # heads by their index
    heads: HeadsApart | None  # of the same words as `open`; None: to be asked for
    open: WindowPlace | None


class ComparisonPanel(Panel):
    """Two runs as a page is told of them; the trace of the view is the first."""

    needs: ClassVar = {
        "comparison": ONE_RUN,
        "another run": "this view was made from attention maps: it has no model to run another text with",
    }
    no_text = "this view compares two runs: bl.compare(a, b).explore() makes one of others"
    no_map = "other maps are compared by bl.compare(a.maps[name], b.maps[name])"
    no_model = "a live page shows one text: save trace.explore() with live=True"

    @staticmethod
    def of_trace(trace: Trace, need: str) -> bool:
        return need == "another run" and (trace.lens is not None or bool(trace.changes))

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self._by = {comparison.aligned_only: comparison}
        self._near: dict[bool, list[Nearest]] = {}

    def by(self, aligned: bool) -> Comparison:
        """By aligned words alone, or by all."""
        return self._by.setdefault(aligned, self.comparison.only(aligned))

    @property
    def kinds(self) -> list[dict[str, Any]]:
        """What is there to be asked: all words, and aligned ones alone, where that is not the same."""
        c = self.by(False)
        has_gaps = any(None in pair for side in (c.queries, c.keys) for pair in side.pairs)
        return [{}, {"aligned": True}] if has_gaps else [{}]

    def title(self, model: str, parts: Sequence[str]) -> str:
        """Both runs, short enough for a page's title."""
        return " | ".join(map(self._run, (self.comparison.a, self.comparison.b)))

    def footer(self, holds: str) -> str:
        return f" · beside {visible(self.comparison.b.model_name)}; holds {holds}"

    @staticmethod
    def _run(trace: Trace) -> str:
        changes = "".join(f", {chips.label(change, trace.display_tokens)}" for change in trace.changes)
        return f"{visible(trace.model_name)}: {_text(trace)[:60]}{changes}"

    @property
    def sizes(self) -> dict[str, int]:
        """How many units there are to select, gaps included."""
        c = self.comparison
        return {"query": len(c.queries.pairs), "key": len(c.keys.pairs)}

    @property
    def measures(self) -> list[str]:
        """What both runs have of a head."""
        c = self.comparison
        return ["weight"] if any(offers(trace)["norms"] for trace in (c.a, c.b)) else list(MEASURES)

    @property
    def _short(self) -> bool:
        return self.comparison.same_heads and within("compared", *self.sizes.values())

    @property
    def opening(self) -> Comparison:
        """What a view opens on: aligned words alone. What looks at a word that the other text lacks is an artefact."""
        return self.by(len(self.kinds) > 1)

    @cached_property
    def _most(self) -> list[dict[str, Any]]:
        return self.opening.most(COMPARED_HEADS).to_dict("records")

    def _nearest(self, aligned: bool) -> list[Nearest]:
        if aligned not in self._near:
            self._near[aligned] = [*map(tuple, self.by(aligned).nearest().to_numpy(object).tolist())]
        return self._near[aligned]

    def opened(self, selection: Mapping[str, Any]) -> dict[str, Any]:
        """A selection with the head and cell to open on, and the words; what was given wins."""
        if not self._short or {"layer", "head"} & selection.keys() or not self._most:
            return dict(selection)
        row, c, pairs = self._most[0], self.comparison, self.opening
        opened = {"layer": row["layer"], "head": row["head"]}
        if not {"query", "key"} & selection.keys():
            query, key = pairs.cell(row["layer"], row["head"])
            opened["query"] = c.queries.pairs.index(pairs.queries.pairs[query])
            opened["key"] = c.keys.pairs.index(pairs.keys.pairs[key])
        return opened | dict(selection)

    # What the page gets: js/src/tabs/compare/tworuns.ts

    def told(self) -> Compared:
        """Both runs in words, and the aligned units, gaps included."""
        c = self.by(False)
        return {
            "sides": (_told(c.a), _told(c.b)),
            "by": c.queries.by,
            "queries": _names(c.queries),
            "keys": None if c.keys is c.queries else _names(c.keys),
            "said": (c.said, self.by(True).said),
            "only": self.comparison.aligned_only,
            "matched": c.same_heads,
            "heads": None,
            "open": None,
        }

    def overview(self, layer: int, head: int) -> Answer:
        """What is told, and of short texts the heads and one open head."""
        fields, arrays = self.told(), dict[str, Any]()
        if self._short:
            aligned = self.opening.aligned_only
            opened, maps = self.maps(layer, head, "weight", 0, 0, aligned)
            fields |= {"heads": self.heads(aligned)[0], "open": opened}
            arrays = {f"compared.{name}": values for name, values in maps.items()}
        return {"compared": fields, "measures": self.measures}, arrays

    def heads(self, aligned: bool = False) -> tuple[HeadsApart, Nothing]:
        """How far every head is apart, and the five that are most; or, not matched by index, the nearest of each.

        The former of long texts in turns: "again", see turns.
        """
        c = self.by(aligned)
        if not c.same_heads:
            return {"nearest": self._nearest(aligned)}, {}
        if not advanced(c.advance, math.inf if within("saved", *self.sizes.values()) else PATIENCE):
            return ask_again()
        words: list[Apart] = [
            {
                "layer": row["layer"],
                "head": row["head"],
                "words": row["words"],
                "cell": c.cell(row["layer"], row["head"]),
            }
            for row in c.most(COMPARED_HEADS).to_dict("records")
        ]
        return {"apart": c.heads.flatten().tolist(), "most": words}, {}

    def maps(
        self, layer: int, head: int, measure: str, row: Any, col: Any, aligned: bool = False
    ) -> tuple[WindowPlace, WindowMaps]:
        """One head in both, from the units `row` and `col` on. Raises SelectionError for what does not exist."""
        c = self.by(aligned)
        for name, begin, side in zip(("row", "col"), (row, col), (c.queries, c.keys), strict=True):
            check_index(begin if type(begin) is int else str(begin)[:40], len(side.pairs), name)
        rows, columns = slice(row, row + COMPARED_UNITS), slice(col, col + COMPARED_UNITS)
        head_b = (layer, head) if c.same_heads else self._nearest(aligned)[layer * c.a.n_heads + head][2:4]
        a = c.head(0, layer, head, measure, rows, columns)
        b = c.head(1, *head_b, measure, rows, columns)
        place: WindowPlace = {"layer": layer, "head": head, "measure": measure, "row": row, "col": col, "other": head_b}
        if aligned:
            place["aligned"] = True
        return place, {"a": a.float(), "b": b.float()}

    def still(self, layer: int, head: int, query: int | None, key: int | None) -> bytes:
        """PNG of the window of a head that is shown."""
        c = self.opening
        row, col = self._window(query, key, c.aligned_only)
        fields, arrays = self.maps(layer, head, "weight", row, col, c.aligned_only)
        queries, keys = (
            [a if a is not None else str(b) for a, b, _ in _names(side)[at : at + COMPARED_UNITS]]
            for side, at in ((c.queries, row), (c.keys, col))
        )
        names = [f"L{at[0]}·H{at[1]}" for at in ((layer, head), fields["other"])]
        maps = [arrays["a"].numpy(), arrays["b"].numpy()]
        return compared_png(maps, queries, keys, names, [*map(self._run, (c.a, c.b)), c.said])

    def pinned(self, selection: Selection) -> Selection:
        """A selection whose pins, tokens of a, are units of both."""
        sides = (self.comparison.queries, self.comparison.keys)
        units = [
            next((n for n, (i, _) in enumerate(side.pairs) if i is not None and pin in side.a[i].pieces), None)
            for side, pin in zip(sides, (selection.query, selection.key), strict=True)
        ]
        return replace(selection, query=units[0], key=units[1])

    def _window(self, query: int | None, key: int | None, aligned: bool) -> tuple[int, int]:
        """Where the window begins that shows what is pinned, of aligned words or of all."""
        c, target = self.comparison, self.by(aligned)
        row = start(len(target.queries.pairs), _place(c.queries, target.queries, query or 0))
        return row, start(len(target.keys.pairs), _place(c.keys, target.keys, key or 0))

    # What a page without a kernel holds

    def saved(self, selection: Selection) -> Iterator[dict[str, Any]]:
        """What it is asked of `maps`: all heads of short texts by weight, else those of `held`, at what is pinned."""
        heads = self.held(selection)
        for kind in self.kinds:
            row, col = self._window(selection.query, selection.key, bool(kind))
            for layer, head in heads or [(n, h) for n in selection.layers for h in range(self.comparison.a.n_heads)]:
                for measure in self.measures if (layer, head) in selection.heads else ("weight",):
                    yield {"layer": layer, "head": head, "measure": measure, "row": row, "col": col, **kind}

    def holds(self, layers: str, selection: Selection) -> str:
        heads = ", ".join(f"L{layer}·H{head}" for layer, head in self.held(selection))
        return f"{layers}; a | b of {heads or 'all of their heads'}"

    def held(self, selection: Selection) -> list[tuple[int, int]]:
        """The heads that a page without a kernel holds, those shown and the most different; [] for all."""
        if within("carried", *self.sizes.values()):
            return []
        places = [(row["layer"], row["head"]) for row in self._most] if self.comparison.same_heads else []
        return [name for name in dict.fromkeys((*selection.heads, *places)) if name[0] in selection.layers]


def start(size: int, unit: int) -> int:
    """The first unit of the window that shows one: as js/src/tabs/compare/tworuns.ts has it."""
    return max(0, min(STEP * ((unit - STEP // 2) // STEP), size - COMPARED_UNITS))


def _place(units: Alignment, target: Alignment, pin: int) -> int:
    """Where a unit of one list of pairs stands in another one, 0 where it does not."""
    pair = units.pairs[pin]
    return target.pairs.index(pair) if pair in target.pairs else 0


def _names(alignment: Alignment) -> list[Unit]:
    rows: list[Unit] = []
    for i, j in alignment.pairs:
        units = [None if i is None else alignment.a[i], None if j is None else alignment.b[j]]
        a, b = (None if unit is None else visible(unit.name) for unit in units)
        rows.append((a, b, next(unit.pieces[0] for unit in units if unit is not None)))
    return rows


def _told(trace: Trace) -> ComparedRun:
    changes = [chips.label(change, trace.display_tokens) for change in trace.changes]
    return {"model": visible(trace.model_name), "text": _text(trace), "changes": changes}


def _text(trace: Trace) -> str:
    return " / ".join(visible(text) for text in (trace.text, trace.text_pair) if text)
