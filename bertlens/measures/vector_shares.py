"""What a text's vector rests on: the share of it that each token makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..base.vocabulary import phrases
from ..errors import ModelError
from ..trace.trace import Trace
from .attribution.gradient_methods import gradient_input
from .predictions import embedder_of, embedding, kind_of, states_of

NEXT_TO_NOTHING = 5e-4  # of biases: no third decimal
WITH_BIASES = (
    "Each token’s part of the vector, along the vector: its state times its weight in the pooling. With {biases}, of "
    "biases behind the pooling, they add up to 1."
)
SLOPED = (
    "The vector is no sum over the tokens ({why}), so this is each word embedding times the slope of the vector’s "
    "length along itself, from one backward pass: to first order what the vector loses without it. "
    "They need not add up to 1."
)


@dataclass(frozen=True)
class VectorShares:
    """values: (S,) float64 on the CPU. how: "pooling", exact, or "gradient", to first order. said: that in a sentence.
    biases: what belongs to no token; with it the values of "pooling" add up to 1."""

    values: Tensor
    how: str
    said: str
    biases: float = 0.0


def vector_shares(trace: Trace) -> VectorShares:
    """Each token's share of its text's vector v: (S,) numbers, below 0 where a token pulls against it.

    Where v is a sum Σ v_i over the tokens, with v_i the last hidden state times its weight in the pooling (and through
    the modules behind it, whose gains and norms are kept as they are): v_i · v / ‖v‖², exact in one pass; they and
    `biases`, of modules behind the pooling, add up to 1. Where the pooling reads a single token (CLS, the last one),
    or the largest numbers of all, the other tokens are no parts of v: gradient × input of v · v₀ / ‖v₀‖², with v₀ the
    vector itself held and the word embeddings as inputs, by one backward pass. That is the share itself where the model
    is linear in the word embeddings and has no biases; else it is first-order, and adds up to nothing in particular. On
    a changed trace, of the run with its changes.

    Raises ModelError where the model gives no vector of a text, or one of length 0, and where it takes a gradient and
    none can be had.
    """
    if kind_of(trace) != "similarity":
        raise ModelError(phrases.NO_VECTOR.format(model=trace.model_name))
    embedder, states = embedder_of(trace), states_of(trace, trace.record.output)
    if pooled := pooled_shares(trace, states):
        values, biases = pooled
        sentence = phrases.POOLED if abs(biases) < NEXT_TO_NOTHING else WITH_BIASES.format(biases=f"{biases:.3f}")
        return VectorShares(values, "pooling", sentence, biases)
    direction = _direction(trace, states)

    def along(output: Any) -> Tensor:
        return embedding(trace, states_of(trace, output)).to(direction.dtype) @ direction

    why = embedder.why_no_sum("cosine") or "its pooling reads one token"
    return VectorShares(gradient_input(trace, along).values.double().cpu(), "gradient", SLOPED.format(why=why))


def pooled_shares(trace: Trace, states: Tensor) -> tuple[Tensor, float] | None:
    """As `vector_shares` of last hidden states (S, D) of the trace's text, in whichever run: the values of "pooling",
    and what biases make; None where the vector is no sum over tokens. Raises ModelError for a vector of length 0."""
    embedder, states = embedder_of(trace), states.double()
    if embedder.why_no_sum("cosine"):
        return None
    rows, constant = embedder.rows(states, _direction(trace, states))
    if len(states) > 1 and int(rows.any(1).sum()) < 2:
        return None
    return (rows * states).sum(1).cpu(), float(constant)


def _direction(trace: Trace, states: Tensor) -> Tensor:
    """(E,) v / ‖v‖²."""
    vector = embedding(trace, states).detach().double()
    direction = vector / (vector @ vector)
    if not direction.isfinite().all():
        raise ModelError("the text’s vector has no direction: its numbers are all 0, or not finite")
    return direction
