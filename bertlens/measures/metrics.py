"""What an answer is measured by: named numbers of the model's output, to compare a changed run with its original.

A metric is bound to a trace before it is read: then it knows where the mask is, and says in one sentence what the model
cannot give. Any function of the model's output object that gives one number is a metric too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeGuard

import torch
from torch import Tensor

from ..base.quotes import isolate, quotation
from ..base.vocabulary import phrases
from ..errors import InputError, ModelError, check_index
from ..trace.checks import check_rerun
from ..trace.trace import Trace
from . import sources
from .answer_words import word_number
from .predictions import (
    UNITS,
    compared,
    embedder_of,
    embedding,
    is_sparse,
    kind_of,
    labels_of,
    masked,
    one_of,
    states_of,
    words_of,
)

Read: TypeAlias = Callable[[Any], Tensor]  # the model's output, of one text -> a 0-d tensor


@dataclass(frozen=True)
class Metric:
    """A named number of a model's output. `flat`: it begins at its extreme, so that it has no first-order change."""

    name: str  # in words
    unit: str  # "nats", "0 to 1", "cosine", ...
    bind: Callable[[Trace], Read]  # of the original run
    flat: bool = False
    # the one token whose answer is read; None where it is the text's
    at: Callable[[Trace], int | None] = lambda trace: None
    # how it is read off the last layer's output, for a split by what went in; None where it is no sum
    reading: Callable[[Trace], sources.Reading] | None = None

    def __call__(self, trace: Trace) -> float:
        """The metric of a run; what it compares with is the run's original."""
        return float(self.bind(trace.original)(trace.record.output).detach())

    def __str__(self) -> str:
        return f"{self.name} ({self.unit})"


def logit(token: str | int, position: int | None = None) -> Metric:
    """A token's logit at a mask. token: as it is shown, as the tokenizer writes it, or its id; position: None is the
    only mask. Of two that are shown alike, the one that would stand there: "cat" is "Ġcat" behind a blank."""
    return Metric(
        f"logit of {isolate(token)}",
        "logits",
        lambda trace: _word(trace, position, lambda x, number: x[number(token)]),
        at=lambda trace: _position(trace, position),
        reading=lambda trace: _reading(trace, position, token),
    )


def probability(token: str | int, position: int | None = None) -> Metric:
    """A token's probability at a mask, the softmax over the vocabulary, in [0, 1]. Arguments as of `logit`."""

    def bind(trace: Trace) -> Read:
        return _word(trace, position, lambda x, number: x.softmax(-1)[number(token)])

    return Metric(f"probability of {isolate(token)}", "0 to 1", bind, at=lambda trace: _position(trace, position))


def difference(token: str | int, other: str | int, position: int | None = None) -> Metric:
    """logit(token) − logit(other) at a mask: the log of the ratio of their probabilities, in nats."""

    def bind(trace: Trace) -> Read:
        return _word(trace, position, lambda x, number: x[number(token)] - x[number(other)])

    return Metric(
        f"{isolate(token)} over {isolate(other)}",
        "nats",
        bind,
        at=lambda trace: _position(trace, position),
        reading=lambda trace: _reading(trace, position, token, other),
    )


def label(name: str | int, position: int | None = None) -> Metric:
    """A class's logit. name: as the model's config writes it, or its number; position: of token classifiers.

    Once it is used on a run: raises ModelError for a model without classes, InputError for a class that it has not,
    SelectionError for a position that is not there.
    """

    def bind(trace: Trace) -> Read:
        kind = kind_of(trace)
        if kind not in ("labels", "tags"):
            raise ModelError(f"{trace.model_name} has no classes: {_ways(kind)}")
        names = labels_of(trace)
        if isinstance(name, str):
            if name not in names:
                raise InputError(f"no class {isolate(repr(name))}: there are {', '.join(map(isolate, names[:20]))}")
            index = names.index(name)
        else:
            check_index(name, len(names), "class")
            index = int(name)
        if kind == "labels":
            if position is not None:
                raise InputError("the class is of the whole text: give no position")
            return lambda output: output.logits[0, index]
        if position is None:
            raise InputError(f"the model gives each token a class: pass position=, from 0 to {trace.n_tokens - 1}")
        check_index(position, trace.n_tokens, "position")
        return lambda output: output.logits[0, position, index]

    return Metric(
        f"logit of class {isolate(name)}",
        "logits",
        bind,
        at=lambda trace: position,
        reading=lambda trace: sources.label(trace, name, position=position).reading,
    )


