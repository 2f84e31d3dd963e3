"""Small classifiers whose decision is planted, and texts to go with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers as tf

import bertlens as bl
from unit import tiny

NAMES = {0: "cold", 1: "warm"}


def model_of(seed: int = 0, classes: int = 2, **settings: Any) -> Any:
    torch.manual_seed(seed)
    names = NAMES if classes == 2 else {k: f"class {k}" for k in range(classes)}
    config = tf.BertConfig(**tiny.BERT | settings, num_labels=classes, id2label=names)
    return tiny.shaken(tf.BertForSequenceClassification(config), seed)


def lens_of(seed: int = 0, classes: int = 2, **settings: Any) -> bl.Lens:
    return bl.Lens(model_of(seed, classes, **settings), tiny.wordpiece())


def texts_of(n: int, seed: int = 0, words: tuple[int, int] = (3, 9)) -> list[str]:
    random = np.random.default_rng(seed)
    known = [word for word in tiny.WORDS if word.isalpha()]
    return [" ".join(random.choice(known, random.integers(*words))) for _ in range(n)]


def labelled(n: int, classes: int = 2, seed: int = 0) -> list[tuple[str, int]]:
    random = np.random.default_rng(seed + 1)
    labels = random.integers(0, classes, n)
    labels[:classes] = np.arange(min(classes, n))
    return list(zip(texts_of(n, seed), labels.tolist(), strict=True))
