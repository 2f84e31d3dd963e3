"""Parts of a model, and what stands in place of what one makes: nothing, its mean, what it made of other texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, check_number, excerpt
from ..run.changes import Change, Mlp, Off, Patch, Resample
from ..run.forward import output_of
from ..run.interventions import Run
from ..vocabulary import phrases

if TYPE_CHECKING:
    from ..lens import Lens
    from ..text.encoding import Encoding

ABLATIONS = {
    "zero": "switched off",
    "mean": "at its mean over texts of the other half",
    "resample": phrases.RESAMPLED,
}
FEWEST_DRAWS = 5
POOL = 32  # texts that means and draws are taken from
EVERY: Any = slice(None)  # of a patch's tokens


@dataclass(frozen=True)
class Part:
    """A head of a layer, or with head −1 its MLP."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"MLP {self.layer}" if self.head < 0 else f"L{self.layer}·H{self.head}"

    @property
    def off(self) -> Change:
        return Mlp(self.layer) if self.head < 0 else Off(self.layer, self.head)


class Ablation:
    """One way to take a part out of a text's run, named before anything is measured."""

    def __init__(self, name: str, draws: int, lens: Lens, pool: Sequence[Encoding], parts: Sequence[Part], seed: int):
        if not isinstance(name, str) or name not in ABLATIONS:
            raise InputError(f"no ablation {excerpt(name)}: there are {', '.join(ABLATIONS)}")
        draws = check_number(draws, "resampling takes draws,", FEWEST_DRAWS)
        self.name, self.draws = name, draws if name == "resample" else 1
        self.seed = seed
        self._made = [] if name == "zero" else [_made(lens, encoding, parts) for encoding in pool[:POOL]]
        if name == "mean":
            self._means = {part: torch.cat([made[part] for made in self._made]).mean(0) for part in parts}

    def change(self, part: Part, row: int, draw: int, tokens: int, padded: int) -> Change:
        """What takes the part out of the run of a text, with so many tokens in a batch that is padded to `padded`."""
        if self.name == "zero":
            return part.off
        if self.name == "mean":
            vectors = self._means[part].expand(padded, -1)
        else:
            chosen = np.random.default_rng([self.seed, row, draw]).integers(len(self._made))
            vectors = _fitted(self._made[chosen][part], tokens, padded)
        if part.head < 0:
            return Patch(part.layer, EVERY, None, "", what="mlp", vectors=vectors)
        return Resample(part.layer, part.head, None, "", vectors=vectors)


def _made(lens: Lens, encoding: Encoding, parts: Sequence[Part]) -> dict[Part, Tensor]:
    """(S, d) or (S, D): what each part made of one text."""
    trace = lens.run([encoding])[0]
    layers = frozenset(part.layer for part in parts if part.head < 0)
    kept = Run([()], keep=layers)
    if layers:
        output_of(lens.borrowed, lens.inputs([encoding]), kept)
    heads = {layer: trace.head_context(layer) for layer in {part.layer for part in parts if part.head >= 0}}
    return {
        part: (kept.kept[part.layer][0] if part.head < 0 else heads[part.layer][part.head]).clone() for part in parts
    }


def _fitted(vectors: Tensor, tokens: int, padded: int) -> Tensor:
    """(padded, d): the first token's for the first, the last one's for the last, those between in turn."""
    own = len(vectors)
    between = torch.arange(padded, device=vectors.device) - 1
    index = 1 + between % max(1, own - 2) if own > 2 else torch.zeros_like(between)
    index[0], index[tokens - 1 :] = 0, own - 1
    return vectors[index.clamp(0, own - 1)]
