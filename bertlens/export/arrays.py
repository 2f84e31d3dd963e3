"""Numbers of a trace as files: NPZ for programs, CSV for tables, both with provenance."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays_file import write
from ..base.atomic import replacing
from ..base.paths import as_path
from ..base.vocabulary import phrases
from ..errors import check_index, check_indices
from ..trace.provenance import provenance
from ..trace.trace import Trace

# Where a cell may begin, for one or another of the separators that spreadsheets take. The apostrophe is among what gets
# one, so that all can be undone.
_FORMULA = re.compile(r"""(^|[,;\t\r\n])("*)(?=[=+@＝＋－＠'\t\r\n-])""")


def save_npz(trace: Trace, path: str | Path, *, layers: Sequence[int] | None = None) -> None:
    """Attention, queries, keys and scaling of all layers, or of `layers`, as a compressed NPZ file.

    layers (L,); attention (L, H, S, K); where the trace has neurons query (L, H, S, d), key (L, H, K, d), scaling (L,);
    `about`, provenance and tokens as JSON. An encoder-decoder has each under its map's name, like "cross.attention".
    Read it with numpy.load(path), no pickle. Raises SelectionError for no layer at all or one that does not exist,
    InputError for no path, ExportError where the file cannot be written.
    """
    arrays: dict[str, Any] = {}
    about = provenance(trace)
    for name, side in trace.maps.items():
        prefix = "" if name == "self" else f"{name}."
        numbers = list(range(side.n_layers)) if layers is None else check_indices(layers, side.n_layers, "layers")
        arrays[f"{prefix}layers"] = np.array(numbers)
        arrays[f"{prefix}attention"] = _stack(side.attention(layer) for layer in numbers)
        if side.has_neurons:
            arrays[f"{prefix}query"] = _stack(side.query(layer) for layer in numbers)
            arrays[f"{prefix}key"] = _stack(side.key(layer) for layer in numbers)
            arrays[f"{prefix}scaling"] = np.array([side.scaling(layer) for layer in numbers])
        about[f"{prefix}tokens"], about[f"{prefix}key_tokens"] = list(side.tokens), list(side.key_tokens)
    path = as_path(path)
    path = path if path.suffix == ".npz" else path.parent / f"{path.name}.npz"  # as numpy names it
    write(path, about, arrays, compressed=True)


def _stack(tensors: Iterable[Any]) -> np.ndarray:
    return np.stack([tensor.cpu().numpy() for tensor in tensors])


def save_csv(trace: Trace, layer: int, head: int, path: str | Path) -> None:
    r"""One head as CSV (RFC 4180): a row per query and key, their places and tokens, score (if known) and attention.

    Columns, tokens (`Trace.display_tokens`) and numbers are those of the page's own files: query_index, query,
    key_index, key, score, attention.

    Provenance is in lines that start with '#': pandas.read_csv(path, comment="#") reads the rest. Tokens are quoted,
    and an apostrophe stands before what a spreadsheet would take for a formula (= + - @ at the beginning, or where one
    of its separators has a cell begin). token.removeprefix("'") gives back nearly every token, and
    re.sub('(^|[,;\t\r\n])("*)\'', r"\1\2", token) each. Numbers are the shortest that give back the float.
    Raises SelectionError for a head that does not exist, ExportError where the file cannot be written.
    """
    attention = trace.attention(layer)
    has_scores = trace.has_neurons and not trace.changed_weights(layer)
    check_index(head, trace.n_heads, "head")
    weights = attention[head].cpu().numpy()
    scores = trace.scores(layer)[head].cpu().numpy() if has_scores else None
    about = provenance(trace) | {"layer": int(layer), "head": int(head), "note": phrases.SPREADSHEET_NOTE}
    lines = [f"# {name}: {_one_line(value)}" for name, value in about.items()]
    lines.append('"query_index","query","key_index","key","score","attention"')
    keys = trace.display_key_tokens
    for i, query in enumerate(trace.display_tokens):
        for j, key in enumerate(keys):
            score = "" if scores is None else _number(scores[i, j])
            lines.append(f"{i},{_quoted(query)},{j},{_quoted(key)},{score},{_number(weights[i, j])}")
    text = "\r\n".join([*lines, ""])
    with replacing(path) as out:
        out.write(text.encode("utf-8", errors="replace"))  # a lone surrogate has no bytes


def _number(value: Any) -> str:
    """The shortest that gives back the float, as `numberText` in js/src/export/csv.ts writes it."""
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return np.format_float_positional(abs(value) if value == 0 else value, trim="-")
    return np.format_float_scientific(value, trim="-", exp_digits=1)


def _one_line(value: Any) -> str:
    if not isinstance(value, str):
        return inert(json.dumps(value))
    return inert(value.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n"))


def _quoted(text: str) -> str:
    return '"' + inert(text).replace('"', '""') + '"'


def inert(text: str) -> str:
    """Text in which no cell of a spreadsheet can begin as a formula."""
    return _FORMULA.sub(r"\1\2'", text)
