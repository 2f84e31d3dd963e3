"""What people hand to Lens in place of a model and its tokenizer: the refusal names the step, and the step works."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import transformers as tf
from tokenizers import Tokenizer

import bertlens as bl
from bertlens.errors import ModelError
from unit import tiny

TOKENIZER = tiny.wordpiece()


def classifier() -> Any:
    return tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT, num_labels=2)).eval()


def refused(*given: Any) -> str:
    with pytest.raises(ModelError) as error:
        bl.Lens(*given)
    return str(error.value)


def test_a_pipeline_names_its_parts_and_they_are_read() -> None:
    given = tf.pipeline("text-classification", model=classifier(), tokenizer=TOKENIZER, device="cpu")
    said = refused(given)
    assert "needs a loaded model, not a TextClassificationPipeline" in said
    step = said.rpartition(", ")[0].rpartition(", ")[2] + ", " + said.rpartition(", ")[2]
    assert step == "Lens(given.model, given.tokenizer)"
    lens = eval(f"bl.{step}", {"bl": bl, "given": given})
    assert lens.model is given.model and lens.trace("the cat").n_tokens == 4


def test_a_trainer_names_its_parts() -> None:
    trainer = SimpleNamespace(model=classifier(), processing_class=TOKENIZER)
    assert "Lens(given.model, given.processing_class)" in refused(trainer)
    assert refused(SimpleNamespace(model_body=classifier())).endswith("Lens(given.model_body)")


def test_a_tokenizer_of_tokenizers_is_wrapped_as_the_sentence_says() -> None:
    backend = Tokenizer.from_str(TOKENIZER.backend_tokenizer.to_str())
    said = refused(classifier(), backend)
    assert "PreTrainedTokenizerFast(tokenizer_object=…)" in said and "cls_token=, sep_token=, pad_token=" in said
    special = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    wrapped = tf.PreTrainedTokenizerFast(tokenizer_object=backend, **special)
    trace = bl.Lens(classifier(), wrapped).trace("the cat")
    assert trace.tokens == bl.Lens(classifier(), TOKENIZER).trace("the cat").tokens


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((tf.BertModel, TOKENIZER), r"not the class BertModel: BertModel.from_pretrained\(…\) loads one"),
        (("bert-base-uncased",), r"Lens.from_pretrained\('bert-base-uncased'\)"),
        ((classifier().state_dict(), TOKENIZER), "not weights alone: put them into a model by its load_state_dict"),
        ((TOKENIZER, classifier()), "needs a loaded model, not"),
        ((None, TOKENIZER), "needs a loaded model, not NoneType"),
        ((classifier(), tf.BertTokenizerFast), r"not the class \w+: \w+.from_pretrained\(…\) loads one"),
        ((classifier(), "bert-base-uncased"), r"AutoTokenizer.from_pretrained\('bert-base-uncased'\) loads one"),
        ((classifier(),), r"not NoneType: AutoTokenizer.from_pretrained\(…\) loads one"),
        ((classifier(), SimpleNamespace(tokenizer=TOKENIZER)), "its tokenizer is given.tokenizer"),
        ((classifier(), 5), "needs a transformers tokenizer, not int"),
    ],
)
def test_the_refusal_names_the_step(given: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        bl.Lens(*given)
