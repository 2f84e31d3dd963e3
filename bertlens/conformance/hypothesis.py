"""What may be otherwise where vectors are made elsewhere: a fault of one of four factors, and what it changes of a run.

A vector is after(pooling(forward(text))). A fault is data: a name, the factor, and how it is run on the user's own
model, which is lent hooks, attributes and weights for one call (`torch.func.functional_call`) and never copied.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ModelError
from ..model.borrowed import Model
from ..model.plain_modules import epsilon
from ..model.stream_parts import StreamParts

TEXT, FORWARD, POOLING, AFTER = FACTORS = ("text", "forward", "pooling", "after")
RIGHT = "as the model does it"
TWINS = (  # names of which no vector can tell one from the other, or from what is right, in the families named
    "Vectors cannot show: key biases left out where keys meet no positions; ε outside the root where ε is tiny; sum, "
    "mean and sum by √n once normalised; NFC and white space for BERT's tokenizer; where rotary positions begin; a "
    "vector normalised twice; the last layer left out against the layer before last."
)


@dataclass(frozen=True)
class Row:
    """One text as the model is given it."""

    ids: tuple[int, ...]
    shift: int = 0  # by which its positions begin later
    padding: int | None = None  # tokens of padding behind it; None where the fault is none of padding
    is_padding_seen: bool = False  # by attention

    @property
    def length(self) -> int:
        return len(self.ids) + (self.padding or 0)


@dataclass(frozen=True)
class TextLengths:
    """What the given texts are like, for faults of padding: the most tokens of one, and the limit of the encoder."""

    longest: int
    limit: int


@dataclass(frozen=True)
class Hook:
    module: nn.Module
    is_before: bool
    function: Callable[..., Any]  # (module, arguments) or (module, arguments, output), as torch has them


@dataclass(frozen=True)
class PassChange:
    """What a fault of the forward pass puts on the model for one call."""

    weights: Callable[[], dict[str, Tensor]] | None = None  # by name in the base model, made when it is run
    hooks: tuple[Hook, ...] = ()
    attributes: tuple[tuple[Any, str, Any], ...] = ()
    row: Callable[[Row, TextLengths], Row] | None = None
    is_causal: bool = False
    autocast: torch.dtype | None = None

    def read(self, rows: Sequence[Row], batch: TextLengths) -> list[Row]:
        """Rows as they are read under it."""
        return [self.row(row, batch) if self.row else row for row in rows]

    def joined(self, other: PassChange) -> PassChange:
        """Both at once; where both change one tensor, `weights` raises ModelError."""

        def weights() -> dict[str, Tensor]:
            first, second = (change.weights() if change.weights else {} for change in (self, other))
            if first.keys() & second.keys():
                raise ModelError("both change the same tensor")
            return first | second

        return PassChange(
            weights=weights,
            hooks=self.hooks + other.hooks,
            attributes=self.attributes + other.attributes,
            row=self.row or other.row,
            is_causal=self.is_causal or other.is_causal,
            autocast=self.autocast or other.autocast,
        )

    def meets(self, other: PassChange) -> bool:
        """Whether both set one place, so that their order would matter."""
        places = [{(id(h.module), h.is_before) for h in c.hooks} for c in (self, other)]
        names = [{(id(owner), name) for owner, name, _ in c.attributes} for c in (self, other)]
        return bool(places[0] & places[1] or names[0] & names[1] or (self.row and other.row))


@dataclass(frozen=True)
class Fault:
    """A hypothesis of one factor.

    way: of a text (Reader, text) -> ids or None; of the forward pass (ModelParts) -> PassChange or None; of the pooling
    (TextStates) -> vector or None; of what follows (After) -> function of vectors or None. None: not of this model.
    """

    name: str
    factor: str
    way: Callable[..., Any]
    is_rounding: bool = False  # of activations: it has a floor of its own, and is no error of the other program


class ModelParts:
    """The parts of a model by what they do, each None or empty where its family has none, and its tensors by name."""

    def __init__(self, model: Model):
        self.base: Any = model.base
        self.adapter = model.adapter
        self.names = {id(p): name for name, p in self.base.named_parameters()}
        self.layers = [] if self.adapter is None else list(self.adapter.layers(self.base))
        self.stream: StreamParts | None = None if self.adapter is None else self.adapter.stream
        self.arguments = set(inspect.signature(self.base.forward).parameters)
        self.heads = int(getattr(self.base.config.get_text_config(), "num_attention_heads", 1))
        self.width = int(model.embedding.weight.shape[-1]) if not callable(model.embedding.weight) else 0

    def named(self, changed: Mapping[Tensor, Tensor]) -> dict[str, Tensor]:
        return {self.names[id(old)]: new for old, new in changed.items()}

    def of_stream(self, name: str) -> Any:
        """A part of the stream: word, position, type, norm, final_norm."""
        stream_module = None if self.stream is None else getattr(self.stream, name)(self.base)
        return stream_module if isinstance(stream_module, nn.Module) else None

    def norms(self) -> list[Any]:
        return [module for module in self.base.modules() if epsilon(module) is not None]

    def linears(self) -> list[nn.Linear]:
        """Those of the layers, each once."""
        linears = {id(m): m for layer in self.layers for m in layer.modules() if type(m) is nn.Linear}
        return list(linears.values())

    def tables(self) -> list[Tensor]:
        return [m.weight for m in self.base.modules() if isinstance(m, nn.Embedding)]

    def projections(self, kind: str) -> Iterator[tuple[nn.Linear, slice]]:
        """Of "query", "key", "value", each layer's projection and which of its rows are meant."""
        assert self.adapter is not None
        ids: set[int] = set()
        for layer in self.layers:
            module = getattr(self.adapter, f"{kind}_projection")(layer)
            if type(module) is not nn.Linear:
                raise ModelError("no plain projection")
            if id(module) in ids:
                continue
            ids.add(id(module))
            third = len(module.weight) // 3
            at = ("query", "key", "value").index(kind)
            is_fused = self.adapter.value_part is not None
            yield module, slice(at * third, (at + 1) * third) if is_fused else slice(0, len(module.weight))


Way = Callable[[ModelParts], PassChange | None]


def refilled(
    parts: ModelParts, kind: str, function: Callable[[Tensor], Tensor], what: str = "both"
) -> dict[str, Tensor]:
    """The tensors of one kind of projection, its rows (out, in) and biases (out,) changed. what: weight, bias, both."""
    changed: dict[Tensor, Tensor] = {}
    for module, rows in parts.projections(kind):
        for name in ("weight", "bias") if what == "both" else (what,):
            tensor = getattr(module, name)
            if tensor is not None:
                changed[tensor] = tensor.detach().clone()
                changed[tensor][rows] = function(tensor.detach()[rows])
    return parts.named(changed)


def padded(row: Row, n: int, is_seen: bool) -> Row:
    """The row with padding up to n tokens."""
    return replace(row, padding=max(0, n - len(row.ids)), is_padding_seen=is_seen)
