"""What the classifier's score is to be held against: the nearest training sequence, and a logistic regression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...sars_cov_2.kmers import windows
from ...sars_cov_2.model import classes, load
from ...survey.intervals import count_interval
from .confusion import Scores, confusion
from .nearest import FAR, nearest
from .samples import Sample, of_split
from .variant_training import Batches, logits


def compare_baselines(folder: Path, samples: Sequence[Sample]) -> dict[str, Any]:
    """How far the test split lies from the train split, and who is right on it; metrics.json's "near".

    `distances`: nucleotides to the nearest training sequence (as text, for JSON) -> test sequences. `far`: the same
    scores on those at FAR and more; `interval` is that of the share that is right, 95 %.
    """
    model, tokenizer = load(folder)
    labels = classes(model)
    train, test = (of_split(samples, split, labels) for split in ("train", "test"))
    neighbours = nearest([sample.sequence for sample in test], [sample.sequence for sample in train])
    answers = {
        "classifier": logits(model, Batches.of(test, tokenizer, labels)).argmax(1),
        "nearest_neighbour": torch.tensor([labels.index(train[neighbour.index].variant) for neighbour in neighbours]),
        "logistic_regression": logistic_regression(train, test, labels).argmax(1),
    }
    targets = torch.tensor([labels.index(sample.variant) for sample in test])
    far = torch.tensor([neighbour.distance >= FAR for neighbour in neighbours])
    distances = Counter(neighbour.distance for neighbour in neighbours)
    right = {name: int((given == targets)[far].sum()) for name, given in answers.items()}
    return {
        "distances": {str(distance): distances[distance] for distance in sorted(distances)},
        "scores": {name: _scores(given, targets, labels) for name, given in answers.items()},
        "far": {
            "from": FAR,
            "n": int(far.sum()),
            "sizes": {label: int((targets[far] == i).sum()) for i, label in enumerate(labels)},
            "right": right,
            "interval": {name: list(count_interval(count, int(far.sum()))) for name, count in right.items()},
        },
    }


def logistic_regression(train: Sequence[Sample], test: Sequence[Sample], labels: list[str]) -> Tensor:
    """(N, C) logits of the test samples: 12-mers present or not, whatever their place.

    Fitted on `train` by L-BFGS: the sum of cross-entropies and half the squared weights, intercepts left free, as
    scikit-learn's LogisticRegression does by default.
    """
    own = [set(windows(sample.sequence)) for sample in train]
    columns = {kmer: number for number, kmer in enumerate(sorted(set().union(*own)))}
    features = _present(own, columns)
    targets = torch.tensor([labels.index(sample.variant) for sample in train])
    shapes = ((len(columns), len(labels)), (len(labels),))
    weights, intercepts = (torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    optimizer = torch.optim.LBFGS(
        [weights, intercepts], max_iter=1000, tolerance_grad=1e-4, history_size=20, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        fit = torch.nn.functional.cross_entropy(features @ weights + intercepts, targets, reduction="sum")
        total = fit + 0.5 * weights.square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    asked = _present([set(windows(sample.sequence)) for sample in test], columns)
    return (asked @ weights + intercepts).detach()


def _present(rows: Sequence[set[str]], columns: dict[str, int]) -> Tensor:
    """(N, K) 1 where the row holds the 12-mer, else 0."""
    table = torch.zeros(len(rows), len(columns), dtype=torch.float64)
    for number, kmers in enumerate(rows):
        table[number, [columns[kmer] for kmer in kmers if kmer in columns]] = 1
    return table


def _scores(answers: Tensor, targets: Tensor, labels: list[str]) -> dict[str, Any]:
    scores = Scores(labels, confusion(answers, targets, len(labels)), float("nan"))
    return {"right": scores.right, "macro_f1": scores.macro_f1}
