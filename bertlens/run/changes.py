"""Changes of a run, as small frozen values: what is done, to which part, in words. What they do is interventions.py's.

Layers, heads, tokens and neurons count from 0. `check` compares a change with the trace that is to be run again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import InputError, ModelError, SelectionError, check_index
from ..text.given_maps import not_weights

if TYPE_CHECKING:
    from ..trace.trace import Trace

PARTS = ("layer", "attention", "mlp")


@dataclass(frozen=True)
class Change:
    """One thing done to a run. `layer` is None where it is done in all of them."""

    @property
    def needs_attention(self) -> bool:
        """Whether it is done in the attention function, which not every family uses."""
        return True

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

    def check(self, trace: Trace) -> None:
        """Raises SelectionError or InputError where the change cannot be made to this trace's run."""


@dataclass(frozen=True)
class _InLayer(Change):
    layer: int

    @property
    def first_layer(self) -> int:
        return int(self.layer)

    def touches(self, layer: int) -> bool:
        return layer == self.layer

    def check(self, trace: Trace) -> None:
        check_index(self.layer, trace.n_layers, "layer")


@dataclass(frozen=True)
class Off(_InLayer):
    head: int | None = None

    def check(self, trace: Trace) -> None:
        super().check(trace)
        _check(self.head, trace.n_heads, "head", optional=True)

    def __str__(self) -> str:
        return f"all heads of layer {self.layer} off" if self.head is None else f"head {self.layer}.{self.head} off"


@dataclass(frozen=True)
class Mean(_InLayer):
    head: int

    def check(self, trace: Trace) -> None:
        super().check(trace)
        check_index(self.head, trace.n_heads, "head")

    def __str__(self) -> str:
        return f"head {self.layer}.{self.head} at its mean over the tokens"


@dataclass(frozen=True)
class Resample(_InLayer):
    head: int
    other: Trace

    @property
    def names_tokens(self) -> bool:
        return True

    def check(self, trace: Trace) -> None:
        super().check(trace)
        check_index(self.head, trace.n_heads, "head")
        _check_other(self.other, trace, "resample")
        if self.other.n_tokens != trace.n_tokens:
            raise InputError(
                f"resample needs texts of one length, not {trace.n_tokens} and {self.other.n_tokens} tokens: "
                "use patch(..., what='attention') for single tokens"
            )

    @property
    def context(self) -> Tensor:
        """(S, d) of the other run, as its model computed it."""
        return _context(self.other, self.layer)[:, self.head]

    def __str__(self) -> str:
        return f"head {self.layer}.{self.head} as in “{_short(self.other)}”"


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
    def weights(self) -> Tensor:
        """(S, S), a copy."""
        return torch.as_tensor(self.alpha, device="cpu").clone()

    def check(self, trace: Trace) -> None:
        super().check(trace)
        check_index(self.head, trace.n_heads, "head")
        size = trace.n_tokens
        if self.uniform:
            if self.alpha != "uniform":
                raise InputError(f"pattern takes weights ({size}, {size}) or 'uniform', not {self.alpha!r}")
            return
        try:
            weights = self.weights
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(
                f"pattern takes weights ({size}, {size}) or 'uniform', not {type(self.alpha).__name__}"
            ) from error
        if weights.shape != (size, size):
            raise InputError(f"pattern takes weights ({size}, {size}) or 'uniform', not {tuple(weights.shape)}")
        if not weights.isfinite().all():
            raise InputError("pattern takes attention weights, [query, key]: there is NaN or Inf among these")
        if problem := not_weights(weights[None, None].double(), sink=True):
            raise InputError(f"pattern takes attention weights, [query, key]: {problem}")

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

    def check(self, trace: Trace) -> None:
        super().check(trace)
        _check(self.head, trace.n_heads, "head", optional=True)
        _check(self.query, trace.n_tokens, "query", optional=True)
        _check(self.key, trace.n_tokens, "key", optional=True)

    def __str__(self) -> str:
        where = f"all heads of layer {self.layer}" if self.head is None else f"head {self.layer}.{self.head}"
        query = "every token" if self.query is None else f"token {self.query}"
        key = "any token" if self.key is None else f"token {self.key}"
        rest = "" if self.renormalize else ", the rest as it was"
        return f"{where}: {query} looks at {key} cut{rest}"


@dataclass(frozen=True)
class Hide(Change):
    token: int

    @property
    def names_tokens(self) -> bool:
        return True

    def check(self, trace: Trace) -> None:
        check_index(self.token, trace.n_tokens, "token")

    def __str__(self) -> str:
        return f"token {self.token} hidden"


