"""The model's answers against its own output, called from outside bertlens, and its own head on each layer's state."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import transformers as tf

from bertlens import Lens, ModelError, SelectionError, Trace, whatif
from bertlens.measures.offers import offers
from bertlens.text.display import spelling_of
from bertlens.whatif import before_after
from bertlens.whatif.swept_numbers import swept_numbers
from unit import tiny

MASKED = "the cat [MASK] on the [MASK]"
COLUMNS = ["position", "layer", "rank", "token", "logit", "probability"]


def lens_of(kind: str, **settings: Any) -> Lens:
    config = tf.BertConfig(**tiny.BERT | settings)
    return Lens(tiny.shaken(getattr(tf, f"BertFor{kind}")(config)), tiny.wordpiece())


def output_of(lens: Lens, trace: Trace) -> Any:
    with torch.no_grad():
        return lens.model(trace.input_ids[None], token_type_ids=trace.token_type_ids[None], output_hidden_states=True)


@pytest.mark.parametrize("kind", ["MaskedLM", "PreTraining"])
def test_words_at_masks(kind: str) -> None:
    lens = lens_of(kind)
    trace = lens.trace(MASKED)
    table = trace.predictions(k=3)
    assert list(table.columns) == COLUMNS and len(table) == 6
    assert table.position.tolist() == [3, 3, 3, 6, 6, 6] and table["rank"].tolist() == [0, 1, 2] * 2
    assert set(table.layer) == {2}
    output = output_of(lens, trace)
    logits = (output.logits if kind == "MaskedLM" else output.prediction_logits)[0]
    for position, rows in table.groupby("position"):
        values = logits[position].double()
        order = values.argsort(descending=True)[:3]
        assert rows.token.tolist() == [tiny.VOCABULARY[i] for i in order]
        chance = [math.exp(float(values[i])) / sum(math.exp(float(v)) for v in values) for i in order]
        assert rows.logit.tolist() == pytest.approx(values[order].tolist(), abs=1e-5)
        assert rows.probability.tolist() == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize("name", ["Bert", "Esm", "Roberta", "DistilBert", "Albert", "ModernBert"])
def test_the_models_own_head_on_every_layer(name: str) -> None:
    """At the last layer it is the model's answer, to the last bit; before, the head called on that layer's output."""
    family = next(f for n, f in tiny.FAMILIES.items() if n == name.lower())
    model = tiny.shaken(getattr(tf, f"{name}ForMaskedLM")(family.model().config))
    lens = Lens(model, family.tokenizer())
    trace = lens.trace(f"the cat {lens.tokenizer.mask_token} on the mat")
    every = trace.predictions(k=4, layer="all")
    last = trace.n_layers - 1
    answer = trace.predictions(k=4)
    assert every[every.layer == last].reset_index(drop=True).equals(answer)
    assert trace.predictions(k=4, layer=last).equals(answer)
    state = trace.layer_output(1)[None]
    heads = {
        "Bert": lambda x: model.cls(x),
        "Roberta": lambda x: model.lm_head(x),
        "DistilBert": lambda x: model.vocab_projector(
            model.vocab_layer_norm(model.activation(model.vocab_transform(x)))
        ),
        "Albert": lambda x: model.predictions(x),
        "Esm": lambda x: model.lm_head(model.esm.encoder.emb_layer_norm_after(x)),
        "ModernBert": lambda x: model.decoder(model.head(model.model.final_norm(x))),
    }
    with torch.no_grad():
        logits = heads[name](state)[0]
    rows = every[every.layer == 1]
    best = logits[int(rows.position.iloc[0])].topk(4)
    assert rows.logit.tolist() == pytest.approx(best.values.tolist(), abs=1e-5)
    pieces = lens.tokenizer.convert_ids_to_tokens(best.indices.tolist())
    assert rows.token.tolist() == [spelling_of(lens.tokenizer).display(piece) for piece in pieces]
    changed = trace.rerun(whatif.off(0))
    assert (
        changed.predictions(4, layer="all")[every.layer == last].reset_index(drop=True).equals(changed.predictions(4))
    )
    assert not changed.predictions(4).equals(answer)


def test_labels() -> None:
    """Of a text, of several at once, of one number; of each token."""
    names = {0: "cold", 1: "mild", 2: "warm"}
    settings = {"num_labels": 3, "id2label": names, "label2id": {v: k for k, v in names.items()}}
    lens = lens_of("SequenceClassification", **settings)
    trace = lens.trace("it was warm")
    table = trace.predictions(k=2)
    logits = output_of(lens, trace).logits[0].double()
    order = logits.argsort(descending=True)[:2]
    assert list(table.columns) == [name if name != "token" else "label" for name in COLUMNS]
    assert table.label.tolist() == [names[int(i)] for i in order] and set(table.position) == {-1}
    assert table.probability.tolist() == pytest.approx(logits.softmax(0)[order].tolist(), abs=1e-6)
    lens = lens_of("SequenceClassification", problem_type="multi_label_classification", **settings)
    table = lens.trace("it was warm").predictions()
    assert len(table) == 3
    assert table.probability.tolist() == pytest.approx([1 / (1 + math.exp(-x)) for x in table.logit])
    table = lens_of("SequenceClassification", num_labels=1).trace("it was warm").predictions()
    assert len(table) == 1 and table.probability.isna().all()
    lens = lens_of("TokenClassification", **settings)
    trace = lens.trace("it was warm")
    table = trace.predictions(k=1)
    logits = output_of(lens, trace).logits[0]
    assert table.position.tolist() == [1, 2, 3]  # not the template's tokens
    assert table.label.tolist() == [names[int(i)] for i in logits[1:4].argmax(-1)]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("SequenceClassification", {"num_labels": 3, "problem_type": "regression"}),
        ("TokenClassification", {"num_labels": 1}),
    ],
)
def test_numbers_that_are_no_classes_have_no_probability(kind: str, settings: dict[str, Any]) -> None:
    """A softmax would say 1 of a single output, and shares of a regression's."""
    trace = lens_of(kind, **settings).trace("it was warm")
    run = trace.rerun(whatif.off(0, 1))
    assert trace.predictions().probability.isna().all()
    answers = before_after.answers(run)
    assert answers.unit == "logit"
    assert trace.lens is not None
    logits = output_of(trace.lens, trace).logits[0].double()
    expected = logits[1:4, 0] if kind == "TokenClassification" else logits.sort(descending=True).values
    assert [row.before for row in answers.rows][:3] == pytest.approx(expected.tolist(), abs=1e-5)
    assert "divergence" not in swept_numbers(run)
    with pytest.raises(ModelError, match="no one distribution"):
        whatif.divergence(position=1 if kind == "TokenClassification" else None)(run)


