"""What the model itself answers: words at masks, labels, a span, or the similarity of two texts.

Which of them follows from the class of the model. Layer by layer it is the model's own head on each layer's output, the
"logit lens" (nostalgebraist 2020): raw, since the head was trained on the last layer alone, and for a word that is not
masked it names the word itself at nearly every layer (Kao et al. 2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..base.dataframes import pd
from ..base.quotes import quotation
from ..base.vocabulary import phrases
from ..errors import ModelError, SelectionError, check_index
from ..model.class_names import class_names
from ..model.embedding import SIMILARITIES, Embedder
from ..run.changes import Change, Cut, Dim, Hide
from ..run.forward import output_of
from ..run.interventions import Run, wrapped
from ..text.pair_positions import pair_positions
from ..trace.checks import check_finite
from ..trace.trace import Trace
from .answer_words import namer
from .largest import largest

Row = tuple[Any, ...]
UNITS = {"cosine": "cosine", "dot": "dot product", "euclidean": "−distance", "manhattan": "−distance"}
NO_ANSWER = "it has no answer"
COLUMNS = ("position", "layer", "rank", "token", "logit", "probability")
KINDS = {  # class of the model, at its end -> what it answers
    "ForMaskedLM": "words",
    "ForPreTraining": "words",
    "ForSequenceClassification": "labels",
    "ForTokenClassification": "tags",
    "ForQuestionAnswering": "span",
}


def kind_of(trace: Trace) -> str:
    """words, labels, tags, span, or similarity for an encoder without a head. Raises ModelError for other models."""
    if trace.model is None:
        raise ModelError("this trace was made from attention weights: there is no model to answer")
    if trace.model.why_no_answer:
        raise ModelError(trace.model.why_no_answer)
    if is_sparse(trace):
        return "similarity"
    names = [type(module).__name__ for module in trace.model.runner.modules()]
    for ending, kind in KINDS.items():
        if any(name.endswith(ending) for name in names):
            if kind != "words" or words_of(trace.record.output) is not None:
                return kind
            break
    if getattr(trace.record.output, "last_hidden_state", None) is not None:
        return "similarity"
    raise ModelError(
        f"{type(trace.model.runner).__name__} gives an answer that is not read here: masked language models, "
        "classifiers of texts and tokens, question answering and encoders are"
    )


def is_sparse(trace: Trace) -> bool:
    """Whether the model is the masked language model of a sparse encoder, whose logits are made a vector."""
    return trace.model is not None and trace.model.embedder.output_name == "logits"


def masked(trace: Trace) -> list[int]:
    """Positions of mask tokens. Raises ModelError where the text has none."""
    mask = getattr(trace.borrowed.tokenizer, "mask_token_id", None)
    if mask is None:
        raise ModelError(phrases.NO_MASK_TOKEN.format(model=trace.model_name))
    positions = (trace.input_ids == mask).nonzero()[:, 0].tolist()
    if not positions:
        raise ModelError(phrases.NOTHING_MASKED.format(mask=trace.borrowed.tokenizer.mask_token))
    return [int(position) for position in positions]


def words_of(output: Any) -> Any:
    """(1, S, V) logits over the vocabulary, of a model's output; None where there are none, as of a discriminator."""
    logits = output.get("prediction_logits", output.get("logits"))
    return logits if logits is not None and logits.ndim == 3 else None


def labels_of(trace: Trace) -> list[str]:
    """The names of the classes, in the order of the logits."""
    config: Any = trace.borrowed.base.config
    return class_names(config, int(trace.record.output.logits.shape[-1]))


def is_lone(trace: Trace) -> bool:
    """Whether the answer is one number without a name of its own, as a regression and most cross-encoders have it."""
    return labels_of(trace) == ["LABEL_0"]


def chances(trace: Trace, logits: Tensor) -> Tensor | None:
    """(..., C) float64 probabilities of classes in [0, 1] from their logits; None of a regression or a single output.

    The softmax, or where the model was trained for several labels at once the logistic of each, as it is of the score
    of a cross-encoder that has it for its activation.
    """
    if one_of(trace):
        return logits.double().softmax(-1)
    several = getattr(trace.borrowed.base.config, "problem_type", None) == "multi_label_classification"
    return logits.double().sigmoid() if several or type(trace.borrowed.activation) is torch.nn.Sigmoid else None


def classes(trace: Trace, *outputs: Any) -> tuple[str, list[Tensor]]:
    """The unit of a classifier's answers, and they themselves in each of its outputs, (C,) float64.

    "score": of a cross-encoder, its activation applied; "probability" where there are some; else "logit".
    """
    if (activation := trace.borrowed.activation) is not None:
        return "score", [activation(output.logits)[0].double() for output in outputs]
    logits = [output.logits[0].double() for output in outputs]
    probabilities = [chance for row in logits if (chance := chances(trace, row)) is not None]
    return ("probability", probabilities) if probabilities else ("logit", logits)


