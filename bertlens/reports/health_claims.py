"""The claims about the health of a model and of the texts, and the rule by which each holds on another model."""

from __future__ import annotations

from .claim import Claim
from .rules import Rule

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
