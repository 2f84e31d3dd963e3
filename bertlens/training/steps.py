"""What every training run shares: optimizer steps with warm-up and decay, random numbers, going on after a cut.

Each step seeds its own random numbers from (seed, step), so that a run that was cut off goes on as if it had not been
(on a CPU to the bit).
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..base.arrays_file import ArraysFile
from ..errors import InputError
from .folder import CHECKPOINT

FILE = ArraysFile("checkpoint of a training run", 1, "delete it to begin anew, or give another folder")
SEEDS = 1 << 32
MOST_STEPS = 10**9


def training_device() -> torch.device:
    """Where models are trained: on a GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def of_step(seed: int, step: int) -> torch.Generator:
    """The random numbers of one step."""
    return torch.Generator().manual_seed(7_000_003 * (seed + 1) + step)


def of_epoch(seed: int, epoch: int) -> torch.Generator:
    """The random numbers that an epoch's order is drawn with."""
    return torch.Generator().manual_seed(1_000_003 * seed + epoch)


def rate(step: int, warmup: int, steps: int) -> float:
    """The learning rate at a step, as a share of its highest: rises over `warmup` steps, then falls to 0 at `steps`."""
    return min(1.0, (step + 1) / max(1, warmup), (steps - step) / max(1, steps - warmup))


def check_settings(settings: Any) -> None:
    """Raises InputError for a seed, steps, a warm-up or a learning rate that no run can have."""
    if not 0 <= settings.seed < SEEDS:
        raise InputError(f"seed is a whole number from 0 to {SEEDS - 1}, not {str(settings.seed)[:40]}")
    if not 1 <= settings.steps <= MOST_STEPS:
        raise InputError(f"a run has 1 step or more, at most {MOST_STEPS:,}")
    if not 0 <= settings.warmup <= MOST_STEPS:
        raise InputError("warm-up is a number of steps, from 0 on")
    if not 0 <= settings.learning_rate < math.inf:
        raise InputError(f"a learning rate is a number from 0 on, like 5e-4, not {settings.learning_rate}")


class TrainingRun:
    """A training run: model, optimizer, progress bar on stderr, and what a checkpoint keeps beside them: `state`, JSON,
    and `best`, the weights of the best step if the run remembers them.

    settings: a dataclass with seed, steps, warmup, learning_rate, weight_decay, clip. A checkpoint in `folder` of a run
    with the same settings and the same `inputs` (plain JSON values by name) is gone on from; else `state` is that of a
    fresh run. Raises InputError where the folder holds a checkpoint of another run, or a damaged one.
    """

    def __init__(
        self,
        model: Any,
        settings: Any,
        folder: Path,
        inputs: dict[str, Any],
        state: dict[str, Any],
        *,
        eps: float = 1e-8,
        quiet: bool = False,
    ):
        from ..base.progress import Progress

        self.model, self.settings, self.folder = model, settings, folder
        self.device = next(model.parameters()).device
        matrices = [p for p in model.parameters() if p.ndim > 1]
        vectors = [p for p in model.parameters() if p.ndim <= 1]  # biases and LayerNorms do not decay
        groups = [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.98), eps=eps)
        self.best: dict[str, Tensor] = {}
        self.of, self.state = asdict(settings) | inputs, {"step": 0, "seconds": 0.0, "history": [], **state}
        if (folder / CHECKPOINT).is_file():
            self._load()
        self.started = time.monotonic() - self.state["seconds"]
        self.progress = Progress(
            total=settings.steps, initial=self.step, unit="step", disable=quiet, file=sys.stderr, mininterval=1
        )

    def __enter__(self) -> TrainingRun:
        return self

    def __exit__(self, *error: Any) -> None:
        self.progress.__exit__(*error)

    @property
    def step(self) -> int:
        """How many steps are done."""
        return int(self.state["step"])

    @property
    def seconds(self) -> float:
        """How long the run has taken, those of earlier calls included."""
        return time.monotonic() - self.started

    def learn(self, loss: Tensor) -> float:
        """One optimizer step down the gradient of `loss`, which is returned as a number."""
        settings, share = self.settings, rate(self.step, self.settings.warmup, self.settings.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate * share
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip)
        self.optimizer.step()
        self.state["step"] += 1
        self.progress.update()
        return float(loss.detach())

    def save(self) -> None:
        """Write the checkpoint; one that is cut off leaves that before. Raises ExportError where it cannot be."""
        groups = {"model": self.model.state_dict(), "best": self.best, **self.optimizer.state_dict()["state"]}
        arrays = {f"{at}/{name}": x.cpu().numpy() for at, group in groups.items() for name, x in group.items()}
        self.folder.mkdir(parents=True, exist_ok=True)
        FILE.write(self.folder / CHECKPOINT, self.state | {"seconds": self.seconds}, arrays, self.of)

    def _load(self) -> None:
        with FILE.open(self.folder / CHECKPOINT, self.of) as (about, arrays):
            self.state = {name: about[name] for name in self.state}
            groups: dict[str, dict[str, Tensor]] = defaultdict(dict)
            for path, values in arrays.items():
                at, _, name = path.partition("/")
                groups[at][name] = torch.from_numpy(values)
            self.model.load_state_dict(groups.pop("model"))
            self.best = groups.pop("best", {})
            moments = {int(at): group for at, group in groups.items()}
            self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})

    def record(self) -> dict[str, Any]:
        """What metrics.json says of every run."""
        return {
            "settings": asdict(self.settings),
            "steps": self.step,
            "device": self.device.type,
            "seconds": round(self.seconds),
            "history": self.state["history"],
        }
