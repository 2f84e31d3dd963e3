"""Contrasts of late interaction and of cross-encoders, against the library's own vectors and planted weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import whatif
from bertlens.errors import BertLensError, ModelError
from bertlens.search.contrast import contrast
from unit.tiny_encoders import PROMPTS, base, crossed, encoder, folder, st

pytest.importorskip("sentence_transformers", minversion="6.2")
from sentence_transformers.multi_vector_encoder import modules as multi

Q, W, R = (
    "was the cat very warm.",
    "the unbelievable cats sat on the mat.",
    "it was very warm, the cat. unbelievable mat",
)


def late(expansion: Any = None, skip: tuple[str, ...] = (".", ","), **settings: Any) -> Any:
    torch.manual_seed(3)
    steps = [
        base.Transformer(folder(), query_expansion=expansion),
        base.Dense(32, 12, bias=False, activation_function=None, module_input_name="token_embeddings"),
        multi.MultiVectorMask([*skip]),
        base.Normalize(module_input_name="token_embeddings"),
    ]
    return st.MultiVectorEncoder(modules=steps, device="cpu", prompts=PROMPTS, **settings)


@pytest.mark.parametrize("function", ["maxsim", "meanmaxsim"])
def test_late_interaction_by_token_of_the_question(function: str) -> None:
    """Each token's best product in either passage, by a loop over the library's own vectors, words summed."""
    model = late({"strategy": "fixed", "attend": False, "length": 14}, similarity_fn_name=function)
    found = contrast(bl.Lens(model), Q, W, R)
    q, *passages = (
        vectors.double() for vectors in (model.encode_query(Q), model.encode_document(W), model.encode_document(R))
    )
    assert len(q) == 14 and len(found.query) == 14  # each of them one token here, three of them added
    size = 14 if function == "meanmaxsim" else 1
    for name, score, d in zip(("wrong", "right"), found.scores, passages, strict=True):
        best = [max(float(i @ j) for j in d) / size for i in q]
        np.testing.assert_allclose(found.query[name], best, atol=1e-6)
        assert score == pytest.approx(sum(best), abs=1e-5) and getattr(found, name)["part"].sum() == pytest.approx(
            score
        )
    assert abs(found.gap) < 1e-5 and list(found.query["at"]) == list(range(14)) and found.norms.empty
    assert "3 tokens are added to the question, and scored." in found.notes
    marks = found.right[found.right["word"].isin([".", ","])]
    assert (
        len(marks) == 2 and not marks["part"].any() and "2 tokens of the right passage are not scored." in found.notes
    )
    assert found.named in W and found.named.isalpha() and "of the question prefer" in found.said
    with pytest.raises(ModelError, match="layers have no parts of them"):
        found.by("layer")
    with pytest.raises(ModelError, match="take words out of it with how='deleted'"):
        found.scores_without("query", [[4]])
    with pytest.raises(BertLensError, match="tokens' own vectors alone"):
        contrast(bl.Lens(model), Q, W, R, of="input")


def test_late_interaction_without_a_word() -> None:
    """Masked by hand, positions as they were; neither the word nor the skip-list is matched by a token."""
    model = late(skip=("cat", "."))
    found = contrast(bl.Lens(model), Q, W, R)
    for text, version in zip(("query", "wrong", "right"), (Q, W, R), strict=True):
        np.testing.assert_allclose(found.scores_without(text, [[]])[0], found.scores, atol=1e-5)
        np.testing.assert_allclose(found.scores_of(text, [version])[0], found.scores, atol=1e-5)
    inputs = model.tokenizer(PROMPTS["document"] + R, return_tensors="pt")
    names = np.array(model.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]))
    inputs["attention_mask"][0, np.flatnonzero(names == "warm")] = 0
    with torch.no_grad():
        vectors = model[1].linear(model[0].model(**inputs).last_hidden_state[0]).double()
    vectors = torch.nn.functional.normalize(vectors, dim=-1)[~np.isin(names, ["warm", "cat", "."])]
    expected = sum(max(float(i @ j) for j in vectors) for i in model.encode_query(Q).double())
    for of in ("query", "passages"):
        for name in ("layer", "head", "kind"):
            sums = found.by(name, of).sum()  # type: ignore[call-arg]
            np.testing.assert_allclose(sums, [*found.scores, found.difference], atol=1e-5)
    assert abs(found.by("head").loc["L1·H2"]).min() > 0
    table = found.without("warm", "right", n_random=0)
    assert table["right"][1] == pytest.approx(expected, abs=1e-5)
    assert table["right"][1] != pytest.approx(found.scores[1], abs=1e-4) and table["wrong"][1] == found.scores[0]
    np.testing.assert_allclose(found.scores_changed([whatif.scale(0, 1, 1.0)]), found.scores, atol=1e-5)
    changed = found.scores_changed([whatif.off(0, 1)])
    assert abs(np.subtract(changed, found.scores)).min() > 1e-4


def test_a_cross_encoder_has_the_difference_of_two_logits() -> None:
    model = crossed()
    found = contrast(bl.Lens(model), Q, W, R)
    logits = model.predict([(Q, W), (Q, R)], activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(found.scores, logits, atol=1e-5)
    total = found.query["difference"].sum() + found.wrong["part"].sum() - found.right["part"].sum()
    assert total == pytest.approx(found.difference, abs=1e-5) and found.gap == pytest.approx(
        total - found.difference, abs=1e-9
    )
    assert list(found.query["word"]) == ["[CLS]", "was", "the", "cat", "very", "warm", ".", "[SEP]", "[SEP]", "bias"]
    assert list(found.wrong["word"]) == ["the", "unbelievable", "cats", "sat", "on", "the", "mat", "."]
    for name in ("layer", "head", "kind"):
        table = found.by(name)
        np.testing.assert_allclose(table.sum(), [*found.scores, found.difference], atol=1e-5)
    assert {"L0·H1", "L2·MLP", "embeddings", "bias"} <= set(found.by("head").index)
    parts = found.fetched(1, 2)  # type: ignore[attr-defined]
    for table, part in zip(parts, found.by("head").loc["L1·H2", ["wrong", "right"]], strict=True):
        assert table["part"].sum() == pytest.approx(part, abs=1e-6) and table["token"][0] == "[CLS]"
    assert found.notes[0].startswith("A cross-encoder reads question and passage as one input")
    for text, version in zip(("query", "wrong", "right"), (Q, W, R), strict=True):
        np.testing.assert_allclose(found.scores_without(text, [[]])[0], found.scores, atol=1e-5)
        np.testing.assert_allclose(found.scores_of(text, [version])[0], found.scores, atol=1e-5)
    rewritten = found.rewritten(right="it was")
    np.testing.assert_allclose(
        rewritten.scores[1], model.predict([(Q, "it was")], activation_fn=torch.nn.Identity())[0], atol=1e-5
    )
    assert rewritten.scores[0] == found.scores[0]
    np.testing.assert_allclose(
        found.scores_changed([whatif.off(0, 1)])[0],
        float(bl.Lens(model).trace(Q, W).rerun(whatif.off(0, 1)).output.logits),
        atol=1e-6,
    )


def test_a_planted_word_of_a_cross_encoder_is_named() -> None:
    """Even attention; head 0 of layer 0 carries what “sat” alone has to [CLS], where the classifier reads it."""
    model = crossed()
    inner = model[0].model
    with torch.no_grad():
        for layer in inner.bert.encoder.layer:
            for part in (
                layer.attention.self.query,
                layer.attention.self.key,
                layer.attention.output.dense,
                layer.output.dense,
            ):
                part.weight.zero_(), part.bias.zero_()
        words = inner.bert.embeddings.word_embeddings.weight
        words[:, 0] = 0
        words[model.tokenizer.convert_tokens_to_ids("sat"), 0] = 10
        layer = inner.bert.encoder.layer[0].attention
        layer.self.value.weight.zero_(), layer.self.value.bias.zero_()
        layer.self.value.weight[0, 0] = 1
        layer.output.dense.weight[1, 0] = 5
        inner.bert.pooler.dense.weight.copy_(torch.eye(32)), inner.bert.pooler.dense.bias.zero_()
        inner.classifier.weight.zero_()
        inner.classifier.weight[0, 1] = 1
    found = contrast(bl.Lens(model), Q, W, R)
    assert found.difference > 0.05 and abs(found.gap) < 1e-5
    assert found.named == "sat" and found.wrong.set_index("word")["part"].idxmax() == "sat"
    assert "“sat” puts in most" in found.said or found.said == "No word of the question prefers the wrong passage."
    heads = found.by("head")["difference"]
    assert heads[[row for row in heads.index if "·H" in row]].idxmax() == "L0·H0"
    wrong, _ = found.fetched(0, 0)  # type: ignore[attr-defined]
    assert wrong.loc[wrong["part"].idxmax(), "token"] == "sat"
    assert found.scores_without("wrong", [found.words("wrong").tokens("sat")])[0, 0] < found.scores[0] - 0.05


def test_what_a_cross_encoder_cannot_be_asked() -> None:
    lens = bl.Lens(crossed())
    with pytest.raises(BertLensError, match="a cross-encoder has no vectors: words are split by what went in"):
        contrast(lens, Q, W, R, of="output")
    with pytest.raises(BertLensError, match="an empty passage makes none: leave it out"):
        contrast(lens, Q, "", R)
    with pytest.raises(ModelError, match="gives 3 labels to a pair, not one score to rank by"):
        contrast(bl.Lens(crossed(3)), Q, W, R)
    with pytest.raises(ModelError, match="the question is cut otherwise beside either passage"):
        contrast(lens, "the cat " * 16, "the mat " * 16, R)
    cut = contrast(lens, Q, "the cat " * 40, R)
    assert "The wrong passage is cut: both texts together are 40 tokens." in cut.notes and abs(cut.gap) < 1e-5


def test_half_precision_of_a_cross_encoder_is_no_other_reading() -> None:
    model = crossed().to(torch.bfloat16)
    found = contrast(bl.Lens(model), Q, W, R)
    logits = model.predict([(Q, W), (Q, R)], activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(found.scores, np.asarray(logits, dtype=float), atol=0.05)


@pytest.mark.parametrize("model", [late, crossed, encoder])
def test_words_that_the_tokenizer_does_not_know_are_counted(model: Any) -> None:
    found = contrast(bl.Lens(model()), "was the 猫 warm", "the 大 小 mat", R)
    about = "unknown to the tokenizer, and the model reads all such as one word."
    assert found.notes[-2:] == (f"The question: 1 token is {about}", f"The wrong passage: 2 tokens are {about}")
