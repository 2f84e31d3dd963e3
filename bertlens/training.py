"""What every training run shares: a progress bar, a checkpoint that is never half written, warm-up and decay.

Each step seeds its own random numbers from (seed, step), so that a run that was cut off goes on as if it had not been
(on a CPU to the bit).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch

from .errors import InputError

CHECKPOINT = "checkpoint.pt"


def bar(total: int, done: int, quiet: bool) -> Any:
    """A progress bar of steps on stderr."""
    from transformers.utils.logging import tqdm

    return tqdm(total=total, initial=done, unit="step", disable=quiet, file=sys.stderr, mininterval=1)


def draw(seed: int, step: int) -> torch.Generator:
    """The random numbers of one step."""
    return torch.Generator().manual_seed(7_000_003 * (seed + 1) + step)


def rate(step: int, warmup: int, steps: int) -> float:
    """The learning rate at a step, as a share of its highest: rises over `warmup` steps, then falls to 0 at `steps`."""
    return min(1.0, (step + 1) / max(1, warmup), (steps - step) / max(1, steps - warmup))


def adamw(model: Any, learning_rate: float, weight_decay: float, eps: float = 1e-8) -> torch.optim.AdamW:
    """AdamW over all parameters; matrices decay, biases and LayerNorms do not."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.98), eps=eps)


def save_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    """Write a run's state; one that is cut off leaves the state before."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(state, folder / f"{CHECKPOINT}.part")
    os.replace(folder / f"{CHECKPOINT}.part", folder / CHECKPOINT)


def load_checkpoint(folder: Path, run: str, device: torch.device) -> dict[str, Any] | None:
    """The state in a folder, None without one. `run` says what the run is made of: state["run"] must be the same.

    Raises InputError for the checkpoint of another run.
    """
    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    if state["run"] != run:
        raise InputError(
            f"{path.name} is from a run with other data or settings: give the same ones, or another folder"
        )
    return state
