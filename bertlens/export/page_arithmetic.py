"""The pass of js/src/engine in Python, operation by operation, on weights as a page carries them: what a page computes,
known where no browser is.

Products are sums of four lanes in float32, as in a browser without fused multiplication, which rounds less; GELU and
exponentials are the polynomials of simd.wat. tests/unit/export/test_accuracy.py holds it to the numbers of node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]

BLOCK = 512  # outputs whose sums stay in a processor's cache
ROWS = 8192  # of a head's matrix at a time
LARGE = 0.05  # a weight whose score is summed in 64 bits: forward.ts
LEAST = -87  # whose exponential is 0: simd.wat
EXPONENTIAL = (1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
ERFC = (
    *(0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807),
    *(-0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223),
)


def product(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """(S, n), (outputs, n) -> (S, outputs) x wᵀ + b, n a multiple of 4."""
    rows, n = x.shape
    lanes = np.ascontiguousarray(x.reshape(rows, n // 4, 4).transpose(1, 2, 0))[..., None]
    y = np.empty((rows, len(weight)), np.float32)
    for start in range(0, len(weight), BLOCK):
        columns = weight[start : start + BLOCK].reshape(-1, n // 4, 4).transpose(1, 2, 0)
        columns = np.ascontiguousarray(columns)[:, :, None]
        sums = np.zeros((4, rows, columns.shape[-1]), np.float32)
        terms = np.empty_like(sums)
        for lane, column in zip(lanes, columns, strict=True):
            np.multiply(lane, column, out=terms)
            sums += terms
        y[:, start : start + BLOCK] = sums[0] + sums[1] + sums[2] + sums[3]
    return y if bias is None else y + bias


def _series(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    total = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + np.float32(c)
    return total


def exponential(x: np.ndarray) -> np.ndarray:
    """e^x, x ≤ 0."""
    bounded = np.maximum(x, np.float32(LEAST - 1))
    power = np.rint(bounded * np.float32(math.log2(math.e)))
    remainder = bounded - power * np.float32(0.693359375) + power * np.float32(2.1219444e-4)
    fraction = _series(remainder, EXPONENTIAL) * (remainder * remainder) + remainder + np.float32(1)
    return np.where(x > LEAST, np.ldexp(fraction, power.astype(np.int32)), np.float32(0))


def gelu(x: np.ndarray) -> np.ndarray:
    """½ x (1 + erf(x / √2))."""
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = np.float32(1) / (np.float32(1) + z * np.float32(0.5))
    tail = t * exponential(_series(t, ERFC) - z * z) * x * np.float32(0.5)
    return np.where(x > 0, x - tail, tail)


def _wide(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Computed in float64, as JavaScript does."""
    return lambda x: function(x.astype(np.float64)).astype(np.float32)


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.maximum(x, -700.0)))


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # by the names of page_weights.py and arithmetic.ts
    "gelu": gelu,
    "gelu_tanh": _wide(lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "silu": _wide(lambda x: x * _logistic(x)),
    "tanh": _wide(np.tanh),
}


def norm(x: np.ndarray, arrays: Arrays, name: str, epsilon: float) -> np.ndarray:
    """A LayerNorm of (S, D), in float64."""
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    by = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
    return (centred * by * arrays[f"{name}.weight"] + arrays[f"{name}.bias"]).astype(np.float32)


def floats(arrays: Arrays, name: str, rows: Any = slice(None)) -> np.ndarray:
    """(rows, columns) float32 of a matrix as `page_weights.parts` has it."""
    integers = arrays[name][rows]
    factors = arrays[f"{name}.factors"]
    factors = (factors.view(np.float16) if factors.dtype == np.uint16 else factors)[rows].astype(np.float32)
    zero = np.float32(128 if integers.dtype == np.uint8 else 32_768)
    factors = factors.reshape(len(integers), -1, 1)
    return ((integers.reshape(*factors.shape[:2], -1) - zero) * factors).reshape(integers.shape)


def dense(x: np.ndarray, arrays: Arrays, name: str, bias: np.ndarray) -> np.ndarray:
    """(S, n) -> (S, outputs) x wᵀ + b in float64, of a head's matrix: a part of a large one at a time."""
    blocks = (floats(arrays, name, slice(start, start + ROWS)) for start in range(0, len(arrays[name]), ROWS))
    return (np.concatenate([x.astype(np.float64) @ block.T for block in blocks], -1) + bias).astype(np.float32)


