"""Models that answer with something else than vectors: what they are is said, and what does rank with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers as tf

import bertlens as bl
from bertlens.errors import BertLensError, ModelError
from unit import tiny
from unit.tiny_encoders import base, encoder, folder, parts, st

QUIET: dict[str, Any] = {"progress": False}
COLLECTION = {"q": "who sat"}, {"a": "the cat sat", "b": "it was warm"}, {"q": ["a"]}


def lens_of(kind: str, labels: int) -> bl.Lens:
    return bl.Lens(getattr(tf, kind).from_pretrained(folder(kind, labels)), tiny.wordpiece())


def sentences(lens: bl.Lens) -> set[str]:
    first = bl.Lens(encoder())
    said = set()
    for call in (
        lambda: bl.rank(lens, "who sat", ["the cat sat", "it"], **QUIET),
        lambda: lens.encode("the cat"),
        lambda: lens.similarity("the cat", "it"),
        lambda: bl.similarity(lens, "the cat", "it"),
        lambda: bl.retrieval(lens, *COLLECTION, keep=False, **QUIET),
        lambda: bl.retrieval(lens, *COLLECTION, first_stage=first, keep=False, **QUIET),
    ):
        with pytest.raises(BertLensError) as error:
            call()
        said.add(str(error.value))
    return said


def test_a_reranker_is_given_as_a_cross_encoder() -> None:
    lens = lens_of("BertForSequenceClassification", 1)
    [said] = sentences(lens)
    assert "answers with one logit and makes no vectors, as a reranker does: Lens(CrossEncoder(…))" in said
    cross = st.CrossEncoder(folder("BertForSequenceClassification", 1), device="cpu")  # as the sentence says
    ranking = bl.rank(bl.Lens(cross), "who sat", ["the cat sat", "it"], **QUIET)
    own = cross.predict([("who sat", "the cat sat"), ("who sat", "it")])
    np.testing.assert_allclose(ranking.sort_index()["score"], own, atol=1e-6)


def test_a_classifier_is_no_encoder() -> None:
    [said] = sentences(lens_of("BertForSequenceClassification", 3))
    assert "answers with 3 logits of labels and makes no vectors" in said and "give Lens its encoder" not in said


def test_a_masked_model_has_an_encoder() -> None:
    lens = lens_of("BertForMaskedLM", 2)
    [said] = sentences(lens)
    assert said.endswith("give Lens its encoder")
    encoder_of = bl.Lens(lens.model.bert, lens.tokenizer)  # type: ignore[arg-type]
    assert len(bl.rank(encoder_of, "who sat", ["the cat", "it"], **QUIET)) == 2


def test_the_vector_of_dpr_is_its_first_tokens(tmp_path: Path) -> None:
    model: Any = tiny.shaken(tf.DPRQuestionEncoder(tf.DPRConfig(**tiny.BERT))).eval()
    [said] = sentences(bl.Lens(model, tiny.wordpiece()))
    assert "the vector of its first token: give Lens a SentenceTransformer of the encoder in it" in said
    bert = tf.BertModel(tf.BertConfig(**tiny.BERT), add_pooling_layer=False)
    bert.load_state_dict(model.question_encoder.bert_model.state_dict())
    bert.save_pretrained(tmp_path)
    tiny.wordpiece().save_pretrained(tmp_path)
    own = model(**tiny.wordpiece()("the cat", return_tensors="pt")).pooler_output[0].detach()
    modules = [base.Transformer(str(tmp_path)), parts.Pooling(32, "cls")]
    made = bl.Lens(st.SentenceTransformer(modules=modules, device="cpu")).encode("the cat")
    np.testing.assert_allclose(made, own, atol=1e-5)


@pytest.mark.parametrize("kind", ["BertModel", "BertForSequenceClassification"])
def test_scores_that_are_no_numbers_are_not_ranked(kind: str) -> None:
    if kind == "BertModel":
        model: Any = encoder()
    else:
        model = st.CrossEncoder(folder(kind, 1), device="cpu")
    next(model[0].model.parameters()).data.fill_(float("nan"))
    with pytest.raises(ModelError, match=r"gives scores that are no numbers \(NaN or infinite\)"):
        bl.rank(bl.Lens(model), "who sat", ["the cat", "it"], **QUIET)
