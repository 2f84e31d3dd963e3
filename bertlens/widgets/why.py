"""What the page is told about why one cell's query looks at its key: one answer, small, for one pinned cell."""

from __future__ import annotations

import math

import torch

from ..measures import sources
from ..trace import Trace
from .answers import Answer

LARGEST = 6  # parts shown as bars, the rest folded into one


def why(
    trace: Trace,
    layer: int,
    head: int,
    query: int,
    key: int,
    side: str = "query",
    against: str | int | None = "others",
    through_mlps: bool = False,
) -> Answer:
    """One cell's score by source. Raises as `measures.sources.score`.

    Fields: the question; total, model, gap (nats); weight α of the cell and other_weight, the plain mean of the other
    visible keys' or the weight of the key that it is against (None for the raw score); ratio, e^total, what the weight
    is of the geometric mean of the others' or of that key's (None for the raw score and where |total| < NEAR_ZERO);
    spread, Σ|parts| / |total| (None there too); kinds as [kind, value]; largest as {kind, layer, head, value, token,
    fetched}, token being where an earlier head fetched most of its part; others, how many parts are folded, and their
    sum; notes in words. Arrays: heads (layer, H) and mlps (layer,) float32, none in layer 0.
    """
    s = sources.score(trace, layer, head, query, key, side, against, through_mlps)
    rows = s.rows
    kinds: dict[str, float] = {}
    for kind, _, _, value in rows:
        kinds[kind] = kinds.get(kind, 0.0) + value
    ordered = sorted(rows, key=lambda row: -abs(row[3]))
    shown, rest = ordered[:LARGEST], ordered[LARGEST:]
    fetched = sources.fetched_most(s, [(at, h) for _, at, h, _ in shown if at is not None and h is not None])
    largest = []
    for kind, at, h, value in shown:
        token, amount = fetched.get((at, h), (None, None)) if at is not None and h is not None else (None, None)
        named = {"kind": kind, "layer": at, "head": h, "value": value}
        largest.append(named | {"token": token, "fetched": amount})
    alpha = trace.attention(layer)[head, query].double()
    visible = sources.visible_keys(trace, layer, head, query)
    spread = s.spread
    if against is None:
        other = None
    elif isinstance(against, int):
        other = float(alpha[against])
    else:
        other = float((alpha[visible].sum() - alpha[key]) / (visible.sum() - 1))
    fields = {
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
        "other_weight": other,
        "ratio": math.exp(s.total) if spread is not None and against is not None else None,
        "spread": spread,
        "kinds": [[kind, value] for kind, value in kinds.items()],
        "largest": largest,
        "others": {"count": len(rest), "value": sum(row[3] for row in rest)},
        "notes": list(s.notes),
    }
    if not layer:
        return fields, {}
    arrays = {
        "heads": torch.tensor(
            [value for kind, *_, value in rows if kind == "head"], dtype=torch.float32, device="cpu"
        ).reshape(layer, -1)
    }
    if not through_mlps:
        arrays["mlps"] = torch.tensor(
            [value for kind, *_, value in rows if kind == "mlp"], dtype=torch.float32, device="cpu"
        )
    return fields, arrays