def similarity(other: Trace | None = None) -> Metric:
    """The similarity of the text with `other`; without it, the cosine of its vector with its own before the changes.

    Vectors and similarity function are those of the model: a SentenceTransformer's own, else the mean of the last
    hidden states over all tokens and the cosine, in [-1, 1]. Raises InputError for another thing than a trace.
    """

    def function(trace: Trace) -> str:
        return "cosine" if other is None else embedder_of(trace).function

    def bind(trace: Trace) -> Read:
        _states(trace)
        base = embedding(other or trace, _states(other or trace)).detach()

        def read(output: Any) -> Tensor:
            vector = embedding(trace, states_of(trace, output))
            return torch.cosine_similarity(vector, base, dim=0) if other is None else compared(trace, vector, base)

        return read

    def reading(trace: Trace) -> sources.Reading:
        embedder, states = embedder_of(trace), _states(trace).double()
        if why := embedder.why_no_sum(function(trace)):
            raise InputError(f"this similarity is no sum of parts: {why}")
        base, vector = (embedding(text, _states(text).double()).double() for text in (other or trace, trace))
        if function(trace) == "cosine":
            base = base / base.norm() / vector.norm()
        rows, constant = embedder.rows(states, base.detach())
        tokens = torch.arange(len(states), device=states.device)
        return sources.Reading(trace.n_layers, tokens, torch.ones_like(rows[:, 0]), rows[:, None], constant[None])

    if other is not None and not isinstance(other, Trace):
        raise InputError(f"similarity is with another trace, not with {type(other).__name__}: trace the other text")
    named = "the embedding before" if other is None else quotation((other.text or "")[:24])
    unit = "cosine" if other is None or other.model is None else UNITS[embedder_of(other).function]
    return Metric(f"similarity with {named}", unit, bind, flat=other is None, reading=reading)


def _states(trace: Trace) -> Tensor:
    """(S, D) the last hidden states. Raises ModelError for a model that answers with something else, or no model."""
    output = trace.record.output
    if trace.model is not None and trace.model.why_no_answer:
        raise ModelError(trace.model.why_no_answer)
    if trace.model is None or trace.model.embedder.output_name not in output:
        raise ModelError(f"{trace.model_name} gives no hidden states as its answer: {_ways(kind_of(trace))}")
    return states_of(trace, output)


def divergence(position: int | None = None) -> Metric:
    """KL(before ‖ after) of the answer, in nats ≥ 0: of the words at a mask, or of the classes.

    position: a mask of several, or a token of token classifiers. Raises ModelError, once it is used on a run, where the
    model gives no one distribution, SelectionError for a position that is not there.
    """

    def bind(trace: Trace) -> Read:
        kind = kind_of(trace)
        if kind == "words":
            readout = _word(trace, position, lambda x, number: x)
        elif kind == "labels" and position is None and one_of(trace):
            readout = lambda output: output.logits[0]  # noqa: E731
        elif kind == "tags" and position is not None and one_of(trace):
            check_index(position, trace.n_tokens, "position")
            readout = lambda output: output.logits[0, position]  # noqa: E731
        else:
            raise ModelError(f"{trace.model_name} gives no one distribution to compare: {_ways(kind)}")
        base = readout(trace.record.output).detach().double().log_softmax(-1)

        def read_divergence(output: Any) -> Tensor:
            return (base.exp() * (base - readout(output).double().log_softmax(-1))).sum()

        return read_divergence

    def at(trace: Trace) -> int | None:
        return _position(trace, position) if kind_of(trace) == "words" else position

    return Metric("KL(before ‖ after)", "nats", bind, flat=True, at=at)