def one_of(trace: Trace) -> bool:
    """Whether a classifier's outputs are one distribution over its classes."""
    problem = getattr(trace.borrowed.base.config, "problem_type", None)
    return problem not in ("multi_label_classification", "regression") and trace.record.output.logits.shape[-1] > 1


def predictions(trace: Trace, k: int = 5, layer: int | str | None = None) -> pd.DataFrame:
    """DataFrame(position, layer, rank, token or label, logit, probability), one row per answer, the best first.

    Masked language models: the k likeliest tokens at each mask as people write them, so that `whatif.logit` takes them;
    probability is the softmax over the vocabulary.
    Classifiers of texts: at most k labels, position -1; the probability is the softmax over the labels, where the model
    was trained for several labels at once the logistic of each, NaN for a regression or a single output. Classifiers of
    tokens: at most k labels at each token of the text, with the same. Question answering: the k best spans within the
    second text (the only one, where there is one), "token" is the span's tokens, position its first; logit = start +
    end, probability = the product of both softmaxes. Encoders without a head: one row for a pair of texts, each traced
    alone: label "cosine similarity (mean of all tokens)", logit the number, probability NaN. Of a SentenceTransformer
    vectors and similarity function are its own, and the label names the function.

    layer: None is the answer itself, said of the last layer; a number puts the model's own head on that layer's output
    as it is ("raw"), "all" does so for every layer. rank counts from 0.
    Raises ModelError where the model gives no such answer, and where the run has NaN or Inf; SelectionError for a layer
    or k that does not exist.
    """
    kind = kind_of(trace)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise SelectionError(f"k {str(k)[:40]} is not a number of answers: choose 1 or more")
    reader = _READ[kind]
    requirements(trace)
    rows = [
        (position, trace.n_layers - 1 if number is None else number, rank, *answer)
        for number in ([None] if layer is None else _layers(trace, layer))
        for position, rank, *answer in reader(trace, number, k)
    ]
    named = "token" if kind in ("words", "span") else "label"
    return pd.DataFrame(rows, columns=[named if name == "token" else name for name in COLUMNS])


def output_at(trace: Trace, layer: int | None) -> Any:
    """The model's output (None), or what it were if the given layer were its last: what is behind the layers, on its
    output. Final norms, poolers and heads are those of the model.

    Raises ModelError for a family without an adapter, and where the weights have changed.
    """
    if layer is None:
        return trace.record.output
    trace.layer_output(layer)  # says why there is none
    trace.check_unchanged()
    model = trace.borrowed
    inputs = trace.inputs()
    watched = Run(watch=True)
    output_of(model, inputs, watched)
    state = trace.record.layers[layer].layer_output
    assert state is not None
    # only the last layer's output is read by what follows: before it, anything of its shape may stand
    run = Run([()], trace.n_layers, [state[None]] * trace.n_layers, wrapped(watched.outputs))
    return output_of(model, inputs, run)


def states_of(trace: Trace, output: Any) -> Tensor:
    """(S, D) what a text's vector is made of, in the model's output for it: see `model.embedding.Embedder`."""
    return trace.borrowed.states(output)[0]


def embedding(trace: Trace, states: Tensor) -> Tensor:
    """(E,) a text's vector from its states (S, D), by the pooling of the model's owner.

    A SentenceTransformer's is its own; of another encoder it is the mean of all tokens (`model.embedding.Means`).
    """
    return embedder_of(trace).vector(states)


def compared(trace: Trace, one: Tensor, other: Tensor) -> Tensor:
    """0-d the similarity of vectors, one and other: of a SentenceTransformer by its own function, else the cosine."""
    return embedder_of(trace).compare(one, other)


def embedder_of(trace: Trace) -> Embedder:
    """What makes a vector of a run's states: the encoder's own pooling, or the mean of all tokens."""
    return trace.borrowed.embedder


def requirements(trace: Trace) -> None:
    """Raises the ModelError that `predictions` would raise, before any work."""
    kind = kind_of(trace)
    if kind == "words":
        masked(trace)
    elif kind == "similarity":
        _check_apart(trace)
    check_finite(trace, NO_ANSWER)


def _check_apart(trace: Trace) -> None:
    if not trace.text_pair or trace.text is None or trace.lens is None:
        raise ModelError(
            f"{trace.model_name} has no head that answers: trace a pair of texts with a Lens, and their similarity "
            "is its answer"
        )
    for change in trace.changes:
        if all(counterpart is None for counterpart in change_apart(trace, change)):
            raise ModelError(
                f"{quotation(change)} is about tokens that are not together when each text is read alone, as it is for "
                "their similarity: trace them apart"
            )


def texts_apart(trace: Trace) -> tuple[Trace, Trace]:
    """The two texts of a pair, each traced alone, with the changes of the pair's run (`change_apart`).

    Raises ModelError for a trace of one text, without a lens, and for a change that neither text alone can have.
    """
    _check_apart(trace)
    return _apart(trace)


