"""Sparse encoders against sentence-transformers itself and a loop over the logits of the model that is in them."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch

import bertlens as bl
from bertlens import whatif
from bertlens.errors import InputError, ModelError, SelectionError
from bertlens.measures import sources
from bertlens.measures.attribution.gradient_methods import gradient_input
from unit import tiny
from unit.tiny_encoders import PROMPTS, TEXTS, base, encoder, folder, parts, sparse, st, words

splade = pytest.importorskip("sentence_transformers.sparse_encoder.modules")
A, B = "was the cat very warm", "the unbelievable cats sat on the mat, it was warm."
TASKS = ("query", "document")
KINDS = [("max", "relu"), ("sum", "relu"), ("max", "log1p_relu"), ("sum", "log1p_relu")]


def logits_of(model: Any, text: str, *, without: tuple[int, ...] = ()) -> tuple[list[int], torch.Tensor]:
    """Ids and (S, V) float64 of the masked model alone; tokens that are left out are seen by none."""
    batch = model.tokenizer(text, return_tensors="pt", truncation=True, max_length=40)
    batch["attention_mask"][0, list(without)] = 0
    with torch.no_grad():
        logits = model[0].model(**batch).logits[0]
    return batch["input_ids"][0].tolist(), logits.double()


def by_loop(logits: torch.Tensor, mode: str, activation: str, gone: tuple[int, ...] = ()) -> dict[int, list[float]]:
    """Word -> what each token puts into its weight, of the words whose weight is above 0."""
    table: dict[int, list[float]] = {}
    for word in range(logits.shape[1]):
        column = [0.0 if at in gone else max(0.0, float(x)) for at, x in enumerate(logits[:, word])]
        column = [math.log1p(x) for x in column]
        if activation == "log1p_relu":
            column = [math.log1p(x) for x in column]
        if mode == "max":
            best = column.index(max(column))
            column = [x if at == best else 0.0 for at, x in enumerate(column)]
        if sum(column) > 0:
            table[word] = column
    return table


@pytest.mark.parametrize(
    ("mode", "activation", "function"), [*((*kind, "dot") for kind in KINDS), ("max", "relu", "cosine")]
)
def test_vectors_and_scores_are_its_own(mode: str, activation: str, function: str) -> None:
    model = sparse(mode, activation, similarity_fn_name=function)
    lens = bl.Lens(model)
    texts = [*TEXTS, words(60, 1), ""]  # one is cut, one has no word
    for task, call in ((None, model.encode), ("query", model.encode_query), ("document", model.encode_document)):
        vectors = lens.encode(texts, task, batch_size=2)
        assert vectors.is_sparse and not vectors.is_inference()
        torch.testing.assert_close(vectors.to_dense(), call(texts).to_dense(), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(lens.encode(texts[0], task).to_dense(), call(texts[0]).to_dense())
        with torch.no_grad():  # a batch of logits with padding, as the library pools it and as answers of runs do
            states = torch.randn(3, 7, 11, generator=torch.Generator().manual_seed(0))
            keep = torch.arange(7)[None] < torch.tensor([[7], [1], [4]])
            own = model[1]({"token_embeddings": states.clone(), "attention_mask": keep.long()})["sentence_embedding"]
            torch.testing.assert_close(lens.sentences.vectors(states, keep), own)  # type: ignore[union-attr]
    own = model.similarity(model.encode(TEXTS), model.encode(texts))
    torch.testing.assert_close(lens.similarity(TEXTS, texts), own)
    torch.testing.assert_close(lens.similarity(lens.encode(TEXTS), lens.encode(texts)), own)


@pytest.mark.parametrize(("mode", "activation"), KINDS)
def test_each_weight_has_the_token_that_made_it(mode: str, activation: str) -> None:
    model = sparse(mode, activation)
    for task, text in (("query", A), (None, B)):
        table = bl.word_vector(bl.Lens(model), text, task)
        ids, logits = logits_of(model, (PROMPTS["query"] if task else "") + text)
        naive = by_loop(logits, mode, activation)
        names = model.tokenizer.convert_ids_to_tokens(ids)
        assert set(table["id"]) == naive.keys() and table["weight"].is_monotonic_decreasing
        for row in table.itertuples():
            column = naive[row.id]
            best = column.index(max(column))
            assert row.weight == pytest.approx(sum(column), rel=1e-5)
            assert (row.at, row.token) == (best, names[best])
            assert row.share == pytest.approx(column[best] / sum(column), rel=1e-5)
            assert row.logit == pytest.approx(float(logits[best, row.id]), rel=1e-4)
            assert row.expansion == (row.id not in ids)
            assert row.word == model.tokenizer.convert_ids_to_tokens(row.id)
        assert table["expansion"].any() and not table["expansion"].all()


@pytest.mark.parametrize(
    ("mode", "activation", "function"),
    [*((*kind, "dot") for kind in KINDS), ("max", "relu", "cosine"), ("sum", "relu", "euclidean")],
)
def test_the_score_is_a_sum_over_shared_words(mode: str, activation: str, function: str) -> None:
    """Within 1e-6 of the library's own number, part by part as a loop over words in float64 has them."""
    model = sparse(mode, activation, similarity_fn_name=function)
    found = bl.similarity(bl.Lens(model), A, B, TASKS)
    score = float(model.similarity(model.encode_query(A), model.encode_document(B)))
    assert found.value == pytest.approx(score, rel=1e-5 if function == "euclidean" else 1e-6)
    a, b = (
        by_loop(logits_of(model, PROMPTS[task] + text)[1], mode, activation)
        for task, text in zip(TASKS, (A, B), strict=True)
    )
    norms = [math.sqrt(math.fsum(sum(column) ** 2 for column in x.values())) for x in (a, b)]
    scale = {"dot": 1.0, "cosine": 1 / (norms[0] * norms[1]), "euclidean": 2.0}[function]
    expected = {word: sum(a[word]) * sum(b[word]) * scale for word in a.keys() & b.keys()}
    table = found.words()
    assert set(table["id"]) == expected.keys() and table["part"].is_monotonic_decreasing
    assert dict(zip(table["id"], table["part"], strict=True)) == pytest.approx(expected, rel=1e-5)
    assert table["share"].sum() == pytest.approx(1)
    total = table["part"].sum()
    if function == "euclidean":
        total -= norms[0] ** 2 + norms[1] ** 2
        assert total == pytest.approx(-(score**2), rel=1e-4)
    else:
        assert total == pytest.approx(score, rel=1e-6)
    assert found.terms.iloc[0] == pytest.approx(table["part"].sum(), rel=1e-9)
    assert abs(found.gap) < 1e-6 * max(1, abs(score)) * (1000 if function == "euclidean" else 1)
    pairs = found.pairs().to_numpy()
    sizes = [len(next(iter(x.values()))) for x in (a, b)]
    assert pairs.shape == tuple(sizes)
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            cell = math.fsum(a[word][i] * b[word][j] for word in expected) * scale
            assert pairs[i, j] == pytest.approx(cell, rel=1e-4, abs=1e-7)
    for side, columns in (("a", a), ("b", b)):
        assert found.tokens(side, words=True).sum() == pytest.approx(pairs.sum())
        made = found.parts(side)
        assert made.shape == (len(next(iter(columns.values()))), len(columns))
        for place, word in enumerate(sorted(columns)):
            assert made.iloc[:, place].tolist() == pytest.approx(columns[word], rel=1e-4, abs=1e-7)
    assert found.pairs(words=True).attrs["gap"] == pytest.approx(found.gap, abs=1e-9)
    assert list(found.tokens("a", words=True, own=True).index) == A.split()


