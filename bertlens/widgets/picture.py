"""What the page gets of a trace: the first picture (thumbnails, statistics, the open head), and heads on demand.

Nothing of size heads × S × S leaves the kernel: a head travels as q, k, scaling and mask, the page computes the rest.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch

from ..export.provenance import versions
from ..measures import attention
from ..trace import Trace
from ..wire import json_safe, pack
from .answers import has_gates, layer_maps, measures
from .badges import badges

Arrays = dict[str, Any]


def head_slice(trace: Trace, layer: int, head: int) -> tuple[dict[str, Any], Arrays]:
    """One head for the page: q and k (S, d) with scaling and mask, or attention (S, K) where there are no neurons."""
    fields: dict[str, Any] = {"layer": layer, "head": head}
    if not trace.has_neurons:
        return fields, {"attention": trace.attention(layer)[head].float().contiguous()}
    mask, arrays = _mask(trace.mask(layer), head)
    fields |= {"scaling": float(trace.scaling(layer)), "mask": mask}
    return fields, {"q": trace.query(layer)[head].float(), "k": trace.key(layer)[head].float()} | arrays


def _mask(mask: torch.Tensor | str | None, head: int) -> tuple[str, Arrays]:
    """The mask as the page reads it: a name, packed bits where it only hides keys, else the bias itself."""
    if mask is None:
        return "full", {}
    if isinstance(mask, str):
        return mask, {}
    bias = (mask[head if mask.shape[0] > 1 else 0] if mask.dim() == 3 else mask).float()
    seen = bias != -torch.inf
    if bool((bias[seen] == 0).all()):
        return "bits", {"bits": np.packbits(seen.cpu().numpy(), axis=1, bitorder="little")}
    return "bias", {"bias": bias.contiguous()}


def _side(tokens: list[str], pieces: list[str], words: list[int | None], segments: Any, special: Any) -> dict[str, Any]:
    return {
        "tokens": tokens,
        "pieces": pieces,
        "words": [-1 if word is None else word for word in words],
        "segments": [int(s) for s in segments],
        "special": [int(s) for s in special],
    }


def _annotation(trace: Trace) -> tuple[list[str], list[list[Any]]]:
    """Names of the tokens for people, and named runs of them, where the tokenizer knows what its tokens are."""
    annotate = getattr(trace.lens.tokenizer, "annotate", None) if trace.lens else None
    if annotate is None or trace.text is None or trace.text_pair is not None:
        return trace.display_tokens, []
    found = annotate(trace.text, trace.n_tokens)
    return found.labels, [list(span) for span in found.spans]


def picture(trace: Trace, name: str, layer: int, head: int) -> dict[str, Any]:
    """The first picture of the map `name` of a trace, with one head open: {"header": JSON, "data": bytes}."""
    shown = trace.maps[name]
    thumbs, thumb_max = attention.thumbnails(shown)
    summary = attention.summary(shown)
    stats = torch.stack(list(summary.values()), dim=-1).float()
    head_fields, head_arrays = head_slice(shown, layer, head)
    arrays = {"thumbs": thumbs, "thumb_max": thumb_max.float(), "stats": stats}
    identity = hashlib.sha256(repr((trace.model_name, shown.tokens, shown.key_tokens)).encode(errors="replace"))
    for array in arrays.values():
        identity.update(array.cpu().contiguous().numpy().tobytes())
    index, data = pack(arrays | {f"head.{key}": array for key, array in head_arrays.items()})
    square = shown.key_tokens is shown.tokens
    labels, spans = _annotation(shown)
    keys = None
    if not square:
        keys = _side(
            shown.display_key_tokens,
            shown.key_tokens,
            shown.key_word_ids,
            shown.key_segments,
            shown.key_special_mask,
        )
    header = {
        "trace": identity.hexdigest()[:16],
        "map": name,
        "maps": list(trace.maps),
        "model": trace.model_name,
        "n_layers": shown.n_layers,
        "n_heads": shown.n_heads,
        "head_dim": shown.head_dim if shown.has_neurons else None,
        "dtype": trace.dtype,
        "neurons": shown.has_neurons,
        "why_no_neurons": shown.why_no_neurons,
        "queries": _side(labels, shown.tokens, shown.word_ids, shown.segments, shown.special_mask),
        "keys": keys,
        "pair": bool((shown.segments == 1).any()),
        "spans": spans,
        "badges": badges(trace.report),
        "text": trace.text or "",
        "text_pair": trace.text_pair or "",
        "stats": list(summary),
        "measures": measures(shown),
        "layer_maps": layer_maps(shown),
        "evidence": has_gates(shown),
        "gates": has_gates(shown),
        "versions": versions(),
        "nan_layer": trace.nan_layer,
        "lens": trace.lens is not None,
        "head": head_fields,
        "arrays": index,
    }
    return {"header": json_safe(header), "data": data}
