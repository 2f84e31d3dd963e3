"""How far a page that runs its model is from the model itself: measured with the page's own arithmetic, on the texts
that it opens with and on drawn ones, since a reader types others, and said in one sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from ..errors import ExportError, ModelError
from ..lens import Lens
from ..measures.predictions import classes, masked, words_of
from ..measures.rows import blocks as row_blocks
from ..measures.rows import head_groups
from ..text.encoding import Encoding
from ..trace.checks import check_finite
from ..trace.trace import Trace
from . import page_arithmetic, page_weights
from .carried_rows import CarriedRows
from .page_heads import Head

LENGTHS = (8, 24, 64, 256)  # tokens of the drawn texts, as far as the model reads
NOT_COMPARED = "a page that runs the model has no numbers to be compared with"
MASKS = 16  # tokens from one mask to the next in them


@dataclass(frozen=True)
class Accuracy:
    """digits: one sentence; decimals: (tokens, decimals) pairs, of a weight in texts of up to so many tokens, the
    shortest first: from 1 to 3, and the last one moves by at most two."""

    digits: str
    decimals: list[tuple[int, int]]


def accuracy(traces: Sequence[Trace], head: Head, small: bool, rows: CarriedRows | None = None) -> Accuracy:
    """Of a page that opens with these texts. head: what it carries of the model's answer.

    Raises ExportError where a run has NaN or Inf: nothing is near to it.
    """
    model = traces[0].borrowed
    shape, blocks = page_weights.shape(model), page_weights.parts(model, small, None if rows is None else rows.carried)
    embeddings = next(blocks)
    random = _drawn(traces[0], shape["positions"], rows)
    texts = [*traces, *random]
    for trace in texts:
        check_finite(trace, NOT_COMPARED, ExportError)
    types = [trace.encoding.token_type_ids or [0] * trace.n_tokens for trace in texts]
    inputs = [(trace.encoding.input_ids, of_trace) for trace, of_trace in zip(texts, types, strict=True)]
    attention = [0.0] * len(texts)
    for layer, layer_of_texts in enumerate(page_arithmetic.layers(shape, chain([embeddings], blocks), inputs)):
        for n, (trace, run) in enumerate(zip(texts, layer_of_texts, strict=True)):
            attention[n] = max(attention[n], _gap(trace, layer, run))
    answers = [_answer(trace, run.stream, head, embeddings) for trace, run in zip(texts, layer_of_texts, strict=True)]
    count = len(traces)
    if small and page_weights.is_in_four_bits(model):
        precision = "weights in 4 bits, as the model has them,"
    else:
        precision = "vectors of words in 8 bits and other weights in 15" if small else "weights of 16 bits"
    subject = "the text that was saved" if count == 1 else f"the {count} texts of this page"
    longest = max(trace.n_tokens for trace in random)
    digits = (
        f"On {subject}, {precision} move {_moved(attention[:count], answers[:count])}; on {len(random)} texts of up to "
        f"{longest} tokens drawn from the vocabulary, {_moved(attention[count:], answers[count:])}."
    )
    lengths = sorted(zip((trace.n_tokens for trace in texts), attention, strict=True))
    largest = accumulate((moved for _, moved in lengths), max)
    return Accuracy(digits, [(tokens, _decimals(moved)) for (tokens, _), moved in zip(lengths, largest, strict=True)])


def _gap(trace: Trace, layer: int, run: page_arithmetic.LayerPass) -> float:
    """The largest difference of a weight of a layer, some rows at a time."""
    gap = 0.0
    for heads in head_groups(trace, layer):
        for start, key, weights in row_blocks(trace, layer, heads):
            gaps = run.weights(heads, slice(start, start + weights.shape[1]))
            gaps[..., key : key + weights.shape[2]] -= weights.double().cpu().numpy()
            gap = max(gap, float(np.abs(gaps).max()))
    return gap


def _decimals(moved: float) -> int:
    return 3 if moved <= 2e-3 else max(1, math.floor(-math.log10(moved / 2)))


def _drawn(trace: Trace, positions: int, rows: CarriedRows | None) -> list[Trace]:
    """Runs of tokens at random, the last of a pair."""
    lens, model = trace.lens, trace.model
    assert isinstance(lens, Lens) and model is not None
    tokenizer = model.tokenizer
    numbers = {*tokenizer.get_vocab().values()} - {*tokenizer.all_special_ids}
    carried = np.ones(model.vocabulary_size, bool) if rows is None else rows.carried
    tokens = sorted(token for token in numbers if token < len(carried) and carried[token])
    rng = np.random.default_rng(0)
    traces: list[Trace] = []
    for pair, length in (*((None, length) for length in LENGTHS), ("a", LENGTHS[-2])):
        encoding = _stretched(lens.encoding("a", pair), min(length, positions))
        ids = np.array(encoding.input_ids)
        (places,) = np.nonzero(~np.array(encoding.special))
        ids[places] = rng.choice(tokens, len(places))
        if tokenizer.mask_token_id is not None:
            ids[places[1::MASKS]] = tokenizer.mask_token_id
        traces += lens.run([replace(encoding, input_ids=tuple(ids.tolist()))])
    return traces


def _stretched(encoding: Encoding, length: int) -> Encoding:
    """With as many pieces as make it so long, each text's first again and again."""
    runs = [list(run) for _, run in groupby(range(len(encoding)), key=encoding.special.__getitem__)]
    texts = [run for run in runs if not encoding.special[run[0]]]
    pieces = (length - sum(encoding.special)) // max(1, len(texts))
    order = [at for run in runs for at in (run[:1] * pieces if run in texts else run)]
    names = ("input_ids", "tokens", "special", "segments", *(["token_type_ids"] if encoding.token_type_ids else []))
    fields: dict[str, Any] = {name: tuple(getattr(encoding, name)[at] for at in order) for name in names}
    return replace(encoding, **fields)


def _answer(trace: Trace, states: np.ndarray, head: Head, embeddings: page_arithmetic.Arrays) -> float | None:
    """How far the page's answer is from the model's: the largest difference of a word's or class's number. None where
    it computes no such, or the text has no mask."""
    kind, stages = head.about["kind"], head.about.get("stages")
    if not stages:
        return None
    if kind == "words":
        try:
            states = states[masked(trace)]
        except ModelError:
            return None
    elif kind == "labels":
        states = states[:1] if head.about["pooling"] == "first" else states.mean(0, keepdims=True)
    logits = torch.from_numpy(page_arithmetic.head(states, stages, head.arrays, embeddings)).to(trace.input_ids.device)
    if kind == "words":
        reference = words_of(trace.output)[0][masked(trace)]
        numbers = [x.double().softmax(-1) for x in (reference, logits)]
    else:
        _, numbers = classes(trace, trace.output, SimpleNamespace(logits=logits[None] if kind == "tags" else logits))
    return float((numbers[0] - numbers[1]).abs().max())


def _moved(attention: Sequence[float], answers: Sequence[float | None]) -> str:
    distances = [answer for answer in answers if answer is not None]
    ending = f", the model’s answer by at most {upwards(max(distances))}" if distances else ""
    return f"attention by at most {upwards(max(attention))}{ending}"


def upwards(value: float) -> str:
    """A number rounded up to one digit."""
    if value == 0:
        return "0"
    step = 10.0 ** math.floor(math.log10(value))
    return f"{float(f'{math.ceil(value / step) * step:.1g}'):g}"  # 20, not 2e+01
