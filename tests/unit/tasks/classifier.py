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


def planted(seed: int) -> tuple[bl.Lens, tuple[int, int], list[tuple[str, int]]]:
    """A classifier whose label hangs on one head: what all other parts write is a fiftieth. The head, and examples."""
    lens = lens_of(seed)
    model = lens.model
    random = np.random.default_rng(seed)
    layer, head = int(random.integers(3)), int(random.integers(4))
    with torch.no_grad():
        for number, block in enumerate(model.bert.encoder.layer):
            for h in range(4):
                if (number, h) != (layer, head):
                    block.attention.output.dense.weight[:, 8 * h : 8 * h + 8] *= 0.02
            block.output.dense.weight *= 0.02
            block.output.dense.bias *= 0.02
        model.bert.encoder.layer[layer].attention.output.dense.weight[:, 8 * head : 8 * head + 8] *= 4
        texts = texts_of(60, seed)
        logits = torch.stack([lens.trace(text).output.logits[0] for text in texts])
        # right in the middle of what it says, and as sure as a trained one
        difference = logits[:, 1] - logits[:, 0]
        model.classifier.bias[0] += difference.median()
        scale = 4 / (difference - difference.median()).std()
        model.classifier.weight *= scale
        model.classifier.bias *= scale
    labels = (difference > difference.median()).long().tolist()
    return lens, (layer, head), list(zip(texts, labels, strict=True))
