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
METRICS = "metrics.json"
CARD = "MODEL_CARD.md"


def refuse_finished(folder: Path) -> None:
    """Raises InputError for a folder that holds a finished run."""
    if (folder / METRICS).exists() and not (folder / CHECKPOINT).exists():
        raise InputError(f"{folder} holds a finished run: give another folder, or delete {METRICS} to train it anew")


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
