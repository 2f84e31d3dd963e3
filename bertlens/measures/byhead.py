"""What tells heads apart, by weight or by norm: statistics, what each key receives, where the two disagree, one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..trace import Trace
from . import norms
from .attention import SUMMARY
from .divergence import total_variation
from .rows import Counted, Roles, Rows, blocks, counted, means


@dataclass(frozen=True)
class ByHead:
    """values: float32 (L, H, len(names)), NaN where the text has no such tokens; received: float32 (L, H, K)."""

    names: tuple[str, ...]
    values: Tensor
    received: Tensor


def norm_shares(alpha: Tensor, lengths: Tensor) -> Tensor:
    """(H, S, K) ‖αf(x)‖ ÷ its sum over the row, of weights (H, S, K) and ‖f(x)‖ (H, K); a row of zeros stays one."""
    passed_on = alpha * lengths.to(alpha.dtype)[:, None]
    return passed_on / passed_on.sum(-1, keepdim=True).clamp_min(torch.finfo(passed_on.dtype).tiny)


@torch.no_grad()
def statistics(
    trace: Trace, by: str = "weight", names: Sequence[str] = SUMMARY, *, layers: Sequence[int] | None = None
) -> ByHead:
    """Statistics of all heads by weight α, or, where `by` is "norm", of the shares ‖αf(x)‖ / Σ_j ‖αf(x)‖ in its place.

    names: of vocabulary.STATISTICS. By norm `variation` follows them: ½ Σ_j |α / Σα − share| in [0, 1], mean over rows,
    0 where a head passes on as it looks. received: mean over queries of what a key gets, sums to at most 1. layers:
    only these.
    Kobayashi et al. 2020, section 3, for the norm. Raises ModelError by norm for a family without an adapter.
    """
    roles = Roles.of(trace)
    values, received = [], []
    for layer in range(trace.n_layers) if layers is None else layers:
        lengths = norms.transformed_norm(trace, layer) if by == "norm" else None
        found: Counted = []
        sums: list[Tensor] = []  # over the queries: what keys get (H, K), how far the two lie apart (H,)
        for start, alpha in blocks(trace, layer):
            shares = alpha if lengths is None else norm_shares(alpha, lengths)
            found = counted(names, Rows(shares, roles, start), found)
            new = [shares.sum(1)]
            if lengths is not None:
                new.append(total_variation(_scaled(alpha), shares).sum(-1))
            sums = [a + b for a, b in zip(sums, new, strict=True)] if sums else new
        given, *apart = ((total / trace.n_tokens).float() for total in sums)
        values.append(torch.cat([means(found), *(one[:, None] for one in apart)], -1))
        received.append(given)
    return ByHead((*names, *(["variation"] if by == "norm" else [])), torch.stack(values), torch.stack(received))


@torch.no_grad()
def query_rows(trace: Trace, start: int, stop: int, with_norms: bool) -> dict[str, Tensor]:
    """Rows of all heads for the queries start … stop - 1, their mean: "weight" α, float32 (L, H, K).

    with_norms: also "norm" ‖αf(x)‖, in the stream's units, and "share", the norm ÷ its sum over each row.
    """
    found: dict[str, list[Tensor]] = {}
    for layer in range(trace.n_layers):
        alpha = trace.attention_rows(layer, start, stop)
        kinds = {"weight": alpha}
        if with_norms:
            lengths = norms.transformed_norm(trace, layer)
            kinds |= {"norm": alpha * lengths.to(alpha.dtype)[:, None], "share": norm_shares(alpha, lengths)}
        for name, rows in kinds.items():
            found.setdefault(name, []).append(rows.mean(1).float())
    return {name: torch.stack(layers) for name, layers in found.items()}


def _scaled(rows: Tensor) -> Tensor:
    return rows / rows.sum(-1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
