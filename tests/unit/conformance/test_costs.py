"""What a named fault costs a search, against a ranking by hand of the vectors that the fault makes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.errors import InputError
from conftest import state

encoders = pytest.importorskip("unit.tiny_encoders")
N = 24


@pytest.fixture(scope="module")
def encoder() -> Any:
    return encoders.encoder(encoders.base.Normalize())


@pytest.fixture(scope="module")
def search(encoder: Any) -> bl.search.Retrieval:
    passages = {f"p{n}": encoders.words(3 + n % 5, n) for n in range(N)}
    queries = {f"q{n}": encoders.words(4, 100 + n) for n in range(N)}
    relevance = {f"q{n}": {f"p{(5 * n) % N}": 1} for n in range(N - 2)}  # two of them are not judged
    return bl.retrieval(bl.Lens(encoder), queries, passages, relevance, keep=False, progress=False)


def parity(search: bl.search.Retrieval, vectors: np.ndarray, task: str) -> bl.Parity:
    return bl.parity(search.lens, encoders.TEXTS, vectors, task=task, pairs=False)


def by_hand(
    queries: np.ndarray, passages: np.ndarray, search: bl.search.Retrieval
) -> tuple[list[str], dict[str, float]]:
    """The first passage of each question, and the nDCG@10 of the judged ones, whose one passage has grade 1."""
    collection = search.collection
    firsts, shares = [], {}
    for q, name in enumerate(collection.query_ids):
        scores = [sum(float(a) * float(b) for a, b in zip(queries[q], p, strict=True)) for p in passages]
        order = sorted(range(len(passages)), key=lambda n: -scores[n])
        firsts.append(collection.passage_ids[order[0]])
        if q in collection.judged:
            [right] = collection.relevant(q)
            rank = [collection.documents[n] for n in order].index(right)
            shares[name] = 1 / math.log2(rank + 2) if rank < 10 else 0.0
    return firsts, shares


def test_a_lost_prefix_is_costed_as_a_ranking_by_hand_has_it(encoder: Any, search: bl.search.Retrieval) -> None:
    p = parity(search, encoder.encode(encoders.TEXTS), "query")
    assert p.classes[0][0].name == "no prefix"
    costs = p.costs(search)
    texts = search.collection
    right = [
        encoder.encode(list(of), prompt_name=task)
        for of, task in ((texts.queries, "query"), (texts.passages, "document"))
    ]
    bare = [encoder.encode(list(of)) for of in (texts.queries, texts.passages)]
    (firsts, before), (others, now) = by_hand(*right, search), by_hand(*bare, search)
    changed = [name for name, a, b in zip(texts.query_ids, firsts, others, strict=True) if a != b]
    assert 3 < len(changed) < N and set(costs.questions["query"]) == set(changed)
    for row in costs.questions.itertuples():
        at = texts.query_ids.index(row.query)
        assert (row.first_before, row.first, row.question) == (firsts[at], others[at], texts.queries[at])
        if row.query in before:
            assert (row.before, row.now) == (pytest.approx(before[row.query]), pytest.approx(now[row.query]))
        else:
            assert math.isnan(row.before) and math.isnan(row.now)
    table = costs.table.set_index("measure").loc["nDCG@10"]
    difference = np.mean(list(now.values())) - np.mean(list(before.values()))
    assert table["difference"] == pytest.approx(difference) and table["low"] <= difference <= table["high"]
    assert table["n"] == len(before)
    assert costs.said.startswith(f"With no prefix, {len(changed)} of {N} questions have another first passage. Of ")


def test_a_fault_of_the_length_alone_changes_no_first_passage(encoder: Any, search: bl.search.Retrieval) -> None:
    """Cosines do not see it."""
    raw = encoder[1](encoder[0](encoder.preprocess(encoders.TEXTS)))["sentence_embedding"].detach()
    p = parity(search, raw, None)
    assert p.classes[0][0].name == "not normalised"
    costs = p.costs(search)
    assert len(costs.questions) == 0 and (costs.table["difference"] == 0).all()
    assert "0 of 24 questions have another first passage" in costs.said


def test_what_has_no_costs_is_refused(encoder: Any, search: bl.search.Retrieval) -> None:
    same = parity(search, encoder.encode(encoders.TEXTS, prompt_name="query"), "query")
    with pytest.raises(InputError, match="of a fault that was named"):
        same.costs(search)
    p = parity(search, encoder.encode(encoders.TEXTS), "query")
    other = bl.Lens(encoders.encoder(encoders.base.Normalize()))
    for given in (3, bl.retrieval(other, ["warm"], ["cat", "mat"], keep=False, progress=False)):
        with pytest.raises(InputError, match="of the model that was compared"):
            p.costs(given)


def test_lock_and_costs_leave_the_model_as_it_was(
    encoder: Any, search: bl.search.Retrieval, tmp_path: Path, ctrl_c: None
) -> None:
    """Also where Ctrl-C ends them."""
    import signal

    p = parity(search, encoder.encode(encoders.TEXTS), "query")
    module = search.lens.borrowed.module
    before, own = state(module), {name: id(tensor) for name, tensor in module.named_parameters()}
    p.costs(search)
    p.lock(tmp_path / "a.lock")
    assert state(module) == before
    layer = next(m for m in module.modules() if type(m) is torch.nn.Linear)
    for function in (lambda: p.costs(search), lambda: p.lock(tmp_path / "b.lock")):
        handle = layer.register_forward_pre_hook(lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            function()
        handle.remove()
        assert state(module) == before and {n: id(t) for n, t in module.named_parameters()} == own
    assert not (tmp_path / "b.lock").exists()
