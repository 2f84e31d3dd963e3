"""Layers of a classifier by a ridge refit, of an encoder by the similarity of pairs: beside other ways to them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from scipy.stats import spearmanr

import bertlens as bl
from bertlens.errors import InputError
from bertlens.tasks.correlations import spearman_difference
from bertlens.tasks.layer_scores import PENALTIES, ridge, untrained
from conftest import state
from unit import tiny, tiny_encoders
from unit.tasks import classifier
from unit.tiny_encoders import words


@cache
def lens() -> bl.Lens:
    return classifier.lens_of()


@cache
def examples() -> list[tuple[str, int]]:
    """The label is whether a text says "cat": the embeddings know it."""
    return [(text, int("cat" in text.split())) for text in classifier.texts_of(120, 3)]


@cache
def found() -> Any:
    return bl.task(lens(), examples(), progress=False).layers(seed=1)


@cache
def encoder() -> bl.Lens:
    return bl.Lens(tiny_encoders.encoder(tiny_encoders.dense(torch.nn.Tanh()), prompts={}))


@cache
def pairs() -> list[tuple[tuple[str, str], float]]:
    random = np.random.default_rng(0)
    return [((words(4, n), words(5, n + 500)), float(random.random())) for n in range(50)]


def means(model: Any, texts: list[str]) -> np.ndarray:
    """(n, L + 1, D) by the model's own run."""
    rows = []
    for text in texts:
        with torch.no_grad():
            states = model(**tiny.wordpiece()(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        rows.append(torch.stack([each[0].mean(0) for each in states]).numpy())
    return np.array(rows)


def test_classes_beside_a_loop_and_another_ridge() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    before = state(lens().model)
    table = found().table
    texts, labels = [text for text, _ in examples()], np.array([label for _, label in examples()])
    order = np.random.default_rng(1).permutation(120)
    fit, test = order[::2], np.sort(order[1::2])
    fresh = untrained(lens(), 1).model
    for name, model in (("mean", lens().model), ("untrained", fresh)):
        states = means(model, texts).astype(float)
        for layer in range(4):
            x = (states[:, layer] - states[fit, layer].mean(0)) / states[fit, layer].std(0)
            fitted = linear.RidgeCV(PENALTIES).fit(x[fit], np.eye(2)[labels[fit]])
            right = fitted.predict(x[test]).argmax(1) == labels[test]
            assert table[name].iloc[layer] == pytest.approx(right.mean(), abs=1.01 / 60)  # one text on the line
    low, mean, high = table.loc[0, ["mean_low", "mean", "mean_high"]]
    assert low < mean <= high and mean > 0.8
    assert "over 7 tests" in found().said and "paired over 60 texts" in found().said
    assert found().choice.told_on == 30 and found().measure == "accuracy"
    assert state(lens().model) == before


def test_a_ridge_is_the_normal_equation() -> None:
    random = np.random.default_rng(2)
    mixing = random.normal(size=(4, 4)) ** 3  # the features go together: how much they are held back shows
    states, others = (random.normal(size=(n, 4)) @ mixing for n in (30, 500))
    labels = np.digitize(states @ np.linalg.inv(mixing) @ [1, -1, 1, 0] + 0.3 * random.normal(size=30), [-0.7, 0.7])
    x = (states - states.mean(0)) / states.std(0)
    y = (labels[:, None] == np.arange(3)).astype(float)

    def weights(keep: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mean, middle = x[keep].mean(0), y[keep].mean(0)
        a = x[keep] - mean
        return np.linalg.solve(a.T @ a + penalty * np.eye(4), a.T @ (y[keep] - middle)), mean, middle

    def left_out(penalty: float) -> float:
        total = 0.0
        for row in range(30):
            w, mean, middle = weights(np.arange(30) != row, penalty)
            total += (((x[row] - mean) @ w + middle - y[row]) ** 2).sum()
        return total

    def expected(penalty: float) -> np.ndarray:
        w, mean, middle = weights(np.arange(30) >= 0, penalty)
        return (((others - states.mean(0)) / states.std(0) - mean) @ w + middle).argmax(1)

    assert np.array_equal(ridge(states, labels, others), expected(min(PENALTIES, key=left_out)))
    assert not np.array_equal(ridge(states, labels, others), expected(PENALTIES[-1]))


def test_the_untrained_model_is_of_the_same_shape_and_another() -> None:
    fresh = untrained(lens(), 0)
    assert fresh.model.config.num_hidden_layers == 3
    torch.manual_seed(5)
    drawn = torch.rand(1)
    torch.manual_seed(5)
    untrained(lens(), 0)
    assert torch.equal(torch.rand(1), drawn)  # nothing of the user's draws is used up
    again = untrained(lens(), 0)
    first, second = (each.trace("warm").hidden_states[-1] for each in (fresh, again))
    assert torch.equal(first, second) and not torch.equal(first, untrained(lens(), 1).trace("warm").hidden_states[-1])


def test_pairs_beside_a_loop() -> None:
    module: Any = encoder().model
    table = bl.by_layer(encoder(), pairs()).table.set_index(["layer", "centred"])
    texts = [text for pair, _ in pairs() for text in pair]
    labels = [score for _, score in pairs()]
    rows = []
    for text in texts:
        with torch.no_grad():
            hidden = module[0].model(**module.tokenizer(text, return_tensors="pt"), output_hidden_states=True)
            pooled = torch.stack([each[0].mean(0) for each in hidden.hidden_states])
            rows.append(module[2].linear(pooled).tanh().numpy())
    states = np.array(rows, dtype=float)
    for layer in range(4):
        for centred in (False, True):
            vectors = states[:, layer] - states[:, layer].mean(0) * centred
            unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            scores = (unit[::2] * unit[1::2]).sum(1)
            row = table.loc[layer, centred]
            assert row["mean"] == pytest.approx(spearmanr(scores, labels).statistic, abs=1e-6)
            assert row["anisotropy"] == pytest.approx((unit @ unit.T)[~np.eye(100, dtype=bool)].mean(), abs=1e-5)
    task = bl.task(encoder(), pairs(), progress=False)
    assert table.loc[3, False]["mean"] == pytest.approx(spearmanr(task.table["guess"], labels).statistic, abs=1e-9)


def test_a_difference_of_correlations_covers() -> None:
    """Of two guesses that are equally good the interval of 95 % holds 0 in some 95 of 100 draws; and it narrows."""
    held, widths = 0, []
    for seed in range(300):
        random = np.random.default_rng(seed)
        labels, noise = random.normal(size=80), random.normal(size=80)
        a, b = (labels + 0.6 * noise + random.normal(size=80) for _ in range(2))
        low, high = spearman_difference(a, b, labels)
        held += low <= 0 <= high
        widths.append(high - low)
    assert 0.92 <= held / 300 <= 0.98
    random = np.random.default_rng(0)
    labels = random.normal(size=800)
    low, high = spearman_difference(labels + random.normal(size=800), labels + random.normal(size=800), labels)
    assert high - low < np.mean(widths) / 2
    low, high = spearman_difference(labels + random.normal(size=800), random.normal(size=800), labels)
    assert low > 0.3


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(InputError, match="40 examples and more, not of 10"):
        bl.task(lens(), examples()[:10], progress=False).layers()
    long = [*pairs()[:45], ((words(60, 1), "warm"), 0.5)]
    with pytest.raises(InputError, match=r"row 45|45"):
        bl.by_layer(encoder(), long, progress=False)
    assert len(bl.by_layer(encoder(), long, progress=False, truncation=True).table) == 8
    level = [(("warm", "cats"), n / 7) for n in range(40)]
    with pytest.raises(InputError, match="the same similarity"):
        bl.by_layer(encoder(), level, progress=False)
    with pytest.raises(InputError, match="by_layer is of an encoder and scores of pairs"):
        bl.by_layer(lens(), examples())
    model = tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT, num_labels=1)))
    numbers = [(text, n / 7) for n, (text, _) in enumerate(examples()[:50])]
    with pytest.raises(InputError, match="not of a task of numbers"):
        bl.task(bl.Lens(model, tiny.wordpiece()), numbers, progress=False).layers()
