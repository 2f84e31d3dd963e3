"""What every training run shares: a progress bar, a checkpoint that is never half written, warm-up and decay.

Each step seeds its own random numbers from (seed, step), so that a run that was cut off goes on as if it had not been
(on a CPU to the bit).
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import torch

from ..base.atomic import replacing
from ..errors import InputError

CHECKPOINT = "checkpoint.pt"
SEEDS = 1 << 32
MOST_STEPS = 10**9


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


def check_run(settings: Any) -> None:
    """Raises InputError for a seed, steps, a warm-up or a learning rate that no run can have."""
    if not 0 <= settings.seed < SEEDS:
        raise InputError(f"seed is a whole number from 0 to {SEEDS - 1}, not {str(settings.seed)[:40]}")
    if not 1 <= settings.steps <= MOST_STEPS:
        raise InputError(f"a run has 1 step or more, at most {MOST_STEPS:,}")
    if not 0 <= settings.warmup <= MOST_STEPS:
        raise InputError("warm-up is a number of steps, from 0 on")
    if not 0 <= settings.learning_rate < math.inf:
        raise InputError(f"a learning rate is a number from 0 on, like 5e-4, not {settings.learning_rate}")


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
