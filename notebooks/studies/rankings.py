"""Do attributions say what an answer depends on? Each tested by taking tokens away, and compared with the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm.auto import tqdm

from bertlens.lens import Lens
from bertlens.measures import attribution, flow
from bertlens.measures.ranks import spearman
from bertlens.survey import mean_interval
from bertlens.trace.trace import Trace
from bertlens.whatif import logit

from .finding import Finding, texts_of

METHODS: list[Callable[..., Any]] = [
    attribution.occlusion,
    attribution.gradient_input,
    attribution.integrated_gradients,
    attribution.linearised,
    attribution.attention_gradient,
]


def masked(lens: Lens, text: str) -> Trace:
    """The text with its middle word masked."""
    words = text.split()
    words[len(words) // 2] = lens.tokenizer.mask_token
    return lens.trace(" ".join(words))


def faithful(lens: Lens, sentences: Sequence[str]) -> Finding:
    """How many of 20 random rankings do worse: `beaten` (sentences, methods, 2), by comprehensiveness and sufficiency.

    The number is the logit of the likeliest word at the mask. `agreed` (sentences, methods, methods) Spearman's ρ of
    two methods, over words; `ways`, the methods' names.
    """
    beaten, agreed, ways = [], [], []
    for text in tqdm(sentences, desc="rankings tested", unit="sentence", delay=2, leave=False):
        trace = masked(lens, text)
        best = trace.predictions(k=1).iloc[0]
        position, metric = int(best["position"]), logit(best["token"])
        numbers: dict[str, Any] = {method.__name__: method(trace, metric) for method in METHODS}
        rows = [trace.attention(layer)[:, position].mean(0) for layer in range(trace.n_layers)]
        numbers |= {"attention": torch.stack(rows).mean(0), "norms": flow.rollout(trace)[-1][position]}
        ways = list(numbers)
        scores = attribution.faithfulness(trace, numbers, metric=metric, ceiling=False, progress=False)
        beaten.append(scores.loc[ways, ["comprehensiveness_beats", "sufficiency_beats"]].to_numpy())
        words = [at for at in range(trace.n_tokens) if not trace.special_mask[at] and at != position]
        values = [(way if torch.is_tensor(way) else way.values)[words].double() for way in numbers.values()]
        agreed.append([[float(spearman(x, y)) for y in values] for x in values])
    shares = np.array(beaten)
    _, low, high = mean_interval(shares[:, ways.index("gradient_input"), 0])
    verdict = "better than 10" if low > 10 else "not told apart from 10" if high > 10 else "worse than 10"
    note = (
        f"So many of 20 random rankings do worse [95 %, over {len(shares)} sentences]; 10 by chance.\n"
        f"gradient_input by comprehensiveness is {verdict} with these sentences."
    )
    columns = {"comprehensiveness": texts_of(shares[..., 0], 1), "sufficiency": texts_of(shares[..., 1], 1)}
    return Finding(note, pd.DataFrame(columns, index=ways), beaten=shares, agreed=np.array(agreed), ways=ways)


def agreement(found: Finding) -> Finding:
    """Spearman's ρ between the methods of `faithful`, mean over sentences."""
    note = f"Spearman's ρ between methods, mean of {len(found.agreed)} sentences; 0 by chance."
    return Finding(note, pd.DataFrame(found.agreed.mean(0), index=found.ways, columns=found.ways).round(2))
