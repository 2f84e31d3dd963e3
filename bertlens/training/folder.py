"""What a training run has in its folder: a checkpoint while it goes on; at the end metrics.json and a model card."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..base.atomic import text_file
from ..errors import InputError

CHECKPOINT = "checkpoint.npz"
HISTORY = "history.npz"
METRICS = "metrics.json"
CARD = "MODEL_CARD.md"
ANOTHER = "give another folder, or --force (force=True) trains there and writes over it"


def check_folder(folder: Path, force: bool = False) -> None:
    """Before a run. Raises InputError, unless `force`, where the folder holds a finished run, or what is of none."""
    if (folder / CHECKPOINT).exists() or not folder.exists():
        return
    if force:
        (folder / HISTORY).unlink(missing_ok=True)  # else the new run would add to it
    elif (folder / METRICS).exists():
        raise InputError(f"{folder} holds a finished run: {ANOTHER}")
    # a run that was stopped before its first checkpoint has left its history
    elif foreign := [path.name for path in folder.iterdir() if path.name not in (HISTORY, f"{CHECKPOINT}.lock")]:
        raise InputError(f"{folder} holds other files already, {min(foreign)} among them: {ANOTHER}")


def write_scores(folder: Path, metrics: dict[str, Any], card: str) -> None:
    """Write the metrics and the card made of them."""
    text_file(json.dumps(metrics, indent=1) + "\n", folder / METRICS)
    text_file(card, folder / CARD)


def sha256(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
