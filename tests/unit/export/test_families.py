"""The pass of js/src/engine for other families than BERT, and what their heads answer: small random models, on the
weights that a page has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import whatif
from bertlens.errors import ExportError
from bertlens.export import page_heads, page_weights
from bertlens.widgets.answers import whatif as answers
from unit import tiny
from unit.export import engine

BERT, ROBERTA = tiny.BERT, tiny.ROBERTA
DISTIL = {"vocab_size": BERT["vocab_size"], "max_position_embeddings": 64}
DISTIL |= {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}
NARROW = {"embedding_size": 16}
FAMILIES: dict[str, tuple[Any, Any]] = {  # model, tokenizer
    "RoBERTa": (lambda: tf.RobertaModel(tf.RobertaConfig(**ROBERTA)), tiny.roberta_like),
    "XLM-R": (lambda: tf.XLMRobertaModel(tf.XLMRobertaConfig(**ROBERTA)), tiny.roberta_like),
    "CamemBERT": (lambda: tf.CamembertModel(tf.CamembertConfig(**ROBERTA)), tiny.roberta_like),
    "ELECTRA": (lambda: tf.ElectraModel(tf.ElectraConfig(**BERT, **NARROW)), tiny.wordpiece),
    "DistilBERT": (lambda: tf.DistilBertModel(tf.DistilBertConfig(**DISTIL)), tiny.wordpiece),
    "ALBERT": (lambda: tf.AlbertModel(tf.AlbertConfig(**BERT, **NARROW)), tiny.wordpiece),
    "ALBERT in groups": (
        lambda: tf.AlbertModel(tf.AlbertConfig(**BERT | {"num_hidden_layers": 4}, **NARROW, num_hidden_groups=2)),
        tiny.wordpiece,
    ),
    **{
        f"BERT, {name}": (lambda name=name: tf.BertModel(tf.BertConfig(**BERT, hidden_act=name)), tiny.wordpiece)
        for name in ("gelu_new", "relu", "silu")
    },
}
CHANGES = [{"kind": "off", "layer": 1, "head": 2}, {"kind": "hide", "token": 2}]
CHANGES += [{"kind": "cut", "layer": 0, "head": 1, "query": 1, "key": 3}]


def lens_of(model: Any, tokenizer: Any, seed: int = 0) -> bl.Lens:
    """Weights of a trained model's size: a stack of larger ones makes more of every rounding."""
    return bl.Lens(tiny.shaken(model, seed, scale=0.15), tokenizer)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_pass_of_a_family_is_torchs(family: str, tmp_path: Path):
    model, tokenizer = FAMILIES[family]
    lens = lens_of(model(), tokenizer())
    engine.write(lens.borrowed, tmp_path)
    same = bl.Lens(engine.rounded(lens.borrowed), lens.tokenizer)
    padded = "the cat <pad> sat on the mat" if family == "RoBERTa" else "the cats sat."
    traces = [same.trace(padded), same.trace(*tiny.TEXTS[1])]
    found, _ = engine.passes(lens.borrowed, tmp_path, [(traces[0], []), (traces[1], []), (traces[0], CHANGES)])
    changed = traces[0].rerun(whatif.off(1, 2), whatif.hide(2), whatif.cut(0, 1, 1, 3))
    states = same.model(**same.tokenizer(*tiny.TEXTS[1], return_tensors="pt"), output_hidden_states=True).hidden_states
    assert len(states) == traces[1].n_layers + 1
    for layer, state in enumerate(states):  # the library's own
        np.testing.assert_allclose(found[1][f"stream.{layer}"], state.detach().numpy().ravel(), atol=1e-5)
    for arrays, trace in zip(found, [*traces, changed], strict=True):
        for layer in range(trace.n_layers):
            apart = engine.attention(arrays, layer, trace) - trace.attention(layer).double()
            assert apart.abs().max() <= 1e-5
            for name, own in (("q", trace.query(layer)), ("k", trace.key(layer)), ("v", trace.value(layer))):
                np.testing.assert_allclose(arrays[f"{layer}.{name}"], own.numpy().ravel(), atol=1e-5)
            own = trace.layer_output(layer)
            np.testing.assert_allclose(arrays[f"stream.{layer + 1}"], own.numpy().ravel(), atol=1e-5)


