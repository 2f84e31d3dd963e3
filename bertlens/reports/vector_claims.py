"""The claims about vectors: Kobayashi et al. 2020 and 2021, Bonino et al. 2025, and their rules.

The rules were written down before any of them was run on a trained model. A rule says where its
bound is not the paper's but ours.
"""

from __future__ import annotations

from .claim import Claim
from .rules import Rule

VECTORS = (
    Claim(
        "kobayashi-separator",
        "kobayashi2020",
        "4",
        "What separators send is short: their weight and its norm cancel",
        "shown, no number",
        "share of separators by norm ‖αf(x)‖ ÷ by weight α, all heads",
        Rule("below", 0.5, "ratio"),
        'np.nanmean([one.values("separator", by="norm").mean() / one.values("separator").mean() for one in each])',
    ),
    Claim(
        "kobayashi-punctuation",
        "kobayashi2020",
        "4",
        "Full stops and commas send shorter vectors than words, too",
        "shown, no number",
        "share of . and , by norm ‖αf(x)‖ ÷ by weight α, all heads",
        Rule("below", 0.75, "ratio"),
        'np.nanmean([one.values("punctuation", by="norm").mean() / one.values("punctuation").mean() for one in each])',
    ),
    Claim(
        "kobayashi-special",
        "kobayashi2020",
        "4",
        "Special tokens get much weight and send little: attention gathers little from them",
        "shown, no number",
        "share of the first token and separators by norm ‖αf(x)‖ ÷ by weight α, all heads",
        Rule("below", 0.5, "ratio"),
        'k = ["first", "separator"]; np.mean([one.table(by="norm")[k].sum().sum() / one.table()[k].sum().sum() '
        "for one in each])",
    ),
    Claim(
        "kobayashi-patterns",
        "kobayashi2020",
        "4",
        "Heads that rest on special tokens by weight look elsewhere by norm",
        "shown, no number",
        "heads most of whose weight is on special tokens or . and , that have less than half there by norm",
        Rule("above", 0.5, "share"),
        'k = ["first", "separator", "punctuation"]; w, v = (np.array([one.table(by=by)[k].sum(axis=1) for one in '
        'each]) for by in ("weight", "norm")); np.nanmean(((w > 0.5) & (v < 0.5)).sum(1) / (w > 0.5).sum(1))',
    ),
    Claim(
        "kobayashi-frequency",
        "kobayashi2020",
        "4",
        "Frequent tokens send shorter vectors",
        "Spearman's ρ 0.75",
        "Spearman's ρ of a token's frequency rank in the corpus and its mean ‖f(x)‖",
        Rule("above", 0.5, "ratio"),
        "bl.survey.frequency_correlation(lens, texts, truncation=True).rho",
    ),
    Claim(
        "kobayashi-mixing",
        "kobayashi2021",
        "4, and the authors' notebook",
        "A token's new vector is made of its own old one more than of the others'",
        "others 18.8 %",
        "mixing ratio AttnResLn-N, mean of tokens and layers",
        Rule("below", 0.5, "share", ours=False),
        'stats.layers()["mixing attnresln-n"].mean()',
        of_training=False,
    ),
    Claim(
        "kobayashi-residual",
        "kobayashi2021",
        "4, and the authors' notebook",
        "The residual connection keeps the token itself: with it others count far less",
        "22.3 % beside 85.3 %, ÷ 0.26",
        "mixing ratio AttnRes-N ÷ Attn-N, means of tokens and layers",
        Rule("below", 0.5, "ratio"),
        'm = [one.layers().mean() for one in each]; np.mean([x["mixing attnres-n"] / x["mixing attn-n"] for x in m])',
        of_training=False,
    ),
    Claim(
        "kobayashi-layernorm",
        "kobayashi2021",
        "4, and the authors' notebook",
        "LayerNorm mixes less of the other tokens in",
        "18.8 % beside 22.3 %, ÷ 0.84",
        "mixing ratio AttnResLn-N ÷ AttnRes-N, means of tokens and layers",
        Rule("below", 0.95, "ratio"),
        'm = [one.layers().mean() for one in each]; np.mean([x["mixing attnresln-n"] / x["mixing attnres-n"] for '
        "x in m])",
    ),
    Claim(
        "kobayashi-order",
        "kobayashi2021",
        "4, and the authors' notebook",
        "Norms, the residual and LayerNorm each lower how much of the others is mixed in",
        "96.4, 85.3, 48.2, 22.3, 18.8 %",
        "least of the steps down Attn-W, Attn-N, AttnRes-W, AttnRes-N, AttnResLn-N, means of tokens and layers",
        Rule("above", 0.005, "share"),
        'm = stats.layers().mean(); np.min([m["mixing attn-w"] - m["mixing attn-n"], m["mixing attn-n"] - '
        'm["mixing attnres-w"], m["mixing attnres-w"] - m["mixing attnres-n"], m["mixing attnres-n"] - m["mixing '
        'attnresln-n"]])',
    ),
    Claim(
        "kobayashi-depth",
        "kobayashi2021",
        "4, figure 3",
        "Late layers mix less of the other tokens in than early ones",
        "24 % in the first layer, 11 % in the last",
        "mixing ratio AttnResLn-N in the last third of the layers ÷ in the first third",
        Rule("below", 0.75, "ratio"),
        'm = [one.layers()["mixing attnresln-n"] for one in each]; np.mean([x[-{third}:].mean() / '
        "x[:{third}].mean() for x in m])",
    ),
    Claim(
        "bonino-gates",
        "bonino",
        "gates: figures 3-5",
        "Heads are gates of several kinds: directional, open, closed, contextual, cluster, instance",
        "described, no number; scores are bertlens' own",
        "kinds of gate that some head is in more than half of the texts",
        Rule("above", 4, "kinds"),
        '(stats.gates()[["directional", "open", "closed", "forward contextual", "backward contextual", '
        '"cluster", "instance"]].max() > 0.5).sum()',
    ),
    Claim(
        "bonino-cone",
        "bonino",
        "cone index",
        "Vectors of a text point into a narrow cone",
        "described, no number",
        "cone index ÷ n of the layers' outputs, the least of all layers, less its chance 1/√n",
        Rule("above", 0.0, "difference", ours=False),
        'stats.layers()["cone output"].min() - np.mean([one.n_tokens**-0.5 for one in each])',
        of_training=False,
    ),
    Claim(
        "bonino-cone-grows",
        "bonino",
        "cone index",
        "The cone grows narrower from the first layer to the last",
        "described, no number",
        "cone index ÷ n of the last layer's output less that of the embeddings",
        Rule("above", 0.0, "difference", ours=False),
        'c = stats.layers(); c["cone output"].iloc[-1] - c["cone input"].iloc[0]',
        of_training=False,
    ),
    Claim(
        "bonino-direction",
        "bonino",
        "local analysis",
        "Heads are directional: single dimensions of queries or keys stand out",
        "described, no number; the score is Saponati et al. 2025",
        "share of the heads whose directionality lies outside what 95 % of random weights have",
        Rule("above", 0.25, "share"),
        'w = spectra.weights_table(lens); w = w[w["head"] != "all"]; (w["directionality"].abs() > '
        'w["directionality_chance"]).mean()',
    ),
    Claim(
        "bonino-subspaces",
        "bonino",
        "local analysis",
        "A head selects a subspace: its queries and keys read the same directions",
        "described, no number",
        "overlap of what W_Q and W_K of a head read ÷ that of random subspaces, mean of the heads",
        Rule("above", 1.25, "ratio"),
        'w = spectra.weights_table(lens); w = w[w["head"] != "all"]; (w["overlap"] / w["chance"]).mean()',
    ),
    Claim(
        "bonino-lengths",
        "bonino",
        "figure 2",
        "Queries, keys and values of a head have lengths of their own",
        "histograms shown, no number",
        "longest ÷ shortest of the mean lengths of a head's queries, keys and values, mean of the heads",
        Rule("above", 1.5, "ratio"),
        "x = np.array([[[of(l).norm(dim=-1).mean(-1).numpy() for l in range(t.n_layers)] for of in (t.query, "
        "t.key, t.value)] for t in runs(texts[:16])]); (x.max(1) / x.min(1)).mean()",
    ),
    Claim(
        "bonino-rank",
        "bonino",
        "the authors' notebook",
        "What a head puts out is of low rank",
        "24 of 30 texts with 1 singular value, of one head's attention",
        "effective rank of a head's outputs ÷ the most it can be, mean of the heads",
        Rule("below", 0.5, "ratio"),
        'np.mean([spectra.layer_spectra(t, l).set_index("of").loc["context", "effective_rank"].mean() / '
        "min(t.n_tokens, t.head_dim) for t in runs(texts[:16]) for l in range(t.n_layers)])",
        of_training=False,
    ),
)
