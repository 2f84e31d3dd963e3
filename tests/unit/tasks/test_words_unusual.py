"""Words of unusual models: pieces of a Unigram tokenizer, no number where a word is hidden, a base model's size."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import bertlens as bl
from bertlens.errors import ModelError
from unit import tiny
from unit.tasks.classifier import NAMES, labelled, lens_of

PIECES = ["▁the", "▁cat", "▁un", "believ", "able", "▁mat", "s", "▁was", "▁warm", "▁"]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


def unigram() -> tf.PreTrainedTokenizerFast:
    """As XLM-R's: a blank is a part of the piece behind it."""
    scored = [*((name, 0.0) for name in SPECIAL), *((piece, -2.0) for piece in PIECES), ("<mask>", 0.0)]
    model = Tokenizer(models.Unigram(scored, unk_id=3))
    model.pre_tokenizer = pre_tokenizers.Metaspace()
    model.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    names = ("bos_token", "pad_token", "eos_token", "unk_token", "cls_token", "sep_token", "mask_token")
    special = dict(zip(names, [*SPECIAL, "<s>", "</s>", "<mask>"], strict=True))
    return tf.PreTrainedTokenizerFast(tokenizer_object=model, **special)


def test_words_of_a_unigram_tokenizer_are_whole():
    """A word is all its pieces, of which each is hidden alone too: as a loop over the model has it."""
    tokenizer = unigram()
    torch.manual_seed(0)
    config = tf.XLMRobertaConfig(**tiny.ROBERTA | {"vocab_size": len(tokenizer)}, num_labels=2, id2label=NAMES)
    lens = bl.Lens(tiny.shaken(tf.XLMRobertaForSequenceClassification(config)).double(), tokenizer)
    random = np.random.default_rng(0)
    words = ["the", "cat", "cats", "unbelievable", "mats", "was", "warm"]
    texts = [" ".join(random.choice(words, random.integers(3, 7))) for _ in range(30)]
    found = bl.task(lens, [(text, k % 2) for k, text in enumerate(texts)], progress=False).words()
    assert {*found.table.query("kind == 'word'")["word"]} == {*words}
    assert {"un…", "…believ…", "…able"} <= {*found.table.query("kind == 'piece'")["word"]}

    def odds(ids: list[int]) -> float:
        with torch.no_grad():
            cold, warm = lens.model(torch.tensor([ids])).logits[0].tolist()
        return warm - cold

    for word, gone in (("unbelievable", {"▁un", "believ", "able"}), ("…able", {"able"})):
        effects = []
        for text in texts:
            if "unbelievable" in text.split():
                ids = tokenizer(text)["input_ids"]
                hidden = {tokenizer.convert_tokens_to_ids(piece) for piece in gone}
                masked = [tokenizer.mask_token_id if token in hidden else token for token in ids]
                effects.append(odds(ids) - odds(masked))
        row = found.table[(found.table["word"] == word) & (found.table["class"] == "warm")].iloc[0]
        assert (row["texts"], row["effect"]) == (len(effects), pytest.approx(np.mean(effects), abs=1e-6))
    without = found.counter_examples(["unbelievable"]).query("change == 'without'")["text"]
    assert not without.str.contains("believ").any() and not without.str.contains("  ").any()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_words_of_a_classifier_in_many_languages():
    """The multilingual model with a head: words in three scripts, and estimates."""
    encoder = bl.Lens.embedded("multilingual")
    config = encoder.model.config
    config.num_labels, config.id2label = 2, NAMES
    torch.manual_seed(0)
    model = tf.AutoModelForSequenceClassification.from_config(config)
    model.base_model.load_state_dict(encoder.model.state_dict(), strict=False)
    texts = ["Der Hund war sehr gut.", "الكلب كان جيدا", "那只狗很好", "The dog was very good."] * 6
    task = bl.task(
        bl.Lens(model.eval(), encoder.tokenizer), [(text, k % 2) for k, text in enumerate(texts)], progress=False
    )
    found = task.words(2, runs=200)
    assert {"hund", "dog", "الكلب"} <= {feature.name for feature in found.effects.features.occurrences}
    assert found.error is not None and found.error > 0 and np.isfinite(found.table["effect"]).all()


@pytest.mark.parametrize("runs", [100, 10_000])
def test_a_hidden_word_without_an_answer_names_its_row(runs):
    """Where the mask's vector is no number; the model stays as it was given."""
    lens = lens_of(2)
    weight = lens.model.bert.embeddings.word_embeddings.weight
    weight.data[lens.tokenizer.mask_token_id] = math.nan
    given = weight.detach().clone()
    task = bl.task(lens, labelled(30), progress=False)
    with pytest.raises(ModelError, match=r"row \d+, column 'text': the .* are NaN or Inf"):
        task.words(2, runs=runs)
    assert torch.equal(weight.nan_to_num(7.0), given.nan_to_num(7.0)) and not weight.grad


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_words_of_a_model_of_base_size():
    """Random weights of BERT-base: estimates choose, and runs are as many as were allowed, about."""
    config = tf.BertConfig(vocab_size=len(tiny.VOCABULARY), num_labels=2, id2label=NAMES)
    torch.manual_seed(0)
    lens = bl.Lens(tf.BertForSequenceClassification(config).eval(), tiny.wordpiece())
    found = bl.task(lens, labelled(60), progress=False).words(3, runs=300)
    assert found.error is not None and np.isfinite(found.table["effect"]).all() and found.runs < 3000