def test_word_vectors_of_8_bits_are_those_that_the_page_computes_with(tmp_path: Path):
    lens = lens_of(tf.ElectraModel(tf.ElectraConfig(**BERT, embedding_size=64)), tiny.wordpiece())
    engine.write(lens.borrowed, tmp_path, small=True)
    same = bl.Lens(engine.rounded(lens.borrowed, small=True), lens.tokenizer)
    trace = same.trace(tiny.TEXTS[0])
    [arrays], _ = engine.passes(lens.borrowed, tmp_path, [(trace, [])])
    np.testing.assert_allclose(arrays["stream.3"], trace.layer_output(2).numpy().ravel(), atol=1e-5)
    own, kept = (one.embeddings.word_embeddings.weight.detach() for one in (lens.model, same.model))
    most = own.reshape(-1, 2, 32).abs().amax(-1, keepdim=True)
    assert ((own - kept).reshape(-1, 2, 32).abs() <= most / 127 * 0.51).all()  # half a step, its factor in 16 bits
    assert (own - kept).abs().max() > most.max() / 127 / 3
    for a, b in zip(lens.model.encoder.parameters(), same.model.encoder.parameters(), strict=True):
        a, b = a.detach().double(), b.detach().double()
        step = engine.steps(a.numpy(), 700, 2**14 - 1) if a.ndim > 1 else 0
        assert ((a - b).abs().numpy() <= step * 0.505).all()


# What heads answer

LABELS = {"id2label": {0: "bad", 1: "so so", 2: "good"}}
MASKED = "the cat [MASK] on [MASK]."
WORDS = {
    "BERT": lambda: tf.BertForMaskedLM(tf.BertConfig(**BERT)),
    "ELECTRA": lambda: tf.ElectraForMaskedLM(tf.ElectraConfig(**BERT, **NARROW)),
    "DistilBERT": lambda: tf.DistilBertForMaskedLM(tf.DistilBertConfig(**DISTIL)),
    "ALBERT": lambda: tf.AlbertForMaskedLM(tf.AlbertConfig(**BERT, **NARROW)),
    "RoBERTa": lambda: tf.RobertaForMaskedLM(tf.RobertaConfig(**ROBERTA)),
    "BERT, another matrix": lambda: tf.BertForMaskedLM(tf.BertConfig(**BERT, tie_word_embeddings=False)),
}
SEVERAL, REGRESSION = ({"problem_type": name} for name in ("multi_label_classification", "regression"))
CLASSES = {
    "BERT": lambda: tf.BertForSequenceClassification(tf.BertConfig(**BERT, **LABELS)),
    "ELECTRA": lambda: tf.ElectraForSequenceClassification(tf.ElectraConfig(**BERT, **NARROW, **LABELS)),
    "DistilBERT": lambda: tf.DistilBertForSequenceClassification(tf.DistilBertConfig(**DISTIL, **LABELS)),
    "ALBERT": lambda: tf.AlbertForSequenceClassification(tf.AlbertConfig(**BERT, **NARROW, **LABELS)),
    "BERT, several": lambda: tf.BertForSequenceClassification(tf.BertConfig(**BERT, **LABELS, **SEVERAL)),
    "BERT, one number": lambda: tf.BertForSequenceClassification(tf.BertConfig(**BERT, num_labels=1, **REGRESSION)),
    "BERT, tokens": lambda: tf.BertForTokenClassification(tf.BertConfig(**BERT, **LABELS)),
}


def close(found: dict[str, Any], own: dict[str, Any]) -> None:
    """The same fields, the numbers of the rows to 1e-5."""
    own = json.loads(json.dumps(own))
    assert {**found, "rows": 0} == {**own, "rows": 0}
    assert [row[:2] for row in found["rows"]] == [row[:2] for row in own["rows"]]
    numbers = [[row[2:] for row in fields["rows"]] for fields in (found, own)]
    np.testing.assert_allclose(*numbers, atol=1e-5)


