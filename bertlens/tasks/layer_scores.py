"""Which layer knows the labels? A classifier's layers by a ridge refit, an encoder's by the similarity of pairs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from ..base.dataframes import pd
from ..base.progress import bar
from ..errors import InputError, check_seed
from ..lens import Lens
from ..measures.geometry import anisotropy
from ..measures.ranks import spearman
from ..measures.significance import (
    Sizes,
    Winner,
    choice,
    choice_said,
    count_interval,
    holm_intervals,
    layers_said,
    name_of,
    told,
)
from ..sentences import LayerVectors
from ..sentences.encoders import WINDOW
from .correlations import guesses_of, spearman_difference

if TYPE_CHECKING:
    from .task_answers import Answered

Read: TypeAlias = Callable[[Sequence[Any]], np.ndarray]
FEWEST_EXAMPLES = 40
PENALTIES = np.logspace(-2, 5, 15)  # of standardised states


def layers(task: Answered, seed: int) -> Sizes:
    """See `Task.layers`."""
    seed = check_seed(seed)
    if len(task) < FEWEST_EXAMPLES:
        raise InputError(f"layers are told of {FEWEST_EXAMPLES} examples and more, not of {len(task)}")
    task.check(whole=True)
    if task.kind.name in LAYERED:
        return LAYERED[task.kind.name](task, seed)
    raise InputError(f"layers are told of classes of texts and similarities of pairs, and not of {task.kind.lacks}")


def _of_classes(task: Answered, seed: int) -> Sizes:
    order = np.random.default_rng(seed).permutation(len(task))
    fit, test = order[::2], np.sort(order[1::2])
    labels = task.labels
    if len(set(labels[fit])) < 2:
        raise InputError("the half that is fitted on has one class alone: give more examples, or another seed=")
    readers = {"trained": LayerVectors(task.lens), "untrained": LayerVectors(untrained(task.lens, seed))}
    right = {}
    for name, reader in readers.items():
        states = _states(task, reader, name)
        right[name] = np.stack(
            [ridge(states[fit, k], labels[fit], states[test, k]) == labels[test] for k in range(states.shape[1])]
        )
    n_layers = readers["trained"].n_layers
    shares = pd.DataFrame(right["trained"].T.astype(float), columns=[*map(name_of, range(n_layers + 1))], index=test)
    last, rows = name_of(n_layers), []
    tests = {f"{k}": (shares[name_of(k)] - shares[last]).to_numpy() for k in range(n_layers)}
    tests |= {f"{k} untrained": right["trained"][k].astype(float) - right["untrained"][k] for k in range(n_layers + 1)}
    ends = told(tests)
    for k in range(n_layers + 1):
        difference = ends.get(f"{k}", (0.0, np.nan, np.nan, np.nan))
        interval = count_interval(int(right["trained"][k].sum()), len(test))
        beside = right["untrained"][k].mean(), *ends[f"{k} untrained"]
        rows.append((k, right["trained"][k].mean(), *interval, *difference, difference[1] > 0, *beside))
    names = ["layer", "mean", "mean_low", "mean_high", "difference", "low", "high", "p", "better", "untrained"]
    table = pd.DataFrame(rows, columns=[*names, *(f"over_untrained{end}" for end in ("", "_low", "_high", "_p"))])
    best = choice(shares, last, seed)
    beyond = table["over_untrained_low"] > 0
    named = ", ".join(str(k) for k in table.loc[beyond, "layer"])
    sentences = [
        *layers_said(table, "the accuracy of a ridge refit", len(test), len(tests), "text"),
        f"More than the same model untrained: {f'layer {named}' if named else 'none'}.",
        choice_said(best, "the last layer", "text"),
        readers["trained"].note,
    ]
    return Sizes(table, best, " ".join(filter(None, sentences)), "accuracy", shares)


def _of_pairs(task: Answered, seed: int) -> Sizes:
    reader, texts = LayerVectors(task.lens), [text for pair in task.examples.texts for text in pair]
    for row in range(len(task)):  # what is too long is said as of any task
        task.examples.encodings(task.lens, row, task.truncation)
    vectors = _windows(texts, partial(reader.encode, task=None, batch_size=task.batch_size), task, "layers")
    labels, compare = task.labels.astype(float), task.lens.borrowed.embedder.compare
    scores: dict[tuple[int, bool], np.ndarray] = {}
    cones = {}
    for layer in range(reader.n_layers + 1):
        for centred in (False, True):
            rows = torch.from_numpy(vectors[:, layer])
            rows = rows - rows.double().mean(0).float() if centred else rows
            pairs = zip(rows[::2], rows[1::2], strict=True)
            scores[layer, centred] = guesses_of([np.array(float(compare(a, b))) for a, b in pairs])
            cones[layer, centred] = float(anisotropy(rows))
    last = scores[reader.n_layers, False]
    if np.ptp(last) == 0:
        raise InputError("the model gives all pairs the same similarity: there is nothing to tell layers by")
    others = [key for key in scores if key != (reader.n_layers, False)]
    intervals = holm_intervals([partial(_between, scores[key], last, labels) for key in others])
    ends = dict(zip(others, intervals, strict=True))
    whole = spearman(last, labels)
    rows_of = []
    for key, of in scores.items():
        mean, interval = spearman(of, labels), ends.get(key, (np.nan, np.nan, np.nan))
        rows_of.append((*key, mean, mean - whole, *interval, interval[0] > 0, cones[key]))
    names = ["layer", "centred", "mean", "difference", "low", "high", "p", "better", "anisotropy"]
    table = pd.DataFrame(rows_of, columns=names)
    best = _choice(scores, reader.n_layers, labels, seed)
    sentences = [
        *layers_said(table, "Spearman’s correlation", len(labels), len(ends), "pair"),
        choice_said(best, "the last layer", "pair"),
        reader.note,
    ]
    return Sizes(table, best, " ".join(filter(None, sentences)), "Spearman")


def _between(scores: np.ndarray, others: np.ndarray, labels: np.ndarray, level: float) -> tuple[float, float]:
    return spearman_difference(scores, others, labels, level)


def _choice(scores: dict[tuple[int, bool], np.ndarray], last: int, labels: np.ndarray, seed: int) -> Winner | None:
    """As `survey.choice.choice`, of correlations."""
    order = np.random.default_rng(seed).permutation(len(labels))
    first, second = order[::2], order[1::2]
    values = {key: spearman(of[first], labels[first]) for key, of in scores.items()}
    whole = last, False
    if np.isnan(values[whole]):
        return None
    key = max((key for key in values if not np.isnan(values[key])), key=lambda key: (values[key], key == whole))
    means = [spearman(scores[which][second], labels[second]) for which in (key, whole)]
    ends = spearman_difference(scores[key][second], scores[whole][second], labels[second])
    return Winner(name_of(*key), means[0], means[1], *ends, len(first), len(second))


def ridge(states: np.ndarray, labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(m,) the classes that a ridge regression on states (n, D) and their labels guesses of others (m, D).

    Of each class 1 or 0, states standardised, the penalty by the errors of leaving out one, in closed form (Hoerl and
    Kennard 1970; Golub, Heath and Wahba 1979).
    """
    classes = np.unique(labels)
    mean, spread = states.mean(0, dtype=np.float64), states.std(0, dtype=np.float64)
    x, new = ((array - mean) / np.where(spread > 0, spread, 1) for array in (states, others))
    y = (labels[:, None] == classes).astype(float)
    u, sizes, axes = np.linalg.svd(x, full_matrices=False)
    turned = u.T @ (y - y.mean(0))

    def errors(penalty: float) -> float:
        shrunk = sizes**2 / (sizes**2 + penalty)
        held = np.minimum((u**2) @ shrunk + 1 / len(y), 1 - 1e-9)
        return float((((y - y.mean(0) - u @ (shrunk[:, None] * turned)) / (1 - held)[:, None]) ** 2).sum())

    penalty = min(PENALTIES, key=errors)
    weights = axes.T @ ((sizes / (sizes**2 + penalty))[:, None] * turned)
    guesses: np.ndarray = classes[(new @ weights + y.mean(0)).argmax(1)]
    return guesses


