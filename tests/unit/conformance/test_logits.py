"""Logits that another program made: what is made of them, faults before them, and labels in another order."""

from __future__ import annotations

import math

import numpy as np
import pytest
import transformers as tf

import bertlens as bl
from bertlens.conformance import forward_faults, rounding_faults
from bertlens.errors import InputError, ModelError
from conftest import state
from unit import tiny
from unit.conformance import naive_encoder as naive
from unit.conformance.planted import LIMIT, lens_of


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    model = tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT | {"num_labels": 4})), 5)
    return bl.Lens(model, tiny.wordpiece(model_max_length=LIMIT))


@pytest.fixture(scope="module")
def texts(lens: bl.Lens) -> list[str]:
    return [text for text in bl.probing_texts(lens) if len(text) < 80][:6]


def logits(lens: bl.Lens, texts: list[str], pooler: bool = True, **faults: object) -> np.ndarray:
    """By the encoder that is written out, and the head beside it."""
    p = {name: t.detach().double().numpy() for name, t in lens.model.named_parameters()}
    rows = []
    for text in texts:
        ids = lens.tokenizer(text, truncation=True, max_length=LIMIT)["input_ids"]
        first = naive.states(lens.model.bert, ids, **faults)[-1][0]
        inner = p["bert.pooler.dense.weight"] @ first + p["bert.pooler.dense.bias"] if pooler else first
        rows.append(p["classifier.weight"] @ np.tanh(inner) + p["classifier.bias"])
    return np.stack(rows)


def softmax(x: np.ndarray) -> np.ndarray:
    return np.stack([np.array([math.exp(v) for v in row]) / sum(math.exp(v) for v in row) for row in x])


@pytest.fixture(scope="module")
def right(lens: bl.Lens, texts: list[str]) -> np.ndarray:
    return logits(lens, texts)


def named(lens: bl.Lens, texts: list[str], array: np.ndarray) -> str:
    p = bl.parity(lens, texts, logits=array.astype(np.float32), pairs=False)
    assert p.verdict == "fault", p.said
    return p.classes[0][0].name


def test_right_logits_are_the_same_and_the_model_is_as_it_was(
    lens: bl.Lens, texts: list[str], right: np.ndarray
) -> None:
    before = state(lens.model)
    p = bl.parity(lens, texts, logits=right.astype(np.float32))
    assert p.verdict == "same" and "6 of 6 rows lie within" in p.said
    assert state(lens.model) == before


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults of the forward pass that take little time."""
    monkeypatch.setattr(rounding_faults, "FAULTS", ())
    kept = ("tanh GELU", "causal mask", "padding to the longest text attended to", "segment 1")
    monkeypatch.setattr(forward_faults, "FAULTS", tuple(f for f in forward_faults.FAULTS if f.name in kept))


@pytest.mark.usefixtures("few")
def test_what_is_made_of_logits_is_named(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    assert named(lens, texts, softmax(right)) == "softmax"
    assert named(lens, texts, softmax(softmax(right))) == "softmax applied twice"
    assert named(lens, texts, 1 / (1 + np.exp(-right))) == "sigmoid"
    assert named(lens, texts, np.log(softmax(right))) == "logarithm of the softmax"
    assert named(lens, texts, right / 2.5) == "logits times 0.4"
    assert named(lens, texts, softmax(right / 2.5)) == "softmax at temperature 2.5"
    order = [2, 0, 3, 1]
    assert named(lens, texts, right[:, order]) == "labels in another order (2, 0, 3, 1)"
    assert named(lens, texts, softmax(right)[:, order]) == "labels in another order (2, 0, 3, 1), softmax"


def test_faults_before_the_logits_are_named(lens: bl.Lens, texts: list[str]) -> None:
    assert named(lens, texts, logits(lens, texts, activation=naive.tanh_gelu)) == "tanh GELU"
    assert named(lens, texts, logits(lens, texts, pooler=False)) == "inner layer of the head left out"
    both = softmax(logits(lens, texts, causal=True))
    assert named(lens, texts, both) == "causal mask + softmax"


def test_other_logits_are_not_named(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    noise = np.random.default_rng(0).normal(size=right.shape)
    p = bl.parity(lens, texts, logits=(right + 0.05 * noise).astype(np.float32), pairs=False)
    assert p.verdict in ("none", "like")


def test_what_are_no_logits_is_refused(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"\(6, 4\), these are \(6, 3\)"):
        bl.parity(lens, texts, logits=right[:, :3])
    with pytest.raises(ModelError, match="classifier of texts"):
        bl.parity(lens_of("bert"), texts, logits=right)
    with pytest.raises(InputError, match="give one of them"):
        bl.parity(lens, texts, right, logits=right)


@pytest.mark.usefixtures("few")
def test_costs_of_a_task_are_those_of_logits_by_hand(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    """The head's inner layer left out, and softmax, which moves no class."""
    more = [f"{word} {text}" for word in ("the cat", "a", "it was", "on") for text in texts]
    labels = [int(n) for n in logits(lens, more).argmax(1)]
    labels[:3] = [(label + 1) % 4 for label in labels[:3]]
    if len(set(labels)) == 1:
        labels[-1] = (labels[-1] + 1) % 4
    task = bl.task(lens, list(zip(more, labels, strict=True)), truncation=True, progress=False)
    p = bl.parity(lens, texts, logits=softmax(logits(lens, texts, pooler=False)).astype(np.float32), pairs=False)
    costs = p.costs(task)
    before, now = (logits(lens, more, pooler=pooler).argmax(1) for pooler in (True, False))
    changed = [n for n in range(len(more)) if before[n] != now[n]]
    assert changed and sorted(costs.table["row"]) == changed
    assert costs.accuracy == (np.mean(before == labels), np.mean(now == labels))
    names = [lens.model.config.id2label[n] for n in range(4)]
    for row in costs.table.itertuples():
        assert (row.before, row.now, row.label) == (names[before[row.row]], names[now[row.row]], names[labels[row.row]])
    were_right = [before[row] == labels[row] for row in costs.table["row"]]
    assert were_right == sorted(were_right, reverse=True)
    assert (
        f"{len(changed)} of {len(more)} texts have another class. Accuracy {costs.accuracy[0]:.3f} before" in costs.said
    )
    p = bl.parity(lens, texts, logits=softmax(right).astype(np.float32), pairs=False)
    costs = p.costs(task)
    assert len(costs.table) == 0 and costs.accuracy[0] == costs.accuracy[1]


@pytest.mark.usefixtures("few")
def test_what_has_no_costs_is_refused(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    p = bl.parity(lens, texts, logits=softmax(right).astype(np.float32), pairs=False)
    pairs = bl.task(lens, [((text, "the cat"), n % 4) for n, text in enumerate(texts)], progress=False)
    with pytest.raises(InputError, match="single texts and classes"):
        p.costs(pairs)
    other = bl.Lens(tf.BertForSequenceClassification(lens.model.config), lens.tokenizer)
    with pytest.raises(InputError, match="Task of the model whose logits"):
        p.costs(bl.task(other, [(text, n % 4) for n, text in enumerate(texts)], progress=False))
