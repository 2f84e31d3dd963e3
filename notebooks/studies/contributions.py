"""What tokens send, beside the weight that they get: Kobayashi et al. 2020 (arXiv 2004.10102) and 2021 (2109.07152).

Kinds of tokens: `[CLS]`, `[SEP]`, full stop and comma, all other. Shapes (texts, …); layers and heads count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertlens.measures import categories, flow, norms
from bertlens.measures.ranks import spearman
from bertlens.survey import mean_text
from bertlens.trace.trace import Trace

from .finding import Finding, lengths, texts_of, verdicts

MARKS = (".", ",")
KINDS = ["[CLS]", "[SEP]", ". and ,", "other"]
CLS, SEP, STOPS, OTHER = range(4)
MIDDLE = slice(1, 5)  # L1 to L4
GROUPS = 4  # of texts, that share none: where a number needs many texts
METHODS = {
    "attn-w": "weights alone",
    "attn-n": "+ lengths",
    "attnres-w": "weights, half for the residual",
    "attnres-n": "lengths + residual",
    "attnresln-n": "lengths + residual + LayerNorm",
}


class Contributions:
    """Counts over the traces of a corpus, of a model with six layers and more. wiki: the corpus is Wikipedia."""

    def __init__(self, traces: Sequence[Trace], wiki: bool = False) -> None:
        self.traces, self.wiki = list(traces), wiki
        self.layers = [f"L{number}" for number in range(traces[0].n_layers)]
        self.groups = [self.traces[at::GROUPS] for at in range(GROUPS)]
        each = [categories.shares([trace], MARKS) for trace in traces]
        self.attention, self.norm, self.length = (
            torch.stack([getattr(one, name) for one in each]).numpy() for name in ("attention", "norm", "length")
        )  # (texts, layers, kinds); length is NaN where a text has no such token

    def __repr__(self) -> str:
        tokens = sum(trace.n_tokens for trace in self.traces)
        kind = "Wikipedia" if self.wiki else "pairs of sentences"
        return f"{kind}: {lengths(self.traces)}, {tokens} tokens in all"

    @cached_property
    def shares(self) -> Finding:
        """Share of the weights that each kind gets → share of the lengths ‖αf(x)‖ that it sends."""
        both = [(texts_of(self.attention[:, :, k]), texts_of(self.norm[:, :, k])) for k in range(4)]
        table = pd.DataFrame(
            {kind: [f"{a} → {b}" for a, b in zip(*both[k], strict=True)] for k, kind in enumerate(KINDS)},
            index=self.layers,
        )
        return Finding(f"{lengths(self.traces)}; share of the weights α → share of the lengths ‖αf(x)‖", table)

    @cached_property
    def relative_lengths(self) -> Finding:
        """Mean ‖f(x)‖ of a kind ÷ that of all other tokens: `relative`, kind -> (texts that have it, layers)."""
        ratio = self.length / self.length[:, :, [OTHER]]
        relative = {kind: ratio[~np.isnan(ratio[:, 0, k]), :, k] for k, kind in enumerate(KINDS[:3])}
        table = pd.DataFrame({kind: texts_of(values) for kind, values in relative.items()}, index=self.layers)
        said = f"{lengths(self.traces)}; mean length ‖f(x)‖, that of all other tokens = 1"
        return Finding(said, table, relative=relative)

    @cached_property
    def order(self) -> Finding:
        """Spearman's ρ of weight and length: (groups, kinds) `pooled`, `within` heads; for `[CLS]` `between` heads, and
        `resting`, of the heads that give it more than half."""
        found = [categories.cancelling(group, MARKS, per="key") for group in self.groups]
        pooled = np.stack([one.pooled.numpy() for one in found])
        within = np.stack([one.within.nanmean((0, 1)).numpy() for one in found])  # mean over heads
        layers = range(len(self.layers))
        heads = [[trace.attention(layer)[:, :, 0].mean(1) for layer in layers] for trace in self.traces]
        sent = [[norms.transformed_norm(trace, layer)[:, 0] for layer in layers] for trace in self.traces]
        to_cls, of_cls = (torch.stack([torch.cat(one) for one in values]).mean(0) for values in (heads, sent))
        between = float(spearman(to_cls, of_cls))
        every = categories.cancelling(self.traces, MARKS, per="key").within[..., CLS].flatten()
        resting = every[to_cls > 0.5]
        said = (
            f"{lengths(self.traces)} in four groups [95 %, over groups].\n"
            f"[CLS], between the {len(to_cls)} heads (mean weight and mean length of each): ρ = {between:.2f}.\n"
            f"[CLS], within the {len(resting)} heads that give it more than half: mean ρ = {resting.mean():.2f}, "
            f"from {resting.min():.2f} to {resting.max():.2f}."
        )
        table = pd.DataFrame(
            {"pooled": texts_of(pooled, most=1), "within heads, mean": texts_of(within, most=1)}, index=KINDS
        )
        return Finding(said, table, pooled=pooled, within=within, between=between, resting=resting)

    @cached_property
    def mixing(self) -> Finding:
        """How much of a new vector comes from other tokens: `by`, method -> (texts, layers). Kobayashi 2021."""
        ratios = [norms.mixing_ratios(trace) for trace in self.traces]
        by = {method: torch.stack([ratio[method].mean(1) for ratio in ratios]).numpy() for method in METHODS}
        even = np.mean([1 - 1 / trace.n_tokens for trace in self.traces])
        said = f"{lengths(self.traces)}; if a word took from all tokens alike, {even:.0%} would come from others."
        table = pd.DataFrame(
            {name: [*texts_of(by[method]), mean_text(by[method].mean(1))] for method, name in METHODS.items()},
            index=[*self.layers, "all layers"],
        )
        return Finding(said, table, by=by)

    @cached_property
    def from_cls(self) -> Finding:
        """Share of `[CLS]` in the last vectors, mean over words: `shares` (texts, 3), by weights, by vectors, even."""
        rows = []
        for trace in self.traces:
            words = ~trace.special_mask
            by = [float(flow.rollout(trace, method)[-1][words, 0].mean()) for method in ("attnres-w", "attnresln-n")]
            rows.append([*by, 1 / trace.n_tokens])
        shares = np.array(rows)
        said = (
            f"{lengths(self.traces)}: [CLS] is {mean_text(shares[:, 0])} of an average word by weights, "
            f"{mean_text(shares[:, 1], 3)} by vectors; an even share is {shares[:, 2].mean():.3f}."
        )
        return Finding(said, shares=shares)

    @cached_property
    def frequency(self) -> Finding:
        """ρ of a token's frequency rank and its mean ‖f(x)‖: `every` all texts, `rho` (groups, with and without special
        tokens), `by_layer` (groups, layers)."""
        every = norms.frequency_correlation(self.traces)
        parts = [norms.frequency_correlation(group) for group in self.groups]
        rho = np.array([[part.rho, part.rho_without_special] for part in parts])
        by_layer = np.array([part.per_layer.tolist() for part in parts])
        pieces = pd.Series([piece for trace in self.traces for piece in trace.tokens]).value_counts()
        said = (
            f"{lengths(self.traces)}: {every.n} tokens, {len(pieces)} different ones, {(pieces == 1).sum()} of these "
            f"occur once.\nρ = {every.rho:.2f}, without special tokens {every.rho_without_special:.2f}; in four groups "
            f"of texts {mean_text(rho[:, 0], most=1)}, without special tokens {mean_text(rho[:, 1], most=1)}."
        )
        columns = {"ρ, all texts": every.per_layer.tolist(), "four groups": texts_of(by_layer, most=1)}
        return Finding(said, pd.DataFrame(columns, index=self.layers).round(2), every=every, rho=rho, by_layer=by_layer)

    @property
    def conclusions(self) -> Any:
        """A table: the papers' claims, what holds here, by which numbers."""

        def mean_of(values: np.ndarray) -> str:
            return mean_text(values.reshape(len(values), -1).mean(1))

        def listed(values: np.ndarray) -> str:
            return "; ".join(f"L{layer} {text}" for layer, text in enumerate(texts_of(values)))

        attention, norm, by = self.attention, self.norm, self.mixing.by
        rows = [
            (
                "Heads rest on a token with a large weight and a short vector",
                "holds, for [CLS]",
                f"L1 to L4: [CLS] gets {mean_of(attention[:, MIDDLE, CLS])} of α, "
                f"sends {mean_of(norm[:, MIDDLE, CLS])} of ‖αf(x)‖",
            ),
            (
                "That token is [SEP]",
                "not here",
                f"[SEP] gets {mean_of(attention[:, :, SEP])} of α and sends {mean_of(norm[:, :, SEP])}",
            ),
            (
                "Full stops and commas cancel likewise",
                "last layer only",
                f"L1 to L4: {mean_of(attention[:, MIDDLE, STOPS])} of α, {mean_of(norm[:, MIDDLE, STOPS])} of "
                f"‖αf(x)‖; L5: {mean_of(attention[:, 5, STOPS])} and {mean_of(norm[:, 5, STOPS])}",
            ),
            (
                "Weight and length have opposite order",
                "between heads, not within",
                f"[CLS]: ρ pooled {mean_text(self.order.pooled[:, CLS], most=1)}, "
                f"within heads {mean_text(self.order.within[:, CLS])}",
            ),
            (
                "Mixing is far smaller than weights suggest",
                "holds",
                f"{mean_of(by['attn-w'])} by weights, {mean_of(by['attnresln-n'])} with lengths, residual, LayerNorm",
            ),
            ("Mixing decreases with depth", "down to L4, the last layer mixes most", listed(by["attnresln-n"])),
            (
                "Frequent tokens have shorter vectors",
                "holds, by the last two layers" if self.wiki else "holds, but most words occur once here",
                f"ρ {mean_text(self.frequency.rho[:, 0], most=1)}; {listed(self.frequency.by_layer)}",
            ),
        ]
        return verdicts(rows, ("claim", "here", f"measured: {lengths(self.traces)}"))


def sent_by(trace: Trace, layer: int, head: int, query: int) -> Any:
    """A row of a head: each key's weight α, length ‖f(x)‖ and their product ‖αf(x)‖."""
    return pd.DataFrame(
        {
            "weight α": trace.attention(layer)[head, query].tolist(),
            "‖f(x)‖": norms.transformed_norm(trace, layer)[head].tolist(),
            "‖αf(x)‖": norms.weighted_norm(trace, layer)[head, query].tolist(),
        },
        index=[f"{word} ({place})" for place, word in enumerate(trace.display_tokens)],
    )


def reached(trace: Trace, token: int) -> Any:
    """What the last vector of a token is made of, by rollout: share of each token, by weights and by vectors."""
    names = {"attnres-w": "weights + half residual", "attnresln-n": "vectors, residual, LayerNorm"}
    return pd.DataFrame(
        {name: flow.rollout(trace, method)[-1, token].tolist() for method, name in names.items()},
        index=[f"{word} ({place})" for place, word in enumerate(trace.display_tokens)],
    )
