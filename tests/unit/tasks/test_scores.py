"""The metrics are scikit-learn's, the intervals cover what they say, the model comes back as it was given."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import transformers as tf
from sklearn import metrics as m

import bertlens as bl
from bertlens.errors import InputError, ModelError
from bertlens.measures.significance import count_interval, findings, macro_f1_interval
from bertlens.tasks import scores, task_answers
from unit import tiny
from unit.tasks.classifier import labelled, lens_of

DATASETS = 2000


def drawn(seed: int, n: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, n)
    logits = random.normal(size=(n, classes)) + 1.5 * np.eye(classes)[labels]
    return labels, logits


@pytest.mark.parametrize("seed", range(20))
def test_metrics_are_those_of_scikit_learn(seed):
    classes = 2 + seed % 4
    labels, logits = drawn(seed, 60 + 17 * seed, classes)
    found = scores.metrics_table(labels, logits, [f"c{k}" for k in range(classes)])
    guesses = logits.argmax(1)
    chances = torch.tensor(logits).softmax(-1).numpy()
    values = found.set_index(["measure", "label"])["value"]
    assert values["accuracy", ""] == pytest.approx(m.accuracy_score(labels, guesses))
    assert values["macro-F1", ""] == pytest.approx(m.f1_score(labels, guesses, average="macro"))
    assert values["Matthews", ""] == pytest.approx(m.matthews_corrcoef(labels, guesses))
    assert values["log loss", ""] == pytest.approx(m.log_loss(labels, chances))
    report = m.classification_report(labels, guesses, output_dict=True, zero_division=np.nan)
    for k in range(classes):
        for measure, name in (("precision", "precision"), ("recall", "recall"), ("F1", "f1-score")):
            assert values[measure, f"c{k}"] == pytest.approx(report[str(k)][name], nan_ok=True)


def test_the_loss_and_the_margin_of_an_example():
    labels, logits = drawn(1, 50, 3)
    loss = torch.nn.functional.cross_entropy(torch.tensor(logits), torch.tensor(labels), reduction="none")
    np.testing.assert_allclose(scores.losses_of(labels, logits), loss.numpy(), atol=1e-12)
    margins = scores.margins_of(labels, logits)
    np.testing.assert_array_equal(margins > 0, logits.argmax(1) == labels)
    others = [max(row[j] for j in range(3) if j != k) for k, row in zip(labels, logits, strict=True)]
    np.testing.assert_allclose(margins, logits[np.arange(50), labels] - others)


def test_few_examples_have_no_interval_and_say_so():
    for n, few in (
        (49, {"accuracy", "macro-F1", "Matthews", "log loss"}),
        (199, {"macro-F1", "Matthews", "log loss"}),
        (200, set()),
    ):
        labels, logits = drawn(4, n, 2)
        found = scores.metrics_table(labels, logits, ["a", "b"])
        whole = found[(found["label"] == "") & (found["measure"] != "calibration error")]
        assert set(whole.loc[whole["low"].isna(), "measure"]) == few
        assert whole.loc[whole["low"].isna(), "note"].str.startswith("too few").all()


def coverage(n: int, cells: np.ndarray, interval, truth: float, seed: int = 0) -> float:
    """The share of data sets drawn from a confusion matrix whose interval holds the truth."""
    random = np.random.default_rng(seed)
    counts = random.multinomial(n, cells.ravel(), size=DATASETS).reshape(-1, *cells.shape)
    ends = np.array([interval(one) for one in counts])
    return float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())


def cells_of(classes: int, right: float) -> np.ndarray:
    cells = np.full((classes, classes), (1 - right) / (classes - 1))
    np.fill_diagonal(cells, right)
    return cells / classes


UNEVEN = np.array([[0.5, 0.08, 0.02], [0.1, 0.15, 0.05], [0.0, 0.04, 0.06]])


@pytest.mark.parametrize(
    ("n", "cells"),
    [
        (200, cells_of(2, 0.7)),
        (200, cells_of(2, 0.9)),
        (200, cells_of(4, 0.8)),
        (600, cells_of(3, 0.6)),
        (1000, UNEVEN),
    ],
    ids=["two, .7", "two, .9", "four", "three", "uneven"],
)
def test_the_interval_of_matthews_covers(n, cells):
    labels, guesses = (index.ravel() for index in np.indices(cells.shape))
    truth = m.matthews_corrcoef(labels, guesses, sample_weight=cells.ravel())
    assert 0.93 <= coverage(n, cells, scores.matthews_interval, truth) <= 0.97


def test_a_rare_class_and_an_answer_that_is_nearly_always_right_have_no_interval():
    """Where too few examples tell of a number, whatever the draw: the delta method covers .80 of Matthews there."""
    random = np.random.default_rng(0)
    for rare, wrong, none in ((4, 9, {"macro-F1", "Matthews"}), (5, 9, set()), (40, 2, {"log loss"}), (40, 3, set())):
        labels = (np.arange(300) < rare).astype(int)
        logits = np.stack([random.normal(0, 0.1, 300), np.where(labels, 2.0, -2.0)], 1)
        logits[300 - wrong :, 1] *= -1
        table = scores.metrics_table(labels, logits, ["often", "rare"]).set_index("measure")
        whole = table[(table["label"] == "") & (table.index != "calibration error")]
        assert set(whole.index[whole["low"].isna()]) == none
        assert (whole["note"] != "").to_numpy().tolist() == whole["low"].isna().tolist()
        if rare == 4:
            assert table.loc["macro-F1", "note"] == "no interval: 4 examples of rare, fewer than 5"
            assert table.loc["Matthews", "note"] == "no interval: 4 examples beside the largest class, fewer than 5"
        if wrong == 2:
            assert table.loc["log loss", "note"] == "no interval: 2 wrong, fewer than 3"


def test_the_calibration_of_tags_is_by_texts():
    """Words of one text that are right or wrong together are no independent ones."""
    right = np.repeat(np.arange(20) % 4 > 0, 10)
    labels, rows = np.zeros(200, int), np.repeat(np.arange(20), 10)
    logits = np.stack([np.where(right, 1.0, -1.0), np.zeros(200)], 1)
    ends = [
        scores.calibration_table(labels, logits, of, 2).loc[1, ["low", "high"]].tolist()
        for of in (rows, np.arange(200))
    ]
    assert ends[0] == pytest.approx(count_interval(15, 20), abs=0.01)  # twenty texts
    assert ends[1] == pytest.approx(count_interval(150, 200))


@pytest.mark.parametrize(("n", "mean", "spread"), [(200, 0, 0.3), (200, 1, 2), (200, 4, 3), (200, 6, 3), (1000, 4, 3)])
def test_the_interval_of_the_log_loss_covers(n, mean, spread):
    """Of margins that are normal; the truth by Gauss and Hermite. At 200 of (6, 3) Student's n − 1 covers .91."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    truth = np.logaddexp(0, -(mean + spread * nodes)) @ weights / weights.sum()
    each = np.logaddexp(0, -np.random.default_rng(2).normal(mean, spread, (DATASETS, n)))
    ends = np.array([scores.mean_ends(one) for one in each])
    assert 0.93 <= ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean() <= 0.97


