"""Counts over sequences of SARS-CoV-2's spike gene, one variant after the other: where heads look, cones, gates.

After Bonino, Ghione and Cirrincione 2025 (arXiv 2502.12033), on the classifier that comes with bertlens.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from bertlens import sars_cov_2
from bertlens.lens import Lens
from bertlens.measures import gates, geometry
from bertlens.trace.trace import Trace
from bertlens.training.sars_cov_2.variant_card import near

from .finding import Count, Finding, counted
from .texts import data_folder

PER_VARIANT = 4
GATES = ["directional", "open", "forward contextual", "backward contextual"]  # the paper's figures
TOP = 15  # windows
COUNTED = ["heads narrow, layers", "MLP widens, layers", "first input", "last output", "heads above 0.99", "highest"]


def samples(lens: Lens, seed: int = 0) -> tuple[list[tuple[str, str]], str]:
    """(variant, sequence) pairs, and where they are from: the test data's test split, or written from the reference.

    Written: all defining mutations of a variant first, then the reference with one or two of them left out.
    """
    vocabulary: Any = lens.tokenizer.vocabulary
    file = data_folder() / "sars_cov_2" / "spike_variants.tsv.gz"
    if file.is_file():
        table = pd.read_csv(file, sep="\t")
        real = table[(table["split"] == "test") & table["variant"].isin(variants(lens))]
        real = real.groupby("variant").sample(frac=1, random_state=seed).groupby("variant").head(PER_VARIANT)
        return list(zip(real["variant"], real["sequence"], strict=True)), "test split"
    draw, rows = random.Random(seed), []
    for variant, mutations in sars_cov_2.MUTATIONS.items():
        rows.append((variant, sars_cov_2.example(vocabulary, mutations)))
        for _ in range(PER_VARIANT - 1):
            left_out = set(draw.sample(mutations, k=min(draw.choice([1, 2]), len(mutations) - 1)))
            subset = [name for name in mutations if name not in left_out]
            rows.append((variant, sars_cov_2.example(vocabulary, subset)))
    return list(dict.fromkeys(rows)), "written from the reference"


def variants(lens: Lens) -> list[str]:
    config: Any = lens.model.config
    return [config.id2label[i] for i in range(config.num_labels)]


class Genes:
    """Counts over `samples`; `examples` are one sequence of each variant, `counted` the first two of each."""

    @counted
    def __init__(self, lens: Lens, seed: int = 0) -> None:
        self.variants = variants(lens)
        rows, self.source = samples(lens, seed)
        self.traces = lens.trace_batch([sequence for _, sequence in rows], batch_size=4)
        self.labels = [variant for variant, _ in rows]
        self.examples = [self.labels.index(variant) for variant in self.variants]
        self.counted = [at for at, label in enumerate(self.labels) if self.labels[:at].count(label) < 2]

    def __repr__(self) -> str:
        return f"{len(self.labels)} sequences of {len(self.variants)} variants, {self.source}"

    @Count
    def answers(self) -> Finding:
        """`right` of all sequences, `whole` of one of each variant."""
        answers = [self.variants[int(trace.output.logits.argmax())] for trace in self.traces]
        right = sum(a == b for a, b in zip(self.labels, answers, strict=True))
        hits = sum(self.labels[at] == answers[at] for at in self.examples)
        note = (
            f"{right} of {len(self.labels)} right ({self.source}); of the first of each variant {hits} of "
            f"{len(self.examples)}."
        )
        table = pd.crosstab(pd.Series(self.labels, name="sequence of"), pd.Series(answers, name="answer"))
        return Finding(note, table, right=right, whole=hits)

    @Count
    def mutated(self) -> Finding:
        """Are the windows that `[CLS]` looks at most mutated ones? `seen`, a row a sequence."""
        rows = []
        for at in self.counted:
            changed = {mark.token for mark in sars_cov_2.annotate(self.traces[at]).marks if mark.mutations}
            tokens, _ = most_attended(self.traces[at])
            share = sum(token in changed for token in tokens) / len(tokens)
            # windows drawn at random would show as many as windows do
            rate = len(changed) / self.traces[at].n_tokens
            rows.append({"variant": self.labels[at], "most attended": share, "all windows": rate})
        shares = pd.DataFrame(rows)
        ahead = int((shares["most attended"] > shares["all windows"]).sum())
        note = f"Mutated windows are more frequent among the {TOP} most attended in {ahead} of {len(shares)} sequences."
        table = shares.style.format("{:.0%}", subset=["most attended", "all windows"])
        return Finding(note, table, seen=shares)

    @Count
    def cones(self) -> Finding:
        """Cones of the stream and of softmax(QKᵀ): `each`, a row a sequence, columns COUNTED."""
        rows = []
        for trace in (self.traces[at] for at in self.counted):
            stream, cones = geometry.layer_table(trace), softmax_cones(trace)
            rows.append(
                [
                    int((stream["cone_concatenation"] > stream["cone_input"]).sum()),
                    int((stream["mlp_cone"] < 0).sum()),
                    stream["cone_input"].iloc[0],
                    stream["cone_output"].iloc[-1],
                    int((cones > 0.99).sum()),
                    float(cones.max()),
                ]
            )
        table = pd.DataFrame(rows, columns=COUNTED)
        tokens = [self.traces[at].n_tokens for at in self.counted]
        note = f"{len(rows)} sequences of {min(tokens)} to {max(tokens)} tokens, {self.source}; least and most:"
        return Finding(note, table.agg(["min", "max"]).T.style.format("{:.4g}"), each=table)

    @Count
    def gates(self) -> Finding:
        """One sequence of each variant: `counts` of heads by label, `highest` score of any head for each of GATES."""
        tables = [gates.classify(self.traces[at], view="content") for at in self.examples]
        labels = [table["label"].value_counts() for table in tables]
        counts = pd.DataFrame(labels, index=self.variants).fillna(0).astype(int)
        highest = pd.DataFrame([table[GATES].max() for table in tables], index=self.variants)
        note = "Heads by label, of 144; then the highest score of any head."
        return Finding(note, counts.join(highest.round(2).add_suffix(", highest")), counts=counts, highest=highest)

    def cls_vectors(self, layer: int) -> torch.Tensor:
        """(sequences, hidden) the vector of `[CLS]` behind a layer, float64."""
        return torch.stack([trace.layer_output(layer)[0] for trace in self.traces]).double()

    @Count
    def separation(self) -> Finding:
        """Share of the variance of `[CLS]` that lies between variants: `between` (layers,), and `by_chance` (20,), of
        the last layer with the names of variants shuffled."""
        layers = range(self.traces[0].n_layers)
        shares = [between_groups(self.cls_vectors(layer), self.labels) for layer in layers]
        between = pd.Series(shares, name="share of the variance of [CLS] that lies between variants")
        vectors = self.cls_vectors(layers[-1])
        names = (random.Random(at).sample(self.labels, len(self.labels)) for at in range(20))
        chance = [between_groups(vectors, shuffled) for shuffled in names]
        note = (
            f"By chance, with the names of variants shuffled: {min(chance):.2f} to {max(chance):.2f}; "
            f"n = {len(self.labels)} sequences."
        )
        table = between.rename_axis("layer").round(3).to_frame()
        return Finding(note, table, between=between, by_chance=chance)


def between_groups(vectors: torch.Tensor, labels: Sequence[str]) -> float:
    """Share of the variance of (n, d) vectors that lies between the groups of a label."""
    groups = [vectors[[at for at, label in enumerate(labels) if label == name]] for name in sorted(set(labels))]
    within = torch.stack([((group - group.mean(0)) ** 2).sum() for group in groups]).sum()
    return float(1 - within / ((vectors - vectors.mean(0)) ** 2).sum())


def plane(vectors: torch.Tensor) -> tuple[torch.Tensor, float]:
    """(n, 2) places in the plane of the two largest principal components, and its share of the variance."""
    u, s, _ = torch.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    return (u * s)[:, :2], float((s[:2] ** 2).sum() / (s**2).sum())


def softmax_cones(trace: Trace) -> torch.Tensor:
    """(layers, heads) cone index ÷ n of softmax(QKᵀ), 1 where all queries take one direction."""
    return torch.stack([geometry.attention_cone(trace, layer) for layer in range(trace.n_layers)])


def most_attended(trace: Trace, k: int = TOP) -> tuple[list[int], torch.Tensor]:
    """(tokens, weights): the k windows with most of `[CLS]`'s attention, mean over heads and layers."""
    cls = torch.stack([trace.attention(layer)[:, 0].mean(0) for layer in range(trace.n_layers)]).mean(0)
    cls[[0, -1]] = 0  # [CLS] and [SEP]
    top = cls.topk(k)
    return top.indices.tolist(), top.values


