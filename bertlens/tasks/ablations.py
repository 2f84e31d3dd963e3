"""Parts of a model, and what stands in place of what one makes: nothing, its mean, what it made of other texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..base.vocabulary import phrases
from ..errors import InputError, check_name, check_number
from ..lens import Lens
from ..run.changes import Change, Patch, Resample
from ..run.forward import output_of
from ..run.interventions import Run
from ..text.encoding import Encoding
from ..whatif.head_study import HeadSite

ABLATIONS = {
    "zero": "switched off",
    "mean": "at its mean over texts of the other half",
    "resample": phrases.RESAMPLED,
}
FEWEST_DRAWS = 5
POOL = 32  # texts that means and draws are taken from
EVERY: Any = slice(None)  # of a patch's tokens


class Ablation:
    """One way to take a part out of a text's run, named before anything is measured."""

    def __init__(
        self, name: str, draws: int, lens: Lens, pool: Sequence[Encoding], sites: Sequence[HeadSite], seed: int
    ):
        check_name(name, ABLATIONS, "ablation", InputError)
        draws = check_number(draws, "resampling takes draws,", FEWEST_DRAWS)
        self.name, self.draws = name, draws if name == "resample" else 1
        self.seed = seed
        self._vectors = [] if name == "zero" else [_vectors_of(lens, encoding, sites) for encoding in pool[:POOL]]
        if name == "mean":
            self._means = {site: torch.cat([vectors[site] for vectors in self._vectors]).mean(0) for site in sites}

    def change(self, site: HeadSite, row: int, draw: int, tokens: int, padded: int) -> Change:
        """What takes the part out of the run of a text, with so many tokens in a batch that is padded to `padded`."""
        if self.name == "zero":
            return site.off
        if self.name == "mean":
            vectors = self._means[site].expand(padded, -1)
        else:
            text = np.random.default_rng([self.seed, row, draw]).integers(len(self._vectors))
            vectors = _stretched(self._vectors[text][site], tokens, padded)
        if site.head < 0:
            return Patch(site.layer, EVERY, None, "", what="mlp", vectors=vectors)
        return Resample(site.layer, site.head, None, "", vectors=vectors)


def _vectors_of(lens: Lens, encoding: Encoding, sites: Sequence[HeadSite]) -> dict[HeadSite, Tensor]:
    """(S, d) or (S, D): what each part made of one text."""
    trace = lens.run([encoding])[0]
    layers = frozenset(site.layer for site in sites if site.head < 0)
    run = Run([()], keep=layers)
    if layers:
        output_of(lens.borrowed, lens.inputs([encoding]), run)
    heads = {layer: trace.head_context(layer) for layer in {site.layer for site in sites if site.head >= 0}}
    return {
        site: (run.kept[site.layer][0] if site.head < 0 else heads[site.layer][site.head]).clone() for site in sites
    }


def _stretched(vectors: Tensor, tokens: int, padded: int) -> Tensor:
    """(padded, d): the first token's for the first, the last one's for the last, those between in turn."""
    size = len(vectors)
    between = torch.arange(padded, device=vectors.device) - 1
    index = 1 + between % max(1, size - 2) if size > 2 else torch.zeros_like(between)
    index[0], index[tokens - 1 :] = 0, size - 1
    return vectors[index.clamp(0, size - 1)]