def test_no_interval_leaves_the_range_of_its_number():
    rare = np.array([0.0001] * 199 + [9.0])  # mean ± t·s/√n begins below 0
    low, high = scores.mean_ends(rare)
    assert 0 < low < rare.mean() < high
    assert np.isnan(scores.mean_ends(np.zeros(60))).all()
    differences = np.array([1.0, 1.0, 1.0, 0.0])
    mean, low, high, _ = findings.paired(differences, True, 1)
    assert -0.5 < low < 0.3 and mean == 0.75 and 0.9 < high <= 1
    assert findings.paired(-differences, True, 1)[1:3] == pytest.approx((-high, -low))
    assert findings.paired(differences, False)[2] > 1


def test_an_unbalanced_confusion_has_an_interval_around_its_own_number():
    counts = np.array([[50, 10, 0], [5, 100, 20], [2, 3, 30]])
    labels, guesses = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    low, high = macro_f1_interval(counts)
    assert low < m.f1_score(labels, guesses, average="macro") < high
    low, high = scores.matthews_interval(counts)
    assert low < m.matthews_corrcoef(labels, guesses) < high
    assert all(math.isnan(x) for x in scores.matthews_interval(np.array([[10, 0], [5, 0]])))


def test_a_task_says_what_its_model_says_and_leaves_it_as_it_was():
    lens = lens_of(classes=3)
    lens.model.train()
    before = {name: value.clone() for name, value in lens.model.state_dict().items()}
    examples = labelled(70, 3)
    found = bl.task(lens, examples, batch_size=8, progress=False)
    logits = torch.stack([lens.trace(text).output.logits[0] for text, _ in examples]).double().numpy()
    np.testing.assert_allclose(found.logits, logits, atol=1e-5)
    table = found.table
    assert list(table["guess"]) == [f"class {k}" for k in logits.argmax(1)]
    confusion = found.confusion()
    np.testing.assert_array_equal(confusion, m.confusion_matrix(found.labels, logits.argmax(1), labels=[0, 1, 2]))
    cell = found.cell("class 0", "class 1")
    assert len(cell) == confusion.loc["class 0", "class 1"] and (cell["label"] == "class 0").all()
    assert cell["loss"].is_monotonic_decreasing
    bins = found.calibration()
    assert bins["n"].sum() == 70
    value = found.metrics().set_index("measure")["value"]["calibration error"]
    error = (bins["n"] * (bins["accuracy"] - bins["confidence"]).abs()).sum() / 70
    assert value == pytest.approx(error)
    assert lens.model.training and all(p.grad is None for p in lens.model.parameters())
    assert all(torch.equal(before[name], value) for name, value in lens.model.state_dict().items())
    with pytest.raises(InputError, match="no label 'hot'"):
        found.cell("hot", "class 1")
    with pytest.raises(InputError, match="bins must be"):
        found.calibration(1)
    with torch.no_grad():
        lens.model.classifier.bias += 1
    with pytest.raises(ModelError, match="the model has changed since this task was made"):
        found.metrics()