@dataclass(frozen=True)
class Neuron(_InLayer):
    head: int
    n: int

    def check(self, trace: Trace) -> None:
        super().check(trace)
        check_index(self.head, trace.n_heads, "head")
        check_index(self.n, trace.head_dim or 0, "neuron")

    def __str__(self) -> str:
        return f"neuron {self.n} of head {self.layer}.{self.head} off"


@dataclass(frozen=True)
class Mlp(_InLayer):
    neuron: int | None = None

    @property
    def needs_attention(self) -> bool:
        return False

    def check(self, trace: Trace) -> None:
        super().check(trace)
        _check_mlp(trace, self.layer, "mlp")
        if self.neuron is not None:
            # of its size the pass knows: see interventions.py
            _check(self.neuron, 2**62, "neuron")

    def __str__(self) -> str:
        part = f"MLP of layer {self.layer}"
        return f"{part} off" if self.neuron is None else f"neuron {self.neuron} of the {part} off"


@dataclass(frozen=True)
class Patch(_InLayer):
    token: int
    other: Trace
    other_token: int | None = None
    what: str = "layer"
    made: Tensor | None = field(
        default=None, repr=False, compare=False
    )  # (D,) the other MLP's output, once it is known

    @property
    def needs_attention(self) -> bool:
        return self.what == "attention"

    @property
    def names_tokens(self) -> bool:
        return True

    @property
    def source(self) -> int:
        """The token of the other text."""
        return self.token if self.other_token is None else self.other_token

    def check(self, trace: Trace) -> None:
        super().check(trace)
        check_index(self.token, trace.n_tokens, "token")
        if self.what not in PARTS:
            raise SelectionError(f"no part {self.what!r} to patch: there are {', '.join(PARTS)}")
        _check_other(self.other, trace, "patch", context=self.what != "layer")
        if self.other_token is None:
            here = trace.tokens[self.token]
            there = self.other.tokens[self.token] if self.token < self.other.n_tokens else None
            if here != there:
                found = "no such token" if there is None else repr(there)
                raise InputError(
                    f"token {self.token} is {here!r} here and {found} in the other text: pass other_token="
                )
        check_index(self.source, self.other.n_tokens, "other_token")
        if self.what == "layer":
            trace.layer_output(self.layer), self.other.layer_output(self.layer)  # each says why not
        elif self.what == "mlp":
            _check_mlp(trace, self.layer, "patch(what='mlp')")
            _check_mlp(self.other, self.layer, "patch(what='mlp')")

    @property
    def context(self) -> Tensor:
        """(H, d) of the other run at its token."""
        return _context(self.other, self.layer)[self.source]

    @property
    def state(self) -> Tensor:
        """(D,) the other layer's output at its token, as its model computed it."""
        return self.other._layer(self.layer).layer_output[self.source]  # type: ignore[index]

    def __str__(self) -> str:
        part = {"layer": "output", "attention": "attention", "mlp": "MLP"}[self.what]
        return f"{part} of layer {self.layer} at token {self.token} from token {self.source} of “{_short(self.other)}”"


def check_rerun(trace: Trace) -> None:
    """Raises ModelError where a trace cannot be run again: no model, or other weights than it was made with."""
    if trace.model is None:
        raise ModelError("this trace was made from attention weights, which no model runs: trace a text with a Lens")
    trace.check_unchanged()


def check_changeable(trace: Trace) -> None:
    """Raises ModelError where what heads do cannot be changed."""
    check_rerun(trace)
    if not trace.has_neurons:
        raise ModelError(
            f"{trace.why_no_neurons} What its heads do cannot be changed: change the text and trace it again."
        )


def _check(index: int | None, size: int, name: str, optional: bool = False) -> None:
    if not (optional and index is None):
        check_index(index, size, name)


def _check_other(other: Any, trace: Trace, name: str, context: bool = True) -> None:
    if not hasattr(other, "head_context"):
        raise InputError(
            f"{name} takes from another trace, not from {type(other).__name__}: trace the other text first"
        )
    if context:
        other.context(0)  # says why there is none
    first, second = (
        [t.n_layers, t.n_heads, t.hidden_state(0).shape[1], *(t.context(0).shape[1:] if context else ())]
        for t in (trace, other)
    )
    if first != second:
        raise InputError(f"{name} takes from a model of the same shape: trace the other text with this lens")


def _check_mlp(trace: Trace, layer: int, name: str) -> None:
    _, module = trace.layer_module(layer)
    if getattr(module, "num_feedforward_networks", 1) > 1:
        raise InputError(f"{name} needs one MLP in a layer, {trace.model_name} has several: change its heads instead")


def _context(other: Trace, layer: int) -> Tensor:
    context = other._layer(layer).context
    assert context is not None
    return context.unflatten(-1, (other.n_heads, -1))


def _short(trace: Trace) -> str:
    text = trace.text or trace.model_name
    return text if len(text) <= 24 else f"{text[:23]}…"
