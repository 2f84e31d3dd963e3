"""A survey written out: one head, one row, one weight at a time in float64, from the formulas of Clark et al. 2019."""

from __future__ import annotations

import copy
import math
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from bertlens import Lens, Trace
from bertlens.survey import HeadStats
from unit.naive import NaiveBlock

Rows = Sequence[Sequence[float]]


def arrays(stats: HeadStats) -> dict[str, np.ndarray]:
    """All that statistics hold, by name, the values of single texts in the order of their size."""
    found = dict(stats.pieces)
    for place, part in stats.bins.items():
        found |= {f"{place}/{name}": sums for name, sums in part.sums.items()}
        found |= {f"{place}/{by}": np.sort(values, axis=0) for by, values in part.values.items()}
    return found


def entropy(row: Sequence[float]) -> float:
    return -sum(p * math.log(p) for p in row if p > 0)


def spelled(trace: Trace) -> list[str | None]:
    """The word that each token belongs to, None for template tokens and words of signs alone."""
    words: dict[int, str] = {}
    for word, token in zip(trace.word_ids, trace.display_tokens, strict=True):
        if word is not None and (word in words or token != "␣"):  # a bare blank before a word is no letter of it
            words[word] = words.get(word, "") + (token[2:] if token.startswith("##") else token).lower()
    return [words[word] if word in words and any(c.isalnum() for c in words[word]) else None for word in trace.word_ids]


def one_head(rows: Rows, trace: Trace) -> dict[str, tuple[float, float]]:
    """name -> (Σ, what it is divided by)."""
    n = len(rows)
    words, ids = spelled(trace), trace.word_ids
    special, tokens = trace.special_mask.tolist(), trace.display_tokens
    separators = [j for j in range(n) if special[j] and tokens[j] in ("[SEP]", "</s>")]
    marks = [j for j in range(n) if not special[j] and tokens[j] in (".", ",")]
    every_mark = [j for j in range(n) if not special[j] and all(unicodedata.category(c)[0] == "P" for c in tokens[j])]

    def to(keys: list[int], queries: Sequence[int] = range(n)) -> float:
        return sum(rows[i][j] for i in queries for j in keys)

    again = sum(
        rows[i][j] for i in range(n) for j in range(n) if words[i] and words[i] == words[j] and ids[i] != ids[j]
    )
    smoothed = [[0.9999 * p + 0.0001 / n for p in row] for row in rows]
    needed = 0
    for row in rows:
        held = 0.0
        for weight in sorted(row, reverse=True):
            held, needed = held + weight, needed + 1
            if held >= 0.9 - 1e-6:
                break
    rest = [i for i in range(n) if i not in separators]
    return {
        "previous": (sum(rows[i][i - 1] for i in range(1, n)), n),
        "next": (sum(rows[i][i + 1] for i in range(n - 1)), n),
        "self": (sum(rows[i][i] for i in range(n)), n),
        "same_word": (again, n),
        "first": (to([0]), n),
        "separator": (to(separators), n if separators else 0),
        "punctuation": (to(marks), n),
        "punctuation_all": (to(every_mark), n),
        "separator_to_separator": (to(separators, separators), len(separators)),
        "rest_to_separator": (to(separators, rest), len(rest) if separators else 0),
        "entropy": (sum(map(entropy, rows)), n),
        "entropy_first": (entropy(rows[0]), 1),
        "entropy_smoothed": (sum(map(entropy, smoothed)), n),
        "entropy_first_smoothed": (entropy(smoothed[0]), 1),
        "k90": (needed, n),
    }


class Eager:
    """Attention and hidden states from transformers itself, in float64, and the vectors f(x) built from the weights."""

    def __init__(self, lens: Lens):
        self.model: Any = copy.deepcopy(lens.model).double()
        self.model.set_attn_implementation("eager")

    def __call__(self, trace: Trace) -> tuple[list[Any], list[Any], list[torch.Tensor]]:
        """α per layer (H, S, S); blocks per layer; hidden states."""
        inputs = {"input_ids": trace.input_ids[None]}
        if trace.token_type_ids is not None:
            inputs["token_type_ids"] = trace.token_type_ids[None]
        with torch.no_grad():
            output = self.model(**inputs, output_attentions=True, output_hidden_states=True)
        maps = [attention[0] for attention in output.attentions]
        states = [state[0] for state in output.hidden_states]
        blocks = [NaiveBlock(self.model, layer, maps[layer], states[layer]) for layer in range(len(maps))]
        return maps, blocks, states


def mean(values: list[tuple[float, float]], average: str) -> float:
    """Averaged over texts, those that have it, or over tokens; NaN where no text has it."""
    have = [(total, count) for total, count in values if count]
    if not have:
        return math.nan
    if average == "text":
        return sum(total / count for total, count in have) / len(have)
    return sum(total for total, _ in have) / sum(count for _, count in have)


def cone(vectors: torch.Tensor) -> float:
    """‖Σ_i x_i / ‖x_i‖‖ ÷ n."""
    rows = vectors.tolist()
    total = [0.0] * len(rows[0])
    for row in rows:
        length = math.sqrt(sum(x * x for x in row))
        total = [t + x / length for t, x in zip(total, row, strict=True)]
    return math.sqrt(sum(t * t for t in total)) / len(rows)
