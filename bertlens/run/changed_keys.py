"""Keys before the softmax, as changes leave them: which are hidden, and what is added to the scores of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import SelectionError
from .changes import Change, Cut, Dim, Hide


def hides(change: Change) -> bool:
    """Whether keys are left out before the softmax."""
    return isinstance(change, Hide) or bool(
        (isinstance(change, Dim) and change.factor == 0) or (isinstance(change, Cut) and change.renormalize)
    )


def allowed_keys(hidden: Sequence[tuple[int, Any]], query: Tensor) -> Tensor:
    """(B, H|1, S, S) bool, False where a change hides a key."""
    heads = 1 if all(getattr(c, "head", None) is None for _, c in hidden) else query.shape[1]
    size = query.shape[2]
    allowed = torch.ones(len(query), heads, size, size, dtype=torch.bool, device=query.device)
    for b, change in hidden:
        if isinstance(change, Hide | Dim):
            allowed[b, :, :, change.token] = False
        else:
            allowed[b, all_or(change.head), all_or(change.query), all_or(change.key)] = False
    return allowed


def all_or(index: int | None) -> Any:
    return slice(None) if index is None else slice(index, index + 1)


def causal_mask(like: Tensor) -> Tensor:
    return torch.ones(like.shape[-2:], dtype=torch.bool, device=like.device).tril()


def with_allowed(mask: Tensor | None, causal: bool, allowed: Tensor) -> Tensor:
    if mask is None:
        return allowed & causal_mask(allowed) if causal else allowed
    if mask.dtype == torch.bool:
        return mask & allowed
    shape = torch.broadcast_shapes(mask.shape, allowed.shape)
    return mask.expand(shape).masked_fill(~allowed, -torch.inf)


def with_logarithms(mask: Tensor | None, causal: bool, logarithms: Tensor) -> Tensor:
    """What is added to the scores: ln of each key's factor (B, 1, 1, S), and -inf where a mask hides."""
    if mask is None:
        size = logarithms.shape[-1]
        mask = logarithms.new_ones(size, size, dtype=torch.bool)
        mask = mask.tril() if causal else mask
    if mask.dtype == torch.bool:
        return torch.where(mask, logarithms, -torch.inf)
    return mask + logarithms


@dataclass
class Emphasis:
    """What changes do to keys before the softmax, for weights that are given: of a batch."""

    allowed: Tensor | None  # (B, H|1, S, S) bool
    logarithms: Tensor | None  # (B, 1, 1, S)

    def factors(self, b: int, head: int, like: Tensor) -> Tensor | None:
        """(S, S) what a head's weights (S, S) are multiplied by before each row is as large as it was, or None."""
        factors = None if self.logarithms is None else self.logarithms[b, 0].to(like.dtype).exp().expand_as(like)
        if self.allowed is None:
            return factors
        allowed = of_head(self.allowed, b, head)
        return allowed.to(like.dtype) if factors is None else factors.masked_fill(~allowed, 0)


def visible_keys(mask: Tensor) -> Tensor:
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def check_rows(mask: Tensor, rows: set[int], layer: int) -> None:
    visible = visible_keys(mask).any(-1)  # (B, H|1, S)
    for b in sorted(rows):
        if not visible[b].all():
            head, query = (int(x) for x in (~visible[b]).nonzero()[0])
            raise no_key_left(layer, query, None if len(visible[b]) == 1 else head)


def no_key_left(layer: int, query: int, head: int | None) -> SelectionError:
    whose = "any head" if head is None else f"head {head}"
    return SelectionError(
        f"token {query} would have no key left in {whose} of layer {layer}: cut fewer of its keys, "
        "or cut with renormalize=False"
    )


def of_head(x: Tensor, b: int, head: int) -> Tensor:
    return x[b if len(x) > 1 else 0, head if x.shape[1] > 1 else 0]