def compare(model: Any, tokenizer: Any, text: list[str], target: str, folder: Path) -> dict[str, Any]:
    """Answers and sweeps of a head beside the kernel's, unchanged and with a head off; those of the unchanged run."""
    lens = lens_of(model, tokenizer)
    typed = {"op": "trace", "text": text[0], "text_pair": text[1] if len(text) > 1 else ""}
    asked = {"trace": "last", "target": target}
    questions = [
        typed,
        {"op": "answers", "trace": "last"},
        {"op": "answers", **asked},
        {"op": "find_target", "trace": "last", "text": target.removeprefix("Ġ") if "Ġ" in target else target.upper()},
        {"op": "change", "trace": "last", "changes": [["off", 1, 2]]},
        {"op": "answers", "trace": "last"},
        {"op": "answers", **asked},
        {"op": "matters_exact", **asked, "metric": "logit", "layer": 0},
        {"op": "matters_exact", "trace": "last", "metric": "divergence", "layer": 1},
    ]
    same, found = engine.asked(lens, "the mat was warm", questions, folder)
    trace = same.trace(*text)
    changed = trace.rerun(whatif.off(1, 2))
    close(found[1][1], answers.answers(trace)[0])
    close(found[2][1], answers.answers(trace, target)[0])
    assert found[3][:2] == ("", answers.find_target(trace, questions[3]["text"])[0])
    assert found[3][1]["name"] == target.removeprefix("Ġ")
    close(found[5][1], answers.answers(changed)[0])
    close(found[6][1], answers.answers(changed, target)[0])
    assert max(abs(row[2] - row[3]) for row in found[5][1]["rows"]) > 1e-3  # or nothing would be tested
    swept = answers.matters_exact(changed, "logit", 0, target)[1]["values"]
    np.testing.assert_allclose(found[7][3]["values"], swept, atol=1e-5)
    assert np.abs(swept).max() > 1e-3
    if "divergence" in [name for name, *_ in found[5][1]["metrics"]]:
        swept = answers.matters_exact(changed, "divergence", 1)[1]["values"]
        np.testing.assert_allclose(found[8][3]["values"], swept, atol=1e-5)
    else:
        assert found[8][0].startswith("This needs Python")
    return dict(found[1][1])


@pytest.mark.parametrize("family", WORDS)
def test_words_at_masks_are_the_kernels(family: str, tmp_path: Path):
    is_byte_level = family == "RoBERTa"
    tokenizer = tiny.roberta_like() if is_byte_level else tiny.wordpiece()
    text = MASKED.replace("[MASK]", "<mask>") if is_byte_level else MASKED
    made = compare(WORDS[family](), tokenizer, [text], "Ġwarm" if is_byte_level else "warm", tmp_path)
    assert made["kind"] == "words" and len(made["choices"]) == 20 and len(made["places"]) == 2


@pytest.mark.parametrize("head", CLASSES)
def test_classes_of_texts_pairs_and_tokens_are_the_kernels(head: str, tmp_path: Path):
    is_one = head == "BERT, one number"
    made = compare(CLASSES[head](), tiny.wordpiece(), list(tiny.TEXTS[1]), "LABEL_0" if is_one else "so so", tmp_path)
    assert made["kind"] == ("tags" if head == "BERT, tokens" else "labels")
    assert made["unit"] == ("logit" if is_one else "probability")


def test_what_a_model_does_not_answer_is_said(tmp_path: Path):
    lens = lens_of(WORDS["BERT"](), tiny.wordpiece())
    questions = [
        {"op": "trace", "text": "the cat"},
        {"op": "answers", "trace": "last"},
        {"op": "trace", "text": "the [MASK]"},
        {"op": "answers", "trace": "last", "target": "nonsense"},
        {"op": "find_target", "trace": "last", "text": "catmat"},
    ]
    same, found = engine.asked(lens, "the mat", questions, tmp_path)
    assert found[1][1] == answers.answers(same.trace("the cat"))[0]
    with pytest.raises(bl.BertLensError) as error:
        answers.answers(same.trace("the [MASK]"), "nonsense")
    assert found[3][0] == str(error.value)
    with pytest.raises(bl.BertLensError) as error:
        answers.find_target(same.trace("the [MASK]"), "catmat")
    assert found[4][0] == str(error.value).partition(" Near it")[0]
    span = lens_of(tf.BertForQuestionAnswering(tf.BertConfig(**BERT)), tiny.wordpiece())
    assert page_heads.head(span.trace(*tiny.TEXTS[1])).about == {"kind": "", "why_not": ""}


