"""The numbers of one text: sums over its (query, key) pairs per head, with what they are divided by.

A statistic is a numerator per head and one denominator: texts are then averaged one by one (average="text": each text
weighs the same, Clark et al. 2019) or token by token (average="token": numerators and denominators summed first).
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..measures import categories, gates, norms
from ..measures.attention import descending
from ..measures.block import Block
from ..measures.geometry import cone_index
from ..trace import Trace

if TYPE_CHECKING:
    from ..lens import Lens

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
LABELS = (*gates.GATES, "mixed", "undefined")
CATEGORIES = categories.NAMES
MARKS = (".", ",")  # what Clark et al. count as punctuation
SMOOTHING = 1e-4  # Clark's: 0.9999 α + 0.0001 / n


@dataclass(frozen=True)
class Roles:
    """What the tokens of a text are: boolean masks (S,), and which pairs are the same word."""

    separator: Tensor
    punctuation: Tensor  # exactly "." or ","
    punctuation_all: Tensor  # Unicode P
    same_word: Tensor  # (S, S) other occurrences of the query's word

    @classmethod
    def of(cls, trace: Trace) -> Roles:
        device = trace.special_mask.device
        special = trace.special_mask.tolist()
        text = ["" if s else token for s, token in zip(special, trace.display_tokens, strict=True)]

        def mask(values: list[bool]) -> Tensor:
            return torch.tensor(values, device=device)

        return cls(
            separator=trace.separator_mask,
            punctuation=mask([token in MARKS for token in text]),
            punctuation_all=mask([token != "" and all(map(_is_mark, token)) for token in text]),
            same_word=_same_word(trace).to(device),
        )


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


def _same_word(trace: Trace) -> Tensor:
    """(S, S) bool: the key belongs to another occurrence of the query's word, upper and lower case alike.

    Words are what the tokenizer calls so, put together from their pieces; those without a letter or digit do not count.
    """
    pieces: dict[int, list[int]] = defaultdict(list)
    for position, word in enumerate(trace.word_ids):
        if word is not None:
            pieces[word].append(position)
    numbers: dict[str, int] = {}
    identity = torch.full((trace.n_tokens,), -1)
    words = torch.full((trace.n_tokens,), -1)
    for word, positions in pieces.items():
        spelled = "".join(trace.display_tokens[at].removeprefix("##") for at in positions).casefold()
        if any(map(str.isalnum, spelled)):
            identity[positions] = numbers.setdefault(spelled, len(numbers))
            words[positions] = word
    same = (identity[:, None] == identity) & (identity >= 0)
    return same & (words[:, None] != words)


def row_statistics(rows: Tensor, roles: Roles) -> dict[str, tuple[Tensor, int]]:
    """name -> (numerator (H,), denominator) of maps (H, S, S) [query, key] whose rows sum to 1.

    previous .. punctuation_all: Σ over the pairs, ÷ n tokens (special rows included; also for previous and next).
    separator_to_separator ÷ number of separators, rest_to_separator ÷ the others. Entropies in nats, ÷ n or, of the
    first row, ÷ 1; smoothed ones of 0.9999 p + 0.0001 / n. k90: least number of keys that hold 0.9 of a row (to 1e-6).
    A denominator of 0 says that the text has no such tokens. Clark et al. 2019, sections 3.1 to 3.3.
    """
    n = rows.shape[1]
    separators = int(roles.separator.sum())
    columns = torch.stack([roles.separator, roles.punctuation, roles.punctuation_all], -1).to(rows.dtype)
    to = rows @ columns  # (H, S, 3)
    received = to.sum(1)
    from_separators = to[:, roles.separator, 0].sum(-1)
    entropy = _entropy(rows.clone())
    smoothed = _entropy((rows * (1 - SMOOTHING)).add_(SMOOTHING / n))
    few = (descending(rows).cumsum(-1) < 0.9 - 1e-6).sum((1, 2))  # keys a row needs, less one
    return {
        "previous": (rows.diagonal(-1, 1, 2).sum(-1), n),
        "next": (rows.diagonal(1, 1, 2).sum(-1), n),
        "self": (rows.diagonal(0, 1, 2).sum(-1), n),
        "same_word": (rows.flatten(1) @ roles.same_word.flatten().to(rows.dtype), n),
        "first": (rows[:, :, 0].sum(-1), n),
        "separator": (received[:, 0], n if separators else 0),
        "punctuation": (received[:, 1], n),
        "punctuation_all": (received[:, 2], n),
        "separator_to_separator": (from_separators, separators),
        "rest_to_separator": (received[:, 0] - from_separators, n - separators if separators else 0),
        "entropy": (entropy.sum(-1), n),
        "entropy_first": (entropy[:, 0], 1),
        "entropy_smoothed": (smoothed.sum(-1), n),
        "entropy_first_smoothed": (smoothed[:, 0], 1),
        "k90": ((few + n).to(rows.dtype), n),
    }


def _entropy(rows: Tensor) -> Tensor:
    """(H, S) −Σ p ln p; overwrites p. Half the time of xlogy."""
    return -rows.clamp_min(1e-30).log_().mul_(rows).sum(-1)


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
        self._grams: dict[int, tuple[Lens | None, Tensor]] = {}

    def __call__(self, trace: Trace, layer: int) -> Tensor:
        """(H, S) float32, or float64 for double models."""
        values = trace.value(layer)
        lens, gram = self._grams.get(layer, (None, values))
        if lens is not trace.lens:
            heads = Block(trace, layer, torch.float64).weight.unflatten(1, (trace.n_heads, -1)).transpose(0, 1)
            gram = heads.transpose(1, 2) @ heads  # (H, d, d)
            self._grams[layer] = trace.lens, gram
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
    with_norms = norms.available(trace)
    columns: dict[str, list[Tensor]] = {"weight": [], "norm": []} if with_norms else {"weight": []}
    labels, lengths = [], []
    for layer in range(trace.n_layers):
        alpha = trace.attention(layer)
        found = row_statistics(alpha, roles)
        columns["weight"].append(_stacked(found))
        labels.append([LABELS.index(str(name)) for name in gates.label(gates.scores(alpha, special, segments))])
        if with_norms:
            length = lengths_of(trace, layer)
            rows = alpha * length[:, None]  # ‖αf‖
            rows /= rows.sum(-1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
            columns["norm"].append(_stacked(row_statistics(rows, roles)))
            lengths.append(length)
    mixing, cone = None, None
    if with_norms:
        ratios = norms.mixing_ratios(trace)
        mixing = torch.stack([ratios[method].mean(-1) for method in norms.METHODS]).double().cpu()
    if trace.lens is not None:
        cone = torch.stack([cone_index(state) / trace.n_tokens for state in trace.hidden_states]).double().cpu()
    return TextStatistics(
        numerators={by: torch.stack(column, 1) for by, column in columns.items()},
        denominators=torch.tensor([float(found[name][1]) for name in NAMES], dtype=torch.float64),
        gates=torch.tensor(labels),
        categories=categories.categories(trace, MARKS).cpu(),
        lengths=torch.stack(lengths).double().cpu() if lengths else None,
        mixing=mixing,
        cone=cone,
    )


def _stacked(found: dict[str, tuple[Tensor, int]]) -> Tensor:
    """(K, H) numerators in the order of NAMES."""
    return torch.stack([found[name][0] for name in NAMES]).double().cpu()
