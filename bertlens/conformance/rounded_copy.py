"""`rounding`: where the weights of a quantised copy differ from a model's, by tensor, row and head; the channels of the
vectors that hold what comes of it, and the head by which they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..base.dataframes import pd
from ..errors import InputError, ModelError, check_lens
from ..lens import Lens
from .dump_steps import tensors_of
from .hypothesis import RIGHT, PassChange
from .probing import probing_texts
from .states import Runner, right_row
from .text_faults import Reader

TEXTS = 3  # the shortest of `probing_texts`
SHARE = 0.01  # of the channels: those that are told of


@dataclass(frozen=True, eq=False)
class Rounding:
    """What `rounding` found. Prints as its sentences. An error is ‖W′ − W‖ / ‖W‖, W′ the copy's.

    tensors: DataFrame(tensor, error, kurtosis, row, row_error), the largest error first: the kurtosis of W's numbers
    (3 for normal ones), the row whose own error is largest, and that. heads: DataFrame(layer, head, query, key, value,
    output, special, removed): errors of its rows of W_Q, W_K and W_V and its columns of W_O; the share of its attention
    that rests on special tokens, which is how a head does nothing; and which share of the squared difference of the
    foremost channels goes when the head is off in both. channels: DataFrame(channel, share) of the squared difference
    of the vectors, before they are normalised, the largest first. chance: the share of all other sets of as many
    channels, in their order, of which some head removes as much.
    """

    tensors: pd.DataFrame
    heads: pd.DataFrame
    channels: pd.DataFrame
    chance: float

    @property
    def said(self) -> str:
        """The tensor with the largest error, the channels, and the head."""
        worst, n = self.tensors.iloc[0], len(self.channels)
        if worst["error"] == 0:
            return f"The {len(self.tensors):,} tensors of the copy are the model's own."
        size, row = _few(n), f"row {worst['row']} {worst['row_error']:.2g}"
        head = self.heads.loc[self.heads["removed"].idxmax()]
        return (
            f"Rounded most: {worst['tensor']} (error {worst['error']:.2g}; {row}). "
            f"{size} of {n} channels hold {self.channels['share'][:size].sum():.0%} of the squared difference of the "
            f"vectors (even: {size / n:.1%}). Without head {head['head']:.0f} of layer {head['layer']:.0f}, which "
            f"rests on special tokens by {head['special']:.0%} (all heads: {self.heads['special'].mean():.0%}), "
            f"{max(0.0, head['removed']):.0%} of it is gone; some head removes as much of {self.chance:.0%} of other "
            "channels."
        )

    def __repr__(self) -> str:
        return self.said


def rounding(lens: Lens, other: Any) -> Rounding:
    """Where a quantised copy of a lens' model differs from it, by its weights; rounded activations are not looked at.

    other: the copy, as a Lens, a module (also with torch's own quantised layers), {name: tensor}, or a file of them
    (.safetensors, .npz). Names are this model's, with what stands before them or without. Vectors are those of three
    short texts, run in this model with the copy's weights on loan, once without each head.

    Raises InputError for what has no tensor of this model, or one of another shape, and ModelError as `parity`.
    """
    check_lens(lens)
    runner = Runner(lens, reader := Reader(lens))
    parts = runner.parts
    tables = {name: p.detach() for name, p in parts.base.named_parameters()}
    theirs = _weights(other, tables)
    if parts.adapter is None:
        raise ModelError("heads of this model are not known here")
    texts = sorted(probing_texts(lens), key=len)[:TEXTS]

    def difference(name: str = "", columns: slice = slice(0)) -> np.ndarray:
        """(D,) the squared difference of the vectors by channel, columns of a tensor being 0 on both sides."""
        vectors = []
        for side in (tables, theirs):
            weights = dict(side)
            if name:
                weights[name] = weights.get(name, tables[name]).clone()
                weights[name][:, columns] = 0
            change = PassChange(weights=partial(dict, weights))
            rows = runner.run([right_row(reader, text) for text in texts], change, is_bare=True)
            vectors.append(np.stack([row[RIGHT] for row in rows]))
        return ((vectors[1] - vectors[0]) ** 2).sum(0)

    squares = difference()
    order = np.argsort(-squares, kind="stable")
    heads: list[dict[str, Any]] = []
    removed: list[np.ndarray] = []
    special = np.mean([_on_special(lens, text) for text in texts], 0)
    kinds = {kind: [*parts.projections(kind)] for kind in ("query", "key", "value")}
    layers = list({id(layer): layer for layer in parts.layers}.values())
    for layer, module in enumerate(map(parts.adapter.output_projection, layers)):
        name = parts.names[id(module.weight)]
        changed = theirs.get(name, tables[name])
        for head in range(parts.heads):
            row: dict[str, Any] = {"layer": layer, "head": head}
            for kind, projections in kinds.items():
                projection, rows = projections[layer]
                at = _of_head(head, parts.heads, rows)
                weight = parts.names[id(projection.weight)]
                row[kind] = _error(tables[weight][at], theirs.get(weight, tables[weight])[at])
            columns = _of_head(head, parts.heads, slice(0, changed.shape[1]))
            row |= {"output": _error(tables[name][:, columns], changed[:, columns]), "special": special[layer, head]}
            heads.append(row)
            removed.append(difference(name, columns))
    size, total = _few(len(order)), max(squares.sum(), 1e-30)
    # sets of `size` channels beside each other in the order, so that each is of channels that hold about as much
    sets = order[: len(order) // size * size].reshape(-1, size)
    gone = 1 - np.stack([left[sets].sum(1) for left in removed]) / np.maximum(squares[sets].sum(1), 1e-30)
    return Rounding(
        _tensors(tables, theirs),
        pd.DataFrame(heads).assign(removed=gone[:, 0]),
        pd.DataFrame({"channel": order, "share": squares[order] / total}),
        float((gone[:, 1:].max(0) >= gone[:, 0].max()).mean()) if len(sets) > 1 else 1.0,
    )


def _of_head(head: int, heads: int, rows: slice) -> slice:
    width = (rows.stop - rows.start) // heads
    return slice(rows.start + head * width, rows.start + (head + 1) * width)


def _few(channels: int) -> int:
    return max(1, round(SHARE * channels))


def _weights(other: Any, own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The copy's tensors by this model's names, as it would compute with them."""
    module: Any = other.borrowed.base if isinstance(other, Lens) else other
    if isinstance(module, nn.Module):
        quantised = {f"{n}.weight": m.weight() for n, m in module.named_modules() if callable(getattr(m, "weight", 0))}
        module = {**dict(module.named_parameters()), **quantised}
    theirs: dict[str, Tensor] = {}
    for given, tensor in tensors_of(module).items():
        name = next((name for name in own if f".{given}".endswith(f".{name}") or name.endswith(f".{given}")), None)
        if name is not None:
            if tensor.shape != own[name].shape:
                raise InputError(
                    f"{given} is {tuple(tensor.shape)}, here {tuple(own[name].shape)}: is it this model's?"
                )
            wide = tensor.detach().dequantize() if tensor.is_quantized else tensor.detach()
            theirs[name] = wide.to(own[name])
    if not theirs:
        raise InputError("the copy has no tensor by a name of this model's")
    return theirs


def _tensors(own: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> pd.DataFrame:
    rows = []
    for name, tensor in theirs.items():
        before, now = (x.double().reshape(len(x), -1) for x in (own[name], tensor))
        centred = before - before.mean()
        by_row = (now - before).norm(dim=1) / before.norm(dim=1).clamp_min(1e-30)
        kurtosis = float((centred**4).mean() / (centred**2).mean().square().clamp_min(1e-30))
        at = int(by_row.argmax())
        rows.append((name, _error(before, now), kurtosis, at, float(by_row[at])))
    table = pd.DataFrame(rows, columns=["tensor", "error", "kurtosis", "row", "row_error"])
    return table.sort_values("error", ascending=False, kind="stable", ignore_index=True)


def _error(own: Tensor, other: Tensor) -> float:
    return float((other - own).norm() / own.norm().clamp_min(1e-30))


def _on_special(lens: Lens, text: str) -> np.ndarray:
    """(L, H) of each head's attention what rests on special tokens, by mean over tokens."""
    trace = lens.trace(text, truncation=True)
    layers = [trace.attention(layer)[..., trace.special_mask] for layer in range(trace.n_layers)]
    return torch.stack([alpha.sum(-1).mean(-1) for alpha in layers]).cpu().numpy()
