"""Vig's patterns in a model: the heads that show each best, chosen on half of the pairs and counted on the other.

After Vig 2019, "Deconstructing BERT, part 2". Patterns are named as in NAMES; layers and heads count from 0.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertlens.lens import Lens
from bertlens.survey import mean_interval, mean_text
from bertlens.trace.trace import Trace

from .finding import Finding, Head, head_name, lengths

NAMES = ["[CLS]", "[SEP]", "bag of words", "next", "previous"]
Pairs = Sequence[tuple[str, str]]
Scores = dict[str, np.ndarray]


def pattern_scores(traces: Iterable[Trace]) -> Scores:
    """Name -> (layers, heads): mean weight over words that goes to `[CLS]`, `[SEP]`, the next, the previous word.

    Also to words of the `own` and the `other` sentence, the `evenness` over the own one (entropy / log n, 1 for all
    alike), and "bag of words" = (own − other) × evenness.
    """
    total: dict[str, torch.Tensor] = {}
    rows: dict[str, int] = {}
    for trace in traces:
        word, place = ~trace.special_mask, torch.arange(trace.n_tokens)
        step = place[None, :] - place[:, None]  # where the key stands, seen from the query
        same = trace.segments[None, :] == trace.segments[:, None]
        own = word[None, :] & same
        keys = {
            "[CLS]": (place == 0).expand_as(own),
            "[SEP]": trace.separator_mask.expand_as(own),
            "next": own & (step == 1),
            "previous": own & (step == -1),
            "own": own,
            "other": word[None, :] & ~same,
        }
        attention = torch.stack([trace.attention(layer) for layer in range(trace.n_layers)])
        values = {name: (attention * chosen).sum(-1) for name, chosen in keys.items()}
        share = attention * own / values["own"][..., None]
        values["evenness"] = -torch.xlogy(share, share).sum(-1) / own.sum(-1).log()
        keys["evenness"] = own
        for name, value in values.items():
            asked = word & keys[name].any(-1)  # the last word of a sentence has no next one
            total[name] = total.get(name, torch.zeros(())) + value[..., asked].sum(-1)
            rows[name] = rows.get(name, 0) + int(asked.sum())
    scores = {name: (total[name] / rows[name]).numpy() for name in total}
    scores["bag of words"] = (scores["own"] - scores["other"]) * scores["evenness"]
    return scores


def of_texts(traces: Iterable[Trace]) -> Scores:
    """The same text by text: name -> (texts, layers, heads)."""
    each = [pattern_scores([trace]) for trace in traces]
    return {name: np.stack([scores[name] for scores in each]) for name in each[0]}


def best_heads(scores: np.ndarray, n: int = 3) -> list[Head]:
    """The n heads with the highest score of (layers, heads)."""
    order = np.argsort(-scores, axis=None, kind="stable")[:n]
    return [divmod(int(at), scores.shape[1]) for at in order]


def untold(lens: Lens, *, types: bool = False, positions: bool = False) -> Lens:
    """A lens on a copy of the model that is not told in which sentence a token is, or at which position."""
    model = copy.deepcopy(lens.model)
    embeddings: Any = model.embeddings
    with torch.no_grad():
        if types:
            table = embeddings.token_type_embeddings.weight
            table[1] = table[0]
        if positions:
            table = embeddings.position_embeddings.weight
            table[:] = table[:32].mean(0)
    return Lens(model, lens.tokenizer)


def shuffled(pairs: Pairs, seed: int = 0) -> list[tuple[str, str]]:
    """The pairs with the words of each sentence in another order."""
    order = random.Random(seed)

    def mixed(sentence: str) -> str:
        parts = sentence.rstrip(".").lower().split()
        order.shuffle(parts)
        return " ".join(parts) + "."

    return [(mixed(a), mixed(b)) for a, b in pairs]


class Patterns:
    """Heads for the patterns of NAMES: chosen on the first half of the pairs, counted on the second. See `heads`."""

    def __init__(self, lens: Lens, pairs: Pairs) -> None:
        self.lens, half = lens, len(pairs) // 2
        self.choose, self.test = list(pairs[:half]), list(pairs[half:])
        self.choose_traces, self.traces = lens.trace_batch(self.choose), lens.trace_batch(self.test)
        self.chosen_on, self.tested = pattern_scores(self.choose_traces), pattern_scores(self.traces)
        self.each = of_texts(self.traces)
        self.best: dict[str, Head] = {name: best_heads(self.chosen_on[name])[0] for name in NAMES}

    def of(self, name: str, score: str | None = None, values: Scores | None = None) -> np.ndarray:
        """(texts,) of the head that was chosen for a pattern: its score for that pattern, or another score."""
        layer, head = self.best[name]
        return (values or self.each)[score or name][:, layer, head]

    def named(self, name: str) -> str:
        return f"{name}, {head_name(self.best[name])}"

    @cached_property
    def heads(self) -> Finding:
        """The best heads of each pattern. Number: `moved`, by how much a score differs between the halves."""
        moved = {name: float(self.tested[name][head] - self.chosen_on[name][head]) for name, head in self.best.items()}
        chosen = [
            ", ".join(
                f"{head_name(head)} {self.chosen_on[name][head]:.2f}" for head in best_heads(self.chosen_on[name])
            )
            for name in NAMES
        ]
        table = pd.DataFrame(
            {
                "best heads, on the first half": chosen,
                "the best one, on the second half": [
                    f"{head_name(self.best[name])} {mean_text(self.of(name))}" for name in NAMES
                ],
                "mean of all heads": [f"{self.tested[name].mean():.2f}" for name in NAMES],
            },
            index=NAMES,
        )
        return Finding(
            f"Chosen on {lengths(self.choose_traces)}, counted on {lengths(self.traces)}.\n"
            f"Between the halves the score of a chosen head changes by at most {max(map(abs, moved.values())):.2f}.",
            table,
            moved=moved,
        )

    @cached_property
    def rest(self) -> Finding:
        """Weight on `[CLS]` and on both `[SEP]`, mean of all heads: (texts,) `on_cls`, `on_sep`."""
        on_cls, on_sep = (self.each[name].mean((1, 2)) for name in ("[CLS]", "[SEP]"))
        to_cls = self.tested["[CLS]"]
        said = (
            f"Weight on [CLS], mean of all heads: {mean_text(on_cls)}; on both [SEP] together: {mean_text(on_sep)}.\n"
            f"{int((to_cls > 0.5).sum())} of {to_cls.size} heads give [CLS] more than half. "
            f"The chosen head, {head_name(self.best['[CLS]'])}, gives it {mean_text(self.of('[CLS]'))}."
        )
        return Finding(said, on_cls=on_cls, on_sep=on_sep)

    @cached_property
    def values(self) -> Finding:
        """Length of the value of `[CLS]` ÷ a word's: `length` (layers, heads), `resting` (texts,) median of heads that
        give `[CLS]` more than half."""
        to_cls, length = self.tested["[CLS]"], value_lengths(self.traces)
        resting = np.array([np.median(value_lengths([trace])[to_cls > 0.5]) for trace in self.traces])
        groups = {
            f"the chosen head, {head_name(self.best['[CLS]'])}": to_cls == to_cls[self.best["[CLS]"]],
            "heads that give [CLS] more than half": to_cls > 0.5,
            "all other heads": to_cls <= 0.5,
            "heads with a [CLS] value at least 0.9 long": length >= 0.9,
        }
        rows = [
            {
                "heads": int(group.sum()),
                "weight on [CLS], mean": float(to_cls[group].mean()),
                "length of its value (a word's = 1), median": float(np.median(length[group])),
                "from": float(length[group].min()),
                "to": float(length[group].max()),
            }
            for group in groups.values()
        ]
        two = [mean_text(self.of("[SEP]", name)) for name in ("[SEP]", "previous")]
        said = (
            f"In the median head that rests, the value of [CLS] is {mean_text(resting, 3)} of a word's.\n"
            f"{head_name(self.best['[SEP]'])} gives {two[0]} to [SEP] and {two[1]} to the previous word."
        )
        return Finding(said, pd.DataFrame(rows, index=list(groups)).round(2), length=length, resting=resting)

    @cached_property
    def blocks(self) -> Finding:
        """How the bag-of-words head spreads: `evenness`, a number."""
        own, other = (mean_text(self.of("bag of words", name)) for name in ("own", "other"))
        evenness = self.tested["evenness"]
        said = (
            f"{head_name(self.best['bag of words'])} gives {own} to words of the own sentence, {other} to words of the "
            f"other one, and the rest to special tokens.\nEvenness {mean_text(self.of('bag of words', 'evenness'))}; "
            f"over all heads it runs from {evenness.min():.2f} to {evenness.max():.2f}.\n"
            f"{head_name(self.best['next'])} gives {mean_text(self.of('next'))} to the next word and "
            f"{mean_text(self.of('next', '[CLS]'))} to [CLS]."
        )
        return Finding(said, own=own, other=other, evenness=float(evenness[self.best["bag of words"]]))

    @property
    def previous(self) -> Finding:
        name = head_name(self.best["previous"])
        return Finding(f"{name} gives the previous word {mean_text(self.of('previous'), 4)} of its weight.")

    @cached_property
    def runs(self) -> dict[str, Scores]:
        """Scores text by text, of changed texts and changed models."""
        found = {
            "as it is": self.each,
            "words shuffled": of_texts(self.lens.trace_batch(shuffled(self.test))),
            "same type": of_texts(untold(self.lens, types=True).trace_batch(self.test)),
            "same position": of_texts(untold(self.lens, positions=True).trace_batch(self.test)),
            "same both": of_texts(untold(self.lens, types=True, positions=True).trace_batch(self.test)),
        }
        for scores in found.values():
            scores["own share"] = scores["own"] / (scores["own"] + scores["other"])
        return found

    @cached_property
    def causes(self) -> Finding:
        """What is left of each pattern in the `runs`: `altered` run -> measure -> (texts,), and `share`, of what both
        take from the own share, what the same position takes."""
        rows = {name: name for name in ("[CLS]", "[SEP]", "next", "previous")} | {"own share": "bag of words"}
        altered = {run: {m: self.of(name, m, v) for m, name in rows.items()} for run, v in self.runs.items()}
        own = {run: values["own share"].mean() for run, values in altered.items()}
        share = (own["same position"] - own["as it is"]) / (own["same both"] - own["as it is"])
        table = pd.DataFrame(
            {run: [mean_text(values[measure]) for measure in rows] for run, values in altered.items()},
            index=[f"{measure}, {head_name(self.best[name])}" for measure, name in rows.items()],
        )
        said = f"{lengths(self.traces)}. Own share: the same position takes {share:.0%} of what both changes take."
        return Finding(said, table, altered=altered, share=share)

    def change(self, run: str, measure: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(mean, low, high) of what a run changes, text by text."""
        altered = self.causes.altered
        return mean_interval(altered[run][measure] - altered["as it is"][measure])

    @cached_property
    def types(self) -> Finding:
        """How far apart the model's tables set types and positions: `between_types`, `between_positions`; and
        `lost`, run -> (texts,) change of the own share, mean of all heads."""
        embeddings: Any = self.lens.model.embeddings
        position = embeddings.position_embeddings.weight[:32].detach()
        types = embeddings.token_type_embeddings.weight.detach()
        word = float(embeddings.word_embeddings.weight.detach().norm(dim=1).mean())
        steps, apart = float((position[1:] - position[:-1]).norm(dim=1).mean()), float((types[0] - types[1]).norm())
        lost = {
            run: (self.runs[run]["own share"] - self.each["own share"]).mean((1, 2))
            for run in ("same type", "same position")
        }
        before, after = (self.of("[SEP]", "previous", self.runs[run]) for run in ("as it is", "same position"))
        said = (
            f"Mean length: a word's vector {word:.2f}, a position's {float(position.norm(dim=1).mean()):.2f}. "
            f"Distance: one position to the next {steps:.2f}, one type to the other {apart:.2f}.\n"
            f"Own share, mean change over all heads: same type {mean_text(lost['same type'], 3)}, "
            f"same position {mean_text(lost['same position'], 3)}.\n"
            f"Weight of the [SEP] head on the previous word: {mean_text(before)}; same position: {mean_text(after)}."
        )
        return Finding(said, between_types=apart, between_positions=steps, lost=lost, before=before, after=after)


def value_lengths(traces: Sequence[Trace]) -> np.ndarray:
    """Length of the value at `[CLS]` ÷ mean length at words, (layers, heads), over texts."""
    cls, word = [], []
    for trace in traces:
        length = torch.stack([trace.value(layer).norm(dim=-1) for layer in range(trace.n_layers)])
        cls.append(length[..., 0])
        word.append(length[..., ~trace.special_mask])
    return (torch.stack(cls).mean(0) / torch.cat(word, -1).mean(-1)).numpy()
