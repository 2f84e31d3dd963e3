"""The models and texts that are measured: BERT-base's shape with random weights, texts of an exact length."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from benchmarks.device import DEVICE
from bertlens import Lens
from bertlens.model import offline_model

WORDS = "the old cat sat on a red mat while two small dogs ran past it to the river and back home again".split()


@cache
def tokenizer() -> Any:
    """The embedded model's, whose vocabulary is that of bert-base-uncased."""
    return AutoTokenizer.from_pretrained(offline_model.folder())


@cache
def base_model() -> BertModel:
    """BERT-base's shape: 12 layers x 12 heads x 64, random weights; sdpa, in eval mode."""
    torch.manual_seed(0)
    return BertModel(BertConfig(name_or_path="BERT-base shape, random weights")).eval().to(DEVICE)


@cache
def base_lens() -> Lens:
    return Lens(base_model(), tokenizer())


def small_lens() -> Lens:
    """The embedded model, trained: 6 layers x 12 heads."""
    lens = Lens.embedded()
    lens.model.to(DEVICE)
    return lens


def text(tokens: int) -> str:
    """A text of exactly so many tokens, [CLS] and [SEP] counted: its words are one piece each."""
    return " ".join(WORDS[i % len(WORDS)] for i in range(tokens - 2))


def inputs(tokens: int) -> Any:
    """What the model's forward takes for `text(tokens)`."""
    encoded = tokenizer()(text(tokens), return_tensors="pt", padding=False, truncation=False)
    assert encoded["input_ids"].shape == (1, tokens), encoded["input_ids"].shape
    return encoded.to(DEVICE)
