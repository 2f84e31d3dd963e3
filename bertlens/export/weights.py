"""A model's weights as a page carries them, for the pass of js/src/engine: matrices in 16 bits, vectors as they are.

What is rounded is rounded to the nearest number of IEEE 754 binary16, ties to even, and nothing else is: `rounded` is
the same model with what the page computes with, so that what the rounding changes can be measured.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from ..errors import ExportError
from ..model.borrowed import Model

LARGEST = float(np.finfo(np.float16).max)
_LAYER = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "grow": "intermediate.dense",
    "shrink": "output.dense",
    "norm": "output.LayerNorm",
}


def check(model: Model) -> None:
    """Raises ExportError where a page cannot run the model."""
    base, config = model.base, model.base.config
    if type(base).__name__ != "BertModel":
        raise ExportError(f"a page runs encoders of BERT's class; this is {type(base).__name__}: save it without live")
    if getattr(config, "is_decoder", False) or getattr(config, "position_embedding_type", "absolute") != "absolute":
        raise ExportError("a page runs encoders with absolute positions: save it without live")
    if config.hidden_act != "gelu":
        raise ExportError(f"a page computes the activation gelu, not {config.hidden_act}: save it without live")
    sizes = (config.hidden_size, config.intermediate_size, config.hidden_size // config.num_attention_heads)
    if any(size % 4 for size in sizes):
        raise ExportError("a page runs models whose widths are multiples of 4: save it without live")
    if any(isinstance(module, nn.Linear) and type(module) is not nn.Linear for module in base.modules()):
        raise ExportError("a page carries plain matrices, and this model's are wrapped: save it without live")


def shape(model: Model) -> dict[str, Any]:
    """What the pass has to know beside the numbers: see Shape of js/src/engine/weights.ts."""
    config = model.base.config
    return {
        "layers": config.num_hidden_layers,
        "heads": config.num_attention_heads,
        "width": config.hidden_size,
        "inner": config.intermediate_size,
        "positions": config.max_position_embeddings,
        "epsilon": config.layer_norm_eps,
    }


def parts(model: Model) -> Iterator[dict[str, np.ndarray]]:
    """The arrays of the embeddings, then of each layer; uint16 are the bits of binary16.

    Raises ExportError for a model that a page cannot run (`check`), and where a weight is no number or larger than
    binary16 has them.
    """
    check(model)
    base: Any = model.base
    words = base.embeddings
    yield {
        "words": _bits(words.word_embeddings.weight),
        "positions": _bits(words.position_embeddings.weight),
        "segments": _bits(words.token_type_embeddings.weight),
        "norm.weight": _plain(words.LayerNorm.weight),
        "norm.bias": _plain(words.LayerNorm.bias),
    }
    for layer in base.encoder.layer:
        arrays = {}
        for name, path in _LAYER.items():
            module: Any = layer.get_submodule(path)
            arrays[f"{name}.weight"] = _plain(module.weight) if module.weight.ndim == 1 else _bits(module.weight)
            bias = module.bias if module.bias is not None else torch.zeros(len(module.weight), device="cpu")
            arrays[f"{name}.bias"] = _plain(bias)
        yield arrays


def rounded(model: Model) -> nn.Module:
    """The module again, in float32 and with the weights that a page computes with."""
    module = copy.deepcopy(model.module).float()
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.copy_(parameter.half().float())
    return module


def _plain(weight: torch.Tensor) -> np.ndarray:
    array: np.ndarray = weight.detach().cpu().float().numpy()
    if not np.isfinite(array).all() or np.abs(array).max(initial=0) > LARGEST:
        raise ExportError(f"a weight is not a number, or larger than {LARGEST:,.0f}, which 16 bits do not hold")
    return array


def _bits(weight: torch.Tensor) -> np.ndarray:
    return _plain(weight).astype(np.float16).view(np.uint16)
