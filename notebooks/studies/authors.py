"""Which of two authors wrote a sentence: a task that is trained in less than a minute on the embedded encoder."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from bertlens.lens import Lens
from bertlens.text import excerpts

from .finding import counted

Example = tuple[str, str]  # a sentence, its author
WORDS = (4, 45)  # of a sentence
TRAIN, TEST = 150, 80  # sentences of each author
FIRST_STEPS, STEPS, BATCH = 150, 45, 16


def examples() -> tuple[list[Example], list[Example]]:
    """Sentences to train on and to test on, as many of either author: those of the later pages are the test's."""
    train, test = [], []
    for author, texts in excerpts.sentences().items():
        of_length = [text for text in texts if WORDS[0] <= len(text.split()) <= WORDS[1]]
        train += [(text, author) for text in of_length[:TRAIN]]
        test += [(text, author) for text in of_length[-TEST:]]
    return train, test


@counted
def trained(lens: Lens, train: Sequence[Example], seed: int = 0) -> tuple[Lens, Lens]:
    """Two classifiers of the sentence's author: with a head trained on the encoder as it is, and then trained whole.

    The encoder of the lens is copied. Adam, 150 steps of the head and 45 of all, 16 sentences each.
    """
    from transformers import BertForSequenceClassification

    authors = sorted({author for _, author in train})
    config: Any = copy.deepcopy(lens.borrowed.base.config)
    config.update({"id2label": dict(enumerate(authors)), "label2id": {name: k for k, name in enumerate(authors)}})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Any = BertForSequenceClassification(config).eval()
        # its own pooler was trained for something else, or never
        model.bert.load_state_dict(lens.borrowed.base.state_dict(), strict=False)
        inputs = lens.tokenizer([text for text, _ in train], padding=True, return_tensors="pt")
        labels = torch.tensor([authors.index(author) for _, author in train])
        states = _first_states(model, inputs)
        head = [*model.bert.pooler.parameters(), *model.classifier.parameters()]
        optimizer = torch.optim.Adam(head, lr=1e-3)
        for numbers in _batches(len(train), FIRST_STEPS):
            pooled = torch.tanh(model.bert.pooler.dense(states[numbers]))
            _step(optimizer, model.classifier(pooled), labels[numbers])
        start = copy.deepcopy(model)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
        for numbers in _batches(len(train), STEPS):
            longest = int(inputs["attention_mask"][numbers].sum(1).max())
            batch = {name: value[numbers, :longest] for name, value in inputs.items()}
            _step(optimizer, model(**batch).logits, labels[numbers])
    optimizer.zero_grad()
    return Lens(start, lens.tokenizer), Lens(model, lens.tokenizer)


@torch.no_grad()
def _first_states(model: Any, inputs: Any) -> Tensor:
    """(n, D) of [CLS] behind the last layer."""
    states = []
    for at in range(0, len(inputs["input_ids"]), 4 * BATCH):
        batch = {name: value[at : at + 4 * BATCH] for name, value in inputs.items()}
        longest = int(batch["attention_mask"].sum(1).max())
        batch = {name: value[:, :longest] for name, value in batch.items()}
        states.append(model.bert(**batch).last_hidden_state[:, 0])
    return torch.cat(states)


def _batches(n: int, steps: int) -> Iterator[Tensor]:
    for _ in range(steps):
        yield torch.randperm(n)[:BATCH]


def _step(optimizer: torch.optim.Optimizer, logits: Tensor, labels: Tensor) -> None:
    optimizer.zero_grad()
    nn.functional.cross_entropy(logits, labels).backward()
    optimizer.step()
