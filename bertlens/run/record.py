"""What one forward pass leaves behind, as plain records of tensors: for a batch of texts, and cut to one of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from .score_bias import ScoreBias


@dataclass(slots=True)
class Entry:
    """What went into the embeddings of a batch (B texts), or, cut, of one text (without the B)."""

    position_ids: Tensor | None = None  # (B|1, S), None without position embeddings
    type_ids: Tensor | None = None  # (B|1, S), None where the model added no types
    inverse_deviation: Tensor | None = None  # (B, S) 1/s of the embeddings' LayerNorm
    rotations: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)  # cosines and sines (B|1, S, d)


@dataclass(slots=True)
class Layer:
    """One layer's quantities for a batch (B texts) or, after `Pass.text`, for one text (without the B)."""

    query: Tensor | None = None  # (B, H, S, d), as multiplied: after rotary, bias included
    key: Tensor | None = None  # (B, Hk, S, d); Hk < H where several heads share a key head
    value: Tensor | None = None  # (B, Hk, S, dv)
    scaling: float | None = None
    mask: Tensor | str | None = None  # bool (True = visible) or additive float (B|1, H|1, S, S), "causal", None
    bias: Tensor | ScoreBias | None = None  # what the family adds to the scores; a tensor is (1|B, H, S, S)
    context: Tensor | None = None  # (B, S, H*dv), heads concatenated, before W_O
    attention: Tensor | None = None  # (B, H, S, S), only where queries and keys cannot be had, or do not tell it
    attention_output: Tensor | None = None  # (B, S, D)
    layer_input: Tensor | None = None  # (B, S, D)
    layer_output: Tensor | None = None  # (B, S, D)
    # of a run with changes (interventions.py), which is of one text
    weights: dict[int, Tensor] = field(default_factory=dict)  # head -> (S, S) α that is no softmax of the scores
    patterned: frozenset[int] = frozenset()  # heads whose α was given: they have no scores
    # head -> what Σ α v is multiplied by, None where another vector stands in its place
    contexts: dict[int, float | None] = field(default_factory=dict)
    # 1/s of the attention block's and the MLP's LayerNorm (B, S): post-LN families only
    attention_scale: Tensor | None = None
    mlp_scale: Tensor | None = None
    function: str = ""  # the name of a user's attention function that computed it


# The dimensions of a batch's tensors that count tokens. `mask` is cut in a way of its own.
_TOKEN_DIMENSIONS = {
    **dict.fromkeys(("query", "key", "value"), (2,)),
    **dict.fromkeys(("bias", "attention"), (2, 3)),
    **dict.fromkeys(("context", "attention_output", "layer_input", "layer_output"), (1,)),
    **dict.fromkeys(("attention_scale", "mlp_scale"), (1,)),
}


@dataclass(slots=True)
class Pass:
    """One forward pass over a right-padded batch."""

    layers: list[Layer]
    hidden_states: tuple[Tensor, ...]
    output: Any
    why_no_neurons: str = ""
    entry: Entry = field(default_factory=Entry)
    of_tokens: frozenset[str] = frozenset()  # entries (B, S) of the output that have a number for each token

    def text(self, row: int, n: int, apart: bool = True) -> Pass:
        """The part that belongs to one text: its row, and its first n positions (padding stands on the right).

        apart: as copies, so that one text of a batch does not keep the others alive.
        """
        rows, width = self.hidden_states[0].shape[:2]
        cut = _Cut(row, n, width, self.of_tokens, copy=apart and rows > 1)
        layers = [
            replace(
                layer,
                mask=cut.mask(layer.mask),
                weights=dict(layer.weights),
                contexts=dict(layer.contexts),
                **{name: cut(getattr(layer, name), *dims) for name, dims in _TOKEN_DIMENSIONS.items()},
            )
            for layer in self.layers
        ]
        hidden = tuple(cut(state, 1) for state in self.hidden_states)
        entry = Entry(
            position_ids=cut(self.entry.position_ids, 1),
            type_ids=cut(self.entry.type_ids, 1),
            inverse_deviation=cut(self.entry.inverse_deviation, 1),
            rotations={kind: (cut(cos, 1), cut(sin, 1)) for kind, (cos, sin) in self.entry.rotations.items()},
        )
        output = self.output if rows == 1 else cut.output(self.output)
        return Pass(layers, hidden, output, self.why_no_neurons, entry, self.of_tokens)


class _Cut:
    """Cuts one text out of a batch; a tensor that several layers share stays shared."""

    def __init__(self, row: int, n: int, width: int, of_tokens: frozenset[str], copy: bool):
        self.row, self.n, self.width, self.of_tokens, self.copy = row, n, width, of_tokens, copy
        self._done: dict[int, Any] = {}

    def __call__(self, x: Tensor | ScoreBias | None, *position_dims: int) -> Any:
        if x is None:
            return None
        if id(x) in self._done:
            return self._done[id(x)]
        if isinstance(x, ScoreBias):
            self._done[id(x)] = x.text(self.row, self.n, self)
        else:
            piece = x[self.row if x.shape[0] > 1 else 0]
            for dim in position_dims:
                piece = piece.narrow(dim - 1, 0, self.n)
            self._done[id(x)] = piece.clone() if self.copy else piece
        return self._done[id(x)]

    def mask(self, mask: Tensor | str | None) -> Tensor | str | None:
        """The mask among one text's own tokens: None where all is visible, "causal" where that is all it says."""
        if not isinstance(mask, Tensor):
            return mask
        if id(mask) not in self._done:
            piece = mask[self.row if mask.shape[0] > 1 else 0][..., : self.n, : self.n]
            visible = piece if piece.dtype == torch.bool else piece == 0
            lower = torch.ones(self.n, self.n, dtype=torch.bool, device=mask.device).tril()
            if visible.all():
                self._done[id(mask)] = None
            elif piece.dtype == torch.bool and (visible == lower).all():
                self._done[id(mask)] = "causal"
            else:
                self._done[id(mask)] = piece.clone() if self.copy else piece
        return self._done[id(mask)]

    def output(self, output: Any) -> Any:
        """The model's output object for one text."""
        fields = {}
        for name, value in output.items():
            if isinstance(value, tuple):
                fields[name] = tuple(self._entry(name, item) for item in value)
            else:
                fields[name] = self._entry(name, value)
        return type(output)(**fields)

    def _entry(self, name: str, value: Any) -> Any:
        if not isinstance(value, Tensor) or value.ndim == 0:
            return value
        if value.ndim == 3 and value.shape[1] == self.width - 1:  # of all tokens but the first
            return value[self.row : self.row + 1, : self.n - 1].clone()
        if value.ndim == 3:  # most are hidden states, which the pass has too
            return self(value, 1)[None]
        piece = value[self.row : self.row + 1]
        if value.ndim == 4:  # attention weights
            piece = piece[..., : self.n, : self.n]
        elif name in self.of_tokens:
            piece = piece[:, : self.n]
        return piece.clone()
