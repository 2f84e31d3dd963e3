"""Which heads a language model needs for a word at `[MASK]`: estimates and experiments on three tasks.

The metric is logit(right) − logit(wrong) in nats; changes below 0 make it worse. Heads are chosen on the first half of
a task's sentences (CHOOSE) and switched off on the other (TEST). Arrays are (sentences, …).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
import pandas as pd
import torch

from bertlens.lens import Lens
from bertlens.measures import gates, sources
from bertlens.measures.ranks import spearman
from bertlens.survey import mean_interval, mean_text
from bertlens.trace.trace import Trace
from bertlens.whatif import cut, difference, estimate, off, patch, sweep

from .finding import Count, Finding, Head, counted, head_name
from .masked_sentences import MAKERS, NATURAL, SWAPPED, N, Row

CHOOSE, TEST = range(N // 2), range(N // 2, N)
FEW = 2  # sentences of a task, where each head is tried
SHARPEST: Head = (0, 2)
WHO: Head = (5, 8)  # the head that looks from [MASK] at the noun


def _low(values: Iterable[float]) -> float:
    return float(mean_interval(np.asarray(values, dtype=float))[1])


def _high(values: Iterable[float]) -> float:
    return float(mean_interval(np.asarray(values, dtype=float))[2])


def rho(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's ρ of two arrays."""
    return float(spearman(torch.as_tensor(a).flatten(), torch.as_tensor(b).flatten()))


