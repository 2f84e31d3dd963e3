"""The claims about resting places, and about the health of a model, and the rule by which each holds on another model.

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
        "[sinks.answer_shift(t, kind, n) for n, text in enumerate(texts[:16]) for t in runs([text])]; "
        "np.nanmean([rest - other for rest, other in m])",
        on="Llama-2 7B",
    ),
)
HEALTH = (
    Claim(
        "health-dead",
        "health",
        "",
        "No head is dead",
        "none expected",
        "heads whose output is shorter than a hundredth of their layer's mean",
        Rule("below", 1, "heads"),
        "w = np.array([[geometry.head_writes(t, l).norm(dim=-1).mean(-1).numpy() for l in range(t.n_layers)] for "
        "t in runs(texts[:16])]); ((w / w.mean(-1, keepdims=True).clip(1e-12)).mean(0) < 0.01).sum()",
        on="",
        of_training=False,
    ),
    Claim(
        "health-doubled",
        "health",
        "",
        "No two heads do the same",
        "none expected",
        "heads that another one equals: Jensen-Shannon divergence below 0.001 nats",
        Rule("below", 1, "heads"),
        "d = np.mean([bl.survey.head_distances(lens, [text], truncation=True) for text in texts[:12]], 0); "
        "(np.sort(d)[:, 1] < 0.001).sum()",
        on="",
        of_training=False,
    ),
    Claim(
        "health-collapsed",
        "health",
        "",
        "No head has one row for all tokens",
        "none expected",
        "heads whose rows differ from their mean by less than 0.01 nats",
        Rule("below", 1, "heads"),
        "e = lambda a: torch.special.entr(a).sum(-1); s = [[(e(a.mean(1)) - e(a).mean(-1)).numpy() for a in "
        "(t.attention(l).double() for l in range(t.n_layers))] for t in runs(texts[:16])]; (np.mean(s, 0) < "
        "0.01).sum()",
        on="",
        of_training=False,
    ),
    Claim(
        "health-rogue",
        "health",
        "",
        "No single dimension makes up most of the likeness of vectors",
        "none expected",
        "largest dimension's share of the mean cosine of a layer's vectors, the worst layer",
        Rule("below", 0.5, "share"),
        "g = [[geometry.cosine_contributions(x).abs() for x in t.hidden_states[1:]] for t in "
        "runs(texts[:16])]; np.mean([[float(x.max() / x.sum()) for x in t] for t in g], 0).max()",
        on="",
        of_training=False,
    ),
    Claim(
        "health-idle",
        "health",
        "",
        "Every layer changes something",
        "none expected",
        "layers that change vectors by less than a twentieth of their length",
        Rule("below", 1, "layers"),
        "s = [t.hidden_states for t in runs(texts[:16])]; (np.mean([[float(((y - x).norm(dim=-1) / "
        "x.norm(dim=-1)).mean()) for x, y in zip(t, t[1:])] for t in s], 0) < 0.05).sum()",
        on="",
        of_training=False,
    ),
    Claim(
        "health-cut",
        "health",
        "",
        "These texts are short enough for the model",
        "less than 1 in 20 expected",
        "share of these texts that were cut",
        Rule("below", 0.05, "share"),
        "np.mean([bool(t.report.truncated) for t in runs(texts)])",
        on="",
        of_training=False,
    ),
    Claim(
        "health-unknown",
        "health",
        "",
        "The tokenizer knows the words of these texts",
        "less than 1 in 100 expected",
        "share of these texts' tokens that are unknown",
        Rule("below", 0.01, "share"),
        "r = [(len(t.report.unknown), t.n_tokens) for t in runs(texts)]; np.divide(*np.sum(r, 0))",
        on="",
        of_training=False,
    ),
)
