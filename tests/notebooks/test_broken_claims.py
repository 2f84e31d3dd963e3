"""A claim of a notebook turns red when what it counts is broken: the cells that lead to it, run here, and its check."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import nbformat
import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import survey, whatif
from bertlens.measures import categories, gates, norms
from studies import differences, gate_counts, lifts, patterns, tour

FOLDER = Path(__file__).resolve().parent
NOTEBOOKS = FOLDER.parents[1] / "notebooks"
pytestmark = [pytest.mark.notebook, pytest.mark.long, pytest.mark.timeout(600)]


def checking() -> Any:
    """checking.py: there are no packages here, so by its path."""
    spec = importlib.util.spec_from_file_location("checking", FOLDER / "checking.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, cells: str) -> None:
    """These cells of a notebook one after the other, without magics, and the check behind the last one."""
    [path] = NOTEBOOKS.glob(f"{name}*.ipynb")
    sources = {cell.id: cell.source for cell in nbformat.read(path, as_version=4).cells}
    names: dict[str, Any] = {"__name__": "notebook", "bl": bl, "display": lambda *shown: None}
    for cell in cells.split():
        lines = [line for line in sources[cell].splitlines() if not line.startswith("%")]
        exec("\n".join(lines), names)
    check = checking()
    exec(check.BEFORE, names)
    exec(check.parts(path.stem)[cells.split()[-1]], names)


def weights_as_norms(*_: Any) -> Callable[..., torch.Tensor]:
    return lambda trace, layer: trace.attention(layer)


def shares_by_weight_alone(shares: Any) -> Callable[..., Any]:
    return lambda *given: dataclasses.replace(found := shares(*given), norm=found.attention)


def mixing_by_weights(ratios: Any) -> Callable[..., Any]:
    return lambda *given, **how: (found := ratios(*given, **how)) | {"attnresln-n": found["attn-w"]}


def no_gates(scores: Any) -> Callable[..., Any]:
    return lambda trace: {gate: 0 * score for gate, score in scores(trace).items()}


def values_of_one_length(values: Any) -> Callable[..., torch.Tensor]:
    return lambda *given: torch.nn.functional.normalize(values(*given), dim=-1)


def told(lens: bl.Lens, **_: bool) -> bl.Lens:
    return lens


BROKEN = [  # notebook, cells, where, what, how
    ("01", "trace parameters count", tour.norms, "weighted_norm", weights_as_norms),
    ("02", "imports real parameters scores best", gates, "head_scores", no_gates),
    ("02", "imports real parameters scores best report value", bl.Trace, "value", values_of_one_length),
    ("02", "imports real parameters scores best altered altered-table", patterns, "untold", lambda _: told),
    ("03", "norms-02 norms-06 parameters norms-10 norms-12", categories, "shares", shares_by_weight_alone),
    ("03", "norms-02 norms-06 parameters norms-10 norms-21", norms, "mixing_ratios", mixing_by_weights),
    (
        "04",
        "imports parameters texts classify counts",
        gate_counts.gates,
        "label",
        lambda f: lambda *given: np.full_like(f(*given), "open"),
    ),
    ("06", "cell-02 cell-13", survey, "head_stats", lambda f: lambda lens, made, **how: f(lens, flipped(made), **how)),
    (
        "07",
        "imports one parameters pairs",
        lifts.sources,
        "maps",
        lambda f: lambda *given, **how: {pair: 1.1 * part for pair, part in f(*given, **how).items()},
    ),
    ("08", "imports one one-changed", whatif, "off", lambda f: lambda *_: f(0, 0)),
    ("09", "compare-02 parameters compare-05 compare-14", differences, "off", lambda f: lambda *_: f(0, 0)),
    ("10", "similar-02 parameters similar-08", bl.Lens, "similarity", lambda f: lambda *given: f(*given) / 2 + 0.5),
]


def flipped(traces: list[Any]) -> list[Any]:
    """Read from behind: the next token becomes the previous one."""
    return [bl.Trace.from_attentions(one.attention(0)[None].flip(-1, -2), one.tokens) for one in traces]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test data and no window."""
    monkeypatch.setenv("BERTLENS_DATA", "")
    matplotlib.use("agg")


@pytest.mark.parametrize(("name", "cells"), sorted({row[:2] for row in BROKEN}))
def test_a_claim_holds(name, cells):
    run(name, cells)


@pytest.mark.parametrize(
    ("name", "cells", "where", "what", "how"), BROKEN, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_claim_turns_red_when_what_it_counts_is_broken(name, cells, where, what, how, monkeypatch):
    monkeypatch.setattr(where, what, how(getattr(where, what)))
    with pytest.raises(AssertionError):
        run(name, cells)
