"""Training: class-balanced loss, warm-up, gradient clipping, early stop on validation macro-F1, resumable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...base.scikit_learn import scikit_learn
from ...measures.significance import macro_f1_interval
from ...sars_cov_2 import model as classifier
from ...sars_cov_2.kmers import SHIFTS, SPECIAL, UNKNOWN, Vocabulary
from ...sars_cov_2.spike_tokenizer import SpikeTokenizer
from ..steps import TrainingRun, check_settings, of_epoch, of_step, training_device
from .samples import Sample, of_split


@dataclass(frozen=True)
class ClassifierSettings:
    """What a run is made of; stored with its checkpoints and in the model card."""

    seed: int = 0
    width: int = 96
    layers: int = 12
    heads: int = 12
    intermediate: int = 192
    batch_size: int = 32
    learning_rate: float = 5e-4
    warmup: int = 60  # steps
    steps: int = 1000  # at most; the rate falls to 0 there
    evaluate_every: int = 100  # steps
    patience: int = 6  # evaluations without a better macro-F1
    weight_decay: float = 0.01
    clip: float = 1.0
    shifted: float = 0.15  # share of sequences that lose one or two codons somewhere, which shifts the windows behind
    unknown: float = 0.08  # share of k-mers shown as [UNK], so that unseen ones do no harm
    # (from this share of the steps on, share of the windows shown): most steps see some windows of each sequence only,
    # rare ones first, at their own positions, and cost a fraction; the last ones see all (Hou et al. 2022, token
    # dropping for BERT)
    shown: tuple[tuple[float, float], ...] = ((0.0, 0.15), (0.55, 0.4), (0.8, 1.0))

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass
class Batches:
    """Token ids of a split (N, S) and class numbers (N,); S is the longest, shorter ones are padded with 0."""

    ids: Tensor
    labels: Tensor

    @classmethod
    def of(cls, samples: Sequence[Sample], tokenizer: SpikeTokenizer, labels: list[str], shift: int = 0) -> Batches:
        """`shift`: nucleotides left out at the start, so that every window lies so far behind its usual place."""
        rows = [tokenizer(sample.sequence[shift:])["input_ids"] for sample in samples]
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for row, tokens in zip(ids, rows, strict=True):
            row[: len(tokens)] = torch.tensor(tokens)
        return cls(ids, torch.tensor([labels.index(sample.variant) for sample in samples]))


def class_weights(labels: Tensor, n_classes: int) -> Tensor:
    """(C,) weights that fall with the square root of a class's size; their mean over the samples is 1."""
    counts = torch.bincount(labels, minlength=n_classes).clamp(min=1)
    weights = counts.float().rsqrt()
    return weights / weights[labels].mean()