def is_flat(metric: Metric | Read, trace: Trace) -> TypeGuard[Metric]:
    """Whether the metric is at its extreme in this run, where every slope is 0: no change changes anything."""
    is_changed = any(change.touches(layer) for change in trace.changes for layer in range(trace.n_layers))
    return isinstance(metric, Metric) and metric.flat and not is_changed


def bound(metric: Metric | Read, trace: Trace) -> Read:
    """The metric as a function of outputs. Raises InputError for what is none, ModelError where the model has none."""
    if isinstance(metric, Metric):
        check_rerun(trace)
        return metric.bind(trace.original)
    if not callable(metric):
        raise InputError(
            "metric is one of whatif.logit, probability, difference, label, similarity, divergence, or a function of "
            f"the model's output, not {type(metric).__name__}"
        )

    def read(output: Any) -> Tensor:
        value: Any = metric(output)
        try:
            number = value if isinstance(value, Tensor) else torch.as_tensor(value, device="cpu")
        except (TypeError, ValueError, RuntimeError):
            raise InputError(f"the metric gives {type(value).__name__}, not a number: return one") from None
        if number.numel() != 1:
            raise InputError(f"the metric gives {number.numel()} numbers, not one: reduce them")
        if number.is_complex():
            raise InputError("the metric gives a complex number: return its real part or its length")
        return number.squeeze()

    return read


def row_of(output: Any, row: int) -> Any:
    """The output object of one text of a batch whose texts are of one length, as a view: what metrics read."""

    def part(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(part(item) for item in value)
        return value[row : row + 1] if isinstance(value, Tensor) and value.ndim else value

    return type(output)(**{name: part(value) for name, value in output.items()})


def _word(trace: Trace, position: int | None, read: Callable[[Tensor, Callable[[str | int], int]], Tensor]) -> Read:
    """`read` is given the (V,) logits at the mask, and what makes a token's number of its name there."""
    at = _position(trace, position)
    number = partial(token_id, trace, position=at)
    return lambda output: read(words_of(output)[0, at], number)


def _reading(trace: Trace, position: int | None, token: str | int, rival: str | int | None = None) -> sources.Reading:
    at = _position(trace, position)
    number = partial(token_id, trace, position=at)
    return sources.logit(trace, at, number(token), None if rival is None else number(rival)).reading


def _position(trace: Trace, position: int | None) -> int:
    kind = kind_of(trace)
    if kind != "words" and not is_sparse(trace):
        raise ModelError(f"{trace.model_name} predicts no words: {_ways(kind)}")
    if position is not None:
        check_index(position, trace.n_tokens, "position")
        return int(position)
    positions = masked(trace)
    if len(positions) > 1:
        raise InputError(f"{len(positions)} tokens are masked: pass position=, one of {positions}")
    return positions[0]


def token_id(trace: Trace, token: str | int, position: int) -> int:
    """A token of the vocabulary at a position, by its name there (`answer_words`) or its id."""
    if not isinstance(token, str):
        check_index(token, trace.borrowed.vocabulary_size, "token")
        return int(token)
    number = word_number(trace, token, position)
    if number is None:
        raise InputError(phrases.NO_SINGLE_TOKEN.format(name=isolate(repr(token))))
    return number


def _ways(kind: str) -> str:
    ways = {
        "words": "use whatif.logit, probability, difference or divergence",
        "labels": "use whatif.label or divergence",
        "tags": "use whatif.label or divergence, with position=",
        "span": "pass a function of its output, such as lambda output: output.start_logits[0, 3]",
        "similarity": "use whatif.similarity",
    }
    return ways[kind]