class TwiceForSequenceClassification(tf.BertForSequenceClassification):
    def forward(self, *given: Any, **named: Any) -> Any:
        output = super().forward(*given, **named)
        output.logits = output.logits * 2
        return output


def test_a_head_that_makes_other_numbers_is_not_taken():
    config = tf.BertConfig(**BERT, **LABELS)
    for kind, found in ((tf.BertForSequenceClassification, "labels"), (TwiceForSequenceClassification, "")):
        assert page_heads.head(lens_of(kind(config), tiny.wordpiece()).trace("the cat")).about["kind"] == found


def test_families_that_a_page_does_not_run_are_refused():
    config = tf.EsmConfig(**BERT, position_embedding_type="rotary", pad_token_id=0, mask_token_id=4)
    lens = lens_of(tf.EsmModel(config), tiny.wordpiece())
    with pytest.raises(ExportError, match="this is EsmModel: save it without live"):
        page_weights.check(lens.borrowed)
    wide = lens_of(tf.BertModel(tf.BertConfig(**BERT | {"intermediate_size": 46})), tiny.wordpiece())
    with pytest.raises(ExportError, match="multiples of 4"):
        page_weights.check(wide.borrowed)
    assert torch.is_grad_enabled()


# Objects of sentence-transformers


def rounded_lens(module: Any) -> bl.Lens:
    """A lens on an object whose weights are those that a page has of them."""
    lens = bl.Lens(module)
    with torch.no_grad():
        kept = engine.rounded(lens.borrowed).parameters()
        for parameter, other in zip(lens.borrowed.module.parameters(), kept, strict=True):
            parameter.copy_(other)
    return lens


@pytest.mark.parametrize("mode", ["cls", "mean"])
def test_a_sentence_encoders_own_similarity_is_the_kernels(mode: str, tmp_path: Path):
    encoders = pytest.importorskip("unit.tiny_encoders")
    lens = rounded_lens(encoders.encoder(encoders.parts.Normalize(), mode=mode, prompts={}))
    pair = ["the cat sat on the mat.", "it was very warm"]
    questions = [
        {"op": "trace", "text": pair[0], "text_pair": pair[1]},
        {"op": "change", "trace": "last", "changes": [["off", 1, 2]]},
        {"op": "answers", "trace": "last"},
        {"op": "trace", "text": pair[0]},
        {"op": "change", "trace": "last", "changes": [["off", 1, 2]]},
        {"op": "answers", "trace": "last"},
    ]
    _, found = engine.asked(lens, "the mat", questions, tmp_path)
    for n, text in ((2, pair), (5, pair[:1])):
        close(
            found[n][1],
            {**answers.answers(lens.trace(*text).rerun(whatif.off(1, 2)))[0], "metrics": found[n][1]["metrics"]},
        )
        [[_, _, before, after]] = found[n][1]["rows"]
        assert abs(before - after) > 1e-4
    assert found[2][1]["said"] == ""


def test_other_vectors_are_refused_and_scores_of_cross_encoders_are_the_kernels(tmp_path: Path):
    encoders = pytest.importorskip("unit.tiny_encoders")
    dense = encoders.parts.Dense(32, 16)
    for module in (encoders.encoder(dense), encoders.encoder(mode="max"), encoders.encoder(similarity_fn_name="dot")):
        assert page_heads.head(bl.Lens(module).trace("the cat", "it was")).about == {"kind": "", "why_not": ""}
    lens = rounded_lens(encoders.crossed())
    text = list(tiny.TEXTS[1])
    questions = [{"op": "trace", "text": text[0], "text_pair": text[1]}, {"op": "answers", "trace": "last"}]
    _, found = engine.asked(lens, "the mat", questions, tmp_path)
    close(found[1][1], answers.answers(lens.trace(*text))[0])
    assert found[1][1]["unit"] == "score" and 0.02 < found[1][1]["rows"][0][2] < 0.98
