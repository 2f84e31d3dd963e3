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
MOST_PAIRS = 20
SWEEPS = 16


def target_agreement(traces: Sequence[Trace], permutations: int = 199, seed: int = 0) -> pd.DataFrame:
    """Do the same tokens have the same far target in two texts? DataFrame(layer, head, agreement, chance, p).

    Content tokens of two texts match by text (first or second), piece and occurrence. A token's far target is its most
    attended among the matched tokens that are more than one place away in both texts. agreement: share of matched
    tokens that keep it, over at most 20 pairs of texts (each with the next two, in a ring; texts with the same tokens
    are not compared), in [0, 1]. chance: the same when one text's targets are shuffled among its tokens so that all
    stay far, mean over `permutations`. p: share of the shuffles, the real order among them, that agree at least as
    often, in [1 / (permutations + 1), 1]. A head that looks at the same columns from everywhere has a high chance level
    and no low p. All NaN where no two texts share four tokens. Source: bertlens' own; shuffles with forbidden places by
    random swaps, after Besag and Clifford 1989.
    """
    import pandas as pd

    generator = torch.Generator().manual_seed(seed)
    shape = (traces[0].n_layers, traces[0].n_heads)
    kept, seen = torch.zeros(shape, dtype=torch.long, device="cpu"), 0
    by_chance = torch.zeros(*shape, permutations, dtype=torch.long, device="cpu")
    for first, second in _ring(len(traces)):
        a, b = traces[first], traces[second]
        positions_a, positions_b = _matched(a, b)
        if a.tokens == b.tokens or len(positions_a) < LEAST_SHARED:
            continue
        far = _far(positions_a) & _far(positions_b)
        rows = far.any(-1)
        target, other = _targets(a, positions_a, far)[..., rows], _targets(b, positions_b, far)[..., rows]  # (L, H, r)
        seen += int(rows.sum())
        kept += (target == other).sum(-1)
        shuffled = _shuffled(other, far[rows], permutations, generator)
        by_chance += (shuffled == target[:, :, None]).sum(-1)
    agreement, chance = (
        x.double() / seen if seen else torch.full(shape, torch.nan, device="cpu") for x in (kept, by_chance.sum(-1))
    )
    p = ((by_chance >= kept[..., None]).sum(-1) + 1) / (permutations + 1)
    layers, heads = torch.meshgrid(*(torch.arange(n, device="cpu") for n in shape), indexing="ij")
    return pd.DataFrame(
        {
            "layer": layers.flatten().numpy(),
            "head": heads.flatten().numpy(),
            "agreement": agreement.flatten().numpy(),
            "chance": (chance / permutations).flatten().numpy(),
            "p": torch.where(agreement.isnan(), torch.nan, p).flatten().numpy(),
        }
    )


def _shuffled(targets: Tensor, far: Tensor, permutations: int, generator: torch.Generator) -> Tensor:
    """(L, H, permutations, r): the targets (L, H, r) among their rows, each where `far` (r, keys) allows it.

    Sweeps of swaps between random pairs of rows, each done by a coin where both targets are allowed in the other's
    place: in the end all allowed orders are equally likely.
    """
    permuted = targets[:, :, None].repeat(1, 1, permutations, 1)
    half = targets.shape[-1] // 2
    for _ in range(SWEEPS):
        order = torch.randperm(targets.shape[-1], generator=generator, device="cpu")
        i, j = order[:half], order[half : 2 * half]
        at_i, at_j = permuted[..., i], permuted[..., j]
        coin = torch.randint(2, at_i.shape, generator=generator, dtype=torch.uint8, device="cpu").bool()
        # far[i, at_j] & far[j, at_i] & coin, the lookups by flat position, which is twice as fast
        swap = far.take(i * far.shape[1] + at_j) & far.take(j * far.shape[1] + at_i) & coin
        permuted[..., i], permuted[..., j] = torch.where(swap, at_j, at_i), torch.where(swap, at_i, at_j)
    return permuted


def _ring(n: int) -> list[tuple[int, int]]:
    """Each with the next two, at most 20: all ten pairs of five."""
    pairs = sorted({(min(i, j), max(i, j)) for i in range(n) for j in ((i + 1) % n, (i + 2) % n) if i != j})
    return pairs[:: max(1, -(-len(pairs) // MOST_PAIRS))]


def _matched(a: Trace, b: Trace) -> tuple[Tensor, Tensor]:
    """Positions in a and in b of the content tokens that both have."""
    names = [_names(trace) for trace in (a, b)]
    shared = [name for name in names[0] if name in names[1]]
    first, second = ([names[i][name] for name in shared] for i in (0, 1))
    in_a, in_b = torch.tensor([first, second], dtype=torch.long, device="cpu")
    return in_a, in_b


def _names(trace: Trace) -> dict[tuple[int, str, int], int]:
    counts: dict[tuple[int, str], int] = defaultdict(int)
    names = {}
    segments, special = trace.segments.tolist(), trace.special_mask.tolist()
    for position, token in enumerate(trace.tokens):
        if not special[position]:
            kind = (segments[position], token)
            names[(*kind, counts[kind])] = position
            counts[kind] += 1
    return names


def _far(positions: Tensor) -> Tensor:
    return (positions[None, :] - positions[:, None]).abs() > 1


def _targets(trace: Trace, positions: Tensor, far: Tensor) -> Tensor:
    """(L, H, r) the most attended of the r matched tokens that are far, as an index among them."""
    layers = (trace.attention(layer).cpu()[:, positions][:, :, positions] for layer in range(trace.n_layers))
    return torch.stack([layer.masked_fill(~far, -1.0).argmax(-1) for layer in layers])
