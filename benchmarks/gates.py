"""What the gates of all heads and the layer table cost beside one forward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.models import base_lens, base_model, inputs, text
from benchmarks.rows import Row, in_turn, ms, ratio
from bertlens.measures import gates, geometry

TOKENS = 512


def rows() -> Iterator[Row]:
    model, trace, given = base_model(), base_lens().trace(text(TOKENS)), inputs(TOKENS)
    half = TOKENS // 2
    pair = base_lens().trace(text(half), text(half + 1))

    def plain() -> None:
        with torch.inference_mode():
            model(**given)

    works: dict[str, Any] = {
        "gates of all 144 heads, one text (best cut)": lambda: gates.classify(trace),
        "gates of all 144 heads, a pair (segments)": lambda: gates.classify(pair),
        "gates of all 144 heads, content view": lambda: gates.classify(trace, "content"),
        "layer table": lambda: geometry.layer_table(trace),
    }
    base, *ours = in_turn(plain, *works.values(), rounds=7, warm=1)
    for name, times in zip(works, ours, strict=True):
        spent = ratio(times, base)
        yield Row(
            f"{name}, BERT-base shape, {TOKENS} tokens",
            "≤ 1 × the plain sdpa forward",
            f"{spent:.2f} × ({ms(min(times))} over {ms(min(base))} at best)",
            ok=spent <= 1,
        )