def test_several_labels_at_once_are_no_distribution() -> None:
    lens = lens_of("SequenceClassification", problem_type="multi_label_classification", num_labels=3)
    run = lens.trace("it was warm").rerun(whatif.off(0, 1))
    assert "divergence" not in swept_numbers(run)
    with pytest.raises(ModelError, match="no one distribution"):
        whatif.divergence()(run)


def test_a_discriminator_predicts_no_words() -> None:
    """ELECTRA's says of each token whether it was replaced: (B, S) logits."""
    model = tiny.shaken(tf.ElectraForPreTraining(tf.ElectraConfig(**tiny.BERT, embedding_size=16)))
    lens = Lens(model, tiny.wordpiece())
    trace = lens.trace(MASKED)
    with pytest.raises(ModelError, match="not read here"):
        trace.predictions()
    assert "not read here" in offers(trace)["predictions"]
    with pytest.raises(ModelError, match="not read here"):
        before_after.answers(trace.rerun(whatif.off(0, 0)))
    assert "<main" in trace.explore().to_html()


def test_spans() -> None:
    """All spans of the second text, tried one by one."""
    lens = lens_of("QuestionAnswering")
    trace = lens.trace("was it warm", "the cat sat on the mat")
    output = output_of(lens, trace)
    start, end = output.start_logits[0].double(), output.end_logits[0].double()
    inside = [i for i in range(trace.n_tokens) if trace.segments[i] == 1 and not trace.special_mask[i]]
    spans = sorted(((float(start[i] + end[j]), i, j) for i in inside for j in inside if i <= j), reverse=True)
    table = trace.predictions(k=4)
    assert table.position.tolist() == [i for _, i, _ in spans[:4]]
    assert table.logit.tolist() == pytest.approx([value for value, _, _ in spans[:4]], abs=1e-5)
    assert table.token.tolist() == [" ".join(trace.tokens[i : j + 1]) for _, i, j in spans[:4]]
    chance = [float(start.softmax(0)[i] * end.softmax(0)[j]) for _, i, j in spans[:4]]
    assert table.probability.tolist() == pytest.approx(chance, abs=1e-6)


