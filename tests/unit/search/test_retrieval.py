"""A retrieval from texts to tables: its lists are the model's own numbers, its answers are those of its parts."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import bertlens as bl
from bertlens.base.notes import Note
from bertlens.errors import InputError, ModelError
from bertlens.search import vectors
from unit import tiny_encoders
from unit.tiny_encoders import words

CORPUS = {f"p{at}": words(6 + at % 5, at) for at in range(40)}
QUERIES = {f"q{at}": words(4, 100 + at) for at in range(6)}
RELEVANCE = {f"q{at}": {f"p{at}": 1, f"p{at + 10}": 2} for at in range(5)}


@cache
def model() -> tiny_encoders.st.SentenceTransformer:
    return tiny_encoders.encoder(similarity_fn_name="cosine")


@cache
def search() -> bl.Retrieval:
    return bl.retrieval(bl.Lens(model()), QUERIES, CORPUS, RELEVANCE, progress=False)


def test_lists_are_in_the_order_of_the_models_own_similarity():
    queries = model().encode_query([*QUERIES.values()])
    passages = model().encode_document([*CORPUS.values()])
    scores = np.asarray(model().similarity(queries, passages), dtype=float)
    for at, name in enumerate(QUERIES):
        table = search().ranking(name, 40)
        assert table["passage"].tolist() == [f"p{row}" for row in np.argsort(-scores[at], kind="stable")]
        np.testing.assert_allclose(table["score"], np.sort(scores[at])[::-1], atol=1e-6)
        assert table["text"].tolist() == [CORPUS[passage] for passage in table["passage"]]
        grades = dict(zip(table["passage"], table["grade"], strict=True))
        assert {passage: grade for passage, grade in grades.items() if grade > 0} == RELEVANCE.get(name, {})


def test_measures_are_of_judged_questions_and_failures_of_wrong_first_passages():
    assert [*search().by_question.index] == [*RELEVANCE]
    first = {name: search().ranking(name, 1)["passage"][0] for name in RELEVANCE}
    failures = search().failures()
    assert failures["query"].tolist() == [name for name, passage in first.items() if passage not in RELEVANCE[name]]
    assert len(failures)
    assert search().metrics()["n"].tolist() == [5] * 6
    assert "nDCG@10" in repr(search()) and "6 questions, 40 passages" in repr(search())


def test_a_failures_contrast_adds_up_to_the_gap_of_its_scores():
    for row in search().failures().itertuples():
        contrast = search().contrast(row.query)
        assert contrast.texts == (QUERIES[row.query], CORPUS[row.wrong], CORPUS[row.right])
        assert contrast.query["difference"].sum() == pytest.approx(row.gap, abs=1e-5)
        assert contrast.difference == pytest.approx(row.gap, abs=1e-5)
        other = search().contrast(row.query, right="p3")
        assert other.texts[2] == CORPUS["p3"]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: search().contrast("q9"), "no question 'q9' in this collection: there are 'q0', 'q1', 'q2', …"),
        (lambda: search().contrast("q0", right="p99"), "no passage 'p99' in this collection: there are 'p0'"),
        (lambda: search().contrast("q5"), "no relevant passage is known for question 'q5': name one by right="),
        (lambda: search().contrast("q0", "p0", "p0"), "passage 'p0' cannot be laid beside itself: name right="),
        (lambda: search().ranking("q0", 0), "k is how many passages to list"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(ask, message):
    with pytest.raises(InputError, match=message):
        ask()


def test_without_judgements_there_are_lists_hubs_and_contrasts():
    bare = bl.retrieval(bl.Lens(model()), QUERIES, CORPUS, progress=False)
    assert "without judgements" in repr(bare)
    assert len(bare.ranking("q0")) == 10 and len(bare.hubs())
    assert bare.contrast("q0", "p1", "p2").difference
    for ask in (bare.metrics, bare.failures, bare.slices):
        with pytest.raises(InputError, match="no question has a relevant document: give relevance="):
            ask()


def test_vectors_stand_beside_a_corpus_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in CORPUS.items()))
    lens = bl.Lens(model())
    first = bl.retrieval(lens, QUERIES, corpus, RELEVANCE, progress=False)
    (file,) = (path for path in tmp_path.iterdir() if path != corpus)
    assert re.fullmatch(r"corpus\.jsonl\.[0-9a-f]{8}\.vectors\.safetensors", file.name)
    passages = []
    encode = type(lens.sentences).encode
    monkeypatch.setattr(
        type(lens.sentences),
        "encode",
        lambda self, texts, task, *rest: (
            passages.extend(texts if task == "document" else ()) or encode(self, texts, task, *rest)
        ),
    )
    again = bl.retrieval(lens, QUERIES, corpus, RELEVANCE, progress=False)
    assert not passages
    assert (again.lists.rows == first.lists.rows).all()
    none = bl.retrieval(lens, QUERIES, corpus, RELEVANCE, keep=False, progress=False)
    assert len(passages) == 40 and (none.lists.rows == first.lists.rows).all()
    other = bl.Lens(tiny_encoders.encoder(mode="max"))  # and back to the first, as two models are compared
    for lens_of_run, size in ((other, 40), (lens, 0), (other, 0)):
        passages.clear()
        run = bl.retrieval(lens_of_run, QUERIES, corpus, RELEVANCE, progress=False)
        assert len(passages) == size and len(run.against(first)) == len(run.metrics())


def test_a_run_is_compared_with_what_an_earlier_one_saved(tmp_path: Path):
    file = search().save(tmp_path / "before.json")
    table = search().against(file)
    assert (table["difference"] == 0).all() and not table["falls"].any()
    assert search().against(search())["now"].tolist() == table["now"].tolist()
    page = search().to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "tiny" in page or search().lens.model_name in page


def test_a_cross_encoder_scores_the_first_stage_anew():
    cross = bl.Lens(tiny_encoders.crossed())
    with pytest.raises(InputError, match="first_stage="):
        bl.retrieval(cross, QUERIES, CORPUS, RELEVANCE, progress=False)
    both = bl.retrieval(cross, QUERIES, CORPUS, RELEVANCE, first_stage=bl.Lens(model()), progress=False)
    own = cross.sentences.predict([(QUERIES["q0"], text) for text in CORPUS.values()]).double().numpy()
    table = both.ranking("q0", 40)
    np.testing.assert_allclose(table["score"], np.sort(own)[::-1], atol=1e-5)
    assert both.stages.first_lists is not None


def test_ids_are_taken_as_they_were_given_and_named_as_far_as_there_is_room():
    long = "q" * 500
    lens = bl.Lens(model())
    ranked = bl.retrieval(lens, {" a 1 ": "cat", long: "mat"}, {" p ": "a cat", "r": "mat"}, {" a 1 ": ["r"]})
    assert ranked.ranking(" a 1 ").equals(ranked.ranking("a 1"))
    assert ranked.contrast(" a 1 ", " p ", "r").texts[1] == "a cat"
    for ask in (lambda: ranked.ranking("x"), lambda: ranked.contrast(long), lambda: ranked.ranking(long[1:])):
        with pytest.raises(InputError) as refusal:
            ask()
        assert len(str(refusal.value)) < 200
    right = ranked.ranking("a 1")["passage"][0]
    judged = bl.retrieval(lens, {"a 1": "cat"}, {"p": "a cat", "r": "mat"}, {"a 1": [right]})
    with pytest.raises(InputError, match="a relevant one is first, name wrong="):
        judged.contrast("a 1")


def test_runs_of_two_collections_are_not_compared():
    other = bl.retrieval(bl.Lens(model()), QUERIES, CORPUS, RELEVANCE | {"q0": {"p7": 1}}, progress=False)
    with pytest.raises(InputError, match="the earlier run is of another collection, its judgements are not these"):
        search().against(other)


def corpus_file(folder: Path) -> Path:
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in CORPUS.items()))
    return corpus


def test_each_model_and_each_type_of_numbers_has_its_own_vectors_beside_a_corpus(tmp_path: Path):
    """Models are compared on one corpus: neither is refused, and what one has made the other leaves as it is."""
    corpus, other = corpus_file(tmp_path), tiny_encoders.encoder(mode="max")
    for lens, int8 in ((bl.Lens(model()), False), (bl.Lens(other), False), (bl.Lens(model()), True)):
        bl.retrieval(lens, QUERIES, corpus, RELEVANCE, int8=int8, progress=False)
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(files) == 4
    again = bl.retrieval(bl.Lens(model()), QUERIES, corpus, RELEVANCE, progress=False)
    assert (again.lists.rows == search().lists.rows).all()
    assert files == {path: path.read_bytes() for path in tmp_path.iterdir()}


@contextmanager
def without_rights(folder: Path) -> Iterator[None]:
    """Nothing can be written into the folder, by an ordinary user."""
    user = os.geteuid()
    for path in (folder, *folder.parents):
        if path.stat().st_uid == user and path != Path("/") and path.parent != Path("/"):
            path.chmod(0o755)
    folder.chmod(0o555)
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="has other rights")
def test_where_nothing_can_be_written_beside_the_corpus_a_note_says_so(tmp_path: Path):
    corpus = corpus_file(tmp_path)
    lens = bl.Lens(model())
    with without_rights(tmp_path), pytest.warns(Note, match=r"the vectors are not kept: .*Permission denied.*keep="):
        ranked = bl.retrieval(lens, QUERIES, corpus, RELEVANCE, progress=False)
    assert (ranked.lists.rows == search().lists.rows).all() and [*tmp_path.iterdir()] == [corpus]
    bl.retrieval(lens, QUERIES, corpus, RELEVANCE, progress=False)
    with without_rights(tmp_path):  # vectors that are there are read
        bl.retrieval(lens, QUERIES, corpus, RELEVANCE, progress=False)


def test_lists_of_a_model_that_has_changed_since_are_not_explained_by_it():
    encoder = tiny_encoders.encoder()
    ranked = bl.retrieval(bl.Lens(encoder), QUERIES, CORPUS, RELEVANCE, progress=False)
    copy = pickle.loads(pickle.dumps(ranked))
    assert copy.contrast("q0", "p1", "p2").difference == ranked.contrast("q0", "p1", "p2").difference
    failures = ranked.failures()
    next(encoder.parameters()).data.add_(0.1)
    for ask in (lambda: ranked.contrast("q0", "p1", "p2"), ranked.slices):
        with pytest.raises(ModelError, match=r"changed since it ranked \(.*\): rank again, bl\.retrieval\(lens, "):
            ask()
    assert copy.contrast("q0", "p1", "p2").difference and ranked.failures().equals(failures)


def test_a_table_that_was_written_into_is_not_the_one_that_is_kept():
    search().failures()["gap"] = 0.0
    assert search().failures()["gap"].abs().min() > 0


def test_a_model_that_changes_while_it_ranks_ranks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of 3 windows of passages the first stays in the file."""
    encoder, windows = tiny_encoders.encoder(), []
    lens, path = bl.Lens(encoder), tmp_path / "vectors.safetensors"

    def encode(texts: list[str], *options: object) -> object:
        if len(windows) == 1:
            next(encoder.parameters()).data.add_(0.1)
        windows.append(texts)
        return own(texts, *options)

    own = lens.sentences.encode
    monkeypatch.setattr(vectors, "WINDOW", 1)
    monkeypatch.setattr(lens.sentences, "encode", encode)
    with pytest.raises(ModelError, match=r"changed in the middle of vectors \(weights of .*\): begin again"):
        bl.retrieval(lens, QUERIES, CORPUS, RELEVANCE, keep=path, batch_size=16, progress=False)
    with safe_open(path, "numpy") as file:
        assert len(windows) == 2 and len(file.get_tensor("digests")) == 16
