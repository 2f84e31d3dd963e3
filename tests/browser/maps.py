"""Traces that need no trained model: attention maps made up by a formula, and a causal model with random weights."""

from __future__ import annotations

from functools import cache

import numpy as np

import bertlens as bl

WORDS = "[CLS] the cat sat [SEP] it purred [SEP]".split()


def attention(layers: int, heads: int, queries: int, keys: int, seed: int = 0) -> np.ndarray:
    """float32 (layers, heads, queries, keys), rows sum to 1."""
    scores = np.random.default_rng(seed).normal(0, 2, (layers, heads, queries, keys))
    powers = np.exp(scores)
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)


def encoder_decoder() -> bl.Trace:
    """Encoder 5 tokens, decoder 3, cross 3 × 5; 2 layers, 3 heads."""
    return bl.Trace.from_encoder_decoder(
        encoder=attention(2, 3, 5, 5, seed=1),
        decoder=attention(2, 3, 3, 3, seed=2),
        cross=attention(2, 3, 3, 5, seed=3),
        encoder_tokens=["▁The", "▁house", "▁is", "▁small", "</s>"],
        decoder_tokens=["▁Das", "▁Haus", "▁ist"],
        model_name="made up",
    )


@cache
def causal() -> bl.Trace:
    """A small random GPT-2 on a few words."""
    from unit.tiny import FAMILIES, gpt_like, shaken

    return bl.Lens(shaken(FAMILIES["gpt2"].model()), gpt_like()).trace("the cat sat on the mat")
