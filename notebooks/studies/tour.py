"""What the tour says of two heads of the embedded model, counted over many texts."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import torch

from bertlens.measures import norms
from bertlens.survey import mean_interval
from bertlens.trace.trace import Trace

from .finding import Finding, lengths

NEXT, PREVIOUS = (1, 8), (0, 2)  # the heads of the embedded model that look at the next word, and at the previous one


def neighbours(traces: Sequence[Trace]) -> Finding:
    """Means over texts: weight of L1·H8 on the next word, of L0·H2 on the previous one, and what `[CLS]` gets in L1·H8.

    Share by norm: of ‖αf(x)‖ in place of α (Kobayashi et al. 2020). Numbers: `each`, one row a text.
    """
    by_text = pd.DataFrame([_one(trace) for trace in traces])
    mean, low, high = mean_interval(by_text.to_numpy())
    table = pd.DataFrame({"mean": mean, "95 % from": low, "to": high}, index=by_text.columns).round(3)
    return Finding(f"{lengths(traces)}; each number is a mean over words, then over texts", table, each=by_text)


def _one(trace: Trace) -> dict[str, float]:
    word = ~trace.special_mask
    place = torch.arange(trace.n_tokens)
    step = place[None, :] - place[:, None]
    pair = word[:, None] & word[None, :] & (trace.segments[:, None] == trace.segments[None, :])
    ahead, behind = pair & (step == 1), pair & (step == -1)  # words that have a next one, and a previous one
    (layer, head), (earlier, earlier_head) = NEXT, PREVIOUS
    row, length = trace.attention(layer)[head][word], norms.weighted_norm(trace, layer)[head][word]
    return {
        "L1·H8, weight on the next word": trace.attention(layer)[head][ahead].mean().item(),
        "L0·H2, weight on the previous word": trace.attention(earlier)[earlier_head][behind].mean().item(),
        "L1·H8, share of [CLS] by weight": row[:, 0].mean().item(),
        "L1·H8, share of [CLS] by norm": (length[:, 0] / length.sum(1)).mean().item(),
    }