class MaskedWords:
    """Counts for a lens on a masked language model of six layers; `draw` picks sentences and heads at random."""

    @counted
    def __init__(self, lens: Lens, seed: int = 0) -> None:
        self.lens, self.draw = lens, random.Random(seed)
        self.tasks: dict[str, list[Row]] = {
            name: [make(self.draw, bool(n % 2)) for n in range(N)] for name, make in MAKERS.items()
        }
        rows = {name: [row[:3] for row in task] for name, task in self.tasks.items()} | NATURAL
        self.metrics = {name: [difference(right, wrong) for _, right, wrong in task] for name, task in rows.items()}
        self.traces = {name: [lens.trace(text) for text, *_ in task] for name, task in rows.items()}
        self.before = {
            name: np.array([metric(trace) for metric, trace in zip(self.metrics[name], self.traces[name], strict=True)])
            for name in rows
        }
        sample = self.traces["pronoun"][0]
        self.all: list[Head] = list(product(range(sample.n_layers), range(sample.n_heads)))

    def effect(self, name: str, heads: Sequence[Head], which: Iterable[int] | None = None) -> np.ndarray:
        """Change of the metric when these heads are off; of the sentences `which`, of a task else those of TEST."""
        numbers = which or (range(len(NATURAL[name])) if name in NATURAL else TEST)
        runs = ((n, self.traces[name][n].rerun(*(off(*head) for head in heads))) for n in numbers)
        return np.array([self.metrics[name][n](run) - self.before[name][n] for n, run in runs])

    @property
    def answers(self) -> Finding:
        """How often the model is right, in templates."""
        examples = [f"{text} ({right}, not {wrong})" for text, right, wrong, _ in (r[0] for r in self.tasks.values())]
        table = pd.DataFrame(
            {
                "for example": examples,
                "right, by chance half": [f"{(self.before[name] > 0).sum()} of {N}" for name in self.tasks],
                "right over wrong": [mean_text(self.before[name]) for name in self.tasks],
            },
            index=list(self.tasks),
        )
        return Finding(f"{N} sentences each; right word over wrong word, nats", table)

    @property
    def natural(self) -> Finding:
        """How often it is right in natural sentences."""
        note = "\n".join(
            f"{name}: right in {(self.before[name] > 0).sum()} of {len(rows)}, by {mean_text(self.before[name])} nats; "
            f"{rows[0][0]}"
            for name, rows in NATURAL.items()
        )
        return Finding(note)

    @Count
    def estimated(self) -> dict[str, np.ndarray]:
        """Task -> (CHOOSE, layers, heads): by how much the metric would change without the head, by its gradient."""
        return {
            name: np.stack([estimate(self.traces[name][n], self.metrics[name][n]).numpy() for n in CHOOSE])
            for name in self.tasks
        }

    @Count
    def exact(self) -> dict[str, np.ndarray]:
        """Task -> (FEW, layers, heads): the same, by a run without the head."""
        return {
            name: np.stack(
                [sweep(self.traces[name][n], self.metrics[name][n], progress=False).numpy() for n in range(FEW)]
            )
            for name in self.tasks
        }

    @Count
    def estimate(self) -> Finding:
        """The two beside each other: `agreed` (sentences,) Spearman's ρ, `worst` the largest difference of a head."""
        pairs = [(self.estimated[name][:FEW], self.exact[name]) for name in self.tasks]
        agreed = np.array([rho(a, b) for pair in pairs for a, b in zip(*pair, strict=True)])
        worst = max(float(np.abs(a - b).max()) for a, b in pairs)
        note = (
            f"{len(agreed)} sentences x {len(self.all)} heads: rank correlation of estimate and exact "
            f"{mean_text(agreed, most=1)} "
            f"(0 by chance), least {agreed.min():.2f}.\nThe head for which the two differ most: by {worst:.2f} nats."
        )
        return Finding(note, agreed=agreed, worst=worst)

    @Count
    def strongest(self) -> Finding:
        """The five heads of largest estimated loss: `top`, `alone` (sentences, 5), `together`, five `at_random`,
        `less`, all five off less the sum of the five; of natural agreement, too, with agreement's five."""
        top, alone, together, at_random = {}, {}, {}, {}
        for name in self.tasks:
            top[name] = [self.all[i] for i in self.estimated[name].mean(0).flatten().argsort()[:5]]
            alone[name] = np.stack([self.effect(name, [head]) for head in top[name]], 1)
            together[name] = self.effect(name, top[name])
            picked = [(self.draw.sample(self.all, 5), n) for n in TEST]
            at_random[name] = np.array([self.effect(name, heads, [n])[0] for heads, n in picked])
        one_by_one = {name: values.sum(1) for name, values in alone.items()}
        name = "natural agreement"
        together[name] = self.effect(name, top["agreement"])
        one_by_one[name] = np.stack([self.effect(name, [head]) for head in top["agreement"]]).sum(0)
        redundancy = {kind: together[kind] - one_by_one[kind] for kind in together}
        wrong = {kind: int((self.before[kind][N // 2 :] + together[kind] < 0).sum()) for kind in self.tasks}
        listed = "\n".join(
            f"{kind}: {mean_text(values)}, {'shown' if _low(values) > 0 else 'not shown'}"
            for kind, values in redundancy.items()
        )
        note = (
            f"Agreement's five in {len(NATURAL[name])} natural sentences: {mean_text(together[name])} nats with all "
            f"off.\n"
            f"All five off less the sum of the five, nats; above 0: together they cost less than one by "
            f"one.\n{listed}\n"
            f"Change of right over wrong, nats, over {len(TEST)} sentences each; below 0: it gets worse."
        )
        table = pd.DataFrame(
            {
                "the five, each alone": [
                    ", ".join(f"{head_name(h)} {x:.2f}" for h, x in zip(top[kind], alone[kind].mean(0), strict=True))
                    for kind in self.tasks
                ],
                "sum of the five": [mean_text(one_by_one[kind]) for kind in self.tasks],
                "all five off": [mean_text(together[kind]) for kind in self.tasks],
                "five at random": [mean_text(at_random[kind]) for kind in self.tasks],
                "wrong then": [f"{wrong[kind]} of {len(TEST)}" for kind in self.tasks],
            },
            index=list(self.tasks),
        )
        return Finding(note, table, top=top, alone=alone, together=together, at_random=at_random, less=redundancy)

    @Count
    def against(self) -> Finding:
        """The head per task that most surely works against the answer, by the estimate: `gain` (sentences,) without "
        f"it."""
        heads = {name: self.all[int(mean_interval(self.estimated[name])[1].argmax())] for name in self.tasks}
        gain = {name: self.effect(name, [head]) for name, head in heads.items()}
        strongest = self.strongest
        note = "\n".join(
            f"{name}, {len(TEST)} sentences: without {head_name(heads[name])} {mean_text(gain[name])} nats, "
            f"without {head_name(strongest.top[name][0])} {mean_text(strongest.alone[name][:, 0])}"
            for name in self.tasks
        )
        return Finding(note, gain=gain)

    @Count
    def where(self) -> Finding:
        """Where "he" or "she" is decided: `without` L5·H8, `cut` one cell of it; `who` and `nobody` natural sentences
        without the head; `he` share that says "he" where nothing tells; `patched` (place, layer) -> (TEST,) metric."""
        name = "pronoun"
        without = self.effect(name, [WHO])
        who, nobody = (self.effect(kind, [WHO]) for kind in ("natural he or she", "nothing says who"))
        kind = "nothing says who"
        he = [
            (value > 0) == (right == "he")
            for value, (_, right, _) in zip(self.before[kind], NATURAL[kind], strict=True)
        ]
        cuts: list[float] = []
        patched: dict[tuple[str, int], list[float]] = {}
        for n in TEST:
            text, _, _, noun = self.tasks[name][n]
            trace, donor = self.traces[name][n], self.lens.trace(text.replace(noun, SWAPPED[noun]))
            metric, at, mask = self.metrics[name][n], *map(trace.display_tokens.index, (noun, "[MASK]"))
            cuts.append(metric(trace.rerun(cut(*WHO, query=mask, key=at))) - self.before[name][n])
            for layer in (0, 4, 5):
                for place, token in (("the noun", at), ("[MASK]", mask)):
                    run = trace.rerun(patch(layer, token, donor, other_token=token))
                    patched.setdefault((place, layer), []).append(metric(run))
        share, start = np.sum(cuts) / without.sum(), self.before[name][N // 2 :]
        values = {where: np.array(x) for where, x in patched.items()}
        arrived = (start - values["[MASK]", 4]).mean() / (start - values["[MASK]", 5]).mean()
        note = (
            f"{len(TEST)} sentences; right over wrong {mean_text(start)}; change without L5·H8 {mean_text(without)}, "
            f"with "
            f"one cell of it cut {mean_text(cuts)}: {share:.0%} of that.\nNatural sentences, without L5·H8: "
            f"{mean_text(who)} where a word says who ({len(who)}), {mean_text(nobody)} where none does "
            f"({len(nobody)}, and "
            f"the model says “he” in {sum(he)} of them).\nAfter L4 {arrived:.0%} of what is at [MASK] after L5 has "
            "arrived there.\nRight over wrong, patched from the other sentence after a layer; how many answers turned:"
        )
        table = pd.DataFrame(
            {
                f"after L{layer}": [
                    f"{mean_text(values[place, layer])}; {(values[place, layer] < 0).sum()}"
                    for place in ("the noun", "[MASK]")
                ]
                for layer in (0, 4, 5)
            },
            index=["the noun", "[MASK]"],
        )
        numbers = {"without": without, "cut": np.array(cuts), "who": who, "nobody": nobody, "patched": values}
        return Finding(note, table, share=share, he=float(np.mean(he)), arrived=arrived, **numbers)

    @Count
    def importance(self) -> Finding:
        """Three guesses and the experiment: `ways`, a column each, Spearman's ρ with the effect's size; `loss` without
        the sharpest head; `sharpest` per task; `median` size of a head's effect."""
        rows = [
            {way: rho(x.numpy(), np.abs(self.exact[name][n])) for way, x in guesses.items()}
            for name in self.tasks
            for n in range(FEW)
            for guesses in [_guesses(self.traces[name][n], self.estimated[name][n])]
        ]
        ways = pd.DataFrame(rows)
        sharpest = {}
        for name in self.tasks:
            sharp = torch.stack([_guesses(trace, np.zeros(1))["sharpness"] for trace in self.traces[name]]).mean(0)
            sharpest[name] = self.all[int(sharp.argmax())]
        loss = {name: self.effect(name, [SHARPEST], range(N)) for name in self.tasks}
        loss |= {name: self.effect(name, [SHARPEST]) for name in ("natural agreement", "natural he or she")}
        median = float(np.median([np.abs(values) for values in self.exact.values()]))
        listed = "\n".join(f"{way}: {mean_text(ways[way])}" for way in ways)
        lost = "\n".join(
            f"{name}, {len(x)} sentences: {mean_text(x)} nats, a loss is {'shown' if _high(x) < 0 else 'not shown'}"
            for name, x in loss.items()
        )
        note = (
            f"{len(ways)} sentences: rank correlation with the size of the exact effect, {len(self.all)} heads (0 by "
            f"chance)\n{listed}\nRight over wrong without the sharpest head, L0·H2:\n{lost}\n"
            f"The median head changes the answer by {median:.2f} nats."
        )
        return Finding(note, ways=ways, sharpest=sharpest, loss=loss, median=median)

    @Count
    def closed(self) -> Finding:
        """Many closed heads off, and as many others: task -> (TEST,) `closed_off` `others_off`; `ratio` (CHOOSE,) the
        mean estimated effect of a closed head ÷ of another."""
        closed_off, others_off, ratio, rows = {}, {}, {}, []
        for name in self.tasks:
            labels = gates.classify(self.traces[name][: N // 2])["label"].to_numpy()
            closed = [head for head, what in zip(self.all, labels, strict=True) if what == "closed"]
            open_heads = [head for head in self.all if head not in closed]
            size, is_closed = np.abs(self.estimated[name]).reshape(-1, len(self.all)), labels == "closed"
            ratio[name] = size[:, is_closed].mean(1) / size[:, ~is_closed].mean(1)
            count = min(len(closed), len(open_heads))
            pick = [(self.draw.sample(closed, count), self.draw.sample(open_heads, count), n) for n in TEST]
            closed_off[name] = np.array([self.effect(name, heads, [n])[0] for heads, _, n in pick])
            others_off[name] = np.array([self.effect(name, heads, [n])[0] for _, heads, n in pick])
            rows.append(
                {
                    "closed heads of 72": len(closed),
                    "mean effect of one ÷ of another (estimate)": mean_text(ratio[name]),
                    "heads off": count,
                    "that many closed off, nats": mean_text(closed_off[name]),
                    "that many others off, nats": mean_text(others_off[name]),
                }
            )
        pools = [np.concatenate(list(x.values())) for x in (closed_off, others_off)]
        note = (
            f"{len(TEST)} sentences each; all three tasks together: closed heads {mean_text(pools[0])}, as many others "
            f"{mean_text(pools[1])} nats."
        )
        table = pd.DataFrame(rows, index=list(self.tasks))
        return Finding(note, table, closed_off=closed_off, others_off=others_off, ratio=ratio, every=pools)

    @Count
    def repair(self) -> Finding:
        """What L5·H8 gives to the answer directly, by the split, and what goes without it: (TEST,) `direct`, `lost`."""
        direct = []
        for n in TEST:
            trace, (_, right, wrong, _) = self.traces["pronoun"][n], self.tasks["pronoun"][n]
            split = sources.logit(trace, trace.display_tokens.index("[MASK]"), right, against=wrong)
            place = "head", *WHO
            direct.append(float(split.parts.set_index(["kind", "layer", "head"])["value"].loc[place]))
        lost = -self.effect("pronoun", [WHO])
        note = (
            f"{len(TEST)} sentences, nats: direct part {mean_text(direct)}, lost without the head {mean_text(lost)} "
            f"({lost.mean() / np.mean(direct):.0%} of it), difference {mean_text(np.array(direct) - lost)}."
        )
        return Finding(note, direct=np.array(direct), lost=lost)


def _guesses(trace: Trace, estimated: np.ndarray) -> dict[str, torch.Tensor]:
    layers = range(trace.n_layers)
    return {
        "sharpness": torch.stack([trace.attention(layer).amax(-1).mean(-1) for layer in layers]),
        "length of output": torch.stack([trace.head_context(layer).norm(dim=-1).mean(-1) for layer in layers]),
        "gradient": torch.as_tensor(estimated).abs(),
    }
