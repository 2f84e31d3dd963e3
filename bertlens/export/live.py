"""What a live page carries beside an exported one: the model's weights and its tokenizer, so that a text that a reader
types is run in the page by js/src/engine.

The engine is a bundle of its own. A part of the weights stands in an element of its own and is taken out of the page
once it is read. What its rounding changes is measured on the page's own text while it is written, and said on it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..base.wire import pack
from ..errors import BertLensError, ExportError
from ..lens import Lens
from ..model.borrowed import Model
from ..model.licence import licence
from ..trace.provenance import visible
from ..trace.trace import Trace
from ..whatif import answers
from . import heads, weights
from .deflate import carried

LIMIT = 150_000_000  # bytes of the weights in a page
_PIECE = 500_000  # numbers by which the whole is known
_REST = 1_300_000  # bytes of a page beside its weights, about
_NOTICE = "Texts are read by @huggingface/tokenizers, which is under the Apache License 2.0, as bertlens is."
READ = {  # kinds of tokenizers, by the steps of normalizer, pre-tokenizer and model: BERT's, RoBERTa's, XLM-R's
    ("BertNormalizer", "BertPreTokenizer", "WordPiece"),
    ("", "ByteLevel", "BPE"),
    ("Precompiled", "WhitespaceSplit+Metaspace", "Unigram"),
    ("Replace+Replace+NFKD+StripAccents+Lowercase+Precompiled", "WhitespaceSplit+Metaspace", "Unigram"),  # ALBERT's
}
RARE = "Rare characters may be read in another way here than in Python."  # of the last two
_SAID = "The model is {} this page: it is loaded when the page is whole."


@dataclass(frozen=True)
class Live:
    """A model that a page carries. about: what the engine has to know of it, plain JSON; digits: what the rounding of
    its weights changes, one sentence; credits: whose what the page carries is, sentences; said: what the page says
    first; parts: each part of the weights as the page reads it, made when it is read."""

    about: Mapping[str, Any]
    digits: str
    credits: tuple[str, ...]
    said: str
    parts: Iterator[dict[str, Any]]


def live(trace: Trace, small: bool = False, hosted: bool = False, others: Sequence[Trace] = ()) -> Live:
    """The model of a trace, for a page of this trace. small: vectors of words in 8 bits (`weights`). hosted: the
    weights are to stand beside the page. others: runs of its other texts, on which the rounding is measured too.

    Raises ExportError where a page cannot run it, or the run is a changed one.
    """
    if trace.lens is None or trace.model is None:
        raise ExportError("this view was made from attention maps: it has no model that a page could carry")
    if trace.changes:
        raise ExportError("a live page starts from the unchanged run: save trace.original.explore() with live=True")
    weights.check(trace.model)
    if (size := _bytes(trace, small) * 4 // 3) > LIMIT and not hosted:
        raise ExportError(
            f"the weights take about {size / 1e6:.0f} MB, a page carries {LIMIT // 10**6} MB: put them beside it, "
            "bl.classroom(lens).to_html(folder, hosted=True) or bertlens classroom --hosted FOLDER"
        )
    answer = heads.head(trace, small)
    tokenizer = trace.model.tokenizer
    files = tokenizer_files(tokenizer)
    is_mapped = "Precompiled" in _steps(files["file"]["normalizer"])
    assert trace.model is not None
    runs, rounded = (trace, *others), Lens(weights.rounded(trace.model, small), tokenizer)
    both = [(run, rounded.run([run.encoding])[0]) for run in runs]
    apart = max(_apart(*two) for two in both)
    answered = [found for two in both if (found := _answers_apart(*two)) is not None]
    digits = _digits(apart, max(answered, default=None), small, len(runs)) + (f" {RARE}" if is_mapped else "")
    about = {
        "shape": weights.shape(trace.model) | {"head": answer.about.get("stages", [])},
        "answer": answer.about,
        "tokenizer": _text(files),
        "vocabulary": {
            "unknown": tokenizer.unk_token,
            "mask": tokenizer.mask_token or "",
            "separator": tokenizer.sep_token,
            "specials": list(tokenizer.all_special_ids),
        },
        "digits": digits,
        "decimals": _decimals(apart),
    }
    credits = _credits(trace.model, trace.lens.made)
    said = _SAID.format("beside" if hosted else "in")
    return Live(about, digits, credits, said, _parts(trace, small, answer))


@dataclass(frozen=True)
class Cost:
    """What a live page will take, about."""

    size: int  # bytes
    seconds: float


def cost(trace: Trace, small: bool = False, hosted: bool = False) -> Cost:
    """From pieces of the weights, of words and of a layer. Raises ExportError where a page cannot run the model."""
    assert trace.model is not None
    weights.check(trace.model)
    first = islice(weights.parts(trace.model, small), 2)
    pieces = [max(part.values(), key=lambda array: array.nbytes).reshape(-1)[:_PIECE] for part in first]
    start = time.perf_counter()
    packed = [pack({"piece": piece}) for piece in pieces]
    of_words, of_layers = (len(carried(blob, index)["$bytes"]) / len(blob) for index, blob in packed)
    speed = sum(len(blob) for _, blob in packed) / (time.perf_counter() - start)
    size, words = _bytes(trace, small), trace.model.embedding.weight.numel() * (1 if small else 2)
    held = (words * of_words + (size - words) * of_layers) * (3 / 4 if hosted else 1)
    return Cost(int(held) + _REST, 3 + 4 * size / speed)


def _bytes(trace: Trace, small: bool) -> int:
    """Of the weights, about."""
    assert trace.model is not None
    numbers = sum(p.numel() for p in trace.model.runner.parameters())
    return 2 * numbers - (trace.model.embedding.weight.numel() if small else 0)


def _parts(trace: Trace, small: bool, answer: heads.Head) -> Iterator[dict[str, Any]]:
    assert trace.model is not None
    for arrays in (*weights.parts(trace.model, small), *([answer.arrays] if answer.arrays else [])):
        index, blob = pack(arrays)
        yield {"index": index, "data": carried(blob, index)}


def _credits(model: Model, made: str) -> tuple[str, ...]:
    stated = visible(licence(model.base.config, made)) or "not stated"
    return f"The model is {visible(model.name)}; licence: {stated}.", _NOTICE


def _apart(trace: Trace, same: Trace) -> float:
    """How far attention of two runs of a text is apart, at most."""
    layers = range(trace.n_layers)
    return max(float((same.attention(layer) - trace.attention(layer)).abs().max()) for layer in layers)


def _answers_apart(trace: Trace, same: Trace) -> float | None:
    """How far two runs' answers are apart, of words and classes that both name; None where there are none."""
    try:
        own, other = answers(trace), answers(same)
    except BertLensError:
        return None
    if own.kind not in ("words", "labels", "tags") or own.unit != other.unit:
        return None
    numbers = {(row.position, row.name): row.after for row in other.rows}
    found = [abs(row.after - numbers[name]) for row in own.rows if (name := (row.position, row.name)) in numbers]
    return max(found, default=None)


