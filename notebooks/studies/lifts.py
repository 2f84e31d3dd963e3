"""What a pattern's score is made of: the split of `measures.sources` beside experiments, over pairs of sentences.

The **lift** of a pattern is the mean score of the keys that it wants less that of the other keys, in nats. HEADS are
those that notebook 02 chooses on SHORT_PAIRS, in the embedded model. Arrays are (texts, …).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from bertlens.lens import Lens
from bertlens.measures import sources
from bertlens.measures.ranks import spearman
from bertlens.survey import mean_text
from bertlens.trace.trace import Trace

from .finding import Count, Finding, Head, head_name, lengths
from .patterns import untold

HEADS: dict[str, Head] = {"[CLS]": (4, 5), "[SEP]": (0, 5), "bag of words": (0, 4), "next": (1, 8), "previous": (0, 2)}
FEW = 6  # texts, for what takes long
PAIRS = [f"{query} · {key}" for query in sources.GROUPS for key in sources.GROUPS]
KINDS = ["word", "position", "type", "head", "mlp", "bias"]
COUNTING = "position · position"


def wanted(trace: Trace, name: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(keys of the pattern, keys to compare them with, queries that are asked): (S, S), (S, S), (S,) bool."""
    word, place = ~trace.special_mask, torch.arange(trace.n_tokens)
    step = place[None, :] - place[:, None]  # where the key stands, seen from the query
    in_segment = word[None, :] & (trace.segments[None, :] == trace.segments[:, None])
    keys = {
        "[CLS]": (place == 0).expand_as(in_segment),
        "[SEP]": trace.separator_mask.expand_as(in_segment),
        "bag of words": in_segment,
        "next": in_segment & (step == 1),
        "previous": in_segment & (step == -1),
    }[name]
    among = word[None, :].expand_as(in_segment) if name == "bag of words" else torch.ones_like(in_segment)
    return keys, among & ~keys, word & keys.any(-1)


def lift(scores: torch.Tensor, trace: Trace, name: str) -> float:
    """Mean score of the pattern's keys less that of the others, mean over the words of a text; scores (S, S)."""
    keys, rivals, queries = wanted(trace, name)
    scores = scores.double()
    differences = (scores * keys).sum(-1) / keys.sum(-1) - (scores * rivals).sum(-1) / rivals.sum(-1)
    return float(differences[queries].mean())


def lifts(traces: Sequence[Trace], name: str) -> np.ndarray:
    """(texts,) of the head of a pattern."""
    layer, head = HEADS[name]
    return np.array([lift(trace.scores(layer)[head], trace, name) for trace in traces])


def exactness(traces: Sequence[Trace]) -> Finding:
    """Over all heads: the largest difference between a score and the sum of its parts, `gap`, of `cells` scores."""
    gap = 0.0
    for trace in traces:
        for layer in range(trace.n_layers):
            for head in range(trace.n_heads):
                maps = sources.maps(trace, layer, head).values()
                total = torch.stack([x.double() for x in maps]).sum(0)
                gap = max(gap, float((total - trace.scores(layer)[head]).abs().max()))
    cells = sum(trace.n_layers * trace.n_heads * trace.n_tokens**2 for trace in traces)
    note = f"{lengths(traces)}, all heads, {cells:,} scores: largest difference of sum and score {gap:.0e}."
    return Finding(note, gap=gap, cells=cells)


