"""The numbers of one text: sums over its (query, key) pairs per head, with what they are divided by.

A statistic is a numerator per head and one denominator: texts are then averaged one by one (average="text": each text
weighs the same, Clark et al. 2019) or token by token (average="token": numerators and denominators summed first).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..measures import categories, gates, norms
from ..measures.block import Block
from ..measures.geometry import cone_index
from ..measures.offers import why_not
from ..measures.rows import MARKS, Roles, Rows
from ..model import Model
from ..trace import Trace
from ..vocabulary import GATES

NAMES = (
    "previous",
    "next",
    "self",
    "same_word",
    "first",
    "separator",
    "punctuation",
    "punctuation_all",
    "separator_to_separator",
    "rest_to_separator",
    "entropy",
    "entropy_first",
    "entropy_smoothed",
    "entropy_first_smoothed",
    "k90",
)
# One statistic each where flags are counted: the four entropies are nearly one, and the first of them stands for all
COUNTED = tuple(name for name in NAMES if not name.startswith("entropy_"))
LABELS = tuple(GATES)
CATEGORIES = categories.NAMES


@dataclass(frozen=True)
class TextStatistics:
    """Everything that a survey keeps of one text. L layers, H heads, K statistics; float64 on the CPU."""

    numerators: dict[str, Tensor]  # "weight", "norm" -> (K, L, H); no "norm" where the model has none
    denominators: Tensor  # (K,)
    gates: Tensor  # (L, H) int64 the gate, as an index into LABELS
    categories: Tensor  # (S,) int64 the token's kind, as an index into CATEGORIES
    lengths: Tensor | None  # (L, H, S) ‖f(x_j)‖
    mixing: Tensor | None  # (M, L) mean over tokens, methods as in norms.METHODS
    cone: Tensor | None  # (L + 1,) cone index ÷ n of the hidden states


class Lengths:
    """‖f(x)‖ of many traces of one model: as `norms.transformed_norm`, in a tenth of its time.

    ‖O^h v‖² = v · G^h v with G^h = O^hᵀ O^h (d, d), made once for all traces; in float64, as squares cancel.
    """

    def __init__(self) -> None:
        self._grams: dict[int, tuple[Model | None, Tensor]] = {}

    def __call__(self, trace: Trace, layer: int) -> Tensor:
        """(H, S) float32, or float64 for double models."""
        values = trace.value(layer)
        model, gram = self._grams.get(layer, (None, values))
        if model is not trace.model:
            heads = Block(trace, layer, torch.float64).weight.unflatten(1, (trace.n_heads, -1)).transpose(0, 1)
            gram = heads.transpose(1, 2) @ heads  # (H, d, d)
            self._grams[layer] = trace.model, gram
        exact = values.double()
        return (exact @ gram).mul_(exact).sum(-1).clamp_min_(0).sqrt_().to(values.dtype)


@torch.no_grad()
def text_statistics(
    trace: Trace, lengths_of: Callable[[Trace, int], Tensor] = norms.transformed_norm
) -> TextStatistics:
    """The statistics of one trace, layer by layer. Raises InputError where the attention holds NaN or Inf.

    lengths_of: gives ‖f(x)‖ (H, S) of a trace's layer; for many traces of one model a `Lengths` is faster.
    """
    roles = Roles.of(trace)
    special, segments = trace.special_mask, trace.segments
    with_norms = not why_not(trace, "norms")
    columns: dict[str, list[Tensor]] = {"weight": [], "norm": []} if with_norms else {"weight": []}
    labels, lengths, diagonals = [], [], []
    for layer in range(trace.n_layers):
        alpha = trace.attention(layer)
        numerators, denominators = _counted(Rows(alpha, roles))
        columns["weight"].append(numerators)
        labels.append([LABELS.index(str(name)) for name in gates.label(gates.scores(alpha, special, segments))])
        if with_norms:
            length = lengths_of(trace, layer)
            rows = alpha * length[:, None]  # ‖αf‖
            rows /= rows.sum(-1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
            columns["norm"].append(_counted(Rows(rows, roles))[0])
            lengths.append(length)
            diagonals.append(alpha.diagonal(0, 1, 2).clone())
    mixing, cone = None, None
    if with_norms:
        ratios = norms.mixing_ratios(trace, diagonals=diagonals)
        mixing = torch.stack([ratios[method].mean(-1) for method in norms.METHODS]).double().cpu()
    if trace.model is not None:
        cone = torch.stack([cone_index(state) / trace.n_tokens for state in trace.hidden_states]).double().cpu()
    return TextStatistics(
        numerators={by: torch.stack(column, 1) for by, column in columns.items()},
        denominators=denominators,
        gates=torch.tensor(labels, device="cpu"),
        categories=categories.categories(trace, MARKS).cpu(),
        lengths=torch.stack(lengths).double().cpu() if lengths else None,
        mixing=mixing,
        cone=cone,
    )


def _counted(rows: Rows) -> tuple[Tensor, Tensor]:
    """Numerators (K, H) and denominators (K,) in the order of NAMES."""
    numerators, denominators = zip(*map(rows.statistic, NAMES), strict=True)
    return torch.stack(numerators).double().cpu(), torch.tensor(denominators, dtype=torch.float64, device="cpu")
