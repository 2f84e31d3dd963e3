"""Stories that a split tells, and what experiments make of them: parts of the `[CLS]` and of the next-word head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertlens.measures import sources
from bertlens.measures.ranks import spearman
from bertlens.survey import mean_text
from bertlens.trace.trace import Trace
from bertlens.whatif import mlp, off

from .finding import Count, Finding, head_name, lengths, verdicts
from .lifts import COUNTING, HEADS, KINDS, Lifts, lift, lifts, wanted

NEURON, LAYER = 358, 3  # the MLP's neuron with the largest part in why words look at [CLS]


def without(traces: Sequence[Trace], name: str, *changes: Any) -> np.ndarray:
    """(texts,) how much of the lift is lost in a run with the changes."""
    layer, head = HEADS[name]
    runs = [trace.rerun(*changes) for trace in traces]
    return lifts(traces, name) - np.array([lift(run.scores(layer)[head], run, name) for run in runs])


def head_parts(traces: Sequence[Trace], name: str, through_mlps: bool) -> np.ndarray:
    """(texts, 12) the parts of the heads of layer 0 in the pattern's lift, the query's side and the key's added."""
    rows = []
    for trace in traces:
        keys, _, words = wanted(trace, name)
        queries = words.nonzero()[:, 0].tolist()
        total = np.zeros(trace.n_heads)
        for query in queries:
            key = int(keys[query].nonzero()[0, 0])
            for side in sources.SIDES:
                split = sources.score(trace, *HEADS[name], query, key, side=side, through_mlps=through_mlps)
                total += split.parts.query("kind == 'head' and layer == 0")["value"].to_numpy()
        rows.append(total / len(queries))
    return np.array(rows)