def _digits(apart: float, answer: float | None, small: bool, texts: int) -> str:
    kept = "vectors of words in 8 bits and other weights in 15" if small else "weights of 16 bits"
    more = "" if answer is None else f", the model’s answer by at most {_upwards(answer)}"
    on = "On the text that was saved" if texts == 1 else f"On the {texts} texts of this page"
    return f"{on}, {kept} move attention by at most {_upwards(apart)}{more}."


def _decimals(apart: float) -> int:
    """Of a weight on the page, from 1 to 3: the last one moves by at most two."""
    return 3 if apart <= 2e-3 else max(1, math.floor(-math.log10(apart / 2)))


def _upwards(value: float) -> str:
    """A number rounded up to one digit."""
    if value == 0:
        return "0"
    step = 10.0 ** math.floor(math.log10(value))
    return f"{math.ceil(value / step) * step:.1g}"


def tokenizer_files(tokenizer: Any) -> dict[str, Any]:
    """Its file, without the padding and truncation that are set at the moment. Raises ExportError for other kinds."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    file = json.loads(backend.to_str()) if backend is not None else {}
    if tuple("+".join(_steps(file.get(name))) for name in ("normalizer", "pre_tokenizer", "model")) not in READ:
        raise ExportError("a page does not read texts as this model's tokenizer does: save it without live")
    types = "token_type_ids" in tokenizer.model_input_names
    return {"file": {**file, "padding": None, "truncation": None}, "config": {}, "types": types}


def _steps(part: dict[str, Any] | None) -> list[str]:
    """The kinds of a part's steps."""
    inner = (part or {}).get("normalizers") or (part or {}).get("pretokenizers")
    return [str(part["type"])] if part and inner is None else [str(one["type"]) for one in inner or ()]


def _text(value: Any) -> dict[str, Any]:
    blob = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return carried(blob, ())
