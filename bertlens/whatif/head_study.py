"""A study of heads over many texts: which parts there are, their order by an estimate, what running each costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ..run.changes import Change, Mlp, Off
from ..trace.trace import Trace
from .reruns import check


class HeadSite(NamedTuple):
    """A head of a layer, or with head −1 its MLP."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"MLP {self.layer}" if self.head < 0 else f"L{self.layer}·H{self.head}"

    @property
    def off(self) -> Change:
        return Mlp(self.layer) if self.head < 0 else Off(self.layer, self.head)


def head_sites(trace: Trace) -> list[HeadSite]:
    """Every head, layer by layer. Raises ModelError where none can be switched off."""
    check(trace, [Off(0, 0)])
    return [HeadSite(*site) for site in product(range(trace.n_layers), range(trace.n_heads))]


def by_estimate(estimates: np.ndarray) -> list[int]:
    """Numbers of the parts, the largest estimate first, whatever its sign; those without one (NaN) last."""
    return np.argsort(-np.abs(estimates), kind="stable").tolist()


def passes(sites: Iterable[HeadSite], n_layers: int, draws: float = 1) -> float:
    """How many times the whole model is run: once as it is, and without each part from its layer on."""
    return 1 + sum((n_layers - site.layer) / n_layers for site in sites) * draws


def passes_of_some(sites: Sequence[HeadSite], n_layers: int, n: int, draws: float = 1) -> float:
    """`passes` of n of these parts, before it is known which."""
    return passes(sites, n_layers, draws * n / len(sites))


def duration(seconds: float) -> str:
    """In seconds, or in minutes."""
    return f"{max(1.0, seconds):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def cost_said(runs: str, seconds: float) -> str:
    """What a study will take, in one line."""
    return f"{runs}{duration(seconds)}; Ctrl-C ends it, and what was done counts"


def run_said(parts: str, how: str, texts: str) -> str:
    """What was run, and on what."""
    return f"{parts}, each {how}, on {texts} that had no part in the choice"
