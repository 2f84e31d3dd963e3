"""The claims about attention: Vig 2019, Clark et al. 2019, and the rule by which each holds on another model.

The rules were written down before any of them was run on a trained model. A rule says where its
bound is not the paper's but ours.
"""

from __future__ import annotations

from .claim import Claim
from .rules import Rule

ATTENTION = (
    Claim(
        "vig-next",
        "vig",
        "pattern 1",
        "There are heads that look at the next token",
        "one head shown, no number",
        "heads that give the next token more than half of their attention",
        Rule("above", 1, "heads"),
        '(stats.values("next") > 0.5).sum()',
    ),
    Claim(
        "vig-previous",
        "vig",
        "pattern 2",
        "There are heads that look at the previous token",
        "one head shown, no number",
        "heads that give the previous token more than half of their attention",
        Rule("above", 1, "heads"),
        '(stats.values("previous") > 0.5).sum()',
    ),
    Claim(
        "vig-same-word",
        "vig",
        "patterns 3 and 4",
        "There are heads that look at the same word elsewhere",
        "two heads shown, no number",
        "heads that give other occurrences of a word more than a tenth of their attention",
        Rule("above", 1, "heads"),
        '(stats.values("same_word") > 0.1).sum()',
    ),
    Claim(
        "vig-other-sentence",
        "vig",
        "pattern 4",
        "There are heads that look at the same word in the other sentence",
        "one head shown, no number",
        "heads by which a word of both sentences gives its other side more than a quarter of its attention",
        Rule("above", 1, "heads"),
        "x = [[few_texts.attention_to(t.attention(l), few_texts.pairs_of(t)[1]).numpy() for l in range(t.n_layers)] for"
        " t in runs(texts[:16])]; (np.nanmean(x, 0) > 0.25).sum()",
    ),
    Claim(
        "vig-pieces",
        "vig",
        "the example of pattern 5",
        "There are heads that look from one part of a word at its other parts",
        "pattern 5 is of words that foretell a word; two parts of one are its example, no number",
        "heads by which parts of a word give its other parts more than a quarter of their attention",
        Rule("above", 1, "heads"),
        "x = [[few_texts.attention_to(t.attention(l), few_texts.pairs_of(t)[0]).numpy() for l in range(t.n_layers)] for"
        " t in runs(texts[:16])]; (np.nanmean(x, 0) > 0.25).sum()",
    ),
    Claim(
        "vig-separator",
        "vig",
        "pattern 6",
        "There are heads that rest on the separator",
        "one head shown, no number",
        "heads that give separators more than half of their attention",
        Rule("above", 1, "heads"),
        '(stats.values("separator") > 0.5).sum()',
    ),
    Claim(
        "vig-few-neurons",
        "vig2",
        "",
        "Few neurons carry a head's look at its strongest key",
        "shown, no number",
        "neurons that carry 80 % of the contrast to the strongest key ÷ what random q and k of this width need",
        Rule("below", 0.67, "ratio"),
        "few = lambda t, l, h: np.quantile([n for n in neurons.n80_of_strongest(t, l, h) if n], 0.5, "
        'method="inverted_cdf") / neurons.n80_chance(t.head_dim, t.n_tokens).median; np.mean([few(t, l, h) for t '
        "in runs(texts[:16]) for l in range(t.n_layers) for h in range(t.n_heads)])",
    ),
    Claim(
        "vig-position",
        "vig2",
        "",
        "Heads that look at the neighbour know it from the position",
        "shown, no number",
        "share of what sets keys apart that comes from position parts of q and k, heads that look at a neighbour",
        Rule("above", 0.5, "share"),
        'w = np.maximum(stats.values("previous"), stats.values("next")); heads = sorted(np.argwhere(w > '
        "0.5).tolist(), key=lambda at: -w[tuple(at)])[:4]; np.mean([sources.map_shares(sources.maps(t, l, "
        'h))["position", "position"] for t in runs(texts[:8]) for l, h in heads])',
    ),
    Claim(
        "clark-neighbours",
        "clark",
        "3.1, figure 2",
        "Some heads specialise in the previous or the next token",
        "4 heads previous and 5 next, above 50 %",
        "heads that give the previous or the next token more than half of their attention",
        Rule("above", 1, "heads", ours=False),
        '(stats.table()[["previous", "next"]] > 0.5).any(axis=1).sum()',
    ),
    Claim(
        "clark-separator",
        "clark",
        "3.2, figure 2",
        "Over half of the attention in the middle layers goes to [SEP]",
        "over 50 % in layers 6-10 of 12",
        "attention to separators, mean of the heads of the middle layers",
        Rule("above", 0.5, "share", ours=False),
        'stats.values("separator")[{first}:{last}].mean()',
    ),
    Claim(
        "clark-separator-to-separator",
        "clark",
        "3.2, figure 2",
        "In the middle layers separators look at themselves and each other",
        "over 90 %",
        "attention of separators to separators, mean of the heads of the middle layers",
        Rule("above", 0.9, "share", ours=False),
        'stats.values("separator_to_separator")[{first}:{last}].mean()',
    ),
    Claim(
        "clark-broad-first",
        "clark",
        "3.3, figure 4",
        "Heads of the first layers attend broadly",
        "shown, no number",
        "entropy of the heads of the first sixth of the layers, less that of all other layers",
        Rule("above", 0.25, "nats"),
        'e = stats.values("entropy"); e[:{sixth}].mean() - e[{sixth}:].mean()',
    ),
    Claim(
        "clark-first-row",
        "clark",
        "3.3",
        "In the last layer the first token looks broadly at the whole text",
        "3.89 nats of about 4.5",
        "entropy of the first token's row in the last layer ÷ ln n, mean of its heads",
        Rule("above", 0.7, "ratio"),
        'np.mean([one.values("entropy_first")[-1].mean() / np.log(one.n_tokens) for one in each])',
        of_training=False,
    ),
    Claim(
        "clark-gradient",
        "clark",
        "3.2, figure 3",
        "More or less attention to [SEP] hardly changes the answer",
        "shown, no number",
        "mean |dL/dα| of attention to separators ÷ to other words, in the middle layers",
        Rule("below", 0.5, "ratio"),
        'g = [bl.survey.attention_gradients(lens, [text], truncation=True).query("{first} <= layer < {last}") '
        'for text in texts[:{gradients}]]; np.nanmean([x["separator"].mean() / x["other"].mean() for x in g])',
    ),
    Claim(
        "clark-punctuation-late",
        "clark",
        "3.2, figure 2",
        "Late layers look at full stops and commas more than early ones",
        "shown, no number",
        "attention to . and , in the last third of the layers ÷ in the first third",
        Rule("above", 1.5, "ratio"),
        'p = [one.values("punctuation") for one in each]; np.nanmean([x[-{third}:].mean() / x[:{third}].mean() '
        "for x in p])",
    ),
    Claim(
        "clark-first-early",
        "clark",
        "3.2, figure 2",
        "Early layers look at [CLS] more than late ones",
        "shown, no number",
        "attention to the first token in the first third of the layers ÷ in the last third",
        Rule("above", 1.5, "ratio"),
        'p = [one.values("first") for one in each]; np.nanmean([x[:{third}].mean() / x[-{third}:].mean() for x in p])',
    ),
    Claim(
        "clark-alike",
        "clark",
        "6, figure 6",
        "Heads of the same layer are alike",
        "shown, no number",
        "Jensen-Shannon divergence of two heads of one layer ÷ of two heads of different layers, mean of all pairs",
        Rule("below", 0.9, "ratio"),
        "d = [bl.survey.head_distances(lens, [text], truncation=True) for text in texts[:12]]; l = "
        "np.arange(len(d[0])) // {heads}; same = l[:, None] == l; np.mean([x[same].sum() / (same.sum() - len(l)) "
        "/ x[~same].mean() for x in d])",
    ),
    Claim(
        "clark-syntax",
        "clark",
        "4.2, table 1",
        "For single relations there is a head that finds them better than any fixed offset",
        "14 of 14 relations, such as dobj 86.8 % beside 40.0 %",
        "share of the paper's relations whose head, chosen on other sentences, is above the best offset",
        Rule("above", 0.5, "share"),
        'b = bl.survey.best_heads(lens, treebank, limit=len(texts), least=50).set_index("relation"); b = '
        'b.loc[b.index.isin(attention_passes.RELATIONS)]; (b["low"] > b["offset_accuracy"]).mean()',
    ),
    Claim(
        "clark-probe",
        "clark",
        "5, table 3",
        "All heads together know much of the tree: a probe on attention alone finds it",
        "61 % beside 26 % of the word that follows",
        "words whose head a probe on attention alone finds, of other sentences, less the better one of both neighbours",
        Rule("above", 0.1, "difference"),
        'p = bl.survey.attention_probe(lens, treebank, limit={sentences}).sum(); (p["probe"] - max(p["next"], '
        'p["previous"])) / p["words"]',
    ),
    Claim(
        "clark-coreference",
        "clark",
        "4.3, table 2",
        "A head finds what a mention names again better than the nearest mention does",
        "65 % beside 27 %",
        "accuracy of the best head, chosen on other documents, less that of the nearest mention",
        Rule("above", 0.0, "difference", ours=False),
        'b = bl.survey.resolve(lens, treebank).best_heads().iloc[0]; b["accuracy"] - b["nearest"]',
    ),
)
