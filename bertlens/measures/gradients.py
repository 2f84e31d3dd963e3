"""What a loss says about heads and weights: one backward pass to every layer's context.

The context of head h is ctx^h_i = Σ_j α^h_ij v^h_j, so with g^h_i = dL/dctx^h_i from one backward pass all else
follows: dL/dα^h_ij = g^h_i · v^h_j, and a mask ξ_h on a head's output has dL/dξ_h = Σ_i g^h_i · ctx^h_i, which is
Σ_ij α^h_ij dL/dα^h_ij. No graph over heads x S x S is made; (H, S, S) is computed for the layer asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError, ModelError, check_name
from ..run.backward import context_gradients
from ..trace.trace import Trace

Loss = Callable[[Any], Tensor]
PER = ("text", "token")


@dataclass(frozen=True)
class Gradients:
    """The gradients of one loss over one trace's input. H heads, S tokens, d dimensions of a head."""

    trace: Trace
    loss: float
    contexts: list[Tensor]  # per layer (H, S, d): g = dL/dctx, in float32 or float64 like the trace

    def attention(self, layer: int) -> Tensor:
        """(H, S, S) dL/dα_ij = g_i · v_j [query, key], signed: as if each weight could change alone.

        In a changed run times what a head's output is multiplied by; 0 where its context was replaced. Its absolute
        value is the importance of Clark et al. 2019, section 3.2. Raises SelectionError for a layer that there is not.
        """
        slopes = self.contexts[layer] @ self.trace.value(layer).transpose(1, 2)
        for head, factor in self.trace.changed_contexts(layer).items():
            slopes[head] *= factor or 0
        return slopes

    def head_importance(self, *, per: str = "text", normalize: bool = False) -> Tensor:
        """(L, H) ≥ 0, in units of the loss: what a mask on each head's output would change, to first order.

        per="text": |dL/dξ_h| = |Σ_i g_i · ctx_i|, one mask for the whole text, which is what pruning the head does
        (Michel et al. 2019, eq. 2). per="token": Σ_i |g_i · ctx_i|, one mask for every token, so that tokens do not
        cancel: never less, and another order of heads; the authors' released code has this one, divided by the number
        of tokens. Over a corpus, average either. normalize: each layer divided by its L2 norm, as the authors do
        before they compare layers; a layer without importance stays 0. Raises SelectionError for another `per`.
        """
        check_name(per, PER, "importance per")
        rows = []
        for layer, g in enumerate(self.contexts):
            context = self.trace.context(layer).unflatten(1, (len(g), -1)).transpose(0, 1)
            of_tokens = (g * context).sum(2)  # (H, S)
            rows.append(of_tokens.abs().sum(1) if per == "token" else of_tokens.sum(1).abs())
        importance = torch.stack(rows)
        return torch.nn.functional.normalize(importance, dim=1) if normalize else importance


def gradients(trace: Trace, labels: Any = None, *, loss: Loss | None = None) -> Gradients:
    """One forward and one backward pass over a trace's input, for the model's own loss or for `loss`.

    The changes of a trace from `rerun` are made in these passes too.

    labels: what the model's forward takes as `labels`, with or without the batch dimension: a class, a (S,) list with
    -100 where no loss is wanted, ... loss: a function of the model's output object that gives a 0-d tensor; needed
    where the model has no loss of its own (an encoder without a head). The parameters' .grad is not touched.
    Raises InputError without either or with both, ModelError where the model gives no loss, where only attention
    weights were given, or where the family does not use the attention interface.
    """
    if (labels is None) == (loss is None):
        raise InputError("give labels= for the model's own loss, or loss= as a function of the model's output")
    values = trace.value(0)  # says why where there are none
    trace.check_unchanged()
    inputs = trace.inputs()
    if labels is not None:
        target = torch.as_tensor(labels, device=values.device)
        inputs["labels"] = target if target.ndim and target.shape[0] == 1 else target[None]
    value, context = context_gradients(trace.borrowed, inputs, trace.n_layers, loss or _model_loss, trace.changes)
    return Gradients(trace, value, [g[0].to(values.dtype).transpose(0, 1) for g in context])


def _model_loss(output: Any) -> Tensor:
    loss = getattr(output, "loss", None)
    if loss is None:
        raise ModelError("the model gives no loss for labels: pass loss= as a function of its output")
    return loss