def test_why_a_weight_is_the_split_of_its_logit() -> None:
    model = sparse("max", similarity_fn_name="cosine")
    found = bl.similarity(bl.Lens(model), A, B)
    row = next(row for row in found.words().itertuples() if row.expansion_b)
    split = found.why(row.word, "b")
    _, logits = logits_of(model, B)
    assert split.total == pytest.approx(float(logits[row.at_b, row.id]), rel=1e-4)
    assert math.log1p(split.total) == pytest.approx(row.weight_b, rel=1e-4)
    assert sum(part for *_, part in split.rows) == pytest.approx(split.total)
    trace = found.traces[1]
    assert whatif.logit(row.id, row.at_b)(trace) == pytest.approx(split.total, rel=1e-5)  # the metric of any run
    # all of them together: each word's split, times what the other text and the logarithm make of it
    heads = [0.0, 0.0, 0.0]
    for word in found.words().itertuples():
        one = sources.logit(trace, word.at_b, word.id)
        factor = (
            word.weight_b
            / one.model
            * word.weight_a
            * found.words()["part"][word.Index]
            / (word.weight_a * word.weight_b)
        )
        for kind, layer, _, part in one.rows:
            if kind == "head":
                heads[layer] += part * factor
    by_head = found.by("head")["b"]
    for layer, total in enumerate(heads):
        own = by_head[[name for name in by_head.index if name.startswith(f"L{layer}·H")]].sum()
        assert own == pytest.approx(total, rel=1e-3, abs=1e-6)
    for name in ("layer", "head", "kind"):
        assert found.by(name).sum().tolist() == pytest.approx([found.value] * 2, rel=1e-4)
    with pytest.raises(InputError, match="the vector of text a has no word 'xylophone': it has "):
        found.why("xylophone")