class Stories:
    """Counts on the texts of `Lifts`."""

    def __init__(self, study: Lifts) -> None:
        self.study, self.traces, self.some = study, study.traces, study.some

    @Count
    def neuron(self) -> Finding:
        """One neuron's part in why words look at `[CLS]`: `parts` (texts, 3), its own, its MLP's, the whole lift;
        `first` (texts,) the neuron with the largest part."""
        rows, top = [], []
        for trace in self.traces:
            queries = (~trace.special_mask).nonzero()[:, 0].tolist()
            splits = [sources.score(trace, *HEADS["[CLS]"], query, 0, side="key") for query in queries]
            by_neuron = np.mean([sources.neurons(trace, split, layer=LAYER).numpy() for split in splits], axis=0)
            top.append(int(by_neuron.argmax()))
            rows.append([by_neuron[NEURON], by_neuron.sum(), np.mean([split.model for split in splits])])
        values = np.array(rows)
        note = (
            f"{lengths(self.traces)}: neuron {NEURON} has the largest part in {top.count(NEURON)} of {len(top)} "
            f"texts, {mean_text(values[:, 0])} nats of the MLP's {mean_text(values[:, 1])}; the whole lift is "
            f"{mean_text(values[:, 2])}.\nAn even share would be {values[:, 1].mean() / len(by_neuron):.4f}."
        )
        return Finding(note, parts=values, first=top)

    @Count
    def again(self) -> Finding:
        """Where L0·H2 fetched its part of the next-word head: `table` has a row for each word and side."""
        rows = []
        for number, trace in enumerate(self.some):
            _, _, words = wanted(trace, "next")
            for query in words.nonzero()[:, 0].tolist():
                for side in sources.SIDES:
                    split = sources.score(trace, *HEADS["next"], query, query + 1, side=side)
                    heads = split.parts.query("kind == 'head'")["value"].to_numpy()
                    fetched = int(sources.tokens(trace, split, 0, 2).argmax())
                    source = split.ask(0, 2, fetched)  # what L0·H2 fetched at that token, split in the same way
                    kinds = source.by("kind")[["position", "word"]]
                    rows.append([number, side, heads[2], heads.argmax() == 2, fetched - query, source.model, *kinds])
        table = pd.DataFrame(rows, columns=["text", "side", "part", "largest", "step", "there", "position", "word"])
        chance, lines = np.mean([trace.n_tokens for trace in self.some]), [f"{lengths(self.some)}."]
        for side, step, place in (("key", 0, "the querying word itself"), ("query", -1, "the word before it")):
            half = table[table["side"] == side]
            mean = half.groupby("text")[["part", "there", "position", "word"]].mean()
            lines.append(
                f"The {side}'s side, {len(half)} words: L0·H2 has {mean_text(mean['part'])} nats, the most of 12 heads "
                f"for {half['largest'].sum()} words; it fetched at {place} for {(half['step'] == step).sum()} "
                f"(by chance 1 in {chance:.0f}).\nFrom there {mean_text(mean['there'])}: position "
                f"{mean_text(mean['position'])}, "
                f"word {mean_text(mean['word'])}, …"
            )
        return Finding("\n".join(lines), rows=table)

    @Count
    def next_parts(self) -> dict[str, np.ndarray]:
        """How -> (texts, 12) of the next-word head, over twelve texts."""
        return {how: head_parts(self.traces[:12], "next", how == "opened") for how in ("as sources", "opened")}

    @Count
    def tried(self) -> Finding:
        """Three stories and their experiments: `stories`, (pattern, part, (texts,) by the split, (texts,) lost)."""
        traces, n = self.some, len(self.some)
        stories = [
            (
                "next",
                "L0·H2, MLPs as sources",
                self.next_parts["as sources"][:n, 2],
                without(traces, "next", off(0, 2)),
            ),
            (
                "[CLS]",
                "L0·H9, MLPs opened",
                head_parts(traces, "[CLS]", True)[:, 9],
                without(traces, "[CLS]", off(0, 9)),
            ),
            (
                "[CLS]",
                f"neuron {NEURON} of the MLP of L{LAYER}",
                self.neuron.parts[:n, 0],
                without(traces, "[CLS]", mlp(LAYER, NEURON)),
            ),
        ]
        table = pd.DataFrame(
            [
                (f"{name}, {head_name(HEADS[name])}", what, *map(mean_text, (lifts(traces, name), share, lost)))
                for name, what, share, lost in stories
            ],
            columns=["pattern", "a part", "whole lift", "the split says", "lost without it"],
        ).set_index("pattern")
        return Finding(f"{lengths(traces)}; nats", table, stories=stories)

    @Count
    def divisor(self) -> Finding:
        """The divisor of the LayerNorm behind the neuron: `spreads` (texts, 3), at `[CLS]`, without it, at words."""
        block: Any = self.study.lens.model.encoder
        block, spreads = block.layer[LAYER], []
        with torch.no_grad():
            for trace in self.traces:
                y = trace.attention_output(LAYER)
                inner = block.intermediate(y)
                reduced = inner.clone()
                reduced[:, NEURON] = 0
                for_all, for_rest = ((block.output.dense(x) + y).std(-1, correction=0) for x in (inner, reduced))
                spreads.append([float(for_all[0]), float(for_rest[0]), float(for_all[~trace.special_mask].mean())])
        values = np.array(spreads)
        at_cls, without_it, words = (mean_text(column) for column in values.T)
        note = f"{lengths(self.traces)}: at [CLS] {at_cls}, without neuron {NEURON} {without_it}, at words {words}."
        return Finding(note, spreads=values)

    @Count
    def order(self) -> Finding:
        """All heads of layer 0 as parts of the next-word head: `rank`, how -> (texts,) Spearman's ρ of split and
        experiment; `taken` (texts, 12) what is lost without each."""
        twelve = self.traces[:12]
        losses = np.array([without(twelve, "next", off(0, head)) for head in range(12)]).T
        rank = {
            how: np.array([float(spearman(torch.tensor(a), torch.tensor(b))) for a, b in zip(x, losses, strict=True)])
            for how, x in self.next_parts.items()
        }
        note = (
            f"{lengths(twelve)}; 12 heads of layer 0 in the next-word head's lift: rank correlation of split and "
            f"experiment {mean_text(rank['as sources'], most=1)} with MLPs as sources, "
            f"{mean_text(rank['opened'], most=1)} with MLPs opened (0 by chance).\n"
            f"L0·H2: opened {mean_text(self.next_parts['opened'][:, 2])} nats, lost without it "
            f"{mean_text(losses[:, 2])}."
        )
        return Finding(note, rank=rank, taken=losses)

    @property
    def conclusions(self) -> Any:
        """A table: claims, what holds on this model, by which numbers."""
        study, bag = self.study, "bag of words"
        closed, opened = (study.opened.both["[CLS]", how] for how in ("as sources", "opened"))
        of_kind = {kind: mean_text(opened[:, KINDS.index(kind)]) for kind in ("position", "head")}
        rank, counting = self.order.rank, mean_text(study.part("next", COUNTING) / study.whole["next"])
        types, places = (mean_text(study.part(bag, pair)) for pair in ("type · type", COUNTING))
        rows = [
            (
                "A score is a sum of what was added to the stream",
                "exact, all heads",
                f"largest difference {study.exact.gap:.0e}, n = {study.exact.cells:,}",
            ),
            (
                "Previous word: position · position",
                "holds",
                f"{mean_text(study.layer_0.position)} of what tells keys apart",
            ),
            (
                "Bag of words: the token types",
                "a smaller part, nearness the larger",
                f"types {types}, positions {places} of {mean_text(study.whole[bag])} nats",
            ),
            (
                "Next word: its own position",
                "half of it directly",
                f"position · position {counting}, all maps with a position {mean_text(study.touched)}",
            ),
            (
                "[CLS] is found by what MLPs wrote",
                "holds, and MLPs made it from position and heads",
                f"MLPs {mean_text(closed[:, KINDS.index('mlp')])} of {mean_text(opened.sum(1))} nats; "
                f"opened, position {of_kind['position']}, heads {of_kind['head']}",
            ),
            (
                "A large part is a cause",
                "does not follow",
                "; ".join(
                    f"{what}: part {mean_text(share)}, lost without it {mean_text(lost)}"
                    for _, what, share, lost in self.tried.stories
                ),
            ),
            (
                "In layer 0 the split foretells the experiment",
                "the order, not the size",
                f"ρ over 12 heads {mean_text(study.foretold.agreement, most=1)}",
            ),
            (
                "Opened MLPs foretell it better",
                "holds for the next-word head",
                f"ρ {mean_text(rank['as sources'], most=1)} → {mean_text(rank['opened'], most=1)}",
            ),
        ]
        return verdicts(rows, ("claim", "on this model", "numbers"))
