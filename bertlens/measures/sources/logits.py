"""A prediction split by source: the logit of a token or of a class, through the frozen head that makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, relu
from transformers import PreTrainedModel

from ...base.quotes import isolate, quotation
from ...errors import ModelError, SelectionError, check_index
from ...model.class_names import class_names
from ...trace.checks import check_finite
from ...trace.trace import Trace
from ..answer_words import word_name, word_number
from .affine_maps import Normed
from .pull import Reading, parts
from .split import Sources
from .stream import Stream, check_activation, gate

Stage = str | Callable[[Tensor], Tensor]  # a path from the model, or a function that its class calls

# From the last hidden state to the logits. The first that is there, whole, and gives the model's own logits, is taken.
TOKEN_HEADS: tuple[tuple[Stage, ...], ...] = (
    (
        "cls.predictions.transform.dense",
        "cls.predictions.transform.transform_act_fn",
        "cls.predictions.transform.LayerNorm",
        "cls.predictions.decoder",
    ),
    (
        "cls.predictions.transform.dense",
        "cls.predictions.transform.transform_act_fn",
        "cls.predictions.transform.layer_norm",
        "cls.predictions.decoder",
    ),
    (
        "cls.predictions.dense",
        "cls.predictions.activation",
        "cls.predictions.LayerNorm",
        "cls.predictions.decoder",
    ),
    ("lm_head.dense", gelu, "lm_head.layer_norm", "lm_head.decoder"),
    ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    (
        "generator_predictions.dense",
        "generator_predictions.activation",
        "generator_predictions.LayerNorm",
        "generator_lm_head",
    ),
    ("predictions.dense", "predictions.activation", "predictions.LayerNorm", "predictions.decoder"),
    ("head.dense", "head.act", "head.norm", "decoder"),
    ("lm_head",),
)
LABEL_HEADS: tuple[tuple[Stage, ...], ...] = (
    ("classifier.dense", "classifier.activation", "classifier.out_proj"),
    ("classifier.dense", torch.tanh, "classifier.out_proj"),
    ("classifier.dense", gelu, "classifier.out_proj"),
    ("pre_classifier", relu, "classifier"),
    ("head.dense", "head.act", "head.norm", "classifier"),
    ("base_model.pooler.dense", "base_model.pooler.activation", "classifier"),
    ("base_model.pooler.dense", "base_model.pooler.activation", "cls.seq_relationship"),
    ("base_model.pooler", "base_model.pooler_activation", "classifier"),
    ("pooler.dense", gelu, "classifier"),
    ("classifier",),
    ("score",),
)
TOLERANCE = 0.02  # of the largest logit, half precision included: another head is off by far more


@torch.no_grad()
def logit(
    trace: Trace,
    position: int,
    token: int | str,
    against: int | str | None = None,
    through_mlps: bool = False,
) -> Sources:
    """Where the logit of a token at a position ([MASK], or any other) came from; less that of `against` where given.

    token, against: a token of the vocabulary, as it is shown or as the tokenizer writes it, or its id. The head's
    activation and LayerNorm are kept as the run had them. The difference of two logits is their log-odds, in nats.
    Raises SelectionError for what does not exist, ModelError where the model predicts no tokens or its stream cannot be
    split.
    """
    check_index(position, trace.n_tokens, "token")
    stream, outer = _predictor(trace)
    logits = getattr(trace.output, "logits", getattr(trace.output, "prediction_logits", None))
    if logits is None or logits.ndim != 3 or logits.shape[1] != trace.n_tokens:
        raise ModelError(f"{type(outer).__name__} predicts no token at a position")
    ids = [_token_id(trace, t, position, logits.shape[-1]) for t in (token, against) if t is not None]
    names = [quotation(word_name(trace, number, position)) for number in ids]
    title = f"logit of {names[0]} at {position}"
    if against is not None:
        title += f" less that of {names[1]}"
    share = torch.ones(1, dtype=torch.float64, device=stream.device)
    tokens = torch.tensor([position], device=stream.device)
    return _split(stream, outer, TOKEN_HEADS, logits[0, position], ids, tokens, share, title, through_mlps)


@torch.no_grad()
def logits_read(trace: Trace, ids: Tensor, directions: Tensor) -> Reading:
    """How Σ directions · logits is read off the last hidden states. ids: (K,) tokens of the vocabulary; directions:
    (S, K) float64, of each position. The head's activation and LayerNorm are kept as the run had them.

    Raises ModelError as `logit`.
    """
    stream, outer = _predictor(trace)
    states, logits = trace.hidden_state(len(trace.hidden_states) - 1).double(), trace.output.logits[0]
    tokens = directions.any(1).nonzero()[:, 0]
    rows, constants = [states.new_zeros(0, states.shape[1])], [states.new_zeros(0)]
    for at in tokens.tolist():
        columns = directions[at].nonzero()[:, 0]
        signs = directions[at, columns]
        w, constant = _read_off(stream, outer, TOKEN_HEADS, states[at], logits[at], ids[columns].tolist(), signs)
        rows.append(w[None])
        constants.append(constant[None])
    share = torch.ones(len(tokens), dtype=torch.float64, device=stream.device)
    return Reading(trace.n_layers, tokens, share, torch.cat(rows)[:, None], torch.cat(constants).sum()[None])


@torch.no_grad()
def label(
    trace: Trace,
    label: int | str,
    against: int | str | None = None,
    position: int | None = None,
    through_mlps: bool = False,
) -> Sources:
    """Where the logit of a class came from; less that of the class `against` where given.

    label, against: the class's index, or its name in the model's config. position: the token, for models that
    classify each token. The pooler's activation is kept as the run had it. Raises SelectionError for what does not
    exist, ModelError where the model is no classifier or its stream cannot be split.
    """
    stream, outer = _predictor(trace)
    logits = getattr(trace.output, "logits", None)
    config: Any = outer.config
    per_token = logits is not None and logits.ndim == 3
    if logits is None or logits.ndim not in (2, 3) or not hasattr(config, "label2id"):
        raise ModelError(f"{type(outer).__name__} is no classifier of texts or tokens")
    if per_token and logits.shape[-1] == getattr(config, "vocab_size", -1):
        raise ModelError(f"{type(outer).__name__} predicts tokens: ask for sources.logit")
    if per_token != (position is not None):
        how = "each token: pass position=" if per_token else "whole texts: leave position out"
        raise SelectionError(f"{type(outer).__name__} classifies {how}")
    tokens, share = _pooled(stream, config, position, any(name == "score" for name, _ in outer.named_children()))
    row = logits[0] if position is None else logits[0, position]
    classes = class_names(config, len(row))
    ids = [_label_id(classes, name) for name in (label, against) if name is not None]
    names = [classes[i] for i in ids]
    title = f"logit of class {isolate(names[0])}" + (f" less that of {isolate(names[1])}" if len(names) > 1 else "")
    return _split(stream, outer, LABEL_HEADS, row, ids, tokens, share, title, through_mlps)


def _predictor(trace: Trace) -> tuple[Stream, Any]:
    """The stream, and the model around the encoder."""
    stream = Stream(trace)
    check_finite(trace)
    runner = stream.model.runner
    for module in runner.modules():
        if isinstance(module, PreTrainedModel) and module is not stream.base and module.base_model is stream.base:
            return stream, module
    raise ModelError(f"no prediction head: {trace.model_name} is an encoder")


def _pooled(stream: Stream, config: Any, position: int | None, last: bool) -> tuple[Tensor, Tensor]:
    """The tokens whose hidden states are classified, and their weights."""
    n, device = stream.trace.n_tokens, stream.device
    if position is not None:
        check_index(position, n, "token")
    elif getattr(config, "classifier_pooling", "cls") == "mean":
        return torch.arange(n, device=device), torch.full((n,), 1 / n, dtype=torch.float64, device=device)
    at = position if position is not None else n - 1 if last else 0
    return torch.tensor([at], device=device), torch.ones(1, dtype=torch.float64, device=device)


def _split(
    stream: Stream,
    outer: Any,
    heads: Sequence[tuple[Stage, ...]],
    logits: Tensor,
    ids: list[int],
    tokens: Tensor,
    share: Tensor,
    title: str,
    through_mlps: bool,
) -> Sources:
    """Sources of logits[chosen[0]] − logits[chosen[1]]."""
    trace, top = stream.trace, stream.trace.n_layers
    pooled = share @ trace.hidden_state(len(trace.hidden_states) - 1).double()[tokens]
    signs = torch.tensor([1.0, -1.0][: len(ids)], dtype=torch.float64, device=stream.device)
    w, constant = _read_off(stream, outer, heads, pooled, logits, ids, signs)
    reading = Reading(top, tokens, share, w[None, None], constant[None])
    return Sources(
        trace=trace,
        what=title,
        model=float(signs @ logits[ids].double()),
        reading=reading,
        through_mlps=through_mlps,
        layer=top,
        notes=stream.notes,
        _parts=parts(stream, reading, through_mlps=through_mlps),
        unit="nats" if len(ids) > 1 else "logits",
    )


def _read_off(
    stream: Stream,
    outer: Any,
    heads: Sequence[tuple[Stage, ...]],
    pooled: Tensor,
    logits: Tensor,
    ids: list[int],
    signs: Tensor,
) -> tuple[Tensor, Tensor]:
    """(D,) and a constant: how Σ signs · logits[ids] is read off the pooled state, by the first head that gives them.

    Raises ModelError where none does.
    """
    for stages in heads:
        chain = stages_of(outer, stages)
        if chain is None:
            continue
        w, constant, estimates = _pulled(stream, chain, pooled, ids, signs)
        extra = getattr(getattr(outer, "lm_head", None), "bias", None)  # ESM adds it outside its decoder
        if chain[-1].bias is None and extra is not None:
            bias = extra.detach().double()
            constant, estimates = constant + signs @ bias[ids], estimates + bias[ids]
        if (estimates - logits[ids].double()).abs().max() <= TOLERANCE * logits.abs().max().clamp_min(1):
            return w, constant
    raise ModelError(f"the prediction head of {type(outer).__name__} is not one that can be split")


def stages_of(outer: Any, stages: tuple[Stage, ...]) -> list[Any] | None:
    """The modules and functions of a chain of TOKEN_HEADS or LABEL_HEADS, None where one is not there."""
    try:
        chain = [attrgetter(stage)(outer) if isinstance(stage, str) else stage for stage in stages]
    except AttributeError:
        return None
    # a plain projection begins and ends it: "lm_head" is a module of several in RoBERTa
    return chain if all(hasattr(chain[i], "weight") for i in (0, -1)) else None


def _pulled(
    stream: Stream, chain: list[Any], x: Tensor, ids: list[int], signs: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(D,) the direction that reads the signed logits off the pooled state x, its constant part, and the logits."""
    backs: list[Callable[[Tensor], tuple[Tensor, Tensor]]] = []

    def linear(w: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        return w @ weight, w.new_zeros(()) if bias is None else w @ bias

    for module in chain[:-1]:
        if type(module) is nn.LayerNorm:
            norm = stream.normed(module, x[None].to(stream.dtype))
            backs.append(lambda w, n=norm: _through(w, n))  # type: ignore[misc]
            x = norm.forward(x[None])[0] + norm.bias
        elif hasattr(module, "weight"):
            plain = stream.plain(module)
            weight, bias = plain.weight.double(), None if plain.bias is None else plain.bias.double()
            backs.append(lambda w, m=weight, b=bias: linear(w, m, b))  # type: ignore[misc]
            x = weight @ x if bias is None else weight @ x + bias
        else:
            check_activation(module)
            g = gate(module, x)
            backs.append(lambda w, g=g: (w * g, w.new_zeros(())))  # type: ignore[misc]
            x = x * g
    plain = stream.plain(chain[-1])
    rows = plain.weight[ids].double()
    b = rows.new_zeros(len(ids)) if plain.bias is None else plain.bias[ids].double()
    estimates = rows @ x + b
    w, constant = signs @ rows, signs @ b
    for back in reversed(backs):
        w, offset = back(w)
        constant = constant + offset
    return w, constant, estimates


def _through(w: Tensor, norm: Normed) -> tuple[Tensor, Tensor]:
    return norm.back(w) * norm.scale[0], w @ norm.bias


def _token_id(trace: Trace, token: int | str, position: int, size: int) -> int:
    if not isinstance(token, str):
        check_index(token, size, "token id")
        return token
    number = word_number(trace, token, position)
    if number is None:
        raise SelectionError(f"{isolate(repr(token))} is no token of the vocabulary: give one of its tokens, or an id")
    return number


def _label_id(names: list[str], label: int | str) -> int:
    if isinstance(label, str):
        if label not in names:
            raise SelectionError(f"no class {isolate(repr(label))}: there are {', '.join(map(isolate, names))}")
        return names.index(label)
    check_index(label, len(names), "class")
    return label
