"""Changes of a run, as small frozen values: what is done, to which part, in words. What they do is interventions.py's.

Layers, heads, tokens and neurons count from 0. What is checked before a run, and what is taken from another run, is
whatif/reruns.py's: nothing here knows a trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from ..base.quotes import quotation
from ..base.vocabulary import phrases

PARTS = ("layer", "attention", "mlp")  # what can be patched


@dataclass(frozen=True)
class Change:
    """One thing done to a run. `layer` is None where it is done in all of them."""

    @property
    def needs_attention(self) -> bool:
        """Whether it is done in the attention function, which not every family uses."""
        return True

    @property
    def needs_scores(self) -> bool:
        """Whether it is done to queries, keys or scores, which an attention function of the user's need not use."""
        return False

    @property
    def names_tokens(self) -> bool:
        """Whether it is about certain tokens, so that it can be done to no other text."""
        return False

    @property
    def first_layer(self) -> int:
        """Layers before this one are as without the change."""
        return 0

    def touches(self, layer: int) -> bool:
        """Whether something is done in this layer."""
        return True

    def covers(self, other: Change) -> bool:
        """Whether it is left out of the run that one with `other` is compared with: it leaves `other` nothing to do, or
        is the same thing by another factor (a run with both multiplies them)."""
        return self == other


class _Factor:
    """A factor of any real type is Python's float; what is none stays as it is, for the check of a run to name."""

    factor: float

    def __post_init__(self) -> None:
        factor: Any = self.factor
        if not isinstance(factor, bool) and isinstance(factor, Real):
            with suppress(OverflowError):
                object.__setattr__(self, "factor", float(factor))


def base(changes: Iterable[Change], change: Change) -> tuple[Change, ...]:
    """What a run with `change` is compared with: the changes that there are, but for those that cover it."""
    return tuple(candidate for candidate in changes if not candidate.covers(change))


def short(factor: float) -> str:
    """A factor to three digits, as chips have it."""
    return f"{float(f'{factor:.3g}'):g}"


@dataclass(frozen=True)
class _InLayer(Change):
    layer: int

    @property
    def first_layer(self) -> int:
        return int(self.layer)

    def touches(self, layer: int) -> bool:
        return layer == self.layer


@dataclass(frozen=True)
class Off(_InLayer):
    head: int | None = None

    def covers(self, other: Change) -> bool:
        return isinstance(other, Off | Cut | Scale) and other.layer == self.layer and self.head in (None, other.head)

    def __str__(self) -> str:
        return (phrases.LAYER_OFF if self.head is None else phrases.HEAD_OFF).format(layer=self.layer, head=self.head)


@dataclass(frozen=True)
class Scale(_Factor, _InLayer):
    head: int | None = None
    factor: float = 1.0

    def touches(self, layer: int) -> bool:
        return layer == self.layer and self.factor != 1

    def covers(self, other: Change) -> bool:
        if self.factor == 0 and Off(self.layer, self.head).covers(other):
            return True
        return isinstance(other, Scale) and (other.layer, other.head) == (self.layer, self.head)

    def __str__(self) -> str:
        name = phrases.LAYER_SCALED if self.head is None else phrases.HEAD_SCALED
        return name.format(layer=self.layer, head=self.head, factor=short(self.factor))


@dataclass(frozen=True)
class Mean(_InLayer):
    head: int

    def __str__(self) -> str:
        return f"head {self.layer}.{self.head} at its mean over the tokens"


@dataclass(frozen=True)
class Resample(_InLayer):
    head: int
    other: Any  # the run that it is taken from, and its name
    label: str
    vectors: Any = field(default=None, repr=False, compare=False)  # (S, d) its context, once it is taken

    @property
    def names_tokens(self) -> bool:
        return True

    def covers(self, other: Change) -> bool:
        inside = isinstance(other, Cut) and (other.layer, other.head) == (self.layer, self.head)
        return inside or self == other

    def __str__(self) -> str:
        return f"head {self.layer}.{self.head} as in {quotation(self.label)}"