def train(
    samples: Sequence[Sample],
    labels: list[str],
    vocabulary: Vocabulary,
    folder: Path,
    settings: ClassifierSettings,
    *,
    stop_after: int | None = None,
    quiet: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """Train on the "train" samples, stop by the "validation" ones; the "test" ones are not looked at.

    A checkpoint in `folder` of a run with the same settings is gone on from. `stop_after` ends this call (not the
    run) early. Returns the model with the best validation macro-F1 and the record of the run (steps, seconds, history).
    Raises InputError where the folder holds a checkpoint of another run.
    """
    tokenizer = SpikeTokenizer(vocabulary=vocabulary)
    learned = of_split(samples, "train", labels)
    frames = [Batches.of(learned, tokenizer, labels, shift) for shift in SHIFTS]
    validation = Batches.of(of_split(samples, "validation", labels), tokenizer, labels)
    torch.manual_seed(settings.seed)
    shape = {name: getattr(settings, name) for name in ("width", "layers", "heads", "intermediate")}
    model = classifier.build(len(vocabulary.kmers), labels, **shape).to(training_device())
    rarity = _rarity(frames[0].ids, model.config.vocab_size)
    weights = class_weights(frames[0].labels, len(labels))
    fresh = {"since": 0, "macro_f1": -1.0, "loss": float("inf"), "best_step": 0}
    inputs = {"labels": labels, "vocabulary": model.config.vocab_size}
    with TrainingRun(model, settings, folder, inputs, fresh, quiet=quiet) as run:
        state, running = run.state, None
        end = min(settings.steps, run.step + (stop_after or settings.steps))
        model.train()
        while run.step < end and state["since"] < settings.patience:
            loss = run.learn(_loss(model, frames, weights, rarity, settings, run.step))
            running = loss if running is None else 0.95 * running + 0.05 * loss
            best_so_far = {"best_macro_F1": f"{state['macro_f1']:.3f}"} if state["history"] else {}
            run.progress.set_postfix(loss=f"{running:.3f}", **best_so_far, refresh=False)
            if run.step % settings.evaluate_every == 0 or run.step == settings.steps:
                scores = evaluate(model, validation, labels)
                model.train()
                point = {"loss": running, "macro_f1": scores["macro_f1"], "validation_loss": scores["loss"]}
                state["history"].append({"step": run.step, **point})
                # equal F1 is decided by the loss, but only a better F1 keeps the run going
                state["since"] = 0 if scores["macro_f1"] > state["macro_f1"] else state["since"] + 1
                if (scores["macro_f1"], -scores["loss"]) > (state["macro_f1"], -state["loss"]):
                    run.best = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
                    state |= {name: scores[name] for name in ("macro_f1", "loss")} | {"best_step": run.step}
                run.save()
    if run.best:
        model.load_state_dict(run.best)
    finished = run.step >= settings.steps or state["since"] >= settings.patience
    return model.eval(), run.record() | {"best_step": state["best_step"], "finished": finished}


def evaluate(model: Any, batches: Batches, labels: list[str], batch_size: int = 32) -> dict[str, Any]:
    """`split_scores` of the model, in eval mode."""
    return split_scores(logits(model, batches, batch_size), batches.labels, labels)


def split_scores(logits: Tensor, targets: Tensor, labels: list[str]) -> dict[str, Any]:
    """What metrics.json has of a split, from logits (N, C) and class numbers (N,): scikit-learn's scores in [0, 1].

    `per_class`: a score is 0 where a class was never answered, or has no samples. `macro_f1` is of the classes that
    have samples or were answered, its interval the 95 % of `significance.macro_f1_interval`, None where a class is
    too rare for one. `confusion`: rows the classes, columns the answers. `loss`: mean cross-entropy, nats.
    """
    metrics, numbers, answers = sklearn_metrics(), list(range(len(labels))), logits.argmax(1)
    confusion = metrics.confusion_matrix(targets, answers, labels=numbers)
    by_class = metrics.precision_recall_fscore_support(targets, answers, labels=numbers, zero_division=0)
    names = ("precision", "recall", "f1", "n")
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(column.tolist() for column in by_class), strict=True)]
    ends = macro_f1_interval(confusion)
    return {
        "n": len(targets),
        "accuracy": float(metrics.accuracy_score(targets, answers)),
        "macro_f1": macro_f1(answers, targets),
        "macro_f1_interval": None if math.isnan(ends[0]) else [*ends],
        "loss": float(torch.nn.functional.cross_entropy(logits, targets)),
        "labels": labels,
        "per_class": [{"variant": label} | row for label, row in zip(labels, rows, strict=True)],
        "confusion": confusion.tolist(),
    }


def macro_f1(answers: Tensor, targets: Tensor) -> float:
    """Mean F1 of the classes that have samples or were answered; class numbers (N,)."""
    return float(sklearn_metrics().f1_score(targets, answers, average="macro", zero_division=0))


def sklearn_metrics() -> Any:
    """scikit-learn's metrics. Raises InputError where it is not installed."""
    return scikit_learn("metrics", "the scores of a classifier need")


