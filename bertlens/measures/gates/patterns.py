"""How much an attention map looks like each of twelve plain patterns: numbers without gate names, all heads at once.

Only rows of content tokens count: what [CLS] and [SEP] look at says little about a head. Every pattern is corrected for
chance: 0 is what a map without structure gives, 1 the pure pattern. Patterns among content keys are judged on the
attention that content keys get, and then weighted by the root of that share m: beside a sink that takes 75 % a pure
pattern still scores 0.5, as it is still plainly seen, and it fades as the sink takes all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import torch
from torch import Tensor

from ...base.generators import Steps, run_to_end
from ...base.vocabulary.constants import GATE_VIEWS as VIEWS
from ...base.vocabulary.constants import (
    LEAST_PATTERN_TOKENS,
    PATTERN_CONTENT,
    PATTERN_CUTS,
    PATTERN_ROUNDING,
    PATTERN_TINY,
)
from ...errors import InputError
from .pattern_sums import PatternSums, pattern_sums

PATTERNS = (
    "self",
    "next",
    "previous",
    "both neighbours",
    "after",
    "before",
    "content columns",
    "special columns",
    "block",
    "far peaks",
    "uniform",
    "unstructured",
)
RUNS = 16  # of successive tokens, between special ones
NUMBERS_AT_ONCE = 524_288  # numbers of float64 that are looked at together


def patterns(
    attention: Tensor, special_mask: Tensor, segments: Tensor | None = None, *, view: str = "full"
) -> dict[str, Tensor]:
    """Twelve neutral pattern scores: name -> float64 (...), each in [0, 1].

    attention: (..., S, S) [query, key], rows are scaled to sum to 1, a row of zeros counts as even; special_mask (S,)
    bool; segments (S,) int or None. view "content" leaves special keys out and scales the rows anew.

    n content tokens, B their attention among each other, m_i = Σ_j B_ij, m = mean m_i, c = mean row over content keys,
    q(M) = Σ_i (mass on M − chance · m_i) ÷ Σ_i (1 − chance) m_i with chance = share of content keys in M. All are cut
    to [0, 1], and all but "special columns", "uniform" and "unstructured" are times √m:

    self, next, previous  q of j = i, i + 1, i − 1 (q and m over the rows that have such a content neighbour)
    both neighbours       the best over r of q(1 ≤ |j − i| ≤ r) · 2 min(f, b) / (f + b), f and b the mass ahead and
                          behind; r up to the larger of 3 and n / 6, and never over n / 4
    after, before         q of j > i (j < i) among the keys but i, times their share, times (1 − the columns' purity)
    content columns       the best over k ≤ n / 4 of the chance-corrected mass of c on its k largest columns, times the
                          rows' agreement: root of the intraclass correlation of the rows' deviations from even
    block                 √(inside · beyond), the lesser of the blocks', times ((evenness in the block − 1/4) / (1/2)):
                          inside = chance-corrected mass that stays in the block, beyond = how much more stays than the
                          map's own column and distance profiles would leave there, in units of the ideal block map.
                          Blocks are the segments of two tokens and more, or, where there is one, the best of at most 32
                          cuts in two
    far peaks             mean largest weight at |j − i| > 1, each times (1 − the share of other rows with that target)
    special columns       chance-corrected mass on special keys, over all keys
    uniform               mean row entropy ÷ ln(number of keys)
    unstructured          how far `uniform` lies over 1/2 (0 to 1), times (1 − 1.5 · the strongest of the others but far
                          peaks)

    NaN where S < 4 or n < 3. Raises InputError for maps that are not square, NaN or Inf, an unknown view.
    Source: bertlens' own; the rows' agreement is kin to the cone index of the softmax in Bonino et al. 2025.
    """
    return measure(attention, special_mask, segments, view).scores


@dataclass(frozen=True)
class PatternScores:
    """Pattern scores and, for the evidence, where each was found. Leading dimensions (...) as in the attention."""

    content: Tensor  # (n,) positions of the content tokens
    scores: dict[str, Tensor]
    order: Tensor | None = None  # (..., n) content columns, the heaviest first
    n_columns: Tensor | None = None  # (...) how many of them are stripes
    width: Tensor | None = None  # (...) r of the band
    blocks: Tensor | None = None  # (..., G, n) the blocks that were judged
    targets: Tensor | None = None  # (..., n) content index of each row's far peak

    def by_map(self) -> list[PatternScores]:
        """Those of each map of many (H,)."""
        places = (self.order, self.n_columns, self.width, self.blocks, self.targets)
        return [
            PatternScores(
                self.content,
                {name: values[number] for name, values in self.scores.items()},
                *(None if each is None else each[number] for each in places),
            )
            for number in range(len(self.scores["uniform"]))
        ]


def measure(attention: Tensor, special_mask: Tensor, segments: Tensor | None, view: str) -> PatternScores:
    """`patterns` with what the evidence needs."""
    if attention.ndim < 2 or attention.shape[-2] != attention.shape[-1]:
        raise InputError(f"gates need square maps (..., S, S), not {tuple(attention.shape)}: cross-attention has none")
    return run_to_end(measure_rows([(0, attention.detach().clone())], special_mask, segments, view))


def measure_rows(
    blocks: Iterable[tuple[int, Tensor]], special_mask: Tensor, segments: Tensor | None, view: str = "full"
) -> Steps[PatternScores]:
    """The same, in steps, of maps that come as blocks of successive rows, as `names.scores_of_rows` has them: what is
    kept grows with S, not with S². Overwrites the blocks."""
    if view not in VIEWS:
        raise InputError(f"view must be 'full' or 'content', not {view!r}")
    checked = _checked(blocks, special_mask, segments)
    lead = next(checked)
    content = (~special_mask).nonzero()[:, 0]
    n, n_special = len(content), len(special_mask) - len(content) if view == "full" else 0
    if len(special_mask) < LEAST_PATTERN_TOKENS or n < PATTERN_CONTENT:
        unknown = lead[1].new_full(lead[1].shape[:-2], torch.nan, dtype=torch.float64)
        return PatternScores(content, dict.fromkeys(PATTERNS, unknown))
    ways, segmented = _ways(content, segments)
    sums = yield from pattern_sums(_content_rows(chain([lead], checked), special_mask, view), ways)
    rows = _Content(sums, content, ways, segmented)
    root = (rows.total / n).sqrt()
    scores = dict(rows.offsets())
    width, band = rows.band()
    order, n_columns, purity = rows.columns()
    partition, block = rows.block()
    peaks = rows.peaks()
    scores |= {"both neighbours": root * band, "content columns": root * purity, "block": root * block}
    scores |= {name: root * value * (1 - purity) for name, value in rows.sides()}
    scores["far peaks"] = root * peaks
    n_keys = n + n_special
    chance = n_special / n_keys
    scores["special columns"] = ((rows.of.special / n - chance) / (1 - chance)).clamp(0, 1)
    strongest = torch.stack([value for name, value in scores.items() if name != "far peaks"]).amax(0)
    scores["uniform"] = (rows.of.entropy / math.log(n_keys)).mean(-1).clamp(0, 1)
    broad = (2 * scores["uniform"] - 1).clamp_min(0)
    scores["unstructured"] = broad * (1 - 1.5 * strongest).clamp_min(0)
    named = {name: scores[name] for name in PATTERNS}
    return PatternScores(content, named, order, n_columns, width, partition, rows.of.target)


def _checked(
    blocks: Iterable[tuple[int, Tensor]], special_mask: Tensor, segments: Tensor | None
) -> Iterator[tuple[int, Tensor]]:
    """The blocks of rows, in float32 or float64."""
    for first_key, attention in blocks:
        if not attention.sum(-1).isfinite().all():  # a NaN or Inf in a row is one in its sum
            raise InputError("the attention holds NaN or Inf: trace.nan_layer says in which layer it begins")
        size = first_key + attention.shape[-1]
        if len(special_mask) < size or (segments is not None and len(segments) != len(special_mask)):
            raise InputError(f"special_mask and segments need one entry for each of the {size} tokens")
        yield first_key, attention if attention.dtype == torch.float64 else attention.float()


def _content_rows(
    blocks: Iterable[tuple[int, Tensor]], special_mask: Tensor, view: str
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """The rows of content tokens, scaled to sum to 1: the first content key, what they give to content keys from there
    on, and what to special ones."""
    size, start, ranks = len(special_mask), 0, (~special_mask).cumsum(0).tolist()
    for first_key, attention in blocks:
        stop = start + attention.shape[-2]
        rows, start = _taken(attention, ~special_mask[start:stop], -2), stop
        if not rows.shape[-2]:
            continue
        first_key, rows = _scaled(first_key, rows, size)
        keys = ~special_mask[first_key : first_key + rows.shape[-1]]
        among, special = _taken(rows, keys, -1), rows[..., ~keys]
        first_key = ranks[first_key - 1] if first_key else 0
        if view == "content":
            first_key, among = _scaled(first_key, among, ranks[-1])
            special = special[..., :0]
        yield first_key, among, special


def _taken(x: Tensor, mask: Tensor, dim: int) -> Tensor:
    """The chosen rows or columns; a view where they are successive."""
    at = mask.nonzero()[:, 0]
    places = at.cpu()  # read one by one below
    starts = [0, *((places.diff() != 1).nonzero()[:, 0] + 1).tolist()] if len(at) else []
    if len(starts) == 1:
        return x.narrow(dim, int(places[0]), len(at))
    if 0 < len(starts) <= RUNS:  # whose copies take a third of the time of single places'
        ends = [*starts[1:], len(at)]
        return torch.cat([x.narrow(dim, int(places[a]), b - a) for a, b in zip(starts, ends, strict=True)], dim)
    return x.index_select(dim, at)


def _ways(content: Tensor, segments: Tensor | None) -> tuple[Tensor, bool]:
    """(K, G, n) the ways to make blocks that are tried, segments or cuts in two, and whether it is the segments."""
    if segments is not None:
        groups = torch.stack([segments[content] == group for group in segments[content].unique()])
        groups = groups[groups.sum(-1) >= 2]  # a lone token is no block
        if len(groups) > 1:
            return groups.double()[None], True
    return _cuts(len(content), content.device), False


def _scaled(first_key: int, rows: Tensor, size: int) -> tuple[int, Tensor]:
    """Rows (..., R, C) of the keys from `first_key` on, scaled to sum to 1; a row of zeros becomes even over all `size`
    keys. Overwrites."""
    sums = rows.sum(-1, keepdim=True)
    empty = sums <= PATTERN_TINY
    if empty.any():
        row_space = rows.new_zeros(*rows.shape[:-1], size)
        row_space[..., first_key : first_key + rows.shape[-1]] = rows
        first_key, rows = 0, row_space.masked_fill_(empty, 1 / size)
        sums = sums.masked_fill(empty, 1)
    rows /= sums
    return first_key, rows


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 1e-9, part / whole.clamp_min(1e-9), 0.0).clamp(0, 1)


class _Content:
    """B: attention among the n content tokens, (..., n, n), as what was gathered of it says."""

    def __init__(self, of: PatternSums, positions: Tensor, ways: Tensor, segmented: bool):
        self.of, self.ways, self.segmented = of, ways, segmented
        self.n = n = len(positions)
        self.index = torch.arange(n, device=positions.device, dtype=torch.float64)
        self.adjacent = positions.diff() == 1  # not across a [SEP]
        self.mass = of.mass  # m_i
        self.total = self.mass.sum(-1)
        self.mean_row = of.columns / self.total.clamp_min(PATTERN_TINY)[..., None]  # c

    def excess(self, mass: Tensor, chance: Tensor | float, total: Tensor | None = None) -> Tensor:
        """q, mass over chance as a part of what there is room for, summed over rows (so that noise averages out)."""
        total = self.mass if total is None else total
        return _ratio((mass - chance * total).sum(-1), ((1 - chance) * total).sum(-1))

    def offsets(self) -> Iterator[tuple[str, Tensor]]:
        """Already weighted, each by the m of the rows that count: those that have such a content neighbour."""
        ahead, behind = (side[..., self.adjacent] for side in (self.of.ahead, self.of.behind))
        ahead_total, behind_total = self.mass[..., :-1][..., self.adjacent], self.mass[..., 1:][..., self.adjacent]
        for name, mass, total in (
            ("self", self.of.diagonal, self.mass),
            ("next", ahead, ahead_total),
            ("previous", behind, behind_total),
        ):
            yield name, self.excess(mass, 1 / self.n, total) * (total.sum(-1) / max(1, total.shape[-1])).sqrt()

    def band(self) -> tuple[Tensor, Tensor]:
        n = self.n
        widest = max(1, min(n // 4, max(3, n // 6)))
        behind = self.of.by_offset[..., n - 1 - widest : n - 1].flip(-1).cumsum(-1)  # (..., widest) at up to r
        ahead = self.of.by_offset[..., n : n + widest].cumsum(-1)
        # Σ_i m_i min(i, r) is the sum over t = 1 .. r of the mass of the rows from t on; the same from the other end
        within = [
            (self.total[..., None] - mass.cumsum(-1)[..., :widest]).cumsum(-1)
            for mass in (self.mass, self.mass.flip(-1))
        ]
        chance = (within[0] + within[1]) / n
        purity = _ratio(ahead + behind - chance, self.total[..., None] - chance)
        scores = purity * 2 * torch.minimum(ahead, behind) / (ahead + behind).clamp_min(PATTERN_TINY)
        best, width = scores.max(-1)
        return width + 1, best

    def sides(self) -> Iterator[tuple[str, Tensor]]:
        off_diagonal = self.mass - self.of.diagonal
        share = off_diagonal.sum(-1) / self.total.clamp_min(PATTERN_TINY)
        chance = (self.n - 1 - self.index) / (self.n - 1)
        yield "after", share * self.excess(self.of.upper, chance, off_diagonal)
        yield "before", share * self.excess(off_diagonal - self.of.upper, 1 - chance, off_diagonal)

    def columns(self) -> tuple[Tensor, Tensor, Tensor]:
        """Stripes: the columns by weight, how many of them count, and how pure they are."""
        n = self.n
        heaviest, order = self.mean_row.sort(dim=-1, descending=True, stable=True)
        k = torch.arange(1, max(1, n // 4) + 1, device=order.device, dtype=torch.float64)
        concentration, count = ((heaviest.cumsum(-1)[..., : len(k)] - k / n) / (1 - k / n)).max(-1)
        # X_i = B_i − m_i / n: intraclass correlation (‖Σ X‖² − Σ ‖X‖²) / ((n − 1) Σ ‖X‖²), 0 for unrelated rows
        energy = self.of.energy - (self.mass**2).sum(-1) / n
        shared = ((self.mean_row - 1 / n) ** 2).sum(-1) * self.total**2
        agreement = _ratio(shared - energy, (n - 1) * energy).sqrt()
        # the stripes to show: of these columns, the ones with twice an even share and more
        count = torch.minimum(count + 1, (heaviest >= 2 / n).sum(-1)).clamp_min(1)
        return order, count, concentration.clamp(0, 1) * agreement

    def block(self) -> tuple[Tensor, Tensor]:
        """The best of K ways to part the n content tokens in G blocks, (..., G, n), and its score:

            max over ways of  min over its blocks g of √( (a_g − s_g/n)/(1 − s_g/n) · (a_g − e_g)/(1 − e*_g) ),
            of that way times  2 E − 1/2,  every factor cut to [0, 1]

        With s_g the tokens of g, a_g = Σ_(i, j ∈ g) B_ij ÷ Σ_(i ∈ g) m_i, the mass of its rows that stays; e_g, what of
        it would stay were B_ij ∝ c_j p_(j−i) (`_profile_share`), e*_g the same of the ideal map, rows even over their
        blocks; E = Σ_i b_i H_i/ln s_g(i) ÷ Σ_i b_i, where row i gives b_i to its block with entropy H_i.
        bertlens' own score for the gate that Bonino et al. 2025 call cluster.
        """
        blocks = self.ways
        if blocks.shape[0] == 0:
            return blocks.new_zeros(*self.total.shape, 0, self.n), torch.zeros_like(self.total)
        stays = self.of.stays * blocks  # b (..., K, G, n): mass of row i in its own block, 0 for other blocks' rows
        weight = (self.mass[..., None, None, :] * blocks).sum(-1).clamp_min(PATTERN_TINY)  # (..., K, G)
        inside = stays.sum(-1) / weight  # a
        expected = _expected(self.mean_row, self.of.by_offset, self.mass, blocks) / weight  # e
        chance = blocks.mean(-1)  # s/n
        ideal = _segment_contrast(blocks) if self.segmented else _cut_contrast(self.n, blocks.device)
        beyond = inside - expected
        # its root would make much of rounding
        beyond = torch.where(beyond > PATTERN_ROUNDING, beyond / ideal.clamp_min(PATTERN_TINY), 0.0)
        purity = (((inside - chance) / (1 - chance)).clamp(0, 1) * beyond.clamp(0, 1)).sqrt().amin(-1)
        best, which = purity.max(-1)
        partition = blocks[which]  # (..., G, n)
        at = which[..., None, None, None].expand(*which.shape, 1, *partition.shape[-2:])
        stays, within = (values.gather(-3, at)[..., 0, :, :] for values in (stays, self.of.within))
        entropy = ((torch.xlogy(stays, stays) - within) * partition).sum(-1)  # Σ b H (..., G)
        ceiling = partition.sum(-1).clamp_min(2).log()  # the entropy of an even row inside its block
        evenness = (entropy / ceiling).sum(-1) / stays.sum((-2, -1)).clamp_min(PATTERN_TINY)
        return partition, best * (2 * evenness - 0.5).clamp(0, 1)

    def peaks(self) -> Tensor:
        peak, target = self.of.peak, self.of.target
        counts = torch.zeros_like(peak).scatter_add(-1, target, torch.ones_like(peak))
        shared = (counts.gather(-1, target) - 1) / (self.n - 1)
        return _ratio((peak * (1 - shared)).sum(-1), self.total)


def _expected(mean_row: Tensor, by_offset: Tensor, mass: Tensor, blocks: Tensor) -> Tensor:
    """(..., K, G) what of `_profile_share` falls into a row's own block, summed; a few maps at a time."""
    size = max(1, NUMBERS_AT_ONCE // blocks.numel())
    groups = (x.reshape(-1, x.shape[-1]).split(size) for x in (mean_row, by_offset, mass))
    sums = [(_profile_share(c, p, m, blocks) * blocks).sum(-1) for c, p, m in zip(*groups, strict=True)]
    return torch.cat(sums).view(*mean_row.shape[:-1], *blocks.shape[:2])


def _profile_share(mean_row: Tensor, by_offset: Tensor, mass: Tensor, blocks: Tensor) -> Tensor:
    """(..., K, G, n) mass that row i would have in each block were B_ij ∝ c_j p_(j−i), with B's own row sums.

    p_d = mass at offset d ÷ what c alone would put there. All sums over j are correlations, done by FFT.
    """
    n = mean_row.shape[-1]
    size = _fft_size(n)
    columns = torch.fft.rfft(mean_row, size)
    chance = torch.fft.irfft(torch.fft.rfft(mass, size).conj() * columns, size)  # lag d: Σ_i m_i c_(i+d)
    between = by_offset.new_zeros(*by_offset.shape[:-1], size - 2 * n + 1)
    observed = torch.cat([by_offset[..., n - 1 :], between, by_offset[..., : n - 1]], -1)
    floor = 1e-6 * mass.sum(-1, keepdim=True) / n
    profile = torch.where(chance > floor, observed / chance.clamp_min(PATTERN_TINY), 0.0)
    kernel = torch.fft.rfft(profile).conj()
    total = torch.fft.irfft(kernel * columns, size)[..., :n]
    by_block = torch.fft.rfft(mean_row[..., None, None, :] * blocks, size)
    by_block = torch.fft.irfft(kernel[..., None, None, :] * by_block, size)[..., :n]
    return mass[..., None, None, :] * (by_block / total.clamp_min(PATTERN_TINY)[..., None, None, :]).clamp(0, 1)


def _fft_size(n: int) -> int:
    """A power of two with room for all lags of n tokens: 2n itself may have large prime factors, which take long."""
    return 1 << (2 * n - 1).bit_length()


def _segment_contrast(blocks: Tensor) -> Tensor:
    """(K, G) what `inside − expected` is for the ideal map of each way: every row even over its own block."""
    n = blocks.shape[-1]
    size = _fft_size(n)
    spectrum = torch.fft.rfft(blocks, size)
    sizes = blocks.sum(-1, keepdim=True).clamp_min(1)
    lags = torch.fft.irfft(spectrum.conj() * spectrum, size)  # lag d: pairs of the block at that offset
    lags = (lags / sizes).sum(-2)  # (K, size)
    by_offset = torch.cat([lags[..., size - n + 1 :], lags[..., :n]], -1)
    covered = blocks.sum(-2)  # 1 where the token is in a block
    share = _profile_share(covered / covered.sum(-1, keepdim=True), by_offset, covered, blocks[:, None])
    # one map per way, so "K ways for each map" is one: (K, 1, G, n)
    expected = (share[:, 0] * blocks).sum(-1) / sizes[..., 0]
    return 1 - expected


@lru_cache(maxsize=64)
def _cuts(n: int, device: torch.device) -> Tensor:
    """(K, 2, n) ways to cut n tokens in two, neither part under 3 tokens or a fifth."""
    margin = max(3, round(n / 5))
    cuts = torch.linspace(margin, n - margin, min(PATTERN_CUTS, max(0, n - 2 * margin + 1)), device=device).round()
    prefix = (torch.arange(n, device=device) < cuts[:, None]).double()
    return torch.stack([prefix, 1 - prefix], 1)


@lru_cache(maxsize=64)
def _cut_contrast(n: int, device: torch.device) -> Tensor:
    return _segment_contrast(_cuts(n, device))
