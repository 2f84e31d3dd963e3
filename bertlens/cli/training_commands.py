"""`bertlens train-mlm`, `bertlens train-sars-cov-2`: train, write a folder with its model card, say how good it is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..base.atomic import claimed
from ..base.outputs import check_apart
from ..errors import BertLensError
from .command_arguments import options_given

MOST_THREADS = 1024


def train_sars_cov_2(arguments: argparse.Namespace) -> None:
    """Train, write the folder with its model card, and say how good it is."""
    from ..training.sars_cov_2.variant_run import score_again, train_and_save
    from ..training.sars_cov_2.variant_training import ClassifierSettings

    settings = ClassifierSettings(**options_given(arguments, "seed", "steps", "warmup", "learning_rate"))
    data, reference = arguments.data, arguments.reference
    with _training_in(arguments.output) as output:
        if arguments.score_only:
            metrics = score_again(data, output, reference=reference)
        else:
            metrics = train_and_save(data, output, settings, reference=reference, force=arguments.force)
    test = metrics["test"]
    print(
        f"{output}: accuracy {test['accuracy']:.2f}, macro-F1 {test['macro_f1']:.2f} on {test['n']} test "
        f"sequences; how far that carries is in {output / 'MODEL_CARD.md'}"
    )


def train_mlm(arguments: argparse.Namespace) -> None:
    """Train, write the folder with its model card, and say how good it is."""
    import torch

    from ..training.run import train_and_save
    from ..training.train import TrainingSettings

    names = ("seed", "steps", "hours", "warmup", "learning_rate", "length", "bfloat16")
    settings = TrainingSettings(**options_given(arguments, *names))
    if not 1 <= arguments.threads <= MOST_THREADS:
        raise BertLensError(f"--threads is a number from 1 to {MOST_THREADS}")
    torch.set_num_threads(arguments.threads)
    check_apart(arguments.output, [arguments.model, *arguments.corpus])
    with _training_in(arguments.output) as output:
        options = {"model_name": arguments.model, "score": arguments.score, "force": arguments.force}
        metrics = train_and_save(arguments.corpus, output, settings, **options)
    held_out = metrics["held_out"]
    print(
        f"{output}: {held_out['top1']:.1%} of masked tokens right, {held_out['top10']:.1%} among the "
        f"first ten, on {held_out['n']:,} held-out tokens; the rest is in {output / 'MODEL_CARD.md'}"
    )


@contextmanager
def _training_in(folder: Path) -> Iterator[Path]:
    """The folder, made and claimed for one run. Raises BertLensError where the run is stopped by Ctrl-C."""
    from ..training.folder import CHECKPOINT

    folder.mkdir(parents=True, exist_ok=True)
    try:
        with claimed(folder / CHECKPOINT):
            yield folder
    except KeyboardInterrupt:
        if (folder / CHECKPOINT).is_file():
            raise BertLensError(f"stopped: the same command goes on from the checkpoint in {folder}") from None
        raise BertLensError("stopped before the first checkpoint: the same command begins anew") from None
