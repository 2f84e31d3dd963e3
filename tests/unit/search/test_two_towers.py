"""Questions by one encoder, passages by another: scores are those of both objects, and a Router's routes are read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens.errors import InputError, ModelError
from bertlens.search import metrics
from unit import tiny
from unit.tiny_encoders import PROMPTS, base, crossed, dense, encoder, late, parts, sparse, st, words

QUIET: dict[str, Any] = {"progress": False, "keep": False}
QUERIES = {f"q{n}": words(4, 100 + n) for n in range(6)}
PASSAGES = {f"p{n}": words(n % 7 + 2, n) for n in range(20)}
RELEVANT = {f"q{n}": [f"p{n}"] for n in range(6)}


@cache
def tower(seed: int) -> str:
    """A folder of a BERT of its own weights."""
    import tempfile

    made = tempfile.mkdtemp()
    tiny.bert(seed=seed).save_pretrained(made)
    tiny.wordpiece(model_max_length=40).save_pretrained(made)
    return made


def modules(seed: int, mode: str = "mean") -> list[Any]:
    return [base.Transformer(tower(seed)), parts.Pooling(32, mode)]


def router(**settings: Any) -> Any:
    made = base.Router.for_query_document(query_modules=modules(1, "cls"), document_modules=modules(2))
    return st.SentenceTransformer(modules=[made, parts.Normalize()], device="cpu", **settings)


def towers(**settings: Any) -> tuple[Any, Any]:
    queries, documents = (
        st.SentenceTransformer(modules=modules(seed, mode), device="cpu", prompts=PROMPTS, **settings)
        for seed, mode in ((1, "cls"), (2, "mean"))
    )
    return queries, documents


def routes(model: Any) -> tuple[bl.Lens, bl.Lens]:
    """Of questions and of documents, by the line of the refusal."""
    with pytest.raises(ModelError) as error:
        bl.Lens(model)
    said = str(error.value)
    [line] = re.findall(r"documents = (Lens\(.*\)), queries the same with 'query' for 'document'; ", said)
    assert said.endswith("bl.retrieval(documents, …, query_lens=queries) ranks by both")
    names = {"Lens": bl.Lens, type(model).__name__: type(model), "model": model}
    documents, queries = (eval(text, names) for text in (line, line.replace("'document'", "'query'")))
    return queries, documents


def own_scores(queries: Any, documents: Any) -> np.ndarray:
    made = documents.similarity(
        queries.encode_query([*QUERIES.values()]), documents.encode_document([*PASSAGES.values()])
    )
    return np.asarray(made.numpy(), dtype=float)


def check_lists(found: Any, own: np.ndarray) -> None:
    for row, name in zip(own, QUERIES, strict=True):
        table = found.ranking(name, k=20)
        by_id = {passage: float(row[int(passage[1:])]) for passage in PASSAGES}
        np.testing.assert_allclose(table["score"], [by_id[passage] for passage in table["passage"]], atol=1e-5)
        np.testing.assert_allclose(sorted(row, reverse=True), table["score"], atol=1e-5)


@pytest.mark.parametrize("function", ["cosine", "dot", "euclidean"])
def test_scores_are_those_of_the_two_objects(function: str) -> None:
    queries, documents = towers(similarity_fn_name=function)
    one, other = bl.Lens(queries), bl.Lens(documents)
    found = bl.retrieval(other, QUERIES, PASSAGES, RELEVANT, query_lens=one, **QUIET)
    own = own_scores(queries, documents)
    check_lists(found, own)
    ranks = [1 + int((row > row[n]).sum()) for n, row in enumerate(own)]
    reciprocal = [1 / rank for rank in ranks]
    assert found.by_question[f"MRR@{metrics.DEPTH}"].tolist() == pytest.approx(reciprocal)
    swapped = bl.retrieval(one, QUERIES, PASSAGES, RELEVANT, query_lens=other, **QUIET)
    assert not np.array_equal(swapped.lists.rows, found.lists.rows)
    for table in (found.metrics(), found.slices(), found.failures(), found.hubs(), found.long_passages()):
        assert table is not None
    assert len(found.hard_negatives(2).triplets)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"similarity_fn_name": "dot"},
        {"prompts": PROMPTS, "truncate_dim": 20},
    ],
)
def test_the_routes_of_a_router_are_read_as_the_refusal_says(settings: dict[str, Any]) -> None:
    model = router(**settings)
    queries, documents = routes(model)
    found = bl.retrieval(documents, QUERIES, PASSAGES, RELEVANT, query_lens=queries, **QUIET)
    check_lists(found, own_scores(model, model))


def test_a_router_between_other_modules_and_in_late_interaction_is_named() -> None:
    multi = pytest.importorskip("sentence_transformers.multi_vector_encoder.modules")
    made = base.Router({"a": modules(1), "b": modules(2)}, default_route="a")
    model = st.SentenceTransformer(modules=[made], device="cpu")
    with pytest.raises(
        ModelError, match=r"modules=\[\*model\[0\].sub_modules\['a'\]\]\)\), queries the same with 'b' for"
    ):
        bl.Lens(model)
    first = [base.Transformer(tower(1))]
    routed = base.Router.for_query_document(first, [base.Transformer(tower(2))])
    late_model = st.MultiVectorEncoder(modules=[routed, multi.MultiVectorMask([])], device="cpu")
    with pytest.raises(ModelError, match=r"documents = Lens\(MultiVectorEncoder\(modules=\["):
        bl.Lens(late_model)


@pytest.mark.parametrize("make", [late, sparse])
def test_other_kinds_of_vectors_are_of_two_encoders_too(make: Any) -> None:
    one, other = make(), make()
    next(one[0].model.parameters()).data.mul_(1.5)
    found = bl.retrieval(bl.Lens(other), QUERIES, PASSAGES, RELEVANT, query_lens=bl.Lens(one), **QUIET)
    vectors = one.encode_query([*QUERIES.values()]), other.encode_document([*PASSAGES.values()])
    own = other.similarity(*vectors)
    check_lists(found, np.asarray(own.to_dense() if own.is_sparse else own, dtype=float))


def test_of_a_cross_encoder_it_is_the_first_stages() -> None:
    queries, documents = towers()
    cross = crossed()
    given = {"first_stage": bl.Lens(documents), "query_lens": bl.Lens(queries)}
    found = bl.retrieval(bl.Lens(cross), QUERIES, PASSAGES, RELEVANT, **given, **QUIET)
    alone = bl.retrieval(bl.Lens(documents), QUERIES, PASSAGES, RELEVANT, query_lens=bl.Lens(queries), **QUIET)
    np.testing.assert_array_equal(found.stages.first_lists.rows, alone.lists.rows)
    logits = cross.predict([(QUERIES["q0"], PASSAGES["p0"])], activation_fn=None)
    assert found.contrast("q0", wrong="p1", right="p0").scores[1] == pytest.approx(
        float(np.log(logits[0] / (1 - logits[0]))), abs=1e-3
    )


def test_vectors_that_cannot_be_compared_are_refused() -> None:
    plain = bl.Lens(encoder())
    for query_lens, error, said in (
        (
            bl.Lens(encoder(dense(None))),
            InputError,
            "vectors of 24 numbers, the model of passages of 32: they are of no",
        ),
        (
            bl.Lens(encoder(similarity_fn_name="dot")),
            InputError,
            "compares by dot, the model of passages by cosine: set",
        ),
        (bl.Lens(late()), InputError, "makes vectors of another kind than the model of passages"),
        (bl.Lens(crossed()), InputError, "query_lens encodes questions: a cross-encoder reads two texts as one input"),
        ("model", InputError, r"give a bl.Lens, not str"),
    ):
        with pytest.raises(error, match=said):
            bl.retrieval(plain, QUERIES, PASSAGES, RELEVANT, query_lens=query_lens, **QUIET)  # type: ignore[arg-type]


def test_what_is_of_one_models_runs_is_refused_by_name(tmp_path: Path) -> None:
    queries, documents = map(bl.Lens, towers())
    found = bl.retrieval(documents, QUERIES, PASSAGES, RELEVANT, query_lens=queries, **QUIET)
    for name, call in {
        "contrast": lambda: found.contrast("q0"),
        "heads": lambda: found.heads(),
        "probe": lambda: found.probe(),
        "explore": lambda: found.explore(),
    }.items():
        said = (
            rf"^questions are read by another model than passages \(query_lens=\), and {name} is of the runs of one; r"
        )
        with pytest.raises(InputError, match=said):
            call()
    with pytest.raises(InputError, match="and explore is of the runs of one"):
        found.to_html(tmp_path / "live.html", live=True)
    assert "who" not in found.to_html(tmp_path / "tables.html").read_text(encoding="utf-8")[:20]


def test_a_change_of_either_model_is_noticed() -> None:
    for at in range(2):
        both = towers()
        found = bl.retrieval(bl.Lens(both[1]), QUERIES, PASSAGES, RELEVANT, query_lens=bl.Lens(both[0]), **QUIET)
        found.check_model()
        next(both[at][0].model.parameters()).data.mul_(2)
        with pytest.raises(ModelError, match=r"the model has changed since it ranked \(weights of "):
            found.check_model(whole=True)


def test_the_same_lens_twice_is_one_model() -> None:
    lens = bl.Lens(encoder())
    found = bl.retrieval(lens, QUERIES, PASSAGES, RELEVANT, query_lens=lens, **QUIET)
    assert found.query_lens is None and found.contrast("q0", wrong="p1", right="p0").scores
