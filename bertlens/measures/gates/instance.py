"""Whether a head's far links belong to the tokens: do the same tokens keep their targets in another context?

One sharp map says nothing about that, a random one is as sharp. Over several texts that share tokens (best: the same
sentence beside different second sentences) the agreement of targets is held against a permutation null.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ...trace import Trace

if TYPE_CHECKING:
    import pandas as pd

LEAST_SHARED = 4  # tokens that two texts must share to be compared


def target_agreement(traces: Sequence[Trace], permutations: int = 199, seed: int = 0) -> pd.DataFrame:
    """Do the same tokens have the same far target in two texts? DataFrame(layer, head, agreement, chance, p).

    Content tokens of two texts match by text (first or second), piece and occurrence. A token's far target is its most
    attended among the matched tokens that are more than one place away in both texts. agreement: share of matched
    tokens that keep it, over all compared texts (each with the next two, in a ring; texts with the same tokens are not
    compared), in [0, 1]. chance: the same when one text's tokens are shuffled (pairs whose targets would be near are
    left out), mean over `permutations`. p: share of the shuffles, the real order among them, that agree at least as
    often, in [1 / (permutations + 1), 1]. A head that looks at the same columns from everywhere has a high chance level
    and no low p. All NaN where no two texts share four tokens. Source: bertlens' own.
    """
    import pandas as pd

    generator = torch.Generator().manual_seed(seed)
    shape = (traces[0].n_layers, traces[0].n_heads)
    kept, seen = torch.zeros(shape, dtype=torch.float64), 0
    chance_kept = torch.zeros(*shape, permutations, dtype=torch.float64)
    chance_seen = torch.zeros(*shape, permutations, dtype=torch.float64)
    for first, second in _ring(len(traces)):
        a, b = traces[first], traces[second]
        here, there = _matched(a, b)
        if a.tokens == b.tokens or len(here) < LEAST_SHARED:
            continue
        far = _far(here) & _far(there)
        rows = far.any(-1)
        shuffles = torch.stack([torch.randperm(len(here), generator=generator) for _ in range(permutations)])
        seen += int(rows.sum())
        for layer in range(shape[0]):
            target = _targets(a, layer, here, far)  # (H, r)
            other = _targets(b, layer, there, far)
            kept[layer] += ((target == other) & rows).sum(-1)
            other = other[:, shuffles]  # (H, permutations, r)
            # a shuffled pair counts if either's target is far from the other too, as it is for the real pairs
            index = torch.arange(len(here))
            fair = far[shuffles, target[:, None]] & far[index, other] & rows & rows[shuffles]
            chance_seen[layer] += fair.sum(-1)
            chance_kept[layer] += (fair & (other == target[:, None])).sum(-1)
    agreement = kept / seen if seen else torch.full(shape, torch.nan)
    by_chance = torch.where(chance_seen > 0, chance_kept / chance_seen.clamp_min(1), 0.0)
    p = ((by_chance >= agreement[..., None] - 1e-9).sum(-1) + 1) / (permutations + 1)
    if not seen:
        p = torch.full(shape, torch.nan)
    layers, heads = torch.meshgrid(torch.arange(shape[0]), torch.arange(shape[1]), indexing="ij")
    return pd.DataFrame(
        {
            "layer": layers.flatten().numpy(),
            "head": heads.flatten().numpy(),
            "agreement": agreement.flatten().numpy(),
            "chance": (by_chance.mean(-1) if seen else agreement).flatten().numpy(),
            "p": p.flatten().numpy(),
        }
    )


def _ring(n: int) -> list[tuple[int, int]]:
    """Each with the next two: all ten pairs of five."""
    return sorted({tuple(sorted((i, (i + step) % n))) for i in range(n) for step in (1, 2) if n > step})  # type: ignore[misc]


def _matched(a: Trace, b: Trace) -> tuple[Tensor, Tensor]:
    """Positions in a and in b of the content tokens that both have."""
    names = [_names(trace) for trace in (a, b)]
    shared = [name for name in names[0] if name in names[1]]
    here, there = ([names[i][name] for name in shared] for i in (0, 1))
    return torch.tensor(here, dtype=torch.long), torch.tensor(there, dtype=torch.long)


def _names(trace: Trace) -> dict[tuple[int, str, int], int]:
    counts: dict[tuple[int, str], int] = defaultdict(int)
    found = {}
    segments, special = trace.segments.tolist(), trace.special_mask.tolist()
    for position, token in enumerate(trace.tokens):
        if not special[position]:
            kind = (segments[position], token)
            found[(*kind, counts[kind])] = position
            counts[kind] += 1
    return found


def _far(positions: Tensor) -> Tensor:
    return (positions[None, :] - positions[:, None]).abs() > 1


def _targets(trace: Trace, layer: int, positions: Tensor, far: Tensor) -> Tensor:
    """(H, r) the most attended of the r matched tokens that are far, as an index among them."""
    attention = trace.attention(layer).cpu()[:, positions][:, :, positions]
    return attention.masked_fill(~far, -1.0).argmax(-1)
