"""What a page carries of a model's answer: the head that makes it of the last hidden states, stage by stage, for
js/src/engine/answers.

What the head is, is found by what it gives: the stages are taken that make the model's own numbers on a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import BertLensError
from ..measures.predictions import UNITS, classes, kind_of, labels_of, one_of, words_of
from ..measures.sources.logits import LABEL_HEADS, TOKEN_HEADS, Stage, stages_of
from ..model.borrowed import Model
from ..trace.trace import Trace
from . import page_weights

_TOLERANCE = 1e-4  # of the largest logit: the stages are the model's own, in its own precision
_POOLINGS = {"first": lambda states: states[:1], "mean": lambda states: states.mean(0, keepdim=True)}


@dataclass(frozen=True)
class Head:
    """about: plain JSON, see Answered of js/src/engine/weights.ts; arrays: of its stages, none where it has none."""

    about: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def head(trace: Trace, small: bool = False) -> Head:
    """Of the model of a trace; kind "" where it gives no answer, or one that a page does not compute. small: as
    `page_weights.parts`."""
    try:
        kind = kind_of(trace)
    except BertLensError as error:
        return Head({"kind": "", "why_not": str(error)})
    answer = _vectors(trace) if kind == "similarity" else _chain(trace, kind, small)
    return answer or Head({"kind": "", "why_not": ""})


def _vectors(trace: Trace) -> Head | None:
    """Where vectors are the mean or the first of the last states, scaled or not, and compared by the cosine."""
    embedder = trace.borrowed.embedder
    noise = torch.randn(
        2, 5, page_weights.shape(trace.borrowed)["width"], generator=torch.Generator().manual_seed(0), device="cpu"
    )
    states = noise.to(trace.borrowed.device)
    with torch.no_grad():
        vectors = [embedder.vector(x) for x in states]
        similarity = embedder.compare(*vectors)
    for pooling, pooled in _POOLINGS.items():
        pooled_states = [pooled(x)[0] for x in states]
        if vectors[0].shape != pooled_states[0].shape:
            continue
        angles = [torch.cosine_similarity(x, y, dim=0) for x, y in zip(pooled_states, vectors, strict=True)]
        expected = [*angles, similarity]
        if torch.allclose(torch.stack([x.float() for x in expected]), _cosines(pooled_states, len(angles)), atol=1e-5):
            unit = UNITS[embedder.function]
            return Head({"kind": "vectors", "pooling": pooling, "unit": unit, "said": embedder.note, "stages": []})
    return None


def _cosines(x: Sequence[Tensor], ones: int) -> Tensor:
    return torch.tensor([1.0] * ones + [float(torch.cosine_similarity(x[0], x[1], dim=0))], device=x[0].device)


def _chain(trace: Trace, kind: str, small: bool) -> Head | None:
    """Of a head that makes logits."""
    output = trace.output
    if kind == "words":
        logits, heads, poolings = words_of(output)[0], TOKEN_HEADS, ["each"]
    elif kind in ("labels", "tags"):
        logits, heads = output.logits[0], LABEL_HEADS
        poolings = ["each"] if kind == "tags" else list(_POOLINGS)
        logits = logits if kind == "tags" else logits[None]
    else:
        return None
    chance = "softmax" if kind == "words" else _chance(trace)
    outer = _around(trace.borrowed)
    if outer is None or chance is None:
        return None
    states = trace.layer_output(trace.n_layers - 1)
    for pooling in poolings:
        start = states if pooling == "each" else _POOLINGS[pooling](states)
        for names in heads:
            if (stages := _made(outer, names, start, logits)) is not None:
                about, arrays = _told(trace.borrowed, stages, small)
                about |= {"kind": kind, "pooling": pooling, "said": "", "chance": chance}
                about["unit"] = "probability" if kind == "words" else classes(trace, output)[0]
                about["one"] = kind == "words" or one_of(trace)
                about["names"] = [] if kind == "words" else labels_of(trace)
                return Head(about, arrays)
    return None


@torch.no_grad()
def _made(outer: Any, names: tuple[Stage, ...], states: Tensor, logits: Tensor) -> list[Any] | None:
    """The stages, where they are there and make these logits of the states."""
    stages = stages_of(outer, names)
    if stages is None:
        return None
    try:
        for stage in stages:
            states = stage(states)
    except RuntimeError:  # of another width
        return None
    if states.shape != logits.shape:
        return None
    gap = (states.double() - logits.double()).abs().max()
    return stages if gap <= _TOLERANCE * logits.abs().max().clamp_min(1) else None


def _told(model: Model, stages: list[Any], small: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    descriptions: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    words: Any = model.embedding.weight
    for n, stage in enumerate(stages):
        if isinstance(stage, nn.LayerNorm):
            descriptions.append({"kind": "norm", "epsilon": stage.eps})
            arrays |= page_weights.normed(str(n), stage)
        elif isinstance(stage, nn.Module) and hasattr(stage, "weight"):
            arrays |= page_weights.linear(model, str(n), stage, small)
            matrix: Any = stage.weight
            tied = matrix.data_ptr() == words.data_ptr()
            descriptions.append({"kind": "words" if tied else "linear"})
            if tied:
                del arrays[f"{n}.weight"]
        else:
            descriptions.append({"kind": page_weights.activation(stage)})
    return {"stages": descriptions}, arrays


def _chance(trace: Trace) -> str | None:
    """How a classifier's numbers are made of logits: softmax, sigmoid, "" as they are; None for another way."""
    if (activation := trace.borrowed.activation) is not None:
        names: dict[Any, str] = {nn.Sigmoid: "sigmoid", nn.Identity: ""}
        return names.get(type(activation))
    if one_of(trace):
        return "softmax"
    several = getattr(trace.borrowed.base.config, "problem_type", None) == "multi_label_classification"
    return "sigmoid" if several else ""


def _around(model: Model) -> Any:
    """The model around the encoder."""
    from transformers import PreTrainedModel

    for module in model.runner.modules():
        if isinstance(module, PreTrainedModel) and module is not model.base and module.base_model is model.base:
            return module
    return None