@pytest.mark.parametrize("mode", ["max", "sum"])
def test_without_a_word_it_is_hidden_and_not_pooled(mode: str) -> None:
    model = sparse(mode)
    found = bl.similarity(bl.Lens(model), A, B)
    table = found.effects(3)
    a = by_loop(logits_of(model, A)[1], mode, "relu")
    for row in table.itertuples():
        ids, _ = logits_of(model, B)
        names = model.tokenizer.convert_ids_to_tokens(ids)
        if names.count(row.b) != 1:
            continue
        gone = (names.index(row.b),)
        b = by_loop(logits_of(model, B, without=gone)[1], mode, "relu", gone)
        expected = math.fsum(sum(a[word]) * sum(b[word]) for word in a.keys() & b.keys())
        assert row.without_b == pytest.approx(expected, rel=1e-4)
    assert any(row.b in B.split() for row in table.itertuples())


def test_the_answer_of_a_run_is_its_vector() -> None:
    """A head off: a copy of the model whose output matrix has none of it."""
    model = sparse()
    lens = bl.Lens(model)
    copied = copy.deepcopy(model)
    with torch.no_grad():
        copied[0].model.bert.encoder.layer[1].attention.output.dense.weight[:, 8:16] = 0  # head 1, 8 wide
    own, changed = (float(m.similarity(m.encode(A), m.encode(B))) for m in (model, copied))
    pair = lens.trace(A, B)
    assert pair.predictions()[["label", "logit"]].values.tolist() == [["dot product", pytest.approx(own, rel=1e-5)]]
    answers = whatif.answers(pair.rerun(whatif.off(1, 1)))
    assert (answers.unit, answers.rows[0].before, answers.rows[0].after) == (
        "dot product",
        pytest.approx(own, rel=1e-5),
        pytest.approx(changed, rel=1e-5),
    )
    trace, other = lens.trace(A), lens.trace(B)
    metric = whatif.similarity(other)
    assert metric(trace) == pytest.approx(own, rel=1e-5)
    one = float(model.similarity(copied.encode(A), model.encode(B)))
    assert metric(trace.rerun(whatif.off(1, 1))) == pytest.approx(one, rel=1e-5)
    cosine = torch.cosine_similarity(model.encode(A).to_dense(), copied.encode(A).to_dense(), dim=0)
    assert whatif.answers(trace.rerun(whatif.off(1, 1))).rows[0].after == pytest.approx(float(cosine), abs=1e-5)
    inner = model[0].model
    embedded = inner.get_input_embeddings()(trace.input_ids[None]).detach().requires_grad_()
    weights = torch.log1p(torch.relu(inner(inputs_embeds=embedded).logits[0])).amax(0)
    [slope] = torch.autograd.grad(weights @ model.encode(B).to_dense(), embedded)
    shares = gradient_input(trace, metric).values
    torch.testing.assert_close(shares.float(), (slope * embedded).sum(-1)[0].detach(), atol=1e-4, rtol=1e-3)


def test_no_more_words_than_the_model_has() -> None:
    model = sparse(max_active_dims=6)
    found = bl.similarity(bl.Lens(model), A, B)
    score = float(model.similarity(model.encode(A), model.encode(B)))
    assert len(found.vector("a")) == len(found.vector("b")) == 6 and found.value == pytest.approx(score, rel=1e-6)
    assert found.words()["part"].sum() == pytest.approx(score, rel=1e-6, abs=1e-6)
    plain = bl.word_vector(bl.Lens(sparse()), A)
    assert found.vector("a")["id"].tolist() == plain["id"].tolist()[:6]
    states = [side.trace.output.logits for side in found.sides]
    pooled = [found.lens.sentences.vectors(x, x.new_ones(x.shape[:2], dtype=torch.bool)) for x in states]
    torch.testing.assert_close(pooled, [side.reading.vector[None] for side in found.sides], atol=1e-5, rtol=1e-5)