def attended(trace: Trace, spike: Any) -> Any:
    """A table of `most_attended`; spike: `sars_cov_2.annotate(trace)`."""
    tokens, weights = most_attended(trace)
    columns = {
        "window": [spike.labels[at] for at in tokens],
        "domain": [spike.marks[at].domain for at in tokens],
        "attention": weights.numpy().round(4),
    }
    return pd.DataFrame(columns)


def by_domain(trace: Trace, spike: Any) -> Any:
    """How much of `[CLS]`'s attention goes to each domain in the last layer, a row a head; last: by length alone."""
    order = [label for label, _, _ in spike.spans]
    members = torch.zeros(trace.n_tokens, len(order))
    for token, mark in enumerate(spike.marks):
        if mark.domain:
            members[token, order.index(mark.domain)] = 1
    sums = (trace.attention(trace.n_layers - 1)[:, 0] @ members).numpy()
    table = pd.DataFrame(sums, columns=order, index=[f"H{head}" for head in range(trace.n_heads)])
    table.loc["by length"] = (members.sum(0) / members.sum()).numpy()
    light = {"high": 0.7, "text_color_threshold": 0}  # grounds on which black can be read
    return table.style.format("{:.2f}").background_gradient(axis=1, cmap="Blues", **light)


def domains(spike: Any) -> Any:
    """Which tokens each domain of the protein has, and where its borders are from."""
    named = {domain.label: domain for domain in sars_cov_2.DOMAINS}
    table = pd.DataFrame(spike.spans, columns=["domain", "first token", "behind the last"])
    return table.assign(
        name=[named[label].name for label, _, _ in spike.spans],
        borders=[named[label].source or "what is left between two" for label, _, _ in spike.spans],
    )


def on_unseen() -> Finding:
    """How the classifier does on the test split, and beside it whoever looks up the nearest sequence: `others`."""
    metrics = json.loads((Path(sars_cov_2.__file__).parent / "model" / "metrics.json").read_text(encoding="utf-8"))
    right = {name: scores["right"] for name, scores in metrics["near"]["scores"].items()}
    table = pd.DataFrame(metrics["test"]["per_class"]).set_index("variant").round(2)
    return Finding(near(metrics), table, right=right)
