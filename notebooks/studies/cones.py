"""Cones of directions, subspaces of heads and the dimensions behind them, over short and long texts.

After Bonino et al. 2025 (arXiv 2502.12033), Saponati et al. 2025 (2502.10927), Timkey and van Schijndel 2021.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertlens.lens import Lens
from bertlens.measures import geometry, spectra
from bertlens.survey import mean_text
from bertlens.trace.trace import Trace

from .finding import Finding, lengths, verdicts
from .gate_counts import Gates

CONES = ["cone_input", "cone_heads", "cone_concatenation", "cone_attention", "cone_output", "mlp_cone"]
STEPS = ["attention_ratio", "attention_cosine", "mlp_ratio", "mlp_cosine"]
NEAR_ONE = 0.99


def _streams(traces: Sequence[Trace], columns: list[str]) -> np.ndarray:
    """(texts, layers, columns)"""
    return np.stack([geometry.layer_table(trace)[columns].to_numpy() for trace in traces])


def through_layers(traces: Sequence[Trace]) -> Finding:
    """Cone index ÷ n on the way through each layer, mean over texts: `cones` (texts, layers, CONES)."""
    cones = _streams(traces, CONES)
    chance = np.mean([trace.n_tokens**-0.5 for trace in traces])
    note = (
        f"{lengths(traces)}; chance is about {chance:.2f}.\nFrom layer 4 to layer 5 the output's Ī changes by "
        f"{mean_text(np.diff(cones[:, :, 4], axis=1)[:, 4])}."
    )
    return Finding(note, pd.DataFrame(cones.mean(0), columns=CONES).rename_axis("layer").round(2), cones=cones)


def steps(traces: Sequence[Trace]) -> Finding:
    """What attention and MLP add: ratio to what came in, and cosine with it: `steps` (texts, layers, STEPS)."""
    additions = _streams(traces, STEPS)
    cosine = additions[:, :, 3]
    note = f"{lengths(traces)}; the MLP's cosine is negative in {(cosine < 0).sum()} of {cosine.size} (text, layer)"
    return Finding(note, pd.DataFrame(additions.mean(0), columns=STEPS).rename_axis("layer").round(2), steps=additions)


def _softmax_cones(traces: Sequence[Trace]) -> np.ndarray:
    """(texts, layers, heads)"""
    layers = range(traces[0].n_layers)
    return np.stack(
        [torch.stack([geometry.attention_cone(trace, layer) for layer in layers]).numpy() for trace in traces]
    )


def of_softmax(study: Gates) -> Finding:
    """Ī of softmax(QKᵀ): (texts,) heads `over` .99 and `over_long`; `closed_over`, which of these are closed;
    `kinds`, label (None: neither closed nor directional) -> (texts that have it,) mean of its heads."""
    cones, cones_long = _softmax_cones(study.short), _softmax_cones(study.long)
    over, over_long = ((x > NEAR_ONE).sum((1, 2)) for x in (cones, cones_long))
    closed_over = study.labels_short[cones > NEAR_ONE] == "closed"

    def by_label(label: str | None) -> list[float]:
        labels = study.labels_short
        mask = labels == label if label else ~np.isin(labels, ["closed", "directional"])
        return [float(cones[at][mask[at]].mean()) for at in range(len(cones)) if mask[at].any()]

    kinds = {label: by_label(label) for label in ("closed", "directional", None)}
    means = "\n".join(
        f"Mean cone index Ī of {label or 'all other'} heads, short texts: {mean_text(values)}."
        for label, values in kinds.items()
    )
    note = (
        f"Heads over 0.99: {mean_text(over, 1)} of 72 in {lengths(study.short)}, highest {cones.max():.4f}; "
        f"{mean_text(over_long, 1)} of 72 in {lengths(study.long)}, highest {cones_long.max():.4f}.\n"
        f"Closed: {closed_over.sum()} of the {closed_over.size} over 0.99 in the short texts.\n{means}"
    )
    return Finding(note, over=over, over_long=over_long, closed_over=closed_over, kinds=kinds)


def symmetry(lens: Lens) -> Finding:
    """Symmetry of W_QK and overlap of W_Q with W_K; no text is needed.

    Numbers: `whole` (layers,) symmetry, `by_chance` the largest of 20 random matrices, `own` and `others` (heads,)
    overlap with the head's own keys and with those of the other heads of its layer, `chance` of random subspaces.
    """
    weights = spectra.weights_table(lens)
    by_layer, single = (weights[(weights["head"] == "all") == is_all] for is_all in (True, False))
    table = by_layer.set_index("layer")[["symmetry"]].add_suffix(", whole layer")
    table["symmetry, median head"] = single.groupby("layer")["symmetry"].median()
    table["overlap of W_Q and W_K, median head"] = single.groupby("layer")["overlap"].median()
    generator = torch.Generator().manual_seed(0)
    random = torch.randn(20, 2, 384, 384, generator=generator, dtype=torch.float64)
    by_chance = max(abs(float(spectra.symmetry_of(q, k))) for q, k in random)
    diag: list[float] = []
    cross: list[float] = []
    for layer in range(len(by_layer)):
        query, key = spectra.projections(lens.borrowed, layer)
        overlap = np.array([[float(spectra.subspace_overlap(q, k)) for k in key] for q in query])
        diag.extend(overlap.diagonal())
        cross.extend((overlap.sum(1) - overlap.diagonal()) / (len(overlap) - 1))
    chance, values = float(single["chance"].iloc[0]), by_layer["symmetry"]
    wins = np.array(diag) > np.array(cross)
    note = (
        f"Symmetry of {len(by_layer)} layers: median {values.median():.2f}, {values.min():.2f} to {values.max():.2f}; "
        f"of 20 random matrices at most {by_chance:.3f}.\n"
        f"Overlap of W_Q with the head's own W_K: {np.mean(diag):.3f}, mean of {len(diag)} heads; with another head's "
        f"of its layer {np.mean(cross):.3f}, of random subspaces {chance:.3f}. "
        f"Its own is the larger one in {wins.sum()} heads."
    )
    return Finding(
        note,
        table.round(3),
        whole=values,
        by_chance=by_chance,
        own=np.array(diag),
        others=np.array(cross),
        chance=chance,
    )


def ranks(traces: Sequence[Trace]) -> Finding:
    """Where rank(QKᵀ + KQᵀ) reaches 2·rank(QKᵀ): `reached` and `n` (text, layer, head), and the `ranks` of QKᵀ."""
    checks = [
        spectra.symmetric_rank(trace.query(layer)[head], trace.key(layer)[head])
        for trace in traces
        for layer, head in product(range(trace.n_layers), range(trace.n_heads))
    ]
    reached, of_product = sum(check.defect == 0 for check in checks), {check.rank for check in checks}
    note = (
        f"{lengths(traces)}; rank(QKᵀ) is {' or '.join(map(str, sorted(of_product)))}; "
        f"the bound is reached in {reached} of {len(checks)} (text, head)."
    )
    return Finding(note, reached=reached, n=len(checks), ranks=of_product, least=min(x.n_tokens for x in traces))


def dimensions(traces: Sequence[Trace]) -> Finding:
    """Which dimensions carry the mean cosine: `corpus` a row a state, `parts` the same of four groups, `carried`
    (groups, states 1 to 5) share in three dimensions, `rogue` (dimension, texts), `extreme` standard deviations."""
    corpus = geometry.corpus_table(traces)
    quarters = [geometry.corpus_table(traces[at::4]) for at in range(4)]  # four groups of texts that share none
    shares = np.array([1 - x["anisotropy_without"] / x["anisotropy"] for x in quarters])[:, 1:6]
    tables = [geometry.layer_table(trace) for trace in traces]
    each_rogue = (int(table.loc[table["max_z"].idxmax(), "max_z_dimension"]) for table in tables)
    rogue = Counter(each_rogue).most_common(1)[0]
    extreme = float(np.median([table["max_z"].max() for table in tables]))
    by_state = ", ".join(f"state {n + 1} {mean_text(values)}" for n, values in enumerate(shares.T))
    note = (
        f"Share of the mean cosine in three of 384 dimensions (0.01 if all carried the same), four groups of texts:\n"
        f"{by_state}.\nDimension {rogue[0]} has the most extreme value in {rogue[1]} of {len(traces)} texts: "
        f"{extreme:.0f} standard deviations from its token's mean, in the median text."
    )
    table = corpus.drop(columns=["specials", "participation"]).set_index("state").round(2)
    return Finding(note, table, corpus=corpus, parts=quarters, carried=shares, rogue=rogue, extreme=extreme)


def conclusions(study: Gates, instances: Finding, softmax: Finding, rank: Finding) -> Any:
    """A table: what the paper shows on genes, what is found here."""
    closed, gates = study.closed, study.found
    rows = [
        (
            "norms of Q, K, V",
            "one head shown",
            f"values shortest in {mean_text(study.vector_lengths.values_shortest, 1)} of 72 heads",
        ),
        ("directional, open, contextual gates", "shown", "found by score, all four"),
        (
            "forward and backward in one map",
            "head 10, layer 7",
            f"{gates.two_ways[0]} of {144 * len(study.short)} maps",
        ),
        (
            "closed gates",
            "listed",
            f"{mean_text(closed.short)} of layers 1 to 4 in short texts, {mean_text(closed.long)} in long ones",
        ),
        (
            "what [CLS] gives in closed heads",
            "–",
            f"{mean_text(study.given_by_cls.short[:, 0], 3)} of what a word gives",
        ),
        ("instance gates", "listed", f"{instances.labelled} of 72 heads"),
        (
            "softmax cone index Ī near 1",
            "head 1, layer 11",
            f"{mean_text(softmax.over, 1)} of 72 heads over 0.99 in short texts, "
            f"{mean_text(softmax.over_long, 1)} in long ones",
        ),
        ("heads narrow, what follows widens", "our reading of its theme", "in every layer, short and long"),
        ("rank(QKᵀ + KQᵀ) ≤ 2·rank(QKᵀ)", "theorem 4.2.1", f"reached in {rank.reached} of {rank.n}"),
    ]
    return verdicts(rows, ("", "in the paper (BERT-base on genes)", "here (all-MiniLM-L6-v2 on English)"))
