"""The head that a view opens on where nobody names one: one with a pattern, at a cell that shows it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..base.limits import within
from ..measures.offers import offers
from ..trace.trace import Trace
from .answers.heads import gate_scores

PLAIN = ("open", "closed", "self")  # gates that show nothing at a glance


def opening(
    trace: Trace, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None
) -> dict[str, int | None]:
    """The head with the highest gate score other than open, closed and self, and its largest content-to-content cell.

    {"layer", "head", "query", "key"}; of equal scores the lower layer, then the lower head. layers, heads: only these.
    Of a text of more than 128 tokens the heads of the first of the layers. Head 0 and no cell where a trace has no
    gates or more than 512 tokens, no cell where it has no content tokens.
    """
    layers = list(range(trace.n_layers)) if layers is None else list(layers)
    heads = list(range(trace.n_heads)) if heads is None else list(heads)
    if offers(trace)["gates"] or not within("opened", trace.n_tokens):
        return {"layer": layers[0], "head": heads[0], "query": None, "key": None}
    if not within("opening", trace.n_tokens):
        layers = layers[:1]
    by_gate = gate_scores(trace, "full", layers)
    best = (
        torch.stack([values[:, heads] for gate, values in by_gate.items() if gate not in PLAIN]).nan_to_num(-1).amax(0)
    )
    first = int((best == best.max()).flatten().nonzero()[0])
    layer, head = layers[first // len(heads)], heads[first % len(heads)]
    content = (~trace.special_mask).nonzero().flatten()
    if not len(content):
        return {"layer": layer, "head": head, "query": None, "key": None}
    cell = int(trace.attention_heads(layer, head, head + 1)[0][content][:, content].argmax())
    query, key = content[cell // len(content)], content[cell % len(content)]
    return {"layer": layer, "head": head, "query": int(query), "key": int(key)}
