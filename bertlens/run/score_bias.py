"""What a family adds to its scores beside q·k, as a few numbers from which any block of it is made.

A family that computes attention itself adds to each scaled q_i·k_j terms of its own: a number for each distance
(MPNet), products of queries and keys with vectors of distances (DeBERTa), or products of a second pair of queries and
keys (LiLT). Written out that is heads × tokens × tokens; what makes it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

import torch
from torch import Tensor

CONTENT = "content"
POSITION = "position"
CONTENT_TO_POSITION = "content to position"
POSITION_TO_CONTENT = "position to content"
LAYOUT = "layout"


@dataclass(frozen=True, eq=False)
class ScoreBias:
    """What is added to the scaled scores of one layer, of a batch or, after `text`, of one text.

    kind: what it depends on: "distance" (of key and query), "content and position", or "position".
    """

    kind: ClassVar[str] = ""

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of what it adds up."""
        raise NotImplementedError

    def part(
        self,
        query: Tensor,
        key: Tensor,
        heads: slice = slice(None),
        queries: slice = slice(None),
        keys: slice = slice(None),
        term: str | None = None,
    ) -> Tensor:
        """(…, H', R, C) what is added to the scaled scores of these heads, queries and keys, or of it one term.

        query, key: all of the layer's, (…, H, S, d), as they are multiplied, changes included. The type is theirs;
        leading dimensions may be left out where all texts of a batch are given the same.
        """
        names = self.terms if term is None else (term,)
        return reduce(torch.add, (self._term(name, query, key, heads, queries, keys) for name in names))

    def _term(self, name: str, query: Tensor, key: Tensor, heads: slice, queries: slice, keys: slice) -> Tensor:
        raise NotImplementedError

    def text(self, row: int, n: int, cut: Callable[..., Any]) -> ScoreBias:
        """That of one text of a batch: its row, and its first n positions. cut: (tensor, token dimensions) → tensor."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class DistanceBias(ScoreBias):
    """A number for each head and distance: b_h(j − i) (MPNet)."""

    kind: ClassVar[str] = "distance"

    numbers: Tensor  # (H, 2S − 1), of key − query = 1 − S … S − 1

    @classmethod
    def of(cls, bias: Tensor) -> DistanceBias | None:
        """The same as a tensor (B|1, H, S, S), where every diagonal of it is one number for all texts, else None."""
        x = bias.detach()
        if x.shape[-1] != x.shape[-2] or not (
            torch.equal(x[..., 1:, 1:], x[..., :-1, :-1]) and torch.equal(x, x[:1].expand_as(x))
        ):
            return None
        return cls(torch.cat([bias[0, :, 1:, 0].flip(-1), bias[0, :, 0]], -1))

    @property
    def terms(self) -> tuple[str, ...]:
        return (POSITION,)

    def _term(self, name: str, query: Tensor, key: Tensor, heads: slice, queries: slice, keys: slice) -> Tensor:
        n = key.shape[-2]
        return self.numbers[heads].to(query.dtype)[:, distances(n, queries, keys, self.numbers.device) + n - 1]

    def text(self, row: int, n: int, cut: Callable[..., Any]) -> DistanceBias:
        size = (self.numbers.shape[-1] + 1) // 2
        return DistanceBias(self.numbers[:, size - n : size + n - 1])


@dataclass(frozen=True, eq=False)
class DisentangledBias(ScoreBias):
    """q_i · P^k(i − j) from content to position, k_j · P^q(i − j) from position to content, each scaled (DeBERTa).

    P are the layer's projected vectors of distances, of which several share one where buckets grow with the distance.
    """

    kind: ClassVar[str] = "content and position"

    key_table: Tensor | None  # (H, K, d) P^k, None where the model has no such term
    query_table: Tensor | None  # (H, K, d) P^q
    rows: Tensor  # (2S − 1,) which of the K vectors stands for query − key = 1 − S … S − 1
    scaling: float

    @property
    def terms(self) -> tuple[str, ...]:
        names = {CONTENT_TO_POSITION: self.key_table, POSITION_TO_CONTENT: self.query_table}
        return tuple(name for name, table in names.items() if table is not None)

    def table_rows(self, n: int, queries: slice, keys: slice) -> Tensor:
        """(R, C) which vector of the tables stands between each of these queries and keys of n."""
        return self.rows[n - 1 - distances(n, queries, keys, self.rows.device)]

    def _term(self, name: str, query: Tensor, key: Tensor, heads: slice, queries: slice, keys: slice) -> Tensor:
        rows = self.table_rows(key.shape[-2], queries, keys)
        if name == CONTENT_TO_POSITION:
            return _looked_up(query[..., heads, queries, :], self.key_table, heads, rows) * self.scaling
        return _looked_up(key[..., heads, keys, :], self.query_table, heads, rows.T).mT * self.scaling

    def text(self, row: int, n: int, cut: Callable[..., Any]) -> DisentangledBias:
        size = (len(self.rows) + 1) // 2
        rows = self.rows[size - n : size + n - 1]
        low, high = int(rows.min()), int(rows.max()) + 1  # of 512 vectors a short text needs a few
        key_table, query_table = (
            None if x is None else x[:, low:high].clone() for x in (self.key_table, self.query_table)
        )
        return replace(self, key_table=key_table, query_table=query_table, rows=rows - low)


@dataclass(frozen=True, eq=False)
class LayoutBias(ScoreBias):
    """q'_i · k'_j, scaled, of a second stream's queries and keys, which the text's are not part of (LiLT)."""

    kind: ClassVar[str] = "position"

    query: Tensor  # (B, H, S, d')
    key: Tensor  # (B, H, S, d')
    scaling: float

    @property
    def terms(self) -> tuple[str, ...]:
        return (LAYOUT,)

    def _term(self, name: str, query: Tensor, key: Tensor, heads: slice, queries: slice, keys: slice) -> Tensor:
        q, k = self.query[..., heads, queries, :], self.key[..., heads, keys, :]
        return q.to(query.dtype) @ k.to(query.dtype).mT * self.scaling

    def text(self, row: int, n: int, cut: Callable[..., Any]) -> LayoutBias:
        return replace(self, query=cut(self.query, 2), key=cut(self.key, 2))


def distances(n: int, queries: slice, keys: slice, device: torch.device) -> Tensor:
    """(R, C) key − query of some of n positions."""
    positions = torch.arange(n, device=device)
    return positions[keys] - positions[queries][:, None]


def _looked_up(x: Tensor, table: Tensor | None, heads: slice, rows: Tensor) -> Tensor:
    """(…, H', R, C) x_r · table[rows[r, c]], for vectors (…, H', R, d)."""
    assert table is not None
    products = x @ table[heads].to(x.dtype).mT
    return products.gather(-1, rows.expand(*products.shape[:-1], -1))
