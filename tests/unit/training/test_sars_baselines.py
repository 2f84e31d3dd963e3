"""What the classifier is held against: edit distances, the nearest neighbour, a logistic regression; and the card."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

import bertlens as bl
from bertlens.sars_cov_2.model import build, save
from bertlens.training.sars_cov_2 import baselines
from bertlens.training.sars_cov_2.nearest import edit_distance, nearest
from bertlens.training.sars_cov_2.variant_card import near
from unit import sars


def levenshtein(a: str, b: str) -> int:
    """By the full table (Wagner and Fischer 1974)."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != other))
    return row[-1]


def edited(text: str, draw: random.Random, edits: int) -> str:
    for _ in range(edits):
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice(["", "A", "C", text[at] + "G", "TT"]) + text[at + 1 :]
    return text


def test_edit_distances_are_those_of_the_full_table():
    draw = random.Random(0)
    pairs = [("", ""), ("", "ACG"), ("ACG", ""), ("A" * 70, "A" * 64), ("ACGT" * 20, "ACGT" * 20)]
    for _ in range(300):
        a = "".join(draw.choices("ACGT", k=draw.randrange(0, 90)))
        pairs.append(
            (a, edited(a, draw, draw.randrange(6)) if a and draw.random() < 0.8 else "ACCA" * draw.randrange(9))
        )
    for a, b in pairs:
        expected = levenshtein(a, b)
        assert edit_distance(a, b) == edit_distance(b, a) == expected
        assert edit_distance(a, b, expected) == expected
        assert expected == 0 or edit_distance(a, b, expected - 1) is None


def test_the_nearest_is_that_of_all_pairs():
    draw = random.Random(1)
    first = "".join(draw.choices("ACGT", k=150))
    training = [edited(first, draw, draw.randrange(8)) for _ in range(25)]
    training += ["".join(draw.choices("ACGT", k=40)), training[3]]
    asked = [edited(first, draw, draw.randrange(8)) for _ in range(12)] + [training[3], "ACGT"]
    for sequence, found in zip(asked, nearest(asked, training), strict=True):
        distances = [levenshtein(sequence, other) for other in training]
        assert (found.distance, found.index) == (min(distances), distances.index(min(distances)))
    with pytest.raises(bl.InputError, match="no training sequences"):
        nearest(asked, [])


