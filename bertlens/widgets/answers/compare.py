"""What a view knows of two runs: aligned tokens, how far apart heads are, and one head in both, a window at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...base.limits import within
from ...comparison.alignment import Alignment
from ...comparison.runs import Comparison
from ...errors import check_index
from ...export.still import compared_png
from ...measures.offers import offers
from ...trace.provenance import visible
from ...trace.trace import Trace
from ...vocabulary import MEASURES
from ..slices import PATIENCE, advanced, ask_again
from . import Answer, whatif

if TYPE_CHECKING:
    from ..questions import Asked
    from ..saving import Selection

WINDOW = 128  # units a side that are shown at once
STEP = WINDOW // 2
MOST = 5  # heads in words


def compared(asked: Asked, **window: Any) -> Answer:
    """`Compared.maps` of the view's two runs."""
    assert asked.shown.compared is not None  # the question needs them
    return asked.shown.compared.maps(**window)


def compared_heads(asked: Asked) -> Answer:
    """`Compared.heads` of the view's two runs."""
    assert asked.shown.compared is not None
    return asked.shown.compared.heads()


def saved(asked: Asked, selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `compared` that a page without a kernel holds."""
    assert asked.shown.compared is not None
    return asked.shown.compared.saved(selection)


class Compared:
    """Two runs as a page is told of them."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @property
    def title(self) -> str:
        """Both runs, short enough for a page's title."""
        return " | ".join(map(self._run, (self.comparison.a, self.comparison.b)))

    @staticmethod
    def _run(trace: Trace) -> str:
        changes = "".join(f", {whatif.label(change, trace.display_tokens)}" for change in trace.changes)
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

    @cached_property
    def _most(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.comparison.most(MOST).to_dict("records")
        return rows

    @cached_property
    def _nearest(self) -> list[list[Any]]:
        rows: list[list[Any]] = self.comparison.nearest().to_numpy(object).tolist()
        return rows

    def opened(self, selection: Mapping[str, Any]) -> dict[str, Any]:
        """A selection with the head and cell to open on; what was given wins."""
        if not self._short or {"layer", "head"} & selection.keys():
            return dict(selection)
        first, c = self._most[0], self.comparison
        opened = {"layer": first["layer"], "head": first["head"]}
        if not {"query", "key"} & selection.keys():
            query, key = c.cell(first["layer"], first["head"])
            opened |= {"query": query, "key": key}
        return opened | dict(selection)

    # What the page gets: js/src/tabs/compare/data.ts

    def first(self, layer: int, head: int) -> Answer:
        """The first picture: both runs in words, the aligned units, and of short texts the heads and one open head."""
        c = self.comparison
        fields: dict[str, Any] = {
            "sides": [
                {
                    "model": visible(trace.model_name),
                    "text": _text(trace),
                    "changes": [whatif.label(change, trace.display_tokens) for change in trace.changes],
                }
                for trace in (c.a, c.b)
            ],
            "by": c.queries.by,
            "queries": _names(c.queries),
            "keys": None if c.keys is c.queries else _names(c.keys),
            "said": c.said,
            "matched": c.same_heads,
            "heads": None,
            "open": None,
        }
        if not self._short:
            return fields, {}
        opened, arrays = self.maps(layer, head, "weight", 0, 0)
        return fields | {"heads": self.heads()[0], "open": opened}, arrays

    def heads(self) -> Answer:
        """How far every head is apart, and the five that are most; or, not matched by index, the nearest of each.

        The former of long texts in turns: "again", see slices.
        """
        c = self.comparison
        if not c.same_heads:
            return {"nearest": self._nearest}, {}
        if not advanced(c.advance, math.inf if within("saved", *self.sizes.values()) else PATIENCE):
            return ask_again()
        words = [
            {
                "layer": row["layer"],
                "head": row["head"],
                "words": row["words"],
                "cell": c.cell(row["layer"], row["head"]),
            }
            for row in self._most
        ]
        return {"apart": c.heads.flatten().tolist(), "most": words}, {}

    def maps(self, layer: int, head: int, measure: str, row: Any, col: Any) -> Answer:
        """One head in both: arrays a and b (rows, columns) float32 from the units `row` and `col` on, NaN at gaps.

        Fields: the question, and other, the head of b. Raises SelectionError for what does not exist.
        """
        c = self.comparison
        for name, first, size in zip(("row", "col"), (row, col), self.sizes.values(), strict=True):
            check_index(first if type(first) is int else str(first)[:40], size, name)
        rows, columns = slice(row, row + WINDOW), slice(col, col + WINDOW)
        other = [layer, head] if c.same_heads else self._nearest[layer * c.a.n_heads + head][2:4]
        first = c.head(0, layer, head, measure, rows, columns)
        second = c.head(1, other[0], other[1], measure, rows, columns)
        asked = {"layer": layer, "head": head, "measure": measure, "row": row, "col": col}
        return asked | {"other": other}, {"a": first.float(), "b": second.float()}

    def still(self, layer: int, head: int, query: int | None, key: int | None) -> bytes:
        """PNG of the window of a head that is shown, for notebooks that cannot run a view."""
        c = self.comparison
        row, col = self._window(query, key)
        fields, arrays = self.maps(layer, head, "weight", row, col)
        queries, keys = (
            [a if a is not None else b for a, b, _ in _names(side)[at : at + WINDOW]]
            for side, at in ((c.queries, row), (c.keys, col))
        )
        names = [f"L{at[0]}·H{at[1]}" for at in ((layer, head), fields["other"])]
        maps = [arrays[name].numpy() for name in "ab"]
        return compared_png(maps, queries, keys, names, [*map(self._run, (c.a, c.b)), c.said])

    def _window(self, query: int | None, key: int | None) -> tuple[int, int]:
        """Where the window begins that shows what is pinned."""
        row, col = (start(size, pin or 0) for size, pin in zip(self.sizes.values(), (query, key), strict=True))
        return row, col

    # What a page without a kernel holds

    def saved(self, selection: Selection) -> Iterator[dict[str, Any]]:
        """What it is asked of `maps`: all heads of short texts by weight, else those of `held`, at what is pinned."""
        c = self.comparison
        held = self.held(selection)
        row, col = self._window(selection.query, selection.key)
        for layer, head in held or [(n, h) for n in selection.layers for h in range(c.a.n_heads)]:
            for measure in self.measures if (layer, head) in selection.heads else ("weight",):
                yield {"layer": layer, "head": head, "measure": measure, "row": row, "col": col}

    def holds(self, layers: str, selection: Selection) -> str:
        """In words."""
        heads = ", ".join(f"L{layer}·H{head}" for layer, head in self.held(selection))
        return f"{layers}; a | b of {heads or 'all of their heads'}"

    def held(self, selection: Selection) -> list[tuple[int, int]]:
        """The heads that a page without a kernel holds, those shown and the most different; [] for all."""
        if within("carried", *self.sizes.values()):
            return []
        most = [(row["layer"], row["head"]) for row in self._most] if self.comparison.same_heads else []
        return [name for name in dict.fromkeys((*selection.heads, *most)) if name[0] in selection.layers]


def start(size: int, unit: int) -> int:
    """The first unit of the window that shows one: as js/src/tabs/compare/data.ts has it."""
    return max(0, min(STEP * ((unit - STEP // 2) // STEP), size - WINDOW))


def _names(alignment: Alignment) -> list[list[Any]]:
    """[name in a, name in b, position] of the units; None is a gap, the position is that in a, where a has it."""
    found: list[list[Any]] = []
    for i, j in alignment.pairs:
        units = [None if i is None else alignment.a[i], None if j is None else alignment.b[j]]
        names = [None if unit is None else visible(unit.name) for unit in units]
        found.append([*names, next(unit.pieces[0] for unit in units if unit is not None)])
    return found


def _text(trace: Trace) -> str:
    return " / ".join(visible(text) for text in (trace.text, trace.text_pair) if text)