def test_said_in_a_sentence() -> None:
    """Its numbers and names are those of the table."""
    found = bl.similarity(bl.Lens(sparse()), A, B)
    table = found.words()
    first, second = table["word"][:2]
    assert f"Both vectors have {len(table)} words of the vocabulary: “{first}” (" in found.said
    assert f" and “{second}” (" in found.said and "put most into " in found.said
    count = int((table["expansion_a"] | table["expansion_b"]).sum())
    assert f"Not a word of both texts: {count} of {len(table)}; “" in found.said
    row = next(row for row in table.itertuples() if row.expansion_a or row.expansion_b)
    side = "a" if row.expansion_a else "b"
    assert f"“{row.word}” is no word of text {side}, “{getattr(row, f'token_{side}')}” brings it." in found.said
    silent = sparse()
    with torch.no_grad():
        silent[0].model.cls.predictions.bias.fill_(-1000)
    nothing = bl.similarity(bl.Lens(silent), A, B)
    assert nothing.said == "The two vectors have no word of the vocabulary in common."
    assert nothing.value == 0 == nothing.pairs().to_numpy().sum() and nothing.gap == 0 and not len(nothing.words())
    assert nothing.by("kind").to_numpy().sum() == 0


def test_passages_are_ranked_with_the_words_that_put_most_in() -> None:
    model = sparse()
    found = bl.rank(bl.Lens(model), A, [*TEXTS, B], explained=2)
    scores = model.similarity(model.encode_query(A), model.encode_document([*TEXTS, B]))[0]
    assert list(found.index) == scores.argsort(descending=True).tolist()
    first = bl.similarity(bl.Lens(model), A, found.iloc[0]["passage"], TASKS)
    assert found.iloc[0]["words"].split(", ")[0] == first.tokens("b", words=True, own=True).idxmax()
    low, high = (bl.similarity(bl.Lens(model), A, B).against([words(9, n) for n in range(9)]).low for _ in range(2))
    assert low == high > 0


@pytest.mark.parametrize("text", ["a", "the cat " * 300, "猫"])
def test_one_token_and_more_than_it_reads(text: str) -> None:
    model = sparse()
    found = bl.similarity(bl.Lens(model), text, B)
    score = float(model.similarity(model.encode(text), model.encode(B)))
    assert found.value == pytest.approx(score, rel=1e-6)
    assert found.words()["part"].sum() == pytest.approx(score, rel=1e-6)
    assert any("cut to 40 tokens" in note for note in found.notes) == (len(text) > 99)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_dtypes(dtype: torch.dtype) -> None:
    half = dtype == torch.bfloat16
    model = sparse("sum" if half else "max").to(dtype)
    lens = bl.Lens(model)
    vectors = model.encode([A, B])
    score = float(vectors[0].to_dense().double() @ vectors[1].to_dense().double())
    found = bl.similarity(lens, A, B)
    assert found.value == pytest.approx(score, rel=0.02 if half else 1e-9)
    assert abs(found.gap) < 1e-5 * score
    assert found.words()["part"].sum() == pytest.approx(found.value, rel=1e-6)
    assert float(lens.similarity(lens.encode([A]), lens.encode([B]))) == pytest.approx(score, rel=0.02)


def test_of_another_family(tmp_path: Any) -> None:
    """RoBERTa's vocabulary has words with a blank before them: they are the text's own at its start, too."""
    family = tiny.FAMILIES["roberta"]
    import transformers as tf

    config = family.model().config
    tiny.shaken(tf.RobertaForMaskedLM(config)).save_pretrained(tmp_path)
    family.tokenizer(model_max_length=40).save_pretrained(tmp_path)
    first = base.Transformer(str(tmp_path), transformer_task="fill-mask")
    model = st.SparseEncoder(modules=[first, splade.SpladePooling("max")], device="cpu")
    found = bl.similarity(bl.Lens(model), "the cat sat on the mat", "the mat was warm")
    score = float(model.similarity(model.encode("the cat sat on the mat"), model.encode("the mat was warm")))
    assert found.words()["part"].sum() == pytest.approx(score, rel=1e-6)
    table = found.vector("a")
    names = table["word"].str.removeprefix("␣").str.removeprefix("##")
    assert not table["expansion"][names.isin(["the", "cat", "mat"]) & ~table["word"].str.startswith("##")].any()
    assert found.by("layer").sum().tolist() == pytest.approx([score] * 2, rel=1e-3)


def _static() -> Any:
    return splade.SparseStaticEmbedding(tiny.wordpiece())


