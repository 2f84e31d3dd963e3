"""A smaller model out of one's own: a copy without its last layers, with fewer dimensions, with heads that say nothing.

What was cut is tried: the copy has to give the states that the whole model has behind that layer.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from numbers import Integral
from typing import Any, TypeVar

import torch
from torch import nn

from ..base.amounts import amount
from ..errors import InputError, ModelError, check_number, excerpt
from ..model import transformers_private as private
from ..model.borrowed import Model
from ..model.families import require_adapter
from .encoders import PlainEncoder, SentenceEncoder
from .layer_vectors import TRIAL, LayerVectors, close

L = TypeVar("L", bound=Any)  # a Lens, which stands above
NO_DIMENSIONS = (
    "a model of transformers makes no vectors of texts itself, so there is no file that could say how many dimensions "
    "are kept: give Lens a SentenceTransformer of it, SentenceTransformer(modules=[Transformer(folder), Pooling(…)]), "
    "or take lens.encode(texts)[:, :k]"
)


def pruned(lens: L, layers: int | None, dimensions: int | None, heads: Iterable[tuple[int, int]] | None) -> L:
    """See `Lens.prune`."""
    if layers is None and dimensions is None and heads is None:
        raise InputError("prune takes what is to be kept, layers= or dimensions=, or heads= to switch off")
    if hasattr(lens.borrowed.runner, "get_base_model"):
        raise ModelError("a model with adapters is cut once they are part of it: model.merge_and_unload() first")
    reader = LayerVectors(lens)
    kept = (
        reader.n_layers if layers is None else check_number(layers, "layers is how many to keep,", 1, reader.n_layers)
    )
    off = _heads(heads, kept, lens.borrowed)
    if dimensions is not None:
        if not isinstance(lens.sentences, SentenceEncoder):
            raise InputError(NO_DIMENSIONS)
        width = reader.encode([TRIAL], None).shape[-1]
        dimensions = check_number(dimensions, "dimensions is how many to keep,", 1, width)
    smaller = _copy(lens)
    if kept < reader.n_layers:
        _cut(smaller.borrowed, kept)
        expected = reader.normed(lens.trace(TRIAL, truncation=True).hidden_states[kept])
        state = smaller.trace(TRIAL, truncation=True).hidden_states[-1]
        if not close(state, expected):
            raise _uncut(smaller.borrowed, "gives other states than the whole model has behind that layer")
    if dimensions is not None:
        smaller.model.truncate_dim = dimensions
    for layer, head in off:
        _silence(smaller.borrowed, layer, head)
    return _named(lens, smaller, layers, dimensions, off)


def _copy(lens: L) -> L:
    """A lens on a copy of the model and its tokenizer; nothing of the user's own is in it."""
    copied = copy.deepcopy(lens)
    is_own = isinstance(lens.sentences, SentenceEncoder)
    fresh: L = type(lens)(copied.model, *([] if is_own else [copied.tokenizer]))
    if isinstance(lens.sentences, PlainEncoder):
        fresh.sentences = PlainEncoder(fresh, lens.sentences.prompts)
    return fresh


def _cut(model: Model, kept: int) -> None:
    """Take the last layers off, in the config too."""
    base: Any = model.base
    adapter = require_adapter(base)
    modules = [*adapter.layers(base)]
    holder = next((m for m in base.modules() if isinstance(m, nn.ModuleList) and [*m] == modules), None)
    if holder is not None:
        del holder[kept:]
    for config in private.configs(model.module):
        if getattr(config, "num_hidden_layers", None) != len(modules):
            continue
        for name, value in vars(config).items():
            if "layer" in name and isinstance(value, list | tuple) and len(value) == len(modules):
                setattr(config, name, value[:kept])
        config.num_hidden_layers = kept
    if [*adapter.layers(base)] != modules[:kept]:  # ALBERT's config says which of its shared layers run when
        raise _uncut(model, "shares layers in groups, and with fewer of them each would run at another place")
    with torch.device("meta"):  # what would be loaded of its file
        shapes = {name: weights.shape for name, weights in type(base)(base.config).state_dict().items()}
    if wrong := [name for name, weights in base.state_dict().items() if shapes.get(name) != weights.shape]:
        raise _uncut(model, f"has {wrong[0]}, whose size hangs on how many there are")


def _uncut(model: Model, why: str) -> ModelError:
    return ModelError(f"{type(model.base).__name__} cannot be cut to fewer layers: it {why}")


def _heads(heads: Iterable[tuple[int, int]] | None, layers: int, model: Model) -> list[tuple[int, int]]:
    """The pairs of layer and head, each once. Raises InputError for what is none, ModelError for layers that are
    shared."""
    if heads is None:
        return []
    count = model.base.config.num_attention_heads
    pairs = []
    for pair in heads if isinstance(heads, Iterable) else [heads]:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(x, Integral) for x in pair)):
            raise InputError(f"heads are pairs of a layer and a head, such as [(3, 5)], not {excerpt(pair)}")
        layer, head = (
            check_number(at, f"a {what} counts from 0,", 0, size - 1)
            for at, what, size in zip(pair, ("layer", "head"), (layers, count), strict=True)
        )
        pairs.append((layer, head))
    modules = [*require_adapter(model.base).layers(model.base)]
    if pairs and len(set(modules)) < len(modules):
        raise ModelError(
            f"{type(model.base).__name__} runs the same weights in several layers: a head that is zero in one would be "
            "zero in all; trace.rerun(whatif.off(layer, head)) is of one"
        )
    return list(dict.fromkeys(pairs))


@torch.no_grad()
def _silence(model: Model, layer: int, head: int) -> None:
    """Zero what W_O multiplies a head's output by."""
    adapter, module = model.layer(layer)
    projection: Any = adapter.output_projection(module)
    model.check_plain(projection)
    weight = projection.weight if isinstance(projection, nn.Linear) else projection.weight.T  # of GPT-2 the other way
    width = weight.shape[1] // model.base.config.num_attention_heads
    weight[:, head * width : (head + 1) * width] = 0


def _named(lens: L, smaller: L, layers: int | None, dimensions: int | None, off: list[tuple[int, int]]) -> L:
    """Its name, the Python that makes it again, and what reports of its traces say."""
    values = {"layers": layers, "dimensions": dimensions, "heads": off or None}
    arguments = {name: value for name, value in values.items() if value is not None}
    sizes = [amount(value, name[:-1]) for name, value in (("layers", layers), ("dimensions", dimensions)) if value]
    off_said = [f"without {', '.join(f'L{layer}·H{head}' for layer, head in off)}"] if off else []
    smaller.borrowed.name = ", ".join([lens.model_name, *sizes, *off_said])
    smaller.notes = lens.notes
    if off:
        smaller.notes += ("heads that were switched off are zero in W_O: the model is as large as before",)
    if lens.made:
        call, mark, comment = lens.made.partition("  #")
        given = ", ".join(f"{name}={value}" for name, value in arguments.items())
        smaller.made = f"{call}.prune({given}){mark}{comment}"
    return smaller
