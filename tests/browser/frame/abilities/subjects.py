"""What the abilities are tried on: traces by name, and the view of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

import bertlens as bl
from browser.maps import encoder_decoder
from browser.views import TEXTS
from unit import tiny

HEAD = {"layer": 1, "head": 8}  # where views are opened, the answer to nothing here
MASKED = "The cat sat on the [MASK] because it was tired."
ANIMAL = "The animal didn't cross the street because it was too tired."
LONG = 1100  # tokens: more than are drawn cell by cell


@cache
def lens(mlm: bool = False) -> Any:
    return bl.Lens.embedded(mlm=mlm)


@cache
def trace(name: str) -> Any:
    """The trace of a name."""
    if name == "masked":
        return lens(mlm=True).trace(MASKED)
    if name == "long":
        model = tiny.shaken(tiny.bert(num_hidden_layers=2, max_position_embeddings=LONG), scale=0.4)
        words = ["the", "cat", "sat", "on", "the", "mat", "."] * LONG
        words[699] = "warm"
        return bl.Lens(model, tiny.wordpiece()).trace(" ".join(words[: LONG - 2]))
    if name == "maps":
        return encoder_decoder()
    if name == "patches":
        weights = (2 * torch.randn(1, 2, 25, 25, generator=torch.Generator().manual_seed(3))).softmax(-1)
        return bl.Trace.from_attentions(weights, grid=(4, 6))
    texts = {
        "pair": TEXTS,
        "one": (TEXTS[0],),
        "animal": (ANIMAL,),
        "split": ("Unbelievable cats sleep on unquestionable mats.",),
        "sixty": (" ".join(["the cat sat on the mat"] * 10),),
        "odd": ("a [SEP] b \U0001f9a9",),
        "accent": ("Café  in Köln",),
    }
    return lens().trace(*texts[name])


@cache
def corpus() -> dict[str, Any]:
    """Statistics and distances of ten pairs about as long as the one that is looked at."""
    pairs = [(f"The {a} sat on the {b} because it was tired.", f"The {c} lay on the rug.") for a, b, c in WORDS]
    stats = bl.survey.head_stats(lens(), pairs, progress=False)
    return {"stats": stats, "distances": bl.survey.head_distances(lens(), pairs, progress=False)}


WORDS = [(a, b, c) for a in ("cat", "dog") for b in ("mat", "bed", "old mat") for c in ("dog", "cat")][:10]


def explorer(name: str) -> Callable[..., Any]:
    return lambda **given: trace(name).explore(**{**_opening(trace(name)), **given})


def _opening(of: Any) -> dict[str, int]:
    return {name: min(n, size - 1) for (name, n), size in zip(HEAD.items(), (of.n_layers, of.n_heads), strict=True)}


@cache
def comparison() -> Any:
    return bl.compare(trace("one"), lens().trace("The cat sat on the old mat because she was not tired."))


@cache
def similarity() -> Any:
    return bl.similarity(lens(), "A man is eating food.", "Nobody eats a meal here.")


SUBJECTS: dict[str, Callable[..., Any]] = {
    **{name: explorer(name) for name in ("pair", "one", "animal", "split", "sixty", "odd", "accent", "masked")},
    **{name: explorer(name) for name in ("long", "maps", "patches")},
    "corpus": lambda **given: trace("pair").explore(**{**HEAD, **corpus(), **given}),
    "compared": lambda **given: comparison().explore(**{"settings": {"aligned_only": False}} | given),
    "similar": lambda **given: similarity().explore(**given),
    "head alone": lambda **given: bl.HeadView(trace("pair"), **{**HEAD, **given}),
    "neurons alone": lambda **given: bl.NeuronView(trace("pair"), **{**HEAD, **given}),
}