def test_the_logistic_regression_answers_like_one_that_is_fitted_here():
    """Cross-entropy, and half the squared weights, of 12-mers every 9 that are there or not."""
    draw = random.Random(0)
    # labels at random: whoever learns less, or more, of single windows answers otherwise
    made = [replace(s, variant=draw.choice(["blue", "green", "red"])) for s in sars.samples(per_class=24)]
    train, test = ([s for s in made if s.split == split] for split in ("train", "test"))
    labels = ["blue", "green", "red"]
    rows = [{s.sequence[i : i + 12] for i in range(0, len(s.sequence) - 11, 9)} for s in made]
    columns = sorted(set().union(*(row for row, s in zip(rows, made, strict=True) if s.split == "train")))
    x = torch.tensor([[float(kmer in row) for kmer in columns] for row in rows], dtype=torch.float64)
    learned = torch.tensor([s.split == "train" for s in made])
    y = torch.tensor([labels.index(s.variant) for s in made])
    weights = [torch.zeros(n, 3, dtype=torch.float64, requires_grad=True) for n in (len(columns), 1)]
    optimizer = torch.optim.LBFGS(weights, max_iter=500, tolerance_grad=1e-8, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        scores = x[learned] @ weights[0] + weights[1]
        total = torch.nn.functional.cross_entropy(scores, y[learned], reduction="sum") + weights[0].square().sum() / 2
        total.backward()
        return total

    optimizer.step(loss)
    expected = (x @ weights[0] + weights[1]).argmax(1)[~learned]
    assert baselines.logistic_regression(train, test, labels).tolist() == expected.tolist()
    one = [replace(s, variant="green") for s in train]
    assert baselines.logistic_regression(one, test, labels).tolist() == [1] * len(test)  # nothing else was learned


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Made-up spikes, three of the test split far from all others, and what an untrained model makes of them."""
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    vocabulary = sars.vocabulary()
    save(folder, build(len(vocabulary.kmers), ["blue", "green", "red"], width=24, layers=1, heads=2), vocabulary)
    made = sars.samples()
    tests = [i for i, s in enumerate(made) if s.split == "test"]
    learned = next(s for s in made if s.split == "train")
    for i, start in zip(tests[:3], (made[tests[0]], made[tests[1]], learned), strict=True):  # the last just far enough
        sequence = start.sequence
        made[i] = replace(made[i], sequence=sequence[:600] + "ACGTAC" + sequence[600:])
    return made, baselines.compare_baselines(folder, made)


def test_the_comparison_counts_who_is_right_near_and_far(compared):
    made, found = compared
    train, test = ([s for s in made if s.split == split] for split in ("train", "test"))
    nearest_of = [min(((levenshtein_capped(s.sequence, o.sequence), i) for i, o in enumerate(train))) for s in test]
    distances = [distance for distance, _ in nearest_of]
    assert {int(d): n for d, n in found["distances"].items()} == {d: distances.count(d) for d in set(distances)}
    right = [train[i].variant == s.variant for s, (_, i) in zip(test, nearest_of, strict=True)]
    assert found["scores"]["nearest_neighbour"]["right"] == sum(right)
    assert found["far"]["n"] == sum(d >= 6 for d in distances) == 3 and 6 in distances
    assert found["far"]["right"]["nearest_neighbour"] == sum(r for r, d in zip(right, distances, strict=True) if d >= 6)
    assert sum(found["far"]["sizes"].values()) == found["far"]["n"]


def levenshtein_capped(a: str, b: str) -> int:
    """Of two made-up spikes, which differ in single places, and by six letters put in at 600 in some."""
    if len(a) == len(b):
        return sum(x != y for x, y in zip(a, b, strict=True))
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    return 6 + sum(x != y for x, y in zip(longer[:600] + longer[606:], shorter, strict=True))


METRICS = {
    "test": {
        "n": 40,
        "macro_f1": 0.876,
        "macro_f1_interval": None,
        "per_class": [{"variant": "red", "n": 37}, {"variant": "blue", "n": 3}, {"variant": "green", "n": 0}],
    },
    "near": {
        "distances": {"0": 1, "2": 29, "3": 6, "11": 4},
        "scores": {
            "classifier": {"right": 36},
            "nearest_neighbour": {"right": 38},
            "logistic_regression": {"right": 35},
        },
        "far": {
            "from": 6,
            "n": 4,
            "sizes": {"red": 3, "blue": 1, "green": 0},
            "right": {"classifier": 1, "nearest_neighbour": 3, "logistic_regression": 2},
            "interval": {"classifier": [0.031, 0.716]},
        },
    },
}


def test_the_cards_sentences_are_made_from_the_metrics():
    said = " ".join(near(METRICS).split())
    for sentence in (
        "75% of the 40 test sequences (30) lie within 2 nucleotides of a sequence of the train split; 1 is identical",
        "nearest training sequence is right in 38 of 40 (95.0%), this model in 36 (90.0%)",
        "is 0.88, no interval (the rarest class, green, has 0). A logistic",
        "right in 35, 1 fewer than this model",
        "from every training sequence, 4 sequences (3 red, 1 blue), the model is right in 1 (95 %: a share "
        "of 0.03 to 0.72), the nearest neighbour in 3, the logistic regression in 2",
    ):
        assert sentence in said
    test = METRICS["test"] | {"macro_f1_interval": [0.701, 0.994], "per_class": [{"variant": "red", "n": 40}]}
    assert "is 0.88, 95 % interval 0.70 to 0.99 (the rarest class, red, has 40)." in " ".join(
        near(METRICS | {"test": test}).split()
    )
    without = METRICS | {"near": METRICS["near"] | {"far": METRICS["near"]["far"] | {"n": 0}}}
    assert near(without).endswith("No test sequence is 6 nucleotides or more from all of training.")
