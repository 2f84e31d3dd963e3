"""Texts for the pass of js/src/engine, and what it leaves beside a trace of torch."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np

import bertlens as bl
from bertlens.measures.norms import transformed_norm
from unit.export import engine

PARTS = [  # of a sentence
    ["The cat", "My old neighbour", "She", "A tired student", "The bank", "Nobody in the village", "Dr. Smith", "They"],
    ["quickly", "never", "almost always", "(as we know)", "still", "rarely"],
    ["sat on", "looked at", "bought", "remembered", "could not find", "wrote about", "was afraid of", "paid for"],
    ["the mat", "the river bank", "a red bicycle", "her brother's letter", "the theory of everything", "two tickets"],
    ["because it was raining", "in 1987", "before the train left", "while the others slept", "at 3.14 euros"],
    [".", "!", "?", ", and", "; but"],
]


def generated(lens: bl.Lens, count: int) -> list[tuple[str, str | None]]:
    """Texts of 3 to 512 tokens: each third one a pair, with [MASK], emoji, unknown words. Every other one is of
    sentences as people write them, those between are words of the vocabulary at random."""
    rng = random.Random(41)
    vocabulary = sorted(word for word in lens.tokenizer.get_vocab() if word.isalpha())
    odd = ["[MASK]", "😀", "㐂", "𓀀", "naïve", "unbelievably", "don't", "3.14", "猫", "U.S.A.", "(", "…"]
    found: list[tuple[str, str | None]] = []
    for n in range(count):
        wanted = round(3 * (512 / 3) ** (n / (count - 1)))
        sides: tuple[str, str | None] = ("a", "b" if n % 3 == 2 else None)
        sentence: list[str] = []
        while True:
            side = rng.randrange(2) if sides[1] and not sentence else 0
            sentence = sentence or [rng.choice(part) for part in PARTS]
            word = sentence.pop(0) if n % 2 == 0 else rng.choice(vocabulary)
            word = rng.choice(odd) if rng.random() < 0.1 else word
            longer = (f"{sides[0]} {word}", sides[1]) if side == 0 else (sides[0], f"{sides[1]} {word}")
            if len(lens.tokenizer(*longer)["input_ids"]) > wanted:
                break
            sides = longer
        found.append(sides)
    return found


def check(arrays: dict[str, np.ndarray], trace: bl.Trace, most: float) -> None:
    """Everything that a pass keeps beside the same of a trace: attention, norms and the vector of the text to `most`,
    what has numbers of several units to four times that."""
    for name, apart in distances(arrays, trace).items():
        assert apart <= most * (4 if name in ("q", "k", "v", "stream") else 1), name


def distances(arrays: dict[str, np.ndarray], trace: bl.Trace) -> dict[str, float]:
    """How far a pass is from a trace, at most; of norms as a part of the layer's largest."""
    found = dict.fromkeys(("attention", "q", "k", "v", "stream", "norms"), 0.0)
    for layer in range(trace.n_layers):
        stream, lengths = trace.layer_output(layer), transformed_norm(trace, layer)
        own = {
            "q": trace.query(layer),
            "k": trace.key(layer),
            "v": trace.value(layer),
            "norms": lengths,
            "stream": stream,
        }
        apart = {"attention": (engine.attention(arrays, layer, trace) - trace.attention(layer).double()).abs().max()}
        for name, values in own.items():
            at = f"stream.{layer + 1}" if name == "stream" else f"{layer}.{name}"
            apart[name] = np.abs(arrays[at] - values.numpy().ravel()).max()
        apart["norms"] /= lengths.max()
        found = {name: max(most, float(apart[name])) for name, most in found.items()}
    return found | {"pooled": float(np.abs(arrays["pooled"] - stream.mean(0).numpy()).max())}


def similarities(vectors: list[np.ndarray]) -> np.ndarray:
    """Cosines of each vector and the next."""
    return np.array([a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairwise(vectors)])


def check_both(written: Any, lens: bl.Lens, texts: list[tuple[str, str | None]]) -> list[dict[str, float]]:
    """Passes are torch's on the rounded weights: how far each is from the model's own, "similarity" with the next."""
    model, same, folder = written
    own = [lens.trace(*text) for text in texts]
    found, _ = engine.passes(model, folder, [(trace, []) for trace in own])
    rounded = [same.trace(*text) for text in texts]
    for arrays, trace in zip(found, rounded, strict=True):
        check(arrays, trace, 1e-5)
    apart = [distances(arrays, trace) for arrays, trace in zip(found, own, strict=True)]
    last = lens.model.config.num_hidden_layers - 1
    here = similarities([arrays["pooled"] for arrays in found])
    theirs, unrounded = (
        similarities([trace.layer_output(last).mean(0).numpy() for trace in traces]) for traces in (rounded, own)
    )
    assert np.abs(here - theirs).max() <= 1e-5
    for one, moved in zip(apart, np.abs(here - unrounded), strict=False):
        one["similarity"] = float(moved)
    return apart
