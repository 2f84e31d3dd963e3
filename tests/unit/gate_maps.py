"""Attention maps whose gate is known, of many shapes and lengths, made with a generator."""

from __future__ import annotations

import numpy as np

GATES = (
    "directional",
    "open",
    "closed",
    "forward contextual",
    "backward contextual",
    "cluster",
    "instance",
    "self",
    "bidirectional",
)


def layout(rng: np.random.Generator, n: int, pair: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
    """special mask, segments: [CLS] text [SEP], or with a second text and [SEP]; the texts differ in length."""
    special, segments = np.zeros(n, bool), np.zeros(n, int)
    special[[0, -1]] = True
    if rng.random() < 0.5 if pair is None else pair:
        middle = int(rng.integers(max(4, round(0.35 * n)), round(0.65 * n) + 1))
        special[middle] = True
        segments[middle + 1 :] = 1
    return special, segments


def pure(gate: str, rng: np.random.Generator, special: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """One map (n, n) of that gate, without noise."""
    n = len(special)
    content, ends = np.flatnonzero(~special), np.flatnonzero(special)
    index = np.arange(n)
    offset = index[None, :] - index[:, None]
    kind = int(rng.integers(3))
    a = np.full((n, n), 1e-6)
    if gate == "directional":  # weights of the stripes fall like 1 / rank, and vary from row to row
        columns = rng.choice(content, int(rng.integers(1, max(2, len(content) // 5) + 1)), replace=False)
        a[:, columns] += rng.gamma(6.0, size=(n, len(columns))) / (1 + np.arange(len(columns)))
    elif gate == "open":
        a += [np.ones((n, n)), np.tile(~special, (n, 1)), rng.uniform(0.3, 1.7, (n, n))][kind]
    elif gate == "closed":  # one sink, all alike, or a different one for every row
        a[:, [ends[0]]] += kind == 0
        a[:, ends] += kind == 1
        a[index, rng.choice(ends, n)] += kind == 2
    elif gate in ("forward contextual", "backward contextual"):
        ahead = np.clip(offset, 0, None)
        if kind == 0:  # the next token, or now and then the one after it
            a[index, np.minimum(index + 1 + (rng.random(n) < 0.2), n - 1)] += 1
        elif kind == 1:  # fading with the distance
            a += np.where(ahead > 0, 1.0 / np.maximum(ahead, 1) ** 2, 0)
        else:  # everything that follows
            a += (ahead > 0) & ~special
        a[-1] += 1
        if gate == "backward contextual":
            a = a[::-1, ::-1]
    elif gate == "cluster":
        halves = index >= int(rng.integers(round(0.4 * n), round(0.6 * n) + 1))
        groups = segments if segments.any() else halves
        weights = [np.ones((n, n)), rng.uniform(0.2, 1.8, (n, n)), 2 - np.abs(offset) / n][kind]
        a += (groups[:, None] == groups[None, :]) * weights * ~special
    elif gate == "instance":  # each token has a far partner of its own choice
        for i in range(n):
            far = content[np.abs(content - i) > 1]
            a[i, rng.choice(far)] += rng.uniform(0.7, 1)
            a[i, far] += 0.2 / len(far)
    elif gate == "self":
        a += np.eye(n) + [0, 0.2 / n, 0.4 / n][kind]
    elif gate == "bidirectional":  # the neighbours, three of them on each side, or a soft band
        band = [np.abs(offset) == 1, np.clip(1 - np.abs(offset) / 3, 0, 1), np.exp(-np.abs(offset) / 1.2)][kind]
        a += band * (offset != 0)
    return a / a.sum(1, keepdims=True)


def noisy(a: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """(1 − share) A + share · softmax(N(0, 1))."""
    noise = np.exp(rng.normal(size=a.shape))
    return (1 - share) * a + share * noise / noise.sum(1, keepdims=True)


def beside_sink(a: np.ndarray, share: float, special: np.ndarray) -> np.ndarray:
    """The map with that share of every row moved to the first special token."""
    sink = np.zeros_like(a)
    sink[:, np.flatnonzero(special)[0]] = 1
    return (1 - share) * a + share * sink
