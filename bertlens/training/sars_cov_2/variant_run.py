"""What `bertlens train-sars-cov-2` does: data in, trained folder and model card out; the test split comes last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...sars_cov_2.kmers import Vocabulary
from ...sars_cov_2.model import SHIPPED, classes, load, save
from ..folder import CHECKPOINT, METRICS, check_folder, sha256, write_scores
from .baselines import compare_baselines
from .samples import Sample, choose, of_split, read, read_reference, with_validation
from .variant_card import card
from .variant_training import Batches, ClassifierSettings, evaluate, sklearn_metrics, train

REFERENCE_FILE = "pango_consensus_spike.tsv.gz"
VALIDATION_SEED = 0  # the split stays the same whatever the run's seed


def prepare(path: Path, reference: Path | None = None) -> tuple[list[Sample], list[str], Vocabulary]:
    """Samples with their splits, the classes, and the vocabulary of the train split and the reference spike.

    The reference is a file with the spike of lineage B; without one, REFERENCE_FILE beside the data, or else the
    shipped tokenizer's. Raises InputError for what cannot be read or used, and where scikit-learn, which scores the
    splits, is not installed.
    """
    sklearn_metrics()
    samples, labels = choose(read(path))
    samples = with_validation(samples, seed=VALIDATION_SEED)
    neighbour = path.parent / REFERENCE_FILE
    if reference is None and neighbour.is_file():
        reference = neighbour
    if reference is None:
        spike = Vocabulary.load(SHIPPED / "kmers.json").reference_sequence
    else:
        spike = read_reference(reference)
    learned = (sample.sequence for sample in samples if sample.split == "train")
    return samples, labels, Vocabulary.learn(learned, spike)


def train_and_save(
    path: Path, output: Path, settings: ClassifierSettings, *, reference: Path | None = None, force: bool = False
) -> dict[str, Any]:
    """Train on a file, write the trained folder, score the test split once with what was written.

    An interrupted run goes on from the checkpoint in `output`. Returns the metrics that metrics.json holds. Raises
    InputError, before any training, for a folder that holds a finished run or other files (unless `force`).
    """
    check_folder(output, force)
    samples, labels, vocabulary = prepare(path, reference)
    model, record = train(samples, labels, vocabulary, output, settings)
    save(output, model, vocabulary)
    metrics = _write(path, output, samples, record)
    (output / CHECKPOINT).unlink(missing_ok=True)
    return metrics


def score_again(path: Path, output: Path, *, reference: Path | None = None) -> dict[str, Any]:
    """Score a trained folder on the file it was trained on, and write its metrics.json and MODEL_CARD.md anew.

    Returns the metrics. Raises InputError where the folder's metrics are missing or those of another file.
    """
    file = output / METRICS
    if not file.is_file():
        raise InputError(f"{output.name} holds no {METRICS}: train there first, without --score-only")
    samples, _, _ = prepare(path, reference)
    old = json.loads(file.read_text(encoding="utf-8"))
    if old["data"]["sha256"] != sha256(path):
        raise InputError(
            f"{output.name} was trained on another file than {path.name}: give --data {old['data']['file']}"
        )
    return _write(path, output, samples, old["run"])


def _write(path: Path, output: Path, samples: list[Sample], record: dict[str, Any]) -> dict[str, Any]:
    """Score what is in the folder and write its metrics and card."""
    model, tokenizer = load(output)
    labels = classes(model)
    metrics = {
        "data": {"file": path.name, "sha256": sha256(path)},
        "run": record,
        "validation": score_folder(output, samples, "validation"),
        "test": score_folder(output, samples, "test"),
        "near": compare_baselines(output, samples),
        "sizes": {
            split: {
                label: sum(sample.split == split and sample.variant == label for sample in samples) for label in labels
            }
            for split in ("train", "validation", "test")
        },
        "kmers": len(tokenizer.vocabulary.kmers),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    write_scores(output, metrics, card(metrics))
    return metrics


def score_folder(folder: Path, samples: list[Sample], split: str) -> dict[str, Any]:
    """`split_scores` of a trained folder, float16 weights as stored."""
    model, tokenizer = load(folder)
    labels = classes(model)
    return evaluate(model, Batches.of(of_split(samples, split, labels), tokenizer, labels), labels)
