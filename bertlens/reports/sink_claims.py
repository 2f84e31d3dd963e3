"""The claims about resting places, and the rule by which each holds on another model.

The rules were written down before any of them was run on a trained model. A rule says where its
bound is not the paper's but ours.
"""

from __future__ import annotations

from .claim import Claim
from .rules import Rule

SINKS = (
    Claim(
        "sinks-resting",
        "xiao",
        "3",
        "Many heads rest on one kind of token without content",
        "shown on decoders, no number",
        "share of the heads that give the first token, or separators, more than 30 % of their attention",
        Rule("above", 0.25, "share"),
        '(stats.table()[["first", "separator"]] > 0.3).any(axis=1).mean()',
        on="Llama-2 7B",
    ),
    Claim(
        "sinks-null",
        "kobayashi2020",
        "4",
        "Heads that rest send next to nothing: the resting place has a short vector",
        "shown, no number",
        "‖f(x)‖ of the resting place ÷ of other words, mean of the heads that rest",
        Rule("below", 0.5, "ratio"),
        'r = [(k, l, h) for k, name in enumerate(["first", "separator"]) for l, h in '
        "np.argwhere(stats.values(name) > 0.3)]; np.mean([[x[l, h, k] / x[l, h, 3] for k, l, h in r] for x in "
        "(one.lengths() for one in each)])",
    ),
    Claim(
        "sinks-broadcast",
        "fesser",
        "abstract",
        "Other heads that rest broadcast: they write one and the same vector to all tokens",
        "shown, no number",
        "share of a head's output in one direction, mean of the heads whose resting place is not short",
        Rule("above", 0.5, "share"),
        "x = stats.lengths(); r = np.any([(stats.values(name) > 0.3) & (x[..., k] >= 0.5 * x[..., 3]) for k, "
        'name in enumerate(["first", "separator"])], 0); '
        "np.mean([spectra.top_share(t.head_context(l))[r[l]].numpy().sum() for t in runs(texts[:16]) for l in "
        "range(t.n_layers)]) * len(r) / r.sum()",
        on="image transformers",
    ),
    Claim(
        "sinks-massive",
        "sun",
        "2",
        "A few activations are thousands of times as large as the median one",
        "1,000 times the median and above 100",
        "the largest activation ÷ 1,000 medians of its layer, or ÷ 100 if that is less, the largest of all layers",
        Rule("above", 1.0, "ratio", ours=False),
        "s = [[x.abs() for x in t.hidden_states] for t in runs(texts)]; m = [[min(float(x.max() / x.median()) "
        "/ 1000, float(x.max()) / 100) for x in t] for t in s]; np.mean(m, 0).max()",
        on="Llama-2 7B",
    ),
    Claim(
        "sinks-off",
        "xiao",
        "3",
        "Without its resting place a model's answer moves further than without another token",
        "decoders answer worse without it: of how far the answer moves, better or worse, no number",
        "how far the answer moves where no head sees the resting place, less where none sees another token",
        Rule("above", 0.0, "difference", ours=False),
        'kind = max(["first", "separator"], key=lambda name: (stats.values(name) > 0.3).sum()); m = '
        "[sink_numbers.answer_shift(t, kind, n) for n, text in enumerate(texts[:16]) for t in runs([text])]; "
        "np.nanmean([rest - other for rest, other in m])",
        on="Llama-2 7B",
    ),
)
