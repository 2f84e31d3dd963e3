"""The numbers of one text: sums over its (query, key) pairs per head, with what they are divided by.

A statistic is a numerator per head and one denominator: texts are then averaged one by one (average="text": each text
weighs the same, Clark et al. 2019) or token by token (average="token": numerators and denominators summed first).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..base.steps import Steps, completed
from ..measures import categories, gates, norms
from ..measures.block import Block
from ..measures.byhead import norm_shares
from ..measures.geometry import cone_index
from ..measures.offers import why_not
from ..measures.rows import MARKS, Here, Roles, Rows, head_groups, passing
from ..measures.statistics import SURVEY_NAMES, Fraction, fractions
from ..model.borrowed import Model
from ..trace.trace import Trace
from ..vocabulary import GATES

NAMES = SURVEY_NAMES
LABELS = tuple(GATES)
CATEGORIES = categories.NAMES
TOKENS_AT_ONCE = 512  # whose values are held in float64: what comes and goes leaves holes in memory of its size


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
        return self.of(trace, layer, trace.value(layer))

    def of(self, trace: Trace, layer: int, values: Tensor) -> Tensor:
        """(H, S) the lengths of vectors (H, S, d) of the heads behind W_O."""
        model, gram = self._grams.get(layer, (None, values))
        if model is not trace.model:
            heads = Block(trace, layer, torch.float64).weight.unflatten(1, (trace.n_heads, -1)).transpose(0, 1)
            gram = heads.transpose(1, 2) @ heads  # (H, d, d)
            self._grams[layer] = trace.model, gram
        parts = (part.double() for part in values.split(TOKENS_AT_ONCE, 1))
        return torch.cat([(part @ gram).mul_(part).sum(-1).clamp_min_(0).sqrt_().to(values.dtype) for part in parts], 1)


@torch.no_grad()
def text_statistics(trace: Trace, lengths_of: Callable[[Trace, int], Tensor] | None = None) -> TextStatistics:
    """The statistics of one trace, layer by layer. Raises InputError where the attention holds NaN or Inf.

    lengths_of: gives ‖f(x)‖ (H, S) of a trace's layer: one `Lengths` for many traces of one model is faster.
    """
    return completed(text_steps(lambda: trace, lengths_of))


@torch.no_grad()
def text_steps(here: Here, lengths_of: Callable[[Trace, int], Tensor] | None = None) -> Steps[TextStatistics]:
    """`text_statistics`, which yields after some rows; here: gives the trace, which is held in no pause."""
    lengths_of = lengths_of or Lengths()
    roles = Roles.of(here())
    with_norms = not why_not(here(), "norms")
    layers = []
    for number in range(here().n_layers):
        lengths = lengths_of(here(), number) if with_norms else None
        parts = []
        for heads in head_groups(here(), number):
            counted = _Heads(None if lengths is None else lengths[heads])
            rows = counted.passing(here, number, heads, roles)
            counted.scores = yield from gates.score_rows(rows, here().special_mask, here().segments)
            parts.append(counted)
        layers.append(_Layer.of(parts, lengths))
    return _joined(here(), layers, with_norms)


def _joined(trace: Trace, layers: Sequence[_Layer], with_norms: bool) -> TextStatistics:
    mixing, cone = None, None
    if with_norms:
        ratios = norms.mixing_ratios(trace, diagonals=[layer.diagonal for layer in layers])
        mixing = torch.stack([ratios[method].mean(-1) for method in norms.METHODS]).double().cpu()
    if trace.model is not None:
        cone = torch.stack([cone_index(state) / trace.n_tokens for state in trace.hidden_states]).double().cpu()
    return TextStatistics(
        numerators={by: torch.stack([layer.numerators[by] for layer in layers], 1) for by in layers[0].numerators},
        denominators=torch.tensor(layers[0].denominators, dtype=torch.float64, device="cpu"),
        gates=torch.tensor([layer.gates for layer in layers], device="cpu"),
        categories=categories.categories(trace, MARKS).cpu(),
        lengths=torch.stack([layer.lengths for layer in layers]).double().cpu() if with_norms else None,
        mixing=mixing,
        cone=cone,
    )


@dataclass(frozen=True)
class _Layer:
    """What is counted of a layer."""

    numerators: dict[str, Tensor]  # "weight", "norm" -> (K, H) in the order of SURVEY_NAMES
    denominators: list[int]
    gates: list[int]
    lengths: Any  # (H, S) ‖f(x)‖, or None
    diagonal: Tensor  # (H, S) α_ii

    @classmethod
    def of(cls, parts: Sequence[_Heads], lengths: Tensor | None) -> _Layer:
        return cls(
            {by: torch.cat([_numerators(part.totals[by]) for part in parts], -1) for by in parts[0].totals},
            [n for _, n in parts[0].totals["weight"]],
            [LABELS.index(str(name)) for name in gates.label(gates.joined([part.scores for part in parts]))],
            lengths,
            torch.cat([torch.cat(part.diagonal, -1) for part in parts]),
        )


def _numerators(totals: list[Fraction]) -> Tensor:
    """Numerators (K, H) in the order of SURVEY_NAMES."""
    return torch.stack([numerator for numerator, _ in totals]).double().cpu()


@dataclass
class _Heads:
    """What is counted of some heads while their attention passes, some rows at a time. lengths: ‖f(x)‖ (H', S)."""

    lengths: Tensor | None
    totals: dict[str, list[Fraction]] = field(default_factory=dict)  # "weight", "norm"
    diagonal: list[Tensor] = field(default_factory=list)  # parts of α_ii
    scores: gates.Scores = field(init=False)

    def passing(self, here: Here, layer: int, heads: slice, roles: Roles) -> Iterator[tuple[int, Tensor]]:
        for start, first, alpha in passing(here, layer, heads):
            rows = {"weight": Rows(alpha, roles, start, first)}
            self.diagonal.append(rows["weight"].own())
            if self.lengths is not None:
                shares = norm_shares(alpha, self.lengths[:, rows["weight"].keys])
                rows["norm"] = Rows(shares, roles, start, first)
            for by, values in rows.items():
                self.totals[by] = fractions(SURVEY_NAMES, values, self.totals.get(by, ()))
            yield first, alpha
