"""Search over sparse vectors: by a loop over words, equal passages alike, and nothing of the vocabulary's size."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens import whatif
from bertlens.errors import BertLensError, InputError
from bertlens.search.contrast import contrast
from bertlens.search.exact_search import search
from bertlens.search.head_runs import head_runs
from bertlens.search.stages import ranked
from bertlens.search.vectors import PassageVectors, offsets_of
from bertlens.search.view.case_answers import case
from unit.search.test_stages import PASSAGES, QUERIES, collection, in_order
from unit.tiny_encoders import sparse

FUNCTIONS = ["dot", "cosine", "euclidean", "manhattan"]
Q, W, R = "was the cat very warm.", "the unbelievable cats sat on the mat.", "it was very warm, unbelievable mat"


def drawn(n: int, size: int, width: int, seed: int) -> PassageVectors:
    """n texts of up to `size` words each of a vocabulary."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, size + 1, n)
    columns = [np.sort(generator.choice(width, length, replace=False)) for length in lengths]
    weights = generator.gamma(1.0, size=(int(lengths.sum()), 1)).astype(np.float32)
    return PassageVectors(weights, None, offsets_of(lengths), np.concatenate(columns).astype(np.int32))


def weights_of(vectors: PassageVectors, text: int) -> dict[int, float]:
    assert vectors.columns is not None
    span = vectors.span(text, text + 1)
    return dict(zip(vectors.columns[span].tolist(), map(float, vectors.rows[span, 0]), strict=True))


def by_loop(q: dict[int, float], p: dict[int, float], function: str) -> float:
    dot = math.fsum(weight * p[word] for word, weight in q.items() if word in p)
    gaps = [q.get(word, 0.0) - p.get(word, 0.0) for word in {*q, *p}]
    if function == "dot":
        return dot
    if function == "euclidean":
        return -math.sqrt(math.fsum(gap**2 for gap in gaps))
    if function == "manhattan":
        return -math.fsum(map(abs, gaps))
    norms = [max(1e-12, math.sqrt(math.fsum(weight**2 for weight in x.values()))) for x in (q, p)]
    return dot / (norms[0] * norms[1])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_scores_are_those_of_a_loop_over_words(function: str) -> None:
    queries, vectors = drawn(12, 9, 60, 0), drawn(150, 30, 50, 1)
    order = np.random.default_rng(2).permutation(150)
    lists = search(queries, vectors, function, order, 150)
    for question in range(12):
        q = weights_of(queries, question)
        own = np.array([by_loop(q, weights_of(vectors, text), function) for text in range(150)])
        rows = lists.rows[question]
        assert sorted(rows) == list(range(150))
        np.testing.assert_allclose(lists.scores[question], own[rows], rtol=1e-12, atol=1e-7)
        assert (np.diff(lists.scores[question]) <= 0).all()
        first = search(queries, vectors, function, order, 7)
        assert first.rows[question].tolist() == rows[:7].tolist()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_equal_passages_stand_by_id_and_a_passage_is_nearest_to_itself(function: str) -> None:
    vectors = drawn(40, 30, 50, 3)
    lengths = np.diff(vectors.offsets)  # type: ignore[arg-type]
    twins = vectors.take(np.array([*range(40), 5, 5, 9]))
    order = np.arange(43)[::-1]
    lists = search(vectors.take(np.array([5, 9])), twins, function, order, 43)
    assert lengths[5] and [row for row in lists.rows[0].tolist() if row in (5, 40, 41)] == [41, 40, 5]
    assert [row for row in lists.rows[1].tolist() if row in (9, 42)] == [42, 9]
    if function in ("euclidean", "manhattan"):
        assert lists.rows[0, :3].tolist() == [41, 40, 5] and lists.scores[0, 0] == 0