def _routed() -> Any:
    return [base.Router.for_query_document([_static()], [*sparse()])]


REFUSED = {
    "router": (
        _routed,
        r"has a Router, .* Lens\(SparseEncoder\(modules=\[\*model\[0\]\.sub_modules\['document'\]\]\)\)",
    ),
    "static": (lambda: [_static()], "has a SparseStaticEmbedding, a table with one weight a token"),
    "csr": (
        lambda: [base.Transformer(folder()), parts.Pooling(32), splade.SparseAutoEncoder(32, 64)],
        r"has a SparseAutoEncoder, whose numbers are of no words: .*SentenceTransformer\(modules=\[\*model\]\[:2\]",
    ),
    "states": (
        lambda: [base.Transformer(folder()), splade.SpladePooling()],
        "has a module Transformer for feature-extraction of text, which is not .*transformer_task='fill-mask'",
    ),
    "normal": (lambda: [*sparse(), base.Normalize()], "has a module Normalize, which is not read here"),
    "bare": (lambda: [sparse()[0]], "has no SpladePooling: its logits are no vector of a text"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_modules_are_refused_with_the_way_out(name: str) -> None:
    made, message = REFUSED[name]
    model = st.SparseEncoder(modules=made(), device="cpu")
    with pytest.raises(ModelError, match=message) as caught:
        bl.Lens(model)
    assert "\n" not in str(caught.value)
    if name == "router":  # the way out
        route = st.SparseEncoder(modules=[*model[0].sub_modules["document"]], device="cpu")
        assert bl.Lens(route).encode(A).is_sparse
    if name == "csr":
        assert bl.Lens(st.SentenceTransformer(modules=[*model][:2], device="cpu")).encode(A).shape == (32,)


def test_what_it_has_not_is_one_sentence_and_the_object_stays(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = sparse(similarity_fn_name="manhattan").train()
    states = [module.training for module in model.modules()]
    lens = bl.Lens(model)
    found = bl.similarity(lens, A, B)
    for call in (found.words, found.pairs, lambda: found.by("layer")):
        with pytest.raises(ModelError, match="the Manhattan distance adds up absolute values"):
            call()
    assert found.said == "" and "Manhattan" in repr(found) and len(found.vector("a"))
    model.similarity_fn_name = "dot"
    found = bl.similarity(lens, A, B)
    for call in (lambda: found.pairs("input"), lambda: found.tokens("a", "input"), lambda: [*found.steps()]):
        with pytest.raises(ModelError, match=r"of='output'; \.why\(word\) splits"):
            call()
    with pytest.raises(SelectionError, match="no side 'c'"):
        found.vector("c")
    with pytest.raises(ModelError, match=r"bl\.word_vector is of a SparseEncoder"):
        bl.word_vector(bl.Lens(encoder()), A)
    with monkeypatch.context() as patch:
        patch.setattr(type(model[1]), "forward", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            lens.encode([A], "query")
    assert [module.training for module in model.modules()] == states
    assert not any(module._forward_hooks for module in model.modules())
    model.save_pretrained(str(tmp_path / "sparse"))
    again = bl.Lens.from_pretrained(tmp_path / "sparse")
    torch.testing.assert_close(again.encode(B, "document").to_dense(), model.encode_document(B).to_dense())
    traces = found.traces
    with torch.no_grad():
        model[0].model.bert.embeddings.word_embeddings.weight.mul_(2)
    for call in (lambda: found.traces, lambda: found.by("kind"), lambda: found.why(found.words()["word"][0])):
        with pytest.raises(ModelError, match="has changed"):
            call()
    assert len(traces) == 2


def _interrupted(self: Any, features: Any) -> Any:
    raise KeyboardInterrupt


def test_what_was_saved_before_5_4() -> None:
    """Its first module is of a class of its own."""
    first = splade.MLMTransformer(folder("BertForMaskedLM"))
    assert type(first).__name__ == "MLMTransformer"
    model = st.SparseEncoder(modules=[first, splade.SpladePooling()], device="cpu")
    assert bl.word_vector(bl.Lens(model), A)["id"].tolist() == bl.word_vector(bl.Lens(sparse()), A)["id"].tolist()


def test_an_assembled_model_does_not_change_in_its_first_pass() -> None:
    """The package notes the vocabulary's size when it first encodes."""
    model = sparse()
    lens = bl.Lens(model)
    trace = lens.trace(A)
    model.encode([B])
    assert trace.rerun(whatif.off(0, 0)).n_tokens == trace.n_tokens
