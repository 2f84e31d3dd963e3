"""A model's weights as a page carries them, for the pass of js/src/engine: matrices rounded, vectors as they are.

A row of a matrix is whole multiples, in 16 bits, of a factor of its own: STEPS of them are its root mean square, since
what a pass adds up and normalises are rows. What the multiples do not use of their bits deflates away. At the same size
attention moves by a third as much as with IEEE 754 binary16, which spends its bits on numbers near 0. In the small form
the words' vectors are multiples, in 8 bits, of a factor for every GROUP numbers, and other matrices have 15; those of a
model that was in blocks of four bits stay so, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.activations import ACT2FN

from ..errors import BertLensError, ExportError
from ..model.borrowed import Model
from ..run.attention_function import users_functions
from . import page_arithmetic

LARGEST = float(np.finfo(np.float16).max)
GROUP = 32  # numbers of a word's vector that share a factor, in the small form
MOST = 127  # of its multiples
SAMPLE = 1000  # vectors of words that tell whether four bits are enough
STEPS = {False: 2_800, True: 700}  # of a row's factor make its root mean square; True: in the small form
LIMITS = {False: 2**15 - 1, True: 2**14 - 1}  # of a row's multiples
FAMILIES = ("Bert", "Roberta", "XLMRoberta", "Camembert", "Electra", "DistilBert", "Albert")
# Classes and functions whose values name one of page_arithmetic.ACTIVATIONS. Values alone do not: ReLU6 is ReLU up to 6
_NAMES = ("gelu", "gelu_accurate", "gelu_fast", "gelu_new", "gelu_pytorch_tanh", "relu", "silu", "swish", "tanh")
_CLASSES = {nn.GELU, *(type(ACT2FN[name]) for name in _NAMES)}
_FUNCTIONS = (functional.gelu, functional.relu, functional.silu, torch.relu, torch.tanh)


def check(model: Model) -> None:
    """Raises ExportError where a page cannot run the model."""
    base, config = model.base, model.base.config
    if type(base).__name__ not in [f"{name}Model" for name in FAMILIES] or model.adapter is None:
        raise ExportError(
            f"a page runs encoders of these families: {', '.join(FAMILIES)}; this is {type(base).__name__}: "
            "save it without live"
        )
    if getattr(config, "is_decoder", False) or getattr(config, "position_embedding_type", "absolute") != "absolute":
        raise ExportError("a page runs encoders with absolute positions: save it without live")
    if users_functions(model.runner):
        raise ExportError("a page computes attention as softmax of q·k, this model otherwise: save it without live")
    form = shape(model)
    sizes = (form["width"], form["inner"], form["entering"], form["width"] // form["heads"])
    if any(size % 4 for size in sizes):
        raise ExportError("a page runs models whose widths are multiples of 4: save it without live")
    epsilons = {module.eps for module in base.modules() if isinstance(module, nn.LayerNorm)}
    if len(epsilons) > 1:
        raise ExportError("a page runs models whose LayerNorms have one epsilon: save it without live")
    if any(hasattr(module, "lora_A") for module in base.modules()):
        raise ExportError("a page carries plain matrices, and this model's are wrapped: merge its adapters first")


def activation(function: Any) -> str:
    """The name of an activation function by its class and what it gives up to ±10,000. Raises ExportError for one that
    a page does not compute."""
    tails = torch.logspace(0, 4, 97, device="cpu")
    x = torch.cat([torch.linspace(-6, 6, 97, device="cpu"), -tails, tails])
    if type(function) in _CLASSES or function in _FUNCTIONS:
        with torch.no_grad():
            y = function(x.clone()).numpy()
        for name, computed in page_arithmetic.ACTIVATIONS.items():
            if np.allclose(y, computed(x.numpy()), rtol=1e-6, atol=2e-6):
                return name
    named = getattr(function, "__name__", type(function).__name__)
    raise ExportError(f"a page does not compute the activation {named}: save it without live")


def shape(model: Model) -> dict[str, Any]:
    """What the pass has to know beside the numbers: see Shape of js/src/engine/weights.ts."""
    base: Any = model.base
    adapter = _adapter(model)
    layers = adapter.layers(base)
    distinct = _distinct(layers)
    positions = adapter.stream.position(base)
    pad = positions.padding_idx  # RoBERTa and its kin count positions behind it
    inner, outer = adapter.mlp(layers[0])
    acts = {activation(adapter.stream.activation(layer)) for layer in distinct}
    if len(acts) > 1:
        raise ExportError("a page runs models whose layers have one activation: save it without live")
    return {
        "layers": len(layers),
        "order": [distinct.index(layer) for layer in layers],
        "heads": base.config.num_attention_heads,
        "width": outer.out_features,
        "inner": inner.out_features,
        "entering": adapter.stream.word(base).weight.shape[1],
        "positions": positions.num_embeddings - (0 if pad is None else pad + 1),
        "typed": adapter.stream.type(base) is not None,
        "pad": pad,
        "activation": acts.pop(),
        "epsilon": adapter.mlp_norm(layers[0]).eps,
    }


def _adapter(model: Model) -> Any:
    return model.layer(0)[0]


def _distinct(layers: Any) -> list[nn.Module]:
    """A layer that runs several times once."""
    return list(dict.fromkeys(layers))


def is_in_four_bits(model: Model) -> bool:
    """Whether its weights are of four bits, so that a small page has them as they are: `_in_four_bits`."""
    query, _ = model.affine(_adapter(model).query_projection(_distinct(_adapter(model).layers(model.base))[0]))
    return _in_four_bits(query) is not None and _in_four_bits(model.embedding.weight[-SAMPLE:]) is not None


def parts(model: Model, small: bool = False, rows: np.ndarray | None = None) -> Iterator[dict[str, np.ndarray]]:
    """The arrays of the embeddings, then of each layer that is one of its own. rows: (V,) bool, of which words the
    vectors are carried, of four bits; those of others are zeros, which deflate away.

    Raises ExportError for a model that a page cannot run (`check`), and where a weight is no number or too large.
    """
    check(model)
    base: Any = model.base
    adapter = _adapter(model)
    stream = adapter.stream
    words, types, norm = stream.word(base), stream.type(base), stream.norm(base)
    positions = stream.position(base)
    embeddings = table("words", words.weight, small)
    if rows is not None:
        embeddings["words"][~rows], embeddings["words.factors"][~rows] = 128, 0
    embeddings |= matrix("positions", positions.weight[positions.padding_idx or 0 :], small)
    embeddings |= matrix(
        "types", torch.zeros(1, words.weight.shape[1], device="cpu") if types is None else types.weight, small
    )
    embeddings |= normed("norm", norm)
    if (project := stream.projection(base)) is not None:
        embeddings |= linear(model, "project", project, small)
    yield embeddings
    for layer in _distinct(adapter.layers(base)):
        inner, outer = adapter.mlp(layer)
        yield {
            **linear(model, "query", adapter.query_projection(layer), small),
            **linear(model, "key", adapter.key_projection(layer), small),
            **linear(model, "value", adapter.value_projection(layer), small),
            **linear(model, "output", adapter.output_projection(layer), small),
            **normed("attention_norm", adapter.attention_norm(layer)),
            **linear(model, "grow", inner, small),
            **linear(model, "shrink", outer, small),
            **normed("norm", adapter.mlp_norm(layer)),
        }


def linear(model: Model, name: str, module: Any, small: bool) -> dict[str, np.ndarray]:
    """Of a projection. Raises ExportError for one that is wrapped or quantised."""
    try:
        weight, bias = model.affine(module)
    except BertLensError as error:
        raise ExportError(f"a page carries plain matrices: {error}") from None
    bias = torch.zeros(len(weight), device="cpu") if bias is None else bias
    return matrix(f"{name}.weight", weight, small) | {f"{name}.bias": plain(bias)}


def normed(name: str, module: Any) -> dict[str, np.ndarray]:
    """Of a LayerNorm."""
    return {f"{name}.weight": plain(module.weight), f"{name}.bias": plain(module.bias)}


def table(name: str, weight: Tensor, small: bool) -> dict[str, np.ndarray]:
    """Of vectors of words; in the small form with the factors of their groups."""
    if not small:
        return matrix(name, weight, small)
    multiples, factors = _in_four_bits(weight) or _in_groups(weight)
    return {name: (multiples + 128).astype(np.uint8), f"{name}.factors": factors.view(np.uint16)}


def matrix(name: str, weight: Tensor, small: bool) -> dict[str, np.ndarray]:
    """(rows, columns) uint16, of which 32,768 is 0, and (rows,) float32 what they are multiples of; in the small form,
    where four bits are enough, as `table`."""
    if small and (blocks := _in_four_bits(weight)) is not None:
        return {name: (blocks[0] + 128).astype(np.uint8), f"{name}.factors": blocks[1].view(np.uint16)}
    multiples, factors = _in_rows(weight, small)
    return {name: (multiples + 32_768).astype(np.uint16), f"{name}.factors": factors}


def _in_rows(weight: Tensor, small: bool) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) whole numbers and float32 (rows,) what they are multiples of."""
    numbers = plain(weight)
    limit = np.float32(LIMITS[small])
    factors = np.maximum(np.sqrt((numbers**2).mean(-1)) / np.float32(STEPS[small]), np.abs(numbers).max(-1) / limit)
    by = np.where(factors == 0, 1, factors)[:, None]
    return np.clip(np.rint(numbers / by), -limit, limit), factors


