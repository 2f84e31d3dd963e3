"""What tells heads apart, by weight or by norm: statistics, what each key receives, where the two disagree, one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..base.generators import Steps, run_to_end
from ..trace.trace import Trace
from . import norms
from .distributions import shares, total_variation
from .rows import Here, Roles, Rows, head_groups, passing, visible
from .statistics import ATLAS_NAMES, Fraction, fractions, means


@dataclass(frozen=True)
class ByHead:
    """values: float32 (L, H, len(names)), NaN where the text has no such tokens; received: float32 (L, H, K)."""

    names: tuple[str, ...]
    values: Tensor
    received: Tensor


def norm_shares(alpha: Tensor, lengths: Tensor) -> Tensor:
    """(H, S, K) ‖αf(x)‖ ÷ its sum over the row, of alpha (H, S, K), lengths ‖f(x)‖ (H, K); a row of zeros stays one."""
    return shares(alpha * lengths.to(alpha.dtype)[:, None])


@torch.no_grad()
def statistics(
    trace: Trace, by: str = "weight", names: Sequence[str] = ATLAS_NAMES, *, layers: Sequence[int] | None = None
) -> ByHead:
    """Statistics of all heads by weight α, or, where `by` is "norm", of the shares ‖αf(x)‖ / Σ_j ‖αf(x)‖ in its place.

    names: of measures.statistics.STATISTICS. By norm `variation` follows them: ½ Σ_j |α / Σα − share| in [0, 1], mean
    over rows, 0 where a head passes on as it looks. received: mean over queries of what a key gets, sums to at most 1.
    layers: only these.
    Kobayashi et al. 2020, section 3, for the norm. Raises ModelError by norm for a family without an adapter.
    """
    roles = Roles.of(trace)
    tables = [
        joined([of_heads(trace, layer, heads, by, names, roles) for heads in head_groups(trace, layer)])
        for layer in (range(trace.n_layers) if layers is None else layers)
    ]
    return _concatenated(tables, 0)


@torch.no_grad()
def even(trace: Trace, names: Sequence[str] = ATLAS_NAMES) -> Tensor:
    """(L, H, names) float32: `statistics` by weight of rows that are even over the keys that they see.

    What the length of a text gives without any head's doing: of 9 tokens each key 1/9. Work: a map of S × K a layer, of
    every head where a change hides keys from single heads.
    """
    roles = Roles.of(trace)
    layers = []
    for layer in range(trace.n_layers):
        rows = visible(trace, layer).float()
        totals = fractions(names, Rows(rows / rows.sum(-1, keepdim=True).clamp_min(1), roles))
        layers.append(means(totals).expand(trace.n_heads, -1))
    return torch.stack(layers)


def joined(groups: Sequence[ByHead]) -> ByHead:
    """The `groups` of a layer's heads as all of them."""
    return _concatenated(groups, 1)


def _concatenated(tables: Sequence[ByHead], dim: int) -> ByHead:
    values, received = ([getattr(table, name) for table in tables] for name in ("values", "received"))
    return ByHead(tables[0].names, torch.cat(values, dim), torch.cat(received, dim))


@torch.no_grad()
def of_heads(
    trace: Trace, layer: int, heads: slice, by: str, names: Sequence[str] = ATLAS_NAMES, roles: Roles | None = None
) -> ByHead:
    """`statistics` of some of a layer's heads: (1, H', names) and (1, H', K)."""
    return run_to_end(steps_of_heads(lambda: trace, layer, heads, by, names, roles))


@torch.no_grad()
def steps_of_heads(
    here: Here, layer: int, heads: slice, by: str, names: Sequence[str] = ATLAS_NAMES, roles: Roles | None = None
) -> Steps[ByHead]:
    """`of_heads` (names: of STATISTICS), which yields after some rows."""
    roles = roles or Roles.of(here())
    lengths = norms.transformed_norm(here(), layer) if by == "norm" else None
    n = here().n_tokens
    totals: list[Fraction] = []
    received: Tensor | None = None  # Σ over the queries: what keys get (H', K)
    distances: list[Tensor] = []  # and how far the two lie apart (H',), block by block
    for start, first_key, alpha in passing(here, layer, heads):
        rows = Rows(alpha, roles, start, first_key)
        if lengths is not None:
            rows = Rows(norm_shares(alpha, lengths[heads, rows.keys]), roles, start, first_key)
            distances.append(total_variation(shares(alpha), rows.values).sum(-1))
        totals = fractions(names, rows, totals)
        received = alpha.new_zeros(len(alpha), len(roles.special)) if received is None else received
        received[:, rows.keys] += rows.values.sum(1)
        yield
    assert received is not None
    columns = [means(totals)]
    if distances:
        columns.append((torch.stack(distances).sum(0) / n).float()[:, None])
    names = (*names, *(["variation"] if by == "norm" else []))
    return ByHead(names, torch.cat(columns, -1)[None], (received / n).float()[None])


@torch.no_grad()
def query_rows(trace: Trace, start: int, stop: int, with_norms: bool) -> dict[str, Tensor]:
    """Rows of all heads for the queries start … stop - 1, their mean: "weight" α, float32 (L, H, K).

    with_norms: also "norm" ‖αf(x)‖, in the stream's units, and "share", the norm ÷ its sum over each row.
    """
    by_kind: dict[str, list[Tensor]] = {}
    for layer in range(trace.n_layers):
        alpha = trace.attention_rows(layer, start, stop)
        kinds = {"weight": alpha}
        if with_norms:
            lengths = norms.transformed_norm(trace, layer)
            kinds |= {"norm": alpha * lengths.to(alpha.dtype)[:, None], "share": norm_shares(alpha, lengths)}
        for name, rows in kinds.items():
            by_kind.setdefault(name, []).append(rows.mean(1).float())
    return {name: torch.stack(layers) for name, layers in by_kind.items()}
