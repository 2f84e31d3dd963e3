"""What attention weights promise and norms deliver, by kind of token: shares of both, and how far they cancel.

Kobayashi et al. 2020, section 4: heads give a large α to tokens whose ‖f(x)‖ is small. Which tokens these are differs
from model to model ([SEP] in BERT, [CLS] in all-MiniLM-L6-v2), and a ρ pooled over heads can come from differences
between heads alone: both are measured here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..base.dataframes import pd
from ..base.vocabulary import CATEGORIES
from ..errors import InputError
from ..trace.trace import Trace
from .norms import transformed_norm
from .ranks import spearman
from .received import received

NAMES = tuple(CATEGORIES)


def categories(trace: Trace, punctuation: Collection[str] | None = None) -> Tensor:
    """(S,) int64 kind of every token, an index into NAMES.

    first: template tokens in front of the text ([CLS], <s>); separator: template tokens after it ([SEP], </s>, <eos>);
    punctuation: text tokens of Unicode punctuation only, or those given, say (".", ","); other: the rest, a special
    token typed by the user too.
    """
    special = trace.special_mask.tolist()
    start = special.index(False) if False in special else len(special)
    kinds = []
    for position, token in enumerate(trace.display_tokens):
        if special[position]:
            kinds.append("first" if position < start else "separator")
        elif _is_punctuation(token) if punctuation is None else token in punctuation:
            kinds.append("punctuation")
        else:
            kinds.append("other")
    return torch.tensor([NAMES.index(kind) for kind in kinds], device=trace.device)


def _is_punctuation(token: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in token)


@dataclass(frozen=True)
class Shares:
    """Per layer and kind of token (the order of NAMES); shares of a layer sum to 1, a kind without tokens has 0."""

    attention: Tensor  # (L, 4) Σ α over heads, queries and the kind's keys ÷ Σ α
    norm: Tensor  # (L, 4) the same of ‖αf(x)‖
    length: Tensor  # (L, 4) mean ‖f(x)‖ over heads and the kind's tokens; NaN for a kind without tokens
    tokens: Tensor  # (4,) int64 number of tokens


@torch.no_grad()
def shares(traces: Trace | Iterable[Trace], punctuation: Collection[str] | None = None) -> Shares:
    """The share of attention and of norm that each kind of token receives, over one or several traces of a model.

    After Kobayashi et al. 2020, section 4. Every query counts the same, whatever text it stands in. Raises ModelError
    like `norms`, InputError without a trace.
    """
    attention = norm = length = tokens = torch.zeros((), device="cpu")
    for trace in _several(traces):
        kinds = torch.nn.functional.one_hot(categories(trace, punctuation), len(NAMES)).double()  # (S, 4)
        rows = []
        for layer in range(trace.n_layers):
            attended, lengths = _received(trace, layer)
            rows.append(torch.stack([x.sum(0) @ kinds for x in (attended, attended * lengths, lengths)]))
        sums = torch.stack(rows).cpu()  # (L, 3, 4)
        attention, norm, length = attention + sums[:, 0], norm + sums[:, 1], length + sums[:, 2]
        tokens = tokens + kinds.sum(0).cpu()
        heads = trace.n_heads
    return Shares(
        attention=(attention / attention.sum(-1, keepdim=True)).float(),
        norm=(norm / norm.sum(-1, keepdim=True)).float(),
        length=(length / (heads * tokens)).float(),
        tokens=tokens.long(),
    )


@dataclass(frozen=True)
class Cancelling:
    """Spearman's ρ of α and ‖f(x)‖ per kind of token (the order of NAMES). Below 0: large weights on short vectors."""

    pooled: Tensor  # (4,) over the points of all layers and heads
    within: Tensor  # (L, H, 4) within each head; NaN under 3 points or where ‖f(x)‖ is constant (one [CLS] in one text)