def changes_apart(trace: Trace) -> tuple[list[Change], list[Change]]:
    """The changes of a pair's run as each of its texts alone has them."""
    pairs = [change_apart(trace, change) for change in trace.changes]
    return [a for a, _ in pairs if a is not None], [b for _, b in pairs if b is not None]


def change_apart(trace: Trace, change: Change) -> tuple[Change | None, Change | None]:
    """A change of a pair's run in each of its texts alone, None where the text has not the tokens that it names.

    What is done to a part of the model is done in both; a cut or a hidden token where the text has these tokens too
    (`pair_positions`): [CLS] in both. What is taken from another run or given for the pair is in neither.
    """
    if not change.names_tokens:
        return change, change
    if not isinstance(change, Cut | Dim | Hide):
        return None, None
    original = trace.original
    named = [name for name in ("query", "key", "token") if getattr(change, name, None) is not None]
    counterparts: list[Change | None] = []
    for number, text in enumerate(_apart(original)):
        places = pair_positions(original.encoding, text.encoding, number)
        fields: dict[str, Any] = {name: places.get(getattr(change, name)) for name in named}
        counterparts.append(None if None in fields.values() else replace(change, **fields))
    return counterparts[0], counterparts[1]


def _apart(trace: Trace) -> tuple[Trace, Trace]:
    texts = trace.kept("apart", lambda: _traced_apart(trace))
    assert texts[0].fingerprint is not None and trace.fingerprint is not None
    if texts[0].fingerprint.contents != trace.fingerprint.contents:  # the model was another for a while
        texts = _traced_apart(trace)
    return texts


def _traced_apart(pair: Trace) -> tuple[Trace, Trace]:
    if pair.changes:
        a, b = (text.rerun(*changes) for text, changes in zip(_apart(pair.original), changes_apart(pair), strict=True))
        return a, b
    assert pair.lens is not None and pair.text is not None and pair.text_pair is not None
    return pair.lens.trace(pair.text), pair.lens.trace(pair.text_pair)


def _layers(trace: Trace, layer: int | str) -> list[int]:
    if isinstance(layer, str):
        if layer != "all":
            raise SelectionError(f"layer {layer[:40]!r} does not exist: choose a number, 'all', or None for the answer")
        return list(range(trace.n_layers))
    check_index(layer, trace.n_layers, "layer")
    return [layer]


def _words(trace: Trace, layer: int | None, k: int) -> list[Row]:
    logits = words_of(output_at(trace, layer))[0]
    rows: list[Row] = []
    for position in masked(trace):
        at = logits[position]
        rows += _best(position, at, at.double().softmax(-1), k, namer(trace, position))
    return rows


def _best(position: int, logits: Tensor, chance: Tensor | None, k: int, name: Callable[[int], str]) -> list[Row]:
    places, values = largest(logits.double(), min(k, len(logits)))
    return [
        (position, rank, name(index), float(value), math.nan if chance is None else float(chance[index]))
        for rank, (value, index) in enumerate(zip(values, places.tolist(), strict=True))
    ]


def _labels(trace: Trace, layer: int | None, k: int) -> list[Row]:
    names, logits = labels_of(trace), output_at(trace, layer).logits[0]
    return _best(-1, logits, chances(trace, logits), k, names.__getitem__)


def _tags(trace: Trace, layer: int | None, k: int) -> list[Row]:
    names, logits = labels_of(trace), output_at(trace, layer).logits[0]
    text = (~trace.special_mask).nonzero()[:, 0].tolist()
    return [row for at in text for row in _best(at, logits[at], chances(trace, logits[at]), k, names.__getitem__)]


def _span(trace: Trace, layer: int | None, k: int) -> list[Row]:
    output = output_at(trace, layer)
    start, end = output.start_logits[0].double(), output.end_logits[0].double()
    segment = 1 if bool((trace.segments == 1).any()) else 0
    inside = (trace.segments == segment) & ~trace.special_mask
    allowed = (inside[:, None] & inside[None]).triu()
    summed = (start[:, None] + end[None]).masked_fill(~allowed, -torch.inf).flatten()
    chance = start.softmax(-1), end.softmax(-1)
    rows = []
    for rank, index in enumerate(largest(summed, min(k, int(allowed.sum())))[0].tolist()):
        i, j = divmod(index, trace.n_tokens)
        words = " ".join(trace.display_tokens[i : j + 1])
        rows.append((i, rank, words, float(summed[index]), float(chance[0][i] * chance[1][j])))
    return rows


def _similarity(trace: Trace, layer: int | None, k: int) -> list[Row]:
    vectors = [embedding(text, states_of(text, output_at(text, layer)).double()) for text in texts_apart(trace)]
    embedder = embedder_of(trace)
    label = SIMILARITIES[embedder.function] + (f" ({embedder.note})" if embedder.note else "")
    return [(-1, 0, label, float(embedder.compare(*vectors).detach()), float("nan"))]


_READ: dict[str, Callable[[Trace, int | None, int], list[Row]]] = {
    "words": _words,
    "labels": _labels,
    "tags": _tags,
    "span": _span,
    "similarity": _similarity,
}
