"""Late interaction against sentence-transformers itself: vectors, scores, its own maps, skip-lists, query expansion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import whatif
from bertlens.errors import ModelError, SelectionError
from bertlens.sentences.text_reading import has_vectors
from unit.tiny_encoders import PROMPTS, TEXTS, base, encoder, late, parts, words

pytest.importorskip("sentence_transformers", minversion="6.2")
from sentence_transformers.multi_vector_encoder import interpretability
from sentence_transformers.multi_vector_encoder import modules as multi

Q, D = "was the cat very warm", "the unbelievable cats sat on the mat, it was warm."


FIXED = {"strategy": "fixed", "attend": False, "length": 16}
ATTENDED = {"strategy": "fixed", "attend": True, "length": 14}


@pytest.mark.parametrize("expansion", [None, FIXED, ATTENDED])
@pytest.mark.parametrize("function", ["maxsim", "meanmaxsim"])
def test_vectors_and_scores_are_its_own(function: str, expansion: Any) -> None:
    model = late(expansion=expansion, similarity_fn_name=function)
    lens = bl.Lens(model)
    texts = [*TEXTS, words(60, 1)]  # the last is cut
    for task, call in ((None, model.encode), ("query", model.encode_query), ("document", model.encode_document)):
        given = TEXTS if task == "query" else texts
        for one, other in zip(lens.encode(given, task, batch_size=2), call(given), strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(lens.encode(texts[0], task), call(texts[0]))
    queries, passages = model.encode_query(TEXTS), model.encode_document(texts)
    torch.testing.assert_close(
        lens.sentences.similarity(lens.encode(TEXTS, "query"), lens.encode(texts, "document")),
        model.similarity(queries, passages),
    )
    torch.testing.assert_close(
        lens.similarity(TEXTS, texts), model.similarity(model.encode(TEXTS), model.encode(texts))
    )


@pytest.mark.parametrize("expansion", [None, FIXED, ATTENDED])
@pytest.mark.parametrize("function", ["maxsim", "meanmaxsim"])
def test_each_token_of_the_query_has_its_best_one(function: str, expansion: Any) -> None:
    """By a loop over the library's vectors; parts sum to its score."""
    model = late(expansion=expansion, similarity_fn_name=function)
    found = bl.similarity(bl.Lens(model), Q, D, ("query", "document"))
    q, d = model.encode_query(Q).double(), model.encode_document(D).double()
    score = float(model.similarity(model.encode_query(Q), model.encode_document(D)))
    assert found.value == pytest.approx(score, abs=1e-6) and abs(found.gap) < 1e-5
    ids = model.tokenizer(PROMPTS["document"] + D)["input_ids"]
    skipped = model.tokenizer.convert_tokens_to_ids([".", ","])
    scored = [at for at, number in enumerate(ids) if number not in skipped]
    names = model.tokenizer.convert_ids_to_tokens(ids)
    table = found.matches()
    assert len(table) == len(q)
    for row, vector in zip(table.itertuples(), q, strict=True):
        products = [float(vector @ other) for other in d]
        best = int(np.argmax(products))
        assert row.best_at == scored[best] and row.best == names[scored[best]]
        assert row.cosine == pytest.approx(products[best], abs=1e-6)
        assert row.part == pytest.approx(products[best] / (len(q) if function == "meanmaxsim" else 1), abs=1e-6)
        assert row.share == pytest.approx(row.part / score, abs=1e-5)
    own = model.tokenizer(PROMPTS["query"] + Q)["input_ids"]
    assert list(table["token"])[: len(own)] == model.tokenizer.convert_ids_to_tokens(own)
    assert sum(table["added"]) == (expansion["length"] - len(own) if expansion else 0)
    assert set(table["token"][table["added"]]) <= {"[MASK]"}
    pairs = found.pairs()
    assert pairs.shape == (max(len(own), expansion["length"] if expansion else 0), len(ids))
    assert pairs.to_numpy().sum() == pytest.approx(score, abs=1e-5)
    assert ((pairs.to_numpy() != 0).sum(1) == 1).all()
    assert not pairs.to_numpy()[:, [at for at in range(len(ids)) if at not in scored]].any()  # the skip-list
    for side in ("a", "b"):
        for by_word in (False, True):
            assert found.tokens(side, words=by_word).sum() == pytest.approx(score, abs=1e-5)
    assert "cats" in found.tokens("b", words=True, own=True).index
    assert list(found.tokens("a", words=True, own=True).index) == Q.split()
    assert sum("are added" in note for note in found.notes) == bool(expansion)
    assert any("2 tokens of text b are not scored" in note for note in found.notes)


