"""The spectrum of one head's attention A (S, K) in a text of any length: nothing of S x K is held.

Up to LIMITS["spectrum"] tokens all singular values are taken, in float64. Of longer texts the leading ones, from a
randomised block Krylov space: Halko, Martinsson and Tropp 2011 (algorithm 4.4) with the blocks of all iterations kept,
as Musco and Musco 2015 (algorithm 2) have it. Each pass over the rows makes A X and Aᵀ (A X) together, in blocks of
float32 whose thin products are summed in float64.

Σ σ² is ‖A‖_F², which the rows give exactly; how it is spread over the singular values that are not found is read from
the same space (stochastic Lanczos quadrature: Golub and Meurant 2010, Ubaru, Chen and Saad 2017). So the effective
rank is that of the whole spectrum. Beside all singular values, at 1,024 and 2,048 tokens: of the first 64 none is high,
and none low by more than 4 % of σ₁ (flat spectra; steep ones 0.1 %); the effective rank is off by up to 2 % for maps of
a softmax, 5 % for matrices of two or three values only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..base.limits import within
from ..trace.trace import Trace
from .rows import blocks
from .spectra import Spectrum

WIDTH, PASSES = 32, 8  # vectors of a block; blocks. Their product is the size of the space
CONVERGED = 1e-2  # ‖AᵀA v − σ² v‖ ÷ σ², below which a value counts as found
GAP = 1e-3  # and by how much (of σ²) it lies above the next: else there may be more of its kind


@dataclass(frozen=True)
class Leading:
    """The largest singular values, and the effective rank of the whole matrix (see `Spectrum`)."""

    values: Tensor  # (n,) float64, the largest first
    effective_rank: float  # in [1, rank]
    exact: bool  # all values, not the leading ones


def leading(trace: Trace, layer: int, head: int) -> Leading:
    """Of a head's attention. Raises InputError for NaN and Inf."""
    while not advance(trace, layer, head):
        pass
    state = _states(trace)[layer, head]
    assert isinstance(state, Leading)
    return state


def advance(trace: Trace, layer: int, head: int) -> bool:
    """One pass more over the head's rows; whether `leading` has all that it needs. What is done is kept."""
    states = _states(trace)
    state = states.get((layer, head)) or Krylov(layer, head)
    if isinstance(state, Krylov):
        states[layer, head] = _whole(trace, layer, head) if within("spectrum", trace.n_tokens) else state.grown(trace)
    return isinstance(states[layer, head], Leading)


def _states(trace: Trace) -> dict[tuple[int, int], Leading | Krylov]:
    """By layer and head, how far their spectra have come."""
    return trace.kept("leading", dict)


def _whole(trace: Trace, layer: int, head: int) -> Leading:
    spectrum = Spectrum.of(trace.attention_heads(layer, head, head + 1)[0])
    return Leading(spectrum.values, float(spectrum.effective_rank), exact=True)


@dataclass
class Krylov:
    """The space of Ω, AᵀA Ω, (AᵀA)² Ω … of a random block Ω (K, WIDTH), block by block, and what A makes of it."""

    layer: int
    head: int
    basis: list[Tensor] = field(default_factory=list)  # orthonormal (K, WIDTH)
    images: list[Tensor] = field(default_factory=list)  # A of each (S, WIDTH)
    returned: list[Tensor] = field(default_factory=list)  # AᵀA of each
    start: Tensor | None = None  # R of Ω = QR
    squares: float = 0.0  # ‖A‖_F²

    @torch.no_grad()
    def grown(self, trace: Trace) -> Leading | Krylov:
        """With one block more; after PASSES blocks, what they say."""
        if not self.basis:
            draws = torch.Generator().manual_seed(0)
            size = (len(trace.key_tokens), WIDTH)
            omega = torch.randn(size, generator=draws, dtype=torch.float64, device="cpu")
            block, self.start = torch.linalg.qr(omega.to(trace.device))
        else:
            block = _orthonormal(self.returned[-1], torch.cat(self.basis, 1))
        image, returned, squares = _passed(trace, self.layer, self.head, block, squared=not self.basis)
        self.basis.append(block)
        self.images.append(image)
        self.returned.append(returned)
        self.squares += squares
        return self._said() if len(self.basis) == PASSES else self

    def _said(self) -> Leading:
        basis, images, returned = (torch.cat(pieces, 1) for pieces in (self.basis, self.images, self.returned))
        _, values, turn = torch.linalg.svd(images, full_matrices=False)
        squares, vectors = values.square(), turn.T
        off = (returned @ vectors - basis @ vectors * squares).norm(dim=0)
        assert self.start is not None
        density = (self.start.T @ vectors[:WIDTH]).square().sum(0) / WIDTH  # how many values each stands for
        separate = _separate(squares, off, density)
        counts = torch.cat([torch.ones_like(density[:separate]), density[separate:]])
        remainder = (counts * squares)[separate:].sum()
        if remainder > 0:
            counts[separate:] *= max(0.0, self.squares - float(squares[:separate].sum())) / remainder
        shares = squares / self.squares
        entropy = float((counts * torch.special.entr(shares)).sum())
        return Leading(values, math.exp(entropy), exact=False)


def _separate(squares: Tensor, off: Tensor, density: Tensor) -> int:
    """How many leading values are found one by one: converged, apart from the next, as many as the density says."""
    convergence = (off <= CONVERGED * squares).long().cumprod(0)
    gaps = squares[:-1] - squares[1:] > GAP * squares[:-1]
    count = torch.arange(1, len(squares), device=squares.device)
    all_there = density.cumsum(0)[:-1] <= count + 4 * (2 * count / WIDTH).sqrt()
    ends = (convergence[:-1].bool() & gaps & all_there).nonzero()
    return int(ends.max()) + 1 if len(ends) else 0


def _orthonormal(block: Tensor, basis: Tensor) -> Tensor:
    """A basis of what a block has beside a basis; three times, as once loses digits, and of nothing all of them."""
    for _ in range(3):
        block = torch.linalg.qr(block - basis @ (basis.T @ block)).Q
    return block


def _passed(trace: Trace, layer: int, head: int, block: Tensor, squared: bool) -> tuple[Tensor, Tensor, float]:
    """A X (S, n) and Aᵀ A X (K, n) of X (K, n), float64, and, where it is wanted, ‖A‖_F²."""
    image, returned, squares = block.new_zeros(trace.n_tokens, block.shape[1]), torch.zeros_like(block), 0.0
    for start, first_key, alpha in blocks(trace, layer, slice(head, head + 1)):
        rows, keys = alpha[0], slice(first_key, first_key + alpha.shape[2])
        product = rows @ block[keys].to(rows.dtype)
        image[start : start + len(rows)] = product
        returned[keys] += rows.T @ product
        squares += float(rows.square().sum(dtype=torch.float64)) if squared else 0.0
    return image, returned, squares
