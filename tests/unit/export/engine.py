"""Runs the pass of js/src/engine in node, on weights as a page carries them."""

from __future__ import annotations

import copy
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import bertlens as bl
from bertlens.base.wire import pack, unpack
from bertlens.export import live, page_arithmetic, page_heads, page_tokenizer, page_weights
from bertlens.model.borrowed import Model
from bertlens.trace.trace import Trace
from bertlens.widgets.overview import with_overview
from bertlens.widgets.view_record import ViewRecord

ROOT = Path(__file__).resolve().parents[3]


def rounded(model: Any, small: bool = False) -> Any:
    """The module again, in float32 and with the weights that a page computes with."""
    module = copy.deepcopy(model.module).float()
    words = Model(module, model.tokenizer).embedding.weight
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim == 2:
                make = page_weights.table if parameter is words else page_weights.matrix
                parameter.copy_(torch.from_numpy(page_arithmetic.floats(make("own", parameter, small), "own")))
    return module


def write(model: Any, folder: Path, head: page_heads.Head | None = None, small: bool = False) -> dict[str, Any]:
    """The weights' parts; the shape that the engine is told."""
    behind = [head.arrays] if head and head.arrays else []
    for n, arrays in enumerate((*page_weights.parts(model, small), *behind)):
        index, blob = pack(arrays)
        (folder / f"{n}.json").write_text(json.dumps(index))
        (folder / f"{n}.bin").write_bytes(blob)
    return page_weights.shape(model) | {"head": head.about.get("stages", []) if head else []}


@cache
def _engine() -> subprocess.Popen[str]:
    """One process for all that a test process asks: its start takes longer than most passes."""
    pipe = subprocess.PIPE
    return subprocess.Popen(["node", "tests/engine_run.mjs"], cwd=ROOT / "js", stdin=pipe, stdout=pipe, text=True)


def node(folder: Path, **given: Any) -> Any:
    """What engine_run.mjs leaves in out.json."""
    (folder / "in.json").write_text(json.dumps(given))
    engine = _engine()
    assert engine.stdin is not None and engine.stdout is not None
    engine.stdin.write(f"{folder}\n")
    engine.stdin.flush()
    assert (error := json.loads(engine.stdout.readline() or '"node has ended"')) == "", error
    return json.loads((folder / "out.json").read_text())


def passes(
    model: Any, folder: Path, given: list[tuple[Trace, list[dict[str, Any]]]], product: str = ""
) -> tuple[list[dict[str, np.ndarray]], list[float]]:
    """The arrays of each pass over a trace's tokens, with changes, and the milliseconds of each. product: "plain",
    "unfused", or the browser's best."""
    inputs = [
        {
            "ids": trace.encoding.input_ids,
            "types": trace.encoding.token_type_ids or [0] * trace.n_tokens,
            "changes": changes,
        }
        for trace, changes in given
    ]
    out = node(folder, shape=page_weights.shape(model) | {"head": []}, product=product, passes=inputs)
    found = []
    for n in range(len(inputs)):
        index = json.loads((folder / f"out{n}.json").read_text())
        found.append(unpack(index, (folder / f"out{n}.bin").read_bytes()))
    return found, out["times"]


def attention(arrays: dict[str, np.ndarray], layer: int, trace: Trace) -> torch.Tensor:
    """(H, S, S) α as the page makes it of queries, keys and log-sum-exps; 0 where the run of `trace` sees nothing."""
    heads, size = trace.n_heads, trace.n_tokens
    q, k = (torch.tensor(arrays[f"{layer}.{name}"]).double().reshape(heads, size, -1) for name in ("q", "k"))
    lse = torch.tensor(arrays[f"{layer}.lse"]).double().reshape(heads, size, 1)
    alpha = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5 - lse).exp()
    return alpha.masked_fill(trace.attention(layer) == 0, 0)


def steps(rows: np.ndarray, to_root_mean_square: int, most: int) -> np.ndarray:
    """(rows, 1) what numbers of a row are whole multiples of in a page."""
    return np.maximum(
        (rows**2).mean(1, keepdims=True) ** 0.5 / to_root_mean_square, abs(rows).max(1, keepdims=True) / most
    )


def asked(
    lens: Any,
    own: str,
    questions: list[dict[str, Any]],
    folder: Path,
    small: bool = False,
    decimals: list[tuple[int, int]] | None = None,
) -> tuple[bl.Lens, list[tuple[Any, ...]]]:
    """What the model in a live page of the text `own` answers: a lens on the weights that it has, and (error, fields,
    show, arrays) of each question. A question about the trace "last" is about the last run that was shown, "before"
    about the one before. decimals: given, where measuring them, seconds of a large model, is not what is tested."""
    model = lens.borrowed
    same = bl.Lens(rounded(model, small), lens.tokenizer)
    same.made = lens.made
    trace = lens.trace(own)
    answer = page_heads.head(trace, small)
    write(model, folder, answer, small)
    about = live.carried_model(trace, answer, "", small).about | {"decimals": decimals} if decimals else None
    header = with_overview(ViewRecord(trace), "self", 1, min(8, trace.n_heads - 1)).overview["header"]
    carried = {**(about or live.live(trace, small).about), "header": header, "texts": [header]}
    carried["tokenizer"] = page_tokenizer.tokenizer_files(lens.tokenizer)
    found = []
    for n, (error, fields, show) in enumerate(node(folder, carried=carried, asks=questions)):
        index = (show["header"] if isinstance(show, dict) else fields or {}).get("arrays")
        arrays = unpack(index, (folder / f"out{n}.bin").read_bytes()) if index else {}
        found.append((error, fields, show, arrays))
    return same, found
