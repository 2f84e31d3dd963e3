"""Models that answer with something else than the vectors that texts are ranked by: which, and how they can rank."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..errors import ModelError


def no_vectors(name: str, output: Any) -> ModelError:
    """The error for a model, by its name, whose output has no last hidden states."""
    logits = output.get("logits")
    labels = logits.shape[-1] if isinstance(logits, Tensor) and logits.ndim == 2 else 0
    if labels == 1:
        return ModelError(
            f"{name} answers with one logit and makes no vectors, as a reranker does: Lens(CrossEncoder(…)) of "
            "sentence-transformers, given its name or folder, scores pairs of texts"
        )
    if labels:
        return ModelError(
            f"{name} answers with {labels} logits of labels and makes no vectors: texts are ranked by an encoder that "
            "was trained for it, a SentenceTransformer or a CrossEncoder"
        )
    if "pooler_output" in output:  # DPR
        return ModelError(
            f"{name} answers with the vector of its first token: give Lens a SentenceTransformer of the encoder in it, "
            "a Transformer and a Pooling of 'cls'"
        )
    return ModelError(f"{name} answers with something else than vectors: give Lens its encoder")