def head(x: np.ndarray, stages: Sequence[Mapping[str, Any]], arrays: Arrays, embeddings: Arrays) -> np.ndarray:
    """(S, D) -> (S, C) the logits that a head makes of states: `page_heads.Head`."""
    for n, stage in enumerate(stages):
        kind = stage["kind"]
        if kind == "norm":
            x = norm(x, arrays, str(n), stage["epsilon"])
        elif kind in ("words", "linear"):
            matrix = (embeddings, "words") if kind == "words" else (arrays, f"{n}.weight")
            x = dense(x, *matrix, arrays[f"{n}.bias"])
        else:
            x = ACTIVATIONS[kind](x)
    return x


@dataclass(frozen=True)
class LayerPass:
    """What a layer leaves of a text. query, key: (H, S, d); lse: float64 (H, S); stream: (S, D) behind the layer."""

    query: np.ndarray
    key: np.ndarray
    lse: np.ndarray
    stream: np.ndarray

    def weights(self, heads: slice, rows: slice) -> np.ndarray:
        """(H', R, S) float64, as the page makes them of q, k and the log-sum-exps."""
        keys = self.key[heads].swapaxes(1, 2).astype(np.float64)
        return np.exp(_exact(self.query[heads, rows], keys) - self.lse[heads, rows, None])


def layers(
    shape: Mapping[str, Any], parts: Iterator[Arrays], texts: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> Iterator[list[LayerPass]]:
    """Each layer of several texts, (ids, types) each. shape, parts: see `page_weights`."""
    embeddings = next(parts)
    distinct: list[Arrays] = []
    streams = [_embedded(shape, embeddings, np.array(ids), np.array(types)) for ids, types in texts]
    for n in shape["order"]:
        while len(distinct) <= n:
            distinct.append(next(parts))
        packed = distinct[n]
        layer = {name: floats(packed, name) if f"{name}.factors" in packed else packed[name] for name in packed}
        attended = [_layer(shape, layer, stream) for stream in streams]
        streams = [text.stream for text in attended]
        yield attended


def _embedded(shape: Mapping[str, Any], arrays: Arrays, ids: np.ndarray, types: np.ndarray) -> np.ndarray:
    pad = shape["pad"]
    at = np.arange(len(ids)) if pad is None else np.where(ids == pad, 0, np.cumsum(ids != pad))
    of_type = types if len(arrays["types"]) > 1 else 0 * types
    added = floats(arrays, "positions", at).astype(np.float64) + floats(arrays, "types", of_type)
    x = norm((floats(arrays, "words", ids) + added).astype(np.float32), arrays, "norm", shape["epsilon"])
    return product(x, floats(arrays, "project.weight"), arrays["project.bias"]) if "project.weight" in arrays else x


def _layer(shape: Mapping[str, Any], arrays: Arrays, x: np.ndarray) -> LayerPass:
    def linear(name: str, x: np.ndarray) -> np.ndarray:
        return product(x, arrays[f"{name}.weight"], arrays[f"{name}.bias"])

    heads = [linear(name, x).reshape(len(x), shape["heads"], -1).swapaxes(0, 1) for name in ("query", "key", "value")]
    attended = [_head(*of_head) for of_head in zip(*heads, strict=True)]
    context = np.concatenate([context for _, context in attended], axis=1)
    x = norm(x + linear("output", context), arrays, "attention_norm", shape["epsilon"])
    inner = ACTIVATIONS[shape["activation"]](linear("grow", x))
    x = norm(x + linear("shrink", inner), arrays, "norm", shape["epsilon"])
    return LayerPass(heads[0], heads[1], np.stack([lse for lse, _ in attended]), x)


def _exact(query: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """(…, R, d), (…, d, S) -> (…, R, S) scores in float64."""
    return query.astype(np.float64) @ keys * (1 / math.sqrt(query.shape[-1]))


def _head(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(S,) the log-sum-exps, (S, d) the context that the pass goes on with."""
    blocks = [_rows(query[start : start + BLOCK], key, value) for start in range(0, len(query), BLOCK)]
    return np.concatenate([lse for lse, _ in blocks]), np.concatenate([context for _, context in blocks])


def _rows(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`_head` of some of its queries."""
    scaling = 1 / math.sqrt(query.shape[1])
    scores = product(query, key)
    largest = scores.max(-1, keepdims=True)
    powers = exponential((scores - largest) * np.float32(scaling))
    total = powers.sum(-1, keepdims=True, dtype=np.float64)
    rough = powers / total.astype(np.float32)
    lse = largest.astype(np.float64) * scaling + np.log(total)
    exact = _exact(query, key.T.astype(np.float64))
    large = rough > LARGE
    lse = lse + np.where(large, rough * (exact - np.log(np.where(large, rough, 1)) - lse), 0).sum(-1, keepdims=True)
    behind = -len(key) % 4  # a product takes four keys at a time
    context = product(np.pad(rough, ((0, 0), (0, behind))), np.pad(value, ((0, behind), (0, 0))).T)
    return lse[:, 0], context
