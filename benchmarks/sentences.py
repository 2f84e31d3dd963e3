"""What it costs to ask why two texts are similar, and to rank passages, beside the encoder itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

import torch
from torch import nn

import bertlens as bl
from benchmarks.device import DEVICE
from benchmarks.models import WORDS, small_lens, text, tokenizer
from benchmarks.rows import Row, in_turn, ms, ratio

PASSAGES, LENGTH = 1000, 24  # words of each


def rows() -> Iterator[Row]:
    lens = small_lens()
    yield from two_texts(lens)
    yield from by_input(lens)
    yield from ranks(lens)


def two_texts(lens: bl.Lens) -> Iterator[Row]:
    """The number and its split by tokens of the last layer; a forward of each is the base."""
    one, other = text(128), text(128).replace("cat", "dog")
    encoded = [tokenizer()(x, return_tensors="pt").to(DEVICE) for x in (one, other)]
    assert isinstance(lens.model, nn.Module)

    @torch.no_grad()
    def forwards() -> None:
        for inputs in encoded:
            lens.model(**inputs)

    def split() -> None:
        bl.similarity(lens, one, other).pairs()

    base, ours = in_turn(forwards, split, rounds=9)
    spent = ratio(ours, base)
    yield Row(
        "similarity of two texts of 128 tokens, by tokens of the last layer, embedded model",
        "≤ 3 × a forward of each",
        f"{spent:.2f} × ({ms(min(ours))} over {ms(min(base))} at best)",
        ok=spent <= 3,
    )


def by_input(lens: bl.Lens) -> Iterator[Row]:
    """All input tokens of two short texts through the whole model, frozen."""
    one, other = text(32), text(32).replace("cat", "dog")

    def split() -> None:
        bl.similarity(lens, one, other).pairs("input", progress=False)

    [ours] = in_turn(split, rounds=3, warm=1)
    yield Row("the same, by input token, 2 × 32 tokens", "≤ 2 s", f"{ms(min(ours))} at best", ok=min(ours) <= 2)


def ranks(lens: bl.Lens) -> Iterator[Row]:
    """Passages by their score for a query, and the encoder's own `encode` of the same."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling

    from bertlens.model import offline_model

    first = Transformer(offline_model.folder())
    pooling = Pooling(first.get_embedding_dimension(), "mean")
    model = SentenceTransformer(modules=[first, pooling, Normalize()], device=str(DEVICE))
    own, draw = bl.Lens(model), random.Random(0)
    passages = [" ".join(draw.choices(WORDS, k=draw.randint(LENGTH // 2, LENGTH * 2))) for _ in range(PASSAGES)]
    base, ours, plain = in_turn(
        partial(model.encode, passages, show_progress_bar=False),
        partial(bl.rank, own, "Where does the cat sit?", passages, progress=False),
        partial(bl.rank, lens, "Where does the cat sit?", passages, progress=False),
        rounds=3,
        warm=1,
    )
    for name, times, budget in (("its SentenceTransformer", ours, 1.3), ("the bare encoder", plain, None)):
        spent = ratio(times, base)
        yield Row(
            f"rank of {PASSAGES:,} passages with five explained, embedded model, {name}",
            f"≤ {budget} × model.encode" if budget else "–",
            f"{spent:.2f} × ({ms(min(times))} over {ms(min(base))} at best)",
            ok=spent <= budget if budget else None,
        )
