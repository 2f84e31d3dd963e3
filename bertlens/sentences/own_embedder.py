"""A sentence encoder's own vectors, as the answers of its runs have them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..base.quotes import quotation
from ..model.borrowed import Model
from .encoders import COSINE, DOT, MANHATTAN, SentenceEncoder, kinds_of
from .late_interaction import KIND as LATE
from .late_interaction import NO_ANSWER, LateEncoder
from .sparse_encoder import KIND as SPARSE
from .sparse_encoder import SparseTextEncoder
from .token_parts import no_sum, read_by


class OwnEmbedder:
    """The pooling, the modules behind it and the similarity function of a SentenceTransformer."""

    output_name = "last_hidden_state"

    def __init__(self, encoder: SentenceEncoder):
        self._encoder = encoder
        prompt = encoder.default_prompt
        self.note = f"without its prompt {quotation(prompt)}" if prompt else ""  # the text of a run has none

    @property
    def function(self) -> str:
        return self._encoder.function

    def vector(self, states: Tensor) -> Tensor:
        return self._encoder.vectors(states[None], _all_tokens(states)[None])[0]

    def compare(self, a: Tensor, b: Tensor) -> Tensor:
        return self._encoder.similarity(a[None], b[None])[0, 0]

    def why_no_sum(self, function: str) -> str:
        if function not in (COSINE, DOT):
            return MANHATTAN_SUM if function == MANHATTAN else "a distance is no sum over tokens"
        return no_sum(self._encoder)

    def rows(self, states: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        """As `Embedder.rows`. With its gains held the map behind the pooling is affine: its slope reads each token."""
        weights, slopes, constant = read_by(self._encoder, states, _all_tokens(states), direction)
        return weights.T @ slopes, constant


class SparseEmbedder(OwnEmbedder):
    """The pooling of logits and the similarity function of a SparseEncoder."""

    output_name = "logits"

    def why_no_sum(self, function: str) -> str:
        return "its vector is made of logits, each through a logarithm, and not of the last hidden states"


def sentence_encoder(module: Any) -> SentenceEncoder:
    """What reads an object of sentence-transformers. Raises ModelError for a class or a module that is not known."""
    getattr(module, "similarity_fn_name", None)  # the package sets its default when it is first asked: before any pass
    kinds = kinds_of(module)
    read = LateEncoder if LATE in kinds else SparseTextEncoder if SPARSE in kinds else SentenceEncoder
    return read(module)


def tell_answers(model: Model, encoder: SentenceEncoder) -> None:
    """The answers of a model's runs are those of the encoder that it is in."""
    if isinstance(encoder, LateEncoder):
        model.why_no_answer = NO_ANSWER
    elif not encoder.crosses:
        model.embedder = (SparseEmbedder if isinstance(encoder, SparseTextEncoder) else OwnEmbedder)(encoder)
    elif encoder.modes.names:
        model.why_no_answer = (
            "this cross-encoder makes its score behind the transformers model, of what it pools: lens.similarity has it"
        )
    else:
        model.has_activation = True


MANHATTAN_SUM = "the Manhattan distance adds up absolute values: it is no sum over tokens"


def _all_tokens(states: Tensor) -> Tensor:
    """(S,) bool: a run's text has no prompt that the pooling leaves out."""
    return torch.ones(len(states), dtype=torch.bool, device=states.device)
