"""Writes compute_vectors.json, the numbers that the page's own arithmetic must reproduce.

A float64 reference in numpy, written from the formulas and sharing no code with bertlens:
scores s_ij = c q_i·k_j + mask; α = softmax_j(s); contrast of (i, j) = c q_i ∘ (k_j − mean of the other visible keys);
n80 = least m with the m largest contributions summing to at least 0.8 of the whole contrast; reuse = mean Jaccard
index of that set with the sets of the other queries toward their own most attended keys, chance = its expectation for
random sets. alone, rest: α where the scores are sums over the set, or over the other neurons; lot, lot_sd: mean and
standard deviation of it over random sets of that size. A score may have terms beside: a number for each distance,
q_i · P(j − i), k_j · P(j − i), q'_i · k'_j, or a number for each cell. n80_chance: quantiles of n80 over random q, k.
"""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np

BAND = {"left": 2, "right": 1}
PATH = Path(__file__).with_name("compute_vectors.json")


def softmax(scores: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def contrast(q: np.ndarray, k: np.ndarray, scaling: float, visible: np.ndarray, i: int, j: int) -> np.ndarray:
    others = [key for key in range(len(k)) if visible[i, key] and key != j]
    if not others:
        return np.full(q.shape[1], np.nan)
    return scaling * q[i] * (k[j] - k[others].mean(axis=0))


def contrast_set(parts: np.ndarray) -> list[int]:
    net = parts.sum()
    if not net > 0:
        return []
    order = sorted(range(len(parts)), key=lambda n: (-parts[n], n))
    for size in range(1, len(parts) + 1):
        if sum(parts[n] for n in order[:size]) >= 0.8 * net:
            return sorted(order[:size])
    raise AssertionError("all neurons together are the whole contrast")


def expected_jaccard(a: int, b: int, d: int) -> float:
    total = Fraction(0)
    for both in range(min(a, b) + 1):
        ways = math.comb(a, both) * math.comb(d - a, b - both) if b - both <= d - a else 0
        if both:
            total += Fraction(ways, math.comb(d, b)) * Fraction(both, a + b - both)
    return float(total)


def reuse(own: list[int], sets: list[list[int]], d: int) -> tuple[float, float]:
    if not own or not sets:
        return math.nan, math.nan
    overlaps = [len({*own} & {*other}) / len({*own} | {*other}) for other in sets]
    return float(np.mean(overlaps)), float(np.mean([expected_jaccard(len(own), len(other), d) for other in sets]))


def part_weights(q: np.ndarray, k: np.ndarray, scaling: float, bias: np.ndarray, j: int, own: list[int]) -> dict:
    def weight(part: list[int] | np.ndarray) -> float:
        return float(softmax((scaling * k[:, part] @ q[part] + bias)[None])[0, j])

    rng = np.random.default_rng(11)
    lots = [weight(rng.permutation(len(q))[: len(own)]) for _ in range(2000)]
    rest = [n for n in range(len(q)) if n not in own]
    return {"alone": weight(own), "rest": weight(rest), "lot": np.mean(lots), "lot_sd": np.std(lots)}


def n80_chance(d: int, keys: int, rank: int) -> dict:
    """Whole random heads; 5 %, 50 % and 95 %, each two points lower and higher: what so many draws may give."""
    rng = np.random.default_rng(12)
    sizes = []
    for _ in range(12000):
        q, k = rng.standard_normal(d), rng.standard_normal((keys, d))
        order = np.argsort(-(k @ q))
        sizes.append(len(contrast_set(q * (k[order[rank]] - k[order[np.arange(keys) != rank]].mean(0)))))
    found = [n for n in sizes if n]
    limits = [[float(np.quantile(found, share + by)) for by in (-0.02, 0.02)] for share in (0.05, 0.5, 0.95)]
    return {"d": d, "keys": keys, "rank": rank, "limits": limits}


def score_terms(kinds: tuple[str, ...], q: np.ndarray, k: np.ndarray) -> tuple[list[dict], dict, np.ndarray]:
    """Terms as they travel, and (S, K) what they add, cell by cell; more than four tokens apart share a vector."""
    rng = np.random.default_rng(17)
    S, K, d = len(q), len(k), q.shape[1]
    arrays: dict[str, np.ndarray] = {}
    added = np.zeros((S, K))
    for n, kind in enumerate(kinds):
        vectors = rng.standard_normal((9, d)).astype(np.float32)
        rows = np.clip(np.arange(1 - S, K), -4, 4) + 4
        numbers = rng.standard_normal(S + K - 1).astype(np.float32)
        pairs = [rng.standard_normal((size, 3)).astype(np.float32) for size in (S, K)]
        cells = rng.standard_normal((S, K)).astype(np.float32)
        for i in range(S):
            for j in range(K):
                vector = vectors[max(-4, min(4, j - i)) + 4].astype(float)
                added[i, j] += {
                    "distance": float(numbers[j - i + S - 1]),
                    "query": float(q[i].astype(float) @ vector),
                    "key": float(k[j].astype(float) @ vector),
                    "pairs": float(pairs[0][i].astype(float) @ pairs[1][j].astype(float)),
                    "cells": float(cells[i, j]),
                }[kind]
        arrays[f"term{n}"] = {"distance": numbers, "pairs": pairs[0], "cells": cells}.get(kind, vectors)
        if kind in ("query", "key", "pairs"):
            arrays[f"term{n}.by"] = pairs[1] if kind == "pairs" else rows.astype(np.uint16)
    return [{"name": f"term {n}", "of": kind} for n, kind in enumerate(kinds)], arrays, added


def case(
    name: str,
    seed: int,
    S: int,
    K: int,
    d: int,
    scaling: float,
    mask: str,
    pairs: list[tuple[int, int]],
    kinds: tuple[str, ...] = (),
) -> dict:
    rng = np.random.default_rng(seed)
    q, k = (rng.standard_normal((n, d)).astype(np.float32) for n in (S, K))
    bias = np.zeros((S, K))
    if mask == "causal":
        bias[np.triu_indices(S, 1, K)] = -np.inf
    elif mask == "band":
        back = np.subtract.outer(np.arange(S), np.arange(K))  # how far a key lies before the query
        bias[(back > BAND["left"]) | (-back > BAND["right"])] = -np.inf
    elif mask in ("bits", "bias"):
        bias = np.where(rng.random((S, K)) < 0.3, -np.inf, 0.0)
        bias[:, 0] = 0  # every query sees the first key ...
        bias[S - 1] = -np.inf  # ... but the last query sees none,
        bias[S - 2, 1:] = -np.inf  # and the one before it sees no other
        if mask == "bias":
            bias += rng.standard_normal((S, K)).astype(np.float32)
    terms, term_arrays, added = score_terms(kinds, q, k)
    bias += added
    visible = bias > -np.inf
    Q, Ks = q.astype(float), k.astype(float)
    scores = scaling * (Q @ Ks.T) + bias
    attention = softmax(scores)
    best = [int(np.argmax(np.where(np.isnan(row), -1, row))) for row in attention]
    sets = [contrast_set(contrast(Q, Ks, scaling, visible, i, best[i])) for i in range(S)]
    neurons = []
    for i, j in pairs:
        parts = contrast(Q, Ks, scaling, visible, i, j)
        own = contrast_set(parts)
        jaccard, chance = reuse(own, sets[:i] + sets[i + 1 :], d)
        neurons.append(
            {
                "query": i,
                "key": j,
                "products": Q[i] * Ks[j],
                "contrast": parts,
                "net": parts.sum(),
                "n80": len(own) or math.nan,
                "set": own,
                "jaccard": jaccard,
                "chance": chance,
            }
            | (part_weights(Q[i], Ks, scaling, bias[i], j, own) if own else {})
        )
    with np.errstate(divide="ignore"):
        lse = np.log(np.exp(scores).sum(1))
    arrays: dict[str, np.ndarray] = {"q": q, "k": k, "lse": lse}
    if mask == "bits":
        arrays["bits"] = np.packbits(visible, axis=1, bitorder="little")
    elif mask == "bias":
        arrays["bias"] = bias - added
    arrays |= term_arrays
    return {
        "name": name,
        "S": S,
        "K": K,
        "d": d,
        "fields": {"scaling": scaling, "mask": mask}
        | ({"band": BAND} if mask == "band" else {})
        | ({"terms": terms} if terms else {}),
        "arrays": arrays,
        "visible": visible.astype(int),
        "scores": scores,
        "attention": attention,
        "neurons": neurons,
    }


SIDE = {
    "tokens": ["[CLS]", "un", "##aff", "##able", "##", "##x", "[SEP]", "a", "b", "[SEP]"],
    "words": [-1, 0, 0, 0, 1, 1, -1, 1, 1, -1],
    "segments": [0, 0, 0, 0, 0, 0, 0, 1, 1, 1],
    "special": [1, 0, 0, 0, 0, 0, 1, 0, 0, 1],
}
# label, pieces: the words of SIDE, by hand
WORDS = [("[CLS]", [0]), ("unaffable", [1, 2, 3]), ("##x", [4, 5]), ("[SEP]", [6]), ("ab", [7, 8]), ("[SEP]", [9])]


def grids() -> list[dict]:
    """Merged and filtered attention as two matrix products: rows averaged, columns summed."""
    n = len(SIDE["tokens"])
    attention = softmax(np.random.default_rng(7).standard_normal((n, n)) * 2).astype(np.float32)
    pieces = [(token, [at]) for at, token in enumerate(SIDE["tokens"])]
    cases = []
    for words in (False, True):
        for hide in (False, True):
            shown = [u for u in (WORDS if words else pieces) if not (hide and SIDE["special"][u[1][0]])]
            member = np.array([[at in unit[1] for at in range(n)] for unit in shown], float)
            values = member / member.sum(1, keepdims=True) @ attention.astype(float) @ member.T
            held = values.sum(1)
            cases.append(
                {
                    "words": words,
                    "hide_special": hide,
                    "labels": [unit[0] for unit in shown],
                    "pieces": [unit[1] for unit in shown],
                    "values": values,
                    "renormalized": values / held[:, None],
                    "row_sum": held,
                }
            )
    return [{"side": SIDE, "attention": attention, "cases": cases}]


def vectors() -> dict:
    return {
        "heads": [
            case("every key visible", 0, 6, 6, 8, 8**-0.5, "full", [(0, 1), (2, 2), (5, 0), (3, 4)]),
            case("scaled in the model", 1, 5, 5, 7, 1.0, "full", [(0, 0), (4, 3)]),
            case("causal", 2, 6, 6, 4, 0.5, "causal", [(0, 0), (3, 1), (5, 5)]),
            case("a band", 7, 9, 9, 4, 0.5, "band", [(0, 0), (4, 2), (5, 6), (8, 8)]),
            case("bits, two bytes a row", 3, 6, 11, 6, 6**-0.5, "bits", [(0, 0), (1, 7), (4, 0), (5, 3)]),
            case("bias", 4, 5, 9, 5, 0.3, "bias", [(0, 0), (2, 4), (3, 0)]),
            case("more keys than queries", 5, 3, 7, 9, 1 / 3, "full", [(0, 6), (2, 1)]),
            case("one token", 6, 1, 1, 4, 0.5, "full", [(0, 0)]),
            case("distances", 8, 7, 7, 5, 0.4, "full", [(0, 0), (3, 6), (6, 1)], ("distance",)),
            case("vectors of distances", 9, 9, 9, 6, 0.3, "bits", [(0, 0), (1, 7), (5, 2)], ("query", "key")),
            case("a second pair of vectors", 10, 6, 6, 4, 0.5, "causal", [(2, 1), (5, 0)], ("pairs",)),
            case("numbers of cells", 11, 4, 6, 4, 0.5, "full", [(3, 2)], ("cells",)),
            case("terms and a mask of numbers", 12, 5, 5, 4, 0.5, "bias", [(2, 0)], ("distance", "key")),
            case("one token with terms", 13, 1, 1, 4, 0.5, "full", [(0, 0)], ("distance", "query", "key", "pairs")),
        ],
        "grids": grids(),
        "n80_chance": [n80_chance(*case) for case in [(32, 20, 0), (32, 14, 0), (64, 100, 0), (16, 6, 1), (8, 2, 0)]],
        "expected_jaccard": [
            {"a": a, "b": b, "d": d, "value": expected_jaccard(a, b, d)}
            for a, b, d in [(1, 1, 1), (5, 5, 32), (3, 8, 9), (0, 4, 8), (64, 64, 64), (20, 31, 128)]
        ],
    }


def written(value: object) -> object:
    if isinstance(value, dict):
        return {name: written(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "values": [written(item) for item in value.ravel().tolist()]}
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value.item() if isinstance(value, np.generic) and math.isfinite(value) else value


if __name__ == "__main__":
    PATH.write_text(json.dumps(written(vectors()), allow_nan=False) + "\n")
