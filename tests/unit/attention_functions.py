"""Attention functions as users write them, which keep what they weigh by, and models that run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as tf
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from unit import tiny

Weights = Callable[[Any, torch.Tensor], torch.Tensor]  # of a module and its masked scores


def sharper(module: Any, scores: torch.Tensor) -> torch.Tensor:
    return (3 * scores).softmax(-1)


def plus_one(module: Any, scores: torch.Tensor) -> torch.Tensor:
    return scores.exp() / (1 + scores.exp().sum(-1, keepdim=True))


def window(module: Any, scores: torch.Tensor) -> torch.Tensor:
    places = torch.arange(scores.shape[-1])
    return scores.masked_fill((places[:, None] - places).abs() > 2, -torch.inf).softmax(-1)


def knocked_out(module: Any, scores: torch.Tensor) -> torch.Tensor:
    """A head that the module names."""
    weights = scores.softmax(-1).clone()
    weights[:, getattr(module, "gone", 2)] = 0
    return weights


KINDS = [sharper, plus_one, window, knocked_out]


class Function:
    """Called as the model calls it; keeps the weights of each layer's last call."""

    def __init__(self, weights: Weights, returns: bool = False):
        self.weights, self.returns, self.seen = weights, returns, {}  # type: ignore[var-annotated]

    def __call__(self, module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **_: Any) -> Any:
        scores = query @ key.transpose(2, 3) * scaling
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        weights = self.weights(module, scores)
        self.seen[module.layer_idx] = weights.detach()
        return (weights @ value).transpose(1, 2).contiguous(), weights if self.returns else None


def put(function: Any, mask: Any = eager_mask, name: str = "mine") -> Any:
    """A model with the function under a name."""
    config = tf.BertConfig(**tiny.BERT | {"num_labels": 3})
    return put_in(tiny.shaken(tf.BertForSequenceClassification(config)), function, mask, name)


def put_in(model: Any, function: Any, mask: Any = eager_mask, name: str = "mine") -> Any:
    """The model, with the function under a name; mask: the function of its masks, None for none."""
    AttentionInterface.register(name, function)
    if mask is not None:
        AttentionMaskInterface.register(name, mask)
    model.set_attn_implementation(name)
    return model