def test_the_products_are_the_librarys_own_map() -> None:
    """`interpretability`: the query's own tokens, and each one's map over the passage."""
    model = late(expansion=FIXED)
    found = bl.similarity(bl.Lens(model), Q, D, ("query", "document"))
    own = interpretability.real_query_token_slice(model, Q)
    d = model.encode_document(D)
    expected = interpretability.maxsim_similarity_map(model.encode_query(Q)[own], d, (len(d), 1))[:, 0]
    mine = found.products()
    shown = mine.iloc[own]
    np.testing.assert_allclose(shown.to_numpy(), expected.numpy(), atol=1e-6)
    assert list(shown.index) == model.tokenizer.tokenize(Q)
    best = found.matches().iloc[own]
    np.testing.assert_allclose(best["cosine"], expected.max(1).values.numpy(), atol=1e-6)


def test_passages_are_ranked_by_it_with_the_words_that_won() -> None:
    model = late(expansion=FIXED)
    passages = [*TEXTS, D]
    found = bl.rank(bl.Lens(model), Q, passages, explained=2)
    scores = model.similarity(model.encode_query(Q), model.encode_document(passages))[0]
    assert list(found.index) == scores.argsort(descending=True).tolist()
    np.testing.assert_allclose(found["score"], scores.sort(descending=True).values, atol=1e-5)
    first = bl.similarity(bl.Lens(model), Q, found.iloc[0]["passage"], ("query", "document"))
    assert found.iloc[0]["words"].split(", ")[0] == first.tokens("b", words=True, own=True).idxmax()
    assert list(found["words"][2:]) == [""] * 3


def test_a_baseline_of_maxsim() -> None:
    model = late()
    others = [words(5 + n, n) for n in range(9)]
    found = bl.similarity(bl.Lens(model), Q, D, ("query", "document")).against(others)
    scores = model.similarity(model.encode_query(others), model.encode_document(others)).numpy()
    numbers = scores[~np.eye(9, dtype=bool)]
    assert found.pairs == 72 and found.median == pytest.approx(np.median(numbers), abs=1e-5)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        (lambda: [multi.HierarchicalTokenPooling(2)], "HierarchicalTokenPooling"),
        (lambda: [parts.Pooling(12)], "Pooling"),
        (lambda: [base.Normalize()], "Normalize of whole texts"),
    ],
)
def test_other_modules_are_declined_by_name(more: Any, name: str) -> None:
    with pytest.raises(ModelError, match=f"has a module {name}, which is not read here") as caught:
        bl.Lens(late(*more()))
    assert "\n" not in str(caught.value)


def test_what_it_has_not_is_one_sentence_and_the_object_stays(tmp_path: Any) -> None:
    model = late(skip=("cats", "cat", "##s", "[CLS]", "[SEP]")).train()
    before = [part.training for part in model.modules()]
    lens = bl.Lens(model)
    with pytest.raises(ModelError, match="scores no token of text b"):
        bl.similarity(lens, Q, "cats", (None, None))
    pair = lens.trace(Q, D)
    for call in (pair.predictions, lambda: whatif.answers(pair), lambda: whatif.similarity(pair)(pair)):
        with pytest.raises(ModelError, match=r"makes a vector of each token: bl\.similarity"):
            call()
    assert not has_vectors(pair) and has_vectors(bl.Lens(encoder()).trace(Q))
    with pytest.raises(SelectionError, match="no side 'c'"):
        bl.similarity(lens, Q, D).tokens("c")
    assert [part.training for part in model.modules()] == before
    model.save_pretrained(str(tmp_path / "late"))
    again = bl.Lens.from_pretrained(tmp_path / "late")
    torch.testing.assert_close(again.encode(D, "document"), model.encode_document(D))


def test_the_runs_of_a_changed_model_are_refused() -> None:
    model = late()
    found = bl.similarity(bl.Lens(model), Q, D)
    assert [trace.n_tokens for trace in found.traces] == [len(side.encoding) for side in found.sides]
    with torch.no_grad():
        model[0].model.embeddings.word_embeddings.weight.mul_(2)
    with pytest.raises(ModelError, match="has changed"):
        _ = found.traces
