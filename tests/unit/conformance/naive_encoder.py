"""BERT written out in float64, head by head and token by token, with the faults of other programs as switches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SPECIAL = (2, 3)  # [CLS] and [SEP] of `tiny.wordpiece`


def erf_gelu(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def tanh_gelu(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def quick_gelu(x: float) -> float:
    return x / (1 + math.exp(-1.702 * x))


def relu(x: float) -> float:
    return max(x, 0.0)


def silu(x: float) -> float:
    return x / (1 + math.exp(-x))


def norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float, less: int = 0, outside: bool = False):
    centred = x - x.mean()
    variance = (centred**2).sum() / (len(x) - less)
    return centred / (math.sqrt(variance) + eps if outside else math.sqrt(variance + eps)) * weight + bias


def states(
    model: Any,
    ids: Sequence[int],
    *,
    weight: Callable[[np.ndarray], np.ndarray] = lambda w: w,
    activation: Callable[[float], float] = erf_gelu,
    eps: float = 1e-12,
    less: int = 0,
    outside: bool = False,
    scale: float | None = None,
    biases: str = "qkv",
    swapped: bool = False,
    transposed: bool = False,
    first: int = 0,
    segment: int | None = 0,
    causal: bool = False,
    words: float = 1.0,
    embedding_norm: bool = True,
    residual: str = "am",
    norms_swapped: bool = False,
    last_norm: bool = True,
    without_first_layer: bool = False,
) -> list[np.ndarray]:
    """(S, D) after the embeddings and after each layer."""
    p = {name: t.detach().double().numpy() for name, t in model.named_parameters()}
    heads = model.config.num_attention_heads

    def normed(x: np.ndarray, name: str) -> np.ndarray:
        gain, shift = p[f"{name}.weight"], p[f"{name}.bias"]
        return np.stack([norm(row, gain, shift, eps, less, outside) for row in x])

    def linear(x: np.ndarray, name: str, has_bias: bool = True) -> np.ndarray:
        return x @ weight(p[f"{name}.weight"]).T + (p[f"{name}.bias"] if has_bias else 0)

    e = "embeddings"
    x = words * p[f"{e}.word_embeddings.weight"][list(ids)]
    if first is not None:
        x = x + p[f"{e}.position_embeddings.weight"][first : first + len(ids)]
    if segment is not None:
        x = x + p[f"{e}.token_type_embeddings.weight"][segment]
    x = normed(x, f"{e}.LayerNorm") if embedding_norm else x
    streams = [x]
    for number in range(model.config.num_hidden_layers):
        layer = f"encoder.layer.{number}"
        if number == 0 and without_first_layer:
            streams.append(x)
            continue
        norms = [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        norms = norms[::-1] if norms_swapped else norms
        names = {k: f"{layer}.attention.self.{n}" for k, n in zip("qkv", ("query", "key", "value"), strict=True)}
        if swapped:
            names["q"], names["k"] = names["k"], names["q"]
        q, k = (linear(x, names[n], n in biases) for n in "qk")
        w = weight(p[f"{names['v']}.weight"])
        v = x @ (w if transposed else w.T) + (p[f"{names['v']}.bias"] if "v" in biases else 0)
        d = q.shape[1] // heads
        context = np.zeros_like(q)
        for h in range(heads):
            part = slice(h * d, (h + 1) * d)
            for i in range(len(x)):
                seen = i + 1 if causal else len(x)
                scores = [q[i, part] @ k[j, part] * (1 / math.sqrt(d) if scale is None else scale) for j in range(seen)]
                alpha = np.exp(np.array(scores) - max(scores))
                context[i, part] = (alpha / alpha.sum()) @ v[:seen, part]
        out = linear(context, f"{layer}.attention.output.dense")
        y = normed(out + x if "a" in residual else out, norms[0])
        inner = linear(y, f"{layer}.intermediate.dense")
        inner = np.vectorize(activation)(inner)
        out = linear(inner, f"{layer}.output.dense")
        out = out + y if "m" in residual else out
        is_bare = not last_norm and number == model.config.num_hidden_layers - 1
        x = out if is_bare else normed(out, norms[1])
        streams.append(x)
    return streams


def mean(model: Any, ids: Sequence[int], **faults: Any) -> np.ndarray:
    """(D,) the mean over all tokens."""
    return states(model, ids, **faults)[-1].mean(0)
