"""Numbers of a trace as files: NPZ for programs, CSV for tables, both with provenance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import check_index
from ..provenance import provenance
from ..trace import Trace

_NOTE = "text is exact: in a spreadsheet import it as text, or a token like =A1 may be taken for a formula"


def save_npz(trace: Trace, path: str | Path, *, layers: Sequence[int] | None = None) -> None:
    """Attention, queries, keys and scaling of all layers, or of `layers`, as a compressed NPZ file.

    layers (L,); attention (L, H, S, K); where the trace has neurons query (L, H, S, d), key (L, H, K, d), scaling (L,);
    about: provenance and tokens as JSON. An encoder-decoder has each under its map's name, like "cross.attention".
    Read it with numpy.load(path), no pickle. Raises SelectionError for a layer that does not exist.
    """
    arrays: dict[str, Any] = {}
    about = provenance(trace)
    for name, shown in trace.maps.items():
        prefix = "" if name == "self" else f"{name}."
        chosen = list(range(shown.n_layers) if layers is None else layers)
        arrays[f"{prefix}layers"] = np.array(chosen)
        arrays[f"{prefix}attention"] = _stack(shown.attention(layer) for layer in chosen)
        if shown.has_neurons:
            arrays[f"{prefix}query"] = _stack(shown.query(layer) for layer in chosen)
            arrays[f"{prefix}key"] = _stack(shown.key(layer) for layer in chosen)
            arrays[f"{prefix}scaling"] = np.array([shown.scaling(layer) for layer in chosen])
        about[f"{prefix}tokens"], about[f"{prefix}key_tokens"] = list(shown.tokens), list(shown.key_tokens)
    np.savez_compressed(path, about=np.array(json.dumps(about)), **arrays)


def _stack(tensors: Iterable[Any]) -> np.ndarray:
    return np.stack([tensor.cpu().numpy() for tensor in tensors])


def save_csv(trace: Trace, layer: int, head: int, path: str | Path) -> None:
    """One head as CSV (RFC 4180): a row per query and key with both tokens, score (if known) and attention.

    Provenance is in lines that start with '#': pandas.read_csv(path, comment="#") reads the rest. Text is exact and
    quoted, numbers are the shortest that give back the float. Raises SelectionError for a head that does not exist.
    """
    attention = trace.attention(layer)
    check_index(head, trace.n_heads, "head")
    weights = attention[head].cpu().numpy()
    scores = trace.scores(layer)[head].cpu().numpy() if trace.has_neurons else None
    about = provenance(trace) | {"layer": layer, "head": head, "note": _NOTE}
    lines = [f"# {name}: {_one_line(value)}" for name, value in about.items()]
    lines.append('"query","query_token","key","key_token","score","attention"')
    for i, query in enumerate(trace.tokens):
        for j, key in enumerate(trace.key_tokens):
            score = "" if scores is None else str(scores[i, j])
            lines.append(f"{i},{_quoted(query)},{j},{_quoted(key)},{score},{weights[i, j]!s}")
    text = "\r\n".join([*lines, ""])
    Path(path).write_bytes(text.encode("utf-8", errors="replace"))  # a lone surrogate has no bytes


def _one_line(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return value.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