def test_no_matrix_of_the_vocabulary() -> None:
    """30,000 passages of 40 words of 30,522: as float32 rows they would take 3.7 GB."""
    generator = np.random.default_rng(4)
    columns = np.sort(generator.integers(0, 30_000, (30_000, 40)) + np.arange(40), axis=1).astype(np.int32)
    rows = generator.random((30_000 * 40, 1), dtype=np.float32)
    vectors = PassageVectors(rows, None, offsets_of([40] * 30_000), columns.reshape(-1))
    tracemalloc.start()
    lists = search(vectors.take(np.arange(5)), vectors, "cosine", np.arange(30_000), 10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lists.rows[:, 0].tolist() == list(range(5)) and peak < 100e6


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_collection_has_the_models_own_order(function: str) -> None:
    model = sparse(similarity_fn_name=function)
    lists = ranked(bl.Lens(model), collection(), depth=12, progress=False)
    own = model.similarity(model.encode_query(QUERIES), model.encode_document(PASSAGES)).numpy().astype(np.float64)
    np.testing.assert_allclose(lists.lists.scores, np.take_along_axis(own, lists.lists.rows, 1), rtol=1e-4, atol=1e-4)
    expected = np.take_along_axis(own, np.array(in_order(own, 12)), 1)
    np.testing.assert_allclose(lists.lists.scores, expected, rtol=1e-4, atol=1e-4)
    assert lists.vectors is not None and lists.vectors.columns is not None and lists.vectors.rows.shape[1] == 1


def test_of_two_kinds_and_of_no_numbers_is_refused() -> None:
    vectors, order = drawn(9, 5, 20, 5), np.arange(9)
    with pytest.raises(InputError, match="maxsim is of a vector for each token"):
        search(vectors.take(np.arange(2)), PassageVectors(np.ones((9, 1), np.float32)), "maxsim", order)
    damaged = PassageVectors(vectors.rows * np.float32("nan"), None, vectors.offsets, vectors.columns)
    with pytest.raises(InputError, match=r"what is no number \(NaN or infinite\)"):
        search(vectors, damaged, "dot", order)
    with pytest.raises(InputError, match="dot is of one vector for each text"):
        search(PassageVectors(np.ones((2, 1), np.float32)), vectors, "dot", order)


@pytest.mark.parametrize("mode", ["max", "sum"])
def test_a_contrast_by_words_of_the_texts_and_of_the_vocabulary(mode: str) -> None:
    model = sparse(mode)
    found = contrast(bl.Lens(model), Q, W, R)
    q, *passages = (x.to_dense().double() for x in (model.encode_query(Q), *model.encode_document([W, R])))
    np.testing.assert_allclose(found.scores, [float(q @ p) for p in passages], rtol=1e-6)
    assert abs(found.gap) < 1e-5 * abs(found.scores[0])
    for name, score in zip(("wrong", "right"), found.scores, strict=True):
        assert found.query[name].sum() == pytest.approx(score) == getattr(found, name)["part"].sum()
    table = found.vocabulary()  # type: ignore[attr-defined]
    names = model.tokenizer.convert_ids_to_tokens(table["id"].tolist())
    assert len(table) == int(((q > 0) & ((passages[0] > 0) | (passages[1] > 0))).sum())
    for row, name in zip(table.itertuples(), names, strict=True):
        assert row.word.removeprefix("##") == name.removeprefix("##")
        own = [float(q[row.id]), *(float(p[row.id]) for p in passages)]
        assert [row.query, row.wrong, row.right] == pytest.approx(own, abs=1e-6)
        assert row.difference == pytest.approx(own[0] * (own[1] - own[2]), abs=1e-5)
    assert table["part_wrong"].sum() == pytest.approx(found.scores[0]) and found.norms["query"] == pytest.approx(
        float(q.norm())
    )
    for by in ("layer", "head", "kind"):
        np.testing.assert_allclose(found.by(by).sum(), [*found.scores, found.difference], rtol=1e-4, atol=1e-3)
    hidden = found.without("warm", "right", n_random=0)
    assert hidden["wrong"][1] == found.scores[0] and hidden["right"][1] != pytest.approx(found.scores[1], abs=1e-4)
    deleted = found.without("warm", "right", "deleted", n_random=0)
    other = model.encode_document("it was very, unbelievable mat").to_dense().double()
    assert deleted["right"][1] == pytest.approx(float(q @ other), rel=1e-5)
    np.testing.assert_allclose(found.scores_changed([whatif.scale(0, 1, 1.0)]), found.scores, rtol=1e-5)
    assert found.rerun(whatif.off(0, 1)).loc["wrong", "after"] != pytest.approx(found.scores[0], abs=1e-4)
    with pytest.raises(BertLensError, match=r"of='output'; \.why\(word\)"):
        contrast(bl.Lens(model), Q, W, R, of="input")


def test_a_retrieval(tmp_path: Any) -> None:
    model = sparse()
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(f'{{"_id": "{n}", "text": "{text}"}}\n' for n, text in enumerate(PASSAGES)))
    run = bl.retrieval(bl.Lens(model), QUERIES, corpus, {"1": ["3"], "2": ["7"]}, progress=False)
    [file] = tmp_path.glob("*.safetensors")
    assert file.stat().st_size < 60_000 and set(run.metrics()["measure"]) >= {"nDCG@10"}
    own = model.similarity(model.encode_query(QUERIES), model.encode_document(PASSAGES)).numpy()
    assert run.ranking("1", 3)["score"].tolist() == pytest.approx(sorted(own[0], reverse=True)[:3], rel=1e-5)
    assert len(run.failures()) and abs(run.contrast("1", right="3").gap) < 1e-3
    other = bl.Lens(sparse("sum"))
    assert len(bl.retrieval(other, QUERIES, corpus, {"1": ["3"]}, progress=False).lists.rows) == 5
    assert len([*tmp_path.glob("*.safetensors")]) == 2  # another pooling has a file of its own
    with pytest.raises(BertLensError, match=r"whose vectors are small: of a sparse one \.contrast"):
        head_runs(run.lens, QUERIES[0], PASSAGES[0], 2)
    page = run.to_html(tmp_path / "run.html").read_text(encoding="utf-8")
    assert "nDCG@10" in page and case(run.contrast("1", right="3"))["arcs"]["wrong"]
