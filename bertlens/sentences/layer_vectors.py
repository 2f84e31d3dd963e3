"""The vector that a text would have if the model ended earlier: after each layer, pooled as the encoder pools.

One pass gives all layers; of its hidden states nothing is kept but the pooled vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import ModelError
from ..model import transformers_private as private
from ..model.families import require_adapter
from ..model.loan import Loan
from ..text.encoding import Encoding
from ..trace.trace import Trace
from .encoders import NO_VECTORS, SentenceEncoder, SentenceLens
from .late_interaction import LateEncoder
from .sparse_encoder import SparseTextEncoder

TRIAL = "The cat sat on the mat."
CLOSE = 1e-4  # of the largest number: two ways to the same states, float32


class LayerVectors:
    """How vectors after 0 to L layers are made of one model; 0 is the embeddings.

    The norm that a pre-LN family has behind its last layer is applied behind every one: without it an earlier layer
    would be read in another scale than the model ends in. Raises ModelError for a model without single vectors of
    texts, for a family without an adapter, and where a trial run shows that the model does something else behind its
    last layer, or runs one layer several times.
    """

    def __init__(self, lens: SentenceLens):
        if lens.sentences.crosses:
            raise ModelError(NO_VECTORS)
        if isinstance(lens.sentences, LateEncoder | SparseTextEncoder):
            raise ModelError(
                f"{lens.model_name} makes no single vector of a text's hidden states: layers and dimensions are told "
                "of encoders that do"
            )
        self._lens = lens
        base = lens.borrowed.base
        adapter = require_adapter(base)
        norm = adapter.stream.final_norm(base) if adapter.stream is not None else None
        self.norm: nn.Module | None = norm if isinstance(norm, nn.Module) else None
        self.n_layers = len(adapter.layers(base))
        self._try()

    def _try(self) -> None:
        """By experiment: there is a state for each layer, and the last one is that behind the norm."""
        trace = self._lens.trace(TRIAL, truncation=True)
        states, name = trace.hidden_states, type(self._lens.borrowed.base).__name__
        if len(states) != self.n_layers + 1:
            raise ModelError(
                f"{name} hands out {len(states) - 1} hidden states for {self.n_layers} layers: which is behind which "
                "layer is not known here"
            )
        expected = self.normed(trace.layer_output(self.n_layers - 1))
        if states[-1].shape != expected.shape or not close(states[-1], expected):
            raise ModelError(f"{name} does more behind its last layer than is known here: its layers cannot be told")

    @property
    def note(self) -> str:
        """What is said beside the numbers, "" for nothing."""
        if self.norm is None:
            return ""
        return f"The norm that {self._lens.model_name} has behind its last layer is applied behind each."

    @torch.no_grad()
    def normed(self, states: Tensor) -> Tensor:
        """States (…, D) of a layer, as they would be if it were the last one."""
        return states if self.norm is None else self.norm(states)

    def encode(self, texts: Sequence[str], task: str | None, batch_size: int = 32) -> np.ndarray:
        """(N, L + 1, E) float32: vectors of texts as `lens.encode` makes them for a task, after each layer."""
        encoder = self._lens.sentences
        if isinstance(encoder, SentenceEncoder):
            return self._own(encoder, texts, task, batch_size)
        prompt = encoder.prompt(task, None)
        return self.means([self._lens.encoding(prompt + text, None, True) for text in texts], batch_size)

    def means(self, encodings: Sequence[Encoding], batch_size: int) -> np.ndarray:
        """(N, L + 1, D) float32 the mean over all tokens, template ones included, after each layer."""
        rows: dict[int, np.ndarray] = {}
        for places in self._lens.batches(encodings, batch_size):
            traces = self._lens.run([encodings[n] for n in places], apart=False)
            rows |= {n: self._mean(trace) for n, trace in zip(places, traces, strict=True)}
        return np.stack([rows[n] for n in range(len(encodings))])

    def _mean(self, trace: Trace) -> np.ndarray:
        *states, last = trace.hidden_states
        return torch.stack([self.normed(state).mean(0) for state in states] + [last.mean(0)]).float().cpu().numpy()

    def _own(self, encoder: SentenceEncoder, texts: Sequence[str], task: str | None, batch_size: int) -> np.ndarray:
        """By the object's own `encode`: what its modules make of the states of each layer goes out in place of what
        they make of the last ones."""
        runner, module, thread = self._lens.borrowed.runner, encoder.module, threading.get_ident()
        true = runner.forward
        caught: list[tuple[Tensor, ...]] = []

        def forward(*arguments: Any, **named: Any) -> Any:
            if threading.get_ident() != thread:
                return true(*arguments, **named)
            output = true(*arguments, **named | {"output_hidden_states": True})
            caught.append(output.hidden_states)
            return output

        def stack(_: nn.Module, __: Any, features: dict[str, Any]) -> None:
            if threading.get_ident() != thread:
                return
            *states, last = caught.pop()
            vectors = []
            for state in [*map(self.normed, states), last]:
                of_layer = {**features, "token_embeddings": state}
                of_layer.pop("cls_token_embeddings", None)
                for step in [*module][1:]:
                    of_layer = step(of_layer)
                vectors.append(of_layer["sentence_embedding"])
            features["sentence_embedding"] = torch.stack(vectors, 1)

        with self._lens.borrowed.locked(), private.without_capturing_hooks(module), Loan() as loan:
            loan.set(runner, "forward", forward)
            loan.hook(module.register_forward_hook(stack))
            return encoder.encode(list(texts), task, None, batch_size, False).float().cpu().numpy()


def close(a: Tensor, b: Tensor) -> bool:
    """Whether two ways lead to the same states."""
    return bool(torch.allclose(a.float(), b.float(), rtol=0, atol=CLOSE * float(a.abs().max())))
