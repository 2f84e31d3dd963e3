"""Whether a head's far links belong to the tokens: do the same tokens keep their targets in another context?

One sharp map says nothing about that, a random one is as sharp. Nor does agreement where the tokens stand at the same
places in both texts: a head that goes by distance or by place agrees there without knowing a token. So only tokens at
different places are compared, and their agreement is held against two nulls: the same targets shuffled among the
tokens, and the same look from other places of the text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ...base.dataframes import pd
from ...trace.trace import Trace

LEAST_SHARED = 4  # tokens that two texts must share to be compared
MOST_PAIRS = 20
SWEEPS = 16
MOST_PLACES = 64  # of a text, at which a token's look is tried


def target_agreement(traces: Sequence[Trace], permutations: int = 199, seed: int = 0) -> pd.DataFrame:
    """Do the same tokens have the same far target in two texts, by token and not by place?

    DataFrame(layer, head, agreement, chance, chance_by_place, p), one row per head.

    Content tokens of two texts match by text (first or second), piece and occurrence, and are compared where they stand
    at different places: counted from the start of the input, and from the start and from the end of their own text. A
    token's far target is its most attended among these that are more than one place away in both texts. agreement:
    share of tokens that keep it, over at most 20 pairs of texts (each with the next two, in a ring), in [0, 1].

    chance: the same when one text's targets are shuffled among its tokens so that all stay far, mean over
    `permutations`. A head that looks at the same columns from everywhere has a high chance level.
    chance_by_place: the same when each token looks from a random place of its text (its own among them), toward places
    as far away as the candidates are from the token; those off the text and on special tokens drop out, and from a
    place drawn the target's is there. A head that goes by distance or direction has a high one. One that goes by fixed
    places agrees by chance, as the tokens stand elsewhere.
    p: share of the draws, the real one among them, that agree at least as often, the larger of the two nulls', in
    [1 / (permutations + 1), 1]. All NaN where no two texts share four tokens that stand at different places, as in one
    sentence beside different second ones: put it behind openings, and before endings, of different length.
    Source: bertlens' own; shuffles with forbidden places by random swaps, after Besag and Clifford 1989.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (traces[0].n_layers, traces[0].n_heads)
    agreements, comparisons = torch.zeros(shape, dtype=torch.long, device="cpu"), 0
    shuffled, elsewhere = torch.zeros(2, *shape, permutations, dtype=torch.long, device="cpu")
    for a, b in _ring(len(traces)):
        pair = _Pair.of(traces[a], traces[b])
        if pair is None:
            continue
        comparisons += pair.target.shape[-1]
        agreements += (pair.target == pair.counterpart).sum(-1)
        permutation = _shuffled(pair.counterpart, pair.candidates, permutations, generator)
        shuffled += (permutation == pair.target[:, :, None]).sum(-1)
        elsewhere += _elsewhere(pair, permutations, generator)
    columns = {
        "agreement": agreements.double() / comparisons,
        "chance": shuffled.double().mean(-1) / comparisons,
        "chance_by_place": elsewhere.double().mean(-1) / comparisons,
    }
    as_often = torch.stack([(draws >= agreements[..., None]).sum(-1) for draws in (shuffled, elsewhere)]).amax(0)
    columns["p"] = torch.where(columns["agreement"].isnan(), torch.nan, (as_often + 1) / (permutations + 1))
    layers, heads = torch.meshgrid(*(torch.arange(n, device="cpu") for n in shape), indexing="ij")
    columns = {"layer": layers, "head": heads, **columns}
    return pd.DataFrame({name: values.flatten().numpy() for name, values in columns.items()})


@dataclass(frozen=True)
class _Pair:
    """Two texts, with c tokens that both have at different places, and of these the r that have a far one."""

    second: Trace
    target: Tensor  # (L, H, r) their far targets in the first text, as an index among the c
    counterpart: Tensor  # (L, H, r) and in the second
    candidates: Tensor  # (r, c) bool: more than one place away in both
    at: Tensor  # (r,) their positions in the second text
    steps: Tensor  # (r, c) from there to each of the c

    @classmethod
    def of(cls, a: Trace, b: Trace) -> _Pair | None:
        in_a, in_b = _matched(a, b)
        if len(in_a) < LEAST_SHARED:
            return None
        candidates = _far(in_a) & _far(in_b)
        rows = candidates.any(-1)
        target, counterpart = (_targets(trace, at, candidates)[..., rows] for trace, at in ((a, in_a), (b, in_b)))
        return cls(b, target, counterpart, candidates[rows], in_b[rows], (in_b[None, :] - in_b[:, None])[rows])


