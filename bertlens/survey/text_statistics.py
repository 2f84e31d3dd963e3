"""The numbers of one text: sums over its (query, key) pairs per head, with what they are divided by.

A statistic is a numerator per head and one denominator: texts are then averaged one by one (average="text": each text
weighs the same, Clark et al. 2019) or token by token (average="token": numerators and denominators summed first).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..base.generators import Steps, run_to_end
from ..base.vocabulary import GATES
from ..errors import ModelError
from ..measures import categories, gates, norms
from ..measures.block import Block
from ..measures.byhead import norm_shares
from ..measures.geometry import cone_index
from ..measures.offers import why_not
from ..measures.rows import MARKS, Here, Roles, Rows, head_groups, layer_groups, passing
from ..measures.statistics import SURVEY_NAMES, Fraction, fractions
from ..model.borrowed import Model
from ..trace.trace import Trace

NAMES = SURVEY_NAMES
LABELS = tuple(GATES)
CATEGORIES = categories.NAMES
TOKENS_AT_ONCE = 512  # what comes and goes leaves holes in memory of its size


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
    """‖f(x)‖ of many traces of one model: as `norms.transformed_norm`, in a twentieth of its time.

    ‖O^h v‖ = ‖R^h v‖ where O^h = Q R^h, R^h (d, d), made once for all traces.
    """

    def __init__(self) -> None:
        self._factors: dict[int, tuple[Model | None, Tensor]] = {}

    def __call__(self, trace: Trace, layer: int) -> Tensor:
        """(H, S) float32, or float64 for double models."""
        return self.of(trace, layer, trace.value(layer))

    def of(self, trace: Trace, layer: int, values: Tensor) -> Tensor:
        """(H, S) the lengths of vectors (H, S, d) of the heads behind W_O."""
        model, factor = self._factors.get(layer, (None, values))
        if model is not trace.model:
            heads = Block(trace, layer, torch.float64).weight.unflatten(1, (trace.n_heads, -1)).transpose(0, 1)
            factor = torch.linalg.qr(heads, mode="r").R.transpose(1, 2).to(values.dtype)  # (H, d, d)
            self._factors[layer] = trace.model, factor
        return torch.cat([(block @ factor).norm(dim=-1) for block in values.split(TOKENS_AT_ONCE, 1)], 1)


@torch.no_grad()
def text_statistics(trace: Trace, lengths_of: Callable[[Trace, int], Tensor] | None = None) -> TextStatistics:
    """The statistics of one trace, layer by layer. Raises InputError where the attention holds NaN or Inf.

    lengths_of: gives ‖f(x)‖ (H, S) of a trace's layer: one `Lengths` for many traces of one model is faster.
    """
    return run_to_end(text_steps(lambda: trace, lengths_of))


@torch.no_grad()
def text_steps(here: Here, lengths_of: Callable[[Trace, int], Tensor] | None = None) -> Steps[TextStatistics]:
    """`text_statistics`, which yields after some rows; here: gives the trace, which is held in no pause."""
    lengths_of = lengths_of or Lengths()
    roles = Roles.of(here())
    with suppress(ModelError):
        here().check_unchanged()  # first, of all at once: layer by layer takes longer
    with_norms = not why_not(here(), "norms")
    if with_norms:
        here().check_unchanged()
    groups: list[_Heads] = []
    lengths: list[Tensor | None] = []
    for layers in layer_groups(here()):
        layer_lengths = torch.cat([lengths_of(here(), layer) for layer in layers]) if with_norms else None
        for heads in head_groups(here(), layers):
            group = _Heads(None if layer_lengths is None else layer_lengths[heads])
            rows = group.passing(here, layers, heads, roles)
            group.scores = yield from gates.score_rows(rows, here().special_mask, here().segments)
            groups.append(group)
        lengths.append(layer_lengths)
    return _assembly(here(), groups, lengths)


def _assembly(trace: Trace, groups: Sequence[_Heads], lengths: Sequence[Tensor | None]) -> TextStatistics:
    """lengths: (L'·H, S) of some layers each."""
    shape = trace.n_layers, trace.n_heads
    layer_lengths = [rows for rows in lengths if rows is not None]
    mixing, cone = None, None
    if layer_lengths:
        diagonals = torch.cat([torch.cat(group.diagonal, -1) for group in groups]).unflatten(0, shape)
        ratios = norms.mixing_ratios(trace, diagonals=[*diagonals])
        mixing = torch.stack([ratios[method].mean(-1) for method in norms.METHODS]).double().cpu()
    if trace.model is not None:
        cone = torch.stack([cone_index(state) / trace.n_tokens for state in trace.hidden_states]).double().cpu()
    labels = gates.label(gates.joined([group.scores for group in groups])).reshape(shape)
    totals = groups[0].totals
    return TextStatistics(
        numerators={
            by: torch.cat([_numerators(group.totals[by]) for group in groups], -1).unflatten(-1, shape) for by in totals
        },
        denominators=torch.tensor([n for _, n in totals["weight"]], dtype=torch.float64, device="cpu"),
        gates=torch.tensor([[LABELS.index(str(name)) for name in layer] for layer in labels], device="cpu"),
        categories=categories.categories(trace, MARKS).cpu(),
        lengths=torch.cat(layer_lengths).unflatten(0, shape).double().cpu() if layer_lengths else None,
        mixing=mixing,
        cone=cone,
    )


def _numerators(totals: list[Fraction]) -> Tensor:
    """Numerators (K, H') in the order of SURVEY_NAMES."""
    return torch.stack([numerator for numerator, _ in totals]).double().cpu()


@dataclass
class _Heads:
    """What is counted of some heads, of one layer or of several, while their attention passes, some rows at a time.

    lengths: ‖f(x)‖ (H', S).
    """

    lengths: Tensor | None
    totals: dict[str, list[Fraction]] = field(default_factory=dict)  # "weight", "norm"
    diagonal: list[Tensor] = field(default_factory=list)  # parts of α_ii
    scores: gates.Scores = field(init=False)

    def passing(self, here: Here, layers: range, heads: slice, roles: Roles) -> Iterator[tuple[int, Tensor]]:
        for start, first_key, alpha in passing(here, layers, heads):
            rows = {"weight": Rows(alpha, roles, start, first_key)}
            self.diagonal.append(rows["weight"].own())
            if self.lengths is not None:
                shares = norm_shares(alpha, self.lengths[:, rows["weight"].keys])
                rows["norm"] = Rows(shares, roles, start, first_key)
            for by, values in rows.items():
                self.totals[by] = fractions(SURVEY_NAMES, values, self.totals.get(by, ()))
            yield first_key, alpha
