"""How a collection is ranked: the model's own scores in their order, a cross-encoder behind another, documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.errors import BertLensError, InputError, ModelError
from bertlens.search import stages
from bertlens.search.collection import Collection
from bertlens.search.stages import ranked
from bertlens.search.vectors_file import mark
from unit.tiny_encoders import base, crossed, encoder, folder, st, words

QUIET: dict[str, Any] = {"progress": False}
QUERIES = [words(4, 100 + n) for n in range(5)]
PASSAGES = [words(n % 7 + 2, n) for n in range(30)]
PASSAGES[21] = PASSAGES[13] = PASSAGES[4]  # equal ones


def collection(passages: list[str] = PASSAGES, documents: list[str] | None = None) -> Collection:
    """Ids count down, so that the order of ids is not that of places."""
    ids = tuple(str(len(passages) - n) for n in range(len(passages)))
    names = tuple(f"q{n}" for n in range(len(QUERIES)))
    return Collection(names, tuple(QUERIES), ids, tuple(passages), tuple(documents or ids), {})


def late(function: str) -> Any:
    multi = pytest.importorskip("sentence_transformers.multi_vector_encoder.modules")
    torch.manual_seed(3)
    first = base.Transformer(folder())
    reduce = base.Dense(32, 12, bias=False, activation_function=None, module_input_name="token_embeddings")
    modules = [first, reduce, multi.MultiVectorMask(["."])]
    return st.MultiVectorEncoder(modules=modules, device="cpu", similarity_fn_name=function)


def in_order(scores: Any, depth: int) -> list[list[int]]:
    """Places of (Q, P) scores, sorted: the highest first, of one score the smallest id, which is the last place."""
    return [sorted(range(len(row)), key=lambda place: (-row[place], -place))[:depth] for row in scores]


@pytest.mark.parametrize("function", ["cosine", "dot", "euclidean", "manhattan", "maxsim", "meanmaxsim"])
def test_scores_are_those_of_the_models_own_similarity(function: str) -> None:
    model = late(function) if "maxsim" in function else encoder(similarity_fn_name=function)
    made = ranked(bl.Lens(model), collection(), depth=12, **QUIET)
    own = model.similarity(model.encode_query(QUERIES), model.encode_document(PASSAGES)).numpy()
    rows = made.lists.rows
    np.testing.assert_allclose(made.lists.scores, np.take_along_axis(own, rows, 1), rtol=1e-4, atol=1e-4)
    by_loop = in_order(own.astype(np.float64), 12)
    np.testing.assert_allclose(made.lists.scores, np.take_along_axis(own, np.array(by_loop), 1), rtol=1e-4, atol=1e-4)
    for row in rows.tolist():  # equal passages by id: 9, 17, 26
        assert [place for place in row if place in (4, 13, 21)] in ([21, 13, 4], [21, 13], [21], [])
    assert made.first_lists is None and made.vectors is not None and made.query_vectors is not None
    assert (len(made.vectors), len(made.query_vectors)) == (30, 5)


def test_lists_are_deeper_where_passages_are_of_few_documents() -> None:
    """The best passages of the first question all belong to document "a"."""
    lens = bl.Lens(encoder())
    plain = ranked(lens, collection(), depth=30, **QUIET).lists
    best = set(plain.rows[0, :5].tolist())
    documents = ["a" if place in best else f"d{place}" for place in range(30)]
    by_document = collection(documents=documents)
    made = ranked(lens, by_document, depth=6, **QUIET).lists
    depths = set()
    for question, row in enumerate(plain.rows):
        enough = next(depth for depth in (6, 24, 30) if len({documents[place] for place in row[:depth]}) >= 3)
        depths.add(enough)
        assert made.passages(question).tolist() == row[:enough].tolist()
        assert np.isnan(made.scores[question, enough:]).all() and not np.isnan(made.scores[question, :enough]).any()
    assert len(depths) > 1 and made.rows.shape == (5, max(depths))
    one = collection(documents=["a"] * 30)
    assert ranked(lens, one, depth=6, **QUIET).lists.rows.shape == (5, 6)  # there are no more documents
    assert ranked(lens, collection(), depth=6, **QUIET).lists.rows.shape == (5, 6)


def test_a_cross_encoder_orders_the_first_ones_of_another_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "SECOND", 10)
    first, cross = bl.Lens(encoder()), crossed()
    made = ranked(bl.Lens(cross), collection(), first_stage=first, depth=20, **QUIET)
    before = ranked(first, collection(), depth=20, **QUIET).lists
    assert made.first_lists is not None and made.vectors is None and made.query_vectors is None
    np.testing.assert_array_equal(made.first_lists.rows, before.rows)
    assert made.lists.rows.shape == (5, 10)
    for question, query in enumerate(QUERIES):
        places = before.rows[question, :10].tolist()
        own = {place: float(cross.predict([(query, PASSAGES[place])], show_progress_bar=False)[0]) for place in places}
        assert set(made.lists.rows[question].tolist()) == set(places)
        scores = [own[place] for place in made.lists.rows[question].tolist()]
        np.testing.assert_allclose(made.lists.scores[question], scores, atol=1e-5)
        assert (np.diff(made.lists.scores[question]) <= 0).all()


def test_equal_pairs_have_equal_scores_and_stand_by_id() -> None:
    passages = [*PASSAGES[:6], *[PASSAGES[3]] * 5]
    made = ranked(bl.Lens(crossed()), collection(passages), first_stage=bl.Lens(encoder()), **QUIET).lists
    for row in made.rows.tolist():
        assert [place for place in row if place in (3, 6, 7, 8, 9, 10)] == [10, 9, 8, 7, 6, 3]


@pytest.mark.parametrize("shift", [17.5, 0.0])
def test_scores_that_a_sigmoid_rounds_to_one_stand_by_their_logits(shift: float) -> None:
    cross = crossed()
    with torch.no_grad():
        cross.model.classifier.weight.mul_(2)
        cross.model.classifier.bias.fill_(shift)
    made = ranked(bl.Lens(cross), collection(), first_stage=bl.Lens(encoder()), depth=30, **QUIET).lists
    for query, rows, scores in zip(QUERIES, made.rows, made.scores, strict=True):
        pairs = [(query, text) for text in PASSAGES]
        logits = cross.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False)
        np.testing.assert_allclose(scores, cross.predict(pairs, show_progress_bar=False)[rows], atol=1e-6)
        assert len(set(scores)) < 28 if shift else len(set(scores)) == 28  # of 28 different passages
        assert (np.diff(logits[rows]) <= 1e-5).all()
        table = bl.rank(bl.Lens(cross), query, PASSAGES, **QUIET)
        assert (np.diff(logits[table.index]) <= 1e-5).all()
    constant = crossed(activation_fn=torch.ones_like)
    made = ranked(bl.Lens(constant), collection(), first_stage=bl.Lens(encoder()), depth=30, **QUIET).lists
    assert (made.scores == 1).all()
    order = constant.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False)[made.rows[-1]]
    assert (np.diff(order) <= 1e-5).all() and np.ptp(order) > 0.01
    for row in made.rows.tolist():  # equal passages by id
        assert [place for place in row if place in (4, 13, 21)] == [21, 13, 4]


def test_a_second_stage_that_was_ended_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, cross = bl.Lens(encoder()), bl.Lens(crossed())
    given: dict[str, Any] = {"first_stage": first, "file": tmp_path / "corpus.safetensors", "batch_size": 4} | QUIET
    through = ranked(cross, collection(), **given | {"file": None})
    predict, windows = cross.sentences.predict, []

    def stopped(pairs: Any, batch_size: int, **options: Any) -> Any:
        windows.append(len(pairs))
        if len(windows) == 3:
            raise KeyboardInterrupt
        return predict(pairs, batch_size, **options)

    monkeypatch.setattr(cross.sentences, "predict", stopped)
    kept = tmp_path / f"corpus.safetensors.{mark(cross)}.pairs.npz"
    with pytest.raises(BertLensError, match=f"^stopped: 64 of 140 pairs are done, and saved in {kept}; the same call"):
        ranked(cross, collection(), **given)
    assert windows == [32, 32, 32]
    again = ranked(cross, collection(), **given)
    assert windows[3:] == [32, 32, 12]  # those that were missing
    np.testing.assert_array_equal(again.lists.rows, through.lists.rows)
    np.testing.assert_array_equal(again.lists.scores, through.lists.scores)
    ranked(cross, collection(), **given)
    assert len(windows) == 6
    ranked(bl.Lens(crossed(max_length=9)), collection(), **given)
    assert len([*tmp_path.glob("*.pairs.npz")]) == 2  # each cross-encoder has its own
    ranked(cross, collection(), **given)
    assert len(windows) == 6


def test_what_cannot_rank_is_refused_in_a_sentence() -> None:
    pooled, cross, labels = bl.Lens(encoder()), bl.Lens(crossed()), bl.Lens(crossed(3))
    for lens, first, error, words_of in (
        (cross, None, InputError, r"name the model whose first 100 passages it is to score, first_stage=bl.Lens\(…\)"),
        (cross, cross, InputError, "first_stage is a cross-encoder: name a model that makes vectors"),
        (pooled, pooled, InputError, "this one searches the whole collection itself"),
        (labels, pooled, ModelError, "gives 3 labels to a pair, not one score to rank by"),
        (cross, "model", InputError, r"give a bl.Lens, not str"),
    ):
        with pytest.raises(error, match=words_of):
            ranked(lens, collection(), first_stage=first, **QUIET)
