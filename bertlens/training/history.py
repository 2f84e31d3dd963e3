"""What every head does at a few points of a training run: from the model that it began with to the one that it made."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..base.arrays_file import ArraysFile
from ..lens import Lens
from ..measures.distributions import jensen_shannon
from ..measures.statistics import SURVEY_NAMES
from ..survey import HeadStats, head_stats
from .differences import SHIPPED
from .folder import HISTORY
from .train import Masking, evaluate
from .training_text import Passages

FILE = ArraysFile("history of a training run", 1, "delete it, or give another folder")
MOST_TEXTS = 200
SHORTEST_TEXT = 20  # tokens of such a text, where there are some


class History:
    """Statistics of all heads on MOST_TEXTS held-out passages at points of a run, kept in a file of its folder.

    of: what the run is made of, by name. Raises InputError where the file is of another run.

    Arrays: step (P,); loss, top1, top10 (P,) on the held-out passages; divergence (P, L, H), mean Jensen-Shannon
    divergence of a head's rows from those that it had at the start, in nats; names (K,) and weight (P, K, L, H), the
    statistics of survey.head_stats, average over texts; gates (P, L, H), most frequent gate.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        held_out: Passages,
        masking: Masking,
        folder: Path,
        of: Mapping[str, Any] | None = None,
    ):
        self.path, self.of = folder / HISTORY, of
        self.model, self.held_out, self.masking = model, held_out, masking
        self.texts = texts(held_out, tokenizer)
        self.lens, self.start = Lens(model, tokenizer), Lens(copy.deepcopy(model), tokenizer)

    def __call__(self, step: int) -> None:
        """Take the point, unless the file has it."""
        points = load(self.path, self.of) if self.path.is_file() else {}
        if step in points.get("step", ()):
            return
        stats = head_stats(self.lens, self.texts, progress=False)
        score = evaluate(self.model, self.held_out, self.masking)
        point: dict[str, Any] = {
            "step": step,
            **{name: value for name, value in asdict(score).items() if name != "n"},
            "divergence": self._divergence(),
            "weight": np.stack([stats.values(name) for name in SURVEY_NAMES]).astype(np.float32),
            "gates": _gates(stats),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        earlier = {name: points[name] for name in point if name in points}
        grown = {name: np.stack([*earlier.get(name, ()), np.asarray(value)]) for name, value in point.items()}
        grown |= {"names": np.array(SURVEY_NAMES), "n_texts": np.array(len(self.texts))}
        FILE.write(self.path, {}, grown, self.of, compressed=True)

    def _divergence(self) -> np.ndarray:
        total = torch.zeros(())
        for text in self.texts:
            old, now = self.start.trace(text), self.lens.trace(text)
            rows = [
                jensen_shannon(old.attention(layer), now.attention(layer)).mean(-1) for layer in range(now.n_layers)
            ]
            total = total + torch.stack(rows).double().cpu()
        return (total / len(self.texts)).float().cpu().numpy()


def load(path: str | Path | None = None, of: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a run's history.npz (see History), by default those of the shipped model's run.

    Raises InputError for a file that is not there, holds something else, or is of another run than `of`.
    """
    with FILE.open(SHIPPED / HISTORY if path is None else path, of) as (_, arrays):
        return arrays


def texts(held_out: Passages, tokenizer: Any) -> list[str]:
    """The first MOST_TEXTS passages of SHORTEST_TEXT tokens and more (of any length where there are none), as text."""
    long = [p for p, n in enumerate(held_out.lengths.tolist()) if n >= SHORTEST_TEXT]
    picks = (long or [*range(len(held_out))])[:MOST_TEXTS]
    rows = [held_out.rows(torch.tensor([p]))[0] for p in picks]
    return [tokenizer.decode(row, skip_special_tokens=True) for row in rows]


def _gates(stats: HeadStats) -> np.ndarray:
    return stats.gates()["label"].to_numpy().astype(str).reshape(stats.shape)
