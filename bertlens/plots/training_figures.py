"""What a training run does to the heads of the model that it began with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SelectionError
from ..training import history as runs
from .figure import ACCENT, INK, MUTED, axes_or_new, legend, quiet


def training(
    history: str | Path | Mapping[str, np.ndarray] | None = None,
    statistic: str | None = None,
    head: tuple[int, int] | None = None,
    axes: Any = None,
) -> Any:
    """How every head changes over a training run: a thin line for each, layers from light to dark, their means thick.

    history: the file of a run or its arrays (`training.history.load`), by default of the shipped masked language model.
    statistic: None for the mean Jensen-Shannon divergence (nats, at most ln 2 = 0.69) of a head's rows from those that
    it had at the start, or one of the survey's statistics by weight, mean over texts ("previous", "entropy", ...).
    head: (layer, head) to be drawn apart. Steps are on a scale of square roots: most happens early. Returns the
    matplotlib axes. Raises InputError as `training.history.load`, SelectionError for a statistic or head that it lacks.
    """
    arrays = history if isinstance(history, Mapping) else runs.load(history)
    names, steps = [str(name) for name in arrays["names"]], np.asarray(arrays["step"])
    if statistic is not None and statistic not in names:
        raise SelectionError(f"no statistic {statistic!r} in this history: there are {', '.join(names)}")
    values = arrays["divergence"] if statistic is None else arrays["weight"][:, names.index(statistic)]
    _, layers, heads = values.shape
    if head is not None and not (0 <= head[0] < layers and 0 <= head[1] < heads):
        raise SelectionError(f"no head {head}: there are {layers} layers x {heads} heads")
    axes = axes_or_new(axes, 6.0, 3.6)
    at = np.sqrt(steps)
    for layer, color in enumerate(_shades(layers)):
        axes.plot(at, values[:, layer], color=color, linewidth=0.5, alpha=0.45)
        axes.plot(at, values[:, layer].mean(1), color=color, linewidth=2.2, label=f"L{layer}, mean of {heads} heads")
    if head is not None:
        axes.plot(at, values[:, head[0], head[1]], color=ACCENT, linewidth=1.8, label=f"L{head[0]}·H{head[1]}")
    axes.set_xticks(at, [f"{step:,}" for step in steps], rotation=60, fontsize=7)
    label = "divergence from the start (nats)" if statistic is None else f"{statistic} (by weight)"
    axes.set(xlabel="step of the training run", ylabel=label)
    axes.set_title(f"{int(arrays['n_texts'])} held-out texts, {layers} x {heads} heads", fontsize=9, color=INK)
    legend(axes, labelcolor=MUTED)
    quiet(axes)
    return axes


def _shades(layers: int) -> list[Any]:
    """A colour of its own for each layer, from the first to the last."""
    from matplotlib import colormaps

    return [colormaps["viridis_r"](0.15 + 0.85 * layer / max(1, layers - 1)) for layer in range(layers)]
