"""What only many texts can tell about the layers: anisotropy, self-similarity of words, intrinsic dimension."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor

from ...base.dataframes import pd
from ...errors import InputError
from ...trace.trace import Trace
from .vectors import (
    LEAST_POINTS,
    anisotropy,
    intra_similarity,
    max_explainable_variance,
    participation_ratio,
    self_similarity,
    two_nn,
)


def corpus_table(traces: Iterable[Trace], include_special: bool = False, rogue: int = 3) -> pd.DataFrame:
    """One row per hidden state (0 is the embeddings' output) over the tokens of all traces; DataFrame with the columns

    state; tokens; specials ("counted" or "left out")
    anisotropy: the mean cosine of all pairs of tokens; anisotropy_centred: the same less the mean vector;
      anisotropy_without: the same without the `rogue` dimensions that contribute most
    self_similarity (less anisotropy), max_explainable_variance: means over the pieces that occur twice and more
    intra_similarity: mean over texts, less anisotropy
    participation
    dimension, by `two_nn`, NaN under 100 points; dimension_points: the different vectors it is of; it rises with their
      number, compare it only between tables of as many

    Ethayarajh 2019; Timkey and van Schijndel 2021; Facco et al. 2017. Raises InputError for no traces, ModelError for
    traces without hidden states.
    """
    every_trace = list(traces)
    if not every_trace:
        raise InputError("corpus_table takes one trace or more")
    masks = [torch.ones_like(t.special_mask) if include_special else ~t.special_mask for t in every_trace]
    pieces = [t.tokens[i] for t, mask in zip(every_trace, masks, strict=True) for i in mask.nonzero()[:, 0].tolist()]
    positions = defaultdict(list)
    for i, piece in enumerate(pieces):
        positions[piece].append(i)
    repeated = [torch.tensor(at, device="cpu") for at in positions.values() if len(at) > 1]
    rows = []
    for state in range(every_trace[0].n_layers + 1):
        texts = [t.hidden_states[state][mask].double() for t, mask in zip(every_trace, masks, strict=True)]
        vectors = torch.cat(texts)
        points = len(torch.unique(vectors, dim=0))
        baseline = anisotropy(vectors)
        rows.append(
            {
                "state": state,
                "tokens": len(vectors),
                "specials": "counted" if include_special else "left out",
                "anisotropy": float(baseline),
                "anisotropy_centred": float(anisotropy(vectors, centre=True)),
                "anisotropy_without": float(anisotropy(vectors, without=rogue)),
                "self_similarity": _mean([self_similarity(vectors[at], baseline) for at in repeated]),
                "max_explainable_variance": _mean([max_explainable_variance(vectors[at]) for at in repeated]),
                "intra_similarity": _mean([intra_similarity(text, baseline) for text in texts if len(text)]),
                "participation": float(participation_ratio(vectors)),
                "dimension": two_nn(vectors) if points >= LEAST_POINTS else float("nan"),
                "dimension_points": points,
            }
        )
    return pd.DataFrame(rows)


def _mean(values: list[Tensor]) -> float:
    return float(torch.stack(values).mean()) if values else float("nan")