def logits(model: Any, batches: Batches, batch_size: int = 32) -> Tensor:
    """(N, C) logits of the model for a split, in eval mode."""
    model.eval()
    device = next(model.parameters()).device
    blocks = []
    with torch.inference_mode():
        for start in range(0, len(batches.ids), batch_size):
            ids = _trim(batches.ids[start : start + batch_size])
            blocks.append(model(input_ids=ids.to(device), attention_mask=(ids > 0).long().to(device)).logits.cpu())
    return torch.cat(blocks)


def _loss(
    model: Any, frames: list[Batches], weights: Tensor, rarity: Tensor, settings: ClassifierSettings, step: int
) -> Tensor:
    """Cross-entropy of this step's sequences, weighted by class."""
    device = next(model.parameters()).device
    full = frames[0]
    epoch, number = divmod(step, max(1, len(full.ids) // settings.batch_size))
    order = torch.randperm(len(full.ids), generator=of_epoch(settings.seed, epoch))
    rows = order[number * settings.batch_size : (number + 1) * settings.batch_size]
    generator = of_step(settings.seed, step)
    shifted = _trim(_shift(frames, rows, settings.shifted, generator))
    ids, positions = _some(shifted, _share(settings, step), rarity, generator)
    noise = torch.rand(ids.shape, generator=generator)
    inputs = {
        "input_ids": torch.where((noise < settings.unknown) & (ids >= len(SPECIAL)), UNKNOWN, ids),
        "attention_mask": (ids > 0).long(),
        "position_ids": positions,
    }
    answer = model(**{name: tensor.to(device) for name, tensor in inputs.items()})
    labels = full.labels[rows]
    losses = torch.nn.functional.cross_entropy(answer.logits, labels.to(device), reduction="none")
    return (losses * weights[labels].to(device)).mean()


def _shift(frames: list[Batches], rows: Tensor, share: float, draw: torch.Generator) -> Tensor:
    """Token ids of the chosen rows, of which `share` lose one or two codons at a random place.

    From there on their windows are those of another frame; the window of the place itself is unknown.
    """
    ids = frames[0].ids[rows].clone()
    for row, source in enumerate(rows.tolist()):
        lost, quantile = torch.rand(2, generator=draw).tolist()
        if lost < share:
            frame = frames[1 + int(lost < share / 2)].ids[source]
            at = 1 + int(quantile * int((frame > 0).sum()))
            ids[row, at:] = 0
            ids[row, at : len(frame)] = frame[at : ids.shape[1]]
            ids[row, at - 1] = UNKNOWN if at > 1 else ids[row, at - 1]
    return ids


def _share(settings: ClassifierSettings, step: int) -> float:
    """The share of windows shown at this step."""
    return [share for start, share in settings.shown if step >= start * settings.steps][-1]


def _rarity(ids: Tensor, n_tokens: int) -> Tensor:
    """(V,) weights for drawing windows: 0.2 for k-mers of every sequence, up to 3.2 for rare ones; 0 for padding."""
    once = torch.zeros(len(ids), n_tokens).scatter_(1, ids, 1.0)
    weights = 0.2 - once.mean(0).clamp(min=0.05).log()
    weights[0] = 0
    return weights


def _some(ids: Tensor, share: float, rarity: Tensor, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """(ids, positions) of a share of each row's columns, rare k-mers more often; the first column, [CLS], always."""
    if share == 1:
        return ids, torch.arange(ids.shape[1]).expand_as(ids)
    # drawing without replacement: the smallest of exponential times with these rates
    times = torch.empty(ids.shape).exponential_(generator=draw) / rarity[ids]
    times[:, 0] = -1
    positions = times.argsort(1)[:, : round(share * ids.shape[1])].sort(1).values
    return ids.gather(1, positions), positions


def _trim(ids: Tensor) -> Tensor:
    """Without the columns that are padding in every row."""
    return ids[:, : int((ids > 0).sum(1).max())]