class Lifts:
    """Counts over the traces of pairs of sentences by the embedded model."""

    def __init__(self, lens: Lens, pairs: Sequence[tuple[str, str]]) -> None:
        self.lens, self.pairs, self.traces = lens, list(pairs), lens.trace_batch(pairs)
        self.some = self.traces[:FEW]

    @Count
    def exact(self) -> Finding:
        return exactness(self.traces[:2])

    @Count
    def layer_0(self) -> Finding:
        """What tells keys apart in layer 0: `position` (texts,) of L0·H2 in position · position, `others` the largest
        mean share of one picture in another head; of L0·H9 `type_and_bias` with the key's word, `own_word`."""
        shares = np.array(
            [
                [list(sources.map_shares(sources.maps(trace, 0, head)).values()) for head in range(trace.n_heads)]
                for trace in self.traces
            ]
        )
        heads, two = [head for head in range(shares.shape[1]) if head != 2], ["type · word", "bias · word"]
        ceiling = float(shares[:, heads].mean(0).max())
        type_and_bias = shares[:, 9][:, [PAIRS.index(name) for name in two]].sum(1)
        own_word = shares[:, 9].reshape(len(shares), 6, 6)[:, sources.GROUPS.index("word")].sum(1)
        position = shares[:, 2, PAIRS.index(COUNTING)]
        rows = {}
        for head in range(shares.shape[1]):
            order = np.argsort(-np.abs(shares[:, head].mean(0)))[:3]
            rows[f"L0·H{head}"] = [f"{PAIRS[k]} {mean_text(shares[:, head, k])}" for k in order]
        note = (
            f"{lengths(self.traces)}. L0·H2, position · position: {mean_text(position)}; the largest mean share of one "
            f"picture in the other eleven heads: {ceiling:.2f}.\nL0·H9, type · word and bias · word together: "
            f"{mean_text(type_and_bias)}; all maps of the query's word: {mean_text(own_word)}."
        )
        table = pd.DataFrame(rows, index=["largest share", "second", "third"]).T
        return Finding(note, table, position=position, others=ceiling, type_and_bias=type_and_bias, own_word=own_word)

    @Count
    def same_position(self) -> list[Trace]:
        return untold(self.lens, positions=True).trace_batch(self.pairs)

    @Count
    def whole(self) -> dict[str, np.ndarray]:
        return {name: lifts(self.traces, name) for name in HEADS}

    @Count
    def parts(self) -> dict[str, np.ndarray]:
        """Pattern -> (texts, 36) the parts of its lift."""
        return {
            name: np.array(
                [[lift(x, trace, name) for x in sources.maps(trace, *head).values()] for trace in self.traces]
            )
            for name, head in HEADS.items()
        }

    def part(self, name: str, *chosen: str) -> np.ndarray:
        """(texts,) the sum of some maps of a pattern's lift."""
        sums: np.ndarray = self.parts[name][:, [PAIRS.index(pair) for pair in chosen]].sum(1)
        return sums

    @Count
    def touched(self) -> np.ndarray:
        """(texts,) share of the next-word head's lift in all maps that have a position in them."""
        return self.part("next", *(pair for pair in PAIRS if "position" in pair)) / self.whole["next"]

    @Count
    def patterns(self) -> Finding:
        """Each pattern's lift, its largest parts, and what an experiment takes: `lost`, pattern -> what -> (texts,)."""
        same_type, rows = untold(self.lens, types=True).trace_batch(self.pairs), []
        lost = {
            name: {"position": lift_ - lifts(self.same_position, name), "type": lift_ - lifts(same_type, name)}
            for name, lift_ in self.whole.items()
        }
        for name, head in HEADS.items():
            mean = self.parts[name].mean(0)
            order = np.argsort(-np.abs(mean))[:3]
            rows.append(
                {
                    "pattern": f"{name}, {head_name(head)}",
                    "lift, nats": mean_text(self.whole[name]),
                    "its largest parts": "; ".join(f"{PAIRS[k]} {mean[k]:.2f}" for k in order),
                    "lost with the same position": mean_text(lost[name]["position"]),
                    "lost with the same type": mean_text(lost[name]["type"]),
                }
            )
        bag = "bag of words"
        note = (
            f"{lengths(self.traces)}. position · position is "
            f"{mean_text(self.part('next', COUNTING) / self.whole['next'])} of the next-word head's lift; all maps "
            f"that have a position in them are {mean_text(self.touched)}.\n"
            f"Bag of words: type · type {mean_text(self.part(bag, 'type · type'))} nats, lost with the same type "
            f"{mean_text(lost[bag]['type'])}; position · position {mean_text(self.part(bag, COUNTING))}, lost with the "
            f"same position {mean_text(lost[bag]['position'])}."
        )
        return Finding(note, pd.DataFrame(rows).set_index("pattern"), lost=lost)

    @Count
    def foretold(self) -> Finding:
        """Does the split of layer 0 order its heads as hiding positions does? `agreement` (texts,) Spearman's ρ."""
        predicted = np.array([[_with_position(trace, head) for head in range(12)] for trace in self.traces])
        truth = np.array(
            [
                [_changed(a_run, b_run, head) for head in range(12)]
                for a_run, b_run in zip(self.traces, self.same_position, strict=True)
            ]
        )
        agreement = [float(spearman(torch.tensor(a), torch.tensor(b))) for a, b in zip(predicted, truth, strict=True)]
        note = (
            f"{lengths(self.traces)}: rank correlation of the two over the 12 heads of layer 0, text by text: "
            f"{mean_text(agreement, most=1)}; 0 by chance."
        )
        columns = {"split": predicted.mean(0), "experiment": truth.mean(0)}
        table = pd.DataFrame(columns, index=[f"L0·H{head}" for head in range(12)]).T.round(2)
        return Finding(note, table, agreement=agreement)

    @Count
    def opened(self) -> Finding:
        """The key's side with MLPs as sources and opened: `both`, (pattern, how) -> (texts, KINDS)."""
        by_way = {
            (name, how): np.array([_by_kind(trace, name, how == "opened") for trace in self.some])
            for name in ("[CLS]", "next")
            for how in ("as sources", "opened")
        }
        columns = {kind: [mean_text(values[:, k]) for values in by_way.values()] for k, kind in enumerate(KINDS)}
        columns["sum"] = [mean_text(values.sum(1)) for values in by_way.values()]
        index = [f"{name}, {head_name(HEADS[name])}, MLPs {how}" for name, how in by_way]
        return Finding(f"{lengths(self.some)}; nats", pd.DataFrame(columns, index=index), both=by_way)


def _centred(scores: torch.Tensor) -> torch.Tensor:
    return scores.double() - scores.double().mean(-1, keepdim=True)


def _with_position(trace: Trace, head: int) -> float:
    """Of what tells keys apart, the size of what contains a position (squared, of the whole)."""
    maps = {pair: x.double() for pair, x in sources.maps(trace, 0, head, center=True).items()}
    total = torch.stack(list(maps.values())).sum(0)
    in_place = torch.stack([x for pair, x in maps.items() if "position" in pair]).sum(0)
    return float(in_place.square().sum() / total.square().sum())


def _changed(before: Trace, after: Trace, head: int) -> float:
    a, b = _centred(before.scores(0)[head]), _centred(after.scores(0)[head])
    return float((a - b).square().sum() / a.square().sum())


def _by_kind(trace: Trace, name: str, through_mlps: bool) -> np.ndarray:
    """(KINDS,) mean over words of the parts of the score at the pattern's key, less that of the other keys."""
    keys, _, queries = wanted(trace, name)
    rows = []
    for query in queries.nonzero()[:, 0].tolist():
        key = int(keys[query].nonzero()[0, 0])
        split = sources.score(trace, *HEADS[name], query, key, side="key", through_mlps=through_mlps)
        rows.append(split.by("kind").reindex(KINDS, fill_value=0.0))
    mean: np.ndarray = np.mean(rows, axis=0)
    return mean
