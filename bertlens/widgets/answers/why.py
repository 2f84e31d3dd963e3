"""What the page is told about why one cell's query looks at its key: small answers, for one cell at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from typing_extensions import NotRequired, TypedDict

from ...base.limits import within
from ...base.ranking import is_nothing
from ...base.wire import Float32, Float64
from ...measures import sources
from ...measures.words import strongest_words
from ...trace.trace import Trace
from ..messages.records import Selection

LARGEST = 6  # parts shown as bars, the rest folded into one


class Cell(TypedDict):
    layer: int
    head: int
    query: int
    key: int


class ScoreSum(Cell):
    total: float  # nats, as model and gap
    model: float
    gap: float
    notes: list[str]


class ScorePart(TypedDict):
    kind: str
    layer: int | None
    head: int | None
    value: float
    token: int | None  # where an earlier head fetched most of it
    fetched: float | None


class Others(TypedDict):
    count: int
    value: float


class WhyFields(ScoreSum):
    side: str
    against: str | int | None
    through_mlps: bool
    weight: float  # α of the cell
    other_weight: (
        float | None
    )  # mean of the other visible keys' α, or that of the key that it is against; None of the raw score
    seen: int  # keys that the query sees
    ratio: float | None  # e^total: of the weight to the geometric mean of the others', or to that key's
    spread: float | None  # Σ|parts| / |total|; None, as the ratio, of the raw score and where |total| < NEAR_ZERO
    absolute: float  # Σ|parts|
    kinds: list[tuple[str, float]]
    largest: list[ScorePart]
    others: Others  # parts that are folded, and their sum


class WhyArrays(TypedDict):
    heads: NotRequired[Float32]  # (layer, H), none in layer 0
    mlps: NotRequired[Float32]  # (layer,), nor where MLPs are opened


class WhyPairs(ScoreSum):
    kinds: list[str]


class PairValues(TypedDict):
    values: Float64  # (kinds, kinds), the query's down: they sum to the total, rows and columns to those of either side


def why(
    trace: Trace,
    layer: int,
    head: int,
    query: int,
    key: int,
    side: str = "query",
    against: str | int | None = "others",
    through_mlps: bool = False,
) -> tuple[WhyFields, WhyArrays]:
    """One cell's score by source. Raises as `measures.sources.score`."""
    s = sources.score(trace, layer, head, query, key, side, against, through_mlps)
    rows = s.rows
    kinds: dict[str, float] = {}
    for kind, _, _, value in rows:
        kinds[kind] = kinds.get(kind, 0.0) + value
    ordered = sorted(rows, key=lambda row: -abs(row[3]))
    count = sum(not is_nothing(row[3]) for row in ordered[:LARGEST])
    bars, folded = ordered[:count], ordered[count:]
    fetched = sources.fetched_most(s, [(at, h) for _, at, h, _ in bars if at is not None and h is not None])
    largest: list[ScorePart] = []
    for kind, at, h, value in bars:
        token, amount = fetched.get((at, h), (None, None)) if at is not None and h is not None else (None, None)
        largest.append({"kind": kind, "layer": at, "head": h, "value": value, "token": token, "fetched": amount})
    alpha = trace.attention_part(layer, slice(head, head + 1), slice(query, query + 1), slice(None))[0, 0].double()
    visible = sources.visible_keys(trace, layer, head, query)
    spread = s.spread
    if against is None:
        other_weight = None
    elif isinstance(against, int):
        other_weight = float(alpha[against])
    else:
        other_weight = float((alpha[visible].sum() - alpha[key]) / (visible.sum() - 1))
    fields: WhyFields = {
        "layer": layer,
        "head": head,
        "query": query,
        "key": key,
        "side": side,
        "against": against,
        "through_mlps": through_mlps,
        "total": s.total,
        "model": s.model,
        "gap": s.gap,
        "weight": float(alpha[key]),
        "other_weight": other_weight,
        "seen": int(visible.sum()),
        "ratio": math.exp(s.total) if spread is not None and against is not None else None,
        "spread": spread,
        "absolute": sum(abs(row[3]) for row in rows),
        "kinds": list(kinds.items()),
        "largest": largest,
        "others": {"count": len(folded), "value": sum(row[3] for row in folded)},
        "notes": list(s.notes),
    }
    if not layer:
        return fields, {}
    arrays: WhyArrays = {
        "heads": torch.tensor(
            [value for kind, *_, value in rows if kind == "head"], dtype=torch.float32, device="cpu"
        ).reshape(layer, -1)
    }
    if not through_mlps:
        arrays["mlps"] = torch.tensor(
            [value for kind, *_, value in rows if kind == "mlp"], dtype=torch.float32, device="cpu"
        )
    return fields, arrays


def why_pairs(trace: Trace, layer: int, head: int, query: int, key: int) -> tuple[WhyPairs, PairValues]:
    """One cell's raw score by the kinds of both sides. Raises as `measures.sources.pairs`."""
    kinds, by_kind, notes = sources.kind_pairs(trace, layer, head, query, key)
    q, k = trace.query(layer)[head, query].double(), trace.key(layer)[head, key].double()
    terms = sources.score_terms(trace, layer, head, slice(query, query + 1))
    beside = sum(float(part[0, key]) for part in terms.values())
    total, model = float(by_kind.sum()), float(q @ k) * trace.scaling(layer) + beside
    fields: WhyPairs = {
        "layer": layer,
        "head": head,
        "query": query,
        "key": key,
        "kinds": kinds,
        "total": total,
        "model": model,
        "gap": total - model,
        "notes": notes,
    }
    return fields, {"values": by_kind.cpu()}


def carried(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `why` that a page without a kernel holds, for a short text.

    Of the heads shown, each query at its strongest word, what a click on the query opens, and at its strongest key, the
    cell that stands out, by either side; of the pinned cell the raw score and opened MLPs too.
    """
    if not within("carried", trace.n_tokens):
        return
    for layer, head in selection.heads:
        alpha = trace.attention_heads(layer, head, head + 1)[0]
        meant = strongest_words(trace, layer, head, slice(0, trace.n_tokens))  # as js/src/state/pin.ts
        keys = alpha.argmax(-1).tolist()
        strongest = [best if key is None else key for key, best in zip(meant, keys, strict=True)]
        cells = sorted({*enumerate(strongest), *enumerate(keys)})
        pinned = None
        if selection.query is not None:
            pinned = selection.query, strongest[selection.query] if selection.key is None else selection.key
            cells = [pinned, *(cell for cell in cells if cell != pinned)]
        for query, key in cells:
            visible = sources.visible_keys(trace, layer, head, query)
            if not visible[key] or int(visible.sum()) < 2:
                continue
            cell: dict[str, Any] = {"layer": layer, "head": head, "query": query, "key": key}
            for side, against, opened in product(sources.SIDES, ("others", None), (False, True)):
                if (query, key) == pinned or (against and not opened):
                    yield cell | {"side": side, "against": against, "through_mlps": opened}


def carried_pairs(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """The same of `why_pairs`: the cells of `carried`."""
    cells = ({name: at[name] for name in ("layer", "head", "query", "key")} for at in carried(trace, selection))
    yield from {tuple(cell.values()): cell for cell in cells}.values()