def _elsewhere(pair: _Pair, draws: int, generator: torch.Generator) -> Tensor:
    """(L, H, draws) tokens that keep the target of the first text, each looking from a random place of the second.

    Drawn are the token's own place and those from which the target is a content token of the text; under the null of a
    head that goes by distance they are alike.
    """
    content = ~pair.second.special_mask.cpu()
    everywhere = content.nonzero()[:, 0]
    order = torch.randperm(len(everywhere), generator=generator, device="cpu")
    places = everywhere[order[:MOST_PLACES]].repeat(len(pair.at), 1)  # (r, P)
    usable = places != pair.at[:, None]
    places, usable = torch.cat([places, pair.at[:, None]], 1), torch.nn.functional.pad(usable, (0, 1), value=True)
    counts = []
    for layer in range(pair.second.n_layers):
        attention = pair.second.attention(layer)
        chances = []
        for row, target in enumerate(pair.target[layer].T):  # (H,) of one token
            x = places[row, usable[row]]
            keys = x[:, None] + pair.steps[row]  # (P, c)
            inside = (keys >= 0) & (keys < len(content)) & pair.candidates[row]
            inside &= content[keys.clamp(0, len(content) - 1)]
            weights = attention[:, x[:, None], keys.clamp(0, len(content) - 1)].cpu().masked_fill(~inside, -1.0)
            eligible = inside[:, target].T  # (H, P)
            agree = (weights.argmax(-1) == target[:, None]) & eligible
            chances.append(agree.sum(-1) / eligible.sum(-1))
        chance = torch.stack(chances, -1)[..., None]  # (H, r, 1)
        lots = torch.rand(*chance.shape[:-1], draws, generator=generator, device="cpu")
        counts.append((lots < chance).sum(-2))
    return torch.stack(counts)


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
    """Positions in a and in b of the content tokens that both have, where these are different places."""
    names = [_names(trace) for trace in (a, b)]
    shared = [name for name in names[0] if name in names[1]]
    in_a, in_b = torch.tensor([[of[name] for name in shared] for of in names], dtype=torch.long, device="cpu")
    moved = (_places(a)[:, in_a] != _places(b)[:, in_b]).all(0)
    return in_a[moved], in_b[moved]


def _places(trace: Trace) -> Tensor:
    """(3, S) each token's place, counted from the start of the input, and from the start and the end of its text."""
    segments = trace.segments.cpu()
    mates = segments[:, None] == segments[None, :]
    index = torch.arange(len(segments), device="cpu")
    start = mates.int().argmax(-1)
    end = len(segments) - 1 - mates.flip(-1).int().argmax(-1)
    return torch.stack([index, index - start, end - index])


def _names(trace: Trace) -> dict[tuple[int, str, int], int]:
    counts: dict[tuple[int, str], int] = defaultdict(int)
    names = {}
    segments, special = trace.segments.tolist(), trace.special_mask.tolist()
    for position, token in enumerate(trace.tokens):
        if not special[position]:
            kind = (segments[position], token)
            occurrence = *kind, counts[kind]
            names[occurrence] = position
            counts[kind] += 1
    return names


def _far(positions: Tensor) -> Tensor:
    return (positions[None, :] - positions[:, None]).abs() > 1


def _targets(trace: Trace, positions: Tensor, candidates: Tensor) -> Tensor:
    """(L, H, r) the most attended of the r matched tokens that are far, as an index among them."""
    neighbours = ~candidates.to(trace.device)
    maps = (trace.attention(layer)[:, positions][:, :, positions] for layer in range(trace.n_layers))
    return torch.stack([weights.masked_fill(neighbours, -1.0).argmax(-1) for weights in maps]).cpu()
