"""The similarity of two texts, split by the tokens that went in."""

from __future__ import annotations

from collections.abc import Generator

import torch
from torch import Tensor

from ...base.dataframes import pd
from ...base.generators import run_to_end
from ...errors import InputError, check_name
from ...trace.checks import check_finite
from ...trace.trace import Trace
from ..rows import blocks, head_groups
from .affine_maps import Affine, Normed
from .stream import Stream

POOLINGS = ("mean", "cls")
NUMBERS_AT_ONCE = 16_000_000  # numbers worked on at a time


@torch.no_grad()
def similarity(trace_a: Trace, trace_b: Trace, pooling: str = "mean") -> pd.DataFrame:
    """(S_a + 1, S_b + 1) the cosine of the vectors of trace_a and trace_b by *input* token of each, and by bias (the
    last row, column).

    An input token is its word, position and type together. Attention weights, LayerNorm deviations, gates of MLPs and
    the two norms of the cosine are kept as the run had them; with them kept, the whole model is affine in what goes
    in. Everything sums to the cosine, which `attrs["cosine"]` holds as the model gives it. pooling: "mean" over all
    tokens, or "cls", the first. The work is about that of a forward pass for each token of the two texts.
    Raises InputError for traces of two models, SelectionError for another pooling, ModelError like `score`.
    """
    check_name(pooling, POOLINGS, "pooling")
    if trace_a.model is not trace_b.model:
        raise InputError("the two texts were traced with two models: trace them with one Lens")
    vectors, directions, names = [], [], []
    notes: tuple[str, ...] = ()
    for trace in (trace_a, trace_b):
        stream = Stream(trace)
        check_finite(trace)
        size = trace.n_tokens
        weights = torch.zeros(1, size, dtype=torch.float64, device=stream.device)
        weights[0, : size if pooling == "mean" else 1] = 1 / size if pooling == "mean" else 1
        contributions = run_to_end(pooled_by_input(stream, weights))
        states = trace.hidden_state(len(trace.hidden_states) - 1).double()
        vector = states.mean(0) if pooling == "mean" else states[0]
        vectors.append(contributions / vector.norm())
        directions.append(vector / vector.norm())
        names.append([*trace.display_tokens, "bias"])
        notes = (*stream.notes, "Attention weights and gates of MLPs as they were in this run, too.")
    table = pd.DataFrame((vectors[0] @ vectors[1].T).cpu().numpy(), index=names[0], columns=names[1])
    table.attrs["cosine"], table.attrs["notes"] = float(directions[0] @ directions[1]), list(notes)
    return table


@torch.no_grad()
def pooled_by_input(stream: Stream, weights: Tensor) -> Generator[float, None, Tensor]:
    """(S + 1, P·D) float64 what each input token, and last all biases, put into P pooled vectors: they sum to them.

    weights: (P, S) of each token in each. In steps, which yield how much of the work is done, to 1.
    """
    size, x = stream.trace.n_tokens, _embedded(stream)
    width = max(len(stream.mlp(0)[0].weight), stream.input(0).shape[1])
    chunk = max(1, NUMBERS_AT_ONCE // (size * width))
    starts, pieces = range(0, size + 1, chunk), []
    for number, start in enumerate(starts):
        tokens = range(start, min(start + chunk, size))
        state = x.new_zeros(min(chunk, size + 1 - start), size, x.shape[-1])
        for at, i in enumerate(tokens):
            state[at, i] = x[i]
        steps = _pushed(stream, state, slice(len(tokens), None))
        while True:
            try:
                layer = next(steps)
            except StopIteration as end:
                states = end.value.double()  # (c, S, D)
                break
            yield (number + (layer + 1) / stream.trace.n_layers) / len(starts)
        pieces.append(torch.einsum("ps,csd->cpd", weights, states).flatten(1))
    return torch.cat(pieces)


def read_by_input(stream: Stream, weights: Tensor, slopes: Tensor) -> Tensor:
    """(S,) float64 what each input token puts into Σ w_ps r_p · h_s of the last hidden states h.

    weights: (P, S), slopes: (P, D). All tokens at once, by one pass forward and one back; the rest is of biases.
    """
    with torch.inference_mode(False), torch.enable_grad():
        x = _embedded(stream).detach().clone().requires_grad_()
        states = run_to_end(_pushed(stream, x[None], slice(1, None)))[0]
        total = torch.einsum("ps,pd,sd->", weights, slopes, states.double())
        [back] = torch.autograd.grad(total, x)
    return (back.double() * x.detach().double()).sum(-1)


def _embedded(stream: Stream) -> Tensor:
    """(S, D) word, position and type of each token together."""
    return sum(stream.embedded.values(), torch.zeros((), dtype=stream.dtype, device=stream.device))


def _pushed(stream: Stream, state: Tensor, bias: slice) -> Generator[int, None, Tensor]:
    """(c, S, D) what c sources put into every token's last hidden state. Yields each layer when it is done.

    state: (c, S, D) what they put into what is embedded; bias: which of them are given all biases.
    """
    size = stream.trace.n_tokens

    def affine(map: Affine, x: Tensor) -> Tensor:
        out = x @ map.weight.T
        if map.bias is not None:
            out[bias] += map.bias
        return out

    def normed(norm: Normed | None, x: Tensor) -> Tensor:
        if norm is None:
            return x
        out = (x - x.mean(-1, keepdim=True)) * norm.weight.to(x.dtype) * norm.scale.to(x.dtype)[:, None]
        out[bias] += norm.bias.to(x.dtype)
        return out

    for map in stream.entry:
        state = normed(map, state) if isinstance(map, Normed) else affine(map, state)
    everything = torch.arange(size, device=stream.device)
    for layer in range(stream.trace.n_layers):
        post = stream.post_ln
        intake = state if post else normed(stream.attention_norm(layer), state)
        heads = [affine(stream.projection(layer, "value", h), intake) for h in range(stream.trace.n_heads)]
        values = torch.stack([x.transpose(0, 1) for x in heads])  # (H, S, c, d)
        state = state + affine(stream.output(layer), _mixed(stream, layer, values))
        if post:
            state = normed(stream.attention_norm(layer), state)
        gates, inner = stream.gates(layer, everything)
        intake = state if post else normed(stream.mlp_norm(layer), state)
        state = state + affine(stream.mlp_output(layer), affine(inner, intake) * gates.to(stream.dtype))
        if post:
            state = normed(stream.mlp_norm(layer), state)
        yield layer
    return normed(stream.final_norm(), state)


def _mixed(stream: Stream, layer: int, values: Tensor) -> Tensor:
    """(c, S, H·d) Σ_j α_ij v_j of values (H, S, c, d), the heads side by side; some rows of the maps at a time."""
    context, flat = torch.empty_like(values), values.flatten(2)
    for heads in head_groups(stream.trace, layer):
        for start, first_key, alpha in blocks(stream.trace, layer, heads):
            product = alpha.to(stream.dtype) @ flat[heads, first_key : first_key + alpha.shape[2]]
            context[heads, start : start + alpha.shape[1]] = product.unflatten(2, values.shape[2:])
    return context.permute(2, 1, 0, 3).flatten(2)