def untrained(lens: Lens, seed: int) -> Lens:
    """A lens on a model of the same config, its weights drawn as before any training."""
    base: Any = lens.borrowed.base
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = type(base)(copy.deepcopy(base.config))
    return Lens(fresh.to(lens.borrowed.device).eval(), lens.tokenizer)


def _states(task: Answered, reader: LayerVectors, name: str) -> np.ndarray:
    """(n, L + 1, D) the mean of each text's tokens after each layer."""
    encodings = [task.examples.encoding(task.lens, row, task.truncation) for row in range(len(task))]
    read = partial(reader.means, batch_size=task.batch_size)
    return _windows(encodings, read, task, f"layers of the {name} model")


LAYERED: dict[str, Callable[[Answered, int], Sizes]] = {"similarity": _of_pairs, "classes": _of_classes}


def _windows(inputs: Sequence[Any], read: Read, task: Answered, doing: str) -> np.ndarray:
    """(n, L + 1, E) of inputs, some at a time."""
    size, windows = WINDOW * task.batch_size, []
    with bar(len(inputs), "text", doing, task.progress) as progress_bar:
        for start in range(0, len(inputs), size):
            windows.append(read(inputs[start : start + size]))
            progress_bar.update(len(windows[-1]))
    return np.concatenate(windows)
