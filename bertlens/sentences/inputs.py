"""A similarity by what went into the model, and by what its layers, heads and MLPs wrote: linearised at the run."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import torch
from torch import Tensor

from ..errors import BertLensError, SelectionError, excerpt
from ..measures import sources
from ..measures.sources.pull import parts as pulled
from ..measures.sources.push import pooled_by_input, read_by_input
from ..measures.sources.stream import Stream, requirements
from ..trace.checks import check_finite
from .text_pair import Side
from .token_parts import read_by, through

BY = ("layer", "head", "kind")
NOTE = "By input tokens: attention weights, LayerNorm deviations and gates of MLPs as the run had them."
KINDS = ("word", "position", "type", "head", "mlp", "bias")


@torch.no_grad()
def by_input(side: Side) -> Generator[float, None, Tensor]:
    """(S + 1, E) float64 what each token that went in, and last all biases, put into a text's vector.

    They sum to it. In steps, which yield how much is done, to 1. Raises ModelError where the stream cannot be split.
    """
    stream, encoder = Stream(side.trace), side.lens.sentences
    check_finite(side.trace)
    pooled = yield from pooled_by_input(stream, encoder.modes.weights(side.keep))
    return through(encoder, pooled)


@torch.no_grad()
def read_of_input(side: Side, direction: Tensor) -> Tensor:
    """(S + 1,) float64 what each token that went in, and last all biases, put into direction · vector.

    direction: (E,). They are the rows of `by_input` times it, for about three forward passes.
    Raises ModelError where the stream cannot be split.
    """
    stream = Stream(side.trace)
    check_finite(side.trace)
    weights, slopes, _ = read_by(side.lens.sentences, side.reading.states, side.keep, direction)
    terms = read_by_input(stream, weights, slopes)
    return torch.cat([terms, (side.parts.sum(0) @ direction.double() - terms.sum())[None]])


def why_no_input(side: Side) -> str:
    """Why a text's vector cannot be split by what went in; "" where it can. Raises ModelError as `Side.check`."""
    try:
        requirements(side.trace)
    except BertLensError as error:
        side.check()
        return str(error)
    return ""


@torch.no_grad()
def contributions(side: Side, direction: Tensor, name: str) -> Iterator[tuple[str, float]]:
    """What each "layer", "head" or "kind" wrote of direction · vector, by its name; they sum to it, as float64.

    direction: (E,). Raises ModelError where the stream cannot be split.
    """
    stream = Stream(side.trace)
    check_finite(side.trace)
    weights, slopes, constant = read_by(side.lens.sentences, side.reading.states, side.keep, direction)
    tokens = weights.any(0).nonzero()[:, 0]
    shared = len(weights) == 1
    reading = sources.Reading(
        stream.trace.n_layers,
        tokens,
        weights[0, tokens] if shared else weights.new_ones(len(tokens)),
        slopes[None] if shared else (weights.T @ slopes)[tokens, None],
        constant[None],
    )
    yield from read_parts(stream, reading, name)


def read_parts(stream: Stream, reading: sources.Reading, name: str) -> Iterator[tuple[str, float]]:
    """`contributions` to whatever is read of a run."""
    terms = pulled(stream, reading)
    heads = {layer: values[:, 0] for layer, values in sorted(terms.heads.items())}
    embedded, mlps = sum(map(float, terms.embedded.values())), terms.mlps
    if name == "kind":
        summed = {kind: float(x) for kind, x in terms.embedded.items()}
        summed |= {"head": float(sum(map(Tensor.sum, heads.values()))), "mlp": float(sum(mlps.values()))}
        yield from ((kind, summed[kind]) for kind in KINDS if kind in summed)
    elif name == "layer":
        yield "embeddings", embedded
        yield from ((f"L{layer}", float(values.sum() + mlps[layer].sum())) for layer, values in heads.items())
    else:
        yield "embeddings", embedded
        for layer, values in heads.items():
            yield from ((f"L{layer}·H{head}", x) for head, x in enumerate(values.tolist()))
            yield f"L{layer}·MLP", float(mlps[layer])
    yield "bias", float(terms.bias)


def check_by(name: str) -> None:
    if name not in BY:
        raise SelectionError(f"a similarity is not split by {excerpt(name)}: there are {', '.join(BY)}")