def test_after_an_interrupt_the_next_call_goes_on(monkeypatch):
    found = bl.task(lens_of(), labelled(40), batch_size=8, progress=False)
    run, calls = task_answers.answers_of, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(*args)

    monkeypatch.setattr(task_answers, "answers_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found.metrics()
    assert found.logits.shape == (40, 2) and len(calls) == 6
    np.testing.assert_allclose(found.logits, bl.task(lens_of(), labelled(40), progress=False).logits, atol=1e-5)


def xlnet() -> bl.Lens:
    """Its classifier reads the last token, which in a padded batch is padding."""
    settings = {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48, "num_labels": 2}
    model = tf.XLNetForSequenceClassification(tf.XLNetConfig(vocab_size=len(tiny.VOCABULARY), **settings))
    return bl.Lens(tiny.shaken(model), tiny.wordpiece())


def gpt2() -> bl.Lens:
    """It has no mask token, and looks for the last token that is not padding."""
    settings = {"vocab_size": 300, "n_positions": 64, "n_embd": 32, "n_layer": 3, "n_head": 4, "num_labels": 2}
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 0}
    return bl.Lens(tiny.shaken(tf.GPT2ForSequenceClassification(tf.GPT2Config(**settings, **ids))), tiny.gpt_like())


@pytest.mark.parametrize("make", [xlnet, gpt2])
def test_padding_changes_no_answer(make):
    lens, examples = make(), labelled(20)
    found = bl.task(lens, examples, batch_size=8, progress=False)
    alone = torch.stack([lens.trace(text).output.logits[0] for text, _ in examples]).double().numpy()
    np.testing.assert_allclose(found.logits, alone, atol=1e-4)
    # by occlusion, without a mask token; of XLNet only attention weights can be had
    assert (found.errors(3).table["words"] != "").any() == (make is gpt2)