@torch.no_grad()
def cancelling(
    traces: Trace | Iterable[Trace], punctuation: Collection[str] | None = None, *, per: str = "cell"
) -> Cancelling:
    """How far weights and norms cancel, pooled and within heads, over one or several traces of a model.

    per: "cell", a point for every query and key (α_ij, ‖f(x_j)‖), or "key", one for every key with α averaged over the
    queries, which keeps many texts small. The two ρ answer different questions: the pooled one also sees that some
    heads and layers have larger weights and shorter vectors than others. Raises ModelError like `norms`, InputError
    without a trace or for another `per`.
    """
    if per not in ("cell", "key"):
        raise InputError(f"per must be 'cell' or 'key', not {per!r}")
    every_trace = _several(traces)
    kinds = [categories(trace, punctuation) for trace in every_trace]
    layers, heads = every_trace[0].n_layers, every_trace[0].n_heads
    within = torch.full((layers, heads, len(NAMES)), torch.nan, device="cpu")
    points: list[list[tuple[Tensor, Tensor]]] = [[] for _ in NAMES]
    for layer in range(layers):
        pairs: list[list[tuple[Tensor, Tensor]]] = [[] for _ in NAMES]  # per kind, of every trace: (H, n) α and ‖f‖
        for trace, kind in zip(every_trace, kinds, strict=True):
            lengths = transformed_norm(trace, layer)
            alpha = _mean_rows(trace, layer) if per == "key" else trace.attention(layer)
            for k in range(len(NAMES)):
                weights = alpha[:, :, kind == k]
                lengths_k = lengths[:, None, kind == k].expand_as(weights)
                pairs[k].append((weights.flatten(1).cpu(), lengths_k.flatten(1).cpu()))
        for k, pieces in enumerate(pairs):
            x, y = (torch.cat(side, 1) for side in zip(*pieces, strict=True))
            points[k].append((x.flatten(), y.flatten()))
            within[layer, :, k] = torch.tensor([spearman(a, b) for a, b in zip(x, y, strict=True)], device="cpu")
    pooled = [spearman(*(torch.cat(side) for side in zip(*pieces, strict=True))) for pieces in points]
    return Cancelling(torch.tensor(pooled, device="cpu"), within)


def table(traces: Trace | Iterable[Trace], punctuation: Collection[str] | None = None) -> pd.DataFrame:
    """One row per layer and kind of token: layer, category, tokens, attention, norm, length, rho, rho_heads.

    attention, norm, length: see `Shares`. rho: Spearman's ρ of α and ‖f(x)‖ within heads, mean over the layer's heads
    that have one, one point per query and key; rho_heads: how many heads those are.
    """
    every_trace = _several(traces)
    share, rho = shares(every_trace, punctuation), cancelling(every_trace, punctuation).within
    rows = [
        {
            "layer": layer,
            "category": name,
            "tokens": int(share.tokens[k]),
            "attention": float(share.attention[layer, k]),
            "norm": float(share.norm[layer, k]),
            "length": float(share.length[layer, k]),
            "rho": float(rho[layer, :, k].nanmean()),
            "rho_heads": int((~rho[layer, :, k].isnan()).sum()),
        }
        for layer in range(len(rho))
        for k, name in enumerate(NAMES)
        if share.tokens[k]
    ]
    return pd.DataFrame(rows)


def _received(trace: Trace, layer: int) -> tuple[Tensor, Tensor]:
    """(H, S) float64: the attention that each key receives from all queries, and its ‖f(x)‖."""
    return received(trace, layer).sums, transformed_norm(trace, layer).double()


def _mean_rows(trace: Trace, layer: int) -> Tensor:
    """(H, 1, S) float32 α averaged over the queries."""
    return (received(trace, layer).sums / trace.n_tokens).float()[:, None]


def _several(traces: Trace | Iterable[Trace]) -> list[Trace]:
    every_trace = [traces] if isinstance(traces, Trace) else list(traces)
    if not every_trace:
        raise InputError("no trace given")
    return every_trace
