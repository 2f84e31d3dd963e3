"""What a training run has in its folder: a checkpoint while it goes on; at the end metrics.json and a model card."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch

from ..base.atomic import replacing
from ..errors import InputError

CHECKPOINT = "checkpoint.pt"
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
    elif other := [path.name for path in folder.iterdir() if path.name not in (HISTORY, f"{CHECKPOINT}.lock")]:
        raise InputError(f"{folder} holds other files already, {min(other)} among them: {ANOTHER}")


def write_scores(folder: Path, metrics: dict[str, Any], card: str) -> None:
    """Write the metrics and the card made of them."""
    (folder / METRICS).write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")
    (folder / CARD).write_text(card, encoding="utf-8")


def sha256(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def save_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    """Write a run's state; one that is cut off leaves the state before. Raises ExportError where it cannot be."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / CHECKPOINT) as out:
        try:
            torch.save(state, out)
        except RuntimeError as error:  # torch's own for a disk that is full
            raise OSError(str(error).splitlines()[0]) from error


def load_checkpoint(folder: Path, run: str, device: torch.device) -> dict[str, Any] | None:
    """The state in a folder, None without one. `run` says what the run is made of: state["run"] must be the same.

    Raises InputError for the checkpoint of another run, and for a damaged one.
    """
    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
        begun = state["run"]
    except Exception:  # noqa: BLE001  a damaged file raises whatever its decoders stumble on
        raise InputError(
            f"{path} is damaged or no checkpoint: delete it to begin anew, or give another folder"
        ) from None
    if begun != run:
        raise InputError(
            f"{path.name} is from a run with other data or settings: give the same ones, or another folder"
        )
    return state
