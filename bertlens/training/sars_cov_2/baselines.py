"""What the classifier's score is to be held against: the nearest training sequence, and a logistic regression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...base.scikit_learn import scikit_learn
from ...measures.significance import count_interval
from ...sars_cov_2.kmers import windows
from ...sars_cov_2.model import classes, load
from .nearest import FAR, nearest
from .samples import Sample, of_split
from .variant_training import Batches, logits, macro_f1


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
        "logistic_regression": logistic_regression(train, test, labels),
    }
    targets = torch.tensor([labels.index(sample.variant) for sample in test])
    is_far = torch.tensor([neighbour.distance >= FAR for neighbour in neighbours])
    distances = Counter(neighbour.distance for neighbour in neighbours)
    right = {name: int((guesses == targets)[is_far].sum()) for name, guesses in answers.items()}
    return {
        "distances": {str(distance): distances[distance] for distance in sorted(distances)},
        "scores": {
            name: {"right": int((guesses == targets).sum()), "macro_f1": macro_f1(guesses, targets)}
            for name, guesses in answers.items()
        },
        "far": {
            "from": FAR,
            "n": int(is_far.sum()),
            "sizes": {label: int((targets[is_far] == i).sum()) for i, label in enumerate(labels)},
            "right": right,
            "interval": {name: list(count_interval(count, int(is_far.sum()))) for name, count in right.items()},
        },
    }


def logistic_regression(train: Sequence[Sample], test: Sequence[Sample], labels: list[str]) -> Tensor:
    """(N,) class numbers of the test samples by scikit-learn's LogisticRegression, fitted on `train`.

    Features: 12-mers present or not, whatever their place. Raises InputError where scikit-learn is not installed.
    """
    purpose = "a logistic regression needs"
    counts = scikit_learn("feature_extraction.text", purpose).CountVectorizer(analyzer=windows, binary=True)
    features = counts.fit_transform(sample.sequence for sample in train)
    targets = [labels.index(sample.variant) for sample in train]
    if len({*targets}) == 1:  # nothing to tell apart
        return torch.full((len(test),), targets[0])
    model = scikit_learn("linear_model", purpose).LogisticRegression(max_iter=1000).fit(features, targets)
    return torch.from_numpy(model.predict(counts.transform(sample.sequence for sample in test)))