@dataclass(frozen=True, eq=False)
class Pattern(_InLayer):
    head: int
    alpha: Any  # (S, S), or "uniform"

    @property
    def names_tokens(self) -> bool:
        return not self.uniform

    @property
    def uniform(self) -> bool:
        return isinstance(self.alpha, str)

    @property
    def needs_scores(self) -> bool:
        return self.uniform  # over the keys that a mask leaves

    @property
    def weights(self) -> Tensor:
        """(S, S), a copy."""
        return torch.as_tensor(self.alpha, device="cpu").clone()

    def __str__(self) -> str:
        return f"head {self.layer}.{self.head} looks {'evenly' if self.uniform else 'as given'}"


@dataclass(frozen=True)
class Cut(_InLayer):
    head: int | None = None
    query: int | None = None
    key: int | None = None
    renormalize: bool = True

    @property
    def names_tokens(self) -> bool:
        return self.query is not None or self.key is not None

    def covers(self, other: Change) -> bool:
        if not isinstance(other, Cut) or other.layer != self.layer:
            return False
        pairs = ((self.head, other.head), (self.query, other.query), (self.key, other.key))
        return all(bound in (None, place) for bound, place in pairs)

    def __str__(self) -> str:
        heads = phrases.LAYER_HEADS if self.head is None else phrases.ONE_HEAD
        where = heads.format(layer=self.layer, head=self.head)
        query = phrases.EVERY_TOKEN if self.query is None else f"token {self.query}"
        key = phrases.ANY_TOKEN if self.key is None else f"token {self.key}"
        remainder = "" if self.renormalize else ", the rest as it was"
        return phrases.CUT.format(heads=where, query=query, key=key) + remainder


@dataclass(frozen=True)
class Hide(Change):
    token: int

    @property
    def names_tokens(self) -> bool:
        return True

    def covers(self, other: Change) -> bool:
        cut = isinstance(other, Cut) and other.key == self.token
        return cut or (isinstance(other, Hide | Dim) and other.token == self.token)

    def __str__(self) -> str:
        return phrases.TOKEN_HIDDEN.format(token=self.token)


@dataclass(frozen=True)
class Dim(_Factor, Change):
    token: int
    factor: float = 1.0

    @property
    def names_tokens(self) -> bool:
        return True

    @property
    def needs_scores(self) -> bool:
        return self.factor not in (0, 1)

    def touches(self, layer: int) -> bool:
        return self.factor != 1

    def covers(self, other: Change) -> bool:
        if self.factor == 0 and Hide(self.token).covers(other):
            return True
        return isinstance(other, Dim) and other.token == self.token

    def __str__(self) -> str:
        return phrases.TOKEN_DIMMED.format(token=self.token, factor=short(self.factor))


@dataclass(frozen=True)
class Neuron(_InLayer):
    head: int
    n: int

    @property
    def needs_scores(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"neuron {self.n} of head {self.layer}.{self.head} off"


@dataclass(frozen=True)
class Mlp(_InLayer):
    neuron: int | None = None

    @property
    def needs_attention(self) -> bool:
        return False

    def __str__(self) -> str:
        name = f"MLP of layer {self.layer}"
        return f"{name} off" if self.neuron is None else f"neuron {self.neuron} of the {name} off"


@dataclass(frozen=True)
class Patch(_InLayer):
    token: int
    other: Any  # the run that it is taken from, and its name
    label: str
    other_token: int | None = None
    what: str = "layer"
    # once it is taken: (D,) the layer's or the MLP's output, or (H, d) the context
    vectors: Any = field(default=None, repr=False, compare=False)

    @property
    def needs_attention(self) -> bool:
        return self.what == "attention"

    @property
    def names_tokens(self) -> bool:
        return True

    def covers(self, other: Change) -> bool:
        inside = isinstance(other, Cut) and (other.layer, other.query) == (self.layer, self.token)
        return (inside and self.what != "mlp") or self == other

    @property
    def source(self) -> int:
        """The token of the other text."""
        return self.token if self.other_token is None else self.other_token

    def __str__(self) -> str:
        name = {"layer": "output", "attention": "attention", "mlp": "MLP"}[self.what]
        return f"{name} of layer {self.layer} at token {self.token} from token {self.source} of {quotation(self.label)}"