def test_similarity_of_two_texts() -> None:
    """Each alone, its mean over all tokens; not what the pair's pass has, where each sees the other."""
    lens = Lens(tiny.bert(), tiny.wordpiece())
    texts = ("the cat sat", "it was very warm")
    pair = lens.trace(*texts)

    def cosine(*states: torch.Tensor) -> float:
        one, other = (state.double().sum(0) / len(state) for state in states)
        return float(one @ other / one.norm() / other.norm())

    table = pair.predictions(layer=None)
    expected = cosine(*(lens.trace(text).layer_output(2) for text in texts))
    assert table.logit.tolist() == pytest.approx([expected], abs=1e-6)
    assert table.label[0] == "cosine similarity (mean of all tokens)"
    by_layer = pair.predictions(layer="all").logit.tolist()
    assert by_layer == pytest.approx(
        [cosine(*(lens.trace(t).layer_output(n) for t in texts)) for n in range(3)], abs=1e-6
    )
    changed = pair.rerun(whatif.off(1, 2)).predictions().logit.tolist()
    expected = cosine(*(lens.trace(text).rerun(whatif.off(1, 2)).layer_output(2) for text in texts))
    assert changed == pytest.approx([expected], abs=1e-6)
    # a token of the first text alone is hidden there; one that is cut from the other text's is in neither
    changed = pair.rerun(whatif.hide(2)).predictions().logit.tolist()
    states = lens.trace(texts[0]).rerun(whatif.hide(2)).layer_output(2), lens.trace(texts[1]).layer_output(2)
    assert changed == pytest.approx([cosine(*states)], abs=1e-6) and abs(changed[0] - expected) > 1e-4
    with pytest.raises(ModelError, match=r"token 2 looks at token 6 cut.*trace them apart"):
        pair.rerun(whatif.cut(0, 1, 2, 6)).predictions()


def test_what_is_no_answer_is_one_sentence() -> None:
    words, plain = lens_of("MaskedLM"), Lens(tiny.bert(), tiny.wordpiece())
    given = Trace.from_attentions(torch.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    causal = Lens(tiny.shaken(tf.GPT2LMHeadModel(tiny.FAMILIES["gpt2"].model().config)), tiny.gpt_like())
    cases = [
        (words.trace("the cat"), r"no token of this text is masked: write \[MASK\]"),
        (plain.trace("the cat"), "has no head that answers: trace a pair"),
        (given, "made from attention weights"),
        (causal.trace("the cat"), "an answer that is not read here"),
    ]
    for trace, words_of in cases:
        with pytest.raises(ModelError, match=words_of) as caught:
            trace.predictions()
        assert offers(trace)["predictions"] == str(caught.value)
    assert offers(words.trace(MASKED))["predictions"] == ""
    for wrong in ({"k": 0}, {"k": True}, {"layer": 3}, {"layer": "last"}, {"layer": -1}):
        with pytest.raises(SelectionError):
            words.trace(MASKED).predictions(**wrong)
