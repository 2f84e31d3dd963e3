"""What a live page carries beside an exported one: the model's weights and its tokenizer, so that a text that a reader
types is run in the page by js/src/engine.

The engine is a bundle of its own. A part of the weights stands in an element of its own and is taken out of the page
once it is read. How far it is from the model itself is measured while it is written (`accuracy`), and said on it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ..base.wire import pack
from ..errors import ExportError
from ..model.borrowed import Model
from ..model.licence import licence
from ..text.display import unknown_id
from ..trace.checks import check_finite
from ..trace.provenance import visible
from ..trace.trace import Trace
from . import page_heads, page_weights
from .accuracy import NOT_COMPARED, accuracy
from .carried_rows import CarriedRows
from .deflate import carried
from .page_tokenizer import RARE, maps_characters, tokenizer_files

LIMIT = 150_000_000  # bytes of the weights in a page
CLASS_BESIDE = "bl.classroom(lens).to_html(folder, hosted=True) or bertlens classroom --hosted FOLDER"
_PIECE = 500_000  # numbers by which the whole is known
_REST = 1_300_000  # bytes of a page beside its weights, about
_NOTICE = "Texts are read by @huggingface/tokenizers, which is under the Apache License 2.0, as bertlens is."
SAID = "The model is {} this page: it is loaded when the page is whole."


@dataclass(frozen=True)
class Live:
    """A model that a page carries. about: what the engine has to know of it, plain JSON; digits: how far it is from the
    model itself, one sentence; credits: whose what the page carries is, sentences; said: what the page says first;
    licence: "" where the model states none; parts: each of the weights as the page reads it, made when it is read."""

    about: Mapping[str, Any]
    digits: str
    credits: tuple[str, ...]
    said: str
    licence: str
    parts: Iterator[dict[str, Any]]


def check(
    trace: Trace,
    small: bool = False,
    hosted: bool = False,
    beside: str = CLASS_BESIDE,
    rows: CarriedRows | None = None,
) -> None:
    """Raises as `live`, before the weights are packed. beside: the call that puts them beside the page."""
    if trace.lens is None or trace.model is None:
        raise ExportError("this view was made from attention maps: it has no model that a page could carry")
    if trace.changes:
        raise ExportError(
            "a live page starts from the unchanged run: undo the changes first, or save trace.original.explore() with "
            "live=True"
        )
    page_weights.check(trace.model)
    tokenizer_files(trace.model.tokenizer)
    check_finite(trace, NOT_COMPARED, ExportError)
    if (size := _bytes(trace, small, rows) * 4 // 3) > LIMIT and not hosted:
        raise ExportError(
            f"the weights take about {size / 1e6:.0f} MB, a page carries {LIMIT // 10**6} MB: put them beside it, "
            f"{beside}"
        )


def live(
    trace: Trace,
    small: bool = False,
    hosted: bool = False,
    others: Sequence[Trace] = (),
    rows: CarriedRows | None = None,
) -> Live:
    """The model of a trace, for a page of this trace. small: vectors of words in 8 bits (`weights`). hosted: the
    weights are to stand beside the page. others: runs of its other texts, on which its accuracy is measured too. rows:
    of which pieces the vectors are carried, where not of all; of a model in four bits, in the small form.

    Raises ExportError where a page cannot run it, or the run is a changed one.
    """
    check(trace, small, hosted, rows=rows)
    answer = page_heads.head(trace, small)
    precision = accuracy((trace, *others), answer, small, rows)
    digits = precision.digits if rows is None else f"{precision.digits} {rows.said}"
    model = carried_model(trace, answer, digits, small, hosted, rows)
    return replace(model, about={**model.about, "decimals": precision.decimals})


def carried_model(
    trace: Trace,
    answer: page_heads.Head,
    digits: str,
    small: bool = False,
    hosted: bool = False,
    rows: CarriedRows | None = None,
) -> Live:
    """`live`, where what the answer is of and how far the page is from the model are known."""
    assert trace.lens is not None and trace.model is not None
    tokenizer = trace.model.tokenizer
    files = tokenizer_files(tokenizer)
    digits += f" {RARE}" if maps_characters(files["file"]) else ""
    about = {
        "shape": page_weights.shape(trace.model) | {"head": answer.about.get("stages", [])},
        "answer": answer.about,
        "tokenizer": _text(files),
        "vocabulary": {
            "unknown": unknown_id(tokenizer),
            "mask": tokenizer.mask_token or "",
            "separator": tokenizer.sep_token,
            "specials": list(tokenizer.all_special_ids),
        },
        "digits": digits,
        "partial": rows is not None,
    }
    stated = visible(licence(trace.model.base.config, trace.lens.made))
    credits = f"The model is {visible(trace.model.name)}; licence: {stated or 'not stated'}.", _NOTICE
    sentence = SAID.format("beside" if hosted else "in")
    return Live(about, digits, credits, sentence, stated, part_pieces(_arrays(trace.model, small, answer, rows)))


@dataclass(frozen=True)
class Cost:
    """What a live page will take, about."""

    size: int  # bytes
    seconds: float


def cost(trace: Trace, small: bool = False, hosted: bool = False, rows: CarriedRows | None = None) -> Cost:
    """From pieces of the weights, of words and of a layer. Raises ExportError where a page cannot run the model."""
    page_weights.check(trace.borrowed)
    blocks = islice(page_weights.parts(trace.borrowed, small), 2)
    pieces = [max(arrays.values(), key=lambda array: array.nbytes).reshape(-1)[:_PIECE] for arrays in blocks]
    start = time.perf_counter()
    packed = [pack({"piece": piece}) for piece in pieces]
    of_words, of_layers = (len(carried(blob, index)["$bytes"]) / len(blob) for index, blob in packed)
    speed = sum(len(blob) for _, blob in packed) / (time.perf_counter() - start)
    size, words = _bytes(trace, small, rows), _numbers(trace, rows) * (1 if small else 2)
    total = (words * of_words + (size - words) * of_layers) * (3 / 4 if hosted else 1)
    return Cost(int(total) + _REST, 3 + 4 * size / speed)


def _numbers(trace: Trace, rows: CarriedRows | None) -> int:
    """Of the vectors of words that are carried."""
    weight = trace.borrowed.embedding.weight
    return weight.numel() if rows is None else rows.count * weight.shape[1]


def _bytes(trace: Trace, small: bool, rows: CarriedRows | None = None) -> int:
    """Of the weights before they deflate, about."""
    words = _numbers(trace, rows)
    layer_size = sum(p.numel() for p in trace.borrowed.runner.parameters()) - trace.borrowed.embedding.weight.numel()
    if small and page_weights.is_in_four_bits(trace.borrowed):
        return words + layer_size
    return 2 * layer_size + words * (1 if small else 2)


def _arrays(
    model: Model, small: bool, answer: page_heads.Head, rows: CarriedRows | None = None
) -> Iterator[dict[str, Any]]:
    yield from page_weights.parts(model, small, None if rows is None else rows.carried)
    if answer.arrays:
        yield answer.arrays


def part_pieces(parts: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Arrays by name, part by part, as a page reads them."""
    for arrays in parts:
        index, blob = pack(arrays)
        yield {"index": index, "data": carried(blob, index)}


def _text(value: Any) -> dict[str, Any]:
    blob = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return carried(blob, ())