def _in_groups(weight: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """(V, D) whole numbers from -127 to 127, and float16 (V, D / group) what they are multiples of."""
    numbers = plain(weight)
    grouped = numbers.reshape(len(numbers), -1, math.gcd(GROUP, numbers.shape[1]))
    factors = (np.abs(grouped).max(-1) / MOST).astype(np.float16)
    by = np.where(factors == 0, 1, factors).astype(np.float32)[..., None]
    return np.clip(np.rint(grouped / by), -MOST, MOST).reshape(numbers.shape), factors


def _in_four_bits(weight: Tensor) -> tuple[np.ndarray, np.ndarray] | None:
    """The same of a matrix whose numbers are, as they stand, multiples from -8 to 7; else None. The largest of a group
    is its -8, as in GGML's Q4_0."""
    numbers = plain(weight)
    if numbers.shape[-1] % GROUP:
        return None
    grouped = numbers.reshape(len(numbers), -1, GROUP)
    largest = np.take_along_axis(grouped, np.abs(grouped).argmax(-1)[..., None], -1)[..., 0]
    factors = (largest / -8).astype(np.float16)
    by = np.where(factors == 0, 1, factors).astype(np.float32)[..., None]
    multiples = np.clip(np.rint(grouped / by), -8, 7)
    exact = np.array_equal(multiples * by, grouped)
    return (multiples.reshape(numbers.shape), factors) if exact else None


def plain(weight: Tensor) -> np.ndarray:
    array: np.ndarray = weight.detach().cpu().float().numpy()
    if not np.isfinite(array).all() or np.abs(array).max(initial=0) > LARGEST:
        raise ExportError(f"a weight is not a number, or larger than {LARGEST:,.0f}, which a page does not carry")
    return array
