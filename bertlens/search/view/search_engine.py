"""What a live page of a retrieval carries: the model, all passages and their vectors, for js/src/search/live.

A question that is typed there is ranked by its vector and those of the passages, all in 8 bits; the FIRST are scored
again from vectors in 16 bits. How far that is from Python's scores is measured here, and said on the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from ...base.amounts import verb
from ...errors import ExportError
from ...export import live, page_arithmetic, page_heads, page_weights
from ...export.accuracy import upwards
from ...sentences.late_interaction import LateEncoder
from ...sentences.sparse_encoder import SparseTextEncoder
from ...text.tokenizer import cut_side
from ...trace.trace import Trace
from ..exact_search import LEAST_NORM
from ..retrieval_run import Retrieval
from .collection_answers import FIRST, TEN

PASSAGES = 20_000
BESIDE = "r.to_html(folder, live=True, hosted=True)"
STEPS = 127 * 256  # of a row's largest number, in 16 bits; 127 of its upper byte
ZERO = 1 << 15
QUESTIONS = 16  # on which the page is measured


Pairs = Mapping[str, tuple[str, str] | None]


def search_engine(retrieval: Retrieval, pairs: Pairs, hosted: bool = False) -> live.Live:
    """pairs: the questions that the page lists, by id, with the passages of each one's case. hosted: the model is to
    stand beside the page.

    Raises ExportError where a page cannot rank as this model does, for more than PASSAGES, and past 150 MB in one file.
    """
    lens, collection = retrieval.lens, retrieval.collection
    _check(retrieval)
    trace = lens.trace(collection.queries[0], truncation=True)
    live.check(trace, hosted=hosted, beside=BESIDE)
    head = page_heads.head(trace)
    if head.about["kind"] != "vectors":
        raise ExportError(
            "a page ranks by the cosine of vectors that are the mean or the first of the last states, as they are, and "
            "this model has others: save it without live"
        )
    order = np.argsort(collection.passage_order)  # of one score by place
    assert retrieval.stages.vectors is not None
    rows = rounded(retrieval.stages.vectors.numbers(order))
    texts = json.dumps([collection.passages[row] for row in order], ensure_ascii=False).encode()
    size = (rows.nbytes + len(texts)) * 5 // 4
    if size > live.LIMIT and not hosted:
        raise ExportError(
            f"the passages take about {size / 1e6:.0f} MB, a page carries {live.LIMIT // 10**6} MB: put them beside "
            f"it, {BESIDE}"
        )
    digits = _measured(retrieval, trace, head, rows, order)
    model = live.carried_model(trace, head, digits.said, hosted=hosted)
    about = {**model.about, "search": _about(retrieval, trace, pairs, order)}
    parts = live.part_pieces([{"texts": np.frombuffer(texts, np.uint8)}, {"vectors": rows}])
    return replace(model, about=about, parts=chain(model.parts, parts))


def _check(retrieval: Retrieval) -> None:
    """Raises ExportError for what no page ranks."""
    encoder, count = retrieval.lens.sentences, len(retrieval.collection.passages)
    refusal = (
        "a cross-encoder scores pairs, and a page ranks by vectors: save the page of its first stage"
        if encoder.crosses
        else "late interaction has a vector for each token, and a page ranks by one for each passage"
        if isinstance(encoder, LateEncoder)
        else "a sparse encoder has weights of words, and a page ranks by dense vectors"
        if isinstance(encoder, SparseTextEncoder)
        else f"a page carries {PASSAGES:,} passages, this collection has {count:,}: rank a part of it"
        if count > PASSAGES
        else ""
    )
    if not refusal and any(encoder.read("a", task).left_out for task in ("query", "document")):
        refusal = "this model leaves its prompt out of the pooling, which a page does not"
    if refusal:
        raise ExportError(f"{refusal}, or save it without live")
    retrieval.check_model(whole=True)


def _about(retrieval: Retrieval, trace: Trace, pairs: Pairs, order: np.ndarray) -> dict[str, Any]:
    """Plain JSON, see About of js/src/search/live/session.ts. Passages are named by their place in `order`."""
    lens, collection = retrieval.lens, retrieval.collection
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    rows_of: dict[str, list[int]] = {}
    for row, document in enumerate(collection.documents):
        rows_of.setdefault(document, []).append(int(place[row]))
    queries = {name: at for at, name in enumerate(collection.query_ids)}
    cases = []
    place_of = {collection.passage_ids[row]: int(place[row]) for row in order}
    for name, pair in pairs.items():
        relevant = sorted(row for document in collection.relevant(queries[name]) for row in rows_of.get(document, ()))
        itself = [int(place[row]) for row in collection.namesakes.get(queries[name], ())]
        cases.append([pair and [place_of[passage] for passage in pair], relevant, itself])
    limits = [page_weights.shape(trace.borrowed)["positions"], lens.limit]
    return {
        "limit": min(limit for limit in limits if limit is not None),
        "side": cut_side(lens.tokenizer),
        "prompts": {task: lens.sentences.prompt(task, None) for task in ("query", "document")},
        "first": FIRST,
        "listed": TEN,
        "depth": int(retrieval.lists.rows.shape[1]),
        "ids": [collection.passage_ids[row] for row in order],
        "cases": cases,
    }


def rounded(vectors: np.ndarray) -> np.ndarray:
    """(P, E) uint16 of which ZERO is 0: whole multiples of each row's largest number / STEPS. Cosines need no more."""
    largest = np.abs(vectors).max(1, keepdims=True, initial=0)
    steps = np.rint(vectors / np.where(largest == 0, 1, largest) * STEPS)
    return (steps + ZERO).astype(np.uint16)


