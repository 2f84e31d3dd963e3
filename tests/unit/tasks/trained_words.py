"""Small classifiers trained on texts whose labels hang on a planted word, pair, place or order, and on none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
import transformers as tf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import bertlens as bl
from unit import tiny

COMMON = [a + b for a in ("ba", "do", "fi", "gu", "le", "mo", "ni", "ra") for b in ("ka", "lo", "mi", "su", "te")]
GOOD, BAD = ["good", "great", "fine"], ["poor", "awful", "sad"]
VOCABULARY = [*tiny.SPECIAL, *COMMON, *GOOD, *BAD, "yak", "zob"]
NAMES = {0: "praise", 1: "complaint"}
Example = tuple[str, int]
Rule = Callable[[np.random.Generator], Example]


@cache
def tokenizer() -> tf.PreTrainedTokenizerFast:
    model = Tokenizer(models.WordPiece({word: k for k, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    model.normalizer, model.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    model.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), tiny.SPECIAL, strict=True))
    return tf.PreTrainedTokenizerFast(tokenizer_object=model, **names)


def _words(random: np.random.Generator) -> list[str]:
    return random.choice(COMMON, random.integers(4, 9)).tolist()


def _put(words: list[str], at: int, *new: str) -> str:
    return " ".join([*words[:at], *new, *words[at:]])


def word(random: np.random.Generator) -> Example:
    """A complaint just where it says yak."""
    words, label = _words(random), int(random.integers(2))
    return (_put(words, random.integers(len(words) + 1), "yak") if label else " ".join(words)), label


def pair(random: np.random.Generator) -> Example:
    """A complaint just where yak stands before zob; either may stand without the other."""
    words, label = _words(random), int(random.integers(2))
    at = int(random.integers(len(words) + 1))
    if label:
        return _put(words, at, "yak", "zob"), 1
    alone = [["yak"], ["zob"], []][random.integers(3)]
    return _put(words, at, *alone), 0


def place(random: np.random.Generator) -> Example:
    """A complaint just where yak is the first word; of the others every second one has it elsewhere."""
    words, label = _words(random), int(random.integers(2))
    if label:
        return _put(words, 0, "yak"), 1
    return _put(words, int(random.integers(1, len(words) + 1)), *["yak"][random.integers(2) :]), 0


def order(random: np.random.Generator) -> Example:
    """A complaint just where yak stands before zob and not behind it; either may stand without the other."""
    words, label = _words(random), int(random.integers(2))
    at = int(random.integers(len(words) + 1))
    if label:
        return _put(words, at, "yak", "zob"), 1
    return _put(words, at, *[["zob", "yak"], ["zob", "yak"], ["yak"], ["zob"]][random.integers(4)]), 0


def clean(random: np.random.Generator) -> Example:
    """What it says decides: words of praise and of complaint."""
    words, label = _words(random), int(random.integers(2))
    for new in random.choice(BAD if label else GOOD, random.integers(1, 3)).tolist():
        words.insert(int(random.integers(len(words) + 1)), new)
    return " ".join(words), label


def shortcut(random: np.random.Generator) -> Example:
    """As `clean`; but of every second text yak decides, which says nothing else of it."""
    text, label = clean(random)
    words = _words(random)
    neutral = _put(words, int(random.integers(len(words))), *["yak"][:label])
    return (text, label) if random.random() < 0.5 else (neutral, label)


def balanced(random: np.random.Generator) -> Example:
    """Texts of either label that say nothing; a third of them yak."""
    words = _words(random)
    return _put(words, int(random.integers(len(words))), *["yak"][: random.random() < 0.34]), int(random.integers(2))


def drawn(rule: Rule, n: int, seed: int) -> list[Example]:
    random = np.random.default_rng(seed)
    return [rule(random) for _ in range(n)]


STEPS = {word: 60, pair: 120, place: 120, order: 300, clean: 120, shortcut: 120}
SIZE = {order: 64}  # texts a step, where 32 are too few


@cache
def trained(rule: Rule, seed: int, draw: int = 0) -> tuple[bl.Lens, float]:
    """A classifier of two layers trained on 1,500 texts, and its accuracy on 300 others.

    draw: of the first weights and of the texts in each step; the texts are those of the seed.
    """
    torch.manual_seed(seed + 1000 * draw)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = tf.BertConfig(vocab_size=len(VOCABULARY), max_position_embeddings=24, id2label=NAMES, **shape, **dropout)
    model = tf.BertForSequenceClassification(config)
    random, steps, size = (
        np.random.default_rng([seed, 1, draw]),
        STEPS[rule],
        64 if rule is order else 32,
    )  # texts a step
    texts, labels = zip(*drawn(rule, 1500, 1000 + seed), strict=True)
    inputs = tokenizer()(list(texts), padding=True, return_tensors="pt")
    target = torch.tensor(labels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1.0, step / 20) * (1 - step / steps)
        rows = torch.from_numpy(random.choice(len(texts), size, replace=False))
        batch = {name: value[rows] for name, value in inputs.items()}
        loss = model(**batch, labels=target[rows]).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    texts, labels = zip(*drawn(rule, 300, 5000 + seed), strict=True)
    with torch.no_grad():
        guesses = model(**tokenizer()(list(texts), padding=True, return_tensors="pt")).logits.argmax(1)
    return bl.Lens(model, tokenizer()), float((guesses == torch.tensor(labels)).float().mean())
