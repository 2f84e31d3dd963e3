"""What a masked model says with each head silent, by hooks of torch alone: a row of one pass is a run of its own."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

import bertlens as bl


@cache
def silenced(lens: bl.Lens, text: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities at the first mask, float64: of the run as it is, (words), and with each head's context 0 before
    W_O, (layers, heads, words)."""
    model, config = lens.model, lens.model.config
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    size = config.hidden_size // heads
    inputs = lens.tokenizer([text] * (1 + layers * heads), return_tensors="pt")  # the first as it is

    def silence(layer: int) -> Any:
        def hook(_module: Any, args: Any) -> Any:
            context = args[0].clone()
            for head in range(heads):
                context[1 + layer * heads + head, :, head * size : (head + 1) * size] = 0
            return (context, *args[1:])

        return hook

    blocks = model.base_model.encoder.layer
    handles = [
        block.attention.output.dense.register_forward_pre_hook(silence(layer)) for layer, block in enumerate(blocks)
    ]
    try:
        with torch.no_grad():
            mask = inputs["input_ids"][0].tolist().index(lens.tokenizer.mask_token_id)
            hidden = model.base_model(**inputs).last_hidden_state[:, mask]
            chances = model.cls(hidden).double().softmax(-1)
    finally:
        for handle in handles:
            handle.remove()
    return chances[0], chances[1:].reshape(layers, heads, -1)