def upper(rows: np.ndarray) -> np.ndarray:
    """In 8 bits, from -127 to 127: what js/src/search/live/ranking.ts makes of 16."""
    return np.floor((rows.astype(np.float64) - ZERO + 128) / 256)


@dataclass(frozen=True)
class Digits:
    """How far a page's scores are from Python's. largest: the difference; missing: of the TEN first of a question those
    that are not among its FIRST in 8 bits."""

    questions: int
    passages: int
    largest: float
    missing: int

    @property
    def said(self) -> str:
        subject = "On a question" if self.questions == 1 else f"On {self.questions} questions"
        bits, passage, listed = "16 bits", "a passage", ""
        if self.passages > FIRST:
            bits, passage = f"8 bits, of the first {FIRST} passages 16", "such a passage"
            listed = f"; the {TEN} that are first are among the {FIRST} that are scored again"
        if self.missing:
            are, each = verb(self.missing, "is", "are"), "" if self.questions == 1 else f", {TEN} of each question,"
            first = f"the first {TEN * self.questions}{each}"
            listed = f"; {self.missing} of {first} {are} not among the {FIRST} that are scored again"
        return (
            f"{subject} of this collection the rounding of the model (16 bits) and of vectors ({bits}) moves the score "
            f"of {passage} by at most {upwards(self.largest)}{listed}."
        )


def _measured(retrieval: Retrieval, trace: Trace, head: page_heads.Head, rows: np.ndarray, order: np.ndarray) -> Digits:
    """On questions from all over the collection, by the page's own arithmetic."""
    stages = retrieval.stages
    assert stages.vectors is not None and stages.query_vectors is not None
    count = len(retrieval.collection.queries)
    places = np.unique(np.linspace(0, count - 1, min(QUESTIONS, count)).round().astype(int))
    own = np.stack([*_vectors(retrieval, trace, head, [retrieval.collection.queries[at] for at in places])])
    scores = _cosines(own, rows.astype(np.float64) - ZERO)
    reference = _cosines(stages.query_vectors.numbers(places), stages.vectors.numbers(order))
    rough = _cosines(upper(rounded(own)), upper(rows))
    again = np.argsort(-rough, axis=1, kind="stable")[:, :FIRST]
    first = np.argsort(-reference, axis=1, kind="stable")[:, :TEN]
    gaps = np.abs(np.take_along_axis(scores - reference, again, 1))
    missing = sum(len({*a} - {*b}) for a, b in zip(first.tolist(), again.tolist(), strict=True))
    return Digits(len(places), len(order), float(gaps.max()), missing)


def _vectors(retrieval: Retrieval, trace: Trace, head: page_heads.Head, questions: list[str]) -> Iterator[np.ndarray]:
    """As the page makes them."""
    lens, model = retrieval.lens, trace.borrowed
    prompt = lens.sentences.prompt("query", None)
    encodings = [lens.encoding(prompt + question, None, True) for question in questions]
    inputs = [(encoding.input_ids, encoding.token_type_ids or [0] * len(encoding)) for encoding in encodings]
    *_, last = page_arithmetic.layers(page_weights.shape(model), page_weights.parts(model), inputs)
    for run in last:
        yield run.stream[0] if head.about["pooling"] == "first" else run.stream.mean(0)


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n, P) float64."""
    a, b = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), LEAST_NORM) for x in (a.astype(np.float64), b))
    return a @ b.T
