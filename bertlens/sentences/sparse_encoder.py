"""Sparse encoders (SPLADE): a vector over the words of the vocabulary, each weight made by a token, or by all of them.

w_v = max_t log(1 + relu(l_tv)) of the logits l of a masked language model (Formal et al. 2021, 2109.10086), the sum
over the tokens t in the first one (Formal, Piwowarski and Clinchant 2021, 2107.05720).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import ModelError
from .encoders import SentenceEncoder, TextReading, check_first, unknown
from .pooling import Modes

KIND = "SparseEncoder"
POOLING = "SpladePooling"
SUCCESSORS = f"a {POOLING} on its logits (transformer_task='fill-mask')"
WAYS = {  # module that is not read -> the way out
    "Router": (
        "has a Router, whose routes are models of their own: give Lens the one of documents, "
        "Lens(SparseEncoder(modules=[*model[0].sub_modules['document']])); the weights of a static one are a table"
    ),
    "SparseStaticEmbedding": (
        "has a SparseStaticEmbedding, a table with one weight a token, whatever stands beside it: model.encode(text) "
        "has its numbers, there is no model to look into"
    ),
    "SparseAutoEncoder": (
        "has a SparseAutoEncoder, whose numbers are of no words: give Lens what it is given, "
        "Lens(SentenceTransformer(modules=[*model][:2]))"
    ),
}


@dataclass(frozen=True, eq=False)
class SparseReading(TextReading):
    """A text as a sparse encoder reads it: S tokens, a vector over the V words of the vocabulary, K of them not 0.

    `states` (S, K) are the logits of those, `vector` (V,) is dense.
    """

    words: Tensor  # (K,) int64, ascending
    parts: Tensor  # (S, K) float64 what each token put into each weight: they sum to them


class SparseTextEncoder(SentenceEncoder):
    """A SparseEncoder of a masked language model and a SpladePooling.

    Raises ModelError, with the way out, for other modules.
    """

    def __init__(self, module: Any):
        steps = [*module]
        for step in steps:
            if way := WAYS.get(type(step).__name__):
                raise ModelError(f"this {type(module).__name__} {way}")
        check_first(module, steps[0], "fill-mask", SUCCESSORS)
        for at, step in enumerate(steps[1:]):
            if at or type(step).__name__ != POOLING:
                raise unknown(module, step, "", SUCCESSORS)
        if len(steps) < 2:
            raise ModelError(f"this {type(module).__name__} has no {POOLING}: its logits are no vector of a text")
        self.module, self.crosses = module, False
        if steps[1].embedding_dimension is None:  # the package sets it in its first pass: before any is recorded
            steps[1].embedding_dimension = int(self.model.get_output_embeddings().weight.shape[0])  # type: ignore[operator]

    @property
    def tail(self) -> tuple[Any, ...]:
        return ()

    @property
    def modes(self) -> Modes:
        return Modes((tuple(self.module)[1].pooling_strategy,))

    def encode(
        self, texts: str | Sequence[str], task: str | None, prompt_name: str | None, batch_size: int, progress: bool
    ) -> Any:
        """(N, V), of one string (V,), sparse tensors: what the object's own methods give for a task."""
        return super().encode(texts, task, prompt_name, batch_size, progress).coalesce()

    def similarity(self, a: Any, b: Any) -> Tensor:
        """(N, M) the object's similarity of vectors (N, V) and (M, V), in float32 where they are of half precision."""
        halves = torch.float16, torch.bfloat16
        return super().similarity(*(x.float() if isinstance(x, Tensor) and x.dtype in halves else x for x in (a, b)))

    def read(self, text: str, task: str | None, prompt_name: str | None = None) -> SparseReading:
        features, vector = self._features(text, task, prompt_name)
        mask, vector, prompt = features["attention_mask"][0].bool(), vector.to_dense(), self.prompt(task, prompt_name)
        words = vector.nonzero()[:, 0]
        logits = features["token_embeddings"][0][mask][:, words].clone()
        return SparseReading(
            prompt=prompt,
            text=prompt + text,
            input_ids=tuple(features["input_ids"][0][mask].tolist()),
            states=logits,
            left_out=0,
            vector=vector,
            words=words,
            parts=self._parts(logits, vector[words]),
        )

    def vectors(self, states: Tensor, keep: Tensor) -> Tensor:
        """(N, V) of logits (N, S, V), pooled over the tokens that `keep` (N, S) says. Gradients pass."""
        weights = self._weights(states * keep[..., None].to(states.dtype))
        pooled = weights.amax(1) if self.modes.names == ("max",) else weights.sum(1)
        if (count := self.module.max_active_dims) is None:
            return pooled
        top = pooled.topk(min(count, pooled.shape[-1])).indices
        return torch.zeros_like(pooled).scatter(-1, top, pooled.gather(-1, top))

    def _weights(self, logits: Tensor) -> Tensor:
        """What the pooling makes of each logit."""
        weights = logits.relu().log1p()
        return weights.log1p() if self.module[1].activation_function == "log1p_relu" else weights

    def _parts(self, logits: Tensor, weights: Tensor) -> Tensor:
        """(S, K) float64: of max pooling a weight is of the first token with the largest logit, whole.

        Of sum pooling in proportion to what each token adds, so that rounding leaves no gap in half precision either.
        """
        if self.modes.names == ("sum",):
            terms = self._weights(logits).double()
            return terms * (weights.double() / terms.sum(0))
        parts = torch.zeros_like(logits, dtype=torch.float64)
        return parts.scatter(0, logits.argmax(0, keepdim=True), weights.double()[None])
